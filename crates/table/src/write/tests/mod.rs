#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

//! - `rows`: values as rows, as arrays and back
//! - `every_type`: the schema of files, and rows of every type there and back
//! - `file_metrics`: metrics against those that are worked out row by row
//! - `transforms`: partition values against those of single values
//! - `files`: which files there are: rolling, arrangement, caps, memory, abort
//! - `lineage`: files that carry row ids
//! - `faults`: stores that fail
//! - `properties`, `locations`, `refusals`: table properties, places of files, what is refused

mod every_type;
pub(in crate::write) mod faults;
mod file_metrics;
mod files;
mod lineage;
mod locations;
mod properties;
mod refusals;
mod rows;
mod transforms;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use bytes::Bytes;
use drumlin_format::manifest::{DataFile, FileFormat};
use drumlin_format::metadata::{NewTable, TableMetadataBuilder, UnboundPartitionField, UnboundPartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::sort::SortOrder;
use drumlin_format::transform::Transform;
use drumlin_format::types::NestedField;
use futures::TryStreamExt;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use super::{Arrangement, TableFileWriter, WriteOptions, WriteProgress};
use crate::data_file;
use crate::error::Result;
use crate::memory::UnlimitedMemory;
use crate::storage::Storage;
use crate::table::Table;

/// A table in memory, of format version 3.
struct TestTable {
    fields: Vec<NestedField>,
    partition: Vec<(i32, &'static str, Transform)>,
    sort: SortOrder,
    properties: Vec<(&'static str, String)>,
}

fn table(fields: Vec<NestedField>) -> TestTable {
    TestTable {
        fields,
        partition: Vec::new(),
        sort: SortOrder::unsorted(),
        properties: Vec::new(),
    }
}

impl TestTable {
    fn by(mut self, source: i32, name: &'static str, transform: Transform) -> Self {
        self.partition.push((source, name, transform));
        self
    }

    fn with(mut self, key: &'static str, value: impl ToString) -> Self {
        self.properties.push((key, value.to_string()));
        self
    }

    fn build(self) -> Table {
        let fields = self.partition.into_iter();
        let fields = fields.map(|(source, name, transform)| UnboundPartitionField {
            source_ids: vec![source],
            field_id: None,
            name: name.to_string(),
            transform,
        });
        let mut properties: BTreeMap<String, String> =
            BTreeMap::from([("format-version".into(), "3".into())]);
        properties.extend(self.properties.into_iter().map(|(k, v)| (k.to_string(), v)));
        let builder = TableMetadataBuilder::create(NewTable {
            location: "memory:/db/t".to_string(),
            schema: Schema::new(0, self.fields, vec![]).unwrap(),
            partition_spec: UnboundPartitionSpec {
                spec_id: None,
                fields: fields.collect(),
            },
            sort_order: self.sort,
            properties,
        });
        let metadata = builder.unwrap().build(0).unwrap();
        Table::new("db.t", Storage::default(), "", Arc::new(metadata))
    }
}

fn options(table: &Table) -> WriteOptions {
    WriteOptions::of(table.metadata()).unwrap()
}

fn writer(table: &Table, options: WriteOptions, arrangement: Arrangement) -> TableFileWriter {
    let progress = Arc::new(WriteProgress::default());
    TableFileWriter::new(table, options, arrangement, Arc::new(UnlimitedMemory), progress).unwrap()
}

async fn write(table: &Table, arrangement: Arrangement, batches: &[RecordBatch]) -> Result<Vec<DataFile>> {
    write_with(table, options(table), arrangement, batches).await
}

async fn write_with(
    table: &Table,
    options: WriteOptions,
    arrangement: Arrangement,
    batches: &[RecordBatch],
) -> Result<Vec<DataFile>> {
    let mut writer = writer(table, options, arrangement);
    for batch in batches {
        writer.write(batch).await?;
    }
    writer.finish().await
}

async fn bytes_of(table: &Table, file: &DataFile) -> Bytes {
    let bytes = table.storage().read(&file.file_path).await.unwrap();
    assert_eq!(i64::try_from(bytes.len()).unwrap(), file.file_size_in_bytes);
    bytes
}

async fn footer(table: &Table, file: &DataFile) -> ParquetMetaData {
    let bytes = bytes_of(table, file).await;
    ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap()
}

/// The rows of a file as the reader of data files gives them.
async fn read(table: &Table, file: &DataFile) -> RecordBatch {
    let size = u64::try_from(file.file_size_in_bytes).unwrap();
    let opened = data_file::open(table.storage(), &file.file_path, size, FileFormat::Parquet);
    let opened = opened.await.unwrap();
    let schema = Arc::clone(opened.schema());
    let all: Vec<usize> = (0..schema.fields().len()).collect();
    let batches: Vec<RecordBatch> = opened.read(&all, 1000).try_collect().await.unwrap();
    concat_batches(&schema, &batches).unwrap()
}

/// The files that there are below the table.
async fn files_there(table: &Table) -> Vec<String> {
    let (store, path) = table.storage().resolve(table.metadata().location()).unwrap();
    let found: Vec<_> = store.list(Some(&path)).try_collect().await.unwrap();
    found
        .into_iter()
        .map(|object| object.location.to_string())
        .collect()
}

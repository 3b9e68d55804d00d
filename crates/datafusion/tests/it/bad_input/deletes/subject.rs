//! A table with deletes that something is wrong with.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{Field, Schema as ArrowSchema};
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::prelude::SessionConfig;
use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::{DataContent, DataFile};
use drumlin_format::metadata::{NewTable, UnboundPartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::sort::SortOrder;
use drumlin_format::types::PrimitiveType as P;
use drumlin_format::types::{NestedField, StructType};
use drumlin_format::value::Value;
use drumlin_table::Table;
use drumlin_table::arrow::FIELD_ID_KEY;
use drumlin_table::storage::Storage;
use drumlin_testing::table_writer::part_of_schema;
use drumlin_testing::{Commit, Partition, Row, TableWriter, metrics};
use object_store::ObjectStoreExt;

use crate::session::{answer, extended, message, register};

pub const ID: i32 = 1;
pub const TEXT: i32 = 2;
pub const NUMBER: i32 = 3;
pub const GROUP: i32 = 4;

/// A table with one file of the rows 0 to 9, for deletes to be added to.
pub struct Subject {
    pub storage: Storage,
    pub writer: TableWriter,
    pub data: DataFile,
    pub rows: Vec<Row>,
}

impl Subject {
    pub async fn new(version: u8) -> Self {
        let storage = Storage::default();
        let group = StructType::new(vec![NestedField::optional(7, "inner", P::Int)]);
        let fields = vec![
            NestedField::required(ID, "id", P::Long),
            NestedField::optional(TEXT, "text", P::String),
            NestedField::optional(NUMBER, "number", P::Double),
            NestedField::optional(GROUP, "group", group),
        ];
        let table = NewTable {
            location: "memory:/subject".to_string(),
            schema: Schema::new(0, fields, vec![]).unwrap(),
            partition_spec: UnboundPartitionSpec::default(),
            sort_order: SortOrder::unsorted(),
            properties: BTreeMap::from([("format-version".to_string(), version.to_string())]),
        };
        let mut writer = TableWriter::create(&storage, table).await;
        let rows: Vec<Row> = (0..10).map(row).collect();
        let metrics = metrics::of_rows(&rows, writer.metadata().current_schema(), 16).build();
        let data = writer
            .write_file(&rows, vec![], metrics, WriterProperties::default())
            .await;
        writer.append(&[vec![data.clone()]]).await;
        Self {
            storage,
            writer,
            data,
            rows,
        }
    }

    pub fn partition(&self) -> Partition {
        Partition::of(&self.data)
    }

    pub async fn vector(&mut self, positions: &[u64]) -> DataFile {
        let mut vector = DeletionVector::new();
        for position in positions {
            vector.insert(*position).unwrap();
        }
        let mut files = self.writer.write_deletion_vectors(&[(&self.data, &vector)]).await;
        files.remove(0)
    }

    pub async fn positions(&mut self, deletes: &[(Arc<str>, i64)]) -> DataFile {
        let partition = self.partition();
        self.writer
            .write_position_deletes(deletes, partition, WriterProperties::default())
            .await
    }

    /// An equality delete file for the first rows.
    pub async fn keys(&mut self, columns: &[i32], ids: &[i32], rows: &[Row]) -> DataFile {
        let schema = part_of_schema(self.writer.metadata().current_schema(), columns);
        let partition = self.partition();
        self.writer
            .write_equality_deletes(rows, &schema, ids, partition, WriterProperties::default())
            .await
    }

    /// A delete file of any columns, each with its field id.
    pub async fn file(&mut self, content: DataContent, columns: Vec<(i32, &str, ArrayRef)>) -> DataFile {
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for (id, name, array) in columns {
            let id = [(FIELD_ID_KEY.to_string(), id.to_string())];
            fields.push(Field::new(name, array.data_type().clone(), true).with_metadata(id.into()));
            arrays.push(array);
        }
        let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).unwrap();
        let partition = self.partition();
        self.writer
            .write_parquet(&batch, content, partition, WriterProperties::default())
            .await
    }

    pub async fn commit(&mut self, deletes: &[&DataFile]) {
        self.writer
            .commit(Commit {
                added_deletes: vec![deletes.iter().map(|file| (*file).clone()).collect()],
                ..Commit::default()
            })
            .await;
    }

    /// Changes the bytes of a file.
    pub async fn change(&self, location: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let (store, path) = self.storage.resolve(location).unwrap();
        let mut bytes = self.storage.read(location).await.unwrap().to_vec();
        change(&mut bytes);
        store.put(&path, bytes.into()).await.unwrap();
    }

    /// Makes a field of the delete manifest unknown to readers by another id of the same length.
    pub async fn hide_field(&self, id: &str) {
        let snapshot = self.writer.metadata().current_snapshot_id().unwrap();
        let manifest = format!("memory:/subject/metadata/{snapshot}-m0.avro");
        let field = format!("\"field-id\":{id}");
        self.change(&manifest, |bytes| {
            let at = bytes.windows(field.len()).position(|w| w == field.as_bytes());
            let at = at.unwrap() + "\"field-id\":".len();
            bytes[at..at + 3].copy_from_slice(b"999");
        })
        .await;
    }

    pub async fn rows(&self) -> Result<Vec<String>, String> {
        self.ask("SELECT id FROM t ORDER BY id").await
    }

    /// The first column of an answer.
    pub async fn ask(&self, sql: &str) -> Result<Vec<String>, String> {
        if let Err(error) = Table::open(&self.storage, "memory:/subject").await {
            return Err(error.to_string());
        }
        let ctx = extended(&self.storage, SessionConfig::new().with_batch_size(3));
        register(&ctx, &self.storage, "t", "memory:/subject", false).await;
        let rows = answer(&ctx, sql).await.map_err(|error| message(&error))?;
        Ok(rows.concat())
    }

    pub async fn failure(&self) -> String {
        match self.rows().await {
            Ok(rows) => panic!("answers {rows:?}"),
            Err(error) => error,
        }
    }

    /// Asserts that the rows without these are there.
    pub async fn has_all_but(&self, deleted: &[i64]) {
        let wanted: Vec<String> = (0..10)
            .filter(|id| !deleted.contains(id))
            .map(|id| id.to_string())
            .collect();
        assert_eq!(self.rows().await.unwrap(), wanted);
        let count = self.ask("SELECT count(*) FROM t").await.unwrap();
        assert_eq!(count, [wanted.len().to_string()]);
    }
}

pub fn row(id: i64) -> Row {
    let numbers = [0.5, 1.5, f64::NAN, -2.5];
    let number = numbers[usize::try_from(id % 4).unwrap()];
    Row::from([
        (ID, Some(Value::Long(id))),
        (TEXT, Some(Value::String(format!("text {id}")))),
        (NUMBER, Some(Value::Double(number))),
        (GROUP, Some(Value::Struct(vec![(5, Some(Value::Int(1)))]))),
    ])
}

/// The last part of a file's location.
pub fn name(file: &DataFile) -> &str {
    file.file_path.rsplit('/').next().unwrap()
}

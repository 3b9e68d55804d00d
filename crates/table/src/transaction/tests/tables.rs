//! Tables and records of files. No file is ever written: transactions do not read any.

use std::collections::BTreeMap;
use std::sync::Arc;

use drumlin_format::manifest::{ColumnMetricsBuilder, DataContent, DataFile, FileFormat};
use drumlin_format::metadata::{UnboundPartitionField, UnboundPartitionSpec};
use drumlin_format::partition::PartitionTuple;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};
use drumlin_format::value::Value;
use drumlin_format::value::bytes::to_bytes;

use super::catalog::TestCatalog;
use crate::catalog::{Catalog, Namespace, TableCreation, TableIdent};
use crate::error::Result;
use crate::predicate::{FieldRef, Predicate};
use crate::table::Table;
use crate::transaction::{SnapshotChange, Transaction};

pub const ID: i32 = 1;
pub const P: i32 = 2;
pub const TS: i32 = 3;

pub fn ident() -> TableIdent {
    TableIdent::new(Namespace::root(), "t").unwrap()
}

pub fn schema() -> Schema {
    let fields = vec![
        NestedField::optional(ID, "id", PrimitiveType::Long),
        NestedField::optional(P, "p", PrimitiveType::Int),
        NestedField::optional(TS, "ts", PrimitiveType::Timestamp),
    ];
    Schema::new(0, fields, vec![]).unwrap()
}

/// A spec of fields by source and transform.
pub fn spec(fields: &[(i32, &str)]) -> UnboundPartitionSpec {
    let fields = fields.iter().map(|(source, transform)| UnboundPartitionField {
        source_ids: vec![*source],
        field_id: None,
        name: format!("f{source}_{}", transform.split('[').next().unwrap()),
        transform: transform.parse().unwrap(),
    });
    UnboundPartitionSpec {
        spec_id: None,
        fields: fields.collect(),
    }
}

pub fn creation(version: u8, fields: &[(i32, &str)], properties: &[(&str, &str)]) -> TableCreation {
    let quick = [
        ("commit.retry.min-wait-ms", "0"),
        ("commit.retry.max-wait-ms", "1"),
        ("commit.status-check.min-wait-ms", "0"),
        ("commit.status-check.max-wait-ms", "1"),
    ];
    let all = quick.iter().chain(properties);
    let mut properties: BTreeMap<_, _> = all.map(|(k, v)| (k.to_string(), v.to_string())).collect();
    properties.insert("format-version".into(), version.to_string());
    TableCreation {
        partition_spec: spec(fields),
        properties,
        ..TableCreation::new(schema())
    }
}

/// A catalog with one table.
pub async fn table(
    version: u8,
    fields: &[(i32, &str)],
    properties: &[(&str, &str)],
) -> (Arc<TestCatalog>, Table) {
    let catalog = TestCatalog::new();
    let creation = creation(version, fields, properties);
    let table = catalog.create_table(&ident(), creation).await.unwrap();
    (Arc::new(catalog), table)
}

/// The table partitioned by `p` itself.
pub async fn by_p(version: u8, properties: &[(&str, &str)]) -> (Arc<TestCatalog>, Table) {
    table(version, &[(P, "identity")], properties).await
}

pub async fn commit(catalog: &TestCatalog, table: &Table, change: SnapshotChange) -> Result<Table> {
    Transaction::new(table, ident()).add(change).commit(catalog).await
}

/// A data file of the spec 0 without partition, whose ids are from 0 to `rows - 1`.
pub fn data(path: &str, rows: i64) -> DataFile {
    DataFile {
        content: DataContent::Data,
        file_path: path.into(),
        file_format: FileFormat::Parquet,
        spec_id: 0,
        partition: Vec::new(),
        record_count: rows,
        file_size_in_bytes: 100 + rows,
        column_metrics: ColumnMetricsBuilder::default().build(),
        key_metadata: None,
        split_offsets: None,
        equality_ids: None,
        sort_order_id: None,
        first_row_id: None,
        referenced_data_file: None,
        content_offset: None,
        content_size_in_bytes: None,
    }
    .with_ids(0, rows - 1)
}

/// A data file of the table partitioned by `p`.
pub fn data_in(path: &str, p: i32, rows: i64) -> DataFile {
    data(path, rows).of(0, vec![Some(Value::Int(p))])
}

/// Position deletes of one data file, as the version has them.
pub fn deletes_of(version: u8, path: &str, file: &DataFile, count: i64) -> DataFile {
    let deletes = DataFile {
        content: DataContent::PositionDeletes,
        file_path: path.into(),
        record_count: count,
        file_size_in_bytes: 50 + count,
        column_metrics: ColumnMetricsBuilder::default().build(),
        referenced_data_file: Some(Arc::clone(&file.file_path)),
        first_row_id: None,
        ..file.clone()
    };
    match version {
        3 => DataFile {
            file_format: FileFormat::Puffin,
            content_offset: Some(4),
            content_size_in_bytes: Some(42),
            ..deletes
        },
        _ => deletes,
    }
}

/// Equality deletes by `id`.
pub fn equality_deletes(path: &str, spec_id: i32, partition: PartitionTuple, count: i64) -> DataFile {
    DataFile {
        content: DataContent::EqualityDeletes,
        equality_ids: Some(vec![ID]),
        ..data(path, count).of(spec_id, partition)
    }
}

pub trait With {
    fn of(self, spec_id: i32, partition: PartitionTuple) -> Self;
    fn with_ids(self, lowest: i64, highest: i64) -> Self;
}

impl With for DataFile {
    fn of(self, spec_id: i32, partition: PartitionTuple) -> Self {
        Self {
            spec_id,
            partition,
            ..self
        }
    }

    fn with_ids(self, lowest: i64, highest: i64) -> Self {
        let bound = |v| Some(BTreeMap::from([(ID, to_bytes(&Value::Long(v)).unwrap())]));
        let count = |n| Some(BTreeMap::from([(ID, n)]));
        let metrics = ColumnMetricsBuilder {
            column_sizes: count(7),
            value_counts: count(self.record_count),
            null_value_counts: count(0),
            nan_value_counts: None,
            lower_bounds: bound(lowest),
            upper_bounds: bound(highest),
        };
        Self {
            column_metrics: metrics.build(),
            ..self
        }
    }
}

pub fn path(file: &DataFile) -> Arc<str> {
    Arc::clone(&file.file_path)
}

pub fn p_is(p: i32) -> Predicate {
    Predicate::eq(FieldRef::new(&schema(), P).unwrap(), Value::Int(p))
}

pub fn ids_below(id: i64) -> Predicate {
    Predicate::lt(FieldRef::new(&schema(), ID).unwrap(), Value::Long(id))
}

/// The paths of the data files that a scan reads, in order of their names.
pub async fn scanned(table: &Table) -> Vec<String> {
    let plan = table.plan_scan(&Predicate::AlwaysTrue).await.unwrap();
    let paths = plan.tasks.iter().map(|t| t.data_file().file_path.to_string());
    let mut paths: Vec<String> = paths.collect();
    paths.sort();
    paths
}

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::metadata::{NewTable, TableMetadata, TableMetadataBuilder, UnboundPartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::sort::SortOrder;
use drumlin_format::types::{NestedField, PrimitiveType};
use object_store::local::LocalFileSystem;

use super::{Isolation, Mode, RowChangeProperties, RowChanges, Statement, with_older_deletes};
use crate::memory::{MemoryAccount, UnlimitedMemory};
use crate::predicate::Predicate;
use crate::scan::FileTask;
use crate::storage::Storage;
use crate::table::{OpenOptions, Table};
use crate::write::DeleteWriteOptions;

fn metadata(properties: &[(&str, &str)]) -> TableMetadata {
    let schema = Schema::new(
        0,
        vec![NestedField::required(1, "id", PrimitiveType::Long)],
        vec![],
    )
    .unwrap();
    let properties = properties.iter().map(|(k, v)| (k.to_string(), v.to_string()));
    let builder = TableMetadataBuilder::create(NewTable {
        location: "memory://t".into(),
        schema,
        partition_spec: UnboundPartitionSpec::default(),
        sort_order: SortOrder::unsorted(),
        properties: properties.collect::<BTreeMap<_, _>>(),
    });
    builder.unwrap().build(0).unwrap()
}

#[test]
fn each_statement_follows_properties_of_its_own() {
    let table = metadata(&[
        ("format-version", "2"),
        ("write.delete.mode", "merge-on-read"),
        ("write.update.isolation-level", "Snapshot"),
        ("write.merge.mode", "MERGE-ON-READ"),
    ]);
    let of = |statement| {
        let properties = RowChangeProperties::of(&table, statement).unwrap();
        (properties.mode, properties.isolation)
    };
    assert_eq!(
        of(Statement::Delete),
        (Mode::MergeOnRead, Isolation::Serializable)
    );
    assert_eq!(of(Statement::Update), (Mode::CopyOnWrite, Isolation::Snapshot));
    assert_eq!(of(Statement::Merge), (Mode::MergeOnRead, Isolation::Serializable));
}

#[test]
fn what_cannot_be_followed_is_refused_by_name() {
    let refused = |properties: &[(&str, &str)]| {
        RowChangeProperties::of(&metadata(properties), Statement::Delete)
            .unwrap_err()
            .to_string()
    };
    let text = refused(&[("write.delete.mode", "eager")]);
    assert!(
        text.contains("write.delete.mode") && text.contains("merge-on-read"),
        "{text}"
    );
    let text = refused(&[("write.delete.isolation-level", "none")]);
    assert!(
        text.contains("isolation-level") && text.contains("snapshot"),
        "{text}"
    );
    let text = refused(&[("format-version", "1"), ("write.delete.mode", "merge-on-read")]);
    assert!(
        text.contains("version 1") && text.contains("copy-on-write"),
        "{text}"
    );
}

async fn opened(name: &str) -> Table {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql-tests/conformance/tables");
    let storage = Storage::default();
    let store = Arc::new(LocalFileSystem::new_with_prefix(tables).unwrap());
    storage.register("s3://conformance", store).unwrap();
    let newest = OpenOptions {
        guess_newest_metadata: true,
    };
    let location = format!("s3://conformance/{name}");
    Table::open_with(&storage, &location, &newest).await.unwrap()
}

/// The tasks of a table, each with its first row to be deleted that is left.
async fn first_rows(table: &Table) -> Vec<(FileTask, DeletionVector)> {
    let plan = table.plan_scan(&Predicate::AlwaysTrue).await.unwrap();
    let mut rows = Vec::new();
    for task in plan.tasks {
        let older = match task.deletes() {
            Some(deletes) => deletes
                .deleted_positions(&task.data_file().file_path, table, &UnlimitedMemory)
                .await
                .unwrap(),
            None => None,
        };
        let is_left = |position: &u64| older.as_ref().is_none_or(|d| !d.positions.contains(*position));
        let mut first = DeletionVector::new();
        first.insert((0..).find(is_left).unwrap()).unwrap();
        rows.push((task, first));
    }
    rows
}

#[tokio::test]
async fn new_deletes_take_in_those_of_their_data_file() {
    let memory: Arc<dyn MemoryAccount> = Arc::new(UnlimitedMemory);
    // Table, and how many delete files are for one data file alone.
    for (name, merges) in [
        ("dv_basic", true),
        ("posdel_file", true),
        ("posdel_partition", false),
    ] {
        let table = opened(name).await;
        let options = DeleteWriteOptions::of(table.metadata()).unwrap();
        let deletes = first_rows(&table).await;
        let tasks: Vec<FileTask> = deletes.iter().map(|(task, _)| task.clone()).collect();
        let (rows, superseded) = with_older_deletes(&table, &options, deletes, &memory)
            .await
            .unwrap();
        assert_eq!(rows.len(), tasks.len(), "{name}");
        assert_eq!(!superseded.is_empty(), merges, "{name}: {superseded:?}");
        let mut more = 0;
        for (rows, task) in rows.iter().zip(&tasks) {
            assert_eq!(rows.data_file, task.data_file().file_path);
            assert_eq!(rows.partition, task.data_file().partition);
            more += usize::from(rows.positions.len() > 1);
        }
        assert_eq!(more > 0, merges, "{name}");
    }
}

#[tokio::test]
async fn nothing_done_is_no_change() {
    let table = opened("dv_basic").await;
    for statement in [Statement::Delete, Statement::Update, Statement::Merge] {
        let properties = RowChangeProperties::of(table.metadata(), statement).unwrap();
        let change = RowChanges::default().into_change(&properties, None, Predicate::AlwaysTrue);
        assert!(change.is_none());
    }
}

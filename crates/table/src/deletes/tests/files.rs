//! The deletes of data files: what they delete, and which of them a deletion vector takes the place of.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::{
    ColumnMetricsBuilder, DataContent, DataFile, FileFormat, ManifestEntry, ManifestStatus,
};
use object_store::local::LocalFileSystem;

use crate::deletes::positions::FILE_PATH_ID;
use crate::deletes::{DeleteFile, FileDeletes};
use crate::memory::UnlimitedMemory;
use crate::predicate::Predicate;
use crate::scan::{FileTask, ScanPlan};
use crate::storage::Storage;
use crate::table::{OpenOptions, Table};

fn vector(positions: impl IntoIterator<Item = u64>) -> Arc<DeletionVector> {
    let mut vector = DeletionVector::new();
    let positions: Vec<u64> = positions.into_iter().collect();
    vector.insert_all(&positions).unwrap();
    Arc::new(vector)
}

/// A table of the conformance set.
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

async fn deleted(task: &FileTask, table: &Table) -> (BTreeSet<u64>, bool) {
    let Some(deletes) = task.deletes() else {
        return (BTreeSet::new(), true);
    };
    let path = &task.data_file().file_path;
    let loaded = deletes.deleted_positions(path, table, &UnlimitedMemory).await;
    match loaded.unwrap() {
        Some(deleted) => (deleted.positions.iter().collect(), deleted.by_vector),
        None => (BTreeSet::new(), true),
    }
}

#[tokio::test]
async fn positions_are_deleted_besides_those_of_delete_files() {
    let mut with_files = 0;
    for name in [
        "dv_basic",
        "posdel_file",
        "posdel_partition",
        "row_lineage",
        "v2_basic",
    ] {
        let table = opened(name).await;
        let plan = table.plan_scan(&Predicate::AlwaysTrue).await.unwrap();
        for task in &plan.tasks {
            let (before, by_vector) = deleted(task, &table).await;
            with_files += usize::from(!before.is_empty());
            let last = u64::try_from(task.data_file().record_count).unwrap() - 1;
            let more = task.with_deleted(vector([0, last])).with_deleted(vector([last]));
            let mut expected = before.clone();
            expected.extend([0, last]);
            assert_eq!(
                deleted(&more, &table).await,
                (expected.clone(), by_vector),
                "{name}"
            );
            assert!(more.deletes().unwrap().deletes_positions(), "{name}");
            assert_eq!(more.live_rows(), None, "{name}");
            let left = last + 1 - u64::try_from(expected.len()).unwrap();
            assert!(more.least_live_rows() <= left, "{name}");
            assert!(more.least_live_rows() + 2 >= task.least_live_rows(), "{name}");
            // The task itself, and what it has loaded, is as it was.
            assert_eq!(deleted(task, &table).await.0, before, "{name}");
            let none = task.with_deleted(vector([]));
            assert_eq!(none.live_rows(), task.live_rows(), "{name}");
            assert_eq!(none.deletes().is_some(), task.deletes().is_some(), "{name}");
        }
        // A plan of some of its files is a plan.
        let tasks: Vec<FileTask> = plan.tasks.iter().take(1).cloned().collect();
        let some = ScanPlan {
            tasks,
            ..plan.clone()
        };
        assert!(some.equality_deletes().len() <= plan.equality_deletes().len());
    }
    assert!(with_files >= 4, "{with_files}");
}

fn delete_file(path: &str, format: FileFormat, referenced: Option<&str>) -> DataFile {
    DataFile {
        content: DataContent::PositionDeletes,
        file_path: path.into(),
        file_format: format,
        spec_id: 0,
        partition: Vec::new(),
        record_count: 2,
        file_size_in_bytes: 100,
        column_metrics: ColumnMetricsBuilder::default().build(),
        key_metadata: None,
        split_offsets: None,
        equality_ids: None,
        sort_order_id: None,
        first_row_id: None,
        referenced_data_file: referenced.map(Arc::from),
        content_offset: None,
        content_size_in_bytes: None,
    }
}

fn with_paths(file: DataFile, lower: &str, upper: &str) -> DataFile {
    let bound = |path: &str| Some([(FILE_PATH_ID, path.as_bytes().to_vec())].into());
    DataFile {
        column_metrics: ColumnMetricsBuilder {
            lower_bounds: bound(lower),
            upper_bounds: bound(upper),
            ..ColumnMetricsBuilder::default()
        }
        .build(),
        ..file
    }
}

fn loaded(file: DataFile) -> Arc<DeleteFile> {
    Arc::new(DeleteFile::new(Arc::new(ManifestEntry {
        status: ManifestStatus::Added,
        snapshot_id: 1,
        sequence_number: 1,
        file_sequence_number: 1,
        data_file: file,
    })))
}

#[test]
fn vectors_take_the_place_of_deletes_of_one_data_file() {
    let data = DataFile {
        content: DataContent::Data,
        ..delete_file("data", FileFormat::Parquet, None)
    };
    let names = |deletes: &FileDeletes| -> Vec<String> {
        let superseded = deletes.superseded_by_vector(&data);
        superseded.map(|d| d.file_path.to_string()).collect()
    };
    let positions = [
        delete_file("names it", FileFormat::Parquet, Some("data")),
        delete_file("says nothing", FileFormat::Parquet, None),
        with_paths(delete_file("its path", FileFormat::Avro, None), "data", "data"),
        with_paths(delete_file("several", FileFormat::Parquet, None), "a", "z"),
    ];
    let by_files = FileDeletes {
        positions: positions.into_iter().map(loaded).collect(),
        ..FileDeletes::default()
    };
    assert_eq!(names(&by_files), ["names it", "its path"]);
    let by_vector = FileDeletes {
        vector: Some(loaded(delete_file("vector", FileFormat::Puffin, Some("data")))),
        ..FileDeletes::default()
    };
    assert_eq!(names(&by_vector), ["vector"]);
    assert_eq!(names(&by_vector.with_deleted(vector([1]))), ["vector"]);
    assert!(names(&FileDeletes::default().with_deleted(vector([1]))).is_empty());
}

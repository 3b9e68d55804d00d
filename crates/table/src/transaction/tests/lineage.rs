//! Files that carry the lineage of their rows, in the table (§ Row Lineage).

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use drumlin_format::manifest::{DataFile, FileFormat};
use futures::TryStreamExt;

use super::tables::{commit, path, table};
use crate::arrow::field_id;
use crate::data_file;
use crate::memory::UnlimitedMemory;
use crate::predicate::Predicate;
use crate::scan::FileTask;
use crate::table::Table;
use crate::transaction::SnapshotChange;
use crate::write::row_lineage::{LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID};
use crate::write::{Arrangement, TableFileWriter, WriteOptions, WriteProgress};

type Row = (i64, Option<i64>, Option<i64>);

async fn written(table: &Table, ids: &[i64], lineage: Option<&[(Option<i64>, Option<i64>)]>) -> DataFile {
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(ids.to_vec()))),
        ("p", Arc::new(Int32Array::from(vec![None; ids.len()]))),
        (
            "ts",
            Arc::new(arrow::array::PrimitiveArray::<TimestampMicrosecondType>::new_null(ids.len())),
        ),
    ];
    let mut options = WriteOptions::of(table.metadata()).unwrap();
    if let Some(lineage) = lineage {
        options = options.with_row_lineage();
        let ids: Int64Array = lineage.iter().map(|(id, _)| *id).collect();
        let numbers: Int64Array = lineage.iter().map(|(_, number)| *number).collect();
        columns.extend([
            ("_row_id", Arc::new(ids) as ArrayRef),
            ("_last_updated_sequence_number", Arc::new(numbers) as ArrayRef),
        ]);
    }
    let progress = Arc::new(WriteProgress::default());
    let memory = Arc::new(UnlimitedMemory);
    let writer = TableFileWriter::new(table, options, Arrangement::Clustered, memory, progress);
    let mut writer = writer.unwrap();
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    writer.write(&batch).await.unwrap();
    let files = writer.finish().await.unwrap();
    let [file] = <[DataFile; 1]>::try_from(files).unwrap();
    file
}

/// The rows of a file with their ids and numbers: what is stored, else what is inherited.
async fn rows(table: &Table, task: &FileTask) -> Vec<Row> {
    let file = task.data_file();
    let size = u64::try_from(file.file_size_in_bytes).unwrap();
    let opened = data_file::open(table.storage(), &file.file_path, size, FileFormat::Parquet);
    let opened = opened.await.unwrap();
    let schema = Arc::clone(opened.schema());
    let all: Vec<usize> = (0..schema.fields().len()).collect();
    let batches: Vec<RecordBatch> = opened.read(&all, 1000).try_collect().await.unwrap();
    let batch = concat_batches(&schema, &batches).unwrap();
    let column = |id: i32| -> Vec<Option<i64>> {
        let place = schema.fields().iter().position(|f| field_id(f) == Some(id));
        match place {
            Some(place) => batch.column(place).as_primitive::<Int64Type>().iter().collect(),
            None => vec![None; batch.num_rows()],
        }
    };
    let (ids, row_ids, numbers) = (column(1), column(ROW_ID), column(LAST_UPDATED_SEQUENCE_NUMBER));
    let first = file.first_row_id.unwrap();
    let row = |place: usize| {
        let inherited = first + i64::try_from(place).unwrap();
        (
            ids[place].unwrap(),
            row_ids[place].or(Some(inherited)),
            numbers[place].or(Some(task.sequence_number())),
        )
    };
    (0..batch.num_rows()).map(row).collect()
}

async fn all_rows(table: &Table) -> Vec<Row> {
    let plan = table.plan_scan(&Predicate::AlwaysTrue).await.unwrap();
    let mut all = Vec::new();
    for task in &plan.tasks {
        all.extend(rows(table, task).await);
    }
    all.sort_unstable();
    all
}

#[tokio::test]
async fn rows_keep_their_ids_through_a_rewrite() {
    let (catalog, table) = table(3, &[], &[]).await;
    let file = written(&table, &[10, 11, 12], None).await;
    let table = commit(&catalog, &table, SnapshotChange::append(vec![file.clone()]))
        .await
        .unwrap();
    let row = |id, row_id, number| (id, Some(row_id), Some(number));
    assert_eq!(
        all_rows(&table).await,
        [row(10, 0, 1), row(11, 1, 1), row(12, 2, 1)]
    );
    assert_eq!(table.metadata().next_row_id(), 3);

    // 10 is taken over, 12 was changed to 22, 11 was deleted and 13 is new.
    let lineage = [(Some(0), Some(1)), (Some(2), None), (None, None)];
    let rewritten = written(&table, &[10, 22, 13], Some(&lineage)).await;
    let change = SnapshotChange::overwrite(vec![rewritten]).remove_paths([path(&file)]);
    let table = commit(&catalog, &table, change).await.unwrap();
    // Ids are given to all rows of a new file, whether they need them or not.
    assert_eq!(
        all_rows(&table).await,
        [row(10, 0, 1), row(13, 5, 2), row(22, 2, 2)]
    );
    assert_eq!(table.metadata().next_row_id(), 6);
}

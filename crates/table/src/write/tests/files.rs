//! Which files there are: rolling, arrangement, caps, memory, abort.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::RecordBatch;
use drumlin_format::manifest::{DataFile, FileFormat};
use drumlin_format::transform::Transform;
use drumlin_format::types::{NestedField, PrimitiveType as P};
use drumlin_format::value::Value;

use super::rows::{Random, Row, batch, rows_of, text};
use super::{Arrangement, files_there, footer, options, read, table, write, write_with, writer};
use crate::error::{Error, Result};
use crate::memory::MemoryAccount;
use crate::table::Table;
use crate::write::{TableFileWriter, WriteProgress};

fn columns() -> Vec<NestedField> {
    vec![
        NestedField::optional(1, "id", P::Long),
        NestedField::optional(2, "day", P::Date),
        NestedField::optional(3, "text", P::String),
    ]
}

/// Rows of so many days, in turn, with texts that do not compress.
fn rows(count: i64, days: i64) -> Vec<Row> {
    let mut random = Random(42);
    let mut row = |id: i64| {
        let text: String = (0..4).map(|_| format!("{:016x}", random.next())).collect();
        let day = i32::try_from(id % days).unwrap();
        vec![
            Some(Value::Long(id)),
            Some(Value::Int(day)),
            Some(Value::String(text)),
        ]
    };
    (0..count).map(&mut row).collect()
}

fn batches(table: &Table, rows: &[Row]) -> Vec<RecordBatch> {
    rows.chunks(1000)
        .map(|rows| batch(table.metadata().current_schema(), rows))
        .collect()
}

/// All rows of these files are those that were written, each in the file of its day.
async fn check(table: &Table, files: &[DataFile], rows: &[Row]) {
    let mut found = Vec::new();
    for file in files {
        let back = rows_of(table.metadata().current_schema(), &read(table, file).await);
        assert_eq!(i64::try_from(back.len()).unwrap(), file.record_count);
        for day in &file.partition {
            assert!(back.iter().all(|row| row[1] == *day), "{:?}", file.partition);
        }
        found.extend(text(&back));
    }
    found.sort();
    let mut expected = text(rows);
    expected.sort();
    assert_eq!(found, expected);
    let paths: BTreeSet<_> = files
        .iter()
        .map(|f| f.file_path.trim_start_matches("memory:/").to_string())
        .collect();
    assert_eq!(paths.len(), files.len());
    assert_eq!(paths, files_there(table).await.into_iter().collect());
}

#[tokio::test]
async fn files_are_rolled_at_their_target_size() {
    let target = 200_000;
    let table = table(columns())
        .with("write.target-file-size-bytes", target)
        .with("write.parquet.compression-codec", "uncompressed")
        .build();
    let rows = rows(20_000, 5);
    // One large batch is cut as well as many small ones.
    for batches in [
        batches(&table, &rows),
        vec![batch(table.metadata().current_schema(), &rows)],
    ] {
        let files = write(&table, Arrangement::Clustered, &batches).await.unwrap();
        assert!(files.len() > 4, "{}", files.len());
        for file in &files[..files.len() - 1] {
            let size = file.file_size_in_bytes;
            assert!((target * 8 / 10..target * 12 / 10).contains(&size), "{size}");
            assert!(file.partition.is_empty());
            assert_eq!(
                (file.spec_id, file.sort_order_id, file.first_row_id),
                (0, Some(0), None)
            );
            assert_eq!(file.file_format, FileFormat::Parquet);
        }
        check(&table, &files, &rows).await;
        for file in &files {
            table.storage().delete(&file.file_path).await.unwrap();
        }
    }
}

#[tokio::test]
async fn row_groups_have_their_size() {
    let table = table(columns())
        .with("write.parquet.row-group-size-bytes", 100_000)
        .with("write.parquet.compression-codec", "uncompressed")
        .build();
    let rows = rows(10_000, 5);
    let files = write(&table, Arrangement::Clustered, &batches(&table, &rows))
        .await
        .unwrap();
    let footer = footer(&table, &files[0]).await;
    assert!(footer.num_row_groups() > 5);
    let starts: Vec<i64> = footer
        .row_groups()
        .iter()
        .map(|group| group.file_offset().unwrap())
        .collect();
    assert_eq!(files[0].split_offsets.as_ref().unwrap(), &starts);
    for group in &footer.row_groups()[..footer.num_row_groups() - 1] {
        assert!(
            (60_000..140_000).contains(&group.compressed_size()),
            "{}",
            group.compressed_size()
        );
    }
    check(&table, &files, &rows).await;
}

#[tokio::test]
async fn clustered_rows_have_one_file_a_partition() {
    let table = table(columns()).by(2, "day", Transform::Identity).build();
    let mut rows = rows(5_000, 7);
    rows.sort_by_key(|row| format!("{:?}", row[1]));
    let files = write(&table, Arrangement::Clustered, &batches(&table, &rows))
        .await
        .unwrap();
    assert_eq!(files.len(), 7);
    let name = files[1]
        .file_path
        .strip_prefix("memory:/db/t/data/day=1970-01-02/")
        .unwrap();
    let (parts, last) = name.strip_suffix(".parquet").unwrap().rsplit_once('-').unwrap();
    assert!(
        parts.starts_with("00000-00000-") && parts.len() == 12 + 36,
        "{name}"
    );
    assert_eq!(last, "00002");
    check(&table, &files, &rows).await;
}

#[tokio::test]
async fn a_partition_that_comes_back_is_named() {
    let table = table(columns()).by(2, "day_month", Transform::Month).build();
    let row = |day| vec![Some(Value::Long(1)), Some(Value::Int(day)), None];
    let schema = table.metadata().current_schema();
    let all = batch(schema, &[row(1), row(2), row(40), row(3)]);
    let error = write(&table, Arrangement::Clustered, &[all]).await.unwrap_err();
    assert!(matches!(error, Error::Row { .. }));
    assert!(error.to_string().contains("`day_month=1970-01`"), "{error}");
}

#[tokio::test]
async fn fan_out_takes_rows_in_any_order() {
    let table = table(columns()).by(2, "day", Transform::Identity).build();
    let rows = rows(5_000, 7);
    let files = write(&table, Arrangement::FanOut, &batches(&table, &rows))
        .await
        .unwrap();
    assert_eq!(files.len(), 7);
    check(&table, &files, &rows).await;
}

#[tokio::test]
async fn fan_out_keeps_to_its_cap_of_open_files() {
    let table = table(columns()).by(2, "day", Transform::Identity).build();
    let rows = rows(70_000, 40);
    let options = options(&table).with_max_open_files(10);
    let files = write_with(&table, options, Arrangement::FanOut, &batches(&table, &rows))
        .await
        .unwrap();
    // More rows than wait at a time, so that partitions come back after their file was closed.
    assert!(files.len() > 40, "{}", files.len());
    check(&table, &files, &rows).await;
}

#[derive(Default)]
struct Account {
    limit: usize,
    taken: AtomicUsize,
    highest: AtomicUsize,
}

impl MemoryAccount for Account {
    fn grow(&self, bytes: usize) -> Result<()> {
        let taken = self.taken.load(Ordering::Relaxed) + bytes;
        if taken > self.limit {
            return Err(Error::NoMemory(format!("the pool has {} bytes", self.limit)));
        }
        self.taken.store(taken, Ordering::Relaxed);
        self.highest.fetch_max(taken, Ordering::Relaxed);
        Ok(())
    }

    fn shrink(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn accounted(table: &Table, limit: usize, arrangement: Arrangement) -> (TableFileWriter, Arc<Account>) {
    let account = Arc::new(Account {
        limit,
        ..Account::default()
    });
    let memory = Arc::clone(&account) as Arc<dyn MemoryAccount>;
    let progress = Arc::new(WriteProgress::default());
    let writer = TableFileWriter::new(table, options(table), arrangement, memory, progress);
    (writer.unwrap(), account)
}

#[tokio::test]
async fn memory_at_its_end_makes_smaller_files() {
    let table = table(columns()).by(2, "day", Transform::Identity).build();
    let rows = rows(70_000, 40);
    let mut counts = BTreeMap::new();
    for limit in [usize::MAX, 8 << 20] {
        for (arrangement, rows) in [
            (Arrangement::FanOut, rows.clone()),
            (Arrangement::Clustered, by_day(&rows)),
        ] {
            let (mut writer, account) = accounted(&table, limit, arrangement);
            for batch in batches(&table, &rows) {
                writer.write(&batch).await.unwrap();
            }
            let files = writer.finish().await.unwrap();
            check(&table, &files, &rows).await;
            assert_eq!(account.taken.load(Ordering::Relaxed), 0);
            assert!(account.highest.load(Ordering::Relaxed) > 100_000);
            counts.insert((limit, arrangement == Arrangement::FanOut), files.len());
            for file in &files {
                table.storage().delete(&file.file_path).await.unwrap();
            }
        }
    }
    assert_eq!(counts[&(usize::MAX, true)], 40);
    assert_eq!(counts[&(8 << 20, false)], 40);
    assert!(counts[&(8 << 20, true)] > 40, "{counts:?}");
}

fn by_day(rows: &[Row]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| match row[1] {
        Some(Value::Int(day)) => day,
        _ => i32::MIN,
    });
    rows
}

#[tokio::test]
async fn large_row_groups_are_ended_early_without_memory() {
    // A row group above a part of the upload is ended, the file goes on.
    let table = table(columns())
        .with("write.parquet.compression-codec", "uncompressed")
        .build();
    let rows = rows(300_000, 5);
    let (mut writer, account) = accounted(&table, 20 << 20, Arrangement::Clustered);
    for batch in batches(&table, &rows) {
        writer.write(&batch).await.unwrap();
    }
    let files = writer.finish().await.unwrap();
    assert_eq!(files.len(), 1);
    assert!(files[0].split_offsets.as_ref().unwrap().len() > 1);
    assert!(account.highest.load(Ordering::Relaxed) <= 20 << 20);
    check(&table, &files, &rows).await;
}

#[tokio::test]
async fn abort_leaves_nothing() {
    let table = table(columns())
        .by(2, "day", Transform::Identity)
        .with("write.target-file-size-bytes", 50_000)
        .build();
    let rows = rows(10_000, 3);
    let mut writer = writer(&table, options(&table), Arrangement::Clustered);
    for batch in batches(&table, &by_day(&rows)) {
        writer.write(&batch).await.unwrap();
    }
    assert!(files_there(&table).await.len() > 3);
    writer.abort().await;
    assert_eq!(files_there(&table).await, [""; 0]);
}

#[tokio::test]
async fn a_writer_that_is_dropped_takes_its_files_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let table = table(columns())
        .with("write.data.path", data.to_str().unwrap())
        .with("write.target-file-size-bytes", 50_000)
        .build();
    let rows = rows(10_000, 3);
    let mut writer = writer(&table, options(&table), Arrangement::FanOut);
    for batch in batches(&table, &rows) {
        writer.write(&batch).await.unwrap();
    }
    let files = || std::fs::read_dir(&data).map_or(0, Iterator::count);
    assert!(files() > 3);
    drop(writer);
    for _ in 0..200 {
        if files() == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{} files are left", files());
}

#[tokio::test]
async fn progress_counts_rows_bytes_and_files() {
    let table = table(columns())
        .with("write.target-file-size-bytes", 100_000)
        .build();
    let progress = Arc::new(WriteProgress::default());
    let memory = Arc::new(crate::memory::UnlimitedMemory);
    let options = options(&table);
    let writer = TableFileWriter::new(
        &table,
        options,
        Arrangement::Clustered,
        memory,
        Arc::clone(&progress),
    );
    let mut writer = writer.unwrap();
    for batch in batches(&table, &rows(10_000, 3)) {
        writer.write(&batch).await.unwrap();
    }
    assert_eq!(progress.rows(), 10_000);
    let files = writer.finish().await.unwrap();
    assert_eq!(progress.files(), u64::try_from(files.len()).unwrap());
    let bytes: i64 = files.iter().map(|f| f.file_size_in_bytes).sum();
    assert_eq!(progress.bytes(), u64::try_from(bytes).unwrap());
}

#[tokio::test]
async fn without_rows_there_are_no_files() {
    let table = table(columns()).by(2, "day", Transform::Identity).build();
    let empty = batch(table.metadata().current_schema(), &[]);
    for arrangement in [Arrangement::Clustered, Arrangement::FanOut] {
        assert_eq!(
            write(&table, arrangement, std::slice::from_ref(&empty))
                .await
                .unwrap(),
            []
        );
    }
    assert_eq!(files_there(&table).await, [""; 0]);
}

#[tokio::test]
async fn partitions_of_null_nan_and_both_zeros() {
    let columns = vec![
        NestedField::optional(1, "id", P::Int),
        NestedField::optional(2, "d", P::Double),
    ];
    let table = table(columns).by(2, "d", Transform::Identity).build();
    let values = [
        None,
        Some(f64::NAN),
        Some(-f64::NAN),
        Some(0.0),
        Some(-0.0),
        Some(1.5),
    ];
    let rows: Vec<Row> = (0..60)
        .map(|i| {
            vec![
                Some(Value::Int(i)),
                values[usize::try_from(i % 6).unwrap()].map(Value::Double),
            ]
        })
        .collect();
    let files = write(&table, Arrangement::FanOut, &batches(&table, &rows))
        .await
        .unwrap();
    // NaN is one partition, whatever its bits.
    assert_eq!(files.len(), 5);
    let counts: BTreeMap<_, _> = files
        .iter()
        .map(|f| (format!("{:?}", f.partition), f.record_count))
        .collect();
    assert_eq!(counts["[None]"], 10);
    assert_eq!(counts["[Some(Double(NaN))]"], 20);
    assert_eq!(counts["[Some(Double(-0.0))]"], 10);
}

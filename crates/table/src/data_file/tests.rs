//! Files of the conformance tables, whole and damaged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_schema::{DataType, Field, TimeUnit};
use drumlin_format::manifest::FileFormat;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};

use super::{OpenFile, open};
use crate::arrow::field_id;
use crate::error::{Error, Result};
use crate::storage::Storage;

fn tables() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql-tests/conformance/tables")
}

/// The data files of a table of the conformance set with this ending, by name.
fn files(table: &str, ending: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, ending, found);
            } else if path.to_str().unwrap().ends_with(ending)
                && !path.file_name().unwrap().to_str().unwrap().starts_with('.')
            {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for folder in std::fs::read_dir(tables().join(table)).unwrap() {
        let folder = folder.unwrap().path();
        if folder.is_dir() && !folder.ends_with("metadata") {
            walk(&folder, ending, &mut found);
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{table} has no files {ending}");
    found
}

fn format_of(path: &Path) -> FileFormat {
    match path.extension().unwrap().to_str().unwrap() {
        "avro" => FileFormat::Avro,
        "orc" => FileFormat::Orc,
        _ => FileFormat::Parquet,
    }
}

/// The bytes as a file in memory.
pub(super) async fn in_memory(bytes: Vec<u8>) -> Storage {
    let store = Arc::new(InMemory::new());
    let path = object_store::path::Path::from("f");
    store.put(&path, bytes.into()).await.unwrap();
    let storage = Storage::default();
    storage.register("s3://b", store as Arc<dyn ObjectStore>).unwrap();
    storage
}

pub(super) async fn opened(bytes: Vec<u8>, format: FileFormat) -> Result<OpenFile> {
    let size = u64::try_from(bytes.len()).unwrap();
    open(&in_memory(bytes).await, "s3://b/f", size, format).await
}

pub(super) async fn rows(bytes: Vec<u8>, format: FileFormat, batch_size: usize) -> Result<Vec<RecordBatch>> {
    let file = opened(bytes, format).await?;
    let all: Vec<usize> = (0..file.schema().fields().len()).collect();
    file.read(&all, batch_size).try_collect().await
}

async fn all_rows(path: &Path) -> RecordBatch {
    let batches = rows(std::fs::read(path).unwrap(), format_of(path), 1024)
        .await
        .unwrap();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// The fields with their ids, at any depth, as `name:id`.
pub(super) fn ids(field: &Field, found: &mut Vec<String>) {
    found.push(format!(
        "{}:{}",
        field.name(),
        field_id(field).map_or("-".into(), |i| i.to_string())
    ));
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().for_each(|f| ids(f, found)),
        DataType::List(element) => ids(element, found),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => fields.iter().for_each(|f| ids(f, found)),
            other => panic!("{other}"),
        },
        _ => {}
    }
}

#[tokio::test]
async fn all_formats_tell_the_same_ids_and_rows() {
    let mut told = Vec::new();
    for ending in ["avro", "orc", "parquet"] {
        let path = &files("format_mixed", ending)[0];
        let batch = all_rows(path).await;
        let mut found = Vec::new();
        batch.schema().fields().iter().for_each(|f| ids(f, &mut found));
        told.push(found.join(" "));
        assert_eq!(batch.num_rows(), 2, "{ending}");
        let id = batch.column_by_name("id").unwrap().as_primitive::<Int32Type>();
        let first = (0..2).find(|row| id.value(*row) % 10 == 0).unwrap();
        let other = 1 - first;
        let dec = batch.column_by_name("dec").unwrap();
        assert_eq!(dec.data_type(), &DataType::Decimal128(38, 10), "{ending}");
        let expected = i128::from(id.value(first)) * 10_000_000_000 + 5_000_000_000;
        assert_eq!(dec.as_primitive::<Decimal128Type>().value(first), expected);
        // 1960-01-01 00:00:00.000001
        let ts = batch.column_by_name("ts").unwrap();
        assert_eq!(ts.data_type(), &DataType::Timestamp(TimeUnit::Microsecond, None));
        let ts = ts.as_primitive::<TimestampMicrosecondType>().value(first);
        assert_eq!(ts, -315_619_199_999_999, "{ending}");
        let tz = batch.column_by_name("tz").unwrap();
        assert!(
            matches!(
                tz.data_type(),
                DataType::Timestamp(TimeUnit::Microsecond, Some(_))
            ),
            "{ending}: {}",
            tz.data_type()
        );
        let tz = tz.as_primitive::<TimestampMicrosecondType>().value(first);
        assert_eq!(tz, 1_704_067_200_123_456, "{ending}");
        let list = batch.column_by_name("l").unwrap().as_list::<i32>().value(first);
        let list: Vec<_> = list.as_primitive::<Int64Type>().iter().collect();
        assert_eq!(list, [Some(i64::from(id.value(first))), None], "{ending}");
        let map = batch.column_by_name("im").unwrap().as_map().value(first);
        assert_eq!(
            map.column(0).as_primitive::<Int32Type>().value(0),
            id.value(first)
        );
        assert_eq!(map.column(1).as_string::<i32>().value(0), "v");
        for column in batch.columns().iter().skip(1) {
            assert!(column.is_null(other), "{ending}: {}", column.data_type());
        }
    }
    let names = |told: &str| told.replace("keys", "key").replace("values", "value");
    assert_eq!(names(&told[0]), names(&told[1]));
    assert_eq!(names(&told[0]), names(&told[2]));
    assert!(told[0].contains("im:12 key:18 value:19"), "{}", told[0]);
    assert!(told[0].contains("l:10 element:15"), "{}", told[0]);
}

#[tokio::test]
async fn every_codec_is_read() {
    for (table, ending) in [("avro_codecs", "avro"), ("orc_codecs", "orc")] {
        let mut seen = Vec::new();
        for path in files(table, ending) {
            let batch = all_rows(&path).await;
            let column = batch.column_by_name("id").unwrap();
            let column = arrow::compute::cast(column, &DataType::Int64).unwrap();
            seen.extend(column.as_primitive::<Int64Type>().values().iter().copied());
        }
        seen.sort_unstable();
        let expected: Vec<i64> = (0..i64::try_from(seen.len()).unwrap()).collect();
        assert_eq!(seen, expected, "{table}");
    }
}

#[tokio::test]
async fn columns_come_in_any_order_and_small_batches() {
    for ending in ["avro", "orc", "parquet"] {
        let path = &files("format_mixed", ending)[0];
        let bytes = std::fs::read(path).unwrap();
        let file = opened(bytes.clone(), format_of(path)).await.unwrap();
        let place = |name: &str| file.schema().index_of(name).unwrap();
        let columns = [place("im"), place("id"), place("p"), place("id")];
        let batches: Vec<_> = file.read(&columns, 1).try_collect().await.unwrap();
        assert_eq!(batches.len(), 2, "{ending}");
        let names: Vec<_> = batches[0]
            .schema()
            .fields()
            .iter()
            .map(|f| f.name().clone())
            .collect();
        assert_eq!(names, ["im", "id", "p", "id"], "{ending}");
        let file = opened(bytes, format_of(path)).await.unwrap();
        let batches: Vec<_> = file.read(&[], 100).try_collect().await.unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 2);
        assert_eq!(batches[0].num_columns(), 0);
    }
}

#[tokio::test]
async fn a_file_that_is_gone_stays_a_missing_file() {
    let storage = in_memory(vec![1]).await;
    for format in [FileFormat::Parquet, FileFormat::Avro, FileFormat::Orc] {
        let error = open(&storage, "s3://b/gone", 100, format).await.unwrap_err();
        let error = error.needed_for("it is read at snapshot 1").to_string();
        assert!(error.contains("gone") && error.contains("snapshot 1"), "{error}");
    }
    let error = open(&storage, "s3://b/f", 1, FileFormat::Puffin)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
}

/// Whatever is read of a damaged file: its rows, or an error that names it.
async fn survives(bytes: Vec<u8>, format: FileFormat, how: &str) {
    if let Err(error) = rows(bytes, format, 7).await {
        assert!(error.to_string().contains("s3://b/f"), "{how}: {error}");
    }
}

fn examples() -> Vec<PathBuf> {
    let mut examples = Vec::new();
    for ending in ["avro", "orc", "parquet"] {
        examples.push(files("format_mixed", ending)[0].clone());
    }
    examples.push(files("avro_codecs", "avro")[0].clone());
    examples.extend(files("orc_codecs", "orc"));
    examples
}

#[tokio::test]
async fn a_shorter_file_is_an_error() {
    for path in examples() {
        let whole = std::fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(whole.len() / 40 + 1) {
            let short = whole[..length].to_vec();
            let how = format!("{} cut to {length}", path.display());
            // The table says that the file is still as long as it was.
            let storage = in_memory(short.clone()).await;
            let size = u64::try_from(whole.len()).unwrap();
            let error = match open(&storage, "s3://b/f", size, format_of(&path)).await {
                Err(error) => error,
                Ok(file) => {
                    let columns: Vec<usize> = (0..file.schema().fields().len()).collect();
                    let rows = file.read(&columns, 100).try_collect::<Vec<_>>().await;
                    rows.expect_err(&how)
                }
            };
            assert!(error.to_string().contains("s3://b/f"), "{how}: {error}");
            survives(short, format_of(&path), &how).await;
        }
    }
}

#[tokio::test]
async fn a_flipped_byte_is_no_panic() {
    for path in examples() {
        let whole = std::fs::read(&path).unwrap();
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..300 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let place = usize::try_from(seed >> 33).unwrap() % whole.len();
            let mut damaged = whole.clone();
            damaged[place] ^= 1 << (seed >> 20 & 7);
            let how = format!("{}, byte {place}", path.display());
            survives(damaged, format_of(&path), &how).await;
        }
    }
}

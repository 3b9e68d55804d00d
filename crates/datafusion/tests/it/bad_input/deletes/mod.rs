//! Deletes that are damaged, gone, absurd or not allowed: an error that names the file, or rows as if the odd part
//! were not there.

mod subject;

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};
use datafusion::parquet::file::properties::WriterProperties;
use drumlin_format::manifest::{ColumnMetrics, DataContent};
use drumlin_format::metadata::{NewTable, UnboundPartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::sort::SortOrder;
use drumlin_format::types::PrimitiveType as P;
use drumlin_format::types::{ListType, NestedField};
use drumlin_format::value::Value;
use drumlin_table::storage::Storage;
use drumlin_testing::table_writer::{DELETE_FILE_PATH_ID, DELETE_FILE_POS_ID, part_of_schema};
use drumlin_testing::{Partition, Row, TableWriter};
use object_store::ObjectStoreExt;

use crate::session::says;
use subject::{GROUP, ID, NUMBER, Subject, TEXT, name};

const ELEMENT: i32 = 6;

#[tokio::test]
async fn deletes_that_are_right() {
    let mut subject = Subject::new(3).await;
    let vector = subject.vector(&[0, 3, 9]).await;
    subject.commit(&[&vector]).await;
    subject.has_all_but(&[0, 3, 9]).await;

    let mut subject = Subject::new(2).await;
    let path = Arc::clone(&subject.data.file_path);
    let positions = subject.positions(&[(Arc::clone(&path), 1), (path, 2)]).await;
    let rows = subject.rows[4..6].to_vec();
    let keys = subject.keys(&[ID], &[ID], &rows).await;
    subject.commit(&[&positions, &keys]).await;
    subject.has_all_but(&[1, 2, 4, 5]).await;
}

/// So many that they are not compared with data files one by one.
#[tokio::test]
async fn many_equality_delete_files() {
    let mut subject = Subject::new(2).await;
    let mut files = Vec::new();
    for place in 0..70 {
        let row = subject.rows[place % 3..][..1].to_vec();
        files.push(subject.keys(&[ID], &[ID], &row).await);
    }
    subject.commit(&files.iter().collect::<Vec<_>>()).await;
    subject.has_all_but(&[0, 1, 2]).await;
}

#[tokio::test]
async fn vectors_with_wrong_framing() {
    // What is changed from the start of the blob, or from its end; and a word of the message.
    let changes: [(&str, usize, bool); 5] = [
        ("length", 3, true),
        ("magic", 4, true),
        ("the count of bitmaps", 8, true),
        ("the bitmap", 8, false),
        ("checksum", 1, false),
    ];
    for (what, at, from_start) in changes {
        let mut subject = Subject::new(3).await;
        let vector = subject.vector(&[1, 5]).await;
        subject.commit(&[&vector]).await;
        let start = usize::try_from(vector.content_offset.unwrap()).unwrap();
        let size = usize::try_from(vector.content_size_in_bytes.unwrap()).unwrap();
        let place = if from_start { start + at } else { start + size - at };
        subject
            .change(&vector.file_path, |bytes| bytes[place] ^= 0x41)
            .await;
        let text = subject.failure().await;
        assert!(text.contains(name(&vector)), "{what}: {text}");
    }
}

#[tokio::test]
async fn vectors_with_another_cardinality_than_the_manifest_says() {
    for count in [0, 1, 3, i64::MAX] {
        let mut subject = Subject::new(3).await;
        let mut vector = subject.vector(&[1, 5]).await;
        vector.record_count = count;
        subject.commit(&[&vector]).await;
        says(&subject.failure().await, &[name(&vector), "2"]);
    }
}

#[tokio::test]
async fn vectors_in_places_that_are_not_there() {
    for (offset, size) in [
        (-1, None),
        (i64::MAX, None),
        (10_000, None),
        (5, None),
        (4, Some(-1)),
        (4, Some(0)),
        (4, Some(7)),
        (4, Some(1 << 20)),
        (4, Some(1 << 40)),
        (4, Some(i64::MAX)),
    ] {
        let mut subject = Subject::new(3).await;
        let mut vector = subject.vector(&[1, 5]).await;
        vector.content_offset = Some(offset);
        if size.is_some() {
            vector.content_size_in_bytes = size;
        }
        subject.commit(&[&vector]).await;
        let text = subject.failure().await;
        // What is negative is refused with the manifest.
        let named = if offset < 0 || size.is_some_and(|size| size < 0) {
            "-m0.avro"
        } else {
            name(&vector)
        };
        says(&text, &[named]);
    }
    // Where its size, its place or its data file is not told at all.
    for field in ["143", "144", "145"] {
        let mut subject = Subject::new(3).await;
        let vector = subject.vector(&[1, 5]).await;
        subject.commit(&[&vector]).await;
        subject.hide_field(field).await;
        says(&subject.failure().await, &[name(&vector)]);
    }
}

#[tokio::test]
async fn positions_behind_the_end_and_of_unknown_files_do_no_harm() {
    let mut subject = Subject::new(3).await;
    let vector = subject.vector(&[1, 10, 1 << 33, 1 << 40]).await;
    subject.commit(&[&vector]).await;
    // Only the rows: a count without them is the manifest's, which such a vector belies.
    let rows = subject.rows().await.unwrap();
    assert_eq!(rows, ["0", "2", "3", "4", "5", "6", "7", "8", "9"]);

    let mut subject = Subject::new(2).await;
    let path = Arc::clone(&subject.data.file_path);
    let unknown: Arc<str> = Arc::from("memory:/subject/data/unknown.parquet");
    // The same file to people, but not the same text.
    let other_text: Arc<str> = Arc::from(path.replace("memory:/", "memory:///").as_str());
    let deletes = [
        (unknown, 3),
        (Arc::clone(&path), 2),
        (other_text, 4),
        (Arc::clone(&path), 10),
        (path, i64::MAX),
    ];
    let positions = subject.positions(&deletes).await;
    subject.commit(&[&positions]).await;
    subject.has_all_but(&[2]).await;
}

#[tokio::test]
async fn position_delete_files_of_other_columns() {
    let path = |subject: &Subject, rows| -> ArrayRef {
        Arc::new(StringArray::from(vec![subject.data.file_path.to_string(); rows]))
    };
    let content = DataContent::PositionDeletes;
    let longs = |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
    let (path_id, pos_id) = (DELETE_FILE_PATH_ID, DELETE_FILE_POS_ID);
    for odd in [
        "no position",
        "no path",
        "text as position",
        "number as path",
        "negative",
        "null position",
        "null path",
    ] {
        let mut subject = Subject::new(2).await;
        let of = path(&subject, 1);
        let columns: Vec<(i32, &str, ArrayRef)> = match odd {
            "no position" => vec![(path_id, "file_path", of)],
            "no path" => vec![(pos_id, "pos", longs(vec![Some(1)]))],
            "text as position" => vec![(path_id, "file_path", Arc::clone(&of)), (pos_id, "pos", of)],
            "number as path" => vec![
                (path_id, "file_path", longs(vec![Some(1)])),
                (pos_id, "pos", longs(vec![Some(1)])),
            ],
            "negative" => vec![(path_id, "file_path", of), (pos_id, "pos", longs(vec![Some(-1)]))],
            "null position" => vec![(path_id, "file_path", of), (pos_id, "pos", longs(vec![None]))],
            _ => vec![
                (
                    path_id,
                    "file_path",
                    Arc::new(StringArray::from(vec![None::<&str>])),
                ),
                (pos_id, "pos", longs(vec![Some(1)])),
            ],
        };
        let positions = subject.file(content, columns).await;
        subject.commit(&[&positions]).await;
        let text = subject.failure().await;
        assert!(text.contains(name(&positions)), "{odd}: {text}");
    }
    // More columns than needed, in another order, are right.
    let mut subject = Subject::new(2).await;
    let columns = vec![
        (8, "more", longs(vec![None, Some(7)])),
        (pos_id, "pos", longs(vec![Some(6), Some(1)])),
        (path_id, "file_path", path(&subject, 2)),
    ];
    let positions = subject.file(content, columns).await;
    subject.commit(&[&positions]).await;
    subject.has_all_but(&[1, 6]).await;
}

#[tokio::test]
async fn two_vectors_of_one_data_file() {
    let mut subject = Subject::new(3).await;
    let (a, b) = (subject.vector(&[1]).await, subject.vector(&[2]).await);
    subject.commit(&[&a]).await;
    subject.commit(&[&b]).await;
    says(
        &subject.failure().await,
        &[name(&subject.data), name(&a), name(&b)],
    );
}

#[tokio::test]
async fn equality_ids_that_are_no_columns() {
    // No schema has ever had the first; the others are a struct and nothing at all.
    for id in [99, GROUP, -5] {
        let mut subject = Subject::new(2).await;
        let rows = subject.rows[..1].to_vec();
        let keys = subject.keys(&[ID], &[id], &rows).await;
        subject.commit(&[&keys]).await;
        says(&subject.failure().await, &[name(&keys), &id.to_string()]);
    }
    let mut subject = Subject::new(2).await;
    let rows = subject.rows[..1].to_vec();
    let keys = subject.keys(&[ID], &[ID], &rows).await;
    subject.commit(&[&keys]).await;
    subject.hide_field("135").await;
    says(&subject.failure().await, &[name(&keys)]);
}

#[tokio::test]
async fn equality_ids_inside_of_lists() {
    let storage = Storage::default();
    let list = ListType::new(ELEMENT, P::Long, false);
    let fields = vec![
        NestedField::required(ID, "id", P::Long),
        NestedField::optional(TEXT, "list", list),
    ];
    let table = NewTable {
        location: "memory:/subject".to_string(),
        schema: Schema::new(0, fields, vec![]).unwrap(),
        partition_spec: UnboundPartitionSpec::default(),
        sort_order: SortOrder::unsorted(),
        properties: BTreeMap::from([("format-version".to_string(), "2".to_string())]),
    };
    let mut writer = TableWriter::create(&storage, table).await;
    // Rows with lists are not made; the file was written before there was the list.
    let first = part_of_schema(writer.metadata().current_schema(), &[ID]);
    let rows: Vec<Row> = (0..10)
        .map(|id| Row::from([(ID, Some(Value::Long(id)))]))
        .collect();
    let batch = drumlin_testing::array::batch(&rows, &first);
    let partition = Partition {
        spec_id: 0,
        values: vec![],
    };
    let data = writer
        .write_parquet(&batch, DataContent::Data, partition, WriterProperties::default())
        .await;
    writer.append(&[vec![data.clone()]]).await;
    let element = writer.metadata().last_column_id();
    let mut subject = Subject {
        storage,
        writer,
        data,
        rows,
    };
    let rows = subject.rows[..1].to_vec();
    let keys = subject.keys(&[ID], &[element], &rows).await;
    subject.commit(&[&keys]).await;
    says(&subject.failure().await, &[name(&keys), &element.to_string()]);
}

#[tokio::test]
async fn equality_delete_files_without_their_key() {
    let mut subject = Subject::new(2).await;
    let rows = subject.rows[..2].to_vec();
    let mut keys = subject.keys(&[ID], &[ID, TEXT], &rows).await;
    // Bounds would tell that nothing can match.
    keys.column_metrics = ColumnMetrics::unknown();
    subject.commit(&[&keys]).await;
    says(&subject.failure().await, &[name(&keys), "text"]);

    // Keys of another type than their column, though Arrow would make integers of them.
    let columns: [ArrayRef; 3] = [
        Arc::new(BooleanArray::from(vec![true])),
        Arc::new(StringArray::from(vec!["4"])),
        Arc::new(Float64Array::from(vec![4.0])),
    ];
    for column in columns {
        let mut subject = Subject::new(2).await;
        let mut keys = subject
            .file(DataContent::EqualityDeletes, vec![(ID, "id", column)])
            .await;
        keys.equality_ids = Some(vec![ID]);
        subject.commit(&[&keys]).await;
        says(&subject.failure().await, &[name(&keys), "id"]);
    }

    // One that is promoted to it is right.
    let mut subject = Subject::new(2).await;
    let column: ArrayRef = Arc::new(Int32Array::from(vec![4, 7]));
    let mut keys = subject
        .file(DataContent::EqualityDeletes, vec![(ID, "renamed", column)])
        .await;
    keys.equality_ids = Some(vec![ID]);
    subject.commit(&[&keys]).await;
    subject.has_all_but(&[4, 7]).await;
}

#[tokio::test]
async fn keys_of_floats_are_read() {
    let mut subject = Subject::new(2).await;
    // NaN and -2.5.
    let rows = subject.rows[2..4].to_vec();
    let keys = subject.keys(&[NUMBER], &[NUMBER], &rows).await;
    subject.commit(&[&keys]).await;
    subject.has_all_but(&[2, 3, 6, 7]).await;
}

#[tokio::test]
async fn files_that_are_gone() {
    for version in [2, 3] {
        for gone in 0..3 {
            let mut subject = Subject::new(version).await;
            let path = Arc::clone(&subject.data.file_path);
            let positions = match version {
                2 => subject.positions(&[(path, 1)]).await,
                _ => subject.vector(&[1]).await,
            };
            let rows = subject.rows[..1].to_vec();
            let keys = subject.keys(&[ID], &[ID], &rows).await;
            subject.commit(&[&positions, &keys]).await;
            let file = [&subject.data, &positions, &keys][gone];
            let (store, path) = subject.storage.resolve(&file.file_path).unwrap();
            store.delete(&path).await.unwrap();
            let snapshot = subject.writer.metadata().current_snapshot_id().unwrap();
            let text = subject.failure().await;
            says(&text, &[name(file), &snapshot.to_string(), "subject", "expired"]);
        }
    }
}

#[tokio::test]
async fn delete_files_that_are_no_files_of_their_format() {
    for version in [2, 3] {
        for damaged in 0..2 {
            let mut subject = Subject::new(version).await;
            let path = Arc::clone(&subject.data.file_path);
            let positions = match version {
                2 => subject.positions(&[(path, 1)]).await,
                _ => subject.vector(&[1]).await,
            };
            let rows = subject.rows[..1].to_vec();
            let keys = subject.keys(&[ID], &[ID], &rows).await;
            subject.commit(&[&positions, &keys]).await;
            let file = [&positions, &keys][damaged];
            subject.change(&file.file_path, |bytes| bytes.fill(b'x')).await;
            says(&subject.failure().await, &[name(file)]);
            subject.change(&file.file_path, |bytes| bytes.truncate(3)).await;
            says(&subject.failure().await, &[name(file)]);
        }
    }
}

#[tokio::test]
async fn vectors_in_a_table_of_version_2() {
    let mut subject = Subject::new(3).await;
    let vector = subject.vector(&[1, 5]).await;
    subject.commit(&[&vector]).await;
    let metadata = subject.writer.metadata_file();
    subject
        .change(&metadata, |bytes| {
            let mut json: serde_json::Value = serde_json::from_slice(bytes).unwrap();
            json["format-version"] = serde_json::json!(2);
            *bytes = json.to_string().into_bytes();
        })
        .await;
    // They are not allowed there. Rows that were deleted must not come back.
    match subject.rows().await {
        Ok(_) => subject.has_all_but(&[1, 5]).await,
        Err(text) => says(&text, &["subject"]),
    }
}

//! Well-formed files that say what cannot be, or what is not supported.

use std::sync::Arc;

use datafusion::arrow::array::{Int64Array, RecordBatch};
use datafusion::prelude::SessionConfig;
use drumlin_format::manifest::FileFormat;
use drumlin_table::Table;
use drumlin_table::arrow::schema_to_arrow;
use serde_json::json;

use crate::session::{answer, extended, integers, message, refusal, register, says};
use crate::written::{METADATA, Written};

/// Three files of three rows each: 0 to 8.
fn table(format_version: u8) -> Written {
    let schema = json!({"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "v", "required": false, "type": "long"}
    ]});
    let mut table = Written::new(format_version, vec![schema]);
    let schema = Arc::new(schema_to_arrow(&table.schema(0)));
    for file in 0..3 {
        let values = Int64Array::from_iter_values(3 * file..3 * file + 3);
        table.add(
            &RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(values)]).unwrap(),
            10,
        );
    }
    table
}

/// The message with which reading the table fails, at opening or at a query.
async fn failure(table: &Written) -> String {
    let storage = table.write().await;
    if let Err(error) = Table::open(&storage, METADATA).await {
        return error.to_string();
    }
    let ctx = extended(&storage, SessionConfig::new());
    register(&ctx, &storage, "t", METADATA, false).await;
    match answer(&ctx, "SELECT * FROM t").await {
        Ok(rows) => panic!("answers {rows:?}"),
        Err(error) => message(&error),
    }
}

#[tokio::test]
async fn the_table_itself_is_right() {
    for version in 1..=3 {
        let storage = table(version).write().await;
        let ctx = extended(&storage, SessionConfig::new());
        register(&ctx, &storage, "t", METADATA, false).await;
        let sql = "SELECT count(*), count(v), min(v), max(v), sum(v) FROM t";
        assert_eq!(integers(&ctx, sql).await, [[9, 9, 0, 8, 36]]);
    }
}

#[tokio::test]
async fn sizes_that_are_negative_or_too_large() {
    for size in [1_i64 << 20, 1 << 40, i64::MAX] {
        let mut table = table(2);
        for (file, _) in &mut table.files {
            file.file_size_in_bytes = size;
        }
        says(&failure(&table).await, &["s3/written/t/data/"]);
    }
    // Smaller than the file: the footer is not where it should be.
    for size in [0, 1, 7, 12, 100] {
        let mut table = table(2);
        table.files[1].0.file_size_in_bytes = size;
        says(&failure(&table).await, &["t/data/1.parquet"]);
    }
    // The writer of manifests refuses negative sizes: the lowest bit of a zigzag number is its sign.
    let mut negative = table(2);
    negative.files[1].0.file_size_in_bytes = 0x0123_4567;
    negative.change_manifest_bytes = |bytes| {
        let mut encoded = Vec::new();
        let mut rest = 0x0123_4567_u64 << 1;
        while rest > 0x7f {
            encoded.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        encoded.push(u8::try_from(rest).unwrap());
        let at = bytes.windows(encoded.len()).position(|w| w == encoded).unwrap();
        bytes[at] |= 1;
    };
    says(
        &failure(&negative).await,
        &["t/metadata/m.avro", "file_size_in_bytes", "negative"],
    );
}

#[tokio::test]
async fn row_counts_that_cannot_be() {
    for count in [i64::MAX / 3, 1 << 40, 0] {
        let mut table = table(2);
        for (file, _) in &mut table.files {
            file.record_count = count;
        }
        let storage = table.write().await;
        let ctx = extended(&storage, SessionConfig::new());
        register(&ctx, &storage, "t", METADATA, false).await;
        let sum = "SELECT sum(v), count(DISTINCT v) FROM t";
        if count > 0 {
            assert_eq!(integers(&ctx, sum).await, [[36, 9]], "{count}");
            assert_eq!(integers(&ctx, "SELECT v FROM t WHERE v = 4").await, [[4]]);
            assert_eq!(
                integers(&ctx, "SELECT v FROM t ORDER BY v DESC LIMIT 1").await,
                [[8]]
            );
            assert_eq!(
                integers(&ctx, "SELECT count(*) FROM t a JOIN t b USING (v)").await,
                [[9]]
            );
        }
        // What the manifest says is all that is known without opening the files.
        answer(&ctx, "SELECT count(*) FROM t").await.unwrap();
        answer(&ctx, "SELECT count(*) FROM t CROSS JOIN t AS u CROSS JOIN t AS w")
            .await
            .unwrap();
    }
    let mut table = table(2);
    table.files.truncate(1);
    table.files[0].0.record_count = i64::MAX;
    let storage = table.write().await;
    let ctx = extended(&storage, SessionConfig::new());
    register(&ctx, &storage, "t", METADATA, false).await;
    assert_eq!(integers(&ctx, "SELECT sum(v) FROM t").await, [[3]]);
    assert_eq!(integers(&ctx, "SELECT v FROM t LIMIT 2").await.len(), 2);
}

#[tokio::test]
async fn formats_that_are_not_read_are_named() {
    for (format, says_so) in [
        (FileFormat::Orc, "it is no ORC file"),
        (FileFormat::Avro, "it is no Avro file"),
        (
            FileFormat::Other("LANCE".into()),
            "of the format LANCE; data files can be read in Parquet",
        ),
    ] {
        let mut table = table(2);
        table.files[1].0.file_format = format;
        says(&failure(&table).await, &["t/data/1.parquet", says_so]);
    }
    let mut future = table(3);
    future.change_metadata = |metadata| metadata["format-version"] = json!(4);
    says(&failure(&future).await, &["v1.metadata.json", "format version 4"]);
    let mut future = table(3);
    future.change_metadata = |metadata| metadata["format-version"] = json!(5_000_000_000_i64);
    says(&failure(&future).await, &["v1.metadata.json", "5000000000"]);
}

#[tokio::test]
async fn encrypted_files_are_refused() {
    // The manifest's writer writes no keys: give the column of another name its id.
    let mut encrypted = table(2);
    encrypted.files[2].0.referenced_data_file = Some("key".into());
    encrypted.change_manifest_bytes = |bytes| {
        let mut swap = |from: &[u8], to: &[u8]| {
            let at = bytes.windows(from.len()).position(|w| w == from);
            let at = at.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(bytes)));
            bytes[at..at + to.len()].copy_from_slice(to);
        };
        swap(b"\"field-id\":131", b"\"field-id\":999");
        swap(b"\"field-id\":143", b"\"field-id\":131");
    };
    says(
        &failure(&encrypted).await,
        &["t/metadata/m.avro", "encrypted", "key_metadata"],
    );
    let mut encrypted = table(3);
    encrypted.change_metadata = |metadata| {
        metadata["encryption-keys"] = json!([{"key-id": "k", "encrypted-key-metadata": "AAAA"}]);
        metadata["snapshots"][0]["key-id"] = json!("k");
    };
    says(&failure(&encrypted).await, &["encrypted", "`k`", "t/metadata"]);
}

#[tokio::test]
async fn ids_that_lead_nowhere_are_named() {
    let mut table2 = table(2);
    table2.change_metadata = |metadata| metadata["snapshots"][0]["schema-id"] = json!(99);
    let storage = table2.write().await;
    let ctx = extended(&storage, SessionConfig::new());
    match Table::open(&storage, METADATA).await {
        Err(error) => says(&error.to_string(), &["v1.metadata.json", "99"]),
        Ok(_) => {
            // The current state has the current schema; the snapshot its own, which is not there.
            register(&ctx, &storage, "t", METADATA, false).await;
            assert_eq!(integers(&ctx, "SELECT sum(v) FROM t").await, [[36]]);
            let sql = "SELECT * FROM t VERSION AS OF 77";
            says(&refusal(&ctx, sql).await, &["99", "t"]);
        }
    }
    let mut spec = table(2);
    spec.change_manifest = |manifest| manifest.partition_spec_id = 5;
    says(&failure(&spec).await, &["m.avro", "5"]);
    for (change, parts) in [
        (
            (|m| m["current-snapshot-id"] = json!(78)) as fn(&mut serde_json::Value),
            ["v1.metadata.json", "78"],
        ),
        (|m| m["current-schema-id"] = json!(7), ["v1.metadata.json", "7"]),
        (|m| m["default-spec-id"] = json!(7), ["v1.metadata.json", "7"]),
        (
            |m| m["snapshots"][0]["manifest-list"] = json!("ftp://written/x"),
            ["ftp://written/x", "scheme"],
        ),
        (
            |m| m["snapshots"][0]["manifest-list"] = json!("s3://written/t/absent.avro"),
            ["s3://written/t/absent.avro", "77"],
        ),
    ] {
        let mut table = table(2);
        table.change_metadata = change;
        let failed = failure(&table).await;
        says(&failed, &parts);
    }
}

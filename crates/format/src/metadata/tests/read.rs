use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};

use super::super::*;
use crate::error::Result;
use crate::snapshot::{ManifestListLocation, Operation};
use crate::transform::Transform;

/// The smallest table of each version that the specification allows, with one snapshot.
pub(super) fn golden(version: u8) -> Json {
    let schema = json!({"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "id", "required": true, "type": "long"},
        {"id": 2, "name": "ts", "required": false, "type": "timestamp"},
    ]});
    let partition_fields = json!([{"name": "ts_day", "transform": "day", "source-id": 2, "field-id": 1000}]);
    match version {
        1 => json!({
            "format-version": 1, "location": "s3://b/t", "last-updated-ms": 1000, "last-column-id": 2,
            "schema": {"type": "struct", "fields": schema["fields"]},
            "partition-spec": [{"name": "ts_day", "transform": "day", "source-id": 2}],
            "current-snapshot-id": 11,
            "snapshots": [{"snapshot-id": 11, "timestamp-ms": 1000, "manifests": ["s3://b/t/m.avro"]}],
        }),
        2 | 3 => {
            let mut json = json!({
                "format-version": version, "table-uuid": "5c47484d-190d-4933-b4d2-5e1a453a771a",
                "location": "s3://b/t", "last-sequence-number": 2, "last-updated-ms": 3000, "last-column-id": 2,
                "current-schema-id": 1,
                "schemas": [schema, {"type": "struct", "schema-id": 1, "fields": schema["fields"],
                    "identifier-field-ids": [1]}],
                "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": partition_fields}],
                "last-partition-id": 1000, "default-sort-order-id": 0,
                "sort-orders": [{"order-id": 0, "fields": []}],
                "properties": {"owner": "me"}, "current-snapshot-id": 12,
                "refs": {"main": {"snapshot-id": 12, "type": "branch"},
                    "first": {"snapshot-id": 11, "type": "tag", "max-ref-age-ms": 9}},
                "snapshots": [
                    {"sequence-number": 1, "snapshot-id": 11, "timestamp-ms": 1000, "schema-id": 0,
                        "manifest-list": "s3://b/t/1.avro", "summary": {"operation": "append"}},
                    {"sequence-number": 2, "snapshot-id": 12, "parent-snapshot-id": 11, "timestamp-ms": 2000,
                        "schema-id": 1, "manifest-list": "s3://b/t/2.avro",
                        "summary": {"operation": "delete", "deleted-records": "1"}},
                ],
                "statistics": [{"snapshot-id": 12, "statistics-path": "s3://b/t/s.puffin",
                    "file-size-in-bytes": 9, "file-footer-size-in-bytes": 4, "blob-metadata": [{"type": "x",
                    "snapshot-id": 12, "sequence-number": 2, "fields": [1], "properties": {"ndv": "3"}}]}],
                "partition-statistics": [{"snapshot-id": 12, "statistics-path": "s3://b/t/p.parquet",
                    "file-size-in-bytes": 9}],
                "snapshot-log": [{"timestamp-ms": 1000, "snapshot-id": 11}, {"timestamp-ms": 2000, "snapshot-id": 12}],
                "metadata-log": [{"timestamp-ms": 1000, "metadata-file": "s3://b/t/v1.metadata.json"}],
            });
            if version == 3 {
                json["next-row-id"] = 30.into();
                json["snapshots"][1]["first-row-id"] = 10.into();
                json["snapshots"][1]["added-rows"] = 20.into();
                json["encryption-keys"] = json!([{"key-id": "k", "encrypted-key-metadata": "AA=="}]);
            }
            json
        }
        other => panic!("no golden of version {other}"),
    }
}

pub(super) fn read(json: &Json) -> Result<TableMetadata> {
    TableMetadata::from_bytes(&serde_json::to_vec(json).unwrap())
}

fn error(json: &Json) -> String {
    read(json).unwrap_err().to_string()
}

fn with(version: u8, key: &str, value: Json) -> Json {
    let mut json = golden(version);
    json[key] = value;
    json
}

fn without(version: u8, key: &str) -> Json {
    let mut json = golden(version);
    json.as_object_mut().unwrap().remove(key);
    json
}

#[test]
fn the_first_version_is_read_with_its_fallbacks() {
    let metadata = read(&golden(1)).unwrap();
    assert_eq!(metadata.table_uuid(), None);
    assert_eq!(metadata.current_schema().schema_id(), 0);
    assert_eq!(metadata.schemas().len(), 1);
    assert_eq!(metadata.default_spec().spec_id(), 0);
    assert_eq!(metadata.default_spec().fields()[0].field_id, 1000);
    assert_eq!(metadata.default_spec().fields()[0].transform, Transform::Day);
    assert_eq!(metadata.last_partition_id(), 1000);
    assert!(metadata.default_sort_order().is_unsorted());
    assert_eq!(metadata.refs()["main"].snapshot_id, 11);
    let current = metadata.current_snapshot().unwrap();
    assert_eq!(current.summary.operation, Operation::Overwrite);
    assert_eq!(
        current.manifest_list,
        ManifestListLocation::Manifests(vec!["s3://b/t/m.avro".into()])
    );
    let written: Json = serde_json::from_slice(&metadata.to_json_bytes().unwrap()).unwrap();
    for key in ["schema", "schemas", "partition-spec", "partition-specs"] {
        assert!(written.get(key).is_some(), "{key}");
    }
    assert!(written.get("last-sequence-number").is_none());
    let unpartitioned = with(1, "partition-spec", json!([]));
    assert_eq!(read(&unpartitioned).unwrap().last_partition_id(), 999);
}

#[test]
fn later_versions_read_back_as_they_were() {
    for version in [2, 3] {
        let metadata = read(&golden(version)).unwrap();
        let written: Json = serde_json::from_slice(&metadata.to_json_bytes().unwrap()).unwrap();
        assert_eq!(written, golden(version));
    }
    let metadata = read(&golden(3)).unwrap();
    assert_eq!(metadata.next_row_id(), 30);
    assert_eq!(metadata.current_snapshot().unwrap().first_row_id, Some(10));
    assert_eq!(metadata.encryption_keys()[0].key_id, "k");
}

#[test]
fn no_current_snapshot_is_spelled_in_three_ways() {
    for value in [json!(-1), json!(null)] {
        let mut json = with(2, "current-snapshot-id", value);
        json["refs"] = json!({});
        assert_eq!(read(&json).unwrap().current_snapshot_id(), None);
    }
    let mut json = without(3, "current-snapshot-id");
    json["refs"] = json!({});
    let metadata = read(&json).unwrap();
    assert!(metadata.current_snapshot().is_none());
    let written: Json = serde_json::from_slice(&metadata.to_json_bytes().unwrap()).unwrap();
    assert_eq!(written["current-snapshot-id"], Json::Null);
}

#[test]
fn optional_fields_may_be_missing_or_null_and_unknown_ones_are_ignored() {
    for key in [
        "properties",
        "refs",
        "statistics",
        "partition-statistics",
        "snapshot-log",
        "metadata-log",
    ] {
        read(&without(2, key)).unwrap();
        read(&with(2, key, Json::Null)).unwrap();
    }
    assert_eq!(read(&without(2, "refs")).unwrap().refs()["main"].snapshot_id, 12);
    let unlisted = read(&with(2, "sort-orders", json!([]))).unwrap();
    assert!(unlisted.default_sort_order().is_unsorted());
    read(&with(2, "colour", json!({"a": [1]}))).unwrap();
}

#[test]
fn missing_fields_are_named() {
    for key in [
        "table-uuid",
        "location",
        "last-sequence-number",
        "last-updated-ms",
        "last-column-id",
        "schemas",
        "current-schema-id",
        "partition-specs",
        "default-spec-id",
        "last-partition-id",
        "sort-orders",
        "default-sort-order-id",
        "next-row-id",
    ] {
        let error = error(&without(3, key));
        assert!(error.contains(&format!("`{key}`")), "{key}: {error}");
    }
    assert!(error(&without(1, "schema")).contains("`schema`"));
}

#[test]
fn wrong_values_are_named() {
    for (key, value, expect) in [
        ("current-schema-id", json!(7), "`current-schema-id`"),
        ("default-spec-id", json!(7), "`default-spec-id`"),
        ("default-sort-order-id", json!(7), "`default-sort-order-id`"),
        ("current-snapshot-id", json!(7), "current-snapshot-id"),
        ("current-snapshot-id", json!(11), "refs.main"),
        ("last-sequence-number", json!(1), "last-sequence-number"),
        ("last-updated-ms", json!("now"), "`last-updated-ms`"),
        ("table-uuid", json!("x"), "`table-uuid`"),
        ("last-column-id", json!(1_i64 << 40), "`last-column-id`"),
        ("refs", json!({"b": {"snapshot-id": 99, "type": "tag"}}), "refs.b"),
        (
            "refs",
            json!({"b": {"snapshot-id": "x", "type": "tag"}}),
            "`refs.b.snapshot-id`",
        ),
        ("properties", json!({"a": 1}), "`properties.a`"),
    ] {
        let error = error(&with(2, key, value));
        assert!(error.contains(expect), "{key}: {error}");
    }
    let mut json = golden(2);
    json["snapshots"][1]["timestamp-ms"] = "x".into();
    assert!(
        error(&json).contains("`snapshots[1].timestamp-ms`"),
        "{}",
        error(&json)
    );
    let mut json = golden(2);
    json["snapshots"][1]["snapshot-id"] = 11.into();
    assert!(error(&json).contains("snapshots[1]"));
    let mut json = golden(2);
    json["schemas"][1]["fields"][0]["type"] = 5.into();
    assert!(error(&json).contains("schemas[1]"), "{}", error(&json));
}

#[test]
fn logs_may_be_out_of_order_by_a_minute() {
    let log = |first: i64| {
        with(
            2,
            "snapshot-log",
            json!([{"timestamp-ms": first, "snapshot-id": 11}, {"timestamp-ms": 2000, "snapshot-id": 12}]),
        )
    };
    read(&log(62_000)).unwrap();
    assert!(error(&log(62_001)).contains("snapshot-log[1]"));
    let log = with(
        2,
        "metadata-log",
        json!([{"timestamp-ms": 63_001, "metadata-file": "x"}]),
    );
    assert!(error(&log).contains("last-updated-ms"));
}

#[test]
fn other_versions_are_refused_by_name() {
    assert!(error(&with(2, "format-version", json!(4))).contains("format version 4 is in development"));
    assert!(error(&with(2, "format-version", json!(5))).contains("format version 5"));
    assert!(error(&with(2, "format-version", json!(0))).contains("format-version"));
    let mut json = with(2, "format-version", json!(4));
    json["snapshots"] = json!("elsewhere");
    assert!(error(&json).contains("format version 4"));
    assert!(error(&json!({})).contains("format-version"));
    assert!(error(&json!([])).contains("table metadata"));
}

#[test]
fn gzip_is_found_by_its_first_bytes_and_bounded() {
    let plain = serde_json::to_vec(&golden(2)).unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&plain).unwrap();
    let packed = encoder.finish().unwrap();
    assert_eq!(
        TableMetadata::from_bytes(&packed).unwrap(),
        read(&golden(2)).unwrap()
    );
    let size = u64::try_from(plain.len()).unwrap();
    assert!(TableMetadata::from_bytes_with_limit(&packed, size).is_ok());
    let error = TableMetadata::from_bytes_with_limit(&packed, size - 1).unwrap_err();
    assert!(error.to_string().contains("more than"));
    assert!(TableMetadata::from_bytes(&packed[..packed.len() / 2]).is_err());
}

fn conformance_tables() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../sql-tests/conformance/tables"
    ))
}

#[test]
fn tables_of_the_reference_implementation_read_back() {
    let mut files = 0;
    for table in std::fs::read_dir(conformance_tables()).unwrap() {
        let Ok(folder) = std::fs::read_dir(table.unwrap().path().join("metadata")) else {
            continue;
        };
        for file in folder {
            let path = file.unwrap().path();
            if !path.to_string_lossy().ends_with(".metadata.json") {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let metadata =
                TableMetadata::from_bytes(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let written = metadata.to_json_bytes().unwrap();
            assert_eq!(
                TableMetadata::from_bytes(&written).unwrap(),
                metadata,
                "{}",
                path.display()
            );
            if bytes.starts_with(b"{") {
                // What is written is what the reference implementation wrote, but for the order of keys and the
                // case of hex digits.
                let before: Json = serde_json::from_slice(&bytes.to_ascii_lowercase()).unwrap();
                let after: Json = serde_json::from_slice(&written.to_ascii_lowercase()).unwrap();
                assert_eq!(after, before, "{}", path.display());
            }
            files += 1;
        }
    }
    assert!(files > 600, "only {files} metadata files found");
}

/// Prints how long a file with 1,001 snapshots takes to read.
#[test]
fn a_thousand_snapshots_are_read_at_once() {
    let mut json = golden(2);
    let summary: serde_json::Map<String, Json> = (0..20)
        .map(|i| (format!("added-files-size-{i}"), Json::from("123456789")))
        .chain([("operation".to_string(), Json::from("append"))])
        .collect();
    let snapshots: Vec<Json> = (0..1001)
        .map(|i| {
            json!({"sequence-number": i + 1, "snapshot-id": 1_000_000 + i, "parent-snapshot-id": 999_999 + i,
                "timestamp-ms": 1000 + i, "schema-id": 0, "summary": summary,
                "manifest-list": format!("s3://bucket/warehouse/table/metadata/snap-{i}-1-ab3bfd1c.avro")})
        })
        .collect();
    let log: Vec<Json> = (0..1001)
        .map(|i| json!({"timestamp-ms": 1000 + i, "snapshot-id": 1_000_000 + i}))
        .collect();
    json["snapshots"] = snapshots.into();
    json["snapshot-log"] = log.into();
    json["last-sequence-number"] = 1001.into();
    json["current-snapshot-id"] = 1_001_000.into();
    json["refs"] = json!({"main": {"snapshot-id": 1_001_000, "type": "branch"}});
    let bytes = serde_json::to_vec(&json).unwrap();
    let mut best = std::time::Duration::MAX;
    for _ in 0..5 {
        let start = std::time::Instant::now();
        TableMetadata::from_bytes(&bytes).unwrap();
        best = best.min(start.elapsed());
    }
    println!("{} bytes with 1,001 snapshots read in {best:?}", bytes.len());
    let metadata = TableMetadata::from_bytes(&bytes).unwrap();
    assert_eq!(metadata.snapshot_as_of(1009).unwrap().snapshot_id, 1_000_009);
    assert_eq!(metadata.ancestors_of(1_001_000).count(), 1001);
}

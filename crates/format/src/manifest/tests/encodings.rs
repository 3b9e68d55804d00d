//! Files that other writers, older or odd, may have written; and files that are refused.

use serde_json::{Value as Json, json};

use crate::avro::{Codec, ContainerWriter, Encoder};
use crate::manifest::*;
use crate::manifest_list::*;
use crate::types::{NestedField, PrimitiveType, StructType};
use crate::value::Value;

fn list_entry() -> ManifestFile {
    ManifestFile {
        manifest_path: "m".into(),
        manifest_length: 1,
        partition_spec_id: 2,
        content: ManifestContent::Data,
        sequence_number: 9,
        min_sequence_number: 9,
        added_snapshot_id: 77,
        added_files_count: None,
        existing_files_count: None,
        deleted_files_count: None,
        added_rows_count: None,
        existing_rows_count: None,
        deleted_rows_count: None,
        partitions: None,
        key_metadata: None,
        first_row_id: None,
    }
}

fn field(id: i32, of: Json) -> Json {
    json!({"name": format!("f{id}"), "type": of, "field-id": id})
}

/// A manifest of these columns and one record.
fn manifest(data_file: Vec<Json>, status: Json, version: Option<&str>, record: &Encoder) -> Vec<u8> {
    let schema = json!({"type": "record", "name": "x", "namespace": "a.b", "fields": [
        field(2, json!(["null", {"type": "record", "name": "y", "fields": data_file}])),
        field(0, status),
    ]});
    let metadata: Vec<_> = version
        .map(|v| ("format-version", v.to_owned()))
        .into_iter()
        .collect();
    let mut container = ContainerWriter::new(&schema.to_string(), Codec::Null, &metadata);
    container.record(record.as_slice()).unwrap();
    container.finish().unwrap()
}

fn date_type(of: PrimitiveType) -> StructType {
    StructType::new(vec![NestedField::optional(1000, "d", of)])
}

/// Columns in another order, null as the second branch, ints for longs, several blocks with sizes, maps with numbers
/// as strings, nullable values, longs as keys, types by reference, columns nobody knows, no header but the schema.
#[test]
fn odd_encodings_are_read() {
    let mut e = Encoder::default();
    e.long(1);
    // 104 and 103 as ints
    e.long(500);
    e.long(0);
    e.long(5);
    // an unknown column: an enum, and a record that a later column names
    e.long(1);
    e.long(-7);
    // 109: an Avro map
    e.long(2);
    e.bytes(b"3");
    e.long(30);
    e.bytes(b"4");
    e.long(40);
    e.long(0);
    // 125: two blocks, the first with its size; nullable values; long keys; value before key
    e.long(-2);
    e.long(100);
    e.long(0);
    e.bytes(b"low");
    e.long(3);
    e.long(1);
    e.long(4);
    e.long(1);
    e.long(0);
    e.bytes(b"x");
    e.long(5);
    e.long(0);
    // 128: the usual form in two blocks
    e.long(1);
    e.long(3);
    e.bytes(b"up");
    e.long(1);
    e.long(4);
    e.bytes(b"");
    e.long(0);
    // the record by reference
    e.long(8);
    // 102: a date, null second
    e.long(0);
    e.long(10);
    // 101, 100 as bytes
    e.bytes(b"parquet");
    e.bytes("päth".as_bytes());
    // 132: not ascending
    e.long(2);
    e.long(9);
    e.long(4);
    e.long(0);
    // status of a union of three
    e.long(2);
    e.long(1);
    let pair = |key: &str, value: Json| {
        json!({"type": "record", "name": format!("p{key}"), "fields": [
            {"name": "value", "type": value}, {"name": "key", "type": "long"}]})
    };
    let plain = json!({"type": "record", "name": "plain", "fields": [
        {"name": "key", "type": "int", "field-id": 129}, {"name": "value", "type": "bytes", "field-id": 130}]});
    let columns = vec![
        field(104, json!("int")),
        field(103, json!(["int", "null"])),
        field(900, json!({"type": "enum", "name": "e", "symbols": ["A", "B"]})),
        field(
            901,
            json!({"type": "record", "name": "named", "fields": [{"name": "q", "type": "int"}]}),
        ),
        field(109, json!({"type": "map", "values": "int"})),
        field(
            125,
            json!({"type": "array", "items": pair("1", json!(["bytes", "null"]))}),
        ),
        field(128, json!({"type": "array", "items": plain})),
        field(902, json!("a.b.named")),
        field(
            102,
            json!({"type": "record", "name": "r", "fields": [
            field(1000, json!([{"type": "int", "logicalType": "date"}, "null"]))]}),
        ),
        field(101, json!("string")),
        field(100, json!("bytes")),
        field(132, json!({"type": "array", "items": "long"})),
    ];
    let bytes = manifest(columns, json!(["null", "long", "int"]), None, &e);
    let read = |of| read_manifest(&bytes, &list_entry(), &date_type(of), ManifestProjection::ALL).unwrap();
    let all = read(PrimitiveType::Date);
    assert_eq!(all.header.format_version, 1);
    let entry = &all.entries[0];
    let file = &entry.data_file;
    assert_eq!(
        (entry.status, entry.snapshot_id, entry.sequence_number),
        (ManifestStatus::Added, 77, 9)
    );
    assert_eq!(
        (&*file.file_path, file.record_count, file.file_size_in_bytes),
        ("päth", 5, 500)
    );
    assert_eq!((&file.file_format, file.spec_id), (&FileFormat::Parquet, 2));
    assert_eq!(file.partition, [Some(Value::Int(10))]);
    assert_eq!(file.split_offsets, None);
    let m = &file.column_metrics;
    assert_eq!(
        (m.value_count(3), m.value_count(4), m.value_count(5)),
        (Some(30), Some(40), None)
    );
    assert_eq!(
        (m.lower_bound(3), m.lower_bound(4), m.lower_bound(5)),
        (Some(b"low".as_slice()), None, Some(b"x".as_slice()))
    );
    assert_eq!(
        (m.upper_bound(3), m.upper_bound(4), m.upper_bound(5)),
        (Some(b"up".as_slice()), Some(b"".as_slice()), None)
    );
    assert!(m.column_sizes().is_none() && m.null_value_count(3).is_none());
    // The column has become a timestamp since, or is gone.
    let day = 86_400_000_000;
    let partition = |of| read(of).entries[0].data_file.partition[0].clone();
    assert_eq!(partition(PrimitiveType::Timestamp), Some(Value::Long(10 * day)));
    assert_eq!(partition(PrimitiveType::Unknown), Some(Value::Long(10)));
    let error = read_manifest(
        &bytes,
        &list_entry(),
        &date_type(PrimitiveType::String),
        ManifestProjection::ALL,
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("partition field `f1000`") && error.contains("int"),
        "{error}"
    );
    let missing = StructType::new(vec![NestedField::optional(1001, "gone", PrimitiveType::Int)]);
    let error = read_manifest(&bytes, &list_entry(), &missing, ManifestProjection::ALL).unwrap_err();
    assert!(error.to_string().contains("1001 (`gone`)"), "{error}");
}

fn columns() -> Vec<Json> {
    let mut columns = vec![field(100, json!("string")), field(101, json!("string"))];
    columns.extend([103, 104].map(|id| field(id, json!("long"))));
    columns.push(field(102, json!({"type": "record", "name": "r", "fields": []})));
    columns
}

/// A record of [`columns`], more columns before them.
fn record(more: impl FnOnce(&mut Encoder), path: &[u8], status: i64) -> Encoder {
    let mut e = Encoder::default();
    e.long(1);
    more(&mut e);
    e.bytes(path);
    e.bytes(b"ORC");
    e.long(-1);
    e.long(500);
    e.long(status);
    e
}

fn error_of(bytes: &[u8]) -> String {
    let none = StructType::default();
    let error = read_manifest(bytes, &list_entry(), &none, ManifestProjection::ALL);
    error.unwrap_err().to_string()
}

#[test]
fn wrong_values_are_refused_with_their_field() {
    let with = |id: i32, of: Json| {
        let mut with = columns();
        with.insert(0, field(id, of));
        with
    };
    let int = || json!("int");
    let good = record(|_| {}, b"p", 1);
    let bytes = manifest(columns(), int(), Some("2"), &good);
    let none = StructType::default();
    let read = read_manifest(&bytes, &list_entry(), &none, ManifestProjection::ALL).unwrap();
    // A negative record count is unknown.
    assert_eq!(read.entries[0].data_file.record_count, -1);
    let numbered = ManifestFile {
        first_row_id: Some(0),
        ..list_entry()
    };
    assert!(read_manifest(&bytes, &numbered, &none, ManifestProjection::ALL).is_err());

    let error = |e: &Encoder, columns, version| error_of(&manifest(columns, int(), version, e));
    let contains = |error: String, parts: &[&str]| {
        assert!(parts.iter().all(|p| error.contains(p)), "{error}");
    };
    contains(
        error(&record(|_| {}, b"p", 7), columns(), None),
        &["7 is no status"],
    );
    contains(
        error(&record(|_| {}, b"\xff", 1), columns(), None),
        &["f100", "utf-8"],
    );
    contains(error(&good, columns(), Some("4")), &["unsupported", "version 4"]);
    contains(error(&good, columns(), Some("x")), &["format-version", "`x`"]);
    contains(
        error(&record(|e| e.long(1), b"p", 1), with(134, int()), None),
        &["content", "manifest list"],
    );
    contains(
        error(&record(|e| e.long(3), b"p", 1), with(134, int()), None),
        &["3 is no content"],
    );
    contains(
        error(
            &record(|e| e.bytes(b"key"), b"p", 1),
            with(131, json!("bytes")),
            None,
        ),
        &["encrypted"],
    );
    contains(
        error(
            &record(|e| e.bytes(b"x"), b"p", 1),
            with(140, json!("bytes")),
            None,
        ),
        &["f140", "int"],
    );
    contains(
        error(
            &record(|e| e.long(1 << 40), b"p", 1),
            with(140, json!("long")),
            None,
        ),
        &["f140", "32-bit"],
    );
    for missing in 0..columns().len() {
        let mut fewer = columns();
        let id = fewer.remove(missing)["field-id"].to_string();
        contains(error(&good, fewer, None), &["no column", &id]);
    }
    let mut more = good.clone();
    more.long(0);
    contains(error(&more, columns(), None), &["follow its last record"]);
    contains(error_of(b""), &["Avro"]);
    contains(error_of(b"PAR1aaaaaa"), &["Parquet", "version 4"]);
    contains(error_of(b"AGS1aaaaaa"), &["encrypted"]);
    contains(error_of(&bytes[..bytes.len() - 1]), &["ends in the middle"]);
    let mut wrong = bytes.clone();
    let last = wrong.len() - 1;
    wrong[last] ^= 1;
    contains(error_of(&wrong), &["sync marker"]);
}

#[test]
fn lists_of_version_1_without_counts_and_with_old_names_are_read() {
    let named = |id: i32, name: &str, of: Json| json!({"name": name, "type": of, "field-id": id});
    let columns = vec![
        named(504, "added_data_files_count", json!(["null", "int"])),
        named(503, "added_snapshot_id", json!(["null", "long"])),
        named(502, "partition_spec_id", json!("int")),
        named(501, "manifest_length", json!("long")),
        named(500, "manifest_path", json!("string")),
    ];
    let write =
        |version: Option<&str>, more: Option<Json>, snapshot: Option<i64>, fill: &dyn Fn(&mut Encoder)| {
            let columns: Vec<_> = columns.clone().into_iter().chain(more).collect();
            let schema = json!({"type": "record", "name": "manifest_file", "fields": columns});
            let mut e = Encoder::default();
            e.optional(None, Encoder::long);
            e.optional(snapshot, Encoder::long);
            e.long(2);
            e.long(1);
            e.bytes(b"m");
            fill(&mut e);
            let metadata: Vec<_> = version
                .map(|v| ("format-version", v.to_owned()))
                .into_iter()
                .collect();
            let mut container = ContainerWriter::new(&schema.to_string(), Codec::Zstandard, &metadata);
            container.record(e.as_slice()).unwrap();
            read_manifest_list(&container.finish().unwrap())
        };
    let read = write(None, None, Some(77), &|_| {}).unwrap();
    let expected = ManifestFile {
        sequence_number: 0,
        min_sequence_number: 0,
        ..list_entry()
    };
    assert_eq!(read, [expected]);
    assert!(read[0].may_have_live_files());
    let error = write(None, None, None, &|_| {}).unwrap_err().to_string();
    assert!(
        error.contains("added_snapshot_id") && error.contains("null"),
        "{error}"
    );
    let sequence = named(515, "sequence_number", json!(["null", "long"]));
    let null = |e: &mut Encoder| e.long(0);
    assert!(write(Some("1"), Some(sequence.clone()), Some(77), &null).is_ok());
    let error = write(Some("2"), Some(sequence), Some(77), &null)
        .unwrap_err()
        .to_string();
    assert!(error.contains("row 0, column sequence_number"), "{error}");
    let key = named(519, "key_metadata", json!(["null", "bytes"]));
    let error = write(Some("3"), Some(key), Some(77), &|e| {
        e.optional(Some(b"k".as_slice()), Encoder::bytes)
    });
    assert!(error.unwrap_err().to_string().contains("encrypted"));
    assert!(write(Some("4"), None, Some(77), &|_| {}).is_err());
}

//! Types that the conformance tables do not hold, and headers and blocks that lie.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Int32Type, Time32MillisecondType, Time64MicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_schema::{DataType, TimeUnit};
use drumlin_format::avro::{Codec, ContainerWriter, Encoder};
use drumlin_format::manifest::FileFormat;
use futures::TryStreamExt;

use crate::data_file::tests::{ids, opened, rows};

/// A file of these fields and records.
fn file(fields: &str, records: &[&dyn Fn(&mut Encoder)]) -> Vec<u8> {
    let schema = format!(r#"{{"type": "record", "name": "table", "fields": [{fields}]}}"#);
    let mut writer = ContainerWriter::new(&schema, Codec::Null, &[]);
    let mut encoder = Encoder::default();
    for record in records {
        encoder.clear();
        record(&mut encoder);
        writer.record(encoder.as_slice()).unwrap();
    }
    writer.finish().unwrap()
}

async fn one_batch(bytes: Vec<u8>) -> RecordBatch {
    let mut batches = rows(bytes, FileFormat::Avro, 100).await.unwrap();
    assert_eq!(batches.len(), 1);
    batches.remove(0)
}

async fn error(bytes: Vec<u8>) -> String {
    let read = rows(bytes, FileFormat::Avro, 100).await;
    read.expect_err("an error").to_string()
}

#[tokio::test]
async fn logical_types() {
    let fields = r#"
        {"name": "u", "field-id": 1, "type": {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"}},
        {"name": "f", "field-id": 2, "type": {"type": "fixed", "name": "fixed_3", "size": 3}},
        {"name": "t", "field-id": 3, "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "tn", "field-id": 4, "type": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": true}},
        {"name": "tm", "field-id": 5, "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "d", "field-id": 6, "type": {"type": "int", "logicalType": "date"}},
        {"name": "dec", "field-id": 7, "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "e", "type": {"type": "enum", "name": "e", "symbols": ["A", "B"]}},
        {"name": "n", "type": "null"},
        {"name": "tt", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "wide", "type": {"type": "fixed", "name": "w", "size": 17, "logicalType": "decimal", "precision": 38, "scale": 0}}"#;
    let write = |e: &mut Encoder| {
        e.raw(&[7; 16]);
        e.raw(b"abc");
        e.long(86_399_999_999);
        e.long(-1);
        e.long(1500);
        e.long(-3653);
        e.bytes(&[0xff, 0x85]);
        e.long(1);
        e.long(43);
        e.raw(&(-5_i128).to_be_bytes().iter().fold(vec![0xff], |mut v, b| {
            v.push(*b);
            v
        }));
    };
    let batch = one_batch(file(fields, &[&write])).await;
    let column = |name: &str| batch.column_by_name(name).unwrap();
    assert_eq!(column("u").as_fixed_size_binary().value(0), [7; 16]);
    assert_eq!(column("f").as_fixed_size_binary().value(0), b"abc");
    assert_eq!(
        column("t").as_primitive::<Time64MicrosecondType>().value(0),
        86_399_999_999
    );
    assert_eq!(
        column("tn").data_type(),
        &DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
    );
    assert_eq!(
        column("tn").as_primitive::<TimestampNanosecondType>().value(0),
        -1
    );
    assert_eq!(
        column("tm").as_primitive::<TimestampMillisecondType>().value(0),
        1500
    );
    assert_eq!(column("d").as_primitive::<Date32Type>().value(0), -3653);
    assert_eq!(column("dec").data_type(), &DataType::Decimal128(9, 2));
    assert_eq!(column("dec").as_primitive::<Decimal128Type>().value(0), -123);
    assert_eq!(column("e").as_string::<i32>().value(0), "B");
    assert_eq!(column("n").data_type(), &DataType::Null);
    assert_eq!(column("tt").as_primitive::<Time32MillisecondType>().value(0), 43);
    assert_eq!(column("wide").as_primitive::<Decimal128Type>().value(0), -5);
}

#[tokio::test]
async fn null_structs_with_required_fields() {
    let fields = r#"
        {"name": "s", "field-id": 1, "type": ["null", {"type": "record", "name": "r1", "fields": [
            {"name": "a", "field-id": 2, "type": "int"},
            {"name": "l", "field-id": 3, "type": {"type": "array", "element-id": 4, "items": "string"}},
            {"name": "m", "field-id": 5, "type": {"type": "map", "key-id": 6, "value-id": 7, "values": ["null", "int"]}},
            {"name": "i", "field-id": 8, "type": {"type": "record", "name": "r8", "fields": [
                {"name": "b", "field-id": 9, "type": {"type": "fixed", "name": "x", "size": 2}}]}}]}]}"#;
    let null = |e: &mut Encoder| e.long(0);
    let value = |e: &mut Encoder| {
        e.long(1);
        e.long(5);
        e.array(["x", "y"].into_iter(), |e, v| e.bytes(v.as_bytes()));
        e.array(["k", "n"].into_iter(), |e, k| {
            e.bytes(k.as_bytes());
            e.optional((k == "k").then_some(9), Encoder::long);
        });
        e.raw(&[1, 2]);
    };
    let batch = one_batch(file(fields, &[&null, &value, &null])).await;
    let mut found = Vec::new();
    ids(batch.schema().field(0), &mut found);
    assert_eq!(
        found,
        [
            "s:1",
            "a:2",
            "l:3",
            "element:4",
            "m:5",
            "key:6",
            "value:7",
            "i:8",
            "b:9"
        ]
    );
    let s = batch.column(0).as_struct();
    assert_eq!((s.is_null(0), s.is_null(1), s.is_null(2)), (true, false, true));
    assert_eq!(s.column(0).as_primitive::<Int32Type>().value(1), 5);
    let list = s.column(1).as_list::<i32>().value(1);
    assert_eq!(
        list.as_string::<i32>().iter().flatten().collect::<Vec<_>>(),
        ["x", "y"]
    );
    let map = s.column(2).as_map().value(1);
    assert_eq!(map.column(0).as_string::<i32>().value(1), "n");
    assert_eq!(
        (map.column(1).is_null(0), map.column(1).is_null(1)),
        (false, true)
    );
    let inner = s.column(3).as_struct();
    assert_eq!(inner.column(0).as_fixed_size_binary().value(1), [1, 2]);
}

#[tokio::test]
async fn what_no_iceberg_type_is_says_so_when_it_is_read() {
    let fields = r#"{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "int", "string"]}"#;
    let write = |e: &mut Encoder| {
        e.long(1);
        e.long(2);
        e.bytes(b"x");
    };
    let bytes = file(fields, &[&write]);
    let message = error(bytes.clone()).await;
    assert!(
        message.contains("s3://b/f") && message.contains("`b`"),
        "{message}"
    );
    // The other columns can be read.
    let open = opened(bytes, FileFormat::Avro).await.unwrap();
    assert!(matches!(
        open.schema().field(1).data_type(),
        DataType::Union(_, _)
    ));
    let batches: Vec<_> = open.read(&[0], 10).try_collect().await.unwrap();
    assert_eq!(batches[0].column(0).as_primitive::<Int32Type>().value(0), 1);
}

#[tokio::test]
async fn lies_are_errors() {
    let int = r#"{"name": "a", "type": "int"}"#;
    let write = |e: &mut Encoder| e.long(1);
    let whole = file(int, &[&write, &write]);
    // The block: its count, its size, two records and the marker.
    let block = whole.len() - 16 - 4;
    let mut counts = whole.clone();
    counts[block] = 2 * 60;
    assert!(error(counts).await.contains("60 records"));
    let mut fewer = whole.clone();
    fewer[block] = 2;
    assert!(error(fewer).await.contains("left after its records"));
    let mut marker = whole.clone();
    *marker.last_mut().unwrap() ^= 1;
    assert!(error(marker).await.contains("sync marker"));
    // Records without bytes, more than anyone has.
    let mut nothing = file(r#"{"name": "a", "type": "null"}"#, &[&|_| {}]);
    let block = nothing.len() - 16 - 2;
    nothing.splice(block..=block, [0xfe, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    assert!(error(nothing).await.contains("records in 0 bytes"));
    // Types that contain themselves.
    let list = r#"{"name": "a", "type": {"type": "record", "name": "node", "fields": [
        {"name": "next", "type": ["null", "node"]}]}}"#;
    assert!(error(file(list, &[])).await.contains("contains itself"));
    let list_of = |of: &str| {
        format!(
            r#"{{"name": "x", "type": {{"type": "array", "items": {of}}}}}, {{"name": "y", "type": {{"type": "array", "items": {of}}}}}"#
        )
    };
    let mut doubled = r#"{"name": "a", "type": {"type": "record", "name": "r0", "fields": []}}"#.to_string();
    for level in 1..40 {
        let inner = list_of(&format!(r#""r{}""#, level - 1));
        doubled.push_str(&format!(
            r#", {{"name": "f{level}", "type": {{"type": "record", "name": "r{level}", "fields": [{inner}]}}}}"#
        ));
    }
    assert!(error(file(&doubled, &[])).await.contains("too many fields"));
}

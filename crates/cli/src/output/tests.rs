#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{
    Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray, TimestampSecondArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{Field, Fields, Int64Type, Schema};

use super::*;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written(format: Format, batches: &[RecordBatch]) -> (String, Written) {
    let mut out = Vec::new();
    let mut sink = format.sink(&batches[0].schema(), false, &mut out).unwrap();
    for batch in batches {
        if sink.write(batch).unwrap().is_break() {
            break;
        }
    }
    let written = sink.finish().unwrap();
    drop(sink);
    (String::from_utf8(out).unwrap(), written)
}

fn names(values: Vec<Option<&str>>) -> RecordBatch {
    batch(vec![("a,b", Arc::new(StringArray::from(values)))])
}

#[test]
fn csv_keeps_null_and_empty_apart_and_quotes_what_needs_it() {
    let batch = names(vec![
        None,
        Some(""),
        Some("x,\"y\""),
        Some("two\nlines"),
        Some("a\tb"),
    ]);
    let (text, rows) = written(Format::Csv, std::slice::from_ref(&batch));
    assert_eq!(text, "\"a,b\"\n\n\"\"\n\"x,\"\"y\"\"\"\n\"two\nlines\"\na\tb\n");
    assert_eq!(rows, Written::All(5));
    let (text, _) = written(Format::Tsv, &[batch]);
    assert_eq!(text, "a,b\n\n\"\"\n\"x,\"\"y\"\"\"\n\"two\nlines\"\n\"a\tb\"\n");
}

#[test]
fn csv_writes_nested_values_as_json() {
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(vec![
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let (text, _) = written(Format::Csv, &[batch(vec![("l", Arc::new(lists))])]);
    assert_eq!(text, "l\n\"[1,null]\"\n\n[]\n");
}

#[test]
fn a_value_that_cannot_be_shown_is_an_error_in_data() {
    let times = batch(vec![("t", Arc::new(TimestampSecondArray::from(vec![i64::MAX])))]);
    let mut out = Vec::new();
    let mut sink = Format::Csv.sink(&times.schema(), false, &mut out).unwrap();
    assert!(sink.write(&times).is_err());
    // A person sees the rest of the table.
    assert!(written(Format::Table, &[times]).0.contains("ERROR"));
}

#[test]
fn json_writes_every_key_and_refuses_one_twice() {
    let numbers = batch(vec![("n", Arc::new(Int64Array::from(vec![Some(1), None])))]);
    assert_eq!(
        written(Format::Json, &[numbers.clone(), numbers.clone()]).0,
        "[{\"n\":1},{\"n\":null},{\"n\":1},{\"n\":null}]\n"
    );
    assert_eq!(
        written(Format::Ndjson, std::slice::from_ref(&numbers)).0,
        "{\"n\":1}\n{\"n\":null}\n"
    );
    assert_eq!(written(Format::Json, &[numbers.slice(0, 0)]).0, "[]\n");
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let twice = batch(vec![("n", Arc::clone(&column)), ("n", column)]);
    let mut out = Vec::new();
    let error = Format::Ndjson
        .sink(&twice.schema(), false, &mut out)
        .err()
        .unwrap();
    assert!(error.to_string().contains("\"n\""), "{error}");
}

#[test]
fn tables_align_by_width_and_escape_control_characters() {
    let rows = batch(vec![
        ("n", Arc::new(Int64Array::from(vec![Some(1), Some(-20), None]))),
        (
            "s",
            Arc::new(StringArray::from(vec!["日本", "a\nbc", "\u{1b}[31m"])),
        ),
    ]);
    let (text, rows) = written(Format::Table, &[rows]);
    assert_eq!(
        text,
        "\
+------+------------+
| n    | s          |
+------+------------+
|    1 | 日本       |
|  -20 | a          |
|      | bc         |
| NULL | \\u{1b}[31m |
+------+------------+
"
    );
    assert_eq!(rows, Written::All(3));
}

#[test]
fn tables_stop_at_their_bound() {
    let batch = |rows: i64| batch(vec![("n", Arc::new(Int64Array::from_iter_values(0..rows)))]);
    assert_eq!(written(Format::Table, &[batch(10_000)]).1, Written::All(10_000));
    let (text, rows) = written(Format::Table, &[batch(6_000), batch(6_000)]);
    assert_eq!(rows, Written::First(10_000));
    assert_eq!(text.lines().count(), 10_004);
}

#[test]
fn footers() {
    let time = Some(Duration::from_millis(12));
    assert_eq!(Written::All(1).footer(None).unwrap(), "1 row");
    assert_eq!(
        Written::All(1_234_567).footer(time).unwrap(),
        "1,234,567 rows (0.012 s)"
    );
    assert_eq!(
        Written::First(10_000).footer(time).unwrap(),
        "first 10,000 rows (0.012 s)"
    );
    assert_eq!(Written::Plan.footer(time).unwrap(), "(0.012 s)");
    assert_eq!(Written::Plan.footer(None), None);
}

#[test]
fn formats_are_named() {
    for format in Format::ALL {
        assert_eq!(Format::named(format.name()), Some(format));
    }
}

/// A variant and a UUID, as columns and in a struct; the second row is null.
fn unusual() -> RecordBatch {
    let extension = |name: &str| {
        let metadata = [("ARROW:extension:name".to_string(), name.to_string())];
        HashMap::from(metadata)
    };
    let bytes = |first: &[u8]| -> ArrayRef { Arc::new(BinaryArray::from_iter_values([first, &[][..]])) };
    let nulls = Some(NullBuffer::from(vec![true, false]));
    // {"a": "x\"y"}
    let parts = vec![bytes(&[1, 1, 0, 1, b'a']), bytes(b"\x02\x01\x00\x00\x04\x0dx\"y")];
    let fields = Fields::from(vec![
        Field::new("metadata", DataType::Binary, false),
        Field::new("value", DataType::Binary, false),
    ]);
    let variant: ArrayRef = Arc::new(StructArray::new(fields, parts, nulls.clone()));
    let uuid =
        FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([0xabu8; 16]), None].into_iter(), 16);
    let uuid: ArrayRef = Arc::new(uuid.unwrap());
    let v =
        Field::new("v", variant.data_type().clone(), true).with_metadata(extension("arrow.parquet.variant"));
    let u = Field::new("u", uuid.data_type().clone(), true).with_metadata(extension("arrow.uuid"));
    let inside = Fields::from(vec![v.clone(), u.clone()]);
    let outer: ArrayRef = Arc::new(StructArray::new(
        inside,
        vec![Arc::clone(&variant), Arc::clone(&uuid)],
        None,
    ));
    let s = Field::new("s", outer.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![v, u, s]));
    RecordBatch::try_new(schema, vec![variant, uuid, outer]).unwrap()
}

#[test]
fn variants_are_json_and_uuids_are_hyphenated() {
    let uuid = "abababab-abab-abab-abab-abababababab";
    let (csv, _) = written(Format::Csv, &[unusual()]);
    let wanted = format!(
        "v,u,s\n\"{{\"\"a\"\":\"\"x\\\"\"y\"\"}}\",{uuid},\"{{\"\"v\"\":{{\"\"a\"\":\"\"x\\\"\"y\"\"}},\"\"u\"\":\"\"{uuid}\"\"}}\"\n,,\
         \"{{\"\"v\"\":null,\"\"u\"\":null}}\"\n"
    );
    assert_eq!(csv, wanted);
    let (json, _) = written(Format::Ndjson, &[unusual()]);
    let v = r#"{"a":"x\"y"}"#;
    let wanted = format!(
        "{{\"v\":{v},\"u\":\"{uuid}\",\"s\":{{\"v\":{v},\"u\":\"{uuid}\"}}}}\n\
         {{\"v\":null,\"u\":null,\"s\":{{\"v\":null,\"u\":null}}}}\n"
    );
    assert_eq!(json, wanted);
    let (table, _) = written(Format::Table, &[unusual()]);
    let row = format!("| {v} | {uuid} | {{v: {v}, u: {uuid}}} |");
    assert!(table.contains(&row), "{table}");
    assert!(table.contains("{v: NULL, u: NULL}"), "{table}");
}

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{
    ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, TimestampSecondArray,
};
use datafusion::arrow::datatypes::Int64Type;

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

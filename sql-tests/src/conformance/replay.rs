//! The suite held against itself, without any table read: answers are made into Arrow arrays, which must have the
//! answers as canonical text again; and queries run over the rows of the whole-table answers, which must give the
//! answers of the queries. So a defect of the canonical text or of the SQL session shows here, apart from the engine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array,
    Int64Array, ListArray, MapArray, RecordBatch, RecordBatchOptions, StringArray, StructArray,
    new_null_array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, TimeUnit};
use datafusion::datasource::MemTable;
use serde_json::Value;

use super::canonical;
use super::case::difference;
use super::column_type::ColumnType;
use super::engine::Engine;
use super::manifest::{Case, Column, Expect, Manifest, Scan};

/// The Arrow type that a table scan gives a column.
pub(super) fn arrow_type(of: &ColumnType) -> DataType {
    match of {
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Int => DataType::Int32,
        ColumnType::Long => DataType::Int64,
        ColumnType::Float => DataType::Float32,
        ColumnType::Double => DataType::Float64,
        ColumnType::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale),
        ColumnType::Date => DataType::Date32,
        ColumnType::Time => DataType::Time64(TimeUnit::Microsecond),
        ColumnType::Timestamp { zoned, nanos } => {
            let unit = if *nanos {
                TimeUnit::Nanosecond
            } else {
                TimeUnit::Microsecond
            };
            DataType::Timestamp(unit, zoned.then(|| "+00:00".into()))
        }
        ColumnType::String => DataType::Utf8,
        ColumnType::Uuid => DataType::FixedSizeBinary(16),
        ColumnType::Fixed(length) => DataType::FixedSizeBinary(*length),
        ColumnType::Binary => DataType::Binary,
        ColumnType::Unknown | ColumnType::Variant => DataType::Null,
        ColumnType::Struct(fields) => {
            let field = |(name, of): &(String, ColumnType)| Field::new(name, arrow_type(of), true);
            DataType::Struct(fields.iter().map(field).collect())
        }
        ColumnType::List(element) => {
            DataType::List(Arc::new(Field::new("element", arrow_type(element), true)))
        }
        ColumnType::Map(key, value) => DataType::Map(Arc::new(entries(key, value)), false),
    }
}

fn entries(key: &ColumnType, value: &ColumnType) -> Field {
    let fields = vec![
        Field::new("key", arrow_type(key), false),
        Field::new("value", arrow_type(value), true),
    ];
    Field::new("entries", DataType::Struct(fields.into()), false)
}

/// The Arrow array of canonical values.
pub(super) fn array(of: &ColumnType, values: &[&Value]) -> ArrayRef {
    let text = || values.iter().map(|value| value.as_str());
    let bytes = || text().map(|text| text.map(unhex));
    let nulls = || NullBuffer::from_iter(values.iter().map(|value| !value.is_null()));
    match of {
        ColumnType::Boolean => Arc::new(BooleanArray::from_iter(
            values.iter().map(|value| value.as_bool()),
        )),
        ColumnType::Int => {
            let int = |value: &&Value| value.as_i64().map(|value| i32::try_from(value).unwrap());
            Arc::new(Int32Array::from_iter(values.iter().map(int)))
        }
        ColumnType::Long => Arc::new(Int64Array::from_iter(values.iter().map(|value| value.as_i64()))),
        ColumnType::Float => Arc::new(Float32Array::from_iter(
            text().map(|text| text.map(|text| text.parse().unwrap())),
        )),
        ColumnType::Double => Arc::new(Float64Array::from_iter(
            text().map(|text| text.map(|text| text.parse().unwrap())),
        )),
        ColumnType::Decimal { .. } | ColumnType::Date | ColumnType::Time | ColumnType::Timestamp { .. } => {
            let texts: ArrayRef = Arc::new(StringArray::from_iter(text()));
            let array = cast(&texts, &arrow_type(of)).unwrap();
            assert_eq!(
                array.null_count(),
                texts.null_count(),
                "{of}: Arrow refuses some text"
            );
            array
        }
        ColumnType::String => Arc::new(StringArray::from_iter(text())),
        ColumnType::Binary => Arc::new(BinaryArray::from_iter(bytes())),
        ColumnType::Uuid | ColumnType::Fixed(_) => {
            let DataType::FixedSizeBinary(length) = arrow_type(of) else {
                unreachable!()
            };
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes(), length).unwrap())
        }
        ColumnType::Unknown | ColumnType::Variant => new_null_array(&DataType::Null, values.len()),
        ColumnType::Struct(fields) => {
            let DataType::Struct(arrow) = arrow_type(of) else {
                unreachable!()
            };
            let member = |(name, of): &(String, ColumnType)| {
                let members: Vec<_> = values
                    .iter()
                    .map(|value| value.get(name).unwrap_or(&Value::Null))
                    .collect();
                array(of, &members)
            };
            Arc::new(StructArray::new(
                arrow,
                fields.iter().map(member).collect(),
                Some(nulls()),
            ))
        }
        ColumnType::List(element) => {
            let (lengths, elements) = spread(values);
            let field = Arc::new(Field::new("element", arrow_type(element), true));
            let offsets = OffsetBuffer::from_lengths(lengths);
            Arc::new(ListArray::new(
                field,
                offsets,
                array(element, &elements),
                Some(nulls()),
            ))
        }
        ColumnType::Map(key, value) => {
            let (lengths, pairs) = spread(values);
            let side = |index: usize| -> Vec<_> { pairs.iter().map(|pair| &pair[index]).collect() };
            let field = entries(key, value);
            let DataType::Struct(fields) = field.data_type() else {
                unreachable!()
            };
            let columns = vec![array(key, &side(0)), array(value, &side(1))];
            let entries = StructArray::new(Fields::clone(fields), columns, None);
            let offsets = OffsetBuffer::from_lengths(lengths);
            Arc::new(MapArray::new(
                Arc::new(field),
                offsets,
                entries,
                Some(nulls()),
                false,
            ))
        }
    }
}

/// Lengths of arrays, and all their elements in a row.
fn spread<'a>(values: &[&'a Value]) -> (Vec<usize>, Vec<&'a Value>) {
    let arrays = values.iter().map(|value| value.as_array());
    let lengths = arrays.clone().map(|array| array.map_or(0, Vec::len)).collect();
    (lengths, arrays.flatten().flatten().collect())
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap())
        .collect()
}

/// The answer of a case as Arrow.
fn batch(columns: &[Column], lines: &[String]) -> RecordBatch {
    let rows: Vec<Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let arrays = columns.iter().enumerate().map(|(index, column)| {
        let values: Vec<_> = rows.iter().map(|row| &row[index]).collect();
        array(&column.of, &values)
    });
    let fields = columns
        .iter()
        .map(|column| Field::new(&column.name, arrow_type(&column.of), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema, arrays.collect(), &options).unwrap()
}

fn has_variant(case: &Case) -> bool {
    case.columns.iter().any(|column| column.of == ColumnType::Variant)
}

#[test]
fn answers_survive_a_round_trip_through_arrow() {
    let manifest = Manifest::shipped().unwrap();
    let mut checked = 0;
    for case in manifest
        .cases
        .iter()
        .filter(|case| case.expect == Expect::Rows && !has_variant(case))
    {
        let lines = case.answer_lines(&manifest.root).unwrap();
        let rows = canonical::rows(&[batch(&case.columns, &lines)], &case.columns);
        match rows {
            Ok(rows) => assert_eq!(difference(lines, rows), None, "{}", case.name()),
            Err(error) => panic!("{}: {error}", case.name()),
        }
        checked += 1;
    }
    assert!(checked > 800, "only {checked} answers");
}

/// Queries of the current state give the recorded answers over the recorded rows of `SELECT *`.
#[tokio::test]
async fn queries_over_recorded_rows_give_the_recorded_answers() {
    let manifest = Manifest::shipped().unwrap();
    let engine = Engine::new(&manifest).unwrap();
    let (mut checked, mut wrong) = (0, Vec::new());
    for case in manifest.cases.iter().filter(|case| case.expect == Expect::Rows) {
        let Some(whole) = manifest.case(&case.table, "all") else {
            continue;
        };
        let sql = case.query(&manifest.root).unwrap();
        let comparable = case.scan == Scan::Current && whole.metadata == case.metadata && !has_variant(whole);
        if !comparable || sql.contains("_row_id") {
            continue;
        }
        let rows = batch(&whole.columns, &whole.answer_lines(&manifest.root).unwrap());
        let context = engine.session().unwrap();
        let table = MemTable::try_new(rows.schema(), vec![vec![rows]]).unwrap();
        context.register_table("t", Arc::new(table)).unwrap();
        let found = match Engine::sql(&context, &sql).await {
            Ok(batches) => canonical::rows(&batches, &case.columns).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let expected = case.answer_lines(&manifest.root).unwrap();
        match found.map(|rows| difference(expected, rows)) {
            Ok(None) => {}
            Ok(Some(why)) | Err(why) => wrong.push(format!("{}: {sql}: {why}", case.name())),
        }
        checked += 1;
    }
    assert!(
        wrong.is_empty(),
        "{} of {checked}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(checked > 600, "only {checked} queries");
}

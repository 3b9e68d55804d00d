#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BinaryArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, StringArray, StructArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Fields};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::ScalarValue;
use drumlin_format::types::{NestedField, PrimitiveType, StructType, Type};
use drumlin_table::arrow::column_to_arrow;

use super::convert::{Refusal, converted, uuid};
use super::rules::may_be_stored;
use super::{decimal, literal};

fn column(of: impl Into<Type>) -> NestedField {
    NestedField::optional(1, "c", of)
}

const CENTS: PrimitiveType = PrimitiveType::Decimal {
    precision: 6,
    scale: 2,
};

/// The array as text in a column of this type, or the value that does not survive.
fn store_in(array: ArrayRef, of: impl Into<Type>, zone: &str) -> Result<Vec<String>, String> {
    let target = column_to_arrow(&column(of));
    assert!(may_be_stored(array.data_type(), &target), "{target}");
    match converted(&array, &target, zone) {
        Ok(stored) => {
            assert_eq!(stored.data_type(), target.data_type());
            Ok((0..stored.len())
                .map(|row| match stored.is_null(row) {
                    true => "-".to_string(),
                    false => array_value_to_string(&stored, row).unwrap(),
                })
                .collect())
        }
        Err(Refusal::Value(value)) => Err(value),
        Err(Refusal::Arrow(error)) => panic!("{error}"),
    }
}

fn store(array: impl Array + 'static, of: impl Into<Type>) -> Result<Vec<String>, String> {
    store_in(Arc::new(array), of, "+00:00")
}

#[test]
fn numbers_arrive_unchanged_or_not_at_all() {
    use PrimitiveType as P;
    let longs = |values: Vec<Option<i64>>| Int64Array::from(values);
    let doubles = |values: Vec<f64>| Float64Array::from(values);
    let ok = |values: &[&str]| Ok(values.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(store(longs(vec![Some(1), None]), P::Int), ok(&["1", "-"]));
    assert_eq!(
        store(longs(vec![None, Some(3_000_000_000)]), P::Int),
        Err("3000000000".into())
    );
    assert_eq!(store(doubles(vec![2.0, -0.0]), P::Int), ok(&["2", "0"]));
    assert_eq!(store(doubles(vec![2.0, 1.5]), P::Int), Err("1.5".into()));
    assert_eq!(store(doubles(vec![f64::NAN]), P::Long), Err("NaN".into()));
    assert_eq!(
        store(longs(vec![Some(16_777_217)]), P::Float),
        Err("16777217".into())
    );
    assert!(store(longs(vec![Some(i64::MAX)]), P::Double).is_err());
    assert_eq!(store(longs(vec![Some(12)]), CENTS), ok(&["12.00"]));
    assert_eq!(store(longs(vec![Some(12_345)]), CENTS), Err("12345".into()));
    assert_eq!(store(doubles(vec![1.25, 0.1]), CENTS), ok(&["1.25", "0.10"]));
    assert_eq!(store(doubles(vec![1.255]), CENTS), Err("1.255".into()));
    let decimals = |value: i128, precision, scale| {
        Decimal128Array::from(vec![value])
            .with_precision_and_scale(precision, scale)
            .unwrap()
    };
    assert_eq!(store(decimals(12_500, 9, 3), CENTS), ok(&["12.50"]));
    assert_eq!(store(decimals(12_505, 9, 3), CENTS), Err("12.505".into()));
    assert_eq!(store(decimals(12_000, 9, 3), P::Int), ok(&["12"]));
    assert_eq!(store(decimals(12_005, 9, 3), P::Long), Err("12.005".into()));
    // Fractions have a next number.
    assert_eq!(
        store(doubles(vec![0.1, f64::NAN, f64::INFINITY]), P::Float),
        ok(&["0.1", "NaN", "inf"])
    );
    assert!(store(doubles(vec![1e300]), P::Float).is_err());
    assert_eq!(store(decimals(1, 3, 1), P::Double), ok(&["0.1"]));
    assert_eq!(store(Float32Array::from(vec![0.1]), CENTS), ok(&["0.10"]));
}

#[test]
fn times_arrive_unchanged() {
    use PrimitiveType as P;
    let ok = |values: &[&str]| Ok(values.iter().map(ToString::to_string).collect::<Vec<_>>());
    let nanos = |value: i64| TimestampNanosecondArray::from(vec![value]);
    assert_eq!(
        store(nanos(1_000), P::Timestamp),
        ok(&["1970-01-01T00:00:00.000001"])
    );
    assert!(store(nanos(1_001), P::Timestamp).is_err());
    assert!(store(nanos(-1_001), P::Timestamp).is_err());
    assert_eq!(
        store(Date32Array::from(vec![1]), P::Timestamp),
        ok(&["1970-01-02T00:00:00"])
    );
    assert_eq!(store(nanos(86_400_000_000_000), P::Date), ok(&["1970-01-02"]));
    assert!(store(nanos(86_400_000_001_000), P::Date).is_err());
    assert!(store(Date32Array::from(vec![i32::MAX]), P::Timestamp).is_err());
    // Without zone becomes an instant by the zone of the session.
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![0]));
    let instants = |zone| store_in(Arc::clone(&micros), P::Timestamptz, zone);
    assert_eq!(instants("+00:00"), ok(&["1970-01-01T00:00:00Z"]));
    assert_eq!(instants("+02:00"), ok(&["1969-12-31T22:00:00Z"]));
    assert_eq!(
        store_in(Arc::new(Date32Array::from(vec![0])), P::Timestamptz, "+02:00"),
        ok(&["1969-12-31T22:00:00Z"])
    );
    let instant: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![0]).with_timezone("+00:00"));
    assert_eq!(
        store_in(Arc::clone(&instant), P::Timestamp, "UTC"),
        ok(&["1970-01-01T00:00:00"])
    );
    let target = column_to_arrow(&column(P::Timestamp));
    assert!(converted(&instant, &target, "+02:00").is_err());
}

#[test]
fn text_and_bytes() {
    use PrimitiveType as P;
    let ok = |values: &[&str]| Ok(values.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(store(StringArray::from(vec!["a"]), P::String), ok(&["a"]));
    assert_eq!(store(Int32Array::from(vec![7]), P::String), ok(&["7"]));
    let text = "f79c3e09-677c-4bbd-a479-3f349cb785e7";
    assert_eq!(uuid(text).map(|b| b[0]), Some(0xf7));
    assert_eq!(
        store(StringArray::from(vec![text]), P::Uuid),
        ok(&["f79c3e09677c4bbda4793f349cb785e7"])
    );
    assert_eq!(
        store(StringArray::from(vec!["nope"]), P::Uuid),
        Err("nope".into())
    );
    assert!(store(BinaryArray::from(vec![&b"ab"[..]]), P::Fixed(2)).is_ok());
    assert!(store(BinaryArray::from(vec![&b"abc"[..]]), P::Fixed(2)).is_err());
    for (from, to) in [
        (DataType::Utf8, P::Int),
        (DataType::Utf8, P::Date),
        (DataType::Utf8, P::Boolean),
        (DataType::Utf8, P::Fixed(16)),
        (DataType::Int32, P::Boolean),
        (DataType::Boolean, P::Int),
        (DataType::Binary, P::String),
        (DataType::Int64, P::Date),
        (DataType::Date32, P::Long),
        (DataType::FixedSizeBinary(3), P::Fixed(2)),
        (DataType::Utf8, P::Variant),
    ] {
        assert!(!may_be_stored(&from, &column_to_arrow(&column(to))), "{from}");
    }
}

#[test]
fn parts_of_structs_are_converted_by_name() {
    let target = StructType::new(vec![
        NestedField::optional(2, "a", PrimitiveType::Int),
        NestedField::optional(3, "b", PrimitiveType::String),
    ]);
    let fields = Fields::from(vec![
        Field::new("b", DataType::Utf8, true),
        Field::new("a", DataType::Int64, true),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec!["x", "y"])),
        Arc::new(Int64Array::from(vec![1, 1 << 40])),
    ];
    let nulls = |valid: bool| Some(vec![true, valid].into());
    let source = |valid| StructArray::new(fields.clone(), columns.clone(), nulls(valid));
    // What is below a null is no value.
    assert_eq!(store(source(false), target.clone()).unwrap().len(), 2);
    assert_eq!(store(source(true), target), Err((1i64 << 40).to_string()));
}

#[test]
fn constants_are_read_by_the_type_of_the_column() {
    use PrimitiveType as P;
    let read =
        |text: &str, of: P| literal(&ScalarValue::from(text), &column(of), "+00:00").map(|v| v.to_string());
    assert_eq!(read("2024-02-29", P::Date).as_deref(), Some("2024-02-29"));
    assert_eq!(read("2024-02-30", P::Date), None);
    assert!(read("2024-02-29 01:02:03.123456", P::Timestamp).is_some());
    assert!(read("2024-02-29 01:02:03.1234567", P::Timestamp).is_none());
    assert!(read("9999-12-31 23:59:59.999999", P::Timestamp).is_some());
    assert!(read("2024-02-29T01:02:03+02:00", P::Timestamptz).is_some());
    assert!(read("01:02:03", P::Time).is_some());
    assert_eq!(read("1", P::Int), None);
    assert_eq!(read("x", P::Uuid), None);
    let cents = |text: &str| decimal(text, &Type::from(CENTS));
    let some = |unscaled| Some(ScalarValue::Decimal128(Some(unscaled), 6, 2));
    assert_eq!(cents("1.10"), some(110));
    assert_eq!(cents("-1.1000"), some(-110));
    assert_eq!(cents("0"), some(0));
    assert_eq!(cents("0.00"), some(0));
    assert_eq!(cents("12e1"), some(12_000));
    assert_eq!(cents("1.105"), None);
    assert_eq!(cents("0.001"), None);
    assert_eq!(cents("12345"), None);
    let wide = PrimitiveType::Decimal {
        precision: 38,
        scale: 0,
    };
    assert_eq!(
        decimal("99999999999999999999", &Type::from(wide)),
        Some(ScalarValue::Decimal128(Some(99_999_999_999_999_999_999), 38, 0))
    );
}

//! The expected texts are what `conformance/canon.py` gives.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryViewArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray,
    Int32Array, Int64Array, MapBuilder, StringArray, StringBuilder, StringViewArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
    new_null_array,
};
use datafusion::arrow::datatypes::{DataType, Int8Type};

use super::*;

fn texts(array: impl Array + 'static, of: &str) -> Vec<String> {
    let array: ArrayRef = Arc::new(array);
    values(&array, &named(of), "c").unwrap()
}

fn refused(array: impl Array + 'static, of: &str) -> String {
    let array: ArrayRef = Arc::new(array);
    values(&array, &named(of), "c").unwrap_err().to_string()
}

fn named(of: &str) -> ColumnType {
    ColumnType::from_json(&serde_json::Value::from(of)).unwrap()
}

#[test]
fn doubles() {
    let goldens = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-2.5, "-2.5"),
        (0.1, "0.1"),
        (100.0, "100.0"),
        (123456789.125, "123456789.125"),
        (0.0001, "0.0001"),
        (0.00012345, "0.00012345"),
        (0.00001, "1e-05"),
        (1e15, "1000000000000000.0"),
        (9007199254740993.0, "9007199254740992.0"),
        (1e16, "1e+16"),
        (1.5e16, "1.5e+16"),
        (1e22, "1e+22"),
        (1e300, "1e+300"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (5e-324, "5e-324"),
        (f64::NAN, "NaN"),
        (-f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
    ];
    for (value, expected) in goldens {
        assert_eq!(text::double(value), expected);
    }
}

#[test]
fn floats() {
    let goldens = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1.1, "1.1"),
        (16777216.0, "16777216.0"),
        (3.402_823_5e38, "3.4028235e+38"),
        (1.175_494_4e-38, "1.1754944e-38"),
        (1e-45, "1e-45"),
        (8.5e37, "8.5e+37"),
        (1e10, "10000000000.0"),
        (1e16, "1e+16"),
        (0.3, "0.3"),
        (f32::NAN, "NaN"),
        (f32::NEG_INFINITY, "-Infinity"),
    ];
    for (value, expected) in goldens {
        assert_eq!(text::float(value), expected);
    }
}

#[test]
fn strings_are_json_with_only_the_needed_escapes() {
    let strings = StringViewArray::from_iter([Some("a\"b\\c/d"), Some("\n\t\u{1}\u{7f}ü🙂"), Some(""), None]);
    let expected = [r#""a\"b\\c/d""#, "\"\\n\\t\\u0001\u{7f}ü🙂\"", r#""""#, "null"];
    assert_eq!(texts(strings, "string"), expected);
}

#[test]
fn integers_of_any_width_unless_they_overflow() {
    assert_eq!(
        texts(Int32Array::from(vec![Some(-1), None]), "long"),
        ["-1", "null"]
    );
    assert_eq!(texts(UInt64Array::from(vec![7]), "int"), ["7"]);
    assert!(refused(UInt64Array::from(vec![u64::MAX]), "long").contains("out of range"));
    assert!(refused(StringArray::from(vec!["1"]), "long").contains("cannot be a value of type long"));
}

#[test]
fn decimals_have_their_full_scale() {
    let decimals = |scale| {
        let array = Decimal128Array::from(vec![Some(150), Some(-5), Some(0), None]);
        array.with_precision_and_scale(38, scale).unwrap()
    };
    let expected = [r#""1.50""#, r#""-0.05""#, r#""0.00""#, "null"];
    assert_eq!(texts(decimals(2), "decimal(9,2)"), expected);
    let expected = [
        r#""0.0000000150""#,
        r#""-0.0000000005""#,
        r#""0.0000000000""#,
        "null",
    ];
    assert_eq!(texts(decimals(10), "decimal(38,10)"), expected);
    assert_eq!(texts(decimals(0), "decimal(1,0)")[0], r#""150""#);
    assert!(refused(decimals(3), "decimal(9,2)").contains("decimal(9,2)"));
}

#[test]
fn dates_and_times() {
    let dates = Date32Array::from(vec![0, -1, 19_782, -719_162, 2_932_896]);
    let expected = [
        "1970-01-01",
        "1969-12-31",
        "2024-02-29",
        "0001-01-01",
        "9999-12-31",
    ];
    assert_eq!(texts(dates, "date"), expected.map(text::quoted));
    let times = Time64MicrosecondArray::from(vec![0, 86_399_999_999, 45_296_000_001]);
    let expected = ["00:00:00.000000", "23:59:59.999999", "12:34:56.000001"];
    assert_eq!(texts(times, "time"), expected.map(text::quoted));
    assert!(refused(Date32Array::from(vec![i32::MAX]), "date").contains("out of range"));
    assert!(refused(Time64MicrosecondArray::from(vec![86_400_000_000]), "time").contains("out of range"));
}

#[test]
fn timestamps() {
    let micros = TimestampMicrosecondArray::from(vec![0, -1, 1_709_210_096_123_456]);
    let expected = [
        "1970-01-01T00:00:00.000000",
        "1969-12-31T23:59:59.999999",
        "2024-02-29T12:34:56.123456",
    ];
    assert_eq!(texts(micros.clone(), "timestamp"), expected.map(text::quoted));
    let zoned = expected.map(|moment| text::quoted(&format!("{moment}+00:00")));
    assert_eq!(texts(micros.clone().with_timezone("UTC"), "timestamptz"), zoned);
    assert_eq!(
        texts(micros.clone().with_timezone("+02:00"), "timestamptz"),
        zoned
    );
    assert_eq!(
        texts(micros.clone(), "timestamp_ns")[1],
        r#""1969-12-31T23:59:59.999999000""#
    );
    let nanos = TimestampNanosecondArray::from(vec![i64::MAX, i64::MIN + 1, -1]);
    let expected = [
        "2262-04-11T23:47:16.854775807",
        "1677-09-21T00:12:43.145224193",
        "1969-12-31T23:59:59.999999999",
    ];
    assert_eq!(texts(nanos.clone(), "timestamp_ns"), expected.map(text::quoted));
    let millis = TimestampMillisecondArray::from(vec![1]).with_timezone("+00:00");
    assert_eq!(
        texts(millis, "timestamptz"),
        [r#""1970-01-01T00:00:00.001000+00:00""#]
    );
    assert!(
        refused(nanos, "timestamp").contains("out of range"),
        "finer than microseconds"
    );
    assert!(refused(micros.clone(), "timestamptz").contains("cannot be"));
    assert!(refused(micros.with_timezone("UTC"), "timestamp").contains("cannot be"));
}

#[test]
fn bytes_and_uuids() {
    let bytes = BinaryViewArray::from_iter([Some(&b"\x00\xff\x10"[..]), Some(b""), None]);
    assert_eq!(texts(bytes, "binary"), [r#""00ff10""#, r#""""#, "null"]);
    let sixteen = FixedSizeBinaryArray::try_from_iter(std::iter::once(Vec::from_iter(0_u8..16))).unwrap();
    assert_eq!(
        texts(sixteen.clone(), "uuid"),
        [r#""00010203-0405-0607-0809-0a0b0c0d0e0f""#]
    );
    assert_eq!(
        texts(sixteen.clone(), "fixed[16]"),
        [r#""000102030405060708090a0b0c0d0e0f""#]
    );
    assert!(refused(sixteen, "fixed[4]").contains("fixed[4]"));
}

#[test]
fn dictionaries_and_columns_of_nulls() {
    let dictionary: DictionaryArray<Int8Type> = [Some("a"), None, Some("b"), Some("a")].into_iter().collect();
    assert_eq!(
        texts(dictionary, "string"),
        [r#""a""#, "null", r#""b""#, r#""a""#]
    );
    let nulls = new_null_array(&DataType::Null, 2);
    assert_eq!(
        values(&nulls, &ColumnType::Unknown, "c").unwrap(),
        ["null", "null"]
    );
    assert_eq!(values(&nulls, &named("date"), "c").unwrap(), ["null", "null"]);
    assert!(refused(Int64Array::from(vec![None, Some(1)]), "unknown").contains("unknown"));
}

#[test]
fn maps_are_sorted_by_the_text_of_their_keys() {
    let mut map = MapBuilder::new(None, Int32Array::builder(4), StringBuilder::new());
    for key in [10, 9, -1, 100] {
        map.keys().append_value(key);
        map.values().append_value("v");
    }
    map.append(true).unwrap();
    map.append(false).unwrap();
    map.append(true).unwrap();
    let map: ArrayRef = Arc::new(map.finish());
    let of = ColumnType::Map(Box::new(ColumnType::Int), Box::new(ColumnType::String));
    let expected = [r#"[[-1,"v"],[10,"v"],[100,"v"],[9,"v"]]"#, "null", "[]"];
    assert_eq!(values(&map, &of, "c").unwrap(), expected);
}

#[test]
fn names_and_width_of_an_answer_count() {
    let column: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let columns = |names: &[&str]| -> Vec<Column> {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            of: ColumnType::Int,
        };
        names.iter().map(column).collect()
    };
    assert_eq!(
        rows(std::slice::from_ref(&batch), &columns(&["a"])).unwrap(),
        ["[1]"]
    );
    let error = rows(std::slice::from_ref(&batch), &columns(&["b"])).unwrap_err();
    assert_eq!(error.to_string(), r#"column 0 is named "a" instead of "b""#);
    let error = rows(&[batch], &columns(&["a", "b"])).unwrap_err();
    assert_eq!(error.to_string(), "1 columns (a) instead of 2");
}

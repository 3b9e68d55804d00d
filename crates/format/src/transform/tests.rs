#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::hash::hash_value;
use super::*;
use crate::types::PrimitiveType as P;
use crate::value::Value;

const DECIMAL: P = P::Decimal {
    precision: 9,
    scale: 2,
};

fn apply(transform: &str, value: Value, source: &P) -> Value {
    let transform: Transform = transform.parse().unwrap();
    transform.apply(Some(&value), source).unwrap().unwrap()
}

fn uuid(text: &str) -> Value {
    Value::Bytes(uuid::Uuid::parse_str(text).unwrap().into_bytes().to_vec())
}

#[test]
fn hashes_of_the_specification() {
    // 2017-11-16T22:31:08 in µs, and 22:31:08 of a day.
    let (timestamp, time) = (1_510_871_468_000_000, 81_068_000_000);
    for (value, hash) in [
        (Value::Int(34), 2_017_239_379),
        (Value::Long(34), 2_017_239_379),
        (Value::Decimal(1420), -500_754_589),
        (Value::Int(17_486), -653_330_422),
        (Value::Long(time), -662_762_989),
        (Value::Long(timestamp), -2_047_944_441),
        (Value::Long(timestamp + 1), -1_207_196_810),
        (Value::String("iceberg".into()), 1_210_000_089),
        (uuid("f79c3e09-677c-4bbd-a479-3f349cb785e7"), 1_488_055_340),
        (Value::Bytes(vec![0, 1, 2, 3]), -188_683_207),
    ] {
        assert_eq!(hash_value(&value), Some(hash), "{value:?}");
    }
}

#[test]
fn hashes_at_the_edges() {
    for (value, hash) in [
        (Value::Long(0), 1_669_671_676),
        (Value::Long(1), 1_392_991_556),
        (Value::Long(-1), 1_651_860_712),
        (Value::Int(-1), 1_651_860_712),
        (Value::Long(i64::MIN), 1_366_273_829),
        (Value::String(String::new()), 0),
        (Value::String("a".into()), 1_009_084_850),
        (Value::String("🌊".into()), -1_465_622_127),
        (Value::String("日本".into()), -992_347_838),
        (Value::Decimal(-128), 267_099_677),
        (Value::Decimal(-129), -435_537_839),
        (Value::Decimal(127), 1_435_096_473),
        (Value::Decimal(128), 1_544_076_949),
        (Value::Decimal(0), 1_364_076_727),
        (Value::Decimal(-1), -43_192_051),
        (Value::Decimal(-1420), 667_775_751),
        (Value::Decimal(1 << 63), 2_064_522_951),
        (Value::Decimal(-(1 << 63)), 292_862_370),
    ] {
        assert_eq!(hash_value(&value), Some(hash), "{value:?}");
    }
    assert_eq!(hash_value(&Value::Boolean(true)), None);
    assert_eq!(hash_value(&Value::Double(1.0)), None);
}

#[test]
fn buckets_are_positive_remainders() {
    assert_eq!(
        apply("bucket[16]", Value::Decimal(-128), &DECIMAL),
        Value::Int(13)
    );
    assert_eq!(apply("bucket[10]", Value::Long(-1), &P::Long), Value::Int(2));
    // Nanoseconds hash as the microsecond they are in, before 1970 too.
    let micros = apply("bucket[1000]", Value::Long(-1), &P::Timestamp);
    assert_eq!(apply("bucket[1000]", Value::Long(-999), &P::TimestampNs), micros);
    assert_eq!(apply("bucket[1000]", Value::Long(-1), &P::TimestamptzNs), micros);
}

#[test]
fn numbers_truncate_downwards() {
    for (value, cut) in [
        (1, 0),
        (0, 0),
        (9, 0),
        (10, 10),
        (-1, -10),
        (-10, -10),
        (-11, -20),
    ] {
        assert_eq!(apply("truncate[10]", Value::Int(value), &P::Int), Value::Int(cut));
        let (value, cut) = (i64::from(value), i64::from(cut));
        assert_eq!(
            apply("truncate[10]", Value::Long(value), &P::Long),
            Value::Long(cut)
        );
    }
    assert_eq!(
        apply("truncate[50]", Value::Decimal(1065), &DECIMAL),
        Value::Decimal(1050)
    );
    assert_eq!(
        apply("truncate[50]", Value::Decimal(-1), &DECIMAL),
        Value::Decimal(-50)
    );
}

#[test]
fn strings_truncate_by_code_points_and_bytes_by_bytes() {
    let text = |s: &str| Value::String(s.into());
    assert_eq!(apply("truncate[3]", text("iceberg"), &P::String), text("ice"));
    assert_eq!(apply("truncate[3]", text("ic"), &P::String), text("ic"));
    assert_eq!(apply("truncate[2]", text("日🌊x"), &P::String), text("日🌊"));
    assert_eq!(
        apply("truncate[2]", Value::Bytes(vec![1, 2, 3]), &P::Binary),
        Value::Bytes(vec![1, 2])
    );
}

#[test]
fn date_parts_floor_toward_the_past() {
    let of_date = |transform, days| apply(transform, Value::Int(days), &P::Date);
    for (days, year, month) in [
        (0, 0, 0),
        (-1, -1, -1),
        (-365, -1, -12),
        (-366, -2, -13),
        (17_486, 47, 574),
        (11_016, 30, 361),
        (-719_162, -1969, -23_628),
    ] {
        assert_eq!(of_date("year", days), Value::Int(year), "year of {days}");
        assert_eq!(of_date("month", days), Value::Int(month), "month of {days}");
        assert_eq!(of_date("day", days), Value::Int(days));
    }
    let of_micros = |transform, micros| apply(transform, Value::Long(micros), &P::Timestamp);
    assert_eq!(of_micros("hour", -1), Value::Int(-1));
    assert_eq!(of_micros("day", -1), Value::Int(-1));
    assert_eq!(of_micros("hour", -3_600_000_001), Value::Int(-2));
    let timestamp = 1_510_871_468_000_001;
    for (transform, expected) in [("year", 47), ("month", 574), ("day", 17_486), ("hour", 419_686)] {
        assert_eq!(of_micros(transform, timestamp), Value::Int(expected));
        let nanos = Value::Long(timestamp * 1000 + 1);
        assert_eq!(apply(transform, nanos, &P::TimestamptzNs), Value::Int(expected));
    }
}

#[test]
fn nulls_stay_null_and_void_makes_null() {
    for text in [
        "identity",
        "bucket[4]",
        "truncate[4]",
        "year",
        "month",
        "day",
        "hour",
        "void",
    ] {
        let transform: Transform = text.parse().unwrap();
        let source = if text.contains('[') { P::Long } else { P::Timestamp };
        assert_eq!(transform.apply(None, &source).unwrap(), None, "{text}");
    }
    assert_eq!(
        Transform::Void.apply(Some(&Value::Int(1)), &P::Int).unwrap(),
        None
    );
}

#[test]
fn impossible_applications_are_refused_by_name() {
    let error = |transform: Transform, value: Value, source: &P| {
        transform.apply(Some(&value), source).unwrap_err().to_string()
    };
    assert!(error(Transform::Unknown("zorder".into()), Value::Int(1), &P::Int).contains("`zorder`"));
    assert!(error(Transform::Bucket(4), Value::Double(1.0), &P::Double).contains("double"));
    assert!(error(Transform::Hour, Value::Int(1), &P::Date).contains("date"));
    assert!(error(Transform::Truncate(10), Value::Int(i32::MIN), &P::Int).contains("range"));
    assert!(error(Transform::Truncate(10), Value::Long(i64::MIN), &P::Long).contains("range"));
    assert!(error(Transform::Hour, Value::Long(i64::MAX), &P::Timestamp).contains("range"));
    assert!(error(Transform::Bucket(0), Value::Int(1), &P::Int).contains("range"));
    assert!(error(Transform::Day, Value::Int(1), &P::Timestamp).contains("no value of type timestamp"));
}

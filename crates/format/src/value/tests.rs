#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::bytes::{decimal_from_bytes, decimal_to_bytes, from_bytes, to_bytes};
use super::*;
use crate::types::PrimitiveType as P;

#[test]
fn decimals_are_minimal_big_endian() {
    for (value, bytes) in [
        (0i128, vec![0u8]),
        (127, vec![0x7f]),
        (128, vec![0, 0x80]),
        (-1, vec![0xff]),
        (-128, vec![0x80]),
        (-129, vec![0xff, 0x7f]),
        (1420, vec![5, 0x8c]),
        (i128::MAX, i128::MAX.to_be_bytes().to_vec()),
        (i128::MIN, i128::MIN.to_be_bytes().to_vec()),
    ] {
        assert_eq!(decimal_to_bytes(value), bytes, "{value}");
        assert_eq!(decimal_from_bytes(&bytes), Some(value));
    }
    assert_eq!(decimal_from_bytes(&[0xff; 20]), Some(-1));
    assert_eq!(decimal_from_bytes(&[1; 17]), None);
    assert_eq!(decimal_from_bytes(&[]), None);
}

#[test]
fn bounds_of_promoted_columns_keep_their_width() {
    let five = 5i32.to_le_bytes();
    assert_eq!(from_bytes(&five, &P::Long).unwrap(), Value::Long(5));
    assert_eq!(
        from_bytes(&five, &P::Timestamp).unwrap(),
        Value::Long(5 * 86_400_000_000)
    );
    assert_eq!(
        from_bytes(&1.5f32.to_le_bytes(), &P::Double).unwrap(),
        Value::Double(1.5)
    );
    assert!(from_bytes(&five, &P::Time).is_err());
    assert!(from_bytes(&[0; 8], &P::Int).is_err());
    assert!(from_bytes(&[0xc3], &P::String).is_err());
}

#[test]
fn values_read_back_from_json() {
    for (of, json) in [
        ("boolean", "true"),
        ("int", "-7"),
        ("long", "9223372036854775807"),
        ("float", "0.1"),
        ("double", "1e300"),
        ("decimal(9, 2)", "\"14.20\""),
        ("decimal(9, 2)", "\"-0.05\""),
        ("date", "\"2017-11-16\""),
        ("time", "\"22:31:08.123456\""),
        ("timestamp", "\"2017-11-16T22:31:08.123456\""),
        ("timestamptz", "\"2017-11-16T22:31:08.123456+00:00\""),
        ("timestamp_ns", "\"2017-11-16T22:31:08.123456789\""),
        ("timestamptz_ns", "\"1969-11-16T22:31:08.123456789+00:00\""),
        ("string", "\"iceberg\""),
        ("uuid", "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\""),
        ("fixed[4]", "\"00010203\""),
        ("binary", "\"00ff\""),
    ] {
        let of = crate::types::Type::Primitive(of.parse().unwrap());
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        let value = json::from_json(&json, &of, "x").unwrap().unwrap();
        assert_eq!(json::to_json(&value, &of).unwrap(), json, "{of}");
        if let Some(p) = of.as_primitive() {
            assert_eq!(from_bytes(&to_bytes(&value).unwrap(), p).unwrap(), value, "{of}");
        }
    }
}

#[test]
fn wrong_defaults_are_refused() {
    for (of, json) in [
        ("int", "2147483648"),
        ("int", "\"5\""),
        ("decimal(3, 2)", "\"10.00\""),
        ("decimal(9, 2)", "\"0.005\""),
        ("fixed[4]", "\"0001\""),
        ("date", "\"yesterday\""),
        ("variant", "1"),
    ] {
        let of = crate::types::Type::Primitive(of.parse().unwrap());
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        assert!(json::from_json(&json, &of, "x").is_err(), "{of} {json}");
    }
}

#[test]
fn negative_times_print_right() {
    assert_eq!(text::date(-1), "1969-12-31");
    assert_eq!(
        text::to_text(&Value::Long(-1), &P::Timestamp),
        "1969-12-31T23:59:59.999999"
    );
    assert_eq!(text::decimal(-5, 2), "-0.05");
    assert_eq!(text::decimal(5, 0), "5");
}

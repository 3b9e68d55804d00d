//! Instants.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use datafusion::common::ScalarValue;
use datafusion::logical_expr::lit;
use datafusion::logical_expr::simplify::SimplifyContext;

use super::milliseconds;

fn of(value: ScalarValue) -> Result<i64, String> {
    milliseconds(lit(value), SimplifyContext::builder().build()).map_err(|error| error.to_string())
}

#[test]
fn rounds_down_to_milliseconds() {
    let utc = Some("UTC".into());
    assert_eq!(
        of(ScalarValue::TimestampNanosecond(Some(1_999_999), utc.clone())),
        Ok(1)
    );
    assert_eq!(
        of(ScalarValue::TimestampNanosecond(Some(-1), utc.clone())),
        Ok(-1)
    );
    assert_eq!(
        of(ScalarValue::TimestampMicrosecond(Some(-1_001), utc.clone())),
        Ok(-2)
    );
    assert_eq!(of(ScalarValue::TimestampMicrosecond(Some(1_999), None)), Ok(1));
    assert_eq!(of(ScalarValue::TimestampSecond(Some(-3), utc)), Ok(-3_000));
    assert_eq!(of(ScalarValue::UInt8(Some(3))), Ok(3_000));
    assert_eq!(of(ScalarValue::Date32(Some(1))), Ok(86_400_000));
    assert_eq!(of(ScalarValue::from("1970-01-01 00:00:00.0019")), Ok(1));
}

#[test]
fn refuses_what_is_no_instant() {
    for value in [
        ScalarValue::Null,
        ScalarValue::Utf8(None),
        ScalarValue::Int64(Some(i64::MAX)),
        ScalarValue::UInt64(Some(u64::MAX)),
        ScalarValue::TimestampSecond(Some(i64::MAX), Some("UTC".into())),
        ScalarValue::Float64(Some(1.0)),
        ScalarValue::from("nonsense"),
    ] {
        assert!(of(value.clone()).is_err(), "{value}");
    }
}

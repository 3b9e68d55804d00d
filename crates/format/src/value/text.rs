//! Values as text: for people, in `EXPLAIN`, errors and listings.

use chrono::{DateTime, NaiveDate, NaiveTime};

use super::Value;
use crate::types::{PrimitiveType, Type};

/// Days from 0001-01-01 to 1970-01-01, the two epochs of `chrono` and Iceberg.
const DAYS_TO_UNIX_EPOCH: i32 = 719_163;

/// The text of a primitive value: dates and times in ISO 8601 (timestamps with six or nine digits, those with zone
/// end in `+00:00`), decimals with their full scale, bytes in lower-case hex, UUIDs with dashes.
pub fn to_text(value: &Value, primitive: &PrimitiveType) -> String {
    match (value, primitive) {
        (Value::Int(v), PrimitiveType::Date) => date(*v),
        (Value::Long(v), PrimitiveType::Time) => time(*v),
        (Value::Long(v), PrimitiveType::Timestamp) => timestamp(*v, false, false),
        (Value::Long(v), PrimitiveType::Timestamptz) => timestamp(*v, false, true),
        (Value::Long(v), PrimitiveType::TimestampNs) => timestamp(*v, true, false),
        (Value::Long(v), PrimitiveType::TimestamptzNs) => timestamp(*v, true, true),
        (Value::Decimal(v), PrimitiveType::Decimal { scale, .. }) => decimal(*v, *scale),
        (Value::Bytes(v), PrimitiveType::Uuid) => match <[u8; 16]>::try_from(v.as_slice()) {
            Ok(bytes) => uuid::Uuid::from_bytes(bytes).to_string(),
            Err(_) => hex(v),
        },
        (Value::Boolean(v), _) => v.to_string(),
        (Value::Int(v), _) => v.to_string(),
        (Value::Long(v), _) => v.to_string(),
        (Value::Float(v), _) => format!("{v:?}"),
        (Value::Double(v), _) => format!("{v:?}"),
        (Value::Decimal(v), _) => v.to_string(),
        (Value::String(v), _) => v.clone(),
        (Value::Bytes(v), _) => hex(v),
        (Value::Struct(_) | Value::List(_) | Value::Map(_), _) => format!("{value:?}"),
    }
}

/// The text of a value that may be null, of a type that may be nested.
pub fn to_text_or_null(value: Option<&Value>, of: &Type) -> String {
    match (value, of) {
        (None, _) => "null".into(),
        (Some(v), Type::Primitive(p)) => to_text(v, p),
        (Some(v), _) => format!("{v:?}"),
    }
}

/// A date, `yyyy-MM-dd`; days that no calendar holds as their number.
pub fn date(days: i32) -> String {
    days.checked_add(DAYS_TO_UNIX_EPOCH)
        .and_then(NaiveDate::from_num_days_from_ce_opt)
        .map_or_else(|| days.to_string(), |d| d.format("%Y-%m-%d").to_string())
}

fn time(micros: i64) -> String {
    u32::try_from(micros.div_euclid(1_000_000))
        .ok()
        .zip(u32::try_from(micros.rem_euclid(1_000_000) * 1000).ok())
        .and_then(|(s, n)| NaiveTime::from_num_seconds_from_midnight_opt(s, n))
        .map_or_else(|| micros.to_string(), |t| t.format("%H:%M:%S%.6f").to_string())
}

fn timestamp(value: i64, nanos: bool, zone: bool) -> String {
    let parsed = if nanos {
        Some(DateTime::from_timestamp_nanos(value))
    } else {
        DateTime::from_timestamp_micros(value)
    };
    let pattern = if nanos {
        "%Y-%m-%dT%H:%M:%S%.9f"
    } else {
        "%Y-%m-%dT%H:%M:%S%.6f"
    };
    match parsed {
        Some(t) => format!("{}{}", t.format(pattern), if zone { "+00:00" } else { "" }),
        None => value.to_string(),
    }
}

/// A decimal with all digits of its scale.
pub fn decimal(unscaled: i128, scale: u8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let scale = usize::from(scale);
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    }
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, b| {
            // Writing to a String cannot fail.
            let _ = write!(out, "{b:02x}");
            out
        })
}

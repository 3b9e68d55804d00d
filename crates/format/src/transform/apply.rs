//! From source values to partition and sort values.

use super::Transform;
use super::calendar::{MICROS_PER_HOUR, civil_from_days};
use super::hash::hash_value;
use crate::error::{Error, Result};
use crate::types::PrimitiveType;
use crate::value::Value;
use crate::value::bytes::MICROS_PER_DAY;

impl Transform {
    /// The transformed value, of the type [`result_type`](Self::result_type) tells. Null stays null under every
    /// transform, and void makes null of everything.
    ///
    /// `source` is the type of the value: it tells microseconds from nanoseconds. Fails where the transform cannot
    /// take the type, for an unknown transform, and where the result leaves the range of its type (an hour beyond
    /// year 246,000, a truncation below the smallest int).
    pub fn apply(&self, value: Option<&Value>, source: &PrimitiveType) -> Result<Option<Value>> {
        if let Self::Unknown(text) = self {
            return Err(Error::unsupported(format!(
                "the transform `{text}`: its values cannot be computed, so nothing can be written to this partition spec"
            )));
        }
        if self.result_type(source).is_none() {
            return Err(Error::invalid(
                format!("transform {self}"),
                format!("it cannot take values of type {source}"),
            ));
        }
        let Some(value) = value else { return Ok(None) };
        let result = match self {
            Self::Void => return Ok(None),
            Self::Identity => Some(value.clone()),
            Self::Bucket(n) => bucket(*n, value, source),
            Self::Truncate(w) => truncate(*w, value),
            Self::Year | Self::Month | Self::Day | Self::Hour => self.date_part(value, source),
            Self::Unknown(_) => None,
        };
        let failed = || {
            Error::invalid(
                format!("value for the transform {self}"),
                format!("{value:?} is no value of type {source}, or the result is out of range"),
            )
        };
        result.map(Some).ok_or_else(failed)
    }

    fn date_part(&self, value: &Value, source: &PrimitiveType) -> Option<Value> {
        let (days, micros) = match (value, source) {
            (Value::Int(days), PrimitiveType::Date) => (i64::from(*days), None),
            (Value::Long(_), _) => {
                let micros = as_micros(value, source)?;
                (micros.div_euclid(MICROS_PER_DAY), Some(micros))
            }
            _ => return None,
        };
        let part = match self {
            Self::Year => civil_from_days(days).0 - 1970,
            Self::Month => {
                let (year, month, _) = civil_from_days(days);
                (year - 1970) * 12 + month - 1
            }
            Self::Day => days,
            Self::Hour => micros?.div_euclid(MICROS_PER_HOUR),
            _ => return None,
        };
        i32::try_from(part).ok().map(Value::Int)
    }
}

/// A timestamp in µs, of whichever unit it is; nanoseconds floor toward the past.
fn as_micros(value: &Value, source: &PrimitiveType) -> Option<i64> {
    let Value::Long(v) = value else { return None };
    match source {
        PrimitiveType::Timestamp | PrimitiveType::Timestamptz => Some(*v),
        PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => Some(v.div_euclid(1000)),
        _ => None,
    }
}

fn bucket(buckets: u32, value: &Value, source: &PrimitiveType) -> Option<Value> {
    let hash = match source {
        PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => {
            hash_value(&Value::Long(as_micros(value, source)?))?
        }
        _ => hash_value(value)?,
    };
    let positive = (hash & i32::MAX).cast_unsigned();
    let bucket = positive.checked_rem(buckets)?;
    i32::try_from(bucket).ok().map(Value::Int)
}

fn truncate(width: u32, value: &Value) -> Option<Value> {
    if width == 0 {
        return None;
    }
    let length = usize::try_from(width).ok()?;
    Some(match value {
        Value::Int(v) => {
            let wide = i64::from(*v);
            Value::Int(i32::try_from(wide - wide.rem_euclid(i64::from(width))).ok()?)
        }
        Value::Long(v) => Value::Long(v.checked_sub(v.rem_euclid(i64::from(width)))?),
        Value::Decimal(v) => Value::Decimal(v.checked_sub(v.rem_euclid(i128::from(width)))?),
        Value::String(v) => Value::String(first_code_points(v, length).to_owned()),
        Value::Bytes(v) => Value::Bytes(v.iter().take(length).copied().collect()),
        _ => return None,
    })
}

/// The first `count` code points of a text, all of it if it has fewer.
pub fn first_code_points(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

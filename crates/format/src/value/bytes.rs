//! Single-value binary form (§ Appendix D: Binary single-value serialization), used for bounds.

use super::Value;
use crate::error::{Error, Result};
use crate::types::PrimitiveType;

/// Reads a bound that was stored for a column whose type now is `primitive`.
///
/// A bound keeps the width it had when it was written, so a column promoted since then is recognised by the number
/// of bytes: four for an int read as long, four for a float read as double, four for a date read as timestamp.
pub fn from_bytes(bytes: &[u8], primitive: &PrimitiveType) -> Result<Value> {
    use PrimitiveType::*;
    let wrong = || {
        Error::invalid(
            format!("bound of a column of type {primitive}"),
            format!("{} bytes do not fit this type", bytes.len()),
        )
    };
    let int = || {
        <[u8; 4]>::try_from(bytes)
            .map(i32::from_le_bytes)
            .map_err(|_| wrong())
    };
    let long = || {
        <[u8; 8]>::try_from(bytes)
            .map(i64::from_le_bytes)
            .map_err(|_| wrong())
    };
    Ok(match primitive {
        Boolean => match bytes {
            [b] => Value::Boolean(*b != 0),
            _ => return Err(wrong()),
        },
        Int | Date => Value::Int(int()?),
        Long if bytes.len() == 4 => Value::Long(int()?.into()),
        Timestamp if bytes.len() == 4 => Value::Long(i64::from(int()?) * MICROS_PER_DAY),
        TimestampNs if bytes.len() == 4 => Value::Long(
            i64::from(int()?)
                .checked_mul(MICROS_PER_DAY * 1000)
                .ok_or_else(wrong)?,
        ),
        Long | Time | Timestamp | Timestamptz | TimestampNs | TimestamptzNs => Value::Long(long()?),
        Float => Value::Float(f32::from_bits(int()?.cast_unsigned())),
        Double if bytes.len() == 4 => Value::Double(f32::from_bits(int()?.cast_unsigned()).into()),
        Double => Value::Double(f64::from_bits(long()?.cast_unsigned())),
        Decimal { .. } => Value::Decimal(decimal_from_bytes(bytes).ok_or_else(wrong)?),
        String => Value::String(
            std::str::from_utf8(bytes)
                .map_err(|e| Error::invalid("bound of a column of type string", e.to_string()))?
                .to_owned(),
        ),
        Uuid if bytes.len() != 16 => return Err(wrong()),
        Uuid | Fixed(_) | Binary => Value::Bytes(bytes.to_vec()),
        Unknown | Variant | Geometry { .. } | Geography { .. } => {
            return Err(Error::unsupported(format!(
                "bounds of columns of type {primitive}"
            )));
        }
    })
}

/// The bytes of a primitive value; `None` for nested values, which have no such form.
pub fn to_bytes(value: &Value) -> Option<Vec<u8>> {
    Some(match value {
        Value::Boolean(v) => vec![u8::from(*v)],
        Value::Int(v) => v.to_le_bytes().to_vec(),
        Value::Long(v) => v.to_le_bytes().to_vec(),
        Value::Float(v) => v.to_le_bytes().to_vec(),
        Value::Double(v) => v.to_le_bytes().to_vec(),
        Value::Decimal(v) => decimal_to_bytes(*v),
        Value::String(v) => v.as_bytes().to_vec(),
        Value::Bytes(v) => v.clone(),
        Value::Struct(_) | Value::List(_) | Value::Map(_) => return None,
    })
}

/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Reads a big-endian two's complement of 1 to 16 bytes.
pub fn decimal_from_bytes(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    // Writers may pad with sign bytes; whatever does not fit 128 bits after that is no decimal.
    let fill = if first & 0x80 == 0 { 0 } else { 0xff };
    let significant = match bytes.len().checked_sub(16) {
        Some(extra) => {
            let (padding, rest) = bytes.split_at_checked(extra)?;
            if padding.iter().any(|b| *b != fill) || (rest.first()? & 0x80 != first & 0x80) {
                return None;
            }
            rest
        }
        None => bytes,
    };
    let mut buffer = [fill; 16];
    buffer
        .get_mut(16 - significant.len()..)?
        .copy_from_slice(significant);
    Some(i128::from_be_bytes(buffer))
}

/// The shortest big-endian two's complement.
pub fn decimal_to_bytes(unscaled: i128) -> Vec<u8> {
    let bytes = unscaled.to_be_bytes();
    let sign: u8 = if unscaled < 0 { 0xff } else { 0 };
    let mut rest: &[u8] = &bytes;
    while let [first, second, ..] = rest {
        if *first != sign || (second & 0x80) != (sign & 0x80) {
            break;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    rest.to_vec()
}

//! JSON form of values (§ Appendix D: JSON single-value serialization), used for defaults.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use serde_json::{Map, Value as Json, json};

use super::{Value, text};
use crate::error::{Error, Result};
use crate::types::{PrimitiveType, Type};

/// Reads a value of the given type; JSON null is `None`. `at` names the place for errors.
pub fn from_json(json: &Json, of: &Type, at: &str) -> Result<Option<Value>> {
    if json.is_null() {
        return Ok(None);
    }
    let wrong = || Error::invalid(at, format!("expected a value of type {of}, found `{json}`"));
    let value = match of {
        Type::Primitive(primitive) => primitive_from_json(json, primitive).ok_or_else(wrong)?,
        Type::Struct(fields) => {
            let object = json.as_object().ok_or_else(wrong)?;
            let mut values = Vec::with_capacity(object.len());
            for field in fields.fields() {
                if let Some(json) = object.get(&field.id.to_string()) {
                    values.push((field.id, from_json(json, &field.field_type, at)?));
                }
            }
            Value::Struct(values)
        }
        Type::List(list) => {
            let elements = json.as_array().ok_or_else(wrong)?;
            let element = &list.element.field_type;
            Value::List(
                elements
                    .iter()
                    .map(|e| from_json(e, element, at))
                    .collect::<Result<_>>()?,
            )
        }
        Type::Map(map) => {
            let keys = json.get("keys").and_then(Json::as_array).ok_or_else(wrong)?;
            let values = json.get("values").and_then(Json::as_array).ok_or_else(wrong)?;
            if keys.len() != values.len() {
                return Err(wrong());
            }
            let pair = |(k, v)| {
                let key = from_json(k, &map.key.field_type, at)?.ok_or_else(wrong)?;
                Ok((key, from_json(v, &map.value.field_type, at)?))
            };
            Value::Map(keys.iter().zip(values).map(pair).collect::<Result<_>>()?)
        }
    };
    Ok(Some(value))
}

/// The JSON form of a value of the given type.
pub fn to_json(value: &Value, of: &Type) -> Result<Json> {
    let wrong = || Error::invalid("default value", format!("{value:?} is not of type {of}"));
    let or_null = |v: &Option<Value>, t: &Type| v.as_ref().map_or(Ok(Json::Null), |v| to_json(v, t));
    Ok(match (value, of) {
        (_, Type::Primitive(primitive)) => primitive_to_json(value, primitive).ok_or_else(wrong)?,
        (Value::Struct(values), Type::Struct(fields)) => {
            let mut object = Map::new();
            for (id, v) in values {
                let field = fields.field_by_id(*id).ok_or_else(wrong)?;
                object.insert(id.to_string(), or_null(v, &field.field_type)?);
            }
            Json::Object(object)
        }
        (Value::List(values), Type::List(list)) => Json::Array(
            values
                .iter()
                .map(|v| or_null(v, &list.element.field_type))
                .collect::<Result<_>>()?,
        ),
        (Value::Map(pairs), Type::Map(map)) => {
            let keys = pairs.iter().map(|(k, _)| to_json(k, &map.key.field_type));
            let values = pairs.iter().map(|(_, v)| or_null(v, &map.value.field_type));
            json!({"keys": keys.collect::<Result<Vec<_>>>()?, "values": values.collect::<Result<Vec<_>>>()?})
        }
        _ => return Err(wrong()),
    })
}

fn primitive_from_json(json: &Json, primitive: &PrimitiveType) -> Option<Value> {
    use PrimitiveType::*;
    Some(match primitive {
        Boolean => Value::Boolean(json.as_bool()?),
        Int => Value::Int(i32::try_from(json.as_i64()?).ok()?),
        Long => Value::Long(json.as_i64()?),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the shortest decimal of a float reads back as that float"
        )]
        Float => Value::Float(float(json)? as f32),
        Double => Value::Double(float(json)?),
        Decimal { precision, scale } => Value::Decimal(decimal(json.as_str()?, *precision, *scale)?),
        Date => {
            let date: NaiveDate = json.as_str()?.parse().ok()?;
            let days = date.signed_duration_since(NaiveDate::default()).num_days();
            Value::Int(i32::try_from(days).ok()?)
        }
        Time => {
            let time: NaiveTime = json.as_str()?.parse().ok()?;
            let micros = i64::from(time.num_seconds_from_midnight()) * 1_000_000;
            Value::Long(micros + i64::from(time.nanosecond()) / 1000)
        }
        Timestamp => Value::Long(without_zone(json)?.and_utc().timestamp_micros()),
        TimestampNs => Value::Long(without_zone(json)?.and_utc().timestamp_nanos_opt()?),
        Timestamptz => Value::Long(with_zone(json)?.timestamp_micros()),
        TimestamptzNs => Value::Long(with_zone(json)?.timestamp_nanos_opt()?),
        String => Value::String(json.as_str()?.to_string()),
        Uuid => Value::Bytes(uuid::Uuid::try_parse(json.as_str()?).ok()?.as_bytes().to_vec()),
        Fixed(length) => {
            let bytes = from_hex(json.as_str()?)?;
            (u32::try_from(bytes.len()).ok()? == *length).then_some(Value::Bytes(bytes))?
        }
        Binary => Value::Bytes(from_hex(json.as_str()?)?),
        // Their only default is null (§ Default values).
        Unknown | Variant | Geometry { .. } | Geography { .. } => return None,
    })
}

fn primitive_to_json(value: &Value, primitive: &PrimitiveType) -> Option<Json> {
    use PrimitiveType::*;
    Some(match (value, primitive) {
        (Value::Boolean(v), Boolean) => json!(v),
        (Value::Int(v), Int) => json!(v),
        (Value::Long(v), Long) => json!(v),
        (Value::Float(v), Float) => float_json(f64::from(*v), &v.to_string())?,
        (Value::Double(v), Double) => float_json(*v, &v.to_string())?,
        (Value::String(v), String) => json!(v),
        (Value::Bytes(v), Fixed(_) | Binary) => json!(text::hex(v)),
        (Value::Int(_), Date)
        | (Value::Long(_), Time | Timestamp | Timestamptz | TimestampNs | TimestamptzNs)
        | (Value::Decimal(_), Decimal { .. })
        | (Value::Bytes(_), Uuid) => json!(text::to_text(value, primitive)),
        _ => return None,
    })
}

/// A finite number in its shortest text, so that a float does not grow the digits of a double.
fn float_json(value: f64, shortest: &str) -> Option<Json> {
    if !value.is_finite() {
        return Some(json!(if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }));
    }
    Some(json!(shortest.parse::<f64>().ok()?))
}

fn float(json: &Json) -> Option<f64> {
    match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64(),
    }
}

fn decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let shift = i32::from(scale) - i32::try_from(fraction.len()).ok()? + exponent;
    let power = 10i128.checked_pow(shift.unsigned_abs())?;
    let unscaled = if shift >= 0 {
        digits.checked_mul(power)?
    } else if digits % power == 0 {
        digits / power
    } else {
        return None;
    };
    (unscaled.unsigned_abs() < 10u128.checked_pow(precision.into())?).then_some(unscaled)
}

fn without_zone(json: &Json) -> Option<NaiveDateTime> {
    json.as_str()?.parse().ok()
}

fn with_zone(json: &Json) -> Option<DateTime<chrono::FixedOffset>> {
    DateTime::parse_from_rfc3339(json.as_str()?).ok()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(text.get(i..i + 2)?, 16).ok())
        .collect()
}

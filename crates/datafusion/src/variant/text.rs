//! Values as JSON: dates, times and UUIDs as text, bytes in base64; NaN and infinities, of which JSON knows nothing, as
//! the strings that Spark writes.

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use parquet_variant::Variant;
use parquet_variant_json::VariantToJson;

use super::encoding::{Metadata, Value, primitive};

/// Appends a value, which was checked.
pub fn write_json(value: &Value<'_>, metadata: &Metadata<'_>, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Primitive(bytes) => write_primitive(&primitive(bytes)?, out),
        Value::Object(object) => {
            out.push(b'{');
            for place in 0..object.len() {
                if place > 0 {
                    out.push(b',');
                }
                let name = object.name(place, metadata);
                let name = name.ok_or_else(|| exec_datafusion_err!("a field of a variant has no name"))?;
                write_string(name, out)?;
                out.push(b':');
                write_json(&Value::try_new(object.value(place)?)?, metadata, out)?;
            }
            out.push(b'}');
            Ok(())
        }
        Value::Array(array) => {
            out.push(b'[');
            for place in 0..array.len() {
                if place > 0 {
                    out.push(b',');
                }
                write_json(&Value::try_new(array.value(place)?)?, metadata, out)?;
            }
            out.push(b']');
            Ok(())
        }
    }
}

fn write_primitive(value: &Variant<'_, '_>, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Variant::Float(v) => write_float(f64::from(*v), &format!("{v:?}"), out),
        Variant::Double(v) => write_float(*v, &format!("{v:?}"), out),
        other => other.to_json(out).map_err(DataFusionError::from)?,
    }
    Ok(())
}

fn write_float(value: f64, digits: &str, out: &mut Vec<u8>) {
    let text = match value {
        _ if value.is_nan() => "\"NaN\"",
        f64::INFINITY => "\"Infinity\"",
        f64::NEG_INFINITY => "\"-Infinity\"",
        _ => digits,
    };
    out.extend_from_slice(text.as_bytes());
}

fn write_string(text: &str, out: &mut Vec<u8>) -> Result<()> {
    Ok(Variant::from(text).to_json(out)?)
}

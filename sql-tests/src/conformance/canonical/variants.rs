//! Canonical text of variants: `{"object":{…}}`, `{"array":[…]}`, or `{"type":physical type,"value":text}`.

use chrono::NaiveDate;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::error::ArrowError;
use parquet_variant::Variant;
use parquet_variant_compute::VariantArray;

use super::text;

/// The texts of an array, or nothing if it is none of variants; or the first error of reading one.
pub(super) fn values(array: &ArrayRef) -> Option<Result<Vec<String>, ArrowError>> {
    array.as_struct_opt()?;
    let variants = VariantArray::try_new(array).ok()?;
    let write = |row| match variants.is_null(row) {
        true => Ok(text::NULL.to_owned()),
        false => variants.try_value(row).map(|variant| written(&variant)),
    };
    Some((0..array.len()).map(write).collect())
}

fn written(variant: &Variant<'_, '_>) -> String {
    match variant {
        Variant::Object(object) => {
            let members: Vec<_> = object
                .iter()
                .map(|(name, value)| format!("{}:{}", text::quoted(name), written(&value)))
                .collect();
            format!("{{\"object\":{{{}}}}}", members.join(","))
        }
        Variant::List(list) => {
            let elements: Vec<_> = list.iter().map(|value| written(&value)).collect();
            format!("{{\"array\":[{}]}}", elements.join(","))
        }
        Variant::Null => "{\"type\":\"null\",\"value\":null}".to_owned(),
        primitive => {
            let (name, value) = of_primitive(primitive);
            format!("{{\"type\":\"{name}\",\"value\":{}}}", text::quoted(&value))
        }
    }
}

/// The physical type and the stored value of what is neither null nor nested.
fn of_primitive(variant: &Variant<'_, '_>) -> (&'static str, String) {
    match variant {
        Variant::BooleanTrue => ("boolean_true", "true".to_owned()),
        Variant::BooleanFalse => ("boolean_false", "false".to_owned()),
        Variant::Int8(v) => ("int8", v.to_string()),
        Variant::Int16(v) => ("int16", v.to_string()),
        Variant::Int32(v) => ("int32", v.to_string()),
        Variant::Int64(v) => ("int64", v.to_string()),
        Variant::Float(v) => ("float", text::float(*v)),
        Variant::Double(v) => ("double", text::double(*v)),
        Variant::Decimal4(v) => ("decimal4", v.to_string()),
        Variant::Decimal8(v) => ("decimal8", v.to_string()),
        Variant::Decimal16(v) => ("decimal16", v.to_string()),
        Variant::Date(v) => {
            let days = v.signed_duration_since(NaiveDate::default()).num_days();
            ("date", days.to_string())
        }
        Variant::Time(v) => {
            let midnight = v.signed_duration_since(chrono::NaiveTime::MIN);
            (
                "time",
                midnight.num_microseconds().unwrap_or_default().to_string(),
            )
        }
        Variant::TimestampMicros(v) => ("timestamptz", v.timestamp_micros().to_string()),
        Variant::TimestampNtzMicros(v) => ("timestampntz", v.and_utc().timestamp_micros().to_string()),
        Variant::TimestampNanos(v) => {
            let nanos = v.timestamp_nanos_opt().unwrap_or_default();
            ("timestamptz_nanos", nanos.to_string())
        }
        Variant::TimestampNtzNanos(v) => {
            let nanos = v.and_utc().timestamp_nanos_opt().unwrap_or_default();
            ("timestampntz_nanos", nanos.to_string())
        }
        Variant::Binary(v) => ("binary", text::hex(v)),
        Variant::String(v) => ("string", (*v).to_owned()),
        Variant::ShortString(v) => ("string", v.as_str().to_owned()),
        Variant::Uuid(v) => ("uuid", v.to_string()),
        Variant::Null | Variant::Object(_) | Variant::List(_) => ("", String::new()),
    }
}

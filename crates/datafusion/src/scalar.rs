//! Values of the format as scalars of DataFusion, and back.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StructArray};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Result, ScalarValue, plan_err};
use drumlin_format::types::{PrimitiveType, StructType, Type};
use drumlin_format::value::Value;
use drumlin_table::arrow::{UTC, struct_to_arrow, type_to_arrow};

/// A value of an Iceberg type as scalar of the Arrow type that a column (`column`) or a nested field of it has.
pub fn to_scalar(value: Option<&Value>, of: &Type, column: bool) -> Result<ScalarValue> {
    let data_type = type_to_arrow(of, column);
    let Some(value) = value else {
        return ScalarValue::try_new_null(&data_type);
    };
    match (value, of) {
        (value, Type::Primitive(p)) => primitive_to_scalar(value, p, &data_type),
        (Value::Struct(values), Type::Struct(fields)) => struct_to_scalar(fields, |id| {
            values
                .iter()
                .find(|(i, _)| *i == id)
                .and_then(|(_, v)| v.as_ref())
        }),
        _ => plan_err!("a default of type {of} is not supported; only primitive and struct defaults are"),
    }
}

/// A struct whose fields' values are found by id.
pub fn struct_to_scalar<'a>(
    fields: &StructType,
    value_of: impl Fn(i32) -> Option<&'a Value>,
) -> Result<ScalarValue> {
    let columns = fields
        .fields()
        .iter()
        .map(|f| to_scalar(value_of(f.id), &f.field_type, false)?.to_array())
        .collect::<Result<Vec<ArrayRef>>>()?;
    let array = StructArray::try_new_with_length(struct_to_arrow(fields), columns, None, 1)?;
    Ok(ScalarValue::Struct(Arc::new(array)))
}

fn primitive_to_scalar(value: &Value, of: &PrimitiveType, data_type: &DataType) -> Result<ScalarValue> {
    use PrimitiveType as P;
    Ok(match (value, of) {
        (Value::Boolean(v), P::Boolean) => ScalarValue::Boolean(Some(*v)),
        (Value::Int(v), P::Int) => ScalarValue::Int32(Some(*v)),
        (Value::Int(v), P::Long) => ScalarValue::Int64(Some(i64::from(*v))),
        (Value::Int(v), P::Date) => ScalarValue::Date32(Some(*v)),
        (Value::Long(v), P::Long) => ScalarValue::Int64(Some(*v)),
        (Value::Long(v), P::Time) => ScalarValue::Time64Microsecond(Some(*v)),
        (Value::Long(v), P::Timestamp) => ScalarValue::TimestampMicrosecond(Some(*v), None),
        (Value::Long(v), P::Timestamptz) => ScalarValue::TimestampMicrosecond(Some(*v), Some(UTC.into())),
        (Value::Long(v), P::TimestampNs) => ScalarValue::TimestampNanosecond(Some(*v), None),
        (Value::Long(v), P::TimestamptzNs) => ScalarValue::TimestampNanosecond(Some(*v), Some(UTC.into())),
        (Value::Float(v), P::Float) => ScalarValue::Float32(Some(*v)),
        (Value::Float(v), P::Double) => ScalarValue::Float64(Some(f64::from(*v))),
        (Value::Double(v), P::Double) => ScalarValue::Float64(Some(*v)),
        (Value::Decimal(v), P::Decimal { precision, scale }) => {
            ScalarValue::Decimal128(Some(*v), *precision, i8::try_from(*scale).unwrap_or(i8::MAX))
        }
        (Value::String(v), P::String) => ScalarValue::Utf8(Some(v.clone())).cast_to(data_type)?,
        (Value::Bytes(v), P::Uuid | P::Fixed(_)) => match i32::try_from(v.len()) {
            Ok(length) => ScalarValue::FixedSizeBinary(length, Some(v.clone())),
            Err(_) => return plan_err!("a value of {} bytes is too long", v.len()),
        },
        (Value::Bytes(v), P::Binary | P::Geometry { .. } | P::Geography { .. }) => {
            ScalarValue::Binary(Some(v.clone())).cast_to(data_type)?
        }
        _ => return plan_err!("the value {value:?} is not of type {of}"),
    })
}

/// A scalar as value of an Iceberg type, if it is exactly one: nothing is rounded and nothing cut. `None` for null
/// as well.
pub fn from_scalar(scalar: &ScalarValue, of: &PrimitiveType) -> Option<Value> {
    use PrimitiveType as P;
    use ScalarValue as S;
    if let S::Dictionary(_, inner) = scalar {
        return from_scalar(inner, of);
    }
    match of {
        P::Boolean => match scalar {
            S::Boolean(Some(v)) => Some(Value::Boolean(*v)),
            _ => None,
        },
        P::Int => i32::try_from(integer(scalar)?).ok().map(Value::Int),
        P::Long => integer(scalar).map(Value::Long),
        P::Float => match scalar {
            S::Float32(Some(v)) => Some(Value::Float(*v)),
            S::Float64(Some(v)) => {
                #[expect(clippy::cast_possible_truncation, reason = "checked to lead back")]
                let float = *v as f32;
                (f64::from(float) == *v).then_some(Value::Float(float))
            }
            _ => None,
        },
        P::Double => match scalar {
            S::Float32(Some(v)) => Some(Value::Double(f64::from(*v))),
            S::Float64(Some(v)) => Some(Value::Double(*v)),
            _ => None,
        },
        P::Decimal { precision, scale } => {
            let wanted = DataType::Decimal128(*precision, i8::try_from(*scale).ok()?);
            if !matches!(
                scalar,
                S::Decimal32(..) | S::Decimal64(..) | S::Decimal128(..) | S::Decimal256(..)
            ) {
                return None;
            }
            let cast = scalar.cast_to(&wanted).ok()?;
            // A cast that rounds does not lead back.
            let same = cast.cast_to(&scalar.data_type()).ok()? == *scalar;
            match cast {
                S::Decimal128(Some(v), _, _) if same => Some(Value::Decimal(v)),
                _ => None,
            }
        }
        P::Date => match scalar {
            S::Date32(Some(v)) => Some(Value::Int(*v)),
            _ => None,
        },
        P::Time => match scalar {
            S::Time64Microsecond(Some(v)) => Some(Value::Long(*v)),
            S::Time64Nanosecond(Some(v)) => exact_div(*v, 1000).map(Value::Long),
            _ => None,
        },
        P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
            let (value, unit, zone) = timestamp(scalar)?;
            // With and without zone are different questions; DataFusion casts one to the other first.
            if zone != matches!(of, P::Timestamptz | P::TimestamptzNs) {
                return None;
            }
            let nanos = matches!(of, P::TimestampNs | P::TimestamptzNs);
            to_unit(value, unit, nanos).map(Value::Long)
        }
        P::String => match scalar {
            S::Utf8(Some(v)) | S::LargeUtf8(Some(v)) | S::Utf8View(Some(v)) => Some(Value::String(v.clone())),
            _ => None,
        },
        P::Uuid | P::Fixed(_) => match scalar {
            S::FixedSizeBinary(_, Some(v)) => Some(Value::Bytes(v.clone())),
            _ => None,
        },
        P::Binary => match scalar {
            S::Binary(Some(v)) | S::LargeBinary(Some(v)) | S::BinaryView(Some(v)) => {
                Some(Value::Bytes(v.clone()))
            }
            _ => None,
        },
        P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. } => None,
    }
}

fn integer(scalar: &ScalarValue) -> Option<i64> {
    use ScalarValue as S;
    match scalar {
        S::Int8(Some(v)) => Some(i64::from(*v)),
        S::Int16(Some(v)) => Some(i64::from(*v)),
        S::Int32(Some(v)) => Some(i64::from(*v)),
        S::Int64(Some(v)) => Some(*v),
        S::UInt8(Some(v)) => Some(i64::from(*v)),
        S::UInt16(Some(v)) => Some(i64::from(*v)),
        S::UInt32(Some(v)) => Some(i64::from(*v)),
        S::UInt64(Some(v)) => i64::try_from(*v).ok(),
        _ => None,
    }
}

/// The count of a timestamp, its unit, and whether it has a zone.
fn timestamp(scalar: &ScalarValue) -> Option<(i64, TimeUnit, bool)> {
    use ScalarValue as S;
    let (value, unit, zone) = match scalar {
        S::TimestampSecond(v, z) => (v, TimeUnit::Second, z),
        S::TimestampMillisecond(v, z) => (v, TimeUnit::Millisecond, z),
        S::TimestampMicrosecond(v, z) => (v, TimeUnit::Microsecond, z),
        S::TimestampNanosecond(v, z) => (v, TimeUnit::Nanosecond, z),
        _ => return None,
    };
    Some(((*value)?, unit, zone.is_some()))
}

fn to_unit(value: i64, unit: TimeUnit, nanos: bool) -> Option<i64> {
    match (unit, nanos) {
        (TimeUnit::Second, false) => value.checked_mul(1_000_000),
        (TimeUnit::Millisecond, false) => value.checked_mul(1000),
        (TimeUnit::Microsecond, false) | (TimeUnit::Nanosecond, true) => Some(value),
        (TimeUnit::Nanosecond, false) => exact_div(value, 1000),
        (TimeUnit::Second, true) => value.checked_mul(1_000_000_000),
        (TimeUnit::Millisecond, true) => value.checked_mul(1_000_000),
        (TimeUnit::Microsecond, true) => value.checked_mul(1000),
    }
}

fn exact_div(value: i64, by: i64) -> Option<i64> {
    (value % by == 0).then(|| value / by)
}

//! An Avro schema in Arrow's terms.
//!
//! | Avro | Arrow |
//! |---|---|
//! | int, long, float, double, boolean, string, bytes | the same |
//! | int as date or time-millis, long as time-micros | `Date32`, `Time32(ms)`, `Time64(µs)` |
//! | long as timestamp-millis, -micros, -nanos | `Timestamp`, with zone `UTC` where `adjust-to-utc` is true |
//! | long as local-timestamp-… | `Timestamp` without zone |
//! | bytes or fixed as decimal | `Decimal128` |
//! | fixed, also as uuid | `FixedSizeBinary` |
//! | enum | `Utf8` |
//! | array, record | `List`, `Struct` |
//! | map, array of pairs with logical type map | `Map` |
//! | union of null and a type | the type, nullable |
//! | other unions | `Union`, whose values cannot be read |

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::DECIMAL128_MAX_PRECISION;
use arrow_schema::{DataType, Field as ArrowField, FieldRef, Fields, TimeUnit, UnionFields, UnionMode};
use drumlin_format::avro::{Field, Kind, NodeId, Schema};
use drumlin_format::{Error, Result};

use crate::arrow::{FIELD_ID_KEY, UTC};

/// How deep types may nest.
const MAX_DEPTH: usize = 64;

/// Fields in all, nested ones too: records that name others twice at each level double.
const MAX_FIELDS: usize = 100_000;

/// The fields of a record.
///
/// # Errors
/// Records that contain themselves, or too many fields.
pub fn fields(schema: &Schema, fields: &[Field]) -> Result<Fields> {
    let mut left = MAX_FIELDS;
    fields
        .iter()
        .map(|f| field(schema, &f.name, f.node, f.id, 0, &mut left))
        .collect()
}

fn field(
    schema: &Schema,
    name: &str,
    node: NodeId,
    id: Option<i32>,
    depth: usize,
    left: &mut usize,
) -> Result<FieldRef> {
    let too_much = |what| Error::invalid("Avro schema", format!("field `{name}`: {what}"));
    if depth > MAX_DEPTH {
        return Err(too_much("it nests too deep, or contains itself"));
    }
    *left = left
        .checked_sub(1)
        .ok_or_else(|| too_much("there are too many fields"))?;
    let nullable = match schema.kind(node) {
        Kind::Null => true,
        Kind::Union(branches) => branches.iter().any(|b| *schema.kind(*b) == Kind::Null),
        _ => false,
    };
    let data_type = data_type(schema, node, depth, left)?;
    let id = id.map(|id| (FIELD_ID_KEY.to_string(), id.to_string()));
    let metadata: HashMap<_, _> = id.into_iter().collect();
    Ok(Arc::new(
        ArrowField::new(name, data_type, nullable).with_metadata(metadata),
    ))
}

fn data_type(schema: &Schema, node: NodeId, depth: usize, left: &mut usize) -> Result<DataType> {
    if let Kind::Union(branches) = schema.kind(node) {
        return match schema.value_type(node) {
            Some(value) => data_type(schema, value, depth, left),
            None if branches.iter().all(|b| *schema.kind(*b) == Kind::Null) => Ok(DataType::Null),
            None => {
                let branch = |(n, b): (usize, &NodeId)| {
                    field(schema, &format!("branch {n}"), *b, None, depth + 1, left)
                };
                let branches = branches.iter().take(127).enumerate();
                let branches = branches.map(branch).collect::<Result<Vec<_>>>()?;
                Ok(DataType::Union(
                    UnionFields::from_fields(branches),
                    UnionMode::Dense,
                ))
            }
        };
    }
    let logical = schema.logical_type(node);
    let timestamp = |unit| {
        let zone = schema.adjusts_to_utc(node).then(|| UTC.into());
        DataType::Timestamp(unit, zone)
    };
    Ok(match schema.kind(node) {
        Kind::Null | Kind::Union(_) => DataType::Null,
        Kind::Boolean => DataType::Boolean,
        Kind::Int => match logical {
            Some("date") => DataType::Date32,
            Some("time-millis") => DataType::Time32(TimeUnit::Millisecond),
            _ => DataType::Int32,
        },
        Kind::Long => match logical {
            Some("time-micros") => DataType::Time64(TimeUnit::Microsecond),
            Some("timestamp-millis") => timestamp(TimeUnit::Millisecond),
            Some("timestamp-micros") => timestamp(TimeUnit::Microsecond),
            Some("timestamp-nanos") => timestamp(TimeUnit::Nanosecond),
            Some("local-timestamp-millis") => DataType::Timestamp(TimeUnit::Millisecond, None),
            Some("local-timestamp-micros") => DataType::Timestamp(TimeUnit::Microsecond, None),
            Some("local-timestamp-nanos") => DataType::Timestamp(TimeUnit::Nanosecond, None),
            _ => DataType::Int64,
        },
        Kind::Float => DataType::Float32,
        Kind::Double => DataType::Float64,
        Kind::String | Kind::Enum(_) => DataType::Utf8,
        Kind::Bytes => decimal(schema, node).unwrap_or(DataType::Binary),
        Kind::Fixed(size) => match decimal(schema, node) {
            Some(decimal) => decimal,
            None => DataType::FixedSizeBinary(i32::try_from(*size).map_err(|_| {
                Error::invalid("Avro schema", format!("a fixed of {size} bytes is too large"))
            })?),
        },
        Kind::Record(inner) => {
            let inner = inner
                .iter()
                .map(|f| field(schema, &f.name, f.node, f.id, depth + 1, left));
            DataType::Struct(inner.collect::<Result<_>>()?)
        }
        Kind::Array(item) => match pair(schema, node) {
            Some([key, value]) => {
                let key = field(schema, "key", key.node, key.id, depth + 1, left)?;
                let value = field(schema, "value", value.node, value.id, depth + 1, left)?;
                map(key, value)
            }
            None => {
                let id = schema.element_id(node);
                DataType::List(field(schema, "element", *item, id, depth + 1, left)?)
            }
        },
        Kind::Map(value) => {
            let id = schema
                .key_id(node)
                .map(|id| (FIELD_ID_KEY.to_string(), id.to_string()));
            let key = ArrowField::new("key", DataType::Utf8, false).with_metadata(id.into_iter().collect());
            let value = field(schema, "value", *value, schema.value_id(node), depth + 1, left)?;
            map(Arc::new(key), value)
        }
    })
}

fn map(key: FieldRef, value: FieldRef) -> DataType {
    let key = Arc::new(key.as_ref().clone().with_nullable(false));
    let entries = DataType::Struct(Fields::from(vec![key, value]));
    DataType::Map(Arc::new(ArrowField::new("key_value", entries, false)), false)
}

/// Key and value of an array that stands for a map.
pub fn pair(schema: &Schema, array: NodeId) -> Option<[&Field; 2]> {
    let Kind::Array(item) = schema.kind(array) else {
        return None;
    };
    match (schema.logical_type(array), schema.kind(*item)) {
        (Some("map"), Kind::Record(fields)) => match fields.as_slice() {
            [key, value] => Some([key, value]),
            _ => None,
        },
        _ => None,
    }
}

/// The type of a decimal that fits. One that does not is bytes, as Avro asks for.
fn decimal(schema: &Schema, node: NodeId) -> Option<DataType> {
    let (precision, scale) = schema.decimal(node)?;
    let fits = (1..=DECIMAL128_MAX_PRECISION).contains(&precision) && scale <= precision;
    fits.then_some(DataType::Decimal128(precision, i8::try_from(scale).ok()?))
}

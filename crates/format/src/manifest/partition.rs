//! Partition tuples of manifests (§ Manifests, field 102).

use super::fields::wrong_type;
use crate::avro::{Decoder, Kind, NodeId, Schema};
use crate::error::{Error, Result};
use crate::partition::PartitionTuple;
use crate::types::{PrimitiveType, StructType, Type};
use crate::value::Value;
use crate::value::bytes::{MICROS_PER_DAY, decimal_from_bytes};

/// How the partition record of a manifest becomes a tuple. Compiled once a manifest.
#[derive(Debug, Clone)]
pub(super) struct PartitionPlan {
    columns: Vec<Column>,
    width: usize,
}

#[derive(Debug, Clone)]
struct Column {
    name: String,
    node: NodeId,
    /// Where the value goes and what it is; `None` for values that the spec does not have.
    target: Option<(usize, PrimitiveType)>,
}

impl PartitionPlan {
    /// Matches the fields of the partition record with those of the spec's tuple, by id.
    pub fn compile(schema: &Schema, record: NodeId, partition_type: &StructType) -> Result<Self> {
        let fields = schema
            .record_fields(record)
            .ok_or_else(|| wrong_type(schema, record, "a record"))?;
        for wanted in partition_type.fields() {
            let known = Type::Primitive(PrimitiveType::Unknown) != wanted.field_type;
            if known && !fields.iter().any(|f| f.id == Some(wanted.id)) {
                return Err(Error::invalid(
                    "partition of the manifest",
                    format!(
                        "it has no field {} (`{}`), which the partition spec has",
                        wanted.id, wanted.name
                    ),
                ));
            }
        }
        let column = |field: &crate::avro::Field| {
            let position = partition_type
                .fields()
                .iter()
                .position(|f| Some(f.id) == field.id);
            let target = position.and_then(|position| {
                let of = partition_type.fields().get(position)?.field_type.as_primitive()?;
                Some((position, of.clone()))
            });
            Column {
                name: field.name.clone(),
                node: field.node,
                target,
            }
        };
        Ok(Self {
            columns: fields.iter().map(column).collect(),
            width: partition_type.fields().len(),
        })
    }

    /// Reads a tuple.
    pub fn read(&self, schema: &Schema, decoder: &mut Decoder<'_>, node: NodeId) -> Result<PartitionTuple> {
        let mut tuple = vec![None; self.width];
        if schema.enter(decoder, node)?.is_none() {
            return match self.width {
                0 => Ok(tuple),
                _ => Err(Error::invalid(
                    "value",
                    "it is null, but the table is partitioned",
                )),
            };
        }
        for column in &self.columns {
            match &column.target {
                None => schema.skip(decoder, column.node)?,
                Some((position, of)) => {
                    let value = read_value(schema, decoder, column.node, of).map_err(|e| {
                        super::fields::at(e, || format!("partition field `{}` of type {of}", column.name))
                    })?;
                    if let Some(slot) = tuple.get_mut(*position) {
                        *slot = value;
                    }
                }
            }
        }
        Ok(tuple)
    }
}

fn read_value(
    schema: &Schema,
    decoder: &mut Decoder<'_>,
    node: NodeId,
    of: &PrimitiveType,
) -> Result<Option<Value>> {
    use PrimitiveType::*;
    let Some(node) = schema.enter(decoder, node)? else {
        return Ok(None);
    };
    let wrong = |expected| Err(wrong_type(schema, node, expected));
    let kind = schema.kind(node);
    Ok(Some(match (of, kind) {
        (Boolean, Kind::Boolean) => Value::Boolean(decoder.boolean()?),
        (Int | Date, Kind::Int | Kind::Long) => Value::Int(decoder.int()?),
        (Long | Time | Timestamp | Timestamptz | TimestampNs | TimestamptzNs, Kind::Int | Kind::Long) => {
            let value = decoder.long()?;
            let scaled = value.checked_mul(unit(schema, node, of));
            Value::Long(scaled.ok_or_else(|| Error::invalid("value", format!("{value} is out of range")))?)
        }
        (Float, Kind::Float) => Value::Float(decoder.float()?),
        (Double, Kind::Float) => Value::Double(decoder.float()?.into()),
        (Double, Kind::Double) => Value::Double(decoder.double()?),
        (Decimal { .. }, _) => decimal(take_bytes(schema, decoder, node)?)?,
        (String, Kind::String | Kind::Bytes) => Value::String(decoder.string()?.to_owned()),
        (Uuid, Kind::String) => Value::Bytes(
            decoder
                .string()?
                .parse::<uuid::Uuid>()
                .map_err(|e| Error::invalid("value", e.to_string()))?
                .as_bytes()
                .to_vec(),
        ),
        (Uuid | Fixed(_) | Binary, _) => {
            let bytes = take_bytes(schema, decoder, node)?;
            let size = match of {
                Uuid => Some(16),
                Fixed(size) => usize::try_from(*size).ok(),
                _ => None,
            };
            if size.is_some_and(|size| size != bytes.len()) {
                return Err(Error::invalid(
                    "value",
                    format!("{} bytes do not fit", bytes.len()),
                ));
            }
            Value::Bytes(bytes.to_vec())
        }
        // The type is not known where the source column was dropped or the transform is unknown. The value still tells
        // partitions apart. Int and long may be one column before and after a promotion, float and double likewise.
        (Unknown, Kind::Boolean) => Value::Boolean(decoder.boolean()?),
        (Unknown, Kind::Int | Kind::Long) => Value::Long(decoder.long()?),
        (Unknown, Kind::Float) => Value::Double(decoder.float()?.into()),
        (Unknown, Kind::Double) => Value::Double(decoder.double()?),
        (Unknown, Kind::String) => Value::String(decoder.string()?.to_owned()),
        (Unknown, Kind::Bytes | Kind::Fixed(_)) if schema.logical_type(node) == Some("decimal") => {
            decimal(take_bytes(schema, decoder, node)?)?
        }
        (Unknown, Kind::Bytes | Kind::Fixed(_)) => Value::Bytes(take_bytes(schema, decoder, node)?.to_vec()),
        (Unknown, _) => return wrong("a primitive type"),
        (Variant | Geometry { .. } | Geography { .. }, _) => {
            return Err(Error::unsupported(format!("partition values of type {of}")));
        }
        _ => return wrong("a type that can be read as the field's"),
    }))
}

/// How many of the type's units a stored number is: a date can have become a timestamp.
fn unit(schema: &Schema, node: NodeId, of: &PrimitiveType) -> i64 {
    use PrimitiveType::*;
    match (schema.logical_type(node), of) {
        (Some("date"), Timestamp) => MICROS_PER_DAY,
        (Some("date"), TimestampNs) => MICROS_PER_DAY * 1000,
        _ => 1,
    }
}

fn decimal(bytes: &[u8]) -> Result<Value> {
    decimal_from_bytes(bytes)
        .map(Value::Decimal)
        .ok_or_else(|| Error::invalid("value", format!("{} bytes are no decimal", bytes.len())))
}

fn take_bytes<'a>(schema: &Schema, decoder: &mut Decoder<'a>, node: NodeId) -> Result<&'a [u8]> {
    match schema.kind(node) {
        Kind::Bytes | Kind::String => decoder.bytes(),
        Kind::Fixed(size) => decoder.take(*size),
        _ => Err(wrong_type(schema, node, "bytes or fixed")),
    }
}

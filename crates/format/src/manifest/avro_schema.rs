//! The Avro schema of manifests (§ Manifests, § Appendix A).

use std::collections::HashSet;

use serde_json::{Value as Json, json};

use crate::error::{Error, Result};
use crate::types::{PrimitiveType, StructType, Type};

/// A column that must have a value.
pub(crate) fn required(id: i32, name: &str, of: impl Into<Json>) -> Json {
    json!({"name": name, "type": of.into(), "field-id": id})
}

/// A column that may be null.
pub(crate) fn optional(id: i32, name: &str, of: impl Into<Json>) -> Json {
    json!({"name": name, "type": ["null", of.into()], "default": null, "field-id": id})
}

/// An array.
pub(crate) fn array(element_id: i32, of: impl Into<Json>) -> Json {
    json!({"type": "array", "items": of.into(), "element-id": element_id})
}

/// A map with ints as keys, which Avro's own maps cannot be.
fn int_map(key_id: i32, value_id: i32, value: &str) -> Json {
    json!({
        "type": "array",
        "logicalType": "map",
        "items": {
            "type": "record",
            "name": format!("k{key_id}_v{value_id}"),
            "fields": [required(key_id, "key", "int"), required(value_id, "value", value)],
        },
    })
}

/// The schema of the entries of a manifest whose partition tuples have this type.
pub(super) fn manifest_entry(format_version: u8, partition_type: &StructType) -> Result<Json> {
    let mut fields = vec![required(0, "status", "int")];
    if format_version == 1 {
        fields.push(required(1, "snapshot_id", "long"));
    } else {
        fields.push(optional(1, "snapshot_id", "long"));
        fields.push(optional(3, "sequence_number", "long"));
        fields.push(optional(4, "file_sequence_number", "long"));
    }
    let data_file =
        json!({"type": "record", "name": "r2", "fields": data_file(format_version, partition_type)?});
    fields.push(required(2, "data_file", data_file));
    Ok(json!({"type": "record", "name": "manifest_entry", "fields": fields}))
}

fn data_file(format_version: u8, partition_type: &StructType) -> Result<Vec<Json>> {
    let mut fields = Vec::new();
    if format_version >= 2 {
        fields.push(required(134, "content", "int"));
    }
    fields.extend([
        required(100, "file_path", "string"),
        required(101, "file_format", "string"),
        required(102, "partition", partition(partition_type)?),
        required(103, "record_count", "long"),
        required(104, "file_size_in_bytes", "long"),
    ]);
    if format_version == 1 {
        fields.push(required(105, "block_size_in_bytes", "long"));
    }
    fields.extend([
        optional(108, "column_sizes", int_map(117, 118, "long")),
        optional(109, "value_counts", int_map(119, 120, "long")),
        optional(110, "null_value_counts", int_map(121, 122, "long")),
        optional(137, "nan_value_counts", int_map(138, 139, "long")),
        optional(125, "lower_bounds", int_map(126, 127, "bytes")),
        optional(128, "upper_bounds", int_map(129, 130, "bytes")),
        optional(131, "key_metadata", "bytes"),
        optional(132, "split_offsets", array(133, "long")),
    ]);
    if format_version >= 2 {
        fields.push(optional(135, "equality_ids", array(136, "int")));
    }
    fields.push(optional(140, "sort_order_id", "int"));
    if format_version >= 3 {
        fields.push(optional(142, "first_row_id", "long"));
    }
    if format_version >= 2 {
        fields.push(optional(143, "referenced_data_file", "string"));
    }
    if format_version >= 3 {
        fields.push(optional(144, "content_offset", "long"));
        fields.push(optional(145, "content_size_in_bytes", "long"));
    }
    Ok(fields)
}

fn partition(partition_type: &StructType) -> Result<Json> {
    let mut types = HashSet::new();
    let mut names = HashSet::new();
    let mut fields = Vec::new();
    for field in partition_type.fields() {
        let Type::Primitive(of) = &field.field_type else {
            return Err(Error::invalid(
                format!("partition field `{}`", field.name),
                format!("{} is no primitive type", field.field_type),
            ));
        };
        let mut name = avro_name(&field.name);
        if !names.insert(name.clone()) {
            name = format!("{name}_{}", field.id);
        }
        let mut column = match of {
            // Nothing but null.
            PrimitiveType::Unknown => {
                json!({"name": name, "type": "null", "default": null, "field-id": field.id})
            }
            of => optional(field.id, &name, partition_value(of, field.id, &mut types)?),
        };
        if let (true, Some(column)) = (name != field.name, column.as_object_mut()) {
            column.insert("iceberg-field-name".into(), field.name.as_str().into());
        }
        fields.push(column);
    }
    Ok(json!({"type": "record", "name": "r102", "fields": fields}))
}

/// The type of a partition value (§ Appendix A: Data Type Mappings). Named types get names of their own.
fn partition_value(of: &PrimitiveType, field_id: i32, defined: &mut HashSet<String>) -> Result<Json> {
    use PrimitiveType::*;
    let timestamp =
        |logical: &str, utc: bool| json!({"type": "long", "logicalType": logical, "adjust-to-utc": utc});
    let mut fixed = |mut name: std::string::String, size: u32, logical: Option<Json>| {
        // A second definition takes another name: not every reader resolves references to logical types.
        if !defined.insert(name.clone()) {
            name = format!("{name}_{field_id}");
        }
        let mut of = json!({"type": "fixed", "name": name, "size": size});
        if let (Some(of), Some(Json::Object(logical))) = (of.as_object_mut(), logical) {
            of.extend(logical);
        }
        of
    };
    Ok(match of {
        Boolean => "boolean".into(),
        Int => "int".into(),
        Long => "long".into(),
        Float => "float".into(),
        Double => "double".into(),
        String => "string".into(),
        Binary => "bytes".into(),
        Date => json!({"type": "int", "logicalType": "date"}),
        Time => json!({"type": "long", "logicalType": "time-micros"}),
        Timestamp => timestamp("timestamp-micros", false),
        Timestamptz => timestamp("timestamp-micros", true),
        TimestampNs => timestamp("timestamp-nanos", false),
        TimestamptzNs => timestamp("timestamp-nanos", true),
        Uuid => fixed("uuid_fixed".into(), 16, Some(json!({"logicalType": "uuid"}))),
        Fixed(size) => fixed(format!("fixed_{size}"), *size, None),
        Decimal { precision, scale } => fixed(
            format!("decimal_{precision}_{scale}"),
            u32::try_from(decimal_size(*precision)).unwrap_or(16),
            Some(json!({"logicalType": "decimal", "precision": precision, "scale": scale})),
        ),
        Unknown | Variant | Geometry { .. } | Geography { .. } => {
            return Err(Error::unsupported(format!("partition values of type {of}")));
        }
    })
}

/// The fewest bytes that hold all decimals of a precision.
pub(super) fn decimal_size(precision: u8) -> usize {
    let limit = 10i128.checked_pow(precision.into()).unwrap_or(i128::MAX);
    (1..16)
        .find(|size| limit <= 1i128 << (8 * size - 1))
        .unwrap_or(16)
}

/// The name of a field as Avro allows it: other characters become `_x` and their UTF-16 code in hex, a leading digit
/// gets a `_` before it.
fn avro_name(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for (i, unit) in name.encode_utf16().enumerate() {
        match u8::try_from(unit).map(char::from) {
            Ok(c) if c.is_ascii_alphabetic() || c == '_' => safe.push(c),
            Ok(c) if c.is_ascii_digit() => {
                if i == 0 {
                    safe.push('_');
                }
                safe.push(c);
            }
            _ => safe.push_str(&format!("_x{unit:X}")),
        }
    }
    safe
}

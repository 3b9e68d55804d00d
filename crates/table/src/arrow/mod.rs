//! Iceberg schemas in Arrow's terms, and back ([`schema_from_arrow`]).
//!
//! Every field carries its id in the metadata key [`FIELD_ID_KEY`], at each level of nesting, as Parquet readers
//! report it. Types map as follows; what Arrow cannot say stands in an extension type name.
//!
//! | Iceberg | Arrow |
//! |---|---|
//! | time | `Time64(µs)` |
//! | timestamp, timestamptz | `Timestamp(µs)`, with zone `UTC` |
//! | timestamp_ns, timestamptz_ns | `Timestamp(ns)`, with zone `UTC` |
//! | string, binary | `Utf8View`, `BinaryView` as columns; `Utf8`, `Binary` inside nested types |
//! | uuid | `FixedSizeBinary(16)`, extension `arrow.uuid` |
//! | fixed | `FixedSizeBinary` |
//! | geometry, geography | `BinaryView` (WKB), `Binary` inside nested types, extension `geoarrow.wkb` with its metadata |
//! | variant | struct of `metadata` and `value`, both `Binary` and required, extension `arrow.parquet.variant` |
//! | unknown | `Null` |
//! | list, map, struct | `List`, `Map`, `Struct` |

mod from_arrow;
mod geo;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema as ArrowSchema, TimeUnit};
use drumlin_format::schema::Schema;
use drumlin_format::types::{EdgeAlgorithm, NestedField, PrimitiveType, StructType, Type};

pub use from_arrow::schema_from_arrow;

/// The key of field metadata under which Parquet readers and writers of Arrow keep the field id, as decimal text.
pub const FIELD_ID_KEY: &str = "PARQUET:field_id";

/// The key of field metadata that names an extension type.
pub const EXTENSION_NAME_KEY: &str = "ARROW:extension:name";

/// The key of field metadata that holds the parameters of an extension type, as its name wants them.
pub const EXTENSION_METADATA_KEY: &str = "ARROW:extension:metadata";

/// The extension type of variants.
pub const VARIANT_EXTENSION: &str = "arrow.parquet.variant";

/// The extension type of UUIDs.
pub const UUID_EXTENSION: &str = "arrow.uuid";

/// The extension type of geometries and geographies.
pub const WKB_EXTENSION: &str = "geoarrow.wkb";

/// The key of field metadata that holds a column's comment.
pub const DOC_KEY: &str = "doc";

/// The zone of timestamps with zone: all of them are instants.
pub const UTC: &str = "UTC";

/// The schema of a table as Arrow schema.
pub fn schema_to_arrow(schema: &Schema) -> ArrowSchema {
    ArrowSchema::new(schema.fields().iter().map(column_to_arrow).collect::<Fields>())
}

/// A struct type as Arrow fields for use inside another type.
pub fn struct_to_arrow(fields: &StructType) -> Fields {
    fields.fields().iter().map(|f| field_to_arrow(f, false)).collect()
}

/// A top-level column as Arrow field.
pub fn column_to_arrow(field: &NestedField) -> FieldRef {
    field_to_arrow(field, true)
}

/// The field id that an Arrow field carries.
pub fn field_id(field: &Field) -> Option<i32> {
    field.metadata().get(FIELD_ID_KEY)?.parse().ok()
}

fn field_to_arrow(field: &NestedField, column: bool) -> FieldRef {
    let mut metadata = HashMap::from([(FIELD_ID_KEY.to_string(), field.id.to_string())]);
    if let Some((name, parameters)) = extension(&field.field_type) {
        metadata.insert(EXTENSION_NAME_KEY.to_string(), name.to_string());
        if let Some(parameters) = parameters {
            metadata.insert(EXTENSION_METADATA_KEY.to_string(), parameters);
        }
    }
    if let Some(doc) = &field.doc {
        metadata.insert(DOC_KEY.to_string(), doc.clone());
    }
    let data_type = type_to_arrow(&field.field_type, column);
    Arc::new(Field::new(&field.name, data_type, !field.required).with_metadata(metadata))
}

/// The extension type of a type, and its parameters.
fn extension(of: &Type) -> Option<(&'static str, Option<String>)> {
    let Type::Primitive(of) = of else {
        return None;
    };
    match of {
        PrimitiveType::Uuid => Some((UUID_EXTENSION, None)),
        PrimitiveType::Variant => Some((VARIANT_EXTENSION, None)),
        PrimitiveType::Geometry { crs } => Some((WKB_EXTENSION, Some(geo::parameters(crs.as_deref(), None)))),
        PrimitiveType::Geography { crs, algorithm } => {
            let edges = algorithm.unwrap_or(EdgeAlgorithm::Spherical);
            Some((WKB_EXTENSION, Some(geo::parameters(crs.as_deref(), Some(edges)))))
        }
        _ => None,
    }
}

/// The Arrow type of an Iceberg type. Strings and bytes are views where the type is that of a `column`, which is
/// what DataFusion's Parquet scan makes of plain files too.
pub fn type_to_arrow(of: &Type, column: bool) -> DataType {
    match of {
        Type::Primitive(p) => primitive_to_arrow(p, column),
        Type::Struct(s) => DataType::Struct(struct_to_arrow(s)),
        Type::List(l) => DataType::List(field_to_arrow(&l.element, false)),
        Type::Map(m) => {
            let entries = Fields::from(vec![
                field_to_arrow(&m.key, false),
                field_to_arrow(&m.value, false),
            ]);
            // `key_value` is the name that the Parquet reader gives to the entries.
            let entries = Field::new("key_value", DataType::Struct(entries), false);
            DataType::Map(Arc::new(entries), false)
        }
    }
}

fn primitive_to_arrow(of: &PrimitiveType, column: bool) -> DataType {
    use PrimitiveType as P;
    match of {
        P::Boolean => DataType::Boolean,
        P::Int => DataType::Int32,
        P::Long => DataType::Int64,
        P::Float => DataType::Float32,
        P::Double => DataType::Float64,
        P::Decimal { precision, scale } => {
            DataType::Decimal128(*precision, i8::try_from(*scale).unwrap_or(i8::MAX))
        }
        P::Date => DataType::Date32,
        P::Time => DataType::Time64(TimeUnit::Microsecond),
        P::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        P::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        P::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
        P::TimestamptzNs => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        P::String if column => DataType::Utf8View,
        P::String => DataType::Utf8,
        P::Uuid => DataType::FixedSizeBinary(16),
        P::Fixed(length) => DataType::FixedSizeBinary(i32::try_from(*length).unwrap_or(i32::MAX)),
        P::Binary | P::Geometry { .. } | P::Geography { .. } if column => DataType::BinaryView,
        P::Binary | P::Geometry { .. } | P::Geography { .. } => DataType::Binary,
        P::Unknown => DataType::Null,
        P::Variant => DataType::Struct(Fields::from(vec![
            Field::new("metadata", DataType::Binary, false),
            Field::new("value", DataType::Binary, false),
        ])),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use drumlin_format::types::{ListType, MapType};

    use super::*;

    #[test]
    fn ids_stand_at_every_level() {
        let inner = StructType::new(vec![NestedField::required(4, "x", PrimitiveType::String)]);
        let map = MapType::new(5, PrimitiveType::String, 6, PrimitiveType::Date, false);
        let schema = Schema::new(
            0,
            vec![
                NestedField::optional(1, "u", PrimitiveType::Uuid),
                NestedField::required(2, "l", ListType::new(3, inner, false)),
                NestedField::optional(7, "m", map),
            ],
            vec![],
        )
        .unwrap();
        let arrow = schema_to_arrow(&schema);
        assert_eq!(arrow.field(0).metadata()[EXTENSION_NAME_KEY], "arrow.uuid");
        let DataType::List(element) = arrow.field(1).data_type() else {
            panic!("{arrow}")
        };
        assert_eq!(field_id(element), Some(3));
        let DataType::Struct(fields) = element.data_type() else {
            panic!("{arrow}")
        };
        assert_eq!(
            (field_id(&fields[0]), fields[0].data_type()),
            (Some(4), &DataType::Utf8)
        );
        let DataType::Map(entries, _) = arrow.field(2).data_type() else {
            panic!("{arrow}")
        };
        let DataType::Struct(fields) = entries.data_type() else {
            panic!("{arrow}")
        };
        assert_eq!(
            fields.iter().map(|f| field_id(f)).collect::<Vec<_>>(),
            [Some(5), Some(6)]
        );
    }
}

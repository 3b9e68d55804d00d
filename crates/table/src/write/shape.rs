//! The shape of the files of a table: their columns in Arrow's and in Parquet's terms.
//!
//! The Parquet schema is made here and not by the library's conversion from Arrow, so that it has what the specification
//! asks for whatever features the library was built with (§ Appendix A: Parquet): field ids at every level, UUID, VARIANT,
//! GEOMETRY and GEOGRAPHY annotations. Columns of type unknown are left out, at any depth.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema as ArrowSchema, SchemaRef};
use drumlin_format::schema::Schema;
use drumlin_format::types::{EdgeAlgorithm, NestedField, PrimitiveType, Type};
use parquet::basic::{
    EdgeInterpolationAlgorithm, LogicalType, Repetition, TimeUnit as ParquetTimeUnit, Type as PhysicalType,
};
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type as ParquetType, TypePtr};

use crate::arrow::column_to_arrow;
use crate::error::{Error, Result};

/// The version of variants that is written (§ Parquet, Variant).
const VARIANT_VERSION: i8 = 1;

/// What all files of a writer have in common.
pub struct FileShape {
    /// The columns that are stored, in Arrow's terms.
    pub arrow: SchemaRef,
    /// The same in Parquet's terms.
    pub parquet: SchemaDescriptor,
    /// The leaf columns in the order of the file.
    pub leaves: Vec<Leaf>,
    /// The places in a batch of the table's columns of those that are stored.
    pub stored: Vec<usize>,
}

/// A leaf column of a file.
pub struct Leaf {
    /// The field that it belongs to.
    pub field_id: i32,
    /// The type of the field.
    pub primitive: PrimitiveType,
    /// Where it is in the file.
    pub path: ColumnPath,
    /// Whether a row has any number of its values.
    pub repeated: bool,
}

impl FileShape {
    /// The shape of files of this schema.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if a struct, list or map would be left without columns, or the table is.
    pub fn new(schema: &Schema) -> Result<Self> {
        let mut stored = Vec::new();
        let (mut arrow, mut parquet, mut leaves) = (Vec::new(), Vec::new(), Vec::new());
        for (place, field) in schema.fields().iter().enumerate() {
            if is_unknown(field) {
                continue;
            }
            stored.push(place);
            check_stored(schema, field)?;
            arrow.push(stored_field(&column_to_arrow(field), field));
            parquet.push(parquet_field(field)?);
            add_leaves(field, &[], false, &mut leaves);
        }
        if stored.is_empty() {
            return Err(Error::Unsupported(
                "writing a table without a column that is stored: files would lose the number of their rows"
                    .into(),
            ));
        }
        let root = ParquetType::group_type_builder("table")
            .with_fields(parquet)
            .build();
        Ok(Self {
            arrow: Arc::new(ArrowSchema::new(arrow)),
            parquet: SchemaDescriptor::new(Arc::new(root.map_err(invalid)?)),
            leaves,
            stored,
        })
    }
}

fn invalid(error: parquet::errors::ParquetError) -> Error {
    drumlin_format::Error::invalid("schema of a Parquet file", error.to_string()).into()
}

pub(super) fn is_unknown(field: &NestedField) -> bool {
    field.field_type == Type::Primitive(PrimitiveType::Unknown)
}

/// Refuses what would be nested columns without a leaf.
fn check_stored(schema: &Schema, field: &NestedField) -> Result<()> {
    let children = field.field_type.children();
    let stored = match &field.field_type {
        Type::Primitive(_) => true,
        Type::Struct(_) => !children.iter().all(|f| is_unknown(f)),
        Type::List(_) | Type::Map(_) => !children.iter().any(|f| is_unknown(f)),
    };
    if !stored {
        return Err(Error::Unsupported(format!(
            "writing the column `{}` of type {}: values of type unknown are not stored, and without them a file cannot \
             hold it",
            schema.name_of(field.id).unwrap_or(&field.name),
            field.field_type
        )));
    }
    let mut nested = children.into_iter().filter(|f| !is_unknown(f));
    nested.try_for_each(|f| check_stored(schema, f))
}

/// The Arrow field without what is not stored.
fn stored_field(arrow: &FieldRef, field: &NestedField) -> FieldRef {
    let stored = |fields: &Fields, of: Vec<&NestedField>| -> Fields {
        let fields = fields.iter().zip(of).filter(|(_, f)| !is_unknown(f));
        fields.map(|(arrow, field)| stored_field(arrow, field)).collect()
    };
    let data_type = match (arrow.data_type(), &field.field_type) {
        (DataType::Struct(fields), of @ Type::Struct(_)) => DataType::Struct(stored(fields, of.children())),
        (DataType::List(element), Type::List(of)) => DataType::List(stored_field(element, &of.element)),
        (DataType::Map(entries, sorted), of @ Type::Map(_)) => match entries.data_type() {
            DataType::Struct(fields) => {
                let fields = DataType::Struct(stored(fields, of.children()));
                DataType::Map(Arc::new(Field::new(entries.name(), fields, false)), *sorted)
            }
            other => other.clone(),
        },
        (other, _) => other.clone(),
    };
    Arc::new(arrow.as_ref().clone().with_data_type(data_type))
}

fn parquet_field(field: &NestedField) -> Result<TypePtr> {
    let repetition = match field.required {
        true => Repetition::REQUIRED,
        false => Repetition::OPTIONAL,
    };
    let id = Some(field.id);
    let group = |fields: Vec<TypePtr>, logical: Option<LogicalType>| {
        ParquetType::group_type_builder(&field.name)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .with_fields(fields)
            .with_id(id)
            .build()
    };
    let repeated = |name: &str, fields: Vec<TypePtr>| {
        ParquetType::group_type_builder(name)
            .with_repetition(Repetition::REPEATED)
            .with_fields(fields)
            .build()
            .map(Arc::new)
            .map_err(invalid)
    };
    let built = match &field.field_type {
        Type::Struct(of) => {
            let fields = of.fields().iter().filter(|f| !is_unknown(f));
            group(fields.map(parquet_field).collect::<Result<_>>()?, None)
        }
        Type::List(of) => {
            let list = repeated("list", vec![parquet_field(&of.element)?])?;
            group(vec![list], Some(LogicalType::List))
        }
        Type::Map(of) => {
            let entry = vec![parquet_field(&of.key)?, parquet_field(&of.value)?];
            group(vec![repeated("key_value", entry)?], Some(LogicalType::Map))
        }
        Type::Primitive(PrimitiveType::Variant) => {
            let part = |name: &str| {
                ParquetType::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
                    .with_repetition(Repetition::REQUIRED)
                    .build()
                    .map(Arc::new)
                    .map_err(invalid)
            };
            let parts = vec![part("metadata")?, part("value")?];
            group(parts, Some(LogicalType::variant(Some(VARIANT_VERSION))))
        }
        Type::Primitive(primitive) => {
            let (physical, length, logical) = physical_type(primitive);
            let (precision, scale) = match primitive {
                PrimitiveType::Decimal { precision, scale } => (i32::from(*precision), i32::from(*scale)),
                _ => (-1, -1),
            };
            ParquetType::primitive_type_builder(&field.name, physical)
                .with_repetition(repetition)
                .with_length(length)
                .with_logical_type(logical)
                .with_precision(precision)
                .with_scale(scale)
                .with_id(id)
                .build()
        }
    };
    built.map(Arc::new).map_err(invalid)
}

/// How a type is stored (§ Appendix A: Parquet): its physical type, its length in bytes if that is fixed (-1 if not), its
/// annotation.
fn physical_type(of: &PrimitiveType) -> (PhysicalType, i32, Option<LogicalType>) {
    use PhysicalType as Q;
    use PrimitiveType as P;
    let timestamp = |utc, unit| (Q::INT64, -1, Some(LogicalType::timestamp(utc, unit)));
    match of {
        P::Boolean => (Q::BOOLEAN, -1, None),
        P::Int | P::Unknown => (Q::INT32, -1, None),
        P::Long => (Q::INT64, -1, None),
        P::Float => (Q::FLOAT, -1, None),
        P::Double => (Q::DOUBLE, -1, None),
        P::Decimal { precision, scale } => {
            let logical = Some(LogicalType::decimal((*scale).into(), (*precision).into()));
            match precision {
                0..=9 => (Q::INT32, -1, logical),
                10..=18 => (Q::INT64, -1, logical),
                _ => (Q::FIXED_LEN_BYTE_ARRAY, decimal_length(*precision), logical),
            }
        }
        P::Date => (Q::INT32, -1, Some(LogicalType::Date)),
        P::Time => (
            Q::INT64,
            -1,
            Some(LogicalType::time(false, ParquetTimeUnit::MICROS)),
        ),
        P::Timestamp => timestamp(false, ParquetTimeUnit::MICROS),
        P::Timestamptz => timestamp(true, ParquetTimeUnit::MICROS),
        P::TimestampNs => timestamp(false, ParquetTimeUnit::NANOS),
        P::TimestamptzNs => timestamp(true, ParquetTimeUnit::NANOS),
        P::String => (Q::BYTE_ARRAY, -1, Some(LogicalType::String)),
        P::Uuid => (Q::FIXED_LEN_BYTE_ARRAY, 16, Some(LogicalType::Uuid)),
        P::Fixed(length) => (
            Q::FIXED_LEN_BYTE_ARRAY,
            i32::try_from(*length).unwrap_or(i32::MAX),
            None,
        ),
        P::Binary | P::Variant => (Q::BYTE_ARRAY, -1, None),
        P::Geometry { crs } => (Q::BYTE_ARRAY, -1, Some(LogicalType::geometry(crs.clone()))),
        P::Geography { crs, algorithm } => {
            let algorithm = algorithm.map(|algorithm| match algorithm {
                EdgeAlgorithm::Spherical => EdgeInterpolationAlgorithm::SPHERICAL,
                EdgeAlgorithm::Vincenty => EdgeInterpolationAlgorithm::VINCENTY,
                EdgeAlgorithm::Thomas => EdgeInterpolationAlgorithm::THOMAS,
                EdgeAlgorithm::Andoyer => EdgeInterpolationAlgorithm::ANDOYER,
                EdgeAlgorithm::Karney => EdgeInterpolationAlgorithm::KARNEY,
            });
            (
                Q::BYTE_ARRAY,
                -1,
                Some(LogicalType::geography(crs.clone(), algorithm)),
            )
        }
    }
}

/// The least number of bytes that holds all unscaled numbers of so many digits, with their sign.
fn decimal_length(precision: u8) -> i32 {
    let largest = 10_u128.checked_pow(precision.into()).unwrap_or(u128::MAX) - 1;
    let bits = u128::BITS - largest.leading_zeros() + 1;
    bits.div_ceil(8).cast_signed()
}

/// Walks in the order in which Parquet has its leaves.
fn add_leaves(field: &NestedField, above: &[String], repeated: bool, leaves: &mut Vec<Leaf>) {
    let mut path = above.to_vec();
    path.push(field.name.clone());
    match &field.field_type {
        Type::Primitive(primitive) => {
            let parts: &[&str] = match primitive {
                PrimitiveType::Variant => &["metadata", "value"],
                _ => &[],
            };
            let mut add = |path: Vec<String>| {
                leaves.push(Leaf {
                    field_id: field.id,
                    primitive: primitive.clone(),
                    path: ColumnPath::new(path),
                    repeated,
                });
            };
            for part in parts {
                add(path.iter().cloned().chain([(*part).to_string()]).collect());
            }
            if parts.is_empty() {
                add(path);
            }
        }
        Type::Struct(of) => {
            let fields = of.fields().iter().filter(|f| !is_unknown(f));
            fields.for_each(|f| add_leaves(f, &path, repeated, leaves));
        }
        Type::List(of) => {
            path.push("list".to_string());
            add_leaves(&of.element, &path, true, leaves);
        }
        Type::Map(of) => {
            path.push("key_value".to_string());
            add_leaves(&of.key, &path, true, leaves);
            add_leaves(&of.value, &path, true, leaves);
        }
    }
}

//! From Arrow to Iceberg: the columns of a query as those of a new table.

use arrow_schema::{DataType, Field, Schema as ArrowSchema, TimeUnit};
use drumlin_format::metadata::assign_fresh_ids;
use drumlin_format::schema::Schema;
use drumlin_format::types::{ListType, MapType, NestedField, PrimitiveType, StructType, Type};

use super::{
    DOC_KEY, EXTENSION_METADATA_KEY, EXTENSION_NAME_KEY, UUID_EXTENSION, VARIANT_EXTENSION, WKB_EXTENSION,
    geo,
};
use crate::error::{Error, Result};

/// The Iceberg schema of a new table that takes batches of this Arrow schema, possibly after a cast: ids are fresh, from 1
/// and level by level; nullability and comments (`doc`) are kept.
///
/// Integers go to the next wider type that holds them, dates and timestamps to the units that Iceberg has (seconds and
/// milliseconds to microseconds; any zone to `timestamptz`), dictionaries and runs to the type of their values. Nanoseconds,
/// null and extension types give types of version 3: what the format version of the table allows says
/// [`Schema::check_format_version`].
///
/// # Errors
/// [`Error::Unsupported`] names a column whose type Iceberg does not have.
pub fn schema_from_arrow(schema: &ArrowSchema) -> Result<Schema> {
    let mut next_id = 0;
    let fields = schema.fields().iter();
    let fields = fields
        .map(|f| field(f, "", &mut next_id))
        .collect::<Result<Vec<_>>>()?;
    let (schema, _) = assign_fresh_ids(&Schema::new(0, fields, vec![])?, None, 0)?;
    Ok(schema)
}

fn field(of: &Field, prefix: &str, next_id: &mut i32) -> Result<NestedField> {
    *next_id += 1;
    let id = *next_id;
    let full_name = format!("{prefix}{}", of.name());
    let field_type = match extension(of, &full_name)? {
        Some(primitive) => primitive.into(),
        None => type_from_arrow(of.data_type(), &full_name, next_id)?,
    };
    // There is no required column of nothing but nulls.
    let required = !of.is_nullable() && field_type != Type::Primitive(PrimitiveType::Unknown);
    Ok(NestedField {
        required,
        doc: of.metadata().get(DOC_KEY).cloned(),
        ..NestedField::optional(id, of.name(), field_type)
    })
}

/// The type that the name of an extension type says, where the Arrow type below it fits.
fn extension(of: &Field, full_name: &str) -> Result<Option<PrimitiveType>> {
    let Some(name) = of.metadata().get(EXTENSION_NAME_KEY) else {
        return Ok(None);
    };
    Ok(match (name.as_str(), of.data_type()) {
        (UUID_EXTENSION, DataType::FixedSizeBinary(16)) => Some(PrimitiveType::Uuid),
        (VARIANT_EXTENSION, DataType::Struct(_)) => Some(PrimitiveType::Variant),
        (WKB_EXTENSION, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => {
            let parameters = of
                .metadata()
                .get(EXTENSION_METADATA_KEY)
                .map_or("", String::as_str);
            let geo = geo::from_parameters(parameters).ok_or_else(|| {
                Error::Unsupported(format!(
                    "column `{full_name}`: its coordinate reference system has no name, which a type of Iceberg needs"
                ))
            })?;
            Some(geo)
        }
        _ => None,
    })
}

fn type_from_arrow(of: &DataType, full_name: &str, next_id: &mut i32) -> Result<Type> {
    use PrimitiveType as P;
    let refused = |advice: &str| {
        Err(Error::Unsupported(format!(
            "column `{full_name}` of the type {of}: Iceberg has no such type{advice}"
        )))
    };
    let primitive = match of {
        DataType::Boolean => P::Boolean,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 => P::Int,
        DataType::Int64 | DataType::UInt32 => P::Long,
        DataType::UInt64 => {
            return refused("; cast it to BIGINT, or to DECIMAL(20, 0) where numbers may be above 2^63 - 1");
        }
        DataType::Float16 | DataType::Float32 => P::Float,
        DataType::Float64 => P::Double,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => match u8::try_from(*scale) {
            Ok(scale) if *precision <= 38 && scale <= *precision => P::Decimal {
                precision: *precision,
                scale,
            },
            _ => return refused(": decimals have at most 38 digits and no negative scale; cast it"),
        },
        DataType::Date32 | DataType::Date64 => P::Date,
        DataType::Time32(_) | DataType::Time64(TimeUnit::Microsecond) => P::Time,
        DataType::Time64(_) => return refused(": times are in microseconds; cast it"),
        DataType::Timestamp(TimeUnit::Nanosecond, None) => P::TimestampNs,
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => P::TimestamptzNs,
        DataType::Timestamp(_, None) => P::Timestamp,
        DataType::Timestamp(_, Some(_)) => P::Timestamptz,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => P::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => P::Binary,
        DataType::FixedSizeBinary(length) => match u32::try_from(*length) {
            Ok(length) if length > 0 => P::Fixed(length),
            _ => return refused(" without bytes"),
        },
        DataType::Null => P::Unknown,
        DataType::Dictionary(_, values) => return type_from_arrow(values, full_name, next_id),
        DataType::RunEndEncoded(_, values) => return type_from_arrow(values.data_type(), full_name, next_id),
        DataType::Struct(fields) => {
            let prefix = format!("{full_name}.");
            let fields = fields.iter().map(|f| field(f, &prefix, next_id));
            return Ok(StructType::new(fields.collect::<Result<_>>()?).into());
        }
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::FixedSizeList(element, _) => {
            let element = part(element, "element", full_name, next_id)?;
            return Ok(ListType { element }.into());
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(entries) = entries.data_type() else {
                return refused(" without keys and values");
            };
            let [key, value] = entries.as_ref() else {
                return refused(" without keys and values");
            };
            let key = NestedField {
                required: true,
                ..part(key, "key", full_name, next_id)?
            };
            let value = part(value, "value", full_name, next_id)?;
            return Ok(MapType { key, value }.into());
        }
        DataType::Duration(_) | DataType::Interval(_) => {
            return refused("; cast it to a number of some unit");
        }
        DataType::Union(..) => return refused(""),
    };
    Ok(primitive.into())
}

/// An element, key or value, under the name that Iceberg gives it.
fn part(of: &Field, name: &str, full_name: &str, next_id: &mut i32) -> Result<NestedField> {
    let of = of.clone().with_name(name);
    field(&of, &format!("{full_name}."), next_id)
}

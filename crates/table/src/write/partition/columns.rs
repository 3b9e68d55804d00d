//! Partition values of rows, a whole column at a time (§ Partition Transforms). What a transform does to one value says
//! [`Transform::apply`]; tests compare the two.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryViewBuilder, BooleanArray, FixedSizeBinaryArray,
    Int32Array, NullArray, PrimitiveArray, RecordBatch, StringViewBuilder, StructArray, new_null_array,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, nullif};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use drumlin_format::partition::{PartitionField, PartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::transform::Transform;
use drumlin_format::transform::apply::first_code_points;
use drumlin_format::transform::calendar::{MICROS_PER_HOUR, civil_from_days};
use drumlin_format::transform::hash::murmur3_x86_32;
use drumlin_format::types::{PrimitiveType, Type};
use drumlin_format::value::bytes::{MICROS_PER_DAY, decimal_to_bytes};

use crate::arrow::type_to_arrow;
use crate::error::{Error, Result};

/// The partition values of the rows of a batch: an array for each field of the spec, in its order and of the Arrow type of
/// its result ([`PartitionField::result_type`] as a column), under the spec's transforms.
///
/// The batch holds the columns of the schema, in order. NaNs of identity fields all become one and the same.
///
/// # Errors
/// [`Error::Unsupported`] for unknown transforms and those of several columns; [`Error::Format`] for a transform that cannot
/// take its column, and for a value whose result is out of range.
pub fn partition_columns(
    schema: &Schema,
    spec: &PartitionSpec,
    batch: &RecordBatch,
) -> Result<Vec<ArrayRef>> {
    let fields = spec.fields().iter();
    fields
        .map(|field| partition_column(schema, field, batch))
        .collect()
}

fn partition_column(schema: &Schema, field: &PartitionField, batch: &RecordBatch) -> Result<ArrayRef> {
    let rows = batch.num_rows();
    if field.transform == Transform::Void {
        // The column may be gone.
        let result = field.result_type(schema).unwrap_or(PrimitiveType::Unknown);
        return Ok(new_null_array(&type_to_arrow(&result.into(), true), rows));
    }
    if let Transform::Unknown(text) = &field.transform {
        return Err(Error::Unsupported(format!(
            "the partition field `{}` has the transform `{text}`: its values cannot be computed, so nothing can be written",
            field.name
        )));
    }
    let Some(source_id) = field.source_id() else {
        return Err(Error::Unsupported(format!(
            "the partition field `{}` is made of several columns: nothing can be written to such a spec",
            field.name
        )));
    };
    let source = schema.field_by_id(source_id).map(|f| &f.field_type);
    let result = source.and_then(|source| field.transform.result_type_of(source));
    let (Some(Type::Primitive(source)), Some(result)) = (source, result) else {
        let reason = match schema.name_of(source_id) {
            Some(name) => format!(
                "the transform {} cannot take the column `{name}`",
                field.transform
            ),
            None => format!("its column, field {source_id}, is not in the schema"),
        };
        return Err(
            drumlin_format::Error::invalid(format!("partition field `{}`", field.name), reason).into(),
        );
    };
    let column = source_column(schema, source_id, batch)?;
    let name = || schema.name_of(source_id).unwrap_or(&field.name);
    let column = in_type(&column, &type_to_arrow(&source.clone().into(), true), name())?;
    let transformed = transformed(&field.transform, source, &column).map_err(|value| {
        drumlin_format::Error::invalid(
            format!("value of column `{}`", name()),
            format!(
                "{value}: its partition value under {} is out of range",
                field.transform
            ),
        )
    })?;
    in_type(&transformed, &type_to_arrow(&result.into(), true), name())
}

/// The column, or the field of structs, with this id. Null structs make null fields.
fn source_column(schema: &Schema, id: i32, batch: &RecordBatch) -> Result<ArrayRef> {
    let wrong = || {
        let name = schema.name_of(id).unwrap_or_default();
        drumlin_format::Error::invalid(
            format!("batch of rows, column `{name}` (field {id})"),
            "the batch does not have the columns of the schema, or the field is inside a list or map",
        )
    };
    let mut siblings = schema.as_struct();
    let mut columns = batch.columns();
    let mut nulls: Option<NullBuffer> = None;
    for step in schema.path_to(id) {
        let place = siblings
            .fields()
            .iter()
            .position(|f| f.id == step)
            .ok_or_else(wrong)?;
        let column = columns.get(place).ok_or_else(wrong)?;
        if step == id {
            return masked(column, nulls.as_ref(), schema.name_of(id).unwrap_or_default());
        }
        let of = column.as_any().downcast_ref::<StructArray>().ok_or_else(wrong)?;
        let field = siblings
            .fields()
            .get(place)
            .and_then(|f| f.field_type.as_struct());
        siblings = field.ok_or_else(wrong)?;
        columns = of.columns();
        nulls = NullBuffer::union(nulls.as_ref(), of.nulls());
    }
    Err(wrong().into())
}

/// The array with more nulls.
fn masked(array: &ArrayRef, nulls: Option<&NullBuffer>, name: &str) -> Result<ArrayRef> {
    match nulls {
        Some(nulls) if nulls.null_count() > 0 && !array.data_type().is_null() => {
            let null = BooleanArray::new(!nulls.inner(), None);
            nullif(array, &null).map_err(|e| in_column(name, e))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn in_column(name: &str, error: impl ToString) -> Error {
    drumlin_format::Error::invalid(format!("batch of rows, column `{name}`"), error.to_string()).into()
}

fn in_type(array: &ArrayRef, wanted: &arrow_schema::DataType, name: &str) -> Result<ArrayRef> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    cast(array, wanted).map_err(|e| in_column(name, e))
}

/// The text of a value whose result is out of range.
type OutOfRange = String;

/// `column` has the Arrow type of `source` as a column.
fn transformed(
    transform: &Transform,
    source: &PrimitiveType,
    column: &ArrayRef,
) -> Result<ArrayRef, OutOfRange> {
    match transform {
        Transform::Identity => Ok(identity(source, column)),
        Transform::Bucket(buckets) => Ok(Arc::new(bucket(*buckets, source, column))),
        Transform::Truncate(width) => truncate(*width, source, column),
        Transform::Day if *source == PrimitiveType::Date => Ok(Arc::clone(column)),
        Transform::Year | Transform::Month | Transform::Day | Transform::Hour => {
            let parts = date_part(transform, source, column)?;
            Ok(match transform {
                Transform::Day => Arc::new(parts.reinterpret_cast::<Date32Type>()),
                _ => Arc::new(parts),
            })
        }
        Transform::Void | Transform::Unknown(_) => Ok(Arc::new(NullArray::new(column.len()))),
    }
}

fn identity(source: &PrimitiveType, column: &ArrayRef) -> ArrayRef {
    match source {
        PrimitiveType::Float => {
            let one_nan = |v: f32| if v.is_nan() { f32::NAN } else { v };
            Arc::new(
                column
                    .as_primitive::<Float32Type>()
                    .unary::<_, Float32Type>(one_nan),
            )
        }
        PrimitiveType::Double => {
            let one_nan = |v: f64| if v.is_nan() { f64::NAN } else { v };
            Arc::new(
                column
                    .as_primitive::<Float64Type>()
                    .unary::<_, Float64Type>(one_nan),
            )
        }
        _ => Arc::clone(column),
    }
}

/// Buckets by the hash of the value (§ Appendix B). Numbers of all kinds hash as longs, timestamps in µs.
fn bucket(buckets: u32, source: &PrimitiveType, column: &ArrayRef) -> Int32Array {
    use PrimitiveType as P;
    // A spec does not have a transform of 0 buckets.
    let buckets = buckets.max(1);
    let of_bytes = |bytes: &[u8]| {
        let positive = murmur3_x86_32(bytes) & i32::MAX.cast_unsigned();
        (positive % buckets).cast_signed()
    };
    let of_long = |v: i64| of_bytes(&v.to_le_bytes());
    let of_int = |v: i32| of_long(v.into());
    match source {
        P::Int => column.as_primitive::<Int32Type>().unary(of_int),
        P::Date => column.as_primitive::<Date32Type>().unary(of_int),
        P::Long => column.as_primitive::<Int64Type>().unary(of_long),
        P::Time => column.as_primitive::<Time64MicrosecondType>().unary(of_long),
        P::Timestamp | P::Timestamptz => column.as_primitive::<TimestampMicrosecondType>().unary(of_long),
        P::TimestampNs | P::TimestamptzNs => {
            let of_nanos = |v: i64| of_long(v.div_euclid(1000));
            column.as_primitive::<TimestampNanosecondType>().unary(of_nanos)
        }
        P::Decimal { .. } => {
            let of_decimal = |v: i128| of_bytes(&decimal_to_bytes(v));
            column.as_primitive::<Decimal128Type>().unary(of_decimal)
        }
        P::String => {
            let values = column.as_string_view().iter();
            values.map(|v| v.map(|v| of_bytes(v.as_bytes()))).collect()
        }
        P::Binary => column.as_binary_view().iter().map(|v| v.map(of_bytes)).collect(),
        P::Uuid | P::Fixed(_) => {
            let fixed: &FixedSizeBinaryArray = column.as_fixed_size_binary();
            fixed.iter().map(|v| v.map(of_bytes)).collect()
        }
        // No other type has a result type under this transform.
        _ => Int32Array::new_null(column.len()),
    }
}

fn truncate(width: u32, source: &PrimitiveType, column: &ArrayRef) -> Result<ArrayRef, OutOfRange> {
    use PrimitiveType as P;
    let width = width.max(1);
    let length = usize::try_from(width).unwrap_or(usize::MAX);
    Ok(match source {
        P::Int => {
            let wide = i64::from(width);
            let cut = |v: i32| i32::try_from(i64::from(v) - i64::from(v).rem_euclid(wide)).ok();
            Arc::new(checked::<Int32Type, Int32Type>(column.as_primitive(), cut)?)
        }
        P::Long => {
            let wide = i64::from(width);
            let cut = |v: i64| v.checked_sub(v.rem_euclid(wide));
            Arc::new(checked::<Int64Type, Int64Type>(column.as_primitive(), cut)?)
        }
        P::Decimal { .. } => {
            let wide = i128::from(width);
            let cut = |v: i128| v.checked_sub(v.rem_euclid(wide));
            let decimals: &PrimitiveArray<Decimal128Type> = column.as_primitive();
            let cut = checked::<Decimal128Type, Decimal128Type>(decimals, cut)?;
            Arc::new(cut.with_data_type(column.data_type().clone()))
        }
        P::String => {
            let mut cut = StringViewBuilder::with_capacity(column.len());
            let values = column.as_string_view().iter();
            values.for_each(|v| cut.append_option(v.map(|v| first_code_points(v, length))));
            Arc::new(cut.finish())
        }
        P::Binary => {
            let mut cut = BinaryViewBuilder::with_capacity(column.len());
            let values = column.as_binary_view().iter();
            values.for_each(|v| cut.append_option(v.map(|v| v.get(..length).unwrap_or(v))));
            Arc::new(cut.finish())
        }
        _ => Arc::new(NullArray::new(column.len())),
    })
}

/// Parts of dates count from 1970 and floor toward the past.
fn date_part(
    transform: &Transform,
    source: &PrimitiveType,
    column: &ArrayRef,
) -> Result<Int32Array, OutOfRange> {
    use PrimitiveType as P;
    let of_day = |days: i64| {
        let part = match transform {
            Transform::Year => civil_from_days(days).0 - 1970,
            Transform::Month => {
                let (year, month, _) = civil_from_days(days);
                (year - 1970) * 12 + month - 1
            }
            _ => days,
        };
        i32::try_from(part).ok()
    };
    let of_micros = |micros: i64| match transform {
        Transform::Hour => i32::try_from(micros.div_euclid(MICROS_PER_HOUR)).ok(),
        _ => of_day(micros.div_euclid(MICROS_PER_DAY)),
    };
    match source {
        P::Date => checked::<Date32Type, Int32Type>(column.as_primitive(), |days| of_day(days.into())),
        P::Timestamp | P::Timestamptz => {
            checked::<TimestampMicrosecondType, Int32Type>(column.as_primitive(), of_micros)
        }
        P::TimestampNs | P::TimestamptzNs => {
            let of_nanos = |nanos: i64| of_micros(nanos.div_euclid(1000));
            checked::<TimestampNanosecondType, Int32Type>(column.as_primitive(), of_nanos)
        }
        _ => Ok(Int32Array::new_null(column.len())),
    }
}

/// Applies what may be out of range to the values that are not null.
fn checked<I: ArrowPrimitiveType, O: ArrowPrimitiveType>(
    column: &PrimitiveArray<I>,
    of: impl Fn(I::Native) -> Option<O::Native>,
) -> Result<PrimitiveArray<O>, OutOfRange> {
    column.try_unary::<_, O, OutOfRange>(|v| of(v).ok_or_else(|| format!("{v:?}")))
}

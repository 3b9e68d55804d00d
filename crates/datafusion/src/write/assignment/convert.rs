//! Converting arrays, and finding what does not survive it.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryBuilder, ListArray, MapArray, StructArray,
    make_array, new_null_array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::kernels::cmp::distinct;
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, Float32Type, Float64Type, TimeUnit};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::array_value_to_string;

use super::rules::is_uuid;

/// Why an array cannot be stored.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A value that would arrive as another one, as text.
    Value(String),
    /// Types that do not go together, or a null where none may be.
    Arrow(ArrowError),
}

impl From<ArrowError> for Refusal {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// The array in the type of the column. Timestamps without zone are in `zone` where the column has instants, and the
/// other way round.
pub(super) fn converted(array: &ArrayRef, column: &Field, zone: &str) -> Result<ArrayRef, Refusal> {
    use DataType as T;
    let to = column.data_type();
    match (array.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (T::Null, _) => Ok(new_null_array(to, array.len())),
        (T::Dictionary(_, values), _) => converted(&cast(array, values)?, column, zone),
        (T::RunEndEncoded(_, values), _) => converted(&cast(array, values.data_type())?, column, zone),
        (T::Struct(_), T::Struct(fields)) => {
            let source = array.as_struct();
            let by_name = fields
                .iter()
                .all(|field| source.column_by_name(field.name()).is_some());
            let mut columns = Vec::with_capacity(fields.len());
            for (i, field) in fields.iter().enumerate() {
                let child = match by_name {
                    true => source.column_by_name(field.name()),
                    false => source.columns().get(i),
                };
                let child = child.ok_or_else(|| ArrowError::CastError("a field is missing".to_string()))?;
                columns.push(converted(&masked(child, source.nulls())?, field, zone)?);
            }
            let length = source.len();
            let nulls = source.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(
                fields.clone(),
                columns,
                nulls,
                length,
            )?))
        }
        (
            T::List(from)
            | T::LargeList(from)
            | T::ListView(from)
            | T::LargeListView(from)
            | T::FixedSizeList(from, _),
            T::List(element),
        ) => {
            let list = cast(array, &T::List(Arc::clone(from)))?;
            let (_, offsets, values, nulls) = list.as_list::<i32>().clone().into_parts();
            let values = converted(&values, element, zone)?;
            Ok(Arc::new(ListArray::try_new(
                Arc::clone(element),
                offsets,
                values,
                nulls,
            )?))
        }
        (T::Map(..), T::Map(entry, sorted)) => {
            let (_, offsets, entries, nulls, _) = array.as_map().clone().into_parts();
            let T::Struct(fields) = entry.data_type() else {
                return Err(ArrowError::CastError(format!("{to} has no keys and values")).into());
            };
            let columns = entries
                .columns()
                .iter()
                .zip(fields)
                .map(|(column, field)| converted(column, field, zone))
                .collect::<Result<Vec<_>, _>>()?;
            let entries = StructArray::try_new(fields.clone(), columns, None)?;
            Ok(Arc::new(MapArray::try_new(
                Arc::clone(entry),
                offsets,
                entries,
                nulls,
                *sorted,
            )?))
        }
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::FixedSizeBinary(_)) if is_uuid(column) => uuids(array),
        (T::Binary | T::LargeBinary | T::BinaryView, T::FixedSizeBinary(length)) => fixed(array, *length),
        _ => primitive(array, to, zone),
    }
}

/// The values of a field, null also where the struct is: what is below a null is no value.
fn masked(child: &ArrayRef, parent: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let Some(parent) = parent.filter(|nulls| nulls.null_count() > 0) else {
        return Ok(Arc::clone(child));
    };
    if *child.data_type() == DataType::Null {
        return Ok(Arc::clone(child));
    }
    let nulls = NullBuffer::union(child.nulls(), Some(parent));
    let data = child.to_data().into_builder().nulls(nulls).build()?;
    Ok(make_array(data))
}

fn primitive(array: &ArrayRef, to: &DataType, zone: &str) -> Result<ArrayRef, Refusal> {
    use DataType as T;
    let from = array.data_type();
    let out = forth(array, to, zone)?;
    let mut lost = out.null_count() > array.logical_null_count();
    let mut same: Option<BooleanArray> = None;
    let leads_back = match (from, to) {
        // Text is a form of every value, and a fraction has a next floating-point number.
        (_, T::Utf8 | T::Utf8View | T::Binary | T::BinaryView) => true,
        (from, T::Float32 | T::Float64) if !from.is_integer() => {
            lost |= turned_infinite(array, &out);
            true
        }
        _ => false,
    };
    if !leads_back {
        let back = back(&out, from, zone)?;
        let different = distinct(&without_negative_zeros(array), &without_negative_zeros(&back))?;
        lost |= different.true_count() > 0;
        same = Some(different);
    }
    if !lost {
        return Ok(out);
    }
    for row in 0..array.len() {
        let changed = match &same {
            Some(different) => different.is_valid(row) && different.value(row),
            None => is_infinite(&out, row) && !is_infinite(array, row),
        };
        if array.is_valid(row) && (out.is_null(row) || changed) {
            return Err(Refusal::Value(array_value_to_string(array, row)?));
        }
    }
    Ok(out)
}

/// Null where a value cannot be converted at all.
fn or_null(array: &dyn Array, to: &DataType) -> Result<ArrayRef, ArrowError> {
    let options = CastOptions {
        safe: true,
        ..CastOptions::default()
    };
    cast_with_options(array, to, &options)
}

fn forth(array: &ArrayRef, to: &DataType, zone: &str) -> Result<ArrayRef, ArrowError> {
    use DataType as T;
    match (array.data_type(), to) {
        // Through seconds, which hold every date.
        (T::Date32 | T::Date64, T::Timestamp(unit, to_zone)) => {
            let seconds = or_null(array, &T::Timestamp(TimeUnit::Second, None))?;
            let counted = or_null(&seconds, &T::Timestamp(*unit, None))?;
            forth(&counted, &T::Timestamp(*unit, to_zone.clone()), zone)
        }
        (T::Timestamp(_, None), T::Timestamp(unit, Some(utc))) => {
            let counted = or_null(array, &T::Timestamp(*unit, None))?;
            let local = or_null(&counted, &T::Timestamp(*unit, Some(zone.into())))?;
            or_null(&local, &T::Timestamp(*unit, Some(Arc::clone(utc))))
        }
        (T::Timestamp(_, Some(_)), T::Timestamp(_, None) | T::Date32) if !is_utc(zone) => {
            Err(ArrowError::CastError(format!(
                "an instant has no local time where the time zone of the session is {zone}: use to_local_time(…)"
            )))
        }
        _ => or_null(array, to),
    }
}

fn back(array: &ArrayRef, to: &DataType, zone: &str) -> Result<ArrayRef, ArrowError> {
    use DataType as T;
    match (array.data_type(), to) {
        // What was local became an instant: only the count of it is compared, and the zone was checked before.
        (T::Timestamp(unit, Some(_)), T::Timestamp(to_unit, None)) => {
            let local = forth_of_instants(array, *unit, zone)?;
            or_null(&local, &T::Timestamp(*to_unit, None))
        }
        (T::Timestamp(unit, Some(_)), T::Date32 | T::Date64) => {
            let local = forth_of_instants(array, *unit, zone)?;
            or_null(&local, to)
        }
        (T::Date32, T::Timestamp(unit, to_zone)) => {
            let seconds = or_null(array, &T::Timestamp(TimeUnit::Second, None))?;
            or_null(
                &or_null(&seconds, &T::Timestamp(*unit, None))?,
                &T::Timestamp(*unit, to_zone.clone()),
            )
        }
        _ => or_null(array, to),
    }
}

/// The local time of instants in a zone.
fn forth_of_instants(array: &ArrayRef, unit: TimeUnit, zone: &str) -> Result<ArrayRef, ArrowError> {
    use DataType as T;
    if is_utc(zone) {
        return or_null(array, &T::Timestamp(unit, None));
    }
    // As text in the zone, without the offset behind it: the one conversion of Arrow that goes through the zone.
    let local = or_null(array, &T::Timestamp(unit, Some(zone.into())))?;
    let text = or_null(&local, &T::Utf8)?;
    let cut = text.as_string::<i32>().iter().map(|text| {
        let text = text?;
        let end = text
            .get(10..)?
            .find(['Z', '+', '-'])
            .map_or(text.len(), |at| at + 10);
        text.get(..end)
    });
    let cut: datafusion::arrow::array::StringArray = cut.collect();
    or_null(&cut, &T::Timestamp(unit, None))
}

fn is_utc(zone: &str) -> bool {
    ["utc", "+00:00", "+00", "z", "+0000", "etc/utc"].contains(&zone.to_ascii_lowercase().as_str())
}

/// -0.0 as 0.0, which is the same number.
fn without_negative_zeros(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float32 => Arc::new(
            array
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(|v| v + 0.0),
        ),
        DataType::Float64 => Arc::new(
            array
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|v| v + 0.0),
        ),
        _ => Arc::clone(array),
    }
}

fn is_infinite(array: &ArrayRef, row: usize) -> bool {
    match array.data_type() {
        DataType::Float32 => array.as_primitive::<Float32Type>().value(row).is_infinite(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).is_infinite(),
        _ => false,
    }
}

fn turned_infinite(array: &ArrayRef, out: &ArrayRef) -> bool {
    matches!(out.data_type(), DataType::Float32)
        && (0..array.len())
            .any(|row| array.is_valid(row) && is_infinite(out, row) && !is_infinite(array, row))
}

/// Bytes of one length.
fn fixed(array: &ArrayRef, length: i32) -> Result<ArrayRef, Refusal> {
    let bytes = cast(array, &DataType::Binary)?;
    let mut fixed = FixedSizeBinaryBuilder::with_capacity(array.len(), length);
    for (row, value) in bytes.as_binary::<i32>().iter().enumerate() {
        match value {
            None => fixed.append_null(),
            Some(value) if i32::try_from(value.len()) == Ok(length) => fixed.append_value(value)?,
            Some(_) => return Err(Refusal::Value(array_value_to_string(&bytes, row)?)),
        }
    }
    Ok(Arc::new(fixed.finish()))
}

/// UUIDs of their text.
fn uuids(array: &ArrayRef) -> Result<ArrayRef, Refusal> {
    let texts = cast(array, &DataType::Utf8)?;
    let mut uuids = FixedSizeBinaryBuilder::with_capacity(array.len(), 16);
    for text in texts.as_string::<i32>() {
        match text {
            None => uuids.append_null(),
            Some(text) => match uuid(text) {
                Some(bytes) => uuids.append_value(bytes)?,
                None => return Err(Refusal::Value(text.to_string())),
            },
        }
    }
    Ok(Arc::new(uuids.finish()))
}

/// The bytes of `f79c3e09-677c-4bbd-a479-3f349cb785e7`, in either case.
pub(super) fn uuid(text: &str) -> Option<[u8; 16]> {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    if lengths != [8, 4, 4, 4, 12] || !text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(&groups.concat(), 16)
        .ok()
        .map(u128::to_be_bytes)
}

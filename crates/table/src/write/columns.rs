//! Columns of a batch on their way into a file: their types, nulls in required fields, what is not stored.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder, ListArray, MapArray, RecordBatch,
    RecordBatchOptions, StructArray,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow::compute::filter;
use arrow_schema::{ArrowError, DataType, FieldRef, Schema as ArrowSchema};
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, Type};

use super::shape::{FileShape, is_unknown};
use crate::error::{Error, Result};

/// Checks that a batch has the columns of the table, in order, and no null where the schema forbids it. `arrow` are the
/// columns in Arrow's terms.
///
/// # Errors
/// [`Error::Row`] names the column, and the row of the batch from 0.
pub fn check_batch(table: &str, schema: &Schema, arrow: &ArrowSchema, batch: &RecordBatch) -> Result<()> {
    let wrong = |reason: String| {
        Err(Error::Row {
            table: table.to_string(),
            reason,
        })
    };
    if batch.num_columns() != schema.fields().len() {
        let (found, expected) = (batch.num_columns(), schema.fields().len());
        return wrong(format!("expected {expected} columns, found {found}"));
    }
    let expected = arrow.fields().iter();
    for ((field, expected), column) in schema.fields().iter().zip(expected).zip(batch.columns()) {
        if !same_kind(expected.data_type(), column.data_type()) {
            return wrong(format!(
                "column `{}` expects {} (as {} in Arrow), found {}",
                field.name,
                field.field_type,
                expected.data_type(),
                column.data_type()
            ));
        }
        if let Some(null) = first_null(field, column, None) {
            let name = schema.name_of(null.field_id).unwrap_or(&field.name);
            return wrong(format!(
                "null in the required column `{name}`, in row {} (from 0) of a batch of {}",
                null.index,
                batch.num_rows()
            ));
        }
    }
    Ok(())
}

/// Whether two types differ at most in the names, the metadata and the nullability of their fields.
fn same_kind(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::Struct(a), DataType::Struct(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| same_kind(a.data_type(), b.data_type()))
        }
        (DataType::List(a), DataType::List(b)) | (DataType::Map(a, _), DataType::Map(b, _)) => {
            same_kind(a.data_type(), b.data_type())
        }
        (a, b) => a == b,
    }
}

/// A null in a required field.
struct Null {
    field_id: i32,
    /// The place in the array that was asked.
    index: usize,
}

/// The first null of a required field in this column or below it. Where `outer` is null, nothing is there.
fn first_null(field: &NestedField, array: &ArrayRef, outer: Option<&NullBuffer>) -> Option<Null> {
    let own = array.nulls().filter(|nulls| nulls.null_count() > 0);
    if field.required
        && let Some(nulls) = own
    {
        let there = |i: &usize| outer.is_none_or(|outer| outer.is_valid(*i));
        let null = (0..array.len()).filter(|i| nulls.is_null(*i)).find(there);
        if let Some(index) = null {
            let field_id = field.id;
            return Some(Null { field_id, index });
        }
    }
    if !has_required(&field.field_type) {
        return None;
    }
    let nulls = NullBuffer::union(outer, own);
    match (&field.field_type, array.data_type()) {
        (Type::Struct(of), DataType::Struct(_)) => {
            let fields = of.fields().iter().zip(array.as_struct().columns());
            fields
                .filter_map(|(f, column)| first_null(f, column, nulls.as_ref()))
                .min_by_key(|null| null.index)
        }
        (Type::List(of), DataType::List(_)) => {
            let list: &ListArray = array.as_list();
            let parts = [(&of.element, list.values())];
            first_null_inside(&parts, list.offsets(), nulls.as_ref())
        }
        (Type::Map(of), DataType::Map(..)) => {
            let map = array.as_map();
            let parts = [(&of.key, map.keys()), (&of.value, map.values())];
            first_null_inside(&parts, map.offsets(), nulls.as_ref())
        }
        _ => None,
    }
}

/// The same for the elements of lists, or keys and values of maps. `index` is that of the list.
fn first_null_inside(
    parts: &[(&NestedField, &ArrayRef)],
    offsets: &OffsetBuffer<i32>,
    nulls: Option<&NullBuffer>,
) -> Option<Null> {
    let length = parts.iter().map(|(_, array)| array.len()).min().unwrap_or(0);
    let there = NullBuffer::new(elements_there(offsets, nulls, length));
    let found = parts
        .iter()
        .filter_map(|(field, array)| first_null(field, array, Some(&there)));
    let null = found.min_by_key(|null| null.index)?;
    // The last list that starts at or before the element; empty lists start where the next one does.
    let starts_before = |start: &i32| usize::try_from(*start).is_ok_and(|start| start <= null.index);
    let index = offsets.partition_point(starts_before).saturating_sub(1);
    Some(Null { index, ..null })
}

/// Which of so many elements stand in a list: what no list holds, and what a null list holds, is not there.
fn elements_there(offsets: &OffsetBuffer<i32>, nulls: Option<&NullBuffer>, length: usize) -> BooleanBuffer {
    let mut there = BooleanBufferBuilder::new(length);
    for (list, range) in offsets.windows(2).enumerate() {
        if let [start, end] = *range
            && let (Ok(start), Ok(end)) = (usize::try_from(start), usize::try_from(end))
        {
            there.append_n(start.saturating_sub(there.len()), false);
            there.append_n(end.saturating_sub(start), nulls.is_none_or(|n| n.is_valid(list)));
        }
    }
    there.append_n(length.saturating_sub(there.len()), false);
    there.finish()
}

/// The elements of lists that can be reached: others may hold anything, nulls where none may be too.
struct Reachable(Option<BooleanArray>);

impl Reachable {
    fn of(&self, elements: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        match &self.0 {
            None => Ok(Arc::clone(elements)),
            Some(there) => filter(elements, there),
        }
    }
}

/// The elements of lists that can be reached, and the lists over them alone.
fn reachable(
    offsets: &OffsetBuffer<i32>,
    nulls: Option<&NullBuffer>,
    length: usize,
) -> Result<(Reachable, OffsetBuffer<i32>), ArrowError> {
    let there = elements_there(offsets, nulls, length);
    if there.count_set_bits() == length {
        return Ok((Reachable(None), offsets.clone()));
    }
    let lengths = offsets.lengths().enumerate();
    let lengths = lengths.map(|(list, length)| {
        if nulls.is_none_or(|n| n.is_valid(list)) {
            length
        } else {
            0
        }
    });
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok((Reachable(Some(BooleanArray::new(there, None))), offsets))
}

fn has_required(of: &Type) -> bool {
    let mut children = of.children().into_iter();
    children.any(|f| f.required || has_required(&f.field_type))
}

/// The columns of a checked batch that are stored, in the types of the file.
pub fn stored_batch(schema: &Schema, shape: &FileShape, batch: &RecordBatch) -> Result<RecordBatch> {
    let stored = shape.stored.iter().zip(shape.arrow.fields());
    let columns = stored.filter_map(|(place, target)| {
        let (field, column) = (schema.fields().get(*place)?, batch.columns().get(*place)?);
        Some(stored_array(field, column, target))
    });
    let columns = columns.collect::<Result<Vec<_>, _>>().map_err(invalid)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(&shape.arrow), columns, &options).map_err(invalid)
}

fn invalid(error: ArrowError) -> Error {
    drumlin_format::Error::invalid("batch of rows", error.to_string()).into()
}

fn stored_array(field: &NestedField, array: &ArrayRef, target: &FieldRef) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == target.data_type() {
        return Ok(Arc::clone(array));
    }
    Ok(match (&field.field_type, target.data_type()) {
        (Type::Struct(of), DataType::Struct(targets)) => {
            let stored = of.fields().iter().zip(array.as_struct().columns());
            let stored = stored.filter(|(f, _)| !is_unknown(f)).zip(targets);
            let columns = stored.map(|((f, column), target)| stored_array(f, column, target));
            let columns = columns.collect::<Result<_, _>>()?;
            Arc::new(StructArray::try_new(
                targets.clone(),
                columns,
                array.nulls().cloned(),
            )?)
        }
        (Type::List(of), DataType::List(element)) => {
            let list: &ListArray = array.as_list();
            let (there, offsets) = reachable(list.offsets(), list.nulls(), list.values().len())?;
            let values = stored_array(&of.element, &there.of(list.values())?, element)?;
            Arc::new(ListArray::try_new(
                Arc::clone(element),
                offsets,
                values,
                list.nulls().cloned(),
            )?)
        }
        (Type::Map(of), DataType::Map(entries, sorted)) => {
            let map = array.as_map();
            let DataType::Struct(targets) = entries.data_type() else {
                return Ok(Arc::clone(array));
            };
            let (there, offsets) = reachable(map.offsets(), map.nulls(), map.entries().len())?;
            let parts = [(&of.key, map.keys()), (&of.value, map.values())];
            let columns = parts.iter().zip(targets);
            let columns = columns.map(|((f, column), target)| stored_array(f, &there.of(column)?, target));
            let columns = columns.collect::<Result<_, _>>()?;
            let stored = StructArray::try_new(targets.clone(), columns, None)?;
            Arc::new(MapArray::try_new(
                Arc::clone(entries),
                offsets,
                stored,
                map.nulls().cloned(),
                *sorted,
            )?)
        }
        // A variant, whose parts may have other names.
        (Type::Primitive(_), DataType::Struct(targets)) => {
            let parts = array.as_struct();
            Arc::new(StructArray::try_new(
                targets.clone(),
                parts.columns().to_vec(),
                parts.nulls().cloned(),
            )?)
        }
        _ => Arc::clone(array),
    })
}

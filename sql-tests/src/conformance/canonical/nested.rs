//! Canonical text of structs, lists and maps.

use std::ops::Range;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{ArrayRef, MapArray, StructArray};

use super::{CanonicalError, each, text, values};
use crate::conformance::column_type::ColumnType;

/// Structs, whose fields must be the declared ones in the declared order.
pub(super) fn structs(
    array: &StructArray,
    fields: &[(String, ColumnType)],
    path: &str,
) -> Result<Vec<String>, CanonicalError> {
    let found: Vec<_> = array.fields().iter().map(|field| field.name().clone()).collect();
    let expected: Vec<_> = fields.iter().map(|(name, _)| name.clone()).collect();
    if found != expected {
        return Err(CanonicalError::Fields {
            column: path.to_owned(),
            found,
            expected,
        });
    }
    let mut members = Vec::with_capacity(fields.len());
    for ((name, of), column) in fields.iter().zip(array.columns()) {
        members.push((text::quoted(name), values(column, of, &format!("{path}.{name}"))?));
    }
    let member = |(name, texts): &(String, Vec<String>), row: usize| format!("{name}:{}", texts[row]);
    Ok(each(array, |row| {
        let members: Vec<_> = members.iter().map(|texts| member(texts, row)).collect();
        format!("{{{}}}", members.join(","))
    }))
}

/// Lists, or nothing if the array holds none.
pub(super) fn lists(
    array: &ArrayRef,
    element: &ColumnType,
    path: &str,
) -> Result<Option<Vec<String>>, CanonicalError> {
    let path = format!("{path}.element");
    if let Some(lists) = array.as_list_opt::<i32>() {
        let elements = values(lists.values(), element, &path)?;
        return Ok(Some(joined(array, lists.value_offsets(), &elements)));
    }
    if let Some(lists) = array.as_list_opt::<i64>() {
        let elements = values(lists.values(), element, &path)?;
        return Ok(Some(joined(array, lists.value_offsets(), &elements)));
    }
    Ok(None)
}

fn joined<T: Copy + TryInto<usize>>(lists: &ArrayRef, offsets: &[T], elements: &[String]) -> Vec<String> {
    each(lists, |row| {
        format!("[{}]", elements[span(offsets, row)].join(","))
    })
}

/// Maps; the pairs of a map are sorted by the text of the key.
pub(super) fn maps(
    array: &MapArray,
    key: &ColumnType,
    value: &ColumnType,
    path: &str,
) -> Result<Vec<String>, CanonicalError> {
    let keys = values(array.keys(), key, &format!("{path}.key"))?;
    let values = values(array.values(), value, &format!("{path}.value"))?;
    Ok(each(array, |row| {
        let mut pairs: Vec<_> = span(array.value_offsets(), row)
            .map(|entry| (keys[entry].as_str(), values[entry].as_str()))
            .collect();
        pairs.sort_by_key(|(key, _)| *key);
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(key, value)| format!("[{key},{value}]"))
            .collect();
        format!("[{}]", pairs.join(","))
    }))
}

/// The entries of a row. Arrow checks offsets when it makes an array.
fn span<T: Copy + TryInto<usize>>(offsets: &[T], row: usize) -> Range<usize> {
    let at = |index: usize| offsets[index].try_into().unwrap_or(0);
    at(row)..at(row + 1)
}

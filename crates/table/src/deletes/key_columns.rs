//! The columns that equality deletes compare.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StructArray, make_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, FieldRef, Fields};
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, StructType, Type};

use crate::arrow::{field_id, type_to_arrow};
use crate::error::{Error, Result};
use crate::table::Table;

/// A column that equality deletes compare: one of the table, or a field of its structs. It may have been dropped from
/// the table's schema: the deletes count all the same, for the files that still hold it.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyColumn {
    field_id: i32,
    column: NestedField,
    data_type: DataType,
}

impl KeyColumn {
    /// The column with this id, in the schema of the scan or else in the newest one that has it. `None` if no schema
    /// ever had it, or if it is inside of a list or a map, or no single value.
    pub(super) fn of(id: i32, table: &Table) -> Option<Self> {
        let schemas = table.schemas_newest_first();
        let schema = schemas.into_iter().find(|s| s.field_by_id(id).is_some())?;
        let path = schema.path_to(id);
        let leaf = schema.field_by_id(id)?;
        if schema.is_repeated(id) || !matches!(leaf.field_type, Type::Primitive(_)) {
            return None;
        }
        Some(Self {
            field_id: id,
            column: narrowed(schema, &path)?,
            data_type: type_to_arrow(&leaf.field_type, path.len() == 1),
        })
    }

    #[cfg(test)]
    pub(super) fn test(column: NestedField, data_type: DataType) -> Self {
        Self {
            field_id: column.id,
            column,
            data_type,
        }
    }

    /// The field id of the values that are compared.
    pub fn field_id(&self) -> i32 {
        self.field_id
    }

    /// The column of the table that holds them: itself, or a struct that is left with nothing but the way to them. All
    /// of it is optional, since a file need not hold it.
    pub fn column(&self) -> &NestedField {
        &self.column
    }

    /// Whether it is a field of a struct.
    pub fn is_nested(&self) -> bool {
        self.field_id != self.column.id
    }

    /// The Arrow type of the values.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The values out of an array of [`column`](Self::column). Where a struct on the way is null, so are they.
    ///
    /// # Errors
    /// The array is not of the column's Arrow type.
    pub fn values(&self, column: &ArrayRef) -> Result<ArrayRef> {
        let mut values = Arc::clone(column);
        let mut nulls: Option<NullBuffer> = None;
        while let Some(fields) = values.as_struct_opt() {
            nulls = NullBuffer::union(nulls.as_ref(), fields.nulls());
            let Some(inner) = only_column(fields) else {
                return Err(self.unexpected(column));
            };
            values = inner;
        }
        if *values.data_type() != self.data_type {
            return Err(self.unexpected(column));
        }
        with_nulls(&values, nulls.as_ref())
    }

    /// The way to the values among the fields of a file: an index for each level.
    pub(super) fn find_in(&self, fields: &Fields) -> Option<Vec<usize>> {
        find(fields, self.field_id)
    }

    fn unexpected(&self, array: &ArrayRef) -> Error {
        Error::Stopped(format!(
            "the column `{}` (field id {}) of equality deletes was read as {}",
            self.column.name,
            self.field_id,
            array.data_type()
        ))
    }
}

fn only_column(fields: &StructArray) -> Option<ArrayRef> {
    match fields.columns() {
        [only] => Some(Arc::clone(only)),
        _ => None,
    }
}

/// The array with more nulls.
pub(super) fn with_nulls(array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    if nulls.is_none_or(|nulls| nulls.null_count() == 0) || *array.data_type() == DataType::Null {
        return Ok(Arc::clone(array));
    }
    let nulls = NullBuffer::union(nulls, array.nulls());
    let data = array.to_data().into_builder().nulls(nulls).build();
    let data = data.map_err(|e| Error::Stopped(format!("values of an equality delete: {e}")))?;
    Ok(make_array(data))
}

fn find(fields: &Fields, id: i32) -> Option<Vec<usize>> {
    fields
        .iter()
        .enumerate()
        .find_map(|(place, field): (usize, &FieldRef)| {
            if field_id(field) == Some(id) {
                return Some(vec![place]);
            }
            let DataType::Struct(inner) = field.data_type() else {
                return None;
            };
            let mut path = find(inner, id)?;
            path.insert(0, place);
            Some(path)
        })
}

/// The first field of a path of ids, with nothing inside but the rest of the path.
fn narrowed(schema: &Schema, path: &[i32]) -> Option<NestedField> {
    let (first, rest) = path.split_first()?;
    let mut field = schema.field_by_id(*first)?.clone();
    field.required = false;
    if !rest.is_empty() {
        field.field_type = Type::Struct(StructType::new(vec![narrowed(schema, rest)?]));
    }
    Some(field)
}

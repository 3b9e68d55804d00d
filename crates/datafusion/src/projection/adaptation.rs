//! How one array of a file becomes one array of the table.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeListArray, LargeListArray, ListArray, MapArray,
    StructArray, new_null_array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{CastOptions, cast_with_options, nullif};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err, plan_err};
use drumlin_table::arrow::field_id;

use super::field_ids::FileField;
use crate::variant::shredding::{is_stored_variant, unshredded};
use crate::variant::{holds_variant, is_variant};

/// Values for fields that a file does not hold.
pub trait MissingFields {
    /// The value of the field with this id in rows of the file; `None` is null.
    fn value_of(&self, field_id: i32) -> Option<&ScalarValue>;
}

/// The steps from a type of a file to a type of the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Adaptation {
    /// Both types are the same.
    Same,
    /// A promotion of a primitive type, or another encoding of the same type.
    Cast(DataType),
    /// Each field from its own place, or its value if the file has none.
    Struct(Fields, Vec<StructField>),
    /// The element.
    List(FieldRef, Box<Adaptation>),
    /// The parts of a variant put together, as struct of these fields.
    Variant(Fields),
    /// Key and value; the table's entries field.
    Map(FieldRef, Box<Adaptation>, Box<Adaptation>),
}

/// Where a field of a struct comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StructField {
    /// The field of the file at this index.
    Stored(usize, Adaptation),
    /// Not stored: this value in each row.
    Missing(ScalarValue),
}

impl Adaptation {
    /// The steps from `from`, a field of a file, to `to`, a field of the table.
    pub fn between(from: &FileField, to: &Field, missing: &dyn MissingFields) -> Result<Self> {
        // Variants are checked even where their type is that of the table already.
        if is_variant(to) {
            return Self::variant(from, to);
        }
        let whole = !holds_variant(to) && !hides_nulls(to);
        if from.field.data_type() == to.data_type() && from.has_own_ids() && whole {
            return Ok(Self::Same);
        }
        match (from.field.data_type(), to.data_type()) {
            (DataType::Struct(_), DataType::Struct(fields)) => {
                let stored = |to: &FieldRef| {
                    let found = field_id(to).and_then(|id| from.child_with_id(id));
                    match found {
                        Some((index, child)) => {
                            Ok(StructField::Stored(index, Self::between(child, to, missing)?))
                        }
                        None => Ok(StructField::Missing(missing_value(to, missing)?)),
                    }
                };
                Ok(Self::Struct(
                    fields.clone(),
                    fields.iter().map(stored).collect::<Result<_>>()?,
                ))
            }
            (
                DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _),
                DataType::List(element),
            ) => match from.children.as_slice() {
                [stored] => Ok(Self::List(
                    Arc::clone(element),
                    Box::new(Self::between(stored, element, missing)?),
                )),
                _ => plan_err!("the list `{}` of a data file has no element", from.field.name()),
            },
            (DataType::Map(_, _), DataType::Map(entries, _)) => {
                match (from.children.as_slice(), entries.data_type()) {
                    ([key, value], DataType::Struct(fields)) if fields.len() == 2 => Ok(Self::Map(
                        Arc::clone(entries),
                        Box::new(Self::between(key, &fields[0], missing)?),
                        Box::new(Self::between(value, &fields[1], missing)?),
                    )),
                    _ => plan_err!(
                        "the map `{}` of a data file has no key and value",
                        from.field.name()
                    ),
                }
            }
            (stored, wanted) if stored == wanted => Ok(Self::Same),
            (stored, wanted) if readable_as(stored, wanted) => Ok(Self::Cast(wanted.clone())),
            (stored, wanted) => plan_err!(
                "column `{}`: a data file stores {stored}, which cannot be read as {wanted}",
                to.name()
            ),
        }
    }

    fn variant(from: &FileField, to: &Field) -> Result<Self> {
        match to.data_type() {
            DataType::Struct(fields) if is_stored_variant(from.field.data_type()) => {
                Ok(Self::Variant(fields.clone()))
            }
            _ => plan_err!(
                "column `{}`: a data file stores {}, which is not a variant",
                to.name(),
                from.field.data_type()
            ),
        }
    }

    /// Takes the steps. `array` has the type that the steps start from.
    pub fn apply(&self, array: &ArrayRef) -> Result<ArrayRef> {
        self.apply_inside(array, None)
    }

    /// See [`apply`](Self::apply); `outer` are the nulls of the struct around the array.
    fn apply_inside(&self, array: &ArrayRef, outer: Option<&NullBuffer>) -> Result<ArrayRef> {
        match self {
            Self::Same => Ok(Arc::clone(array)),
            Self::Cast(to) => {
                let options = CastOptions {
                    safe: false,
                    ..CastOptions::default()
                };
                Ok(cast_with_options(array, to, &options)?)
            }
            Self::Struct(fields, children) => {
                let stored = array
                    .as_struct_opt()
                    .ok_or_else(|| unexpected(array, "a struct"))?;
                // Where a struct is null, so are its fields: also those that have a default.
                let nulls = NullBuffer::union(outer, stored.nulls());
                let column = |child: &StructField| match child {
                    StructField::Stored(index, steps) => {
                        let (Some(field), Some(column)) =
                            (stored.fields().get(*index), stored.columns().get(*index))
                        else {
                            return exec_err!("a struct of a data file has no field {index}");
                        };
                        let column = steps.apply_inside(column, nulls.as_ref())?;
                        match &nulls {
                            // The reader makes no nulls of what the file requires, but some value.
                            Some(nulls) if !field.is_nullable() && nulls.null_count() > 0 => {
                                without(&column, nulls)
                            }
                            _ => Ok(column),
                        }
                    }
                    StructField::Missing(value) => masked(value, stored.len(), nulls.as_ref()),
                };
                let columns = children.iter().map(column).collect::<Result<Vec<_>>>()?;
                let built =
                    StructArray::try_new_with_length(fields.clone(), columns, nulls.clone(), stored.len())?;
                Ok(Arc::new(built))
            }
            Self::Variant(fields) => {
                let stored = array
                    .as_struct_opt()
                    .ok_or_else(|| unexpected(array, "a variant"))?;
                Ok(Arc::new(unshredded(stored, fields, outer)?))
            }
            Self::List(element, steps) => adapt_list(array, element, steps),
            Self::Map(entries, key, value) => {
                let map = array.as_map_opt().ok_or_else(|| unexpected(array, "a map"))?;
                let DataType::Struct(fields) = entries.data_type() else {
                    return exec_err!("the entries of a map are {}", entries.data_type());
                };
                let columns = vec![key.apply(map.keys())?, value.apply(map.values())?];
                let built = StructArray::try_new(fields.clone(), columns, None)?;
                let adapted = MapArray::try_new(
                    Arc::clone(entries),
                    map.offsets().clone(),
                    built,
                    map.nulls().cloned(),
                    false,
                )?;
                Ok(Arc::new(adapted))
            }
        }
    }
}

/// Whether a struct somewhere in values of the field may be null while a field of it is required: reading that field
/// does not ask whether the struct is null, so the field has to be null too.
fn hides_nulls(field: &Field) -> bool {
    match field.data_type() {
        DataType::Struct(fields) => fields
            .iter()
            .any(|f| field.is_nullable() && !f.is_nullable() || hides_nulls(f)),
        DataType::List(inner) | DataType::Map(inner, _) => hides_nulls(inner),
        _ => false,
    }
}

fn adapt_list(array: &ArrayRef, element: &FieldRef, steps: &Adaptation) -> Result<ArrayRef> {
    let list = |offsets, values: &ArrayRef| -> Result<ArrayRef> {
        let values = steps.apply(values)?;
        let built = ListArray::try_new(Arc::clone(element), offsets, values, array.nulls().cloned())?;
        Ok(Arc::new(built))
    };
    if let Some(stored) = array.as_list_opt::<i32>() {
        return list(stored.offsets().clone(), stored.values());
    }
    let large = array.as_any().downcast_ref::<LargeListArray>();
    let fixed = array.as_any().downcast_ref::<FixedSizeListArray>();
    if large.is_none() && fixed.is_none() {
        return Err(unexpected(array, "a list"));
    }
    // Rare encodings of writers that embed an Arrow schema: first into the ordinary form with the stored element.
    let stored_element = match array.data_type() {
        DataType::LargeList(e) | DataType::FixedSizeList(e, _) => Arc::clone(e),
        _ => return Err(unexpected(array, "a list")),
    };
    let plain = datafusion::arrow::compute::cast(array, &DataType::List(stored_element))?;
    let plain = plain
        .as_list_opt::<i32>()
        .ok_or_else(|| unexpected(array, "a list"))?;
    list(plain.offsets().clone(), plain.values())
}

/// A value in each of so many rows, but in those that are null.
fn masked(value: &ScalarValue, rows: usize, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    let array = value.to_array_of_size(rows)?;
    match nulls {
        Some(nulls) if !value.is_null() => without(&array, nulls),
        _ => Ok(array),
    }
}

/// The array with these nulls besides its own, in fields of structs too: reading a field does not ask whether the
/// struct around it is null.
fn without(array: &ArrayRef, nulls: &NullBuffer) -> Result<ArrayRef> {
    let Some(fields) = array.as_struct_opt() else {
        return Ok(nullif(array, &BooleanArray::new(!nulls.inner(), None))?);
    };
    let columns = fields
        .columns()
        .iter()
        .map(|c| without(c, nulls))
        .collect::<Result<Vec<_>>>()?;
    let all = NullBuffer::union(Some(nulls), fields.nulls());
    let built = StructArray::try_new_with_length(fields.fields().clone(), columns, all, fields.len())?;
    Ok(Arc::new(built))
}

/// The value of a field that a file does not hold, typed.
pub fn missing_value(field: &Field, missing: &dyn MissingFields) -> Result<ScalarValue> {
    if let Some(value) = field_id(field).and_then(|id| missing.value_of(id)) {
        return Ok(value.clone());
    }
    if !field.is_nullable() {
        return plan_err!(
            "column `{}` is required and has no initial default, but a data file does not hold it",
            field.name()
        );
    }
    ScalarValue::try_from_array(&new_null_array(field.data_type(), 1), 0)
}

/// Whether values of a file may be read as a type of the table: the promotions of the specification, and other
/// encodings of one and the same type.
fn readable_as(stored: &DataType, wanted: &DataType) -> bool {
    use DataType as D;
    match (stored, wanted) {
        (D::Null, _) => true,
        (D::Dictionary(_, values), _) => values.as_ref() == wanted || readable_as(values, wanted),
        (D::Int8 | D::Int16 | D::UInt8 | D::UInt16, D::Int32 | D::Int64) => true,
        (D::Int32 | D::UInt32, D::Int64) => true,
        (D::Float16 | D::Float32, D::Float32 | D::Float64) => true,
        (D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal128(p, s), D::Decimal128(q, t)) => {
            s == t && p <= q
        }
        // Dates may become timestamps without zone (v3); the rest is one instant in two units.
        (D::Date32, D::Timestamp(_, None)) | (D::Timestamp(_, _), D::Timestamp(_, _)) => true,
        (D::Time32(_) | D::Time64(_), D::Time64(_)) => true,
        (
            D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView,
            D::Utf8 | D::Utf8View | D::Binary | D::BinaryView,
        ) => true,
        (D::FixedSizeBinary(_), D::Binary | D::BinaryView) => true,
        (D::Binary | D::LargeBinary | D::BinaryView, D::FixedSizeBinary(_)) => true,
        _ => false,
    }
}

fn unexpected(array: &ArrayRef, wanted: &str) -> DataFusionError {
    DataFusionError::Execution(format!(
        "a data file gave {} where {wanted} is expected",
        array.data_type()
    ))
}

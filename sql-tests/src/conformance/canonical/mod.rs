//! The canonical text of rows, in which answers are kept and compared.
//!
//! A row is one JSON array without spaces. Integers and booleans are JSON values; floats are strings that parse back to
//! the same bits; decimals are strings with their full scale; dates, times and timestamps are ISO strings; binary, fixed
//! and uuid are strings; structs are objects, lists arrays, and maps arrays of `[key, value]` sorted by the key's text.
//! Variants are objects that tell the physical type of each value. `conformance/canon.py` says the same in Python.
//!
//! The declared column type leads; the Arrow type must be one that can hold it exactly. [`text`] writes single values.

pub mod text;

mod moments;
mod nested;
#[cfg(test)]
mod tests;
mod variants;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::types::{Float32Type, Float64Type, Int64Type};
use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::DataType;

use super::column_type::ColumnType;
use super::manifest::Column;

/// Why rows have no canonical text: they are not of the declared types.
#[derive(Debug, thiserror::Error)]
pub enum CanonicalError {
    /// The answer has another number of columns.
    #[error("{found} columns ({names}) instead of {expected}")]
    Width {
        /// How many columns the answer has.
        found: usize,
        /// Their names.
        names: String,
        /// How many it should have.
        expected: usize,
    },
    /// A column has a name that was not declared.
    #[error("column {index} is named {found:?} instead of {expected:?}")]
    Name {
        /// Position of the column, from 0.
        index: usize,
        /// Its name.
        found: String,
        /// The declared name.
        expected: String,
    },
    /// An Arrow type that cannot hold the declared type.
    #[error("column {column}: {found} cannot be a value of type {expected}")]
    Type {
        /// Path of the column.
        column: String,
        /// The Arrow type.
        found: DataType,
        /// The declared type.
        expected: String,
    },
    /// A struct whose fields are not the declared ones.
    #[error("column {column}: fields {found:?} instead of {expected:?}")]
    Fields {
        /// Path of the column.
        column: String,
        /// Names of the fields.
        found: Vec<String>,
        /// Declared names.
        expected: Vec<String>,
    },
    /// A value outside the range of its type or text form.
    #[error("column {column}: {value} is out of range for type {expected}")]
    Value {
        /// Path of the column.
        column: String,
        /// The value.
        value: String,
        /// The declared type.
        expected: String,
    },
}

/// The canonical rows of an answer. Columns are matched by position and must have the declared names.
pub fn rows(batches: &[RecordBatch], columns: &[Column]) -> Result<Vec<String>, CanonicalError> {
    let mut all = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
    for batch in batches {
        let schema = batch.schema();
        if schema.fields().len() != columns.len() {
            let names: Vec<_> = schema
                .fields()
                .iter()
                .map(|field| field.name().as_str())
                .collect();
            return Err(CanonicalError::Width {
                found: names.len(),
                names: names.join(", "),
                expected: columns.len(),
            });
        }
        let mut cells = Vec::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            let found = schema.field(index).name();
            if *found != column.name {
                return Err(CanonicalError::Name {
                    index,
                    found: found.clone(),
                    expected: column.name.clone(),
                });
            }
            cells.push(values(batch.column(index), &column.of, &column.name)?);
        }
        for row in 0..batch.num_rows() {
            let row: Vec<_> = cells.iter().map(|column| column[row].as_str()).collect();
            all.push(format!("[{}]", row.join(",")));
        }
    }
    Ok(all)
}

/// The canonical text of every value of an array, `null` for nulls. `path` names the column in errors.
pub fn values(array: &ArrayRef, of: &ColumnType, path: &str) -> Result<Vec<String>, CanonicalError> {
    let array = flat(array, of, path)?;
    let mismatch = || CanonicalError::Type {
        column: path.to_owned(),
        found: array.data_type().clone(),
        expected: of.to_string(),
    };
    // A column of nulls may have lost its type on the way.
    if *array.data_type() == DataType::Null {
        return Ok(vec![text::NULL.to_owned(); array.len()]);
    }
    match of {
        ColumnType::Boolean => {
            let booleans = array.as_boolean_opt().ok_or_else(mismatch)?;
            Ok(each(&array, |row| booleans.value(row).to_string()))
        }
        ColumnType::Int | ColumnType::Long => {
            if !array.data_type().is_integer() {
                return Err(mismatch());
            }
            let exact = CastOptions {
                safe: false,
                ..Default::default()
            };
            let integers = cast_with_options(&array, &DataType::Int64, &exact)
                .map_err(|error| out_of_range(error.to_string(), of, path))?;
            let integers = integers.as_primitive_opt::<Int64Type>().ok_or_else(mismatch)?;
            Ok(each(&array, |row| integers.value(row).to_string()))
        }
        ColumnType::Float => {
            let floats = array.as_primitive_opt::<Float32Type>().ok_or_else(mismatch)?;
            Ok(each(&array, |row| text::quoted(&text::float(floats.value(row)))))
        }
        ColumnType::Double => {
            let doubles = array.as_primitive_opt::<Float64Type>().ok_or_else(mismatch)?;
            Ok(each(&array, |row| {
                text::quoted(&text::double(doubles.value(row)))
            }))
        }
        ColumnType::Decimal { scale, .. } => decimals(&array, *scale).ok_or_else(mismatch),
        ColumnType::Date | ColumnType::Time | ColumnType::Timestamp { .. } => moments::values(&array, of)
            .ok_or_else(mismatch)?
            .map_err(|value| out_of_range(value, of, path)),
        ColumnType::String => {
            let strings = cast_or(&array, &DataType::Utf8, is_string).ok_or_else(mismatch)?;
            let strings = strings.as_string_opt::<i32>().ok_or_else(mismatch)?;
            Ok(each(&array, |row| text::quoted(strings.value(row))))
        }
        ColumnType::Uuid => {
            let bytes = array.as_fixed_size_binary_opt().ok_or_else(mismatch)?;
            if bytes.value_length() != 16 {
                return Err(mismatch());
            }
            Ok(each(&array, |row| text::quoted(&text::uuid(bytes.value(row)))))
        }
        ColumnType::Fixed(length) => {
            let bytes = array.as_fixed_size_binary_opt().ok_or_else(mismatch)?;
            if bytes.value_length() != *length {
                return Err(mismatch());
            }
            Ok(each(&array, |row| text::quoted(&text::hex(bytes.value(row)))))
        }
        ColumnType::Binary => {
            let bytes = cast_or(&array, &DataType::LargeBinary, is_binary).ok_or_else(mismatch)?;
            let bytes = bytes.as_binary_opt::<i64>().ok_or_else(mismatch)?;
            Ok(each(&array, |row| text::quoted(&text::hex(bytes.value(row)))))
        }
        // A column of nulls was answered above.
        ColumnType::Unknown => Err(mismatch()),
        ColumnType::Variant => variants::values(&array)
            .ok_or_else(mismatch)?
            .map_err(|error| out_of_range(error.to_string(), of, path)),
        ColumnType::Struct(fields) => {
            nested::structs(array.as_struct_opt().ok_or_else(mismatch)?, fields, path)
        }
        ColumnType::List(element) => nested::lists(&array, element, path)?.ok_or_else(mismatch),
        ColumnType::Map(key, value) => {
            nested::maps(array.as_map_opt().ok_or_else(mismatch)?, key, value, path)
        }
    }
}

/// The array without dictionary or run-end encoding.
fn flat(array: &ArrayRef, of: &ColumnType, path: &str) -> Result<ArrayRef, CanonicalError> {
    let plain = match array.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        DataType::RunEndEncoded(_, values) => values.data_type(),
        _ => return Ok(array.clone()),
    };
    cast(array, plain).map_err(|_| CanonicalError::Type {
        column: path.to_owned(),
        found: array.data_type().clone(),
        expected: of.to_string(),
    })
}

fn out_of_range(value: String, of: &ColumnType, path: &str) -> CanonicalError {
    CanonicalError::Value {
        column: path.to_owned(),
        value,
        expected: of.to_string(),
    }
}

/// Decimals whose scale is the declared one. Arrow writes them with all their fraction digits.
fn decimals(array: &ArrayRef, declared: i8) -> Option<Vec<String>> {
    let (DataType::Decimal32(_, scale)
    | DataType::Decimal64(_, scale)
    | DataType::Decimal128(_, scale)
    | DataType::Decimal256(_, scale)) = array.data_type()
    else {
        return None;
    };
    if *scale != declared {
        return None;
    }
    let texts = cast(array, &DataType::Utf8).ok()?;
    let texts = texts.as_string_opt::<i32>()?;
    Some(each(array, |row| text::quoted(texts.value(row))))
}

/// `null` or the given text for every row.
fn each(array: &dyn Array, write: impl Fn(usize) -> String) -> Vec<String> {
    let write = |row| match array.is_null(row) {
        true => text::NULL.to_owned(),
        false => write(row),
    };
    (0..array.len()).map(write).collect()
}

/// The array as type `to`, if its own type passes.
fn cast_or(array: &ArrayRef, to: &DataType, passes: fn(&DataType) -> bool) -> Option<ArrayRef> {
    passes(array.data_type()).then(|| cast(array, to).ok())?
}

fn is_string(of: &DataType) -> bool {
    matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(of: &DataType) -> bool {
    matches!(
        of,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView
    )
}

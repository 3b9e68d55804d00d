//! Variant columns: values that each carry their own type (§ Semi-structured Types; encoding and shredding are those of
//! Parquet's `VariantEncoding.md` and `VariantShredding.md`).
//!
//! In Arrow a variant is a struct of `metadata`, the names of fields, and `value`; see [`drumlin_table::arrow`]. Both are
//! bytes of a file, and are checked when a column is read (`shredding`) and again where a function is given a struct
//! of that shape ([`values`]): nothing of them is trusted.
//!
//! - `encoding`: the bytes of metadata and values
//! - `builder`: writing values, as far as putting shredded ones together needs it
//! - `shredding`: a column of a file, perhaps shredded, as a column of the table
//! - [`values`]: the values of a column, row by row
//! - `text`: values as JSON
//! - `path`: `$.a[0]['b']`
//! - [`functions`]: `variant_get`, `try_variant_get`, `to_json`, `parse_json`

mod builder;
mod bytes;
mod encoding;
pub mod functions;
mod path;
pub(crate) mod shredding;
mod text;
pub mod values;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use drumlin_format::types::{PrimitiveType, Type};
use drumlin_table::arrow::{EXTENSION_NAME_KEY, VARIANT_EXTENSION, type_to_arrow};

pub use values::Variants;

/// Whether the values of the field are variants: it says so by its extension type.
pub fn is_variant(field: &Field) -> bool {
    field.extension_type_name() == Some(VARIANT_EXTENSION)
}

/// Whether there are variants in values of the field, at any depth.
pub fn holds_variant(field: &Field) -> bool {
    is_variant(field)
        || match field.data_type() {
            DataType::Struct(fields) => fields.iter().any(|f| holds_variant(f)),
            DataType::List(inner) | DataType::Map(inner, _) => holds_variant(inner),
            _ => false,
        }
}

/// A nullable field of variants, as functions return it.
fn variant_field(name: &str) -> FieldRef {
    let data_type = type_to_arrow(&Type::Primitive(PrimitiveType::Variant), false);
    let metadata = [(EXTENSION_NAME_KEY.to_string(), VARIANT_EXTENSION.to_string())];
    Arc::new(Field::new(name, data_type, true).with_metadata(metadata.into()))
}

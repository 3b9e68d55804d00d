//! The values of a column of variants.

use datafusion::arrow::array::{Array, StructArray};
use datafusion::common::{Result, exec_err, plan_err};

use super::bytes::Bytes;
use super::encoding::{Metadata, Value};
use super::text;

/// A column of variants that are not shredded.
#[derive(Debug, Clone, Copy)]
pub struct Variants<'a> {
    array: &'a StructArray,
    metadata: Bytes<'a>,
    value: Bytes<'a>,
}

/// One variant, checked.
#[derive(Debug, Clone, Copy)]
pub struct Variant<'a> {
    /// The names of its fields.
    pub metadata: Metadata<'a>,
    /// Its value.
    pub value: Value<'a>,
}

impl<'a> Variants<'a> {
    /// The variants of a struct of `metadata` and `value`.
    ///
    /// # Errors
    /// It is another struct, or shredded.
    pub fn try_new(array: &'a StructArray) -> Result<Self> {
        let fields = (Bytes::field(array, "metadata"), Bytes::field(array, "value"));
        match (fields, array.num_columns()) {
            ((Some(metadata), Some(value)), 2) => Ok(Self {
                array,
                metadata,
                value,
            }),
            _ => plan_err!(
                "{} is not a variant, a struct of metadata and value",
                array.data_type()
            ),
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.array.is_empty()
    }

    /// The variant in this row, checked; `None` if there is none, which is another thing than a variant that is null.
    ///
    /// # Errors
    /// Its bytes are damaged.
    pub fn get(&self, row: usize) -> Result<Option<Variant<'a>>> {
        if self.array.is_null(row) {
            return Ok(None);
        }
        let (Some(metadata), Some(value)) = (self.metadata.get(row), self.value.get(row)) else {
            return exec_err!("a variant lacks its metadata or its value");
        };
        let metadata = Metadata::try_new(metadata)?;
        let value = Value::checked(value, &metadata, 0)?;
        Ok(Some(Variant { metadata, value }))
    }

    /// The variant in this row as JSON; `None` if there is none.
    ///
    /// # Errors
    /// Its bytes are damaged.
    pub fn json(&self, row: usize) -> Result<Option<String>> {
        self.get(row)?.map(|variant| variant.json()).transpose()
    }
}

impl Variant<'_> {
    /// The variant as JSON.
    ///
    /// # Errors
    /// Its bytes are damaged.
    pub fn json(&self) -> Result<String> {
        let mut json = Vec::new();
        text::write_json(&self.value, &self.metadata, &mut json)?;
        // What is not UTF-8 did not come so far.
        Ok(String::from_utf8(json).unwrap_or_default())
    }
}

//! `csv` and `tsv`: RFC 4180 quoting with `\n` line ends. NULL is an empty field and an empty string is `""`, as
//! PostgreSQL writes them, so that the two stay apart. Lists, structs and maps are written as JSON text.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::writer::{EncoderOptions, NullableEncoder, make_encoder};
use datafusion::arrow::util::display::{ArrayFormatter, ArrayFormatterFactory, FormatOptions};

use super::readable::Readable;
use super::{Sink, Written, is_nested};
use crate::error::StatementError;

/// Writes delimited rows.
pub struct Delimited<'a> {
    delimiter: char,
    out: &'a mut dyn Write,
    rows: u64,
}

impl<'a> Delimited<'a> {
    /// Writes the header.
    pub fn try_new(
        delimiter: char,
        schema: &SchemaRef,
        out: &'a mut dyn Write,
    ) -> Result<Self, StatementError> {
        let mut line = String::new();
        for (i, field) in schema.fields().iter().enumerate() {
            if i > 0 {
                line.push(delimiter);
            }
            push_quoted(&mut line, field.name(), delimiter);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        Ok(Self {
            delimiter,
            out,
            rows: 0,
        })
    }
}

impl Sink for Delimited<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>, StatementError> {
        let options = EncoderOptions::default()
            .with_explicit_nulls(true)
            .with_encoder_factory(Arc::new(Readable));
        let schema = batch.schema_ref();
        let mut columns = schema
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, array)| Column::try_new(field, array, &options))
            .collect::<Result<Vec<_>, _>>()?;
        let (mut line, mut value, mut bytes) = (String::new(), String::new(), Vec::new());
        for row in 0..batch.num_rows() {
            line.clear();
            for (i, column) in columns.iter_mut().enumerate() {
                if i > 0 {
                    line.push(self.delimiter);
                }
                value.clear();
                if column.push_value(row, &mut value, &mut bytes)? {
                    push_quoted(&mut line, &value, self.delimiter);
                }
            }
            line.push('\n');
            self.out.write_all(line.as_bytes())?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> Result<Written, StatementError> {
        Ok(Written::All(self.rows))
    }
}

/// A column of a batch, ready to give values as text.
enum Column<'a> {
    /// The nulls are the logical ones: those of a dictionary are in its values.
    Plain(Option<NullBuffer>, Box<ArrayFormatter<'a>>),
    Nested(NullableEncoder<'a>),
}

impl<'a> Column<'a> {
    fn try_new(
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Self, ArrowError> {
        if is_nested(array.data_type()) {
            return Ok(Self::Nested(make_encoder(field, array, options)?));
        }
        // A value that cannot be shown is an error here: in a table it is a cell saying so, in data it would be a lie.
        let format = FormatOptions::new().with_display_error(false);
        let formatter = match Readable.create_array_formatter(array, &format, Some(field))? {
            Some(formatter) => formatter,
            None => ArrayFormatter::try_new(array, &format)?,
        };
        Ok(Self::Plain(array.logical_nulls(), Box::new(formatter)))
    }

    /// Appends the value of `row` to `text`; false if it is null.
    fn push_value(&mut self, row: usize, text: &mut String, bytes: &mut Vec<u8>) -> Result<bool, ArrowError> {
        match self {
            Self::Plain(Some(nulls), _) if nulls.is_null(row) => Ok(false),
            Self::Plain(_, formatter) => {
                formatter.value(row).write(text)?;
                Ok(true)
            }
            Self::Nested(encoder) if encoder.is_null(row) => Ok(false),
            Self::Nested(encoder) => {
                bytes.clear();
                encoder.encode(row, bytes);
                text.push_str(&String::from_utf8_lossy(bytes));
                Ok(true)
            }
        }
    }
}

/// Appends `value` as one field, in quotes if it needs them.
fn push_quoted(line: &mut String, value: &str, delimiter: char) {
    let special = |c: char| c == delimiter || matches!(c, '"' | '\n' | '\r');
    if !value.is_empty() && !value.contains(special) {
        line.push_str(value);
        return;
    }
    line.push('"');
    line.push_str(&value.replace('"', "\"\""));
    line.push('"');
}

//! Writing results, one file a family of formats.

mod arrow;
mod delimited;
mod explain;
mod json;
mod readable;
mod table;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::ops::ControlFlow;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};

use crate::error::StatementError;

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Boxes for people, at most 10,000 rows
    Table,
    /// Comma-separated values with a header; NULL is empty, an empty string is ""
    Csv,
    /// As csv, separated by tabs
    Tsv,
    /// One array of objects; NaN and infinities are null
    Json,
    /// One object a line; NaN and infinities are null
    Ndjson,
    /// An Arrow IPC stream, exact
    Arrow,
}

impl Format {
    /// Every format, in the order help shows them.
    pub const ALL: [Self; 6] = [
        Self::Table,
        Self::Csv,
        Self::Tsv,
        Self::Json,
        Self::Ndjson,
        Self::Arrow,
    ];

    /// The name users give it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Arrow => "arrow",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// A sink that writes one result with columns `schema` to `out`.
    ///
    /// # Errors
    /// [`StatementError::Format`] if the columns cannot be expressed in this format, or what writing the header met.
    pub fn sink<'a>(
        self,
        schema: &SchemaRef,
        explain: bool,
        out: &'a mut dyn Write,
    ) -> Result<Box<dyn Sink + 'a>, StatementError> {
        Ok(match self {
            Self::Table if explain && explain::fits(schema) => Box::new(explain::Plans::new(out)),
            Self::Table => Box::new(table::Table::new(schema, out)),
            Self::Csv => Box::new(delimited::Delimited::try_new(',', schema, out)?),
            Self::Tsv => Box::new(delimited::Delimited::try_new('\t', schema, out)?),
            Self::Json => Box::new(json::array(schema, out)?),
            Self::Ndjson => Box::new(json::lines(schema, out)?),
            Self::Arrow => Box::new(arrow::Stream::try_new(schema, out)?),
        })
    }
}

/// Writes the rows of one result.
pub trait Sink {
    /// Writes `batch`, or keeps what it needs of it. `Break` means that no further row will be written.
    ///
    /// # Errors
    /// Writing failed, or a value cannot be shown.
    fn write(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>, StatementError>;

    /// Ends the result after its last row.
    ///
    /// # Errors
    /// Writing failed.
    fn finish(&mut self) -> Result<Written, StatementError>;
}

/// What came out of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// This many rows, all there are.
    All(u64),
    /// The first rows only: there are more.
    First(u64),
    /// Something that is not counted in rows.
    Plan,
}

impl Written {
    /// The line below a result, such as `3 rows (0.012 s)`; without the time if `elapsed` is `None`.
    pub fn footer(self, elapsed: Option<Duration>) -> Option<String> {
        let rows = match self {
            Self::Plan => None,
            Self::All(1) => Some("1 row".to_owned()),
            Self::All(n) => Some(format!("{} rows", grouped(n))),
            Self::First(n) => Some(format!("first {} rows", grouped(n))),
        };
        let time = elapsed.map(|t| format!("({})", seconds(t)));
        match (rows, time) {
            (Some(rows), Some(time)) => Some(format!("{rows} {time}")),
            (rows, time) => rows.or(time),
        }
    }
}

/// `elapsed` for people, such as `0.012 s`.
pub fn seconds(elapsed: Duration) -> String {
    format!("{:.3} s", elapsed.as_secs_f64())
}

/// `10000` as `10,000`.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Whether values of this type hold others, so that only JSON expresses them as text without ambiguity.
fn is_nested(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => is_nested(value),
        DataType::RunEndEncoded(_, value) => is_nested(value.data_type()),
        other => other.is_nested(),
    }
}

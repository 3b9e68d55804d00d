//! `json` and `ndjson`. Nulls are written, so that every object has every key. JSON has no NaN and no infinities: they
//! become null.

use std::collections::HashSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::json::WriterBuilder;
use datafusion::arrow::json::writer::{JsonArray, JsonFormat, LineDelimited, Writer};

use super::readable::Readable;
use super::{Sink, Written};
use crate::error::StatementError;

/// Writes objects in the shape `F`.
pub struct Objects<'a, F: JsonFormat> {
    writer: Writer<&'a mut dyn Write, F>,
    /// What follows the last object.
    end: &'static [u8],
    rows: u64,
}

/// One array.
pub fn array<'a>(
    schema: &SchemaRef,
    out: &'a mut dyn Write,
) -> Result<Objects<'a, JsonArray>, StatementError> {
    objects("json", schema, b"\n", out)
}

/// One object a line.
pub fn lines<'a>(
    schema: &SchemaRef,
    out: &'a mut dyn Write,
) -> Result<Objects<'a, LineDelimited>, StatementError> {
    objects("ndjson", schema, b"", out)
}

fn objects<'a, F: JsonFormat>(
    format: &'static str,
    schema: &SchemaRef,
    end: &'static [u8],
    out: &'a mut dyn Write,
) -> Result<Objects<'a, F>, StatementError> {
    let mut names = HashSet::new();
    if let Some(twice) = schema.fields().iter().find(|f| !names.insert(f.name())) {
        // Most readers would keep the last of the two and say nothing.
        return Err(StatementError::Format {
            format,
            reason: format!(
                "two columns are named \"{}\"; give one of them another name with AS",
                twice.name()
            ),
        });
    }
    Ok(Objects {
        writer: WriterBuilder::new()
            .with_explicit_nulls(true)
            .with_encoder_factory(Arc::new(Readable))
            .build(out),
        end,
        rows: 0,
    })
}

impl<F: JsonFormat> Sink for Objects<'_, F> {
    fn write(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>, StatementError> {
        self.writer.write(batch)?;
        self.rows += batch.num_rows() as u64;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> Result<Written, StatementError> {
        self.writer.finish()?;
        self.writer.get_mut().write_all(self.end)?;
        Ok(Written::All(self.rows))
    }
}

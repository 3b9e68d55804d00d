//! `arrow`: an Arrow IPC stream, the only format that keeps every type and value exactly.

use std::io::Write;
use std::ops::ControlFlow;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::writer::StreamWriter;

use super::{Sink, Written};
use crate::error::StatementError;

/// Writes one stream.
pub struct Stream<'a> {
    writer: StreamWriter<&'a mut dyn Write>,
    rows: u64,
}

impl<'a> Stream<'a> {
    /// Writes the schema message.
    pub fn try_new(schema: &SchemaRef, out: &'a mut dyn Write) -> Result<Self, StatementError> {
        Ok(Self {
            writer: StreamWriter::try_new(out, schema)?,
            rows: 0,
        })
    }
}

impl Sink for Stream<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>, StatementError> {
        self.writer.write(batch)?;
        self.rows += batch.num_rows() as u64;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> Result<Written, StatementError> {
        self.writer.finish()?;
        Ok(Written::All(self.rows))
    }
}

//! The result of `EXPLAIN` in `table` format: plans as lines, because a box around them hides their shape.

use std::io::Write;
use std::ops::ControlFlow;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

use super::{Sink, Written};
use crate::error::StatementError;

/// Whether these are the columns DataFusion gives an `EXPLAIN`.
pub fn fits(schema: &Schema) -> bool {
    let names: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    names == ["plan_type", "plan"]
}

/// Writes each plan under its title.
pub struct Plans<'a> {
    out: &'a mut dyn Write,
}

impl<'a> Plans<'a> {
    /// Nothing is written before the first plan.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out }
    }
}

impl Sink for Plans<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>, StatementError> {
        let format = FormatOptions::new();
        let texts = batch
            .columns()
            .iter()
            .map(|array| ArrayFormatter::try_new(array.as_ref() as &dyn Array, &format))
            .collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let [title, plan] = texts.as_slice() else {
                continue;
            };
            writeln!(self.out, "{}", title.value(row))?;
            for line in plan.value(row).to_string().lines() {
                writeln!(self.out, "  {line}")?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> Result<Written, StatementError> {
        Ok(Written::Plan)
    }
}

//! `table`: boxes for people. Columns are as wide as their widest value, so rows are kept until the end; their number
//! and size are bounded, and a result that goes on beyond the bound is cut with a note, never collected.

use std::io::{self, Write};
use std::ops::ControlFlow;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, ArrayFormatterFactory, FormatOptions};
use unicode_width::UnicodeWidthStr;

use super::readable::Readable;
use super::{Sink, Written};
use crate::error::StatementError;

/// The most rows a table shows.
pub const MAX_ROWS: usize = 10_000;
/// The most text a table keeps, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// A value as the lines it takes.
type Cell = Vec<String>;

/// Collects rows and draws them at the end.
pub struct Table<'a> {
    out: &'a mut dyn Write,
    headers: Vec<Cell>,
    right: Vec<bool>,
    rows: Vec<Vec<Cell>>,
    bytes: usize,
    more: bool,
}

impl<'a> Table<'a> {
    /// An empty table with these columns.
    pub fn new(schema: &SchemaRef, out: &'a mut dyn Write) -> Self {
        let fields = schema.fields();
        Self {
            out,
            headers: fields.iter().map(|f| cell(f.name())).collect(),
            right: fields.iter().map(|f| is_number(f.data_type())).collect(),
            rows: Vec::new(),
            bytes: 0,
            more: false,
        }
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.headers.len()];
        for row in std::iter::once(&self.headers).chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                let widest = cell.iter().map(|line| line.width()).max().unwrap_or(0);
                *width = widest.max(*width);
            }
        }
        widths
    }
}

impl Sink for Table<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>, StatementError> {
        let format = FormatOptions::new()
            .with_null("NULL")
            .with_formatter_factory(Some(&Readable));
        let schema = batch.schema_ref();
        let columns = schema
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, array)| {
                let array = array.as_ref() as &dyn Array;
                match Readable.create_array_formatter(array, &format, Some(field))? {
                    Some(formatter) => Ok(formatter),
                    None => ArrayFormatter::try_new(array, &format),
                }
            })
            .collect::<Result<Vec<_>, ArrowError>>()?;
        for row in 0..batch.num_rows() {
            if self.rows.len() == MAX_ROWS || self.bytes > MAX_BYTES {
                self.more = true;
                return Ok(ControlFlow::Break(()));
            }
            let cells: Vec<_> = columns
                .iter()
                .map(|column| cell(&column.value(row).to_string()))
                .collect();
            self.bytes += cells.iter().flatten().map(String::len).sum::<usize>();
            self.rows.push(cells);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> Result<Written, StatementError> {
        let widths = self.widths();
        let left = vec![false; widths.len()];
        draw_rule(self.out, &widths)?;
        draw_row(self.out, &self.headers, &widths, &left)?;
        draw_rule(self.out, &widths)?;
        for row in &self.rows {
            draw_row(self.out, row, &widths, &self.right)?;
        }
        if !self.rows.is_empty() {
            draw_rule(self.out, &widths)?;
        }
        let rows = self.rows.len() as u64;
        Ok(if self.more {
            Written::First(rows)
        } else {
            Written::All(rows)
        })
    }
}

fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, value) => is_number(value),
        other => other.is_numeric(),
    }
}

/// The lines of `text`. Control characters are escaped: data must not drive the terminal.
fn cell(text: &str) -> Cell {
    text.split('\n')
        .map(|line| {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if !line.contains(char::is_control) {
                return line.to_owned();
            }
            line.chars().fold(String::new(), |mut out, c| {
                if c.is_control() {
                    out.extend(c.escape_default());
                } else {
                    out.push(c);
                }
                out
            })
        })
        .collect()
}

fn draw_rule(out: &mut dyn Write, widths: &[usize]) -> io::Result<()> {
    for width in widths {
        write!(out, "+{:-<1$}", "", width + 2)?;
    }
    writeln!(out, "+")
}

fn draw_row(out: &mut dyn Write, row: &[Cell], widths: &[usize], right: &[bool]) -> io::Result<()> {
    let height = row.iter().map(Vec::len).max().unwrap_or(0);
    for i in 0..height {
        for ((cell, width), right) in row.iter().zip(widths).zip(right) {
            let line = cell.get(i).map_or("", String::as_str);
            // Formatting pads by characters, terminals by columns.
            let pad = width.saturating_sub(line.width());
            let (before, after) = if *right { (pad, 0) } else { (0, pad) };
            write!(out, "| {:before$}{line}{:after$} ", "", "")?;
        }
        writeln!(out, "|")?;
    }
    Ok(())
}

//! One file's session, as sqllogictest drives it.

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType};

use super::lake::{Lake, Request};
use crate::conformance::engine::{Engine, EngineError};

/// How null is written in a file.
const NULL: &str = "NULL";
/// How the empty string is written in a file.
const EMPTY: &str = "(empty)";

/// A session as sqllogictest drives it.
pub(super) struct Session {
    /// Where statements run.
    pub context: SessionContext,
    /// The catalog `lake` behind it.
    pub lake: Lake,
}

#[async_trait]
impl AsyncDB for Session {
    type Error = EngineError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, EngineError> {
        if let Some(request) = Request::of(sql) {
            let (types, row) = self.lake.answer(&request).await?;
            return Ok(match types.is_empty() {
                true => DBOutput::StatementComplete(0),
                false => DBOutput::Rows {
                    types,
                    rows: vec![row],
                },
            });
        }
        let batches = Engine::sql(&self.context, sql).await?;
        let Some(first) = batches.first() else {
            return Ok(DBOutput::StatementComplete(0));
        };
        let schema = first.schema();
        let types = schema
            .fields()
            .iter()
            .map(|field| column_type(field.data_type()))
            .collect();
        let mut rows = Vec::new();
        for batch in &batches {
            rows.extend(texts(batch)?);
        }
        match schema.fields().is_empty() {
            true => Ok(DBOutput::StatementComplete(0)),
            false => Ok(DBOutput::Rows { types, rows }),
        }
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "drumlin"
    }

    async fn sleep(duration: std::time::Duration) {
        tokio::time::sleep(duration).await;
    }
}

fn column_type(of: &DataType) -> DefaultColumnType {
    match of {
        _ if of.is_integer() => DefaultColumnType::Integer,
        _ if of.is_floating() || of.is_decimal() => DefaultColumnType::FloatingPoint,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DefaultColumnType::Text,
        DataType::Dictionary(_, values) => column_type(values),
        _ => DefaultColumnType::Any,
    }
}

/// The rows of a batch as text. A value that spans lines becomes one line for each, as plans do.
fn texts(batch: &RecordBatch) -> Result<Vec<Vec<String>>, EngineError> {
    let options = FormatOptions::new().with_null(NULL);
    let columns: Result<Vec<_>, ArrowError> = batch
        .columns()
        .iter()
        .map(|column: &ArrayRef| ArrayFormatter::try_new(column, &options))
        .collect();
    let columns = columns.map_err(datafusion::error::DataFusionError::from)?;
    let cell = |column: &ArrayFormatter<'_>, row: usize| match column.value(row).to_string() {
        text if text.is_empty() => EMPTY.to_owned(),
        text => text,
    };
    let row = |row| columns.iter().map(|column| cell(column, row)).collect::<Vec<_>>();
    let rows = (0..batch.num_rows()).map(row);
    Ok(rows.flat_map(lines).collect())
}

/// The last value of a row split into lines, each a row of its own; only the first has the other values.
fn lines(mut row: Vec<String>) -> Vec<Vec<String>> {
    let last = match row.pop() {
        Some(last) if last.contains('\n') => last,
        last => {
            row.extend(last);
            return vec![row];
        }
    };
    let mut split = last.lines().map(str::to_owned);
    row.extend(split.next());
    std::iter::once(row).chain(split.map(|line| vec![line])).collect()
}

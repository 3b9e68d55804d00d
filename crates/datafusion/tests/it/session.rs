//! Sessions and what their statements answer.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::displayable;
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_datafusion::{IcebergContextExt, IcebergStateBuilderExt, IcebergTableProvider};
use drumlin_table::Table;
use drumlin_table::storage::Storage;

/// A session with the extension.
pub fn extended(storage: &Storage, config: SessionConfig) -> SessionContext {
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .with_iceberg_storage(storage.clone())
        .build();
    SessionContext::new_with_state(state)
}

/// Registers the table at a location under a name; with its metadata columns where that is asked for.
pub async fn register(ctx: &SessionContext, storage: &Storage, name: &str, location: &str, hidden: bool) {
    let table = Table::open(storage, location).await.unwrap();
    let mut provider = IcebergTableProvider::try_new(table).unwrap();
    if hidden {
        provider = provider.with_metadata_columns();
    }
    ctx.register_table(name, Arc::new(provider)).unwrap();
}

/// What a statement of the full syntax answers, as text, row by row; null is `-`.
pub async fn answer(ctx: &SessionContext, sql: &str) -> Result<Vec<Vec<String>>> {
    Ok(cells(&ctx.iceberg_sql(sql).await?.collect().await?))
}

/// The same where it must be right.
pub async fn rows(ctx: &SessionContext, sql: &str) -> Vec<Vec<String>> {
    let answer = answer(ctx, sql).await;
    answer.unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// The same for a statement that answers integers.
pub async fn integers(ctx: &SessionContext, sql: &str) -> Vec<Vec<i64>> {
    let number = |cell: &String| cell.parse().unwrap_or_else(|_| panic!("{sql}: {cell}"));
    let rows = rows(ctx, sql).await;
    rows.iter().map(|row| row.iter().map(number).collect()).collect()
}

/// The error of a statement that must fail.
pub async fn refusal(ctx: &SessionContext, sql: &str) -> String {
    match answer(ctx, sql).await {
        Ok(rows) => panic!("{sql}: answers {rows:?}"),
        Err(error) => message(&error),
    }
}

/// The message of an error, which must not be one that DataFusion takes for its own fault.
pub fn message(error: &DataFusionError) -> String {
    let text = error.to_string();
    assert!(
        !matches!(error.find_root(), DataFusionError::Internal(_)),
        "{text}"
    );
    text
}

/// Asserts that a text holds all of these.
#[track_caller]
pub fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

/// The physical plan of a query, indented.
pub async fn plan(ctx: &SessionContext, sql: &str) -> String {
    let frame = ctx.sql(sql).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    displayable(plan.as_ref()).indent(false).to_string()
}

pub fn cells(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cell = |column: &datafusion::arrow::array::ArrayRef| match column.is_null(row) {
                true => "-".to_owned(),
                false => array_value_to_string(column, row).unwrap(),
            };
            rows.push(batch.columns().iter().map(cell).collect());
        }
    }
    rows
}

//! TRUNCATE: all data files go, whatever they are when it is committed.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use drumlin_format::manifest::DataFile;
use drumlin_table::Table;
use drumlin_table::predicate::Predicate;

use super::scan::counted;
use crate::error::external;
use crate::write::commit::{IcebergCommitExec, Work};
use crate::write::files::WrittenFiles;
use crate::write::target::WriteTarget;
use crate::write::writers::WRITTEN;

/// The plan that removes all rows of a table. No data file is read: rows that are hidden by equality deletes count, since without
/// the data nobody knows how many they are.
pub(crate) async fn truncate_exec(table: &Table, target: &WriteTarget) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = table.plan_scan(&Predicate::AlwaysTrue).await.map_err(external)?;
    let is_empty = plan.tasks.is_empty();
    let mut rows = 0u64;
    let all = |file: &DataFile| u64::try_from(file.record_count).unwrap_or(0);
    let (counted, others) = counted(plan.tasks, table).await?;
    rows = counted
        .iter()
        .map(|(_, rows)| *rows)
        .fold(rows, u64::saturating_add);
    rows = others
        .iter()
        .map(|task| all(task.data_file()))
        .fold(rows, u64::saturating_add);
    // Without data files there is nothing to commit.
    let rows = (!is_empty).then_some(rows);
    let files = Arc::new(WrittenFiles::new(table.storage().clone()));
    Ok(Arc::new(IcebergCommitExec::new(
        Arc::new(EmptyExec::new(Arc::clone(&WRITTEN))),
        table.clone(),
        target.clone(),
        Work::Truncate(rows),
        files,
    )))
}

//! TRUNCATE: all data files go, whatever they are when it is committed.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use drumlin_table::Table;
use drumlin_table::predicate::Predicate;

use crate::error::external;
use crate::write::commit::{IcebergCommitExec, Work};
use crate::write::files::WrittenFiles;
use crate::write::target::WriteTarget;
use crate::write::writers::WRITTEN;

/// The plan that removes all rows of a table. No data file is read: rows are counted by metadata, and those that position or
/// equality delete files hide count, since it does not tell how many they are.
pub(crate) async fn truncate_exec(table: &Table, target: &WriteTarget) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = table.plan_scan(&Predicate::AlwaysTrue).await.map_err(external)?;
    let rows = plan.tasks.iter().map(|task| {
        let all = u64::try_from(task.data_file().record_count).unwrap_or(0);
        task.live_rows().unwrap_or(all)
    });
    let files = Arc::new(WrittenFiles::new(table.storage().clone()));
    Ok(Arc::new(IcebergCommitExec::new(
        Arc::new(EmptyExec::new(Arc::clone(&WRITTEN))),
        table.clone(),
        target.clone(),
        Work::Truncate(rows.fold(0, u64::saturating_add)),
        files,
    )))
}

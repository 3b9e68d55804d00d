//! Store assignment for plans that were not made by [`sql`](super::sql).

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::logical_expr::{DmlStatement, LogicalPlan, WriteOp};
use datafusion::optimizer::AnalyzerRule;

use super::target::provider_of;
use crate::write::{reads, store_plan};

/// Puts store assignment in the place of DataFusion's silent casts where rows are inserted into Iceberg tables by
/// `SessionContext::sql` or `DataFrame::write_table`.
///
/// DataFusion's casts and those of the user look the same there: a cast that loses something, written directly in the SELECT list
/// or in VALUES, is refused like an implicit one. [`sql`](super::sql) knows them apart.
#[derive(Debug, Default)]
pub struct StoreAssignment;

impl AnalyzerRule for StoreAssignment {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let stored = plan.transform_down(|node| match node {
            LogicalPlan::Dml(dml) if matches!(dml.op, WriteOp::Insert(_)) => {
                let provider = source_as_provider(&dml.target)?;
                let Some(table) = provider_of(provider.as_ref()) else {
                    return Ok(Transformed::no(LogicalPlan::Dml(dml)));
                };
                // What [`sql`](super::sql) has planned says what happens to the rows, and its values are stored already.
                let planned = table.write_target().is_some_and(|target| target.mode.is_some());
                let input = match planned {
                    true => dml.input.as_ref().clone(),
                    false => store_plan(&dml.input, table, config)?,
                };
                let target = match reads(&input, table)? {
                    true => provider_as_source(Arc::new(table.reading_itself())),
                    false => dml.target,
                };
                Ok(Transformed::yes(LogicalPlan::Dml(DmlStatement {
                    input: input.into(),
                    target,
                    ..dml
                })))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(stored.data)
    }

    fn name(&self) -> &str {
        "iceberg_store_assignment"
    }
}

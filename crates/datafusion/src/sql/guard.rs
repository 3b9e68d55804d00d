//! Statements that would change an Iceberg table are refused by name.

use datafusion::common::config::ConfigOptions;
use datafusion::common::plan_err;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{LogicalPlan, WriteOp};
use datafusion::optimizer::AnalyzerRule;

use super::version::as_versioned;

/// Refuses `INSERT`, `DELETE`, `UPDATE`, `MERGE` and `TRUNCATE` on Iceberg tables.
///
/// It runs as an analyzer rule, so before any optimizer rule can move the filters of a `DELETE` to where the table
/// would not see them and delete every row.
#[derive(Debug, Default)]
pub struct ReadOnlyGuard;

impl AnalyzerRule for ReadOnlyGuard {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        refuse_writes(&plan)?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "iceberg_read_only_guard"
    }
}

/// An error if `plan` writes to an Iceberg table anywhere, also below `EXPLAIN` or `PREPARE`.
pub(crate) fn refuse_writes(plan: &LogicalPlan) -> Result<()> {
    plan.apply(|node| {
        if let LogicalPlan::Dml(dml) = node
            && let Ok(provider) = source_as_provider(&dml.target)
            && as_versioned(provider.as_ref()).is_some()
        {
            let verb = match &dml.op {
                WriteOp::Insert(InsertOp::Append) => "INSERT INTO",
                WriteOp::Insert(InsertOp::Overwrite) => "INSERT OVERWRITE",
                WriteOp::Insert(InsertOp::Replace) => "REPLACE INTO",
                WriteOp::Delete => "DELETE FROM",
                WriteOp::Update => "UPDATE",
                WriteOp::Ctas => "CREATE TABLE AS",
                WriteOp::Truncate => "TRUNCATE",
                WriteOp::MergeInto(_) => "MERGE INTO",
                other => other.name(),
            };
            return plan_err!(
                "{verb} {}: Drumlin only reads Iceberg tables yet; write with another engine",
                dml.table_name
            );
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(|_| ())
}

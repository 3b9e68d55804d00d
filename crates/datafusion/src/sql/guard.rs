//! Statements that would change an Iceberg table that is only read are refused by name.

use datafusion::common::config::ConfigOptions;
use datafusion::common::plan_err;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{LogicalPlan, WriteOp};
use datafusion::optimizer::AnalyzerRule;

use super::target::provider_of;
use super::version::as_versioned;
use crate::table_provider::READ_ONLY;

/// Refuses statements that write to Iceberg tables which were opened without a catalog or at a version.
///
/// It runs as an analyzer rule, before those that plan such statements.
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

/// An error if `plan` writes to an Iceberg table that is only read, also below
/// `EXPLAIN` or `PREPARE`.
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
            let table = &dml.table_name;
            if let WriteOp::Insert(InsertOp::Replace) | WriteOp::Ctas = &dml.op {
                return plan_err!(
                    "{verb} {table}: Iceberg tables have no keys to replace rows by; use MERGE INTO"
                );
            }
            let why = match provider_of(provider.as_ref()) {
                Some(table) => table.why_read_only(),
                None => Some(READ_ONLY),
            };
            if let Some(why) = why {
                return plan_err!("{verb} {table}: {why}");
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(|_| ())
}

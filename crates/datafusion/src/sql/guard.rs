//! Statements that would change an Iceberg table are refused by name.

use datafusion::common::config::ConfigOptions;
use datafusion::common::plan_err;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{LogicalPlan, WriteOp};
use datafusion::optimizer::AnalyzerRule;

use super::insert::provider_of;
use super::version::as_versioned;
use crate::table_provider::READ_ONLY;

/// Refuses `DELETE`, `UPDATE`, `MERGE` and `TRUNCATE` on Iceberg tables, and `INSERT` on those that were opened without a catalog.
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

/// An error if `plan` changes rows of an Iceberg table anywhere, or inserts rows into one that is only read, also below
/// `EXPLAIN` or `PREPARE`.
pub(crate) fn refuse_writes(plan: &LogicalPlan) -> Result<()> {
    plan.apply(|node| {
        if let LogicalPlan::Dml(dml) = node
            && let Ok(provider) = source_as_provider(&dml.target)
            && as_versioned(provider.as_ref()).is_some()
        {
            let (verb, inserts) = match &dml.op {
                WriteOp::Insert(InsertOp::Append) => ("INSERT INTO", true),
                WriteOp::Insert(InsertOp::Overwrite) => ("INSERT OVERWRITE", true),
                WriteOp::Insert(InsertOp::Replace) => ("REPLACE INTO", false),
                WriteOp::Delete => ("DELETE FROM", false),
                WriteOp::Update => ("UPDATE", false),
                WriteOp::Ctas => ("CREATE TABLE AS", false),
                WriteOp::Truncate => ("TRUNCATE", false),
                WriteOp::MergeInto(_) => ("MERGE INTO", false),
                other => (other.name(), false),
            };
            let table = &dml.table_name;
            if !inserts {
                return plan_err!(
                    "{verb} {table}: Drumlin does not change rows of Iceberg tables yet; change them with another engine"
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

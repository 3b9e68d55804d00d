//! Statements that DataFusion's own planner has planned: those of `SessionContext::sql`, and prepared ones.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{TableReference, plan_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::logical_expr::dml::{MergeIntoAction, MergeIntoClauseKind, MergeIntoOp};
use datafusion::logical_expr::{
    Cast, DmlStatement, Expr, LogicalPlan, LogicalPlanBuilder, Projection, WriteOp, lit,
};
use datafusion::optimizer::AnalyzerRule;
use drumlin_table::row_changes::Statement as Changing;

use super::merge::{self, Rows};
use crate::IcebergTableProvider;
use crate::sql::target::provider_of;
use crate::write::{Change, ChangePlan, Clause, default_value};

/// Plans DELETE, UPDATE and MERGE on Iceberg tables, before any optimizer rule can move their conditions to where the table
/// would not see them: in DataFusion, `DELETE … WHERE id IN (SELECT …)` reaches a table without a condition.
///
/// DataFusion's casts of assigned values and those of the user look the same here: a cast that loses something, written directly
/// as the assigned value, is refused like an implicit one. [`sql`](crate::sql::sql()) knows them apart.
#[derive(Debug, Default)]
pub struct RowChangeRule;

impl AnalyzerRule for RowChangeRule {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let planned = plan.transform_down(|node| match node {
            LogicalPlan::Dml(dml) => {
                let provider = source_as_provider(&dml.target)?;
                let table = provider_of(provider.as_ref());
                Ok(match table {
                    Some(table) => match planned(&dml, table)? {
                        Some(plan) => Transformed::yes(plan.build(config)?),
                        None => Transformed::no(LogicalPlan::Dml(dml)),
                    },
                    None => Transformed::no(LogicalPlan::Dml(dml)),
                })
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(planned.data)
    }

    fn name(&self) -> &str {
        "iceberg_row_changes"
    }
}

/// The plan of a statement that changes rows; `None` if it is none.
fn planned(dml: &DmlStatement, table: &IcebergTableProvider) -> Result<Option<ChangePlan>> {
    let all = |change| {
        vec![Clause {
            condition: None,
            change,
        }]
    };
    Ok(match &dml.op {
        WriteOp::Delete => {
            let deleted = match dml.input.as_ref() {
                LogicalPlan::TableScan(_) => lit(true),
                LogicalPlan::Filter(filter) if matches!(filter.input.as_ref(), LogicalPlan::TableScan(_)) => {
                    filter.predicate.clone()
                }
                other => {
                    return plan_err!(
                        "DELETE FROM {}: {} is not supported",
                        dml.table_name,
                        other.display()
                    );
                }
            };
            Some(ChangePlan {
                statement: Changing::Delete,
                provider: table.clone(),
                name: dml.table_name.clone(),
                rows: with_places(dml.input.as_ref().clone(), &dml.table_name, table)?,
                clauses: all(Change::Delete),
                unique: false,
                key: Vec::new(),
                deleted: Some(deleted),
            })
        }
        WriteOp::Update => {
            let LogicalPlan::Projection(Projection { expr, input, .. }) = dml.input.as_ref() else {
                return plan_err!(
                    "UPDATE {}: {} is not supported",
                    dml.table_name,
                    dml.input.display()
                );
            };
            let columns = table.table().schema().fields();
            if expr.len() != columns.len() {
                return plan_err!(
                    "UPDATE {}: the table has {} columns, {} are given",
                    dml.table_name,
                    columns.len(),
                    expr.len()
                );
            }
            let values = expr
                .iter()
                .zip(columns)
                .map(|(value, column)| match value.clone().unalias() {
                    Expr::Column(same) if same.name == column.name => None,
                    Expr::Cast(Cast { expr, .. }) => Some(*expr),
                    other => Some(other),
                });
            Some(ChangePlan {
                statement: Changing::Update,
                provider: table.clone(),
                name: dml.table_name.clone(),
                rows: with_places(input.as_ref().clone(), &dml.table_name, table)?,
                clauses: all(Change::Update(values.collect())),
                unique: true,
                key: Vec::new(),
                deleted: None,
            })
        }
        WriteOp::MergeInto(merge) => Some(merged(dml, merge, table)?),
        _ => None,
    })
}

/// The plan of a MERGE of the rows of a plan into a table, whose columns are qualified with its name.
fn merged(dml: &DmlStatement, merge: &MergeIntoOp, table: &IcebergTableProvider) -> Result<ChangePlan> {
    let columns = table.table().schema().fields();
    let place = |name: &String| columns.iter().position(|column| column.name == *name);
    let mut clauses = Vec::with_capacity(merge.clauses.len());
    for clause in &merge.clauses {
        let rows = match clause.kind.canonical() {
            MergeIntoClauseKind::Matched => Rows::Matched,
            MergeIntoClauseKind::NotMatchedBySource => Rows::Unmatched,
            _ => Rows::New,
        };
        let change = match &clause.action {
            MergeIntoAction::Delete => Change::Delete,
            MergeIntoAction::Update(assignments) => {
                let mut values = vec![None; columns.len()];
                for (name, value) in assignments {
                    match place(name).and_then(|place| values.get_mut(place)) {
                        Some(given) => *given = Some(value.clone()),
                        None => {
                            return plan_err!("MERGE INTO {}: there is no column `{name}`", dml.table_name);
                        }
                    }
                }
                Change::Update(values)
            }
            MergeIntoAction::Insert {
                columns: listed,
                values,
            } => {
                let all: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
                let listed = if listed.is_empty() { &all } else { listed };
                let mut inserted = Vec::with_capacity(columns.len());
                for column in columns {
                    let given = listed.iter().position(|name| *name == column.name);
                    inserted.push(match given.and_then(|place| values.get(place)) {
                        Some(value) => value.clone(),
                        None => lit(default_value(column, table.table().name())?),
                    });
                }
                Change::Insert(inserted)
            }
        };
        let condition = clause.predicate.clone();
        clauses.push((rows, Clause { condition, change }));
    }
    let provider = provider_as_source(Arc::new(table.changing_rows()?));
    let scan = LogicalPlanBuilder::scan(dml.table_name.clone(), provider, None)?.build()?;
    let source = dml.input.as_ref().clone();
    merge::joined(
        clauses,
        merge.on.clone(),
        scan,
        source,
        table.clone(),
        dml.table_name.clone(),
    )
}

/// A plan over a scan of the table with the places of its rows.
fn with_places(
    plan: LogicalPlan,
    name: &TableReference,
    table: &IcebergTableProvider,
) -> Result<LogicalPlan> {
    let changed = plan.transform_up(|node| {
        let node = match node {
            LogicalPlan::TableScan(scan)
                if scan.table_name == *name && scan.filters.is_empty() && scan.fetch.is_none() =>
            {
                let provider = provider_as_source(Arc::new(table.changing_rows()?));
                LogicalPlanBuilder::scan(scan.table_name, provider, None)?.build()?
            }
            other => other.recompute_schema()?,
        };
        Ok(Transformed::yes(node))
    })?;
    Ok(changed.data)
}

//! Statements that DataFusion's own planner has planned: those of `SessionContext::sql`, and prepared ones.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, TableReference, plan_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::logical_expr::dml::{MergeIntoAction, MergeIntoClause, MergeIntoClauseKind};
use datafusion::logical_expr::{
    Cast, DmlStatement, Expr, LogicalPlan, LogicalPlanBuilder, Projection, TableScan, TableType, WriteOp, lit,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
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
                unseen: false,
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
            // The table comes first, under its alias, if it has one.
            let target = input.schema().iter().next();
            let target = target.and_then(|(qualifier, _)| qualifier.cloned());
            let is_target = |column: &Column| column.relation.is_none() || column.relation == target;
            let values = expr
                .iter()
                .zip(columns)
                .map(|(value, column)| match value.clone().unalias() {
                    Expr::Column(same) if same.name == column.name && is_target(&same) => None,
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
                unseen: false,
            })
        }
        WriteOp::MergeInto(merge) => {
            let source = dml.input.as_ref().clone();
            Some(merged(&dml.table_name, source, &merge.on, &merge.clauses, table)?)
        }
        _ => None,
    })
}

/// The plan of a MERGE of the rows of a plan into a table, whose columns are qualified with its name.
fn merged(
    table_name: &TableReference,
    source: LogicalPlan,
    on: &Expr,
    merge_clauses: &[MergeIntoClause],
    table: &IcebergTableProvider,
) -> Result<ChangePlan> {
    let columns = table.table().schema().fields();
    let place = |name: &String| columns.iter().position(|column| column.name == *name);
    let mut clauses = Vec::with_capacity(merge_clauses.len());
    for clause in merge_clauses {
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
                            return plan_err!("MERGE INTO {}: there is no column `{name}`", table_name);
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
    let scan = LogicalPlanBuilder::scan(table_name.clone(), provider, None)?.build()?;
    merge::joined(
        clauses,
        on.clone(),
        scan,
        source,
        table.clone(),
        table_name.clone(),
    )
}

/// The physical plan of a MERGE whose source is planned already, where DataFusion's planner asks the table itself for it: in
/// sessions without the extension. `schema` has the columns of the table, then those of the source.
///
/// # Errors
/// As for any MERGE.
pub(crate) async fn merge_exec(
    session: &dyn Session,
    table: &IcebergTableProvider,
    source: Arc<dyn ExecutionPlan>,
    schema: &DFSchema,
    on: &Expr,
    clauses: &[MergeIntoClause],
) -> Result<Arc<dyn ExecutionPlan>> {
    let columns = table.schema().fields().len();
    let Some((Some(name), _)) = schema.iter().next() else {
        return plan_err!(
            "MERGE INTO {}: its columns have no qualifier",
            table.table().name()
        );
    };
    let rows = LogicalPlanBuilder::scan("source", provider_as_source(Arc::new(PlannedRows(source))), None)?;
    let scanned = rows.schema().columns();
    let as_named = scanned.into_iter().zip(schema.iter().skip(columns));
    let as_named = as_named.map(|(column, (qualifier, field))| {
        Expr::Column(column).alias_qualified(qualifier.cloned(), field.name())
    });
    let source = rows.project(as_named.collect::<Vec<_>>())?.build()?;
    let mut plan = merged(name, source, on, clauses, table)?;
    plan.unseen = true;
    let plan = plan.build(session.config_options())?;
    session.create_physical_plan(&plan).await
}

/// The rows of a plan, which are scanned once.
#[derive(Debug)]
struct PlannedRows(Arc<dyn ExecutionPlan>);

#[async_trait]
impl TableProvider for PlannedRows {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = Arc::clone(&self.0);
        Ok(match projection {
            None => rows,
            Some(columns) => {
                let columns = ProjectionExprs::from_indices(columns, &self.0.schema());
                Arc::new(ProjectionExec::try_new(columns.iter().cloned(), rows)?)
            }
        })
    }
}

/// A plan over a scan of the table with the places of its rows.
fn with_places(
    plan: LogicalPlan,
    name: &TableReference,
    table: &IcebergTableProvider,
) -> Result<LogicalPlan> {
    over_scan(plan, table, |scan, _| {
        scan.table_name == *name && scan.filters.is_empty() && scan.fetch.is_none()
    })
}

/// A plan whose scan with places becomes one of another state of the table.
pub(super) fn over_places(plan: LogicalPlan, table: &IcebergTableProvider) -> Result<LogicalPlan> {
    over_scan(plan, table, |_, scanned| scanned.changed_rows().is_some())
}

/// A plan whose scan of the table becomes one with the places of rows.
fn over_scan(
    plan: LogicalPlan,
    table: &IcebergTableProvider,
    is_it: impl Fn(&TableScan, &IcebergTableProvider) -> bool,
) -> Result<LogicalPlan> {
    let changed = plan.transform_up(|node| {
        if let LogicalPlan::TableScan(scan) = &node
            && let Ok(provider) = source_as_provider(&scan.source)
            && let Some(scanned) = provider_of(provider.as_ref())
            && is_it(scan, scanned)
        {
            let provider = provider_as_source(Arc::new(table.changing_rows()?));
            let scan = LogicalPlanBuilder::scan(scan.table_name.clone(), provider, None)?;
            return Ok(Transformed::yes(scan.build()?));
        }
        Ok(Transformed::yes(node.recompute_schema()?))
    })?;
    Ok(changed.data)
}

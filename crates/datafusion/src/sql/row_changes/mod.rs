//! `DELETE`, `UPDATE`, `MERGE` and `TRUNCATE` on Iceberg tables.
//!
//! ```text
//! DELETE FROM t USING u WHERE p            →  SELECT 1 FROM t, u WHERE p
//! UPDATE t SET a = x FROM u WHERE p        →  SELECT x FROM t, u WHERE p
//! MERGE INTO t USING u ON p WHEN … SET a=x →  SELECT p, …, x FROM t, u
//! ```
//!
//! The statement becomes a SELECT of the expressions in it, so that they are planned as those of any query are: with subqueries,
//! versions of tables, metadata columns, and without the casts that DataFusion's planner puts around assigned values. Then
//! they are taken out of its plan again, into a [`ChangePlan`](crate::write::ChangePlan). The table that is changed is
//! scanned with the places of its rows ([`StatementPlanner`](super::statement_planner::StatementPlanner)).
//!
//! | module | holds |
//! |---|---|
//! | `parse` | a statement as a SELECT, and what its columns are |
//! | `assignment` | which column gets which value |
//! | `merge` | MERGE: its clauses, and the join that they need |
//! | `star` | `UPDATE SET *`, `INSERT *` and `WITH SCHEMA EVOLUTION`, which the parser does not know |
//! | `upsert` | `INSERT … ON CONFLICT` as a MERGE |
//! | `plain` | statements that DataFusion's planner has planned |

mod assignment;
mod merge;
mod parse;
mod plain;
mod star;
mod upsert;

use datafusion::common::{DFSchema, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{
    DmlStatement, EmptyRelation, Explain, Expr, LogicalPlan, PlanType, Projection, ToStringifiedPlan,
    WriteOp, lit,
};
use datafusion::sql::sqlparser::tokenizer::Location;
use drumlin_table::row_changes::Statement as Changing;
use std::sync::Arc;

use self::assignment::Assigned;
use self::merge::MergeClause;
use self::upsert::SameKey;
use super::target::Target;
use crate::IcebergTableProvider;
use crate::write::{Change, ChangePlan, Clause};

pub(super) use parse::take;
pub use plain::RowChangeRule;
pub(crate) use plain::merge_exec;
pub(super) use star::{take_evolution, take_stars};

/// A statement that changes rows, whose expressions are planned elsewhere.
#[derive(Debug)]
pub(super) struct RowChange {
    target: Target,
    /// Where the name of the table stands.
    location: Location,
    what: What,
}

#[derive(Debug)]
enum What {
    Delete {
        /// Whether other tables are joined.
        joined: bool,
    },
    Update {
        joined: bool,
        /// By column of the table: what it gets.
        assigned: Vec<Option<Assigned>>,
    },
    Merge {
        clauses: Vec<MergeClause>,
        /// Whether the table gets the columns that only the source has.
        evolution: bool,
        /// What becomes of several new rows with one key, where it was an INSERT.
        same_key: Option<SameKey>,
    },
    Truncate,
}

/// The expressions of a SELECT, in order, and the plan below them.
struct Selected {
    exprs: Vec<Expr>,
    rows: LogicalPlan,
}

impl RowChange {
    /// The table that is changed, and where its name stands.
    pub(super) fn target(&self) -> (Location, IcebergTableProvider) {
        (self.location, self.target.provider.clone())
    }

    /// The plan of the statement, whose SELECT has this one.
    pub(super) fn plan(self, query: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
        match query {
            LogicalPlan::Explain(explain) => {
                let plan = self.changes(explain.plan.as_ref().clone(), state)?;
                Ok(LogicalPlan::Explain(Explain {
                    stringified_plans: vec![plan.to_stringified(PlanType::InitialLogicalPlan)],
                    plan: plan.into(),
                    ..explain
                }))
            }
            LogicalPlan::Analyze(mut analyze) => {
                analyze.input = self.changes(analyze.input.as_ref().clone(), state)?.into();
                Ok(LogicalPlan::Analyze(analyze))
            }
            query => self.changes(query, state),
        }
    }

    fn changes(self, query: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
        let config = state.config_options();
        let name = self.target.reference.clone();
        let provider = self.target.provider;
        let plan = match self.what {
            What::Truncate => return Ok(truncation(provider, self.target.reference)),
            What::Delete { joined } => {
                let rows = selected(query, "DELETE")?.rows;
                ChangePlan {
                    statement: Changing::Delete,
                    deleted: if joined { None } else { condition(&rows) },
                    unseen: false,
                    provider,
                    name,
                    rows,
                    clauses: vec![Clause {
                        condition: None,
                        change: Change::Delete,
                    }],
                    unique: false,
                    key: Vec::new(),
                }
            }
            What::Update { joined, assigned } => {
                let selected = selected(query, "UPDATE")?;
                let values = assignment::values(assigned, &mut selected.exprs.into_iter())?;
                let key = match joined {
                    true => {
                        condition(&selected.rows).map(|condition| merge::columns_of(&condition, &provider))
                    }
                    false => None,
                };
                ChangePlan {
                    statement: Changing::Update,
                    provider,
                    name,
                    rows: selected.rows,
                    clauses: vec![Clause {
                        condition: None,
                        change: Change::Update(values),
                    }],
                    unique: true,
                    key: key.unwrap_or_default(),
                    deleted: None,
                    unseen: false,
                }
            }
            What::Merge {
                clauses,
                evolution,
                same_key,
            } => {
                let selected = selected(query, "MERGE")?;
                merge::plan(
                    clauses,
                    evolution,
                    same_key,
                    selected.exprs,
                    selected.rows,
                    provider,
                    name,
                )?
            }
        };
        plan.build(config)
    }
}

/// The plan that removes all rows of a table.
fn truncation(provider: IcebergTableProvider, name: datafusion::common::TableReference) -> LogicalPlan {
    LogicalPlan::Dml(DmlStatement::new(
        name,
        provider_as_source(Arc::new(provider)),
        WriteOp::Truncate,
        Arc::new(LogicalPlan::EmptyRelation(EmptyRelation {
            produce_one_row: false,
            schema: Arc::new(DFSchema::empty()),
        })),
    ))
}

/// What was selected from what.
fn selected(query: LogicalPlan, verb: &str) -> Result<Selected> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = query else {
        return plan_err!("{verb}: the statement cannot be planned over {}", query.display());
    };
    if let LogicalPlan::Aggregate(_)
    | LogicalPlan::Window(_)
    | LogicalPlan::Unnest(_)
    | LogicalPlan::Distinct(_) = input.as_ref()
    {
        return plan_err!(
            "{verb}: aggregates, window functions and unnest give no value for a single row; use them in a subquery"
        );
    }
    let exprs = expr.into_iter().map(Expr::unalias).collect();
    Ok(Selected {
        exprs,
        rows: input.as_ref().clone(),
    })
}

/// The condition by which rows were selected; `None` if it cannot be told, in which case it must not be taken for none.
fn condition(rows: &LogicalPlan) -> Option<Expr> {
    match rows {
        LogicalPlan::Filter(filter) => Some(filter.predicate.clone()),
        LogicalPlan::TableScan(_) => Some(lit(true)),
        LogicalPlan::SubqueryAlias(alias) => match alias.input.as_ref() {
            LogicalPlan::TableScan(_) => Some(lit(true)),
            _ => None,
        },
        _ => None,
    }
}

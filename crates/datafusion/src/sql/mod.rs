//! SQL with time travel, tables that are made, and rows that are inserted.
//!
//! [`sql`] takes everything that `SessionContext::sql` takes, in the dialect of the session, and on any table reference,
//! before or after its alias:
//!
//! | written | read |
//! |---|---|
//! | `t VERSION AS OF 123`, also `FOR VERSION AS OF`, `SYSTEM_VERSION AS OF`, `FOR SYSTEM_VERSION AS OF` | the snapshot with this id |
//! | `t VERSION AS OF 'x'` | the branch or tag of this name; a string that reads as a number is a snapshot id |
//! | `t TIMESTAMP AS OF '2024-01-01 00:00:00'`, also `FOR TIMESTAMP AS OF`, `SYSTEM_TIME AS OF`, `FOR SYSTEM_TIME AS OF` | what was current at that time in the session's time zone |
//! | `t TIMESTAMP AS OF 1704067200` | the same; a number is in seconds since the epoch |
//! | `t AT (VERSION => …)`, `t AT (TIMESTAMP => now() - INTERVAL '1 hour')` | the same two |
//! | `t AT (BRANCH => 'x')`, `t AT (TAG => 'x')` | a branch, a tag |
//! | `t.branch_x`, `t.tag_x`, `t.snapshot_id_123`, `t.at_timestamp_<ms>` | the same, for tools that can only send names; milliseconds since the epoch |
//!
//! How a statement goes: text → tokens → `clause` takes the time-travel clauses out → DataFusion's parser → `references`
//! puts them back into the syntax tree and resolves selectors → `table_function` opens what `iceberg_scan` reads →
//! `hidden_columns` finds the metadata columns it names → DataFusion's planner, which asks `statement_planner` for the
//! tables that have a version or show metadata columns and for the calls of `iceberg_scan` → `insert` puts the query of an
//! INSERT into its table, `row_changes` makes a plan of a DELETE, UPDATE or MERGE → `guard` refuses writes to tables that are only
//! read. Statements that make or drop tables and schemas of Iceberg catalogs
//! never get that far: `ddl` parses and runs them.
//!
//! # Metadata columns
//! A SELECT can name `_file`, `_pos`, `_spec_id`, `_partition` and, on tables of version 3, `_row_id` and
//! `_last_updated_sequence_number` of every Iceberg table in its FROM clause, in any of its clauses and in subqueries.
//! `*` and `t.*` never list them. A column of the table hides the metadata column of its name, and a name without its
//! table means a column that the FROM clause shows before it means a metadata column. A SELECT with a NATURAL JOIN
//! cannot name them.
//!
//! Each table is loaded once a statement (DataFusion's planner keeps tables by their resolved name, so `t`, `s.t` and
//! `c.s.t` are one), and every version of it is pinned from that one state.
//!
//! # Tables without a catalog
//! `iceberg_scan('location')` in a FROM clause reads the table at a location, or the one that a metadata file states.
//! Options follow by name:
//!
//! | option | meaning |
//! |---|---|
//! | `snapshot => 123` | the snapshot with this id |
//! | `ref => 'x'`, `branch => 'x'`, `tag => 'x'` | a branch or tag, a branch, a tag |
//! | `timestamp => …` | what was current at this time, written as after `TIMESTAMP AS OF` |
//! | `metadata_columns => true` | metadata columns are in `*` as well |
//! | `guess_newest_metadata => true` | see [`OpenOptions::guess_newest_metadata`](drumlin_table::OpenOptions::guess_newest_metadata) |
//! | `'s3.endpoint' => '…'` and others with a dot | options of the store: the scan has stores of its own, see [`StoreOptions`](drumlin_table::storage::StoreOptions) |
//!
//! A location is opened once a statement. The files are found through the storage of the session
//! ([`with_iceberg_storage`](IcebergStateBuilderExt::with_iceberg_storage)). Its columns are qualified with its alias, or
//! with `iceberg_scan`. A view or a prepared statement stays at the snapshot that was current when it was made.
//!
//! # Without [`sql`]
//! `SessionContext::sql` does not know metadata columns: register
//! [`with_metadata_columns`](crate::IcebergTableProvider::with_metadata_columns) to have them, in `*` as well. It leaves
//! the versions to its parser and planner. `iceberg_scan('location')` works there in sessions with the extension, without
//! options, and each call opens the table anew. What happens depends on `datafusion.sql_parser.dialect`:
//! - In the default dialect and all others but the next four, each of the clauses above is a syntax error, and a selector
//!   is a table that is not found: nothing is silently wrong.
//! - `databricks`, `snowflake` and `bigquery` parse `VERSION AS OF <number>`, `TIMESTAMP AS OF`, `FOR SYSTEM_TIME AS OF`,
//!   `AT (…)` and `BEFORE (…)`; `mssql` the first three. **DataFusion's own planner then ignores the version and reads the
//!   current rows**, which a table cannot notice. With [`with_iceberg`](IcebergStateBuilderExt::with_iceberg) these forms
//!   work or are refused there, too.

mod clause;
mod constant;
mod cte_scopes;
mod ddl;
mod guard;
mod hidden_columns;
mod insert;
mod install;
mod loaded;
mod references;
mod relation_planner;
mod row_changes;
mod split;
mod statement_planner;
mod store_assignment;
mod table_function;
mod target;
mod timestamp;
mod version;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::{DFSchema, plan_datafusion_err, plan_err};
use datafusion::dataframe::DataFrame;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{Expr, ExprWithAlias, ObjectName};
use datafusion::sql::sqlparser::tokenizer::Location;
use futures::future::BoxFuture;

use self::statement_planner::StatementPlanner;
use crate::session::storage_of;

pub use guard::ReadOnlyGuard;
pub use install::IcebergStateBuilderExt;
pub use relation_planner::TimeTravelPlanner;
pub use row_changes::RowChangeRule;
pub(crate) use row_changes::merge_exec;
pub use split::{SqlStatement, split_statements};
pub use store_assignment::StoreAssignment;
pub use version::{TableVersion, VersionedTable, as_versioned};

/// [`sql`] as a method.
#[async_trait]
pub trait IcebergContextExt {
    /// Runs one statement with the full time-travel syntax: see [`sql`].
    async fn iceberg_sql(&self, sql: &str) -> Result<DataFrame>;
}

#[async_trait]
impl IcebergContextExt for SessionContext {
    async fn iceberg_sql(&self, text: &str) -> Result<DataFrame> {
        sql(self, text).await
    }
}

/// Runs one statement with the full time-travel syntax. Works on any session, with the extension installed or not.
///
/// As with `SessionContext::sql`, statements such as `CREATE EXTERNAL TABLE` and `SET` take effect at once, queries when
/// the result is collected.
///
/// # Errors
/// Syntax errors give line and column of `sql`. Several statements are refused: see [`split_statements`].
pub async fn sql(ctx: &SessionContext, sql: &str) -> Result<DataFrame> {
    let statements = split_statements(ctx, sql)?;
    match statements.as_slice() {
        [statement] => sql_statement(ctx, statement).await,
        [] => plan_err!("there is no SQL statement in the text"),
        several => plan_err!(
            "expected one SQL statement, found {}: run them one by one",
            several.len()
        ),
    }
}

/// Runs one statement of a text that [`split_statements`] has cut, as [`sql`] does.
///
/// # Errors
/// As [`sql`], with line and column of the whole text.
pub async fn sql_statement(ctx: &SessionContext, statement: &SqlStatement<'_>) -> Result<DataFrame> {
    let state = ctx.state();
    if let Some(ddl) = ddl::parse(&state, statement)? {
        let run: BoxFuture<'_, Result<()>> = Box::pin(ddl::execute(ddl, &state));
        run.await?;
        return Ok(DataFrame::new(state, LogicalPlanBuilder::empty(false).build()?));
    }
    let plan = plan_of(state, statement).await?;
    ctx.execute_logical_plan(plan).await
}

/// The logical plan of one statement, not executed.
///
/// # Errors
/// As [`sql`]; a statement on tables or schemas of an Iceberg catalog (`CREATE TABLE`, `DROP TABLE`, `CREATE SCHEMA`, `DROP SCHEMA`)
/// has no plan.
pub async fn statement_to_plan(state: SessionState, statement: &SqlStatement<'_>) -> Result<LogicalPlan> {
    if ddl::parse(&state, statement)?.is_some() {
        return plan_err!("this statement has no plan: it takes effect when it is run");
    }
    plan_of(state, statement).await
}

/// The logical plan of a statement that has one.
async fn plan_of(state: SessionState, statement: &SqlStatement<'_>) -> Result<LogicalPlan> {
    let Parsed {
        statement: mut parsed,
        clauses,
        by_name,
        evolution,
    } = parse(&state, statement)?;
    let (state, insertion) = insert::take(&mut parsed, by_name, state).await?;
    let (state, change) = row_changes::take(&mut parsed, evolution, state).await?;
    let milliseconds = |expr| milliseconds(expr, &state);
    references::resolve(&mut parsed, clauses, &state, &milliseconds).await?;
    let scans = table_function::open(&mut parsed, &storage_of(state.config()), &milliseconds).await?;
    let planner = Arc::new(StatementPlanner::new(
        scans,
        change.as_ref().map(|change| change.target()),
    ));
    let mut plan = hidden_columns::plan(state.clone(), parsed, planner).await?;
    if let Some(insertion) = insertion {
        plan = insertion.plan(plan, &state)?;
    }
    if let Some(change) = change {
        plan = change.plan(plan, &state)?;
    }
    guard::refuse_writes(&plan)?;
    Ok(plan)
}

/// The place of a table in the text of the statement: where its name starts.
fn table_location(name: &ObjectName) -> Option<Location> {
    let first = name.0.first()?.as_ident()?;
    Some(first.span.start).filter(|at| at.line > 0)
}

/// A statement without what the parser does not know.
struct Parsed {
    statement: Statement,
    /// The time-travel clauses.
    clauses: Vec<clause::Clause>,
    /// Where `BY NAME` stood.
    by_name: Option<Location>,
    /// Whether there was `WITH SCHEMA EVOLUTION`.
    evolution: bool,
}

fn parse(state: &SessionState, statement: &SqlStatement<'_>) -> Result<Parsed> {
    let recursion_limit = state.config().options().sql_parser.recursion_limit.get();
    let dialect = split::dialect(state)?;
    let (tokens, by_name) = insert::take_by_name(statement.tokens.clone());
    let (tokens, evolution) = row_changes::take_evolution(tokens);
    let tokens = row_changes::take_stars(tokens);
    let (tokens, clauses) = clause::take_clauses(tokens, dialect.as_ref(), recursion_limit)?;
    let mut parsed = DFParserBuilder::new(tokens)
        .with_dialect(dialect.as_ref())
        .with_recursion_limit(recursion_limit)
        .build()?
        .parse_statements()?;
    let statement = parsed
        .pop_front()
        .ok_or_else(|| plan_datafusion_err!("there is no SQL statement in the text"))?;
    Ok(Parsed {
        statement,
        clauses,
        by_name,
        evolution,
    })
}

/// The instant that `expr` names; all of one statement see the same `now()`.
fn milliseconds(expr: Expr, state: &SessionState) -> Result<i64> {
    let expr =
        state.create_logical_expr_from_sql_expr(ExprWithAlias { expr, alias: None }, &DFSchema::empty())?;
    let context = SimplifyContext::builder()
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    timestamp::milliseconds(expr, context)
}

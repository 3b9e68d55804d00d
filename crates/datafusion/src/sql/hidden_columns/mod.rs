//! Metadata columns: a SELECT that names one of a table in its FROM sees it, and no `*` lists it.
//!
//! DataFusion has no hidden columns. Here a table shows exactly those metadata columns that its SELECT names, and the
//! wildcards of that SELECT are rewritten to leave them out:
//!
//! ```text
//! SELECT *, _file FROM t                →  SELECT * EXCLUDE (_file), _file FROM t'         t' = t with _file
//! SELECT * FROM t, u WHERE t._pos = 1   →  SELECT * EXCLUDE (_pos) FROM t', u
//! ```
//!
//! Which tables must show a column that is named without its table depends on what else the FROM clause has: a column
//! that can be seen goes before a hidden one, and the other relations may be anything. So the FROM clause is planned by
//! DataFusion itself, inside the plan of the whole statement, where common table expressions and outer queries are
//! known: the first pass over a statement stops at the first SELECT of interest once its FROM clause is planned, the
//! next pass has it rewritten and stops at the next one. The tables are loaded once for all passes. Statements that
//! name no metadata column are planned in one pass, untouched.
//!
//! A name is looked for in the SELECT it stands in, first among the columns that can be seen, then among the hidden
//! ones, and only then in the queries around.

mod names;
mod rewrite;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use datafusion::common::{Column, TableReference, plan_err};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::tokenizer::Location;

use self::names::{NamingSelect, naming_selects};
use super::loaded::load_once;
use super::statement_planner::StatementPlanner;

/// Plans `statement`; `planner` plans its relations.
///
/// # Errors
/// A metadata column in a SELECT with a NATURAL JOIN; all that DataFusion's planner refuses.
pub(super) async fn plan(
    mut state: SessionState,
    statement: Statement,
    planner: Arc<StatementPlanner>,
) -> Result<LogicalPlan> {
    // Twice in a session that has it installed, which does no harm; without it a version would be ignored.
    state.register_relation_planner(Arc::clone(&planner) as _)?;
    let normalize = state.config().options().sql_parser.enable_ident_normalization;
    let mut statement = statement;
    let mut selects = naming_selects(&mut statement, normalize)?;
    if selects.is_empty() {
        return state.statement_to_plan(statement).await;
    }
    let state = load_once(state);
    loop {
        planner.start(selects.values().flat_map(NamingSelect::wanted));
        let mut rewritten = statement.clone();
        rewrite::rewrite(&mut rewritten, &selects, normalize)?;
        let plan = state.statement_to_plan(rewritten).await;
        let (froms, shown) = planner.finish();
        if froms.is_empty() {
            return plan;
        }
        for (index, from) in froms {
            if let Some(select) = selects.get_mut(&index) {
                select.settle(from, &shown)?;
            }
        }
    }
}

/// The columns of a FROM clause.
#[derive(Debug)]
pub(super) struct FromColumns {
    /// All of them.
    pub(super) all: Vec<Column>,
    /// Those that `*` stands for: without the second of each pair that a USING joins.
    pub(super) wildcard: Vec<Column>,
}

/// The metadata columns that a reference to a table shows.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    /// What qualifies them: the alias, or the name as written.
    pub(super) qualifier: TableReference,
    pub(super) columns: BTreeSet<String>,
}

impl Shown {
    fn contains(&self, column: &Column) -> bool {
        column.relation.as_ref() == Some(&self.qualifier) && self.columns.contains(&column.name)
    }
}

/// What is known of a SELECT once its FROM clause has been planned.
#[derive(Debug)]
struct Settled {
    /// By the place of the table: what it shows in the end.
    shown: BTreeMap<Location, Shown>,
    /// What `*` stands for.
    wildcard: Vec<Column>,
    /// Columns that the tables show and that have their name for themselves in the FROM clause.
    unique: BTreeSet<String>,
}

impl NamingSelect {
    /// Decides which tables show which columns, after a pass in which all that might have been meant were `shown`.
    fn settle(&mut self, from: FromColumns, shown: &HashMap<Location, Shown>) -> Result<()> {
        let of_mine = |location: &Location| shown.get(location).filter(|s| !s.columns.is_empty());
        let was_shown: Vec<&Shown> = self.factors.iter().filter_map(|f| of_mine(&f.location)).collect();
        if self.natural
            && let Some(name) = was_shown.iter().flat_map(|s| &s.columns).next()
        {
            return plan_err!(
                "{name}: metadata columns cannot be used in a SELECT with a NATURAL JOIN; name the columns to join with \
                 USING (…)"
            );
        }
        let visible = |column: &Column| !was_shown.iter().any(|shown| shown.contains(column));
        let seen: Vec<&Column> = from.all.iter().filter(|c| visible(c)).collect();
        let settled: BTreeMap<Location, Shown> = self
            .factors
            .iter()
            .filter_map(|factor| {
                let mut shown = of_mine(&factor.location)?.clone();
                shown.columns.retain(|name| {
                    self.asks_for(factor, name, |unqualified| {
                        !seen.iter().any(|c| c.name == *unqualified)
                    })
                });
                Some((factor.location, shown))
            })
            .collect();
        let names: Vec<&String> = settled.values().flat_map(|s| &s.columns).collect();
        let unique = names
            .iter()
            .filter(|name| {
                names.iter().filter(|n| n == name).count() == 1 && !seen.iter().any(|c| c.name == ***name)
            })
            .map(|name| name.to_string())
            .collect();
        let wildcard = from.wildcard.iter().filter(|c| visible(c)).cloned().collect();
        self.settled = Some(Settled {
            shown: settled,
            wildcard,
            unique,
        });
        Ok(())
    }
}

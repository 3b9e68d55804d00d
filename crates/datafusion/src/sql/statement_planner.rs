//! Plans the relations of one statement.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::common::{TableReference, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::utils::expand_wildcard;
use datafusion::sql::sqlparser::ast::{Ident, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins};
use datafusion::sql::sqlparser::tokenizer::Location;

use super::hidden_columns::{FromColumns, Shown};
use super::relation_planner::{Referenced, referenced, refuse_modifiers};
use super::table_function::Scans;
use super::table_location;
use crate::IcebergTableProvider;

/// Marks a FROM clause whose columns are to be reported. No identifier of a statement can be this one.
const FROM_MARK: &str = "\0columns of FROM ";

/// The alias that marks the FROM clause of the SELECT number `index`.
pub(super) fn from_mark(index: usize) -> TableAlias {
    TableAlias {
        explicit: true,
        name: Ident::with_quote('"', format!("{FROM_MARK}{index}")),
        columns: vec![],
        at: None,
    }
}

/// The relation planner of one statement: the table that it changes, versions, metadata columns, calls of `iceberg_scan`, and reports of marked FROM clauses.
#[derive(Debug)]
pub(super) struct StatementPlanner {
    scans: Scans,
    /// The table whose rows are changed, at its place.
    changed: Option<(Location, IcebergTableProvider)>,
    pass: Mutex<Pass>,
}

#[derive(Debug, Default)]
struct Pass {
    /// By the place of a table: the metadata columns it has to show.
    wanted: HashMap<Location, BTreeSet<String>>,
    /// By the place of a table: those that it has and shows.
    shown: HashMap<Location, Shown>,
    /// By the number of the SELECT: the marked FROM clauses that were planned.
    froms: HashMap<usize, FromColumns>,
}

impl StatementPlanner {
    /// `scans`: what the calls of `iceberg_scan` read; `changed`: the table whose rows the statement changes.
    pub(super) fn new(scans: Scans, changed: Option<(Location, IcebergTableProvider)>) -> Self {
        Self {
            scans,
            changed,
            pass: Mutex::default(),
        }
    }

    /// Begins a pass in which the tables at these places show these metadata columns.
    pub(super) fn start(&self, wanted: impl Iterator<Item = (Location, BTreeSet<String>)>) {
        *self.pass() = Pass {
            wanted: wanted.collect(),
            ..Pass::default()
        };
    }

    /// Ends a pass: the marked FROM clauses that were planned, by the number of their SELECT, and what the tables showed.
    pub(super) fn finish(&self) -> (HashMap<usize, FromColumns>, HashMap<Location, Shown>) {
        let pass = std::mem::take(&mut *self.pass());
        (pass.froms, pass.shown)
    }

    fn pass(&self) -> MutexGuard<'_, Pass> {
        self.pass.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plans a table that has a version or shows metadata columns. `None` leaves it to the planners of the session.
    fn table(
        &self,
        factor: &TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<Option<PlannedRelation>> {
        let (name, alias, version, is_function) = match factor {
            TableFactor::Table {
                name,
                alias,
                version,
                args,
                ..
            } => (name, alias, version.as_ref(), args.is_some()),
            TableFactor::Function { name, alias, .. } => (name, alias, None, true),
            _ => return Ok(None),
        };
        let location = table_location(name);
        let wanted = location
            .and_then(|at| self.pass().wanted.get(&at).cloned())
            .unwrap_or_default();
        let changed = match &self.changed {
            Some((at, provider)) if location == Some(*at) => Some(provider),
            _ => None,
        };
        let table = if let Some(provider) = changed {
            changed_table(factor, provider, context)?
        } else if is_function && version.is_none() {
            let Some(table) = location.and_then(|at| self.scans.get(&at)) else {
                return Ok(None);
            };
            refuse_modifiers(name, factor, "a table function")?;
            table.clone()
        } else {
            if version.is_none() && wanted.is_empty() {
                return Ok(None);
            }
            let Some(table) = referenced(factor, context)? else {
                return Ok(None);
            };
            table
        };
        let (plan, columns) = match changed {
            Some(_) => table.scan_of_changes(&wanted)?,
            None => table.scan(&wanted)?,
        };
        if changed.is_none() && version.is_none() && !is_function && columns.is_empty() {
            return Ok(None);
        }
        let mut alias = alias.clone();
        let qualifier = match &mut alias {
            Some(alias) => {
                // `t AS x (a, b)` names the columns of t; those it shows besides keep their names.
                if !alias.columns.is_empty() {
                    alias
                        .columns
                        .extend(columns.iter().map(|column| TableAliasColumnDef {
                            name: Ident::with_quote('"', column),
                            data_type: None,
                        }));
                }
                TableReference::bare(context.normalize_ident(alias.name.clone()))
            }
            None => table.reference,
        };
        if let Some(at) = location {
            let columns = columns.into_iter().collect();
            self.pass().shown.insert(at, Shown { qualifier, columns });
        }
        Ok(Some(PlannedRelation::new(plan, alias)))
    }

    /// Plans a marked FROM clause, reports its columns, and ends the pass by an error.
    fn report_from(
        &self,
        index: usize,
        from: Box<TableWithJoins>,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let plan = context.plan(TableFactor::NestedJoin {
            table_with_joins: from,
            alias: None,
        })?;
        let wildcard = expand_wildcard(plan.schema(), &plan, None)?
            .into_iter()
            .filter_map(|expr| match expr {
                Expr::Column(column) => Some(column),
                _ => None,
            })
            .collect();
        let all = plan.schema().columns();
        self.pass().froms.insert(index, FromColumns { all, wildcard });
        plan_err!("the columns of FROM are known: plan the statement again")
    }
}

/// The table whose rows are changed.
fn changed_table(
    factor: &TableFactor,
    provider: &IcebergTableProvider,
    context: &mut dyn RelationPlannerContext,
) -> Result<Referenced> {
    let TableFactor::Table { name, version, .. } = factor else {
        return plan_err!("`{factor}` is no table whose rows can be changed");
    };
    if version.is_some() {
        return plan_err!("a write goes to the current state of `{name}`, not to a version of it");
    }
    refuse_modifiers(name, factor, "a statement that changes rows")?;
    Ok(Referenced {
        reference: context.object_name_to_table_reference(name.clone())?,
        scan: None,
        provider: Arc::new(provider.clone()),
    })
}

impl RelationPlanner for StatementPlanner {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if let TableFactor::NestedJoin {
            table_with_joins,
            alias: Some(alias),
        } = &relation
            && let Some(number) = alias.name.value.strip_prefix(FROM_MARK)
            && let Ok(index) = number.parse()
        {
            return self.report_from(index, table_with_joins.clone(), context);
        }
        Ok(match self.table(&relation, context)? {
            Some(planned) => RelationPlanning::Planned(Box::new(planned)),
            None => RelationPlanning::Original(Box::new(relation)),
        })
    }
}

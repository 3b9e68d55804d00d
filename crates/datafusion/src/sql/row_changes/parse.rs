//! A statement that changes rows as a SELECT of what is in it.

use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    self, Delete, Expr, FromTable, Ident, Merge, Query, SelectItem, SetExpr, TableAlias, TableFactor,
    TableObject, TableWithJoins, Update, UpdateTableFromKind,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Location;

use super::upsert::SameKey;
use super::{RowChange, What, assignment, merge, upsert};
use crate::sql::insert::innermost;
use crate::sql::loaded::load_once;
use crate::sql::table_location;
use crate::sql::target::Target;

/// Takes a statement that changes rows of an Iceberg table apart: a SELECT of its expressions stays. The state is one in which
/// the table is loaded once.
///
/// # Errors
/// A table that is only read, a branch that is not there, clauses that are not supported.
pub(in crate::sql) async fn take(
    statement: &mut Statement,
    evolution: bool,
    state: SessionState,
) -> Result<(SessionState, Option<RowChange>)> {
    let taken = taken(statement, evolution, state).await?;
    match taken {
        (_, None) if evolution => {
            plan_err!("WITH SCHEMA EVOLUTION is only possible where rows are merged into an Iceberg table")
        }
        taken => Ok(taken),
    }
}

async fn taken(
    statement: &mut Statement,
    evolution: bool,
    state: SessionState,
) -> Result<(SessionState, Option<RowChange>)> {
    let Statement::Statement(inner) = innermost(statement) else {
        return Ok((state, None));
    };
    // `WITH … DELETE` is a query to the parser.
    let (with, changing) = match inner.as_mut() {
        ast::Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Delete(changing) | SetExpr::Update(changing) | SetExpr::Merge(changing) => {
                (query.with.clone(), changing.clone())
            }
            _ => return Ok((state, None)),
        },
        other => (None, other.clone()),
    };
    let Some((verb, table)) = changed_table(&changing)? else {
        return Ok((state, None));
    };
    let TableFactor::Table { name, alias, .. } = &table else {
        return plan_err!("{verb}: `{table}` is no table");
    };
    let once = load_once(state.clone());
    let Some(target) = Target::find(verb, name, &once).await? else {
        return Ok((state, None));
    };
    if let Some(alias) = alias
        && !alias.columns.is_empty()
    {
        return plan_err!("{verb} {name}: the columns of a table that is changed keep their names");
    }
    // Without a place it cannot be told from other tables of its name.
    let location = table_location(name).unwrap_or(Location::empty());
    let scanned = scanned(&table, &target);
    let (query, what) = match changing {
        ast::Statement::Delete(delete) => delete_to_query(delete, scanned)?,
        ast::Statement::Update(update) => update_to_query(update, scanned, &target, &once)?,
        ast::Statement::Merge(merge) => merge_to_query(merge, evolution, None, scanned, &target, &once)?,
        ast::Statement::Insert(insert) => {
            let (merge, same_key) = upsert::merge_of(insert, &target, scanned.relation.clone(), &once)?;
            merge_to_query(merge, evolution, Some(same_key), scanned, &target, &once)?
        }
        _ => (select(vec![number("1")], vec![], None)?, What::Truncate),
    };
    **inner = ast::Statement::Query(Box::new(Query { with, ..query }));
    Ok((
        once,
        Some(RowChange {
            target,
            location,
            what,
        }),
    ))
}

/// The table that a statement changes.
fn changed_table(statement: &ast::Statement) -> Result<Option<(&'static str, TableFactor)>> {
    Ok(Some(match statement {
        ast::Statement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            match from.as_slice() {
                [table] if table.joins.is_empty() => ("DELETE FROM", table.relation.clone()),
                _ => return plan_err!("DELETE: rows of one table are deleted; join others with USING"),
            }
        }
        ast::Statement::Update(update) => match update.table.joins.is_empty() {
            true => ("UPDATE", update.table.relation.clone()),
            false => return plan_err!("UPDATE: rows of one table are updated; join others with FROM"),
        },
        ast::Statement::Merge(merge) => ("MERGE INTO", merge.table.clone()),
        ast::Statement::Insert(insert) if insert.on.is_some() => match &insert.table {
            TableObject::TableName(name) => {
                let mut table = named(name.clone());
                if let TableFactor::Table { alias, .. } = &mut table {
                    *alias = insert.table_alias.as_ref().map(|alias| TableAlias {
                        explicit: alias.explicit,
                        name: alias.alias.clone(),
                        columns: vec![],
                        at: None,
                    });
                }
                ("INSERT INTO", table)
            }
            _ => return Ok(None),
        },
        ast::Statement::Truncate(truncate) => match truncate.table_names.as_slice() {
            [one] => {
                if truncate.partitions.is_some()
                    || truncate.identity.is_some()
                    || truncate.on_cluster.is_some()
                    || truncate.if_exists
                    || truncate.cascade.is_some()
                    || one.only
                {
                    // DataFusion's planner says which clause it is.
                    return Ok(None);
                }
                ("TRUNCATE", named(one.name.clone()))
            }
            _ => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

/// The table as it is scanned: without the name of its branch.
fn scanned(table: &TableFactor, target: &Target) -> TableWithJoins {
    let mut table = table.clone();
    if let TableFactor::Table { name, .. } = &mut table {
        *name = target.name.clone();
    }
    TableWithJoins {
        relation: table,
        joins: vec![],
    }
}

fn named(name: ast::ObjectName) -> TableFactor {
    TableFactor::Table {
        name,
        alias: None,
        args: None,
        with_hints: vec![],
        version: None,
        with_ordinality: false,
        partitions: vec![],
        json_path: None,
        sample: None,
        index_hints: vec![],
    }
}

fn refused(verb: &str, clauses: &[(&str, bool)]) -> Result<()> {
    match clauses.iter().find(|(_, is_there)| *is_there) {
        Some((clause, _)) => plan_err!("{verb}: {clause} is not supported"),
        None => Ok(()),
    }
}

fn delete_to_query(delete: Delete, scanned: TableWithJoins) -> Result<(Query, What)> {
    refused(
        "DELETE",
        &[
            ("a list of tables before FROM", !delete.tables.is_empty()),
            ("RETURNING", delete.returning.is_some()),
            ("OUTPUT", delete.output.is_some()),
            ("ORDER BY", !delete.order_by.is_empty()),
            ("LIMIT", delete.limit.is_some()),
            ("an optimizer hint", !delete.optimizer_hints.is_empty()),
        ],
    )?;
    let using = delete.using.unwrap_or_default();
    let joined = !using.is_empty();
    let from = std::iter::once(scanned).chain(using).collect();
    let query = select(vec![number("1")], from, delete.selection)?;
    Ok((query, What::Delete { joined }))
}

fn update_to_query(
    update: Update,
    scanned: TableWithJoins,
    target: &Target,
    state: &SessionState,
) -> Result<(Query, What)> {
    refused(
        "UPDATE",
        &[
            ("RETURNING", update.returning.is_some()),
            ("OUTPUT", update.output.is_some()),
            ("OR", update.or.is_some()),
            ("ORDER BY", !update.order_by.is_empty()),
            ("LIMIT", update.limit.is_some()),
            ("an optimizer hint", !update.optimizer_hints.is_empty()),
        ],
    )?;
    let other = match update.from {
        Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => from,
        None => vec![],
    };
    let joined = !other.is_empty();
    let mut items = Vec::new();
    let alias = alias_of(&scanned.relation);
    let assigned = assignment::assigned(
        "UPDATE",
        update.assignments,
        target,
        alias.as_ref(),
        state,
        &mut items,
    )?;
    if items.is_empty() {
        items.push(number("1"));
    }
    let from = std::iter::once(scanned).chain(other).collect();
    let query = select(items, from, update.selection)?;
    Ok((query, What::Update { joined, assigned }))
}

fn merge_to_query(
    merge: Merge,
    evolution: bool,
    same_key: Option<SameKey>,
    scanned: TableWithJoins,
    target: &Target,
    state: &SessionState,
) -> Result<(Query, What)> {
    refused(
        "MERGE",
        &[
            ("OUTPUT or RETURNING", merge.output.is_some()),
            ("an optimizer hint", !merge.optimizer_hints.is_empty()),
        ],
    )?;
    if merge.clauses.is_empty() {
        return plan_err!("MERGE INTO {}: there is no WHEN clause", target.name);
    }
    let alias = alias_of(&scanned.relation);
    let mut items = vec![item(*merge.on, 0)];
    let clauses = merge::clauses(merge.clauses, target, alias.as_ref(), state, &mut items)?;
    let source = TableWithJoins {
        relation: merge.source,
        joins: vec![],
    };
    let query = select(items, vec![scanned, source], None)?;
    Ok((
        query,
        What::Merge {
            clauses,
            evolution,
            same_key,
        },
    ))
}

fn alias_of(table: &TableFactor) -> Option<Ident> {
    match table {
        TableFactor::Table { alias, .. } => alias.as_ref().map(|alias| alias.name.clone()),
        _ => None,
    }
}

fn number(text: &str) -> SelectItem {
    SelectItem::UnnamedExpr(Expr::value(ast::Value::Number(text.to_string(), false)))
}

/// An expression under a name that no other one of the SELECT has.
pub(super) fn item(expr: Expr, place: usize) -> SelectItem {
    SelectItem::ExprWithAlias {
        expr,
        alias: Ident::with_quote('"', format!("drumlin${place}")),
    }
}

fn select(projection: Vec<SelectItem>, from: Vec<TableWithJoins>, selection: Option<Expr>) -> Result<Query> {
    let parsed = Parser::parse_sql(&GenericDialect {}, "SELECT 1")?;
    let Some(ast::Statement::Query(mut query)) = parsed.into_iter().next() else {
        return plan_err!("a SELECT is no query");
    };
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = projection;
        select.from = from;
        select.selection = selection;
    }
    Ok(*query)
}

//! MERGE: its clauses, and the join that they need.
//!
//! The source is joined to the table, the source first: it is what a hash join holds in memory, and what the scan of the table is
//! filtered by while it runs (the scan says that it is large, see `ScanBuilder`).
//!
//! | there are clauses for | join | a row is |
//! |---|---|---|
//! | rows that match | inner | matched |
//! | those, and rows that only the source has | left | new where it has no place in the table |
//! | rows that match, and rows that only the table has | right | unmatched where the mark of the source is missing |
//! | all three | full | |

use std::sync::Arc;

use datafusion::arrow::datatypes::{FieldRef, Schema as ArrowSchema};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, TableReference, plan_err};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, lit};
use datafusion::sql::sqlparser::ast::{
    self, Ident, MergeAction, MergeClauseKind, MergeInsertKind, SelectItem,
};
use drumlin_table::arrow::{field_id, schema_from_arrow};
use drumlin_table::row_changes::Statement as Changing;

use super::assignment::{self, Assigned, value_of};
use super::parse::item;
use super::plain;
use super::star::is_all;
use super::upsert::SameKey;
use crate::IcebergTableProvider;
use crate::error::external;
use crate::sql::target::Target;
use crate::write::{Change, ChangePlan, Clause, POS, default_value};

/// Field ids from here on are reserved (§ Reserved Field IDs).
const LEAST_RESERVED_ID: i32 = 2_147_483_447;

/// Set in each row of the source.
const SOURCE: &str = "drumlin$source";

/// Which rows a clause is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// In both.
    Matched,
    /// In the source alone.
    New,
    /// In the table alone.
    Unmatched,
}

/// A WHEN clause whose expressions are planned elsewhere.
#[derive(Debug)]
pub(super) struct MergeClause {
    pub(super) rows: Rows,
    /// Whether the SELECT has a condition for it.
    pub(super) conditional: bool,
    pub(super) what: MergeWhat,
}

/// What a WHEN clause does.
#[derive(Debug)]
pub(super) enum MergeWhat {
    Delete,
    Update(Vec<Option<Assigned>>),
    Insert(Vec<Assigned>),
    /// Each column from that of the source with its name.
    UpdateAll,
    InsertAll,
}

/// The clauses of a MERGE. Their expressions go to the items of a SELECT.
///
/// # Errors
/// Columns that are not there or are named twice; clauses that are not supported.
pub(super) fn clauses(
    clauses: Vec<ast::MergeClause>,
    target: &Target,
    alias: Option<&Ident>,
    state: &SessionState,
    items: &mut Vec<SelectItem>,
) -> Result<Vec<MergeClause>> {
    let mut taken = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let rows = match clause.clause_kind {
            MergeClauseKind::Matched => Rows::Matched,
            MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => Rows::New,
            MergeClauseKind::NotMatchedBySource => Rows::Unmatched,
        };
        let conditional = clause.predicate.is_some();
        if let Some(condition) = clause.predicate {
            items.push(item(condition, items.len()));
        }
        let what = match clause.action {
            MergeAction::Delete { .. } => MergeWhat::Delete,
            MergeAction::Update(update) => {
                if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                    return plan_err!(
                        "MERGE INTO {}: UPDATE … WHERE is not supported; use WHEN … AND",
                        target.name
                    );
                }
                match update.assignments.as_slice() {
                    [
                        ast::Assignment {
                            target: ast::AssignmentTarget::ColumnName(name),
                            ..
                        },
                    ] if is_all(name) => MergeWhat::UpdateAll,
                    _ => MergeWhat::Update(assignment::assigned(
                        "MERGE INTO",
                        update.assignments,
                        target,
                        alias,
                        state,
                        items,
                    )?),
                }
            }
            MergeAction::Insert(insert) => inserted(insert, target, alias, state, items)?,
        };
        taken.push(MergeClause {
            rows,
            conditional,
            what,
        });
    }
    Ok(taken)
}

fn inserted(
    insert: ast::MergeInsertExpr,
    target: &Target,
    alias: Option<&Ident>,
    state: &SessionState,
    items: &mut Vec<SelectItem>,
) -> Result<MergeWhat> {
    let name = &target.name;
    if insert.insert_predicate.is_some() {
        return plan_err!("MERGE INTO {name}: INSERT … WHERE is not supported; use WHEN NOT MATCHED AND");
    }
    if matches!(insert.columns.as_slice(), [all] if is_all(all)) {
        return Ok(MergeWhat::InsertAll);
    }
    let MergeInsertKind::Values(values) = insert.kind else {
        return plan_err!(
            "MERGE INTO {name}: INSERT ROW is not supported; use INSERT *, which goes by names"
        );
    };
    let [row] = values.rows.as_slice() else {
        return plan_err!("MERGE INTO {name}: INSERT takes one row of values");
    };
    let table = target.provider.table();
    let columns = table.schema().fields();
    let mut listed = Vec::with_capacity(insert.columns.len());
    for column in &insert.columns {
        let index = assignment::column("MERGE INTO", column, target, alias, state)?;
        if listed.contains(&index) {
            return plan_err!("MERGE INTO {name}: the column `{column}` is listed twice");
        }
        listed.push(index);
    }
    if listed.is_empty() {
        listed.extend(0..columns.len());
    }
    let values = &row.content;
    if values.len() != listed.len() {
        return plan_err!(
            "MERGE INTO {name}: INSERT names {} columns and has {} values",
            listed.len(),
            values.len()
        );
    }
    let mut assigned = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        let value = listed.iter().position(|listed| *listed == index);
        assigned.push(match value.and_then(|place| values.get(place)) {
            Some(value) => value_of(value.clone(), column, table.name(), items)?,
            None => Assigned::Constant(default_value(column, table.name())?),
        });
    }
    Ok(MergeWhat::Insert(assigned))
}

/// The plan of a MERGE from the plan of its SELECT: the condition of the join first, then what the clauses took.
pub(super) fn plan(
    clauses: Vec<MergeClause>,
    evolution: bool,
    same_key: Option<SameKey>,
    exprs: Vec<Expr>,
    rows: LogicalPlan,
    mut provider: IcebergTableProvider,
    name: TableReference,
) -> Result<ChangePlan> {
    let (mut table, source) = sides(rows)?;
    let takes_all = |clause: &MergeClause| matches!(clause.what, MergeWhat::UpdateAll | MergeWhat::InsertAll);
    if evolution && clauses.iter().any(takes_all) {
        (provider, table) = with_columns_of(&source, provider, table)?;
    }
    let mut exprs = exprs.into_iter();
    let Some(on) = exprs.next() else {
        return plan_err!("MERGE INTO {name}: there is no condition of the join");
    };
    let mut planned = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let condition = match clause.conditional {
            true => exprs.next(),
            false => None,
        };
        let condition = match (same_key, clause.rows) {
            (Some(same_key), Rows::New) => condition.map(|nth| same_key.condition(nth)),
            _ => condition,
        };
        let change = match clause.what {
            MergeWhat::Delete => Change::Delete,
            MergeWhat::Update(assigned) => Change::Update(assignment::values(assigned, &mut exprs)?),
            MergeWhat::Insert(assigned) => {
                let assigned = assigned.into_iter().map(Some).collect();
                let values = assignment::values(assigned, &mut exprs)?;
                let mut values: Vec<Expr> = values.into_iter().flatten().collect();
                // Columns that the statement itself adds.
                let columns = provider.table().schema().fields().iter().skip(values.len());
                let defaults = columns.map(|column| Ok(lit(default_value(column, provider.table().name())?)));
                values.extend(defaults.collect::<Result<Vec<_>>>()?);
                Change::Insert(values)
            }
            MergeWhat::UpdateAll => Change::Update(of_source(&provider, &source, evolution)?),
            MergeWhat::InsertAll => {
                let values = of_source(&provider, &source, evolution)?;
                let columns = provider.table().schema().fields().iter();
                let values = values
                    .into_iter()
                    .zip(columns)
                    .map(|(value, column)| match value {
                        Some(value) => Ok(value),
                        None => Ok(lit(default_value(column, provider.table().name())?)),
                    });
                Change::Insert(values.collect::<Result<_>>()?)
            }
        };
        planned.push((clause.rows, Clause { condition, change }));
    }
    joined(planned, on, table, source, provider, name)
}

/// The table and the source of `FROM t, source`.
fn sides(rows: LogicalPlan) -> Result<(LogicalPlan, LogicalPlan)> {
    match rows {
        LogicalPlan::Join(join) if join.on.is_empty() && join.filter.is_none() => {
            Ok((join.left.as_ref().clone(), join.right.as_ref().clone()))
        }
        other => plan_err!("MERGE: expected a table and a source, found {}", other.display()),
    }
}

/// The table, and its scan, with the columns that only the source has.
fn with_columns_of(
    source: &LogicalPlan,
    provider: IcebergTableProvider,
    scan: LogicalPlan,
) -> Result<(IcebergTableProvider, LogicalPlan)> {
    let known = provider.table().schema();
    // Metadata columns of a source that is a table are none of its own.
    let is_own = |field: &&FieldRef| field_id(field).is_none_or(|id| (0..LEAST_RESERVED_ID).contains(&id));
    let new: Vec<FieldRef> = (source.schema().fields().iter())
        .filter(|field| known.as_struct().field_by_name(field.name()).is_none())
        .filter(is_own)
        .cloned()
        .collect();
    let same = |field: &&FieldRef| {
        let mut columns = known.fields().iter();
        columns.any(|column| column.name.eq_ignore_ascii_case(field.name()))
    };
    if let Some(field) = new.iter().find(same) {
        return plan_err!(
            "MERGE INTO {}: the column `{}` of the source differs from one of the table in upper and lower case only: rename it",
            provider.table().name(),
            field.name()
        );
    }
    if new.is_empty() {
        return Ok((provider, scan));
    }
    let columns = schema_from_arrow(&ArrowSchema::new(new)).map_err(external)?;
    let extended = provider.with_new_columns(&columns)?;
    let scan = plain::over_places(scan, &extended)?;
    Ok((extended, scan))
}

/// The column of the source for each column of the table, by name; `None` where the source has none and may have none.
fn of_source(
    provider: &IcebergTableProvider,
    source: &LogicalPlan,
    may_lack: bool,
) -> Result<Vec<Option<Expr>>> {
    let table = provider.table();
    let columns = table.schema().fields().iter().map(|column| {
        let mut found = source.schema().iter().filter(|(_, field)| *field.name() == column.name);
        match (found.next(), found.next()) {
            (Some(found), None) => Ok(Some(Expr::Column(Column::from(found)))),
            (None, _) if may_lack => Ok(None),
            (None, _) => plan_err!(
                "MERGE INTO {}: `*` takes each column from that of the source with its name, and the source has no `{}`: name \
                 the columns and their values",
                table.name(),
                column.name
            ),
            _ => plan_err!("MERGE INTO {}: the source has several columns `{}`", table.name(), column.name),
        }
    });
    columns.collect()
}

/// The plan of a MERGE of a source into a table.
///
/// # Errors
/// A clause that names columns of the side that its rows do not have.
pub(super) fn joined(
    clauses: Vec<(Rows, Clause)>,
    on: Expr,
    table: LogicalPlan,
    source: LogicalPlan,
    provider: IcebergTableProvider,
    name: TableReference,
) -> Result<ChangePlan> {
    for (rows, clause) in &clauses {
        let (absent, side, which) = match rows {
            Rows::Matched => continue,
            Rows::New => (table.schema(), "the table", "WHEN NOT MATCHED"),
            Rows::Unmatched => (source.schema(), "the source", "WHEN NOT MATCHED BY SOURCE"),
        };
        let values: Vec<&Expr> = match &clause.change {
            Change::Delete => vec![],
            Change::Update(values) => values.iter().flatten().collect(),
            Change::Insert(values) => values.iter().collect(),
        };
        for expr in clause.condition.iter().chain(values) {
            if let Some(column) = named_column(expr, absent)? {
                return plan_err!(
                    "MERGE INTO {name}: {which} is for rows that {side} does not have, but names its column `{column}`"
                );
            }
        }
    }
    let any = |wanted: Rows| clauses.iter().any(|(rows, _)| *rows == wanted);
    let (new, unmatched) = (any(Rows::New), any(Rows::Unmatched));
    let join_type = match (new, unmatched) {
        (false, false) => JoinType::Inner,
        (true, false) => JoinType::Left,
        (false, true) => JoinType::Right,
        (true, true) => JoinType::Full,
    };
    let place = match table.schema().iter().find(|(_, field)| field.name() == POS) {
        Some(found) => Expr::Column(Column::from(found)),
        None => return plan_err!("MERGE INTO {name}: the scan of the table does not tell where rows are"),
    };
    let key = columns_of(&on, &provider);
    let source = match unmatched {
        true => marked(source)?,
        false => source,
    };
    let of_source = Expr::Column(Column::new_unqualified(SOURCE));
    let rows = LogicalPlanBuilder::from(source)
        .join_on(table, join_type, [on])?
        .build()?;
    // A single DELETE of what matches does not mind what it is matched by.
    let mut matched = clauses.iter().filter(|(rows, _)| *rows == Rows::Matched);
    let only_deletes = matches!(
        (matched.next(), matched.next()),
        (None, _)
            | (
                Some((
                    _,
                    Clause {
                        condition: None,
                        change: Change::Delete
                    }
                )),
                None
            )
    );
    let clauses = clauses.into_iter().map(|(rows, clause)| {
        let in_table = new.then(|| place.clone().is_not_null());
        let in_source = unmatched.then(|| of_source.clone().is_not_null());
        let is_such = match rows {
            Rows::Matched => in_table.into_iter().chain(in_source).reduce(Expr::and),
            Rows::New => Some(place.clone().is_null()),
            Rows::Unmatched => Some(of_source.clone().is_null()),
        };
        Clause {
            condition: is_such.into_iter().chain(clause.condition).reduce(Expr::and),
            change: clause.change,
        }
    });
    Ok(ChangePlan {
        statement: Changing::Merge,
        provider,
        name,
        rows,
        clauses: clauses.collect(),
        unique: !only_deletes,
        key,
        deleted: None,
        unseen: false,
    })
}

/// The source with a column that is set in all of its rows.
fn marked(source: LogicalPlan) -> Result<LogicalPlan> {
    let mut exprs: Vec<Expr> = source.schema().columns().into_iter().map(Expr::Column).collect();
    exprs.push(lit(true).alias(SOURCE));
    Ok(LogicalPlan::Projection(Projection::try_new(
        exprs,
        Arc::new(source),
    )?))
}

/// A column of a schema that an expression names, also from within a subquery.
fn named_column(expr: &Expr, schema: &DFSchema) -> Result<Option<Column>> {
    let mut found = None;
    let mut look = |column: &Column| {
        if schema.has_column(column) {
            found = Some(column.clone());
        }
    };
    expr.apply(|part| {
        match part {
            Expr::Column(column) => look(column),
            Expr::ScalarSubquery(subquery) => outer(&subquery.outer_ref_columns, &mut look),
            Expr::Exists(exists) => outer(&exists.subquery.outer_ref_columns, &mut look),
            Expr::InSubquery(of) => outer(&of.subquery.outer_ref_columns, &mut look),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

fn outer(columns: &[Expr], look: &mut impl FnMut(&Column)) {
    for column in columns {
        if let Expr::OuterReferenceColumn(_, column) = column {
            look(column);
        }
    }
}

/// The columns of the table that a condition names.
pub(super) fn columns_of(condition: &Expr, provider: &IcebergTableProvider) -> Vec<String> {
    let mut names: Vec<String> = condition
        .column_refs()
        .into_iter()
        .map(|column| column.name.clone())
        .collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| {
        provider
            .table()
            .schema()
            .as_struct()
            .field_by_name(name)
            .is_some()
    });
    names
}

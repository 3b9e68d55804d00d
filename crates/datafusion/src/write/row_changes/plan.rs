//! A statement that changes rows as a relational plan over them.
//!
//! ```text
//! Dml                                    what IcebergWriteExec and IcebergCommitExec become of
//!   Projection                           the new row, the action, the place of the old row
//!     Filter                             rows for which no clause holds stay as they are
//!       Projection                       the first clause that holds
//!         the table, joined and filtered
//! ```

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, TableReference, internal_err, plan_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::conditional_expressions::CaseBuilder;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    BinaryExpr, DmlStatement, Expr, ExprSchemable, Filter, LogicalPlan, Operator, Projection, WriteOp, lit,
};
use drumlin_table::arrow::column_to_arrow;
use drumlin_table::row_changes::{RowChangeProperties, Statement};

use super::columns::{Action, ChangeColumns};
use super::scan::{ChangedRows, FILE, POS, ROW_ID};
use super::sink::ChangeSink;
use crate::IcebergTableProvider;
use crate::error::external;
use crate::write::insert::assign;

/// The number of the clause that holds.
const CLAUSE: &str = "drumlin$clause";

/// What happens to a row.
const ACTION: &str = "drumlin$action";

/// What is done to a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// It is deleted.
    Delete,
    /// It is replaced. For each column of the table its new value; `None` leaves it as it is.
    Update(Vec<Option<Expr>>),
    /// A row that is in the table not yet: the value of each column.
    Insert(Vec<Expr>),
}

/// A change of the rows for which a condition holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Clause {
    /// `None`: of all rows.
    pub(crate) condition: Option<Expr>,
    pub(crate) change: Change,
}

/// A statement that changes rows.
#[derive(Debug)]
pub(crate) struct ChangePlan {
    pub(crate) statement: Statement,
    /// The table, with its write target.
    pub(crate) provider: IcebergTableProvider,
    /// How `EXPLAIN` calls it.
    pub(crate) name: TableReference,
    /// Rows of a scan of the table that was made by
    /// [`changing_rows`](IcebergTableProvider::changing_rows), joined with whatever decides about them.
    pub(crate) rows: LogicalPlan,
    /// The first one that holds is carried out.
    pub(crate) clauses: Vec<Clause>,
    /// Whether a row of the table that is changed twice is an error.
    pub(crate) unique: bool,
    /// Columns of the table that say which row it is, for that error.
    pub(crate) key: Vec<String>,
    /// The condition of a DELETE that nothing but the row decides.
    pub(crate) deleted: Option<Expr>,
    /// Whether the rows come from where it cannot be seen that the table is read, too.
    pub(crate) unseen: bool,
}

impl ChangePlan {
    /// The plan of the statement.
    ///
    /// # Errors
    /// A value that may not be stored in its column, a property of the table that cannot be followed.
    pub(crate) fn build(self, config: &ConfigOptions) -> Result<LogicalPlan> {
        let table = self.provider.table().clone();
        let properties = RowChangeProperties::of(table.metadata(), self.statement).map_err(external)?;
        let rows = match &self.deleted {
            Some(condition) => with_condition(self.rows.clone(), condition)?,
            None => self.rows.clone(),
        };
        let place = place_qualifier(&rows)?;
        refuse_confusable(&rows, place.as_ref(), self.statement)?;
        let mut clauses = self.clauses;
        // What follows a clause without a condition is never reached.
        if let Some(last) = clauses.iter().position(|clause| clause.condition.is_none()) {
            clauses.truncate(last + 1);
        }
        refuse_predicate_subqueries(&clauses, self.statement)?;
        let (rows, several) = match clauses.as_slice() {
            [Clause { condition: None, .. }] => (rows, false),
            [
                Clause {
                    condition: Some(holds),
                    ..
                },
            ] => (
                LogicalPlan::Filter(Filter::try_new(holds.clone(), Arc::new(rows))?),
                false,
            ),
            clauses => (with_clause(rows, clauses)?, true),
        };
        let of_place = |name: &str| Expr::Column(Column::new(place.clone(), name));
        let writes = clauses.iter().any(|clause| clause.change != Change::Delete);
        let versions = table.metadata().format_version() >= 3;
        let columns = ChangeColumns {
            table_columns: if writes { table.schema().fields().len() } else { 0 },
            row_id: writes && versions,
            unique: self.unique,
        };
        let mut exprs = Vec::new();
        if writes {
            for (index, column) in table.schema().fields().iter().enumerate() {
                let mut values = Vec::new();
                for clause in &clauses {
                    let value = match &clause.change {
                        Change::Delete => None,
                        Change::Update(values) => match values.get(index) {
                            Some(Some(value)) => Some(value.clone()),
                            _ => Some(of_place(&column.name)),
                        },
                        Change::Insert(values) => values.get(index).cloned(),
                    };
                    let value = value.map(|value| assign(value, rows.schema(), column, table.name(), config));
                    values.push(value.transpose()?);
                }
                let none = ScalarValue::try_new_null(column_to_arrow(column).data_type())?;
                exprs.push(by_clause(values, several, lit(none))?.alias(&column.name));
            }
        }
        let action = |clause: &Clause| {
            let action = match clause.change {
                Change::Delete => Action::Delete,
                Change::Update(_) => Action::Update,
                Change::Insert(_) => Action::Insert,
            };
            Some(lit(action as i32))
        };
        let actions = clauses.iter().map(action).collect();
        exprs.push(by_clause(actions, several, lit(Action::Delete as i32))?.alias(ACTION));
        exprs.push(of_place(FILE).alias(FILE));
        exprs.push(of_place(POS).alias(POS));
        if columns.row_id {
            exprs.push(of_place(ROW_ID).alias(ROW_ID));
        }
        let input = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(rows))?);
        refuse_lost_nulls(&input, self.statement)?;
        // Subqueries in the new values read it, too.
        let reads_elsewhere = self.unseen || reads(&input, &self.provider)?;
        let sink = ChangeSink {
            provider: self.provider,
            schema: Arc::new(input.schema().as_arrow().clone()),
            columns,
            properties,
            reads_elsewhere,
            key: self.key,
        };
        Ok(LogicalPlan::Dml(DmlStatement::new(
            self.name,
            provider_as_source(Arc::new(sink)),
            WriteOp::Insert(InsertOp::Append),
            Arc::new(input),
        )))
    }
}

/// Refuses `IN (SELECT …)` and `EXISTS` where a value is asked for and not a filter: DataFusion has no plan for it, and says so
/// much later and in other words.
fn refuse_predicate_subqueries(clauses: &[Clause], statement: Statement) -> Result<()> {
    let conditions = clauses.iter().filter_map(|clause| clause.condition.as_ref());
    let values = clauses.iter().flat_map(|clause| match &clause.change {
        Change::Delete => Vec::new(),
        Change::Update(values) => values.iter().flatten().collect(),
        Change::Insert(values) => values.iter().collect::<Vec<_>>(),
    });
    // A single condition is a filter.
    let single = clauses.len() == 1;
    for expr in conditions.filter(|_| !single).chain(values) {
        let found = expr.exists(|part| {
            Ok(matches!(
                part,
                Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_)
            ))
        })?;
        if found {
            return plan_err!(
                "{}: IN (SELECT …), EXISTS, ANY and ALL are possible in WHERE, and in WHEN where there is one clause, not in \
                 values and among several clauses; join the subquery, or use a scalar one such as (SELECT count(*) …) > 0",
                statement.to_string().to_uppercase()
            );
        }
    }
    Ok(())
}

/// Refuses `IN (SELECT …)` where its being unknown makes a difference and DataFusion 55.2 loses it: below OR and the like it becomes
/// a mark join, which is FALSE where the value or the subquery holds NULL. So `a > 5 OR a NOT IN (SELECT …)` would change rows
/// that it must not. `NOT IN` as a condition of its own, or combined with others by AND, is right.
fn refuse_lost_nulls(plan: &LogicalPlan, statement: Statement) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        let condition = match node {
            LogicalPlan::Filter(filter) => Some((&filter.predicate, filter.input.schema())),
            // Parts of it become filters below the join.
            LogicalPlan::Join(join) => join.filter.as_ref().map(|filter| (filter, &join.schema)),
            _ => None,
        };
        let Some((condition, schema)) = condition else {
            return Ok(TreeNodeRecursion::Continue);
        };
        for condition in split_conjunction(condition) {
            let whole = match condition {
                Expr::Not(inner) => inner,
                other => other,
            };
            let alone = matches!(whole, Expr::InSubquery(_));
            if !alone && loses_nulls(condition, schema)? {
                return plan_err!(
                    "{}: `{condition}`: IN (SELECT …) that may be NULL is possible as a condition of its own, combined with others \
                     by AND, or, not negated, by OR; elsewhere DataFusion takes NULL for FALSE. Use [NOT] EXISTS, or leave NULLs \
                     out",
                    statement.to_string().to_uppercase()
                );
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(|_| ())
}

/// Whether an `IN (SELECT …)` in a condition can be NULL at a place where that is not the same as FALSE.
fn loses_nulls(condition: &Expr, schema: &DFSchema) -> Result<bool> {
    match condition {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::And | Operator::Or,
            right,
        }) => Ok(loses_nulls(left, schema)? || loses_nulls(right, schema)?),
        Expr::IsTrue(inner) => loses_nulls(inner, schema),
        Expr::InSubquery(of) if !of.negated => Ok(false),
        other => other.exists(|part| match part {
            Expr::InSubquery(of) => {
                let values = of.subquery.subquery.schema().fields().iter();
                let subquery = values.into_iter().any(|field| field.is_nullable());
                Ok(subquery || of.expr.nullable(schema).unwrap_or(true))
            }
            _ => Ok(false),
        }),
    }
}

/// What qualifies the columns of the changed table.
fn place_qualifier(rows: &LogicalPlan) -> Result<Option<TableReference>> {
    let mut found = rows.schema().iter().filter(|(_, field)| field.name() == POS);
    match (found.next(), found.next()) {
        (Some((qualifier, _)), None) => Ok(qualifier.cloned()),
        (None, _) => internal_err!("the rows do not tell where they are"),
        _ => internal_err!("several tables are changed at once"),
    }
}

/// Refuses tables beside the changed one that DataFusion cannot tell from it: it compares `t` and `s.t` by what both say, and takes
/// a column of either for one of the first.
fn refuse_confusable(rows: &LogicalPlan, place: Option<&TableReference>, statement: Statement) -> Result<()> {
    let Some(place) = place else {
        return Ok(());
    };
    let confusable =
        |other: &&TableReference| *other != place && (other.resolved_eq(place) || place.resolved_eq(other));
    let mut qualifiers = rows.schema().iter().filter_map(|(qualifier, _)| qualifier);
    match qualifiers.find(confusable) {
        Some(other) => plan_err!(
            "{}: columns of `{place}` and `{other}` cannot be told apart: give one of them another alias",
            statement.to_string().to_uppercase()
        ),
        None => Ok(()),
    }
}

/// The rows with the number of the first clause that holds, without those for which none does.
fn with_clause(rows: LogicalPlan, clauses: &[Clause]) -> Result<LogicalPlan> {
    let mut number = CaseBuilder::new(None, vec![], vec![], None);
    let mut otherwise = None;
    for (index, clause) in clauses.iter().enumerate() {
        let index = lit(i32::try_from(index).unwrap_or(i32::MAX));
        match &clause.condition {
            Some(condition) => number = number.when(condition.clone(), index),
            None => otherwise = Some(index),
        }
    }
    let number = match otherwise {
        Some(index) => number.otherwise(index)?,
        None => number.end()?,
    };
    let mut exprs: Vec<Expr> = rows.schema().columns().into_iter().map(Expr::Column).collect();
    exprs.push(number.alias(CLAUSE));
    let numbered = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(rows))?);
    let holds = Expr::Column(Column::new_unqualified(CLAUSE)).is_not_null();
    Ok(LogicalPlan::Filter(Filter::try_new(holds, Arc::new(numbered))?))
}

/// The value that belongs to the clause of a row.
fn by_clause(values: Vec<Option<Expr>>, several: bool, none: Expr) -> Result<Expr> {
    if !several {
        return Ok(values.into_iter().flatten().next().unwrap_or(none));
    }
    let mut numbered = values
        .iter()
        .enumerate()
        .filter_map(|(i, v)| Some((i, v.as_ref()?)));
    let Some((_, first)) = numbered.next() else {
        return Ok(none);
    };
    // The same for all clauses: no need to ask which.
    if values.iter().all(|value| value.as_ref() == Some(first)) {
        return Ok(first.clone());
    }
    let clause = Box::new(Expr::Column(Column::new_unqualified(CLAUSE)));
    let mut value = CaseBuilder::new(Some(clause), vec![], vec![], None);
    for (index, of) in values.iter().enumerate() {
        if let Some(of) = of {
            value = value.when(lit(i32::try_from(index).unwrap_or(i32::MAX)), of.clone());
        }
    }
    value.otherwise(none)
}

/// Tells the scan of the changed table the condition by which rows are deleted.
fn with_condition(rows: LogicalPlan, condition: &Expr) -> Result<LogicalPlan> {
    let told = rows.transform_down(|node| match node {
        LogicalPlan::TableScan(mut scan) => {
            let provider = source_as_provider(&scan.source)?;
            match provider.downcast_ref::<IcebergTableProvider>() {
                Some(table) if table.changed_rows().is_some() => {
                    let deleted = Some(condition.clone());
                    let table = table.with_changed_rows(ChangedRows { deleted });
                    scan.source = provider_as_source(Arc::new(table));
                    Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
                }
                _ => Ok(Transformed::no(LogicalPlan::TableScan(scan))),
            }
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(told.data)
}

/// Whether a plan reads a table, at whatever version, otherwise than to change its rows.
pub(crate) fn reads(plan: &LogicalPlan, table: &IcebergTableProvider) -> Result<bool> {
    let id = table.table().metadata().table_uuid();
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
            && let Some(read) = provider.downcast_ref::<IcebergTableProvider>()
            && read.changed_rows().is_none()
            && read.table().metadata().table_uuid() == id
        {
            found = true;
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

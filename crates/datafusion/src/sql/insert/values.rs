//! VALUES, each read by the type of the column that it goes to.

use std::ops::ControlFlow;

use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr as PlanExpr, LogicalPlan, lit};
use datafusion::sql::sqlparser::ast::{
    Expr, ExprWithAlias, Query, SetExpr, Value, visit_expressions, visit_relations,
};
use drumlin_format::types::NestedField;

use crate::sql::constant::number;
use crate::write::assignment::decimal;
use crate::write::{default_value, store_values};

/// Takes the rows, if the query is VALUES and nothing else: one row of one value stays, to be planned in their place.
pub(super) fn take(query: &mut Query) -> Option<Vec<Vec<Expr>>> {
    if query.with.is_some()
        || query.order_by.is_some()
        || query.limit_clause.is_some()
        || query.fetch.is_some()
        || !query.pipe_operators.is_empty()
    {
        return None;
    }
    let SetExpr::Values(values) = query.body.as_mut() else {
        return None;
    };
    // Subqueries and parameters are for DataFusion's planner.
    let simple = values
        .rows
        .iter()
        .flat_map(|row| row.content.iter())
        .all(is_simple);
    if !simple {
        return None;
    }
    let rows = values.rows.iter().map(|row| row.content.clone()).collect();
    values.rows.truncate(1);
    if let Some(row) = values.rows.first_mut() {
        row.content = vec![Expr::value(Value::Null)];
    }
    Some(rows)
}

fn is_simple(expr: &Expr) -> bool {
    let no_tables = visit_relations(expr, |_| ControlFlow::Break(())).is_continue();
    let no_parts = visit_expressions(expr, |part: &Expr| {
        let planned_elsewhere = match part {
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => true,
            Expr::Value(value) => matches!(value.value, Value::Placeholder(_)),
            _ => false,
        };
        match planned_elsewhere {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    no_tables && no_parts.is_continue()
}

/// The plan of rows for these columns. `DEFAULT` is the default of its column.
///
/// # Errors
/// A value that may not be stored in its column.
pub(super) fn plan(
    rows: &[Vec<Expr>],
    columns: &[&NestedField],
    table: &str,
    state: &SessionState,
) -> Result<LogicalPlan> {
    let empty = DFSchema::empty();
    let value = |expr: &Expr, column: Option<&&NestedField>| -> Result<PlanExpr> {
        if let Some(column) = column {
            if is_default(expr) {
                return Ok(lit(default_value(column, table)?));
            }
            // As written: a literal with a point is a floating-point number to the planner.
            if let Some(exact) = number(expr).and_then(|number| decimal(&number, &column.field_type)) {
                return Ok(lit(exact));
            }
        }
        let expr = expr.clone();
        state.create_logical_expr_from_sql_expr(ExprWithAlias { expr, alias: None }, &empty)
    };
    let rows = rows
        .iter()
        .map(|row| {
            let values = row.iter().enumerate();
            values.map(|(i, expr)| value(expr, columns.get(i))).collect()
        })
        .collect::<Result<Vec<Vec<_>>>>()?;
    store_values(rows, columns, table, state.config_options())
}

/// Whether a value is the word DEFAULT.
pub(in crate::sql) fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("DEFAULT"))
}

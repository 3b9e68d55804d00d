//! Expressions that are one value.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, Volatility};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, ExprWithAlias};

/// The value of an expression without columns.
///
/// # Errors
/// The expression has columns or parameters, or gives another value each time.
pub(super) fn constant(expr: SqlExpr, state: &SessionState) -> Result<ScalarValue> {
    let written = expr.to_string();
    let planned =
        state.create_logical_expr_from_sql_expr(ExprWithAlias { expr, alias: None }, &DFSchema::empty())?;
    let mut fixed = true;
    planned.apply(|node| {
        if let Expr::ScalarFunction(call) = node
            && call.func.signature().volatility != Volatility::Immutable
        {
            fixed = false;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !fixed {
        return plan_err!("expected a constant, but `{written}` is another value each time");
    }
    let context = SimplifyContext::builder()
        .with_config_options(Arc::clone(state.config_options()))
        .build();
    match ExprSimplifier::new(context).simplify(planned)? {
        Expr::Literal(value, _) => Ok(value),
        _ => plan_err!("expected a constant, found `{written}`"),
    }
}

/// The number that an expression is as it was written, with its sign.
pub(super) fn number(expr: &SqlExpr) -> Option<String> {
    use datafusion::sql::sqlparser::ast::{UnaryOperator, Value};
    match expr {
        SqlExpr::Value(value) => match &value.value {
            Value::Number(text, _) => Some(text.clone()),
            _ => None,
        },
        SqlExpr::UnaryOp { op, expr } => {
            let text = number(expr)?;
            match op {
                UnaryOperator::Plus => Some(text),
                UnaryOperator::Minus => match text.strip_prefix('-') {
                    Some(positive) => Some(positive.to_string()),
                    None => Some(format!("-{text}")),
                },
                _ => None,
            }
        }
        SqlExpr::Nested(inner) => number(inner),
        _ => None,
    }
}

//! Filters of DataFusion as predicates over field ids.
//!
//! The predicate decides which files are read, so it may be wider than the filter, never narrower. What has no
//! predicate is left out where that can only keep more rows: on its own, or under AND. Under NOT only what converts
//! exactly may be used, since the opposite of something wider is something narrower.

mod column;
mod comparison;
mod leaf;

#[cfg(test)]
mod tests;

use datafusion::logical_expr::{Expr, Operator};
use drumlin_format::schema::Schema;
use drumlin_table::predicate::Predicate;

/// A predicate that keeps every row that all filters keep.
pub fn to_predicate(filters: &[Expr], schema: &Schema) -> Predicate {
    Predicate::all(filters.iter().map(|f| wider(f, schema)))
}

/// A predicate that is TRUE, FALSE and unknown where the condition is, if there is one.
pub fn to_exact_predicate(condition: &Expr, schema: &Schema) -> Option<Predicate> {
    exact(condition, schema)
}

/// Keeps every row that the filter keeps, perhaps more.
fn wider(filter: &Expr, schema: &Schema) -> Predicate {
    match filter {
        Expr::Alias(alias) => wider(&alias.expr, schema),
        Expr::BinaryExpr(binary) if binary.op == Operator::And => {
            wider(&binary.left, schema).and(wider(&binary.right, schema))
        }
        Expr::BinaryExpr(binary) if binary.op == Operator::Or => {
            wider(&binary.left, schema).or(wider(&binary.right, schema))
        }
        // TRUE in both where it is TRUE; that it is FALSE and not unknown elsewhere makes no difference here.
        Expr::IsTrue(inner) => wider(inner, schema),
        Expr::IsFalse(inner) => exact(inner, schema).map_or(Predicate::AlwaysTrue, Predicate::negate),
        other => exact(other, schema)
            .or_else(|| leaf::wider(other, schema))
            .unwrap_or(Predicate::AlwaysTrue),
    }
}

/// Is TRUE, FALSE and unknown where the filter is; `None` if there is no such predicate.
fn exact(filter: &Expr, schema: &Schema) -> Option<Predicate> {
    match filter {
        Expr::Alias(alias) => exact(&alias.expr, schema),
        Expr::BinaryExpr(binary) if binary.op == Operator::And => {
            Some(exact(&binary.left, schema)?.and(exact(&binary.right, schema)?))
        }
        Expr::BinaryExpr(binary) if binary.op == Operator::Or => {
            Some(exact(&binary.left, schema)?.or(exact(&binary.right, schema)?))
        }
        Expr::Not(inner) => Some(exact(inner, schema)?.negate()),
        other => leaf::exact(other, schema),
    }
}

//! Conditions on one column.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{InList, Like, ScalarFunction};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use drumlin_format::schema::Schema;
use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value;
use drumlin_table::predicate::{Comparison, Predicate};

use super::column::{plain, scaled};
use super::comparison::{compare, of_operator};
use crate::scalar::from_scalar;

/// The predicate that is TRUE, FALSE and unknown where the condition is.
pub fn exact(filter: &Expr, schema: &Schema) -> Option<Predicate> {
    match filter {
        Expr::Literal(ScalarValue::Boolean(Some(true)), _) => Some(Predicate::AlwaysTrue),
        Expr::Literal(ScalarValue::Boolean(Some(false)), _) => Some(Predicate::AlwaysFalse),
        Expr::IsNull(inner) => Some(Predicate::is_null(plain(inner, schema)?)),
        Expr::IsNotNull(inner) => Some(Predicate::not_null(plain(inner, schema)?)),
        Expr::BinaryExpr(binary) => comparison(binary, schema),
        Expr::Between(between) => self::between(between, schema),
        Expr::InList(list) => in_list(list, schema),
        Expr::Like(like) => match self::like(like, schema)? {
            (predicate, true) if like.negated => Some(predicate.negate()),
            (predicate, true) => Some(predicate),
            (_, false) => None,
        },
        Expr::ScalarFunction(function) => {
            self::function(function, schema).or_else(|| boolean(filter, schema))
        }
        Expr::Column(_) => boolean(filter, schema),
        _ => None,
    }
}

/// A predicate that keeps every row that the condition keeps, for conditions that have no exact one.
pub fn wider(filter: &Expr, schema: &Schema) -> Option<Predicate> {
    match filter {
        // A null among the values keeps no row by itself.
        Expr::InList(list) if !list.negated => {
            let not_null = |e: &&Expr| !matches!(e, Expr::Literal(v, _) if v.is_null());
            values_in(list, schema, list.list.iter().filter(not_null))
        }
        Expr::Like(like) if !like.negated => self::like(like, schema).map(|(predicate, _)| predicate),
        Expr::BinaryExpr(binary) if binary.op == Operator::IsNotDistinctFrom => {
            let equal = BinaryExpr::new(binary.left.clone(), Operator::Eq, binary.right.clone());
            comparison(&equal, schema)
        }
        _ => None,
    }
}

fn comparison(binary: &BinaryExpr, schema: &Schema) -> Option<Predicate> {
    let (column, operator, literal) = match (binary.left.as_ref(), binary.right.as_ref()) {
        (column, Expr::Literal(literal, _)) => (column, binary.op, literal),
        (Expr::Literal(literal, _), column) => (column, binary.op.swap()?, literal),
        _ => return None,
    };
    let (column, scale) = scaled(column, schema)?;
    compare(column, scale, of_operator(operator)?, literal)
}

fn between(between: &Between, schema: &Schema) -> Option<Predicate> {
    let (Expr::Literal(low, _), Expr::Literal(high, _)) = (between.low.as_ref(), between.high.as_ref())
    else {
        return None;
    };
    let (column, scale) = scaled(&between.expr, schema)?;
    let inside = compare(column.clone(), scale, Comparison::Ge, low)?.and(compare(
        column,
        scale,
        Comparison::Le,
        high,
    )?);
    Some(if between.negated { inside.negate() } else { inside })
}

fn in_list(list: &InList, schema: &Schema) -> Option<Predicate> {
    let found = values_in(list, schema, list.list.iter())?;
    Some(if list.negated { found.negate() } else { found })
}

fn values_in<'a>(
    list: &InList,
    schema: &Schema,
    values: impl Iterator<Item = &'a Expr>,
) -> Option<Predicate> {
    let column = plain(&list.expr, schema)?;
    let value = |e: &Expr| match e {
        Expr::Literal(literal, _) => from_scalar(literal, column.primitive()),
        _ => None,
    };
    let values = values.map(value).collect::<Option<Vec<_>>>()?;
    Some(Predicate::is_in(column, values))
}

/// The predicate of a LIKE that is not negated, and whether it is exact.
fn like(like: &Like, schema: &Schema) -> Option<(Predicate, bool)> {
    let Expr::Literal(pattern, _) = like.pattern.as_ref() else {
        return None;
    };
    let pattern = pattern.try_as_str().flatten()?;
    let column = plain(&like.expr, schema)?;
    if like.case_insensitive || like.escape_char.is_some() || *column.primitive() != PrimitiveType::String {
        return None;
    }
    let special = pattern.find(['%', '_', '\\']);
    let (prefix, rest) = pattern.split_at(special.unwrap_or(pattern.len()));
    match rest {
        "" => Some((Predicate::eq(column, Value::String(prefix.to_string())), true)),
        "%" if prefix.is_empty() => Some((Predicate::not_null(column), false)),
        "%" => Some((Predicate::starts_with(column, prefix), true)),
        _ if prefix.is_empty() => None,
        _ => Some((Predicate::starts_with(column, prefix), false)),
    }
}

fn function(function: &ScalarFunction, schema: &Schema) -> Option<Predicate> {
    match (function.name(), function.args.as_slice()) {
        ("isnan", [column]) => Some(Predicate::is_nan(plain(column, schema)?)),
        ("starts_with", [column, Expr::Literal(prefix, _)]) => {
            let column = plain(column, schema)?;
            let prefix = prefix.try_as_str().flatten()?;
            (*column.primitive() == PrimitiveType::String).then(|| Predicate::starts_with(column, prefix))
        }
        _ => None,
    }
}

/// A column of type boolean on its own.
fn boolean(filter: &Expr, schema: &Schema) -> Option<Predicate> {
    let column = plain(filter, schema)?;
    (*column.primitive() == PrimitiveType::Boolean).then(|| Predicate::eq(column, Value::Boolean(true)))
}

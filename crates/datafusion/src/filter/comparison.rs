//! Comparisons of a column, perhaps cast, with a literal.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value;
use drumlin_table::predicate::{Comparison, FieldRef, Predicate};

use super::column::Scale;
use crate::scalar::from_scalar;

/// The comparison of an operator, the column on the left.
pub fn of_operator(operator: Operator) -> Option<Comparison> {
    Some(match operator {
        Operator::Eq => Comparison::Eq,
        Operator::NotEq => Comparison::NotEq,
        Operator::Lt => Comparison::Lt,
        Operator::LtEq => Comparison::Le,
        Operator::Gt => Comparison::Gt,
        Operator::GtEq => Comparison::Ge,
        _ => return None,
    })
}

/// The predicate of `column <op> literal`, with the column under a cast of this scale.
pub fn compare(
    column: FieldRef,
    scale: Scale,
    comparison: Comparison,
    literal: &ScalarValue,
) -> Option<Predicate> {
    match scale {
        Scale::Same => {
            let value = from_scalar(literal, column.primitive())?;
            Some(Predicate::compare(column, comparison, value))
        }
        Scale::Times(factor) => finer(column, factor, comparison, count(literal)?),
        Scale::DividedBy(divisor) => coarser(column, divisor, comparison, count(literal)?),
    }
}

/// `column * factor <op> literal`.
fn finer(column: FieldRef, factor: i64, comparison: Comparison, literal: i64) -> Option<Predicate> {
    let floor = literal.div_euclid(factor);
    let comparison = if literal.rem_euclid(factor) == 0 {
        comparison
    } else {
        match comparison {
            // Between two values of the column: no value is equal, all that are not above the lower one are below.
            Comparison::Eq | Comparison::NotEq => return None,
            Comparison::Lt | Comparison::Le => Comparison::Le,
            Comparison::Gt | Comparison::Ge => Comparison::Gt,
        }
    };
    let value = of_column(floor, column.primitive())?;
    Some(Predicate::compare(column, comparison, value))
}

/// `floor(column / divisor) <op> literal`.
fn coarser(column: FieldRef, divisor: i64, comparison: Comparison, literal: i64) -> Option<Predicate> {
    let start = of_column(literal.checked_mul(divisor)?, column.primitive())?;
    let end = of_column(literal.checked_add(1)?.checked_mul(divisor)?, column.primitive())?;
    let on = || column.clone();
    Some(match comparison {
        Comparison::Eq => Predicate::ge(on(), start).and(Predicate::lt(on(), end)),
        Comparison::NotEq => Predicate::lt(on(), start).or(Predicate::ge(on(), end)),
        Comparison::Lt => Predicate::lt(on(), start),
        Comparison::Le => Predicate::lt(on(), end),
        Comparison::Gt => Predicate::ge(on(), end),
        Comparison::Ge => Predicate::ge(on(), start),
    })
}

/// A count of a date or timestamp column as its value.
fn of_column(count: i64, of: &PrimitiveType) -> Option<Value> {
    match of {
        PrimitiveType::Date => i32::try_from(count).ok().map(Value::Int),
        _ => Some(Value::Long(count)),
    }
}

/// The count of days or of units of time of a literal.
fn count(literal: &ScalarValue) -> Option<i64> {
    use ScalarValue as S;
    match literal {
        S::Date32(Some(v)) => Some(i64::from(*v)),
        S::TimestampSecond(Some(v), _)
        | S::TimestampMillisecond(Some(v), _)
        | S::TimestampMicrosecond(Some(v), _)
        | S::TimestampNanosecond(Some(v), _) => Some(*v),
        _ => None,
    }
}

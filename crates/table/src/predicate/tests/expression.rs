//! Filters with NOT, evaluated row by row in the three-valued logic of SQL: what the evaluators are held against.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::random::Random;
use super::*;

/// A row: field id and value.
pub type Row = BTreeMap<i32, Option<Value>>;

#[derive(Debug, Clone)]
pub enum Expression {
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
    Leaf(FieldRef, Condition),
}

/// How floats compare.
#[derive(Debug, Clone, Copy)]
pub enum Reading {
    /// The total order: bits decide.
    Arrow,
    /// Zeros are equal, NaNs too, NaN is the greatest.
    Java,
}

pub const READINGS: [Reading; 2] = [Reading::Arrow, Reading::Java];

impl Expression {
    pub fn to_predicate(&self) -> Predicate {
        match self {
            Self::Not(inner) => inner.to_predicate().negate(),
            Self::And(inner) => Predicate::all(inner.iter().map(Self::to_predicate)),
            Self::Or(inner) => Predicate::any(inner.iter().map(Self::to_predicate)),
            Self::Leaf(field, condition) => Predicate::Leaf(field.clone(), condition.clone()),
        }
    }

    /// `None` is unknown.
    pub fn holds(&self, row: &Row, reading: Reading) -> Option<bool> {
        match self {
            Self::Not(inner) => inner.holds(row, reading).map(|b| !b),
            Self::And(inner) => {
                let each: Vec<_> = inner.iter().map(|e| e.holds(row, reading)).collect();
                if each.contains(&Some(false)) {
                    Some(false)
                } else {
                    each.iter().all(Option::is_some).then_some(true)
                }
            }
            Self::Or(inner) => {
                let each: Vec<_> = inner.iter().map(|e| e.holds(row, reading)).collect();
                if each.contains(&Some(true)) {
                    Some(true)
                } else {
                    each.iter().all(Option::is_some).then_some(false)
                }
            }
            Self::Leaf(field, condition) => {
                condition_holds(condition, row[&field.field_id()].as_ref(), reading)
            }
        }
    }

    pub fn random(random: &mut Random, fields: &[FieldRef], seen: &[Row], depth: u32) -> Self {
        let several = |random: &mut Random| {
            let n = 2 + random.below(2);
            (0..n)
                .map(|_| Self::random(random, fields, seen, depth - 1))
                .collect()
        };
        match random.below(if depth == 0 { 1 } else { 5 }) {
            1 => Self::Not(Box::new(Self::random(random, fields, seen, depth - 1))),
            2 => Self::And(several(random)),
            3 => Self::Or(several(random)),
            _ => {
                let field = random.pick(fields).clone();
                let condition = random_condition(random, &field, seen);
                Self::Leaf(field, condition)
            }
        }
    }
}

/// Whether the rows that a predicate keeps are those of the reading.
pub fn keeps(predicate: &Predicate, row: &Row, reading: Reading) -> bool {
    match predicate {
        Predicate::AlwaysTrue => true,
        Predicate::AlwaysFalse => false,
        Predicate::And(inner) => inner.iter().all(|p| keeps(p, row, reading)),
        Predicate::Or(inner) => inner.iter().any(|p| keeps(p, row, reading)),
        Predicate::Leaf(field, condition) => {
            condition_holds(condition, row[&field.field_id()].as_ref(), reading) == Some(true)
        }
    }
}

fn random_condition(random: &mut Random, field: &FieldRef, seen: &[Row]) -> Condition {
    let literal = |random: &mut Random| {
        let from_row = (!seen.is_empty() && random.one_in(2))
            .then(|| random.pick(seen)[&field.field_id()].clone())
            .flatten();
        from_row.unwrap_or_else(|| random.value(field.primitive()))
    };
    let set = |random: &mut Random| {
        let n = 1 + random.below(3);
        ValueSet::new((0..n).map(|_| literal(random)).collect::<Vec<_>>())
    };
    let prefix = |random: &mut Random| match literal(random) {
        Value::String(s) => {
            let keep = random.below(4) as usize;
            s.chars().take(keep).collect()
        }
        _ => String::new(),
    };
    let comparisons = [
        Comparison::Eq,
        Comparison::NotEq,
        Comparison::Lt,
        Comparison::Le,
        Comparison::Gt,
        Comparison::Ge,
    ];
    match random.below(14) {
        0 => Condition::IsNull,
        1 => Condition::NotNull,
        2 => Condition::In(set(random)),
        3 => Condition::NotIn(set(random)),
        4 | 5 if field.primitive().is_floating() => {
            [Condition::IsNan, Condition::NotNan][random.below(2) as usize].clone()
        }
        4..=6 if *field.primitive() == PrimitiveType::String => Condition::StartsWith(prefix(random)),
        7..=9 if *field.primitive() == PrimitiveType::String => Condition::NotStartsWith(prefix(random)),
        _ => Condition::Compare(*random.pick(&comparisons), literal(random)),
    }
}

fn condition_holds(condition: &Condition, value: Option<&Value>, reading: Reading) -> Option<bool> {
    match condition {
        Condition::IsNull => return Some(value.is_none()),
        Condition::NotNull => return Some(value.is_some()),
        _ => {}
    }
    let value = value?;
    let is_in = |set: &ValueSet| {
        // A set forgets which NaN it was given; queries have the positive one.
        let nan = match value {
            Value::Float(_) => Value::Float(f32::NAN),
            _ => Value::Double(f64::NAN),
        };
        let nan = set.has_nan().then_some(&nan);
        set.values()
            .iter()
            .chain(nan)
            .any(|v| order(value, v, reading).is_eq())
    };
    let starts = |prefix: &str| matches!(value, Value::String(s) if s.starts_with(prefix));
    Some(match condition {
        Condition::IsNull | Condition::NotNull => unreachable!(),
        Condition::IsNan => value.is_nan(),
        Condition::NotNan => !value.is_nan(),
        Condition::Compare(comparison, literal) => comparison.holds(order(value, literal, reading)),
        Condition::In(set) => is_in(set),
        Condition::NotIn(set) => !is_in(set),
        Condition::StartsWith(prefix) => starts(prefix),
        Condition::NotStartsWith(prefix) => !starts(prefix),
    })
}

fn order(a: &Value, b: &Value, reading: Reading) -> Ordering {
    match (a, b, reading) {
        (Value::Float(a), Value::Float(b), Reading::Arrow) => a.total_cmp(b),
        (Value::Double(a), Value::Double(b), Reading::Arrow) => a.total_cmp(b),
        _ => match (a.is_nan(), b.is_nan()) {
            (false, false) => a.compare(b).unwrap(),
            (a, b) => a.cmp(&b),
        },
    }
}

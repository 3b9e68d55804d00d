//! Expressions and conditions: as SQL, and what they are on a row, by SQL's logic of three values.

use std::cmp::Ordering;
use std::fmt;

use super::value::{Cell, HOUR, Of, Row, Value, literal, typed_literal};

/// The table of a subquery as SQL names it; in all tables of a history it is the same.
pub const SOURCE_TABLE: &str = "shared.src";

/// The name of the target, in the schema of each of the tables of a history.
pub const TARGET: &str = "t";

/// The alias of the table of a subquery.
pub const INNER: &str = "q";

/// Whose column it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Target,
    Source,
    /// Of the table of a subquery.
    Inner,
}

/// The rows that a condition is held against.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    pub target: &'a [Cell],
    pub source: &'a [Cell],
    pub inner: &'a [Cell],
    pub relations: Rows<'a>,
}

/// The tables of subqueries.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    pub source: &'a [Row],
    /// Of the target, as they were before the statement.
    pub target: &'a [Row],
}

/// An expression with a value.
#[derive(Debug, Clone)]
pub enum Expr {
    Column {
        scope: Scope,
        place: usize,
        sql: String,
    },
    Literal(Cell, Of),
    /// `+`, `-`, `*` or `%` of an integer and a constant.
    Integer(Box<Expr>, char, i64),
    ToDouble(Box<Expr>),
    PlusHalf(Box<Expr>),
    Concat(Box<Expr>, Box<Expr>),
    Upper(Box<Expr>),
    /// That many days later.
    Later(Box<Expr>, i32),
    Coalesce(Box<Expr>, Box<Expr>),
    Case(Box<Cond>, Box<Expr>, Box<Expr>),
    /// The smallest, the largest or the number of the values of a subquery.
    Scalar(Aggregate, Box<Subquery>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    Min,
    Max,
    Count,
}

/// What is true, false or unknown.
#[derive(Debug, Clone)]
pub enum Cond {
    Known(Option<bool>),
    Compare(&'static str, Expr, Expr),
    /// `IS NULL`, or its contrary.
    Null(Expr, bool),
    In(Expr, Vec<Expr>, bool),
    Between(Expr, Expr, Expr, bool),
    Like(Expr, &'static str, bool),
    Not(Box<Cond>),
    And(Box<Cond>, Box<Cond>),
    Or(Box<Cond>, Box<Cond>),
    /// With what follows it: `IS TRUE` and the like.
    Is(Box<Cond>, &'static str),
    InQuery(Expr, Box<Subquery>, bool),
    Exists(Box<Subquery>, bool),
}

/// `SELECT column FROM … AS q WHERE filter`.
#[derive(Debug, Clone)]
pub struct Subquery {
    /// Of the target, else of the source table.
    pub of_target: bool,
    pub column: Expr,
    pub filter: Option<Cond>,
}

impl Expr {
    pub fn value(&self, at: At<'_>) -> Cell {
        match self {
            Self::Column { scope, place, .. } => match scope {
                Scope::Target => at.target[*place].clone(),
                Scope::Source => at.source[*place].clone(),
                Scope::Inner => at.inner[*place].clone(),
            },
            Self::Literal(cell, _) => cell.clone(),
            Self::Integer(a, operator, b) => {
                let a = a.value(at)?.integer();
                Some(Value::Int(match operator {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a % b,
                }))
            }
            Self::ToDouble(a) => Some(Value::Double(a.value(at)?.integer() as f64)),
            Self::PlusHalf(a) => match a.value(at)? {
                Value::Double(a) => Some(Value::Double(a + 0.5)),
                other => panic!("{other:?} is no double"),
            },
            Self::Concat(a, b) => Some(Value::Text(text(a.value(at)?) + &text(b.value(at)?))),
            Self::Upper(a) => Some(Value::Text(text(a.value(at)?).to_uppercase())),
            Self::Later(a, days) => Some(match a.value(at)? {
                Value::Date(a) => Value::Date(a + days),
                Value::Stamp(a) => Value::Stamp(a + i64::from(*days) * 24 * HOUR),
                other => panic!("{other:?} is no time"),
            }),
            Self::Coalesce(a, b) => a.value(at).or_else(|| b.value(at)),
            Self::Case(when, then, otherwise) => match when.holds(at) {
                true => then.value(at),
                false => otherwise.value(at),
            },
            Self::Scalar(aggregate, query) => {
                let values = query.values(at).into_iter().flatten();
                match aggregate {
                    Aggregate::Min => values.min_by(Value::compare),
                    Aggregate::Max => values.max_by(Value::compare),
                    Aggregate::Count => Some(Value::Int(i64::try_from(values.count()).unwrap())),
                }
            }
        }
    }
}

fn text(value: Value) -> String {
    match value {
        Value::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

impl Cond {
    /// Whether it is true, and not false or unknown.
    pub fn holds(&self, at: At<'_>) -> bool {
        self.truth(at) == Some(true)
    }

    pub fn truth(&self, at: At<'_>) -> Option<bool> {
        let negate = |truth: Option<bool>, negated: bool| truth.map(|truth| truth != negated);
        match self {
            Self::Known(truth) => *truth,
            Self::Compare(operator, a, b) => {
                let (a, b) = (a.value(at), b.value(at));
                match *operator {
                    "IS DISTINCT FROM" => Some(a != b),
                    "IS NOT DISTINCT FROM" => Some(a == b),
                    operator => Some(is(operator, a?.compare(&b?))),
                }
            }
            Self::Null(a, negated) => Some(a.value(at).is_none() != *negated),
            Self::In(a, list, negated) => {
                let list: Vec<Cell> = list.iter().map(|value| value.value(at)).collect();
                negate(is_in(a.value(at), &list), *negated)
            }
            Self::Between(a, low, high, negated) => {
                let a = a.value(at);
                let within = and(
                    compared(&a, ">=", &low.value(at)),
                    compared(&a, "<=", &high.value(at)),
                );
                negate(within, *negated)
            }
            Self::Like(a, pattern, negated) => {
                let text: Vec<char> = text(a.value(at)?).chars().collect();
                let pattern: Vec<char> = pattern.chars().collect();
                Some(is_like(&text, &pattern) != *negated)
            }
            Self::Not(a) => a.truth(at).map(|truth| !truth),
            Self::And(a, b) => and(a.truth(at), b.truth(at)),
            Self::Or(a, b) => {
                let not = |truth: Option<bool>| truth.map(|truth| !truth);
                not(and(not(a.truth(at)), not(b.truth(at))))
            }
            Self::Is(a, test) => {
                let truth = a.truth(at);
                Some(match *test {
                    "IS TRUE" => truth == Some(true),
                    "IS NOT TRUE" => truth != Some(true),
                    "IS FALSE" => truth == Some(false),
                    "IS NOT FALSE" => truth != Some(false),
                    "IS UNKNOWN" => truth.is_none(),
                    _ => truth.is_some(),
                })
            }
            Self::InQuery(a, query, negated) => negate(is_in(a.value(at), &query.values(at)), *negated),
            Self::Exists(query, negated) => Some(query.values(at).is_empty() == *negated),
        }
    }
}

impl Subquery {
    /// What it selects.
    fn values(&self, at: At<'_>) -> Vec<Cell> {
        let rows = match self.of_target {
            true => at.relations.target,
            false => at.relations.source,
        };
        let rows = rows.iter().map(|inner| At { inner, ..at });
        let kept = rows.filter(|at| self.filter.as_ref().is_none_or(|filter| filter.holds(*at)));
        kept.map(|at| self.column.value(at)).collect()
    }
}

fn compared(a: &Cell, operator: &str, b: &Cell) -> Option<bool> {
    Some(is(operator, a.as_ref()?.compare(b.as_ref()?)))
}

fn is(operator: &str, order: Ordering) -> bool {
    match operator {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        other => panic!("{other} is no comparison"),
    }
}

fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn is_in(value: Cell, list: &[Cell]) -> Option<bool> {
    if list.is_empty() {
        return Some(false);
    }
    let value = value?;
    if list.iter().flatten().any(|other| value.compare(other).is_eq()) {
        return Some(true);
    }
    (!list.contains(&None)).then_some(false)
}

fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|from| is_like(&text[from..], rest)),
        Some(('_', rest)) => text.split_first().is_some_and(|(_, text)| is_like(text, rest)),
        Some((one, rest)) => text
            .split_first()
            .is_some_and(|(first, text)| first == one && is_like(text, rest)),
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column { sql, .. } => f.write_str(sql),
            Self::Literal(cell, of) => f.write_str(&typed_literal(cell, *of)),
            Self::Integer(a, operator, b) => write!(f, "({a} {operator} {b})"),
            Self::ToDouble(a) => write!(f, "CAST({a} AS DOUBLE)"),
            Self::PlusHalf(a) => write!(f, "({a} + 0.5)"),
            Self::Concat(a, b) => write!(f, "({a} || {b})"),
            Self::Upper(a) => write!(f, "upper({a})"),
            Self::Later(a, days) => write!(f, "({a} + INTERVAL '{days} days')"),
            Self::Coalesce(a, b) => write!(f, "COALESCE({a}, {b})"),
            Self::Case(when, then, otherwise) => {
                write!(f, "CASE WHEN {when} THEN {then} ELSE {otherwise} END")
            }
            Self::Scalar(aggregate, query) => {
                let name = match aggregate {
                    Aggregate::Min => "min",
                    Aggregate::Max => "max",
                    Aggregate::Count => "count",
                };
                write!(f, "(SELECT {name}({}) {})", query.column, query.rest())
            }
        }
    }
}

impl fmt::Display for Cond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match self {
            Self::Known(Some(truth)) => write!(f, "{truth}"),
            Self::Known(None) => f.write_str("NULL"),
            Self::Compare(operator, a, b) => write!(f, "{a} {operator} {b}"),
            Self::Null(a, negated) => write!(f, "{a} IS {}NULL", not(negated)),
            Self::In(a, list, negated) => {
                let list: Vec<_> = list.iter().map(plain).collect();
                write!(f, "{a} {}IN ({})", not(negated), list.join(", "))
            }
            Self::Between(a, low, high, negated) => {
                write!(f, "{a} {}BETWEEN {low} AND {high}", not(negated))
            }
            Self::Like(a, pattern, negated) => {
                let pattern = Value::Text((*pattern).to_string()).sql(Of::Text);
                write!(f, "{a} {}LIKE {pattern}", not(negated))
            }
            Self::Not(a) => write!(f, "NOT ({a})"),
            Self::And(a, b) => write!(f, "({a}) AND ({b})"),
            Self::Or(a, b) => write!(f, "({a}) OR ({b})"),
            Self::Is(a, test) => write!(f, "({a}) {test}"),
            Self::InQuery(a, query, negated) => write!(f, "{a} {}IN ({query})", not(negated)),
            Self::Exists(query, negated) => write!(f, "{}EXISTS ({query})", not(negated)),
        }
    }
}

impl fmt::Display for Subquery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SELECT {} {}", self.column, self.rest())
    }
}

impl Subquery {
    fn rest(&self) -> String {
        let table = if self.of_target { TARGET } else { SOURCE_TABLE };
        match &self.filter {
            Some(filter) => format!("FROM {table} AS {INNER} WHERE {filter}"),
            None => format!("FROM {table} AS {INNER}"),
        }
    }
}

/// Without the type of a NULL.
pub fn plain(value: &Expr) -> String {
    match value {
        Expr::Literal(cell, of) => literal(cell, *of),
        other => other.to_string(),
    }
}

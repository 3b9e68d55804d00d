//! Predicates as text, for `EXPLAIN`, logs and errors: much like SQL, but not meant to be parsed.

use std::fmt::{self, Display, Formatter};

use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value;
use drumlin_format::value::text::to_text;

use super::partition::PartitionRef;
use super::{Comparison, Condition, FieldRef, Predicate, ValueSet};

/// Literals shown of a long list.
const SHOWN_LITERALS: usize = 10;

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "=",
            Self::NotEq => "<>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        })
    }
}

impl Display for Predicate<FieldRef> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_tree(self, f, &|field, condition, f| {
            write_leaf(field.name(), field.primitive(), condition, f)
        })
    }
}

impl Display for Predicate<PartitionRef> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_tree(self, f, &|field, condition, f| {
            write_leaf(field.name(), field.primitive(), condition, f)
        })
    }
}

type WriteLeaf<'a, F> = &'a dyn Fn(&F, &Condition, &mut Formatter<'_>) -> fmt::Result;

fn write_tree<F>(predicate: &Predicate<F>, f: &mut Formatter<'_>, leaf: WriteLeaf<'_, F>) -> fmt::Result {
    let (inner, word) = match predicate {
        Predicate::AlwaysTrue => return f.write_str("true"),
        Predicate::AlwaysFalse => return f.write_str("false"),
        Predicate::Leaf(field, condition) => return leaf(field, condition, f),
        Predicate::And(inner) => (inner, " AND "),
        Predicate::Or(inner) => (inner, " OR "),
    };
    f.write_str("(")?;
    for (i, predicate) in inner.iter().enumerate() {
        if i > 0 {
            f.write_str(word)?;
        }
        write_tree(predicate, f, leaf)?;
    }
    f.write_str(")")
}

fn write_leaf(
    name: &str,
    primitive: &PrimitiveType,
    condition: &Condition,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    match condition {
        Condition::IsNull => write!(f, "{name} IS NULL"),
        Condition::NotNull => write!(f, "{name} IS NOT NULL"),
        Condition::IsNan => write!(f, "isnan({name})"),
        Condition::NotNan => write!(f, "NOT isnan({name})"),
        Condition::Compare(comparison, v) => write!(f, "{name} {comparison} {}", literal(v, primitive)),
        Condition::In(set) => write!(f, "{name} IN ({})", literals(set, primitive)),
        Condition::NotIn(set) => write!(f, "{name} NOT IN ({})", literals(set, primitive)),
        Condition::StartsWith(prefix) => write!(f, "starts_with({name}, {})", quoted(prefix)),
        Condition::NotStartsWith(prefix) => write!(f, "NOT starts_with({name}, {})", quoted(prefix)),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn literal(value: &Value, primitive: &PrimitiveType) -> String {
    use PrimitiveType as P;
    match (value, primitive) {
        (Value::Bytes(_), P::Fixed(_) | P::Binary) => format!("X'{}'", to_text(value, primitive)),
        (Value::String(_) | Value::Bytes(_), _)
        | (_, P::Date | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs) => {
            quoted(&to_text(value, primitive))
        }
        _ => to_text(value, primitive),
    }
}

fn literals(set: &ValueSet, primitive: &PrimitiveType) -> String {
    let mut shown: Vec<String> = set
        .values()
        .iter()
        .take(SHOWN_LITERALS)
        .map(|v| literal(v, primitive))
        .collect();
    if set.has_nan() {
        shown.push("NaN".into());
    }
    if set.len() > shown.len() {
        shown.push(format!("... {} in all", set.len()));
    }
    shown.join(", ")
}

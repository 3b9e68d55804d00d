//! From predicates on columns to predicates on the partition values of a spec (§ Scan Planning).
//!
//! The inclusive projection is true for every partition that may hold a row to keep. The strict projection is true only
//! for partitions of which all rows are to be kept. Both go by what transforms keep: equality under all of them, order
//! under all but bucket, prefixes under the truncation of strings. What a partition field cannot tell — a removed source
//! column, an unknown or void transform, several arguments — projects to true (inclusive) or false (strict).

use drumlin_format::partition::PartitionSpec;
use drumlin_format::transform::Transform;
use drumlin_format::transform::apply::first_code_points;
use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value;

use super::partition::{PartitionPredicate, PartitionRef};
use super::{Comparison, Condition, FieldRef, Predicate, ValueSet};

/// The predicate that is true for every partition of the spec which may hold a row that `predicate` keeps.
pub fn project_inclusive(predicate: &Predicate, spec: &PartitionSpec) -> PartitionPredicate {
    predicate.map_leaves(&mut |field, condition| {
        Predicate::all(leaf_projections(field, condition, spec, inclusive))
    })
}

/// The predicate that is true only for partitions of the spec of which `predicate` keeps all rows.
pub fn project_strict(predicate: &Predicate, spec: &PartitionSpec) -> PartitionPredicate {
    predicate
        .map_leaves(&mut |field, condition| Predicate::any(leaf_projections(field, condition, spec, strict)))
}

type ProjectCondition = fn(&Transform, &Condition, &PrimitiveType) -> Option<Condition>;

/// What each partition field made from this field says about the condition.
fn leaf_projections(
    field: &FieldRef,
    condition: &Condition,
    spec: &PartitionSpec,
    project: ProjectCondition,
) -> Vec<PartitionPredicate> {
    let source = field.primitive();
    let of_field = spec
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, f)| f.source_id() == Some(field.field_id()));
    let projected = of_field.filter_map(|(position, partition)| {
        let primitive = partition.transform.result_type(source)?;
        let condition = project(&partition.transform, condition, source)?;
        let field = PartitionRef {
            position,
            primitive,
            name: partition.name.clone(),
        };
        Some(Predicate::Leaf(field, condition))
    });
    projected.collect()
}

fn inclusive(transform: &Transform, condition: &Condition, source: &PrimitiveType) -> Option<Condition> {
    match transform {
        Transform::Void | Transform::Unknown(_) => None,
        Transform::Identity => Some(condition.clone()),
        // Null becomes null under the transforms that are left, and nothing else does.
        _ if matches!(condition, Condition::IsNull | Condition::NotNull) => Some(condition.clone()),
        _ => match condition {
            Condition::Compare(Comparison::Eq, v) => {
                inclusive_set(transform, std::slice::from_ref(v), source).map(one_or_in)
            }
            Condition::In(set) => inclusive_set(transform, set.values(), source).map(Condition::In),
            Condition::Compare(comparison, v) if keeps_order(transform) => {
                inclusive_order(transform, *comparison, v, source)
            }
            Condition::StartsWith(prefix) => match Prefix::of(transform, prefix)? {
                Prefix::Shorter => Some(condition.clone()),
                Prefix::Full => Some(eq(prefix)),
                Prefix::Longer(cut) => Some(eq(cut)),
            },
            Condition::NotStartsWith(prefix) => match Prefix::of(transform, prefix)? {
                Prefix::Shorter => Some(condition.clone()),
                Prefix::Full => Some(not_eq(prefix)),
                Prefix::Longer(_) => None,
            },
            _ => None,
        },
    }
}

fn strict(transform: &Transform, condition: &Condition, source: &PrimitiveType) -> Option<Condition> {
    match transform {
        Transform::Void | Transform::Unknown(_) => None,
        Transform::Identity => Some(condition.clone()),
        _ if matches!(condition, Condition::IsNull | Condition::NotNull) => Some(condition.clone()),
        _ => match condition {
            // A value that differs after the transform differed before.
            Condition::Compare(Comparison::NotEq, v) => {
                inclusive_set(transform, std::slice::from_ref(v), source)
                    .map(|set| Condition::NotIn(set).simplified())
            }
            Condition::NotIn(set) => inclusive_set(transform, set.values(), source).map(Condition::NotIn),
            Condition::Compare(comparison, v) if keeps_order(transform) => {
                strict_order(transform, *comparison, v, source)
            }
            Condition::StartsWith(prefix) => match Prefix::of(transform, prefix)? {
                Prefix::Shorter => Some(condition.clone()),
                Prefix::Full => Some(eq(prefix)),
                Prefix::Longer(_) => None,
            },
            Condition::NotStartsWith(prefix) => match Prefix::of(transform, prefix)? {
                Prefix::Shorter => Some(condition.clone()),
                Prefix::Full => Some(not_eq(prefix)),
                Prefix::Longer(cut) => Some(not_eq(cut)),
            },
            _ => None,
        },
    }
}

fn keeps_order(transform: &Transform) -> bool {
    !matches!(transform, Transform::Bucket(_))
}

/// The partition values that rows with one of these source values may have.
fn inclusive_set(transform: &Transform, literals: &[Value], source: &PrimitiveType) -> Option<ValueSet> {
    let mut values = Vec::with_capacity(literals.len());
    for literal in literals {
        let value = transform.apply(Some(literal), source).ok()??;
        values.extend(stored_one_later(transform, &value, source));
        values.push(value);
    }
    Some(ValueSet::new(values))
}

/// Writers older than Java 0.10 truncated date parts toward zero: what is now year -1 they stored as 0. So a negative
/// value may stand in metadata as the next one. (Days of dates are not computed and were never wrong.)
fn stored_one_later(transform: &Transform, value: &Value, source: &PrimitiveType) -> Option<Value> {
    let affected = match transform {
        Transform::Year | Transform::Month | Transform::Hour => true,
        Transform::Day => *source != PrimitiveType::Date,
        _ => false,
    };
    match value {
        Value::Int(v) if affected && *v < 0 => v.checked_add(1).map(Value::Int),
        _ => None,
    }
}

fn inclusive_order(
    transform: &Transform,
    comparison: Comparison,
    literal: &Value,
    source: &PrimitiveType,
) -> Option<Condition> {
    // `< x` is `<= x - 1` for types that have a next lower value, and `<= x` still for those that have none.
    let (comparison, limit) = match comparison {
        Comparison::Lt => (Comparison::Le, step(literal, -1)),
        Comparison::Gt => (Comparison::Ge, step(literal, 1)),
        Comparison::Le | Comparison::Ge => (comparison, None),
        Comparison::Eq | Comparison::NotEq => return None,
    };
    let limit = limit.unwrap_or_else(|| literal.clone());
    let value = transform.apply(Some(&limit), source).ok()??;
    let value = match comparison {
        Comparison::Le => stored_one_later(transform, &value, source).unwrap_or(value),
        _ => value,
    };
    Some(Condition::Compare(comparison, value))
}

fn strict_order(
    transform: &Transform,
    comparison: Comparison,
    literal: &Value,
    source: &PrimitiveType,
) -> Option<Condition> {
    // `<= x` is `< x + 1` for types that have a next value. Without one, being below the partition of x is enough too.
    let (comparison, limit) = match comparison {
        Comparison::Le => (Comparison::Lt, step(literal, 1)),
        Comparison::Ge => (Comparison::Gt, step(literal, -1)),
        Comparison::Lt | Comparison::Gt => (comparison, None),
        Comparison::Eq | Comparison::NotEq => return None,
    };
    let limit = limit.unwrap_or_else(|| literal.clone());
    let value = transform.apply(Some(&limit), source).ok()??;
    let value = match comparison {
        Comparison::Gt => stored_one_later(transform, &value, source).unwrap_or(value),
        _ => value,
    };
    Some(Condition::Compare(comparison, value))
}

/// The value next to an integer one, in the unit of its type; `None` for strings and bytes, and at the end of the range.
fn step(value: &Value, by: i8) -> Option<Value> {
    Some(match value {
        Value::Int(v) => Value::Int(v.checked_add(by.into())?),
        Value::Long(v) => Value::Long(v.checked_add(by.into())?),
        Value::Decimal(v) => Value::Decimal(v.checked_add(by.into())?),
        _ => return None,
    })
}

/// How long a prefix is beside a truncated string, in code points.
enum Prefix<'a> {
    Shorter,
    Full,
    /// With what truncation leaves of it.
    Longer(&'a str),
}

impl<'a> Prefix<'a> {
    fn of(transform: &Transform, prefix: &'a str) -> Option<Self> {
        let Transform::Truncate(width) = transform else {
            return None;
        };
        let width = usize::try_from(*width).ok()?;
        let cut = first_code_points(prefix, width);
        Some(if cut.len() < prefix.len() {
            Self::Longer(cut)
        } else if prefix.chars().count() < width {
            Self::Shorter
        } else {
            Self::Full
        })
    }
}

fn eq(text: &str) -> Condition {
    Condition::Compare(Comparison::Eq, Value::String(text.to_owned()))
}

fn not_eq(text: &str) -> Condition {
    Condition::Compare(Comparison::NotEq, Value::String(text.to_owned()))
}

fn one_or_in(set: ValueSet) -> Condition {
    Condition::In(set).simplified()
}

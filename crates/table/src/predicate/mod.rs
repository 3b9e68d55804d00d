//! Predicates bound to field ids, and what metadata proves about them.
//!
//! A [`Predicate`] keeps a row if and only if it is TRUE for it, as `WHERE` of SQL does: every condition but
//! `IS NULL` and `IS NOT NULL` is unknown on a null, and unknown keeps no row. So `a <> 1` keeps no row where `a` is
//! null, other than in the expressions of the Java library, which count null as different from 1. A predicate holds
//! no NOT: [`Predicate::negate`] pushes it down to the conditions, because "may be true" cannot be negated, whereas
//! every condition has an exact opposite.
//!
//! Floating-point numbers: arrow compares them in the total order of IEEE 754 (`-NaN < -inf < … < -0.0 < 0.0 < … <
//! inf < NaN`, equal only if the bits are), the specification calls both zeros equal, and bounds never tell of NaN.
//! The evaluators say "cannot match" or "must match" only where both readings agree, whatever the sign of a NaN.
//!
//! | module | tells |
//! |---|---|
//! | [`inclusive`] | whether a file may hold a row that the predicate keeps, from its metrics |
//! | [`projection`] | what the predicate says about the partition values of a spec |
//! | [`partition`] | whether a partition, or a manifest by its summaries, may hold such a row |
//! | [`residual`] | what of the predicate is left to ask of the rows of a partition |
//! | [`strict`] | whether it keeps all rows of a file |

mod comparison;
mod condition;
mod display;
mod field;
mod files;
pub mod inclusive;
pub mod partition;
pub mod projection;
pub mod residual;
pub mod strict;

#[cfg(test)]
mod tests;

pub use condition::{Comparison, Condition, ValueSet};
pub use field::{FieldRef, NotFilterable};
pub use files::FilePredicate;
pub use inclusive::FileMetrics;
pub use partition::{PartitionPredicate, PartitionRef, PartitionSummary};
pub use residual::Residuals;

use drumlin_format::value::Value;

/// A boolean expression over fields of type `F`: columns of a table, or partition values of a spec.
///
/// The builders keep it flat and small: no AND directly in an AND, no constant below another node.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate<F = FieldRef> {
    /// Keeps every row.
    AlwaysTrue,
    /// Keeps no row.
    AlwaysFalse,
    /// Keeps the rows that all of these keep.
    And(Vec<Self>),
    /// Keeps the rows that one of these keeps.
    Or(Vec<Self>),
    /// A condition on one field.
    Leaf(F, Condition),
}

impl<F> Predicate<F> {
    /// Keeps the rows that both keep.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }

    /// Keeps the rows that one of them keeps.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::any([self, other])
    }

    /// Keeps the rows that all of them keep; every row for none.
    pub fn all(predicates: impl IntoIterator<Item = Self>) -> Self {
        let mut kept = Vec::new();
        for predicate in predicates {
            match predicate {
                Self::AlwaysTrue => {}
                Self::AlwaysFalse => return Self::AlwaysFalse,
                Self::And(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match kept.len() {
            0 | 1 => kept.pop().unwrap_or(Self::AlwaysTrue),
            _ => Self::And(kept),
        }
    }

    /// Keeps the rows that one of them keeps; no row for none.
    pub fn any(predicates: impl IntoIterator<Item = Self>) -> Self {
        let mut kept = Vec::new();
        for predicate in predicates {
            match predicate {
                Self::AlwaysFalse => {}
                Self::AlwaysTrue => return Self::AlwaysTrue,
                Self::Or(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match kept.len() {
            0 | 1 => kept.pop().unwrap_or(Self::AlwaysFalse),
            _ => Self::Or(kept),
        }
    }

    /// Keeps the rows for which this predicate is FALSE; where it is unknown neither keeps the row.
    ///
    /// Only an exact predicate may be negated: one that stands for a wider filter (a part of the filter was left out
    /// because it has no predicate) would drop rows.
    #[must_use]
    pub fn negate(self) -> Self {
        match self {
            Self::AlwaysTrue => Self::AlwaysFalse,
            Self::AlwaysFalse => Self::AlwaysTrue,
            Self::And(inner) => Self::any(inner.into_iter().map(Self::negate)),
            Self::Or(inner) => Self::all(inner.into_iter().map(Self::negate)),
            Self::Leaf(field, condition) => Self::Leaf(field, condition.negate()),
        }
    }

    /// The field is null.
    pub fn is_null(field: F) -> Self {
        Self::Leaf(field, Condition::IsNull)
    }

    /// The field is not null.
    pub fn not_null(field: F) -> Self {
        Self::Leaf(field, Condition::NotNull)
    }

    /// The floating-point field is NaN.
    pub fn is_nan(field: F) -> Self {
        Self::Leaf(field, Condition::IsNan)
    }

    /// The floating-point field is a number or infinite, and not null.
    pub fn not_nan(field: F) -> Self {
        Self::Leaf(field, Condition::NotNan)
    }

    /// The field compares so with a literal of its type.
    pub fn compare(field: F, comparison: Comparison, literal: Value) -> Self {
        Self::Leaf(field, Condition::Compare(comparison, literal))
    }

    /// The field equals the literal.
    pub fn eq(field: F, literal: Value) -> Self {
        Self::compare(field, Comparison::Eq, literal)
    }

    /// The field is not null and differs from the literal.
    pub fn not_eq(field: F, literal: Value) -> Self {
        Self::compare(field, Comparison::NotEq, literal)
    }

    /// The field is below the literal.
    pub fn lt(field: F, literal: Value) -> Self {
        Self::compare(field, Comparison::Lt, literal)
    }

    /// The field is below the literal or equal.
    pub fn le(field: F, literal: Value) -> Self {
        Self::compare(field, Comparison::Le, literal)
    }

    /// The field is above the literal.
    pub fn gt(field: F, literal: Value) -> Self {
        Self::compare(field, Comparison::Gt, literal)
    }

    /// The field is above the literal or equal.
    pub fn ge(field: F, literal: Value) -> Self {
        Self::compare(field, Comparison::Ge, literal)
    }

    /// The field equals one of the literals. Nulls among the literals of SQL are left out by the caller, who then must
    /// not negate the result: `a NOT IN (1, NULL)` keeps no row at all.
    pub fn is_in(field: F, literals: impl IntoIterator<Item = Value>) -> Self {
        let set = ValueSet::new(literals);
        match set.len() {
            0 => Self::AlwaysFalse,
            _ => Self::Leaf(field, Condition::In(set)),
        }
    }

    /// The field is not null and differs from all literals, of which there is at least one; for none it is
    /// [`not_null`](Self::not_null).
    pub fn not_in(field: F, literals: impl IntoIterator<Item = Value>) -> Self {
        let set = ValueSet::new(literals);
        match set.len() {
            0 => Self::not_null(field),
            _ => Self::Leaf(field, Condition::NotIn(set)),
        }
    }

    /// The text of the field starts with this prefix.
    pub fn starts_with(field: F, prefix: impl Into<String>) -> Self {
        Self::Leaf(field, Condition::StartsWith(prefix.into()))
    }

    /// The field is not null and its text does not start with this prefix.
    pub fn not_starts_with(field: F, prefix: impl Into<String>) -> Self {
        Self::Leaf(field, Condition::NotStartsWith(prefix.into()))
    }

    /// What is known of the predicate, given what is known of each of its conditions.
    pub(crate) fn verdict(&self, leaf: &mut impl FnMut(&F, &Condition) -> Verdict) -> Verdict {
        match self {
            Self::AlwaysTrue => Verdict::Always,
            Self::AlwaysFalse => Verdict::Never,
            Self::Leaf(field, condition) => leaf(field, condition),
            Self::And(inner) => {
                let mut least = Verdict::Always;
                for predicate in inner {
                    least = least.min(predicate.verdict(leaf));
                    if least == Verdict::Never {
                        break;
                    }
                }
                least
            }
            Self::Or(inner) => {
                let mut most = Verdict::Never;
                for predicate in inner {
                    most = most.max(predicate.verdict(leaf));
                    if most == Verdict::Always {
                        break;
                    }
                }
                most
            }
        }
    }

    /// The same tree over other leaves.
    pub(crate) fn map_leaves<G>(
        &self,
        leaf: &mut impl FnMut(&F, &Condition) -> Predicate<G>,
    ) -> Predicate<G> {
        match self {
            Self::AlwaysTrue => Predicate::AlwaysTrue,
            Self::AlwaysFalse => Predicate::AlwaysFalse,
            Self::Leaf(field, condition) => leaf(field, condition),
            Self::And(inner) => Predicate::all(inner.iter().map(|p| p.map_leaves(leaf)).collect::<Vec<_>>()),
            Self::Or(inner) => Predicate::any(inner.iter().map(|p| p.map_leaves(leaf)).collect::<Vec<_>>()),
        }
    }
}

/// For how many of the rows in question a condition is TRUE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// For none.
    Never,
    /// Not known.
    Maybe,
    /// For all.
    Always,
}

impl Verdict {
    pub(crate) fn of(holds: bool) -> Self {
        if holds { Self::Always } else { Self::Never }
    }

    /// Of the opposite condition, where no null is in question.
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::Never => Self::Always,
            Self::Maybe => Self::Maybe,
            Self::Always => Self::Never,
        }
    }
}

//! Predicates over partition values: of one partition exactly, of a manifest by its field summaries.

use std::cmp::Ordering;
use std::fmt;

use drumlin_format::partition::PartitionSpec;
use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value;

use super::comparison::Scalar;
use super::inclusive::{ColumnFacts, may_hold};
use super::{Comparison, Condition, Predicate, ValueSet, Verdict};

/// A predicate over the partition values of one spec; made by [`project_inclusive`](super::projection::project_inclusive) and
/// [`project_strict`](super::projection::project_strict).
pub type PartitionPredicate = Predicate<PartitionRef>;

/// A partition field of one spec, by its position in the tuple.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartitionRef {
    pub(super) position: usize,
    pub(super) primitive: PrimitiveType,
    pub(super) name: String,
}

/// The values of one partition field over the files of a manifest (§ Manifest Lists, `field_summary`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionSummary<'a> {
    /// Whether a file has null there.
    pub contains_null: bool,
    /// Whether a file has NaN there; `None` is unknown.
    pub contains_nan: Option<bool>,
    /// At most the least value that is neither null nor NaN, in single-value form of the result type.
    pub lower_bound: Option<&'a [u8]>,
    /// At least the greatest such value.
    pub upper_bound: Option<&'a [u8]>,
}

impl PartitionRef {
    /// The position of the field in its spec and in tuples.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The type of its values: the result type of the transform for the source type of the scan's schema.
    pub fn primitive(&self) -> &PrimitiveType {
        &self.primitive
    }

    /// The name of the partition field.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for PartitionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartitionPredicate {
    /// Whether the partition with this tuple may satisfy the predicate. With an inclusive projection, false proves that
    /// no file of the partition holds a row to keep.
    pub fn might_match_tuple(&self, tuple: &[Option<Value>]) -> bool {
        self.tuple_verdict(tuple) != Verdict::Never
    }

    /// Whether the partition with this tuple surely satisfies the predicate. With a strict projection, true proves that
    /// the table's predicate keeps all rows of the partition.
    pub fn must_match_tuple(&self, tuple: &[Option<Value>]) -> bool {
        self.tuple_verdict(tuple) == Verdict::Always
    }

    /// Whether a file of a manifest with these summaries may satisfy the predicate. `spec` is the spec of the manifest,
    /// for which the predicate was projected; summaries that do not fit it (v1 lists may have none) prove nothing.
    pub fn might_match_summaries(&self, spec: &PartitionSpec, summaries: &[PartitionSummary<'_>]) -> bool {
        if summaries.len() != spec.fields().len() {
            return *self != Self::AlwaysFalse;
        }
        let mut leaf = |field: &PartitionRef, condition: &Condition| {
            let may = summaries
                .get(field.position)
                .is_none_or(|s| may_hold(condition, &SummaryFacts(s, &field.primitive), &field.primitive));
            if may { Verdict::Maybe } else { Verdict::Never }
        };
        self.verdict(&mut leaf) != Verdict::Never
    }

    fn tuple_verdict(&self, tuple: &[Option<Value>]) -> Verdict {
        self.verdict(&mut |field, condition| match tuple.get(field.position) {
            Some(value) => value_verdict(condition, value.as_ref(), &field.primitive),
            None => Verdict::Maybe,
        })
    }
}

/// A summary does not count values, so it never tells that all are null or NaN. (Bounds are null then, but also if
/// a writer just left them out.) Summaries may also cover deleted entries, which makes them too wide only.
struct SummaryFacts<'a>(&'a PartitionSummary<'a>, &'a PrimitiveType);

impl ColumnFacts for SummaryFacts<'_> {
    fn no_nulls(&self) -> bool {
        !self.0.contains_null
    }

    fn all_null(&self) -> bool {
        false
    }

    fn no_nans(&self) -> bool {
        !self.1.is_floating() || self.0.contains_nan == Some(false)
    }

    fn all_null_or_nan(&self) -> bool {
        false
    }

    fn lower_bound(&self) -> Option<&[u8]> {
        self.0.lower_bound
    }

    fn upper_bound(&self) -> Option<&[u8]> {
        self.0.upper_bound
    }
}

/// Whether the condition is TRUE for a value, or rather for the source values that a writer may have stored as this
/// partition value: zeros stand for each other, and so do NaNs. A value that is not of the type is unknown.
pub(super) fn value_verdict(
    condition: &Condition,
    value: Option<&Value>,
    primitive: &PrimitiveType,
) -> Verdict {
    let Some(value) = value else {
        return Verdict::of(*condition == Condition::IsNull);
    };
    match condition {
        Condition::IsNull => Verdict::Never,
        Condition::NotNull => Verdict::Always,
        Condition::IsNan => match Scalar::of_value(value, primitive) {
            Some(Scalar::Floating(v)) => Verdict::of(v.is_nan()),
            _ => Verdict::Maybe,
        },
        Condition::NotNan => value_verdict(&Condition::IsNan, Some(value), primitive).opposite(),
        Condition::Compare(comparison, literal) => compare(*comparison, value, literal, primitive),
        Condition::In(set) => is_in(set, value, primitive),
        Condition::NotIn(set) => is_in(set, value, primitive).opposite(),
        Condition::StartsWith(prefix) => match value {
            Value::String(v) => Verdict::of(v.starts_with(prefix.as_str())),
            _ => Verdict::Maybe,
        },
        Condition::NotStartsWith(prefix) => match value {
            Value::String(v) => Verdict::of(!v.starts_with(prefix.as_str())),
            _ => Verdict::Maybe,
        },
    }
}

fn compare(comparison: Comparison, value: &Value, literal: &Value, primitive: &PrimitiveType) -> Verdict {
    let (Some(value), Some(literal)) = (
        Scalar::of_value(value, primitive),
        Scalar::of_value(literal, primitive),
    ) else {
        return Verdict::Maybe;
    };
    if let (Scalar::Floating(a), Scalar::Floating(b)) = (value, literal) {
        let both_zero = a == 0.0 && b == 0.0;
        let one_nan = a.is_nan() != b.is_nan();
        return match comparison {
            Comparison::Eq if one_nan => Verdict::Never,
            Comparison::NotEq if one_nan => Verdict::Always,
            _ if both_zero || a.is_nan() || b.is_nan() => Verdict::Maybe,
            _ => Verdict::of(comparison.holds(a.total_cmp(&b))),
        };
    }
    match value.order(literal) {
        Some(order) => Verdict::of(comparison.holds(order)),
        None => Verdict::Maybe,
    }
}

fn is_in(set: &ValueSet, value: &Value, primitive: &PrimitiveType) -> Verdict {
    let Some(scalar) = Scalar::of_value(value, primitive) else {
        return Verdict::Maybe;
    };
    if let Scalar::Floating(v) = scalar {
        if v.is_nan() && set.has_nan() {
            return Verdict::Maybe;
        }
        let each = set
            .values()
            .iter()
            .map(|l| compare(Comparison::Eq, value, l, primitive));
        return each.max().unwrap_or(Verdict::Never);
    }
    // A literal of another type would stand at one end of the sorted set, or at the other.
    let order = |l: &Value| Scalar::of_value(l, primitive)?.order(scalar);
    let mut ends = [set.values().first(), set.values().last()].into_iter().flatten();
    if ends.any(|l| order(l).is_none()) {
        return Verdict::Maybe;
    }
    let found = set
        .values()
        .binary_search_by(|l| order(l).unwrap_or(Ordering::Less));
    Verdict::of(found.is_ok())
}

//! Whether a file may hold a row that the predicate keeps, from the metrics in its manifest entry (§ Manifests).
//!
//! What is not known proves nothing: a count or bound that is absent, negative or cannot be decoded keeps the file.

use drumlin_format::types::PrimitiveType;

use super::comparison::Bounds;
use super::{Comparison, Condition, FieldRef, Predicate, ValueSet};

/// The metrics of a data file, by field id. `None` is unknown. Bounds are in single-value form (§ Appendix D) of the
/// type that the column had when the file was written.
pub trait FileMetrics {
    /// Rows in the file; negative if unknown.
    fn record_count(&self) -> i64;
    /// Values of the field, nulls and NaNs included.
    fn value_count(&self, field_id: i32) -> Option<i64>;
    /// Null values of the field.
    fn null_value_count(&self, field_id: i32) -> Option<i64>;
    /// NaN values of the field.
    fn nan_value_count(&self, field_id: i32) -> Option<i64>;
    /// At most the least value of the field that is neither null nor NaN.
    fn lower_bound(&self, field_id: i32) -> Option<&[u8]>;
    /// At least the greatest value of the field that is neither null nor NaN.
    fn upper_bound(&self, field_id: i32) -> Option<&[u8]>;
}

impl Predicate {
    /// Whether the file may hold a row that this predicate keeps. False is proven: the file can be skipped.
    pub fn might_match<M: FileMetrics + ?Sized>(&self, metrics: &M) -> bool {
        if metrics.record_count() == 0 {
            return false;
        }
        self.may_keep(metrics, &[])
    }

    /// See [`might_match`](Self::might_match). Rows where one of the fields `not_nan` is NaN do not count: another
    /// condition of the same AND rules them out.
    fn may_keep<M: FileMetrics + ?Sized>(&self, metrics: &M, not_nan: &[&FieldRef]) -> bool {
        match self {
            Self::AlwaysTrue => true,
            Self::AlwaysFalse => false,
            Self::Or(inner) => inner.iter().any(|p| p.may_keep(metrics, not_nan)),
            Self::And(inner) => {
                let more = never_nan(inner);
                if more.is_empty() {
                    return inner.iter().all(|p| p.may_keep(metrics, not_nan));
                }
                let not_nan: Vec<&FieldRef> = not_nan.iter().copied().chain(more).collect();
                inner.iter().all(|p| p.may_keep(metrics, &not_nan))
            }
            Self::Leaf(field, condition) => {
                let column = FileColumn {
                    metrics,
                    field,
                    not_nan: not_nan.contains(&field),
                };
                may_hold(condition, &column, field.primitive())
            }
        }
    }
}

/// The floating-point fields that are not NaN in any row that all of these keep. A NaN is above or below all numbers,
/// depending on its sign; a range that is bounded on both sides holds neither.
fn never_nan(all: &[Predicate]) -> Vec<&FieldRef> {
    let mut fields = Vec::new();
    for predicate in all {
        if let Predicate::Leaf(field, _) = predicate
            && field.primitive().is_floating()
            && !fields.contains(&field)
            && excludes_nan(all, field, rules_out_high_nan)
            && excludes_nan(all, field, rules_out_low_nan)
        {
            fields.push(field);
        }
    }
    fields
}

fn excludes_nan(all: &[Predicate], field: &FieldRef, by: fn(&Condition) -> bool) -> bool {
    all.iter()
        .any(|p| matches!(p, Predicate::Leaf(f, c) if f == field && by(c)))
}

/// Whether the condition is not TRUE for a NaN that is above all numbers.
fn rules_out_high_nan(condition: &Condition) -> bool {
    match condition {
        Condition::Compare(Comparison::Lt | Comparison::Le | Comparison::Eq, v) => !v.is_nan(),
        Condition::In(set) => !set.has_nan(),
        Condition::NotNan => true,
        _ => false,
    }
}

/// Whether the condition is not TRUE for a NaN that is below all numbers.
fn rules_out_low_nan(condition: &Condition) -> bool {
    match condition {
        Condition::Compare(Comparison::Gt | Comparison::Ge | Comparison::Eq, v) => !v.is_nan(),
        Condition::In(set) => !set.has_nan(),
        Condition::NotNan => true,
        _ => false,
    }
}

/// What is known of the values of one column in a set of rows. Every answer is "known to be so".
pub(super) trait ColumnFacts {
    /// No row is null.
    fn no_nulls(&self) -> bool;
    /// Every row is null.
    fn all_null(&self) -> bool;
    /// No row is NaN.
    fn no_nans(&self) -> bool;
    /// Every row is null or NaN.
    fn all_null_or_nan(&self) -> bool;
    /// Bounds of the rows that are neither null nor NaN.
    fn lower_bound(&self) -> Option<&[u8]>;
    /// See [`lower_bound`](Self::lower_bound).
    fn upper_bound(&self) -> Option<&[u8]>;
}

pub(super) struct FileColumn<'a, M: ?Sized> {
    pub(super) metrics: &'a M,
    pub(super) field: &'a FieldRef,
    /// Rows with a NaN do not count.
    pub(super) not_nan: bool,
}

impl<M: FileMetrics + ?Sized> FileColumn<'_, M> {
    /// The count of values, if it and the count of some of them make sense together.
    fn of_all(&self, part: Option<i64>) -> Option<(i64, i64)> {
        let part = part.filter(|n| *n >= 0)?;
        let all = self.metrics.value_count(self.field.field_id())?;
        (part <= all).then_some((part, all))
    }
}

impl<M: FileMetrics + ?Sized> ColumnFacts for FileColumn<'_, M> {
    fn no_nulls(&self) -> bool {
        let id = self.field.field_id();
        // A field of a struct is null where the struct is; not all writers count that.
        let all_counted =
            !self.field.is_nested() || self.metrics.value_count(id) == Some(self.metrics.record_count());
        all_counted && self.metrics.null_value_count(id) == Some(0)
    }

    fn all_null(&self) -> bool {
        let nulls = self.metrics.null_value_count(self.field.field_id());
        self.of_all(nulls).is_some_and(|(nulls, all)| nulls == all)
            || (self.not_nan && self.all_null_or_nan())
    }

    fn no_nans(&self) -> bool {
        self.not_nan
            || !self.field.primitive().is_floating()
            || self.metrics.nan_value_count(self.field.field_id()) == Some(0)
    }

    fn all_null_or_nan(&self) -> bool {
        let id = self.field.field_id();
        let nulls = self.metrics.null_value_count(id);
        if self.of_all(nulls).is_some_and(|(nulls, all)| nulls == all) {
            return true;
        }
        if !self.field.primitive().is_floating() {
            return false;
        }
        let nans = self.metrics.nan_value_count(id).filter(|n| *n >= 0);
        let sum = nulls
            .filter(|n| *n >= 0)
            .zip(nans)
            .and_then(|(a, b)| a.checked_add(b));
        self.of_all(sum).is_some_and(|(some, all)| some == all)
    }

    fn lower_bound(&self) -> Option<&[u8]> {
        self.metrics.lower_bound(self.field.field_id())
    }

    fn upper_bound(&self) -> Option<&[u8]> {
        self.metrics.upper_bound(self.field.field_id())
    }
}

/// Whether the condition may be TRUE for one of the rows.
pub(super) fn may_hold(condition: &Condition, column: &impl ColumnFacts, primitive: &PrimitiveType) -> bool {
    let bounds = || Bounds::new(column.lower_bound(), column.upper_bound(), primitive);
    match condition {
        Condition::IsNull => !column.no_nulls(),
        Condition::NotNull => !column.all_null(),
        Condition::IsNan => !primitive.is_floating() || !(column.no_nans() || column.all_null()),
        Condition::NotNan => !column.all_null_or_nan(),
        Condition::Compare(Comparison::Eq, v) if v.is_nan() => !(column.no_nans() || column.all_null()),
        Condition::Compare(Comparison::Eq, v) => {
            let bounds = bounds();
            !(bounds.all_above(v) || bounds.all_below(v) || column.all_null_or_nan())
        }
        Condition::In(set) => {
            (may_be_in(set, &bounds()) && !column.all_null_or_nan())
                || (set.has_nan() && !(column.no_nans() || column.all_null()))
        }
        // From here on a NaN may satisfy the condition, as it is outside the bounds on either side.
        _ if column.all_null() => false,
        _ if !column.no_nans() => true,
        Condition::Compare(comparison, v) => {
            let bounds = bounds();
            !match comparison {
                Comparison::Lt => bounds.all_at_or_above(v),
                Comparison::Le => bounds.all_above(v),
                Comparison::Gt => bounds.all_at_or_below(v),
                Comparison::Ge => bounds.all_below(v),
                Comparison::Eq => false,
                Comparison::NotEq => bounds.all_equal(v),
            }
        }
        Condition::NotIn(set) => {
            let bounds = bounds();
            !set.values().iter().any(|v| bounds.all_equal(v))
        }
        Condition::StartsWith(prefix) => !bounds().none_starts_with(prefix),
        Condition::NotStartsWith(prefix) => !bounds().all_start_with(prefix),
    }
}

/// Whether a literal other than NaN may be between the bounds.
fn may_be_in(set: &ValueSet, bounds: &Bounds<'_>) -> bool {
    let values = set.values();
    let first = values.partition_point(|v| bounds.all_above(v));
    values.get(first).is_some_and(|v| !bounds.all_below(v))
}

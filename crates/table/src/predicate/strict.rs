//! Whether a predicate keeps all rows of a file, from the metrics in its manifest entry.
//!
//! This is the ground for dropping a file whole and for answering from counts, so it asks for more than the absence
//! of a counter-example: no nulls (on which conditions are unknown), for floats no NaNs where they could fall on either
//! side, and bounds, which are at least as wide as the values and so may be cut.

use drumlin_format::types::PrimitiveType;

use super::comparison::Bounds;
use super::inclusive::{ColumnFacts, FileColumn};
use super::{Comparison, Condition, FieldRef, FileMetrics, Predicate, Verdict};

impl Predicate {
    /// Whether this predicate keeps all rows of the file. False is "not known".
    ///
    /// Fields of structs are never decided: whether their counts include the rows where the struct is null differs
    /// between file formats and writers.
    pub fn must_match<M: FileMetrics + ?Sized>(&self, metrics: &M) -> bool {
        if metrics.record_count() == 0 {
            return true;
        }
        let mut leaf = |field: &FieldRef, condition: &Condition| {
            let column = FileColumn {
                metrics,
                field,
                not_nan: false,
            };
            if !field.is_nested() && must_hold(condition, &column, field.primitive()) {
                Verdict::Always
            } else {
                Verdict::Maybe
            }
        };
        self.verdict(&mut leaf) == Verdict::Always
    }
}

/// Whether the condition is TRUE for all of the rows.
fn must_hold(condition: &Condition, column: &impl ColumnFacts, primitive: &PrimitiveType) -> bool {
    if *condition == Condition::IsNull {
        return column.all_null();
    }
    if !column.no_nulls() {
        return false;
    }
    let bounds = Bounds::new(column.lower_bound(), column.upper_bound(), primitive);
    match condition {
        Condition::IsNull => false,
        Condition::NotNull => true,
        Condition::IsNan => primitive.is_floating() && column.all_null_or_nan(),
        Condition::NotNan => primitive.is_floating() && column.no_nans(),
        // NaN differs from all literals but itself, so it does not matter how many there are.
        Condition::Compare(Comparison::NotEq, v) => bounds.all_above(v) || bounds.all_below(v),
        Condition::NotIn(set) => {
            let differs = |v| bounds.all_above(v) || bounds.all_below(v);
            (!set.has_nan() || column.no_nans()) && set.values().iter().all(differs)
        }
        _ if !column.no_nans() => false,
        Condition::Compare(comparison, v) => match comparison {
            Comparison::Eq => bounds.all_equal(v),
            Comparison::NotEq => false,
            Comparison::Lt => bounds.all_below(v),
            Comparison::Le => bounds.all_at_or_below(v),
            Comparison::Gt => bounds.all_above(v),
            Comparison::Ge => bounds.all_at_or_above(v),
        },
        Condition::In(set) => set.values().iter().any(|v| bounds.all_equal(v)),
        Condition::StartsWith(prefix) => bounds.all_start_with(prefix),
        Condition::NotStartsWith(prefix) => bounds.none_starts_with(prefix),
    }
}

//! Summaries of partition values for the manifest list (§ Manifest Lists, field_summary).

use crate::manifest_list::FieldSummary;
use crate::partition::PartitionTuple;
use crate::value::Value;
use crate::value::bytes::to_bytes;

/// What the partition values of a manifest's entries are, field by field. Deleted entries count too: a summary may be
/// too wide, never too narrow.
#[derive(Debug)]
pub(super) struct PartitionSummaries {
    fields: Vec<Summary>,
}

#[derive(Debug, Clone, Default)]
struct Summary {
    contains_null: bool,
    contains_nan: bool,
    bounds: Option<(Value, Value)>,
}

impl PartitionSummaries {
    /// Summaries of no values yet.
    pub fn new(width: usize) -> Self {
        Self {
            fields: vec![Summary::default(); width],
        }
    }

    /// Counts a tuple in.
    pub fn add(&mut self, tuple: &PartitionTuple) {
        for (summary, value) in self.fields.iter_mut().zip(tuple) {
            match value {
                None => summary.contains_null = true,
                Some(value) if value.is_nan() => summary.contains_nan = true,
                Some(value) => summary.widen(value),
            }
        }
    }

    /// The summaries in the order of the spec.
    pub fn finish(self) -> Vec<FieldSummary> {
        self.fields.into_iter().map(Summary::finish).collect()
    }
}

impl Summary {
    fn widen(&mut self, value: &Value) {
        match &mut self.bounds {
            None => self.bounds = Some((value.clone(), value.clone())),
            Some((lower, upper)) => {
                if value.compare(lower).is_some_and(|o| o.is_lt()) {
                    *lower = value.clone();
                }
                if value.compare(upper).is_some_and(|o| o.is_gt()) {
                    *upper = value.clone();
                }
            }
        }
    }

    fn finish(self) -> FieldSummary {
        let (lower, upper) = self.bounds.unzip();
        FieldSummary {
            contains_null: self.contains_null,
            contains_nan: Some(self.contains_nan),
            // Either zero may stand for both, and other readers order them.
            lower_bound: lower.and_then(|v| to_bytes(&with_zero(v, -0.0, -0.0))),
            upper_bound: upper.and_then(|v| to_bytes(&with_zero(v, 0.0, 0.0))),
        }
    }
}

/// Puts another zero in the place of either.
fn with_zero(value: Value, float: f32, double: f64) -> Value {
    match value {
        Value::Float(0.0) => Value::Float(float),
        Value::Double(0.0) => Value::Double(double),
        other => other,
    }
}

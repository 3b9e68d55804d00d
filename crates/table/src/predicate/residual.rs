//! What is left of a predicate to ask of the rows of a partition, once its tuple has answered what it can.

use drumlin_format::partition::PartitionSpec;
use drumlin_format::value::Value;

use super::partition::PartitionPredicate;
use super::projection::{project_inclusive, project_strict};
use super::{Condition, FieldRef, Predicate};

/// A predicate prepared for the partitions of one spec.
///
/// For `event_date >= '2024-02-10' AND id = 7` on a table partitioned by `month(event_date)`, nothing is left of January
/// (false), all of it of February, and `id = 7` of March.
#[derive(Debug, Clone)]
pub struct Residuals {
    root: Node,
}

/// The predicate's tree; leaves know their projections.
#[derive(Debug, Clone)]
enum Node {
    /// No partition tells more about it.
    Fixed(Predicate),
    And(Vec<Self>),
    Or(Vec<Self>),
    Leaf(Box<Leaf>),
}

#[derive(Debug, Clone)]
struct Leaf {
    field: FieldRef,
    condition: Condition,
    inclusive: PartitionPredicate,
    strict: PartitionPredicate,
}

impl Residuals {
    /// Prepares the predicate for a spec.
    pub fn new(predicate: &Predicate, spec: &PartitionSpec) -> Self {
        Self {
            root: Node::new(predicate, spec),
        }
    }

    /// The predicate that keeps the same rows of the partition as the whole predicate, and asks no more than needed.
    /// [`Predicate::AlwaysFalse`] tells that the partition can be skipped.
    pub fn for_tuple(&self, tuple: &[Option<Value>]) -> Predicate {
        self.root.residual(tuple)
    }
}

impl Node {
    fn new(predicate: &Predicate, spec: &PartitionSpec) -> Self {
        let all = |inner: &[Predicate]| -> Vec<Self> { inner.iter().map(|p| Self::new(p, spec)).collect() };
        let fixed = |nodes: &[Self]| nodes.iter().all(|n| matches!(n, Self::Fixed(_)));
        match predicate {
            Predicate::AlwaysTrue | Predicate::AlwaysFalse => Self::Fixed(predicate.clone()),
            Predicate::And(inner) | Predicate::Or(inner) => {
                let nodes = all(inner);
                if fixed(&nodes) {
                    Self::Fixed(predicate.clone())
                } else if matches!(predicate, Predicate::And(_)) {
                    Self::And(nodes)
                } else {
                    Self::Or(nodes)
                }
            }
            Predicate::Leaf(field, condition) => {
                let inclusive = project_inclusive(predicate, spec);
                let strict = project_strict(predicate, spec);
                if inclusive == Predicate::AlwaysTrue && strict == Predicate::AlwaysFalse {
                    return Self::Fixed(predicate.clone());
                }
                Self::Leaf(Box::new(Leaf {
                    field: field.clone(),
                    condition: condition.clone(),
                    inclusive,
                    strict,
                }))
            }
        }
    }

    fn residual(&self, tuple: &[Option<Value>]) -> Predicate {
        match self {
            Self::Fixed(predicate) => predicate.clone(),
            Self::And(nodes) => Predicate::all(nodes.iter().map(|n| n.residual(tuple))),
            Self::Or(nodes) => Predicate::any(nodes.iter().map(|n| n.residual(tuple))),
            Self::Leaf(leaf) if !leaf.inclusive.might_match_tuple(tuple) => Predicate::AlwaysFalse,
            Self::Leaf(leaf) if leaf.strict.must_match_tuple(tuple) => Predicate::AlwaysTrue,
            Self::Leaf(leaf) => Predicate::Leaf(leaf.field.clone(), leaf.condition.clone()),
        }
    }
}

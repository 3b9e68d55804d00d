//! Conditions on one field.

use std::cmp::Ordering;

use drumlin_format::value::Value;

/// What is asked of one field. On a null all but `IsNull` and `NotNull` are unknown.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Is null.
    IsNull,
    /// Is not null.
    NotNull,
    /// Is NaN, whatever its sign and payload.
    IsNan,
    /// Is not NaN.
    NotNan,
    /// Compares so with a literal of the field's type.
    Compare(Comparison, Value),
    /// Equals one of these literals of the field's type.
    In(ValueSet),
    /// Differs from all of these literals of the field's type.
    NotIn(ValueSet),
    /// Starts with this text.
    StartsWith(String),
    /// Does not start with this text.
    NotStartsWith(String),
}

/// How a field compares with a literal, the field standing on the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Condition {
    /// The condition that is TRUE where this one is FALSE, and unknown where it is unknown.
    #[must_use]
    pub fn negate(self) -> Self {
        match self {
            Self::IsNull => Self::NotNull,
            Self::NotNull => Self::IsNull,
            Self::IsNan => Self::NotNan,
            Self::NotNan => Self::IsNan,
            Self::Compare(comparison, literal) => Self::Compare(comparison.negate(), literal),
            Self::In(set) => Self::NotIn(set),
            Self::NotIn(set) => Self::In(set),
            Self::StartsWith(prefix) => Self::NotStartsWith(prefix),
            Self::NotStartsWith(prefix) => Self::StartsWith(prefix),
        }
    }
}

impl Condition {
    /// A set of one literal as a comparison with it.
    pub(super) fn simplified(self) -> Self {
        match &self {
            Self::In(set) if set.len() == 1 => set.values.first().map(|v| (Comparison::Eq, v.clone())),
            Self::NotIn(set) if set.len() == 1 => set.values.first().map(|v| (Comparison::NotEq, v.clone())),
            _ => None,
        }
        .map_or(self, |(comparison, literal)| Self::Compare(comparison, literal))
    }
}

impl Comparison {
    /// The opposite comparison.
    #[must_use]
    pub fn negate(self) -> Self {
        match self {
            Self::Eq => Self::NotEq,
            Self::NotEq => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
        }
    }

    /// Whether it holds for a left side that stands in this order to the right side.
    pub fn holds(self, left: Ordering) -> bool {
        match self {
            Self::Eq => left.is_eq(),
            Self::NotEq => left.is_ne(),
            Self::Lt => left.is_lt(),
            Self::Le => left.is_le(),
            Self::Gt => left.is_gt(),
            Self::Ge => left.is_ge(),
        }
    }
}

/// Literals of one type in ascending order, each once; a NaN is noted but not kept among them.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueSet {
    values: Vec<Value>,
    has_nan: bool,
}

impl ValueSet {
    /// A set of these literals.
    pub fn new(literals: impl IntoIterator<Item = Value>) -> Self {
        let mut has_nan = false;
        let mut values: Vec<Value> = literals.into_iter().collect();
        values.retain(|v| {
            has_nan |= v.is_nan();
            !v.is_nan()
        });
        values.sort_by(total_order);
        values.dedup_by(|a, b| total_order(a, b).is_eq());
        Self { values, has_nan }
    }

    /// The literals but NaN, ascending; -0.0 stands before 0.0.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Whether NaN is among the literals.
    pub fn has_nan(&self) -> bool {
        self.has_nan
    }

    /// How many literals there are, NaN counting as one.
    pub fn len(&self) -> usize {
        self.values.len() + usize::from(self.has_nan)
    }

    /// Whether there is no literal.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// An order for sorting only: of values of one primitive type that of the type, floats in the total order; values of
/// different types as they come, those of a promotion in one order with the others.
fn total_order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        (Value::Double(a), Value::Double(b)) => a.total_cmp(b),
        (Value::Int(a), Value::Long(b)) => i64::from(*a).cmp(b),
        (Value::Long(a), Value::Int(b)) => a.cmp(&i64::from(*b)),
        (Value::Float(a), Value::Double(b)) => f64::from(*a).total_cmp(b),
        (Value::Double(a), Value::Float(b)) => a.total_cmp(&f64::from(*b)),
        _ => a.compare(b).unwrap_or_else(|| kind(a).cmp(&kind(b))),
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Boolean(_) => 0,
        Value::Int(_) | Value::Long(_) => 2,
        Value::Float(_) | Value::Double(_) => 4,
        Value::Decimal(_) => 5,
        Value::String(_) => 6,
        Value::Bytes(_) => 7,
        Value::Struct(_) => 8,
        Value::List(_) => 9,
        Value::Map(_) => 10,
    }
}

//! Comparing bounds, partition values and literals without copying them.

use std::cmp::Ordering;

use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value;
use drumlin_format::value::bytes::{MICROS_PER_DAY, decimal_from_bytes};

/// A primitive value borrowed from a literal or from bytes. Integers and floats are widened, which keeps their
/// order, so that values from before a promotion compare with later ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar<'a> {
    Boolean(bool),
    Integer(i64),
    Floating(f64),
    Decimal(i128),
    /// Strings too: their order is that of their UTF-8 bytes, and bounds may be cut inside a code point.
    Bytes(&'a [u8]),
}

impl<'a> Scalar<'a> {
    /// A value of a field of this type, `None` if it is not of this type (nor of one that it was promoted from).
    pub(super) fn of_value(value: &'a Value, primitive: &PrimitiveType) -> Option<Self> {
        use PrimitiveType as P;
        Some(match (value, primitive) {
            (Value::Boolean(v), P::Boolean) => Self::Boolean(*v),
            (Value::Int(v), P::Int | P::Date | P::Long) => Self::Integer(i64::from(*v)),
            (
                Value::Long(v),
                P::Long | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs,
            ) => Self::Integer(*v),
            (Value::Float(v), P::Float | P::Double) => Self::Floating(f64::from(*v)),
            (Value::Double(v), P::Double) => Self::Floating(*v),
            (Value::Decimal(v), P::Decimal { .. }) => Self::Decimal(*v),
            (Value::String(v), P::String) => Self::Bytes(v.as_bytes()),
            (Value::Bytes(v), P::Uuid | P::Fixed(_) | P::Binary) => Self::Bytes(v),
            _ => return None,
        })
    }

    /// A bound of a field that is of this type now (§ Appendix D); one from before a promotion is told by its length.
    /// `None` if the bytes are no value of the type.
    fn of_bound(bytes: &'a [u8], primitive: &PrimitiveType) -> Option<Self> {
        use PrimitiveType as P;
        let int = || Some(i32::from_le_bytes(bytes.try_into().ok()?));
        let long = || Some(i64::from_le_bytes(bytes.try_into().ok()?));
        Some(match primitive {
            P::Boolean => match bytes {
                [b] => Self::Boolean(*b != 0),
                _ => return None,
            },
            P::Int | P::Date => Self::Integer(int()?.into()),
            P::Long if bytes.len() == 4 => Self::Integer(int()?.into()),
            P::Timestamp if bytes.len() == 4 => Self::Integer(i64::from(int()?) * MICROS_PER_DAY),
            P::TimestampNs if bytes.len() == 4 => {
                Self::Integer(i64::from(int()?).checked_mul(MICROS_PER_DAY * 1000)?)
            }
            P::Long | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
                Self::Integer(long()?)
            }
            P::Float => Self::Floating(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            P::Double if bytes.len() == 4 => {
                Self::Floating(f32::from_le_bytes(bytes.try_into().ok()?).into())
            }
            P::Double => Self::Floating(f64::from_le_bytes(bytes.try_into().ok()?)),
            P::Decimal { .. } => Self::Decimal(decimal_from_bytes(bytes)?),
            P::String | P::Fixed(_) | P::Binary => Self::Bytes(bytes),
            // Only the upper half of a bound counts, see `Bounds`.
            P::Uuid if bytes.len() == 16 => Self::Bytes(bytes.get(..UUID_HALF)?),
            P::Uuid | P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. } => return None,
        })
    }

    /// The order of two scalars of one type, floats in the total order (both zeros and NaNs differ).
    pub(super) fn order(self, other: Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => a.cmp(&b),
            (Self::Integer(a), Self::Integer(b)) => a.cmp(&b),
            (Self::Floating(a), Self::Floating(b)) => a.total_cmp(&b),
            (Self::Decimal(a), Self::Decimal(b)) => a.cmp(&b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            _ => return None,
        })
    }
}

const UUID_HALF: usize = 8;

/// What the two bounds of a column say about its values that are neither null nor NaN: each may be unknown.
///
/// - A bound that cannot be decoded, or is NaN (files of old writers), is unknown; so are two that contradict each
///   other.
/// - A zero is widened to the zero further out: a writer may have stored either (§ Manifests, bounds of floats).
/// - Java orders UUIDs as two signed numbers. Its bounds hold in unsigned order too if they are compared by their upper
///   halves only and are known both: with different signs they contradict each other.
pub(super) struct Bounds<'a> {
    lower: Option<Scalar<'a>>,
    upper: Option<Scalar<'a>>,
    primitive: &'a PrimitiveType,
}

impl<'a> Bounds<'a> {
    pub(super) fn new(
        lower: Option<&'a [u8]>,
        upper: Option<&'a [u8]>,
        primitive: &'a PrimitiveType,
    ) -> Self {
        let decode = |bytes: Option<&'a [u8]>, zero: f64| match Scalar::of_bound(bytes?, primitive)? {
            Scalar::Floating(v) if v.is_nan() => None,
            Scalar::Floating(0.0) => Some(Scalar::Floating(zero)),
            other => Some(other),
        };
        let mut bounds = Self {
            lower: decode(lower, -0.0),
            upper: decode(upper, 0.0),
            primitive,
        };
        let trusted = match (bounds.lower, bounds.upper) {
            (Some(lower), Some(upper)) => lower.order(upper).is_some_and(Ordering::is_le),
            _ => *primitive != PrimitiveType::Uuid,
        };
        if !trusted {
            (bounds.lower, bounds.upper) = (None, None);
        }
        bounds
    }

    /// Whether all values are known to be above the literal.
    pub(super) fn all_above(&self, literal: &Value) -> bool {
        self.order(self.lower, literal) == Some(Ordering::Greater)
    }

    /// Whether all values are known to be below the literal.
    pub(super) fn all_below(&self, literal: &Value) -> bool {
        self.order(self.upper, literal) == Some(Ordering::Less)
    }

    /// Whether all values are known to be the literal or above.
    pub(super) fn all_at_or_above(&self, literal: &Value) -> bool {
        self.order(self.lower, literal).is_some_and(Ordering::is_ge)
    }

    /// Whether all values are known to be the literal or below.
    pub(super) fn all_at_or_below(&self, literal: &Value) -> bool {
        self.order(self.upper, literal).is_some_and(Ordering::is_le)
    }

    /// Whether all values are known to be the literal.
    pub(super) fn all_equal(&self, literal: &Value) -> bool {
        self.all_at_or_above(literal) && self.all_at_or_below(literal)
    }

    /// Whether no value starts with the prefix: values that do are at or above it.
    pub(super) fn none_starts_with(&self, prefix: &str) -> bool {
        let prefix = prefix.as_bytes();
        let above = matches!(self.lower, Some(Scalar::Bytes(b)) if b > prefix && !b.starts_with(prefix));
        let below = matches!(self.upper, Some(Scalar::Bytes(b)) if b < prefix);
        *self.primitive == PrimitiveType::String && (above || below)
    }

    /// Whether all values start with the prefix.
    pub(super) fn all_start_with(&self, prefix: &str) -> bool {
        let starts =
            |b: Option<Scalar<'_>>| matches!(b, Some(Scalar::Bytes(b)) if b.starts_with(prefix.as_bytes()));
        *self.primitive == PrimitiveType::String && starts(self.lower) && starts(self.upper)
    }

    fn order(&self, bound: Option<Scalar<'a>>, literal: &Value) -> Option<Ordering> {
        let literal = Scalar::of_value(literal, self.primitive)?;
        match (self.primitive, literal) {
            (_, Scalar::Floating(v)) if v.is_nan() => None,
            (PrimitiveType::Uuid, Scalar::Bytes(v)) => {
                // Equal upper halves leave open which is greater.
                let order = bound?.order(Scalar::Bytes(v.get(..UUID_HALF)?))?;
                (order != Ordering::Equal).then_some(order)
            }
            _ => bound?.order(literal),
        }
    }
}

//! Values of columns: bounds, partition values, defaults, literals of predicates.
//!
//! A [`Value`] is held in its physical form; which type it is of is known from where it stands. Its byte form
//! (§ Appendix D) is in [`bytes`], its JSON form in [`json`], its text for people and paths in [`text`].

pub mod bytes;
pub mod json;
pub mod text;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

/// A value that is not null, in the physical form of its type. Null is `Option::None` around it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// boolean.
    Boolean(bool),
    /// int; date as days since 1970-01-01.
    Int(i32),
    /// long; time in µs since midnight; timestamps in µs or ns since 1970-01-01T00:00.
    Long(i64),
    /// float.
    Float(f32),
    /// double.
    Double(f64),
    /// decimal without its point: 14.20 of scale 2 is 1420.
    Decimal(i128),
    /// string.
    String(String),
    /// uuid (16 bytes, big-endian), fixed, binary, geometry and geography (WKB).
    Bytes(Vec<u8>),
    /// struct: field id and value, in the order of its type.
    Struct(Vec<(i32, Option<Value>)>),
    /// list.
    List(Vec<Option<Value>>),
    /// map.
    Map(Vec<(Value, Option<Value>)>),
}

impl Value {
    /// The order of two values of one primitive type, as predicates see it: -0.0 equals 0.0, strings and bytes by
    /// unsigned bytes. `None` if a NaN takes part, or for values of different or nested types.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Long(a), Self::Long(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(b),
            (Self::Decimal(a), Self::Decimal(b)) => Some(a.cmp(b)),
            (Self::String(a), Self::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// Whether it is a floating-point NaN.
    pub fn is_nan(&self) -> bool {
        match self {
            Self::Float(v) => v.is_nan(),
            Self::Double(v) => v.is_nan(),
            _ => false,
        }
    }
}

//! Partition and sort transforms (§ Partition Transforms).
//!
//! Text is read and written in `text`, values are transformed in [`apply`] with the help of [`hash`] and
//! [`calendar`].

pub mod apply;
pub mod calendar;
pub mod hash;
mod text;

#[cfg(test)]
mod tests;

use crate::types::{PrimitiveType, Type};

/// How a partition or sort value is made from the value of its source column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Transform {
    /// The source value.
    Identity,
    /// A hash of the source value modulo so many buckets (at least 1).
    Bucket(u32),
    /// The source value cut to this width (at least 1): the lower multiple of it for numbers, its first code points
    /// or bytes for strings and binary.
    Truncate(u32),
    /// Years since 1970.
    Year,
    /// Months since 1970-01.
    Month,
    /// Days since 1970-01-01.
    Day,
    /// Hours since 1970-01-01T00.
    Hour,
    /// Always null: a partition field that was removed from a version 1 spec.
    Void,
    /// A transform that this library does not know, by its text. The table stays readable, but the field prunes
    /// nothing and the spec takes no writes.
    Unknown(String),
}

impl Transform {
    /// The type of the values made from a source of this type, or `None` where the transform cannot take the source
    /// (§ Partition Transforms, the table of source and result types). An unknown transform has no known result.
    pub fn result_type(&self, source: &PrimitiveType) -> Option<PrimitiveType> {
        use PrimitiveType as P;
        match self {
            Self::Identity => match source {
                P::Geometry { .. } | P::Geography { .. } | P::Variant => None,
                other => Some(other.clone()),
            },
            Self::Void => Some(source.clone()),
            Self::Bucket(_) => matches!(
                source,
                P::Int
                    | P::Long
                    | P::Decimal { .. }
                    | P::Date
                    | P::Time
                    | P::Timestamp
                    | P::Timestamptz
                    | P::TimestampNs
                    | P::TimestamptzNs
                    | P::String
                    | P::Uuid
                    | P::Fixed(_)
                    | P::Binary
            )
            .then_some(P::Int),
            Self::Truncate(_) => matches!(
                source,
                P::Int | P::Long | P::Decimal { .. } | P::String | P::Binary
            )
            .then(|| source.clone()),
            Self::Year | Self::Month => is_date_or_timestamp(source).then_some(P::Int),
            Self::Day => is_date_or_timestamp(source).then_some(P::Date),
            Self::Hour => (is_date_or_timestamp(source) && *source != P::Date).then_some(P::Int),
            Self::Unknown(_) => None,
        }
    }

    /// Like [`result_type`](Self::result_type) for a source of any type; nested types have no transforms but void.
    pub fn result_type_of(&self, source: &Type) -> Option<PrimitiveType> {
        self.result_type(source.as_primitive()?)
    }
}

fn is_date_or_timestamp(source: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    matches!(
        source,
        P::Date | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs
    )
}

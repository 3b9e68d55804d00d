//! Which stored type may be read as which (§ Schema Evolution).

use super::{PrimitiveType, Type};

/// Whether values stored as `from` may be read as `to`: the same type or a promotion.
///
/// The promotions of all versions: int to long, float to double, a decimal to more digits of the same scale. Those
/// of version 3: unknown to any, date to a timestamp without zone.
pub fn can_read_as(from: &PrimitiveType, to: &PrimitiveType) -> bool {
    use PrimitiveType::*;
    match (from, to) {
        (a, b) if a == b => true,
        (Int, Long) | (Float, Double) | (Unknown, _) | (Date, Timestamp | TimestampNs) => true,
        (
            Decimal {
                precision: p,
                scale: s,
            },
            Decimal {
                precision: q,
                scale: t,
            },
        ) => s == t && p <= q,
        _ => false,
    }
}

/// Like [`can_read_as`] for any type: nested types must be of one kind, their fields are judged when they are
/// matched by id.
pub fn kinds_agree(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Primitive(a), Type::Primitive(b)) => can_read_as(a, b),
        (Type::Struct(_), Type::Struct(_))
        | (Type::List(_), Type::List(_))
        | (Type::Map(_), Type::Map(_)) => true,
        (Type::Primitive(PrimitiveType::Unknown), _) => true,
        _ => false,
    }
}

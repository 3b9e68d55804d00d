//! Types of columns (§ Schemas and Data Types).
//!
//! [`Type`] is a primitive or a nested type; nested types carry the ids of their fields. The text form of
//! primitives (`decimal(9, 2)`, `fixed[16]`) is in [`text`], the JSON form of all in [`json`].

pub mod json;
pub mod text;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::value::Value;

/// A type of a column, a list element, a map key or a map value.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A type without parts.
    Primitive(PrimitiveType),
    /// A tuple of named fields.
    Struct(StructType),
    /// A list of elements of one type.
    List(Box<ListType>),
    /// Pairs of key and value.
    Map(Box<MapType>),
}

/// A type without parts (§ Primitive Types). Variant counts here too: its parts have no ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PrimitiveType {
    /// True or false.
    Boolean,
    /// 32-bit signed integer.
    Int,
    /// 64-bit signed integer.
    Long,
    /// 32-bit IEEE 754 number.
    Float,
    /// 64-bit IEEE 754 number.
    Double,
    /// Fixed-point number with `precision` digits (1 to 38), `scale` of them after the point.
    Decimal {
        /// All digits, 1 to 38.
        precision: u8,
        /// Digits after the point, at most `precision`.
        scale: u8,
    },
    /// Days since 1970-01-01.
    Date,
    /// Microseconds since midnight, no zone.
    Time,
    /// Microseconds since 1970-01-01T00:00:00, no zone.
    Timestamp,
    /// Microseconds since 1970-01-01T00:00:00 UTC.
    Timestamptz,
    /// Nanoseconds since 1970-01-01T00:00:00, no zone (v3).
    TimestampNs,
    /// Nanoseconds since 1970-01-01T00:00:00 UTC (v3).
    TimestamptzNs,
    /// UTF-8 text.
    String,
    /// 16 bytes.
    Uuid,
    /// Exactly so many bytes.
    Fixed(u32),
    /// Any number of bytes.
    Binary,
    /// Always null, never stored (v3).
    Unknown,
    /// Semi-structured value (v3).
    Variant,
    /// Well-known binary with planar edges (v3).
    Geometry {
        /// The coordinate reference system; `None` is `OGC:CRS84`.
        crs: Option<String>,
    },
    /// Well-known binary with edges on an ellipsoid (v3).
    Geography {
        /// The coordinate reference system; `None` is `OGC:CRS84`.
        crs: Option<String>,
        /// How edges run between points; `None` is spherical.
        algorithm: Option<EdgeAlgorithm>,
    },
}

/// How an edge runs between two points of a geography (§ Primitive Types).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EdgeAlgorithm {
    /// Great circles on a sphere.
    Spherical,
    /// Vincenty's formulae.
    Vincenty,
    /// Thomas's formula.
    Thomas,
    /// Andoyer's formula.
    Andoyer,
    /// Karney's method.
    Karney,
}

/// The fields of a struct, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StructType {
    fields: Vec<NestedField>,
}

/// A named field of a struct, also the form of list elements and map entries.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedField {
    /// Unique in the table's schemas, never used again for another column.
    pub id: i32,
    /// Unique inside its struct; may hold dots.
    pub name: String,
    /// Whether null is forbidden.
    pub required: bool,
    /// The type of its values.
    pub field_type: Type,
    /// A comment for people.
    pub doc: Option<String>,
    /// What rows of files without this field hold (v3, § Default values). `None` is null.
    pub initial_default: Option<Value>,
    /// What writers store for rows that leave the field out (v3). `None` is null.
    pub write_default: Option<Value>,
}

/// A list type with the id of its element.
#[derive(Debug, Clone, PartialEq)]
pub struct ListType {
    /// The element; its name is `element`.
    pub element: NestedField,
}

/// A map type with the ids of its key and value.
#[derive(Debug, Clone, PartialEq)]
pub struct MapType {
    /// The key, always required; its name is `key`.
    pub key: NestedField,
    /// The value; its name is `value`.
    pub value: NestedField,
}

impl StructType {
    /// A struct of these fields, in this order.
    pub fn new(fields: Vec<NestedField>) -> Self {
        Self { fields }
    }

    /// The fields in order.
    pub fn fields(&self) -> &[NestedField] {
        &self.fields
    }

    /// The direct field with this id.
    pub fn field_by_id(&self, id: i32) -> Option<&NestedField> {
        self.fields.iter().find(|f| f.id == id)
    }

    /// The direct field with this name, in this case.
    pub fn field_by_name(&self, name: &str) -> Option<&NestedField> {
        self.fields.iter().find(|f| f.name == name)
    }
}

impl NestedField {
    /// A field that may hold null.
    pub fn optional(id: i32, name: impl Into<String>, field_type: impl Into<Type>) -> Self {
        Self {
            id,
            name: name.into(),
            required: false,
            field_type: field_type.into(),
            doc: None,
            initial_default: None,
            write_default: None,
        }
    }

    /// A field that holds no null.
    pub fn required(id: i32, name: impl Into<String>, field_type: impl Into<Type>) -> Self {
        Self {
            required: true,
            ..Self::optional(id, name, field_type)
        }
    }
}

impl ListType {
    /// A list whose element has this id and type.
    pub fn new(element_id: i32, element_type: impl Into<Type>, element_required: bool) -> Self {
        Self {
            element: NestedField {
                required: element_required,
                ..NestedField::optional(element_id, "element", element_type)
            },
        }
    }
}

impl MapType {
    /// A map whose key and value have these ids and types.
    pub fn new(
        key_id: i32,
        key_type: impl Into<Type>,
        value_id: i32,
        value_type: impl Into<Type>,
        value_required: bool,
    ) -> Self {
        Self {
            key: NestedField::required(key_id, "key", key_type),
            value: NestedField {
                required: value_required,
                ..NestedField::optional(value_id, "value", value_type)
            },
        }
    }
}

impl Type {
    /// The primitive type, if it is one.
    pub fn as_primitive(&self) -> Option<&PrimitiveType> {
        match self {
            Self::Primitive(p) => Some(p),
            _ => None,
        }
    }

    /// The struct type, if it is one.
    pub fn as_struct(&self) -> Option<&StructType> {
        match self {
            Self::Struct(s) => Some(s),
            _ => None,
        }
    }

    /// The fields right below this type: a struct's fields, a list's element, a map's key and value.
    pub fn children(&self) -> Vec<&NestedField> {
        match self {
            Self::Primitive(_) => Vec::new(),
            Self::Struct(s) => s.fields.iter().collect(),
            Self::List(l) => vec![&l.element],
            Self::Map(m) => vec![&m.key, &m.value],
        }
    }

    /// The lowest format version that has this type; nested types ask for what their fields ask for.
    pub fn min_format_version(&self) -> u8 {
        match self {
            Self::Primitive(p) => p.min_format_version(),
            nested => nested
                .children()
                .iter()
                .map(|f| f.field_type.min_format_version())
                .max()
                .unwrap_or(1),
        }
    }
}

impl PrimitiveType {
    /// The lowest format version that has this type (§ Primitive Types).
    pub fn min_format_version(&self) -> u8 {
        match self {
            Self::TimestampNs
            | Self::TimestamptzNs
            | Self::Unknown
            | Self::Variant
            | Self::Geometry { .. }
            | Self::Geography { .. } => 3,
            _ => 1,
        }
    }

    /// Whether values are floating-point numbers, with NaN and two zeros.
    pub fn is_floating(&self) -> bool {
        matches!(self, Self::Float | Self::Double)
    }
}

impl From<PrimitiveType> for Type {
    fn from(p: PrimitiveType) -> Self {
        Self::Primitive(p)
    }
}

impl From<StructType> for Type {
    fn from(s: StructType) -> Self {
        Self::Struct(s)
    }
}

impl From<ListType> for Type {
    fn from(l: ListType) -> Self {
        Self::List(Box::new(l))
    }
}

impl From<MapType> for Type {
    fn from(m: MapType) -> Self {
        Self::Map(Box::new(m))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(p) => p.fmt(f),
            Self::Struct(s) => {
                f.write_str("struct<")?;
                for (i, field) in s.fields.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{}: {}", field.name, field.field_type)?;
                }
                f.write_str(">")
            }
            Self::List(l) => write!(f, "list<{}>", l.element.field_type),
            Self::Map(m) => write!(f, "map<{}, {}>", m.key.field_type, m.value.field_type),
        }
    }
}

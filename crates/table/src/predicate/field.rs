//! Columns that predicates may ask about.

use std::fmt;

use drumlin_format::schema::Schema;
use drumlin_format::types::PrimitiveType;

/// A column, or a field of a struct, of the schema a scan reads with. Only primitive fields outside lists and maps
/// exist as references: of others a row has no one value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldRef {
    field_id: i32,
    primitive: PrimitiveType,
    name: String,
    nested: bool,
}

/// Why a field cannot be asked about in a predicate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFilterable {
    /// The schema has no such field.
    #[error("schema {schema_id} has no field with id {field_id}")]
    Unknown {
        /// The id of the schema.
        schema_id: i32,
        /// The id that was asked for.
        field_id: i32,
    },
    /// The field is a struct, list or map.
    #[error("the field `{0}` is of a nested type; a predicate can ask about primitive fields only")]
    Nested(String),
    /// The field stands inside a list or map.
    #[error("the field `{0}` is inside a list or map, so that a row has no one value of it")]
    Repeated(String),
}

impl FieldRef {
    /// The field with this id of the schema that a scan reads with.
    pub fn new(schema: &Schema, field_id: i32) -> Result<Self, NotFilterable> {
        let unknown = || NotFilterable::Unknown {
            schema_id: schema.schema_id(),
            field_id,
        };
        let field = schema.field_by_id(field_id).ok_or_else(unknown)?;
        let name = schema.name_of(field_id).ok_or_else(unknown)?.to_owned();
        if schema.is_repeated(field_id) {
            return Err(NotFilterable::Repeated(name));
        }
        let Some(primitive) = field.field_type.as_primitive() else {
            return Err(NotFilterable::Nested(name));
        };
        Ok(Self {
            field_id,
            primitive: primitive.clone(),
            name,
            nested: schema.parent_of(field_id).is_some(),
        })
    }

    /// The field's id.
    pub fn field_id(&self) -> i32 {
        self.field_id
    }

    /// The field's type in the schema of the scan; literals are of this type.
    pub fn primitive(&self) -> &PrimitiveType {
        &self.primitive
    }

    /// The full name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the field stands inside a struct, so that it is also null where the struct is.
    pub fn is_nested(&self) -> bool {
        self.nested
    }
}

impl fmt::Display for FieldRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

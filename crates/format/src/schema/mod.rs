//! Schemas (§ Schemas): a struct of fields, found by id or by full name.

mod json;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::types::{NestedField, PrimitiveType, StructType, Type};

/// The highest id that a column may have; those above are reserved (§ Reserved Field IDs).
pub const MAX_FIELD_ID: i32 = 2_147_483_447;

/// A schema of a table, indexed by field id and by full name. The default is without columns.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    schema_id: i32,
    fields: StructType,
    identifier_field_ids: Vec<i32>,
    by_id: HashMap<i32, Indexed>,
    by_name: HashMap<String, i32>,
}

/// Where a field stands in its schema.
#[derive(Debug, Clone)]
struct Indexed {
    field: NestedField,
    full_name: String,
    parent: Option<i32>,
    /// Whether a list or map lies between the field and the root.
    repeated: bool,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.schema_id == other.schema_id && self.same_columns(other)
    }
}

impl Schema {
    /// A schema of these fields. Ids must be unique and not reserved, names unique in their struct, identifier fields
    /// known.
    pub fn new(schema_id: i32, fields: Vec<NestedField>, identifier_field_ids: Vec<i32>) -> Result<Self> {
        let fields = StructType::new(fields);
        let mut index = Index::default();
        index.add_struct(&fields, None, "", false)?;
        let schema = Self {
            schema_id,
            fields,
            identifier_field_ids,
            by_id: index.by_id,
            by_name: index.by_name,
        };
        for id in &schema.identifier_field_ids {
            schema.check_identifier_field(*id)?;
        }
        Ok(schema)
    }

    /// The id of this schema among those of its table.
    pub fn schema_id(&self) -> i32 {
        self.schema_id
    }

    /// The same columns under another schema id.
    #[must_use]
    pub fn with_schema_id(mut self, schema_id: i32) -> Self {
        self.schema_id = schema_id;
        self
    }

    /// The columns as one struct.
    pub fn as_struct(&self) -> &StructType {
        &self.fields
    }

    /// The columns in order.
    pub fn fields(&self) -> &[NestedField] {
        self.fields.fields()
    }

    /// Ids of the fields that identify a row (§ Identifier Field IDs), may be empty.
    pub fn identifier_field_ids(&self) -> &[i32] {
        &self.identifier_field_ids
    }

    /// The field with this id at any depth.
    pub fn field_by_id(&self, id: i32) -> Option<&NestedField> {
        self.by_id.get(&id).map(|i| &i.field)
    }

    /// The field with this full name: `a.b` is the field `b` of the struct `a`, `l.element`, `m.key` and `m.value`
    /// go into lists and maps.
    pub fn field_by_name(&self, full_name: &str) -> Option<&NestedField> {
        self.by_name.get(full_name).and_then(|id| self.field_by_id(*id))
    }

    /// The full name of the field with this id.
    pub fn name_of(&self, id: i32) -> Option<&str> {
        self.by_id.get(&id).map(|i| i.full_name.as_str())
    }

    /// The id of the struct, list or map around the field, `None` for columns.
    pub fn parent_of(&self, id: i32) -> Option<i32> {
        self.by_id.get(&id).and_then(|i| i.parent)
    }

    /// Whether the field stands inside a list or a map, so that a row has any number of its values.
    pub fn is_repeated(&self, id: i32) -> bool {
        self.by_id.get(&id).is_some_and(|i| i.repeated)
    }

    /// The ids of the fields from the column down to this one, itself included; empty for an unknown id.
    pub fn path_to(&self, id: i32) -> Vec<i32> {
        let mut path = Vec::new();
        let mut next = self.by_id.contains_key(&id).then_some(id);
        while let Some(id) = next {
            path.push(id);
            next = self.parent_of(id);
        }
        path.reverse();
        path
    }

    /// All field ids, in no order.
    pub fn field_ids(&self) -> impl Iterator<Item = i32> + '_ {
        self.by_id.keys().copied()
    }

    /// The highest field id, 0 for a schema without fields.
    pub fn highest_field_id(&self) -> i32 {
        self.by_id.keys().copied().max().unwrap_or(0)
    }

    /// Whether both have the same columns and identifier fields, whatever their schema ids.
    pub fn same_columns(&self, other: &Self) -> bool {
        self.fields == other.fields && self.identifier_field_ids == other.identifier_field_ids
    }

    /// Refuses types and defaults that the format version does not have (§ Primitive Types, § Default values).
    pub fn check_format_version(&self, format_version: u8) -> Result<()> {
        for indexed in self.by_id.values() {
            let field = &indexed.field;
            let what = || {
                format!(
                    "schema {}, field `{}` (id {})",
                    self.schema_id, indexed.full_name, field.id
                )
            };
            let needed = match &field.field_type {
                Type::Primitive(p) => p.min_format_version(),
                _ => 1,
            };
            if needed > format_version {
                let reason = format!(
                    "the type {} needs format version {needed}, the table has version {format_version}",
                    field.field_type
                );
                return Err(Error::invalid(what(), reason));
            }
            if format_version < 3 && field.initial_default.is_some() {
                let reason =
                    format!("initial-default needs format version 3, the table has version {format_version}");
                return Err(Error::invalid(what(), reason));
            }
            if field.required && field.field_type == Type::Primitive(PrimitiveType::Unknown) {
                return Err(Error::invalid(what(), "a field of type unknown must be optional"));
            }
        }
        Ok(())
    }

    fn check_identifier_field(&self, id: i32) -> Result<()> {
        let wrong = |reason: &str| {
            Err(Error::invalid(
                format!("schema {}, identifier field {id}", self.schema_id),
                reason,
            ))
        };
        let Some(indexed) = self.by_id.get(&id) else {
            return wrong("the schema has no field with this id");
        };
        match &indexed.field.field_type {
            Type::Primitive(p) if p.is_floating() => return wrong("float and double cannot identify rows"),
            Type::Primitive(_) => {}
            _ => return wrong("only fields of primitive types can identify rows"),
        }
        if indexed.repeated {
            return wrong("a field inside a list or map cannot identify rows");
        }
        let optional = |id: &i32| self.field_by_id(*id).is_some_and(|f| !f.required);
        if self.path_to(id).iter().any(optional) {
            return wrong("an identifier field and the structs around it must be required");
        }
        Ok(())
    }
}

#[derive(Default)]
struct Index {
    by_id: HashMap<i32, Indexed>,
    by_name: HashMap<String, i32>,
}

impl Index {
    fn add_struct(
        &mut self,
        fields: &StructType,
        parent: Option<i32>,
        prefix: &str,
        repeated: bool,
    ) -> Result<()> {
        let mut names = std::collections::HashSet::new();
        for field in fields.fields() {
            if !names.insert(field.name.as_str()) {
                return Err(Error::invalid(
                    format!("field `{prefix}{}`", field.name),
                    "another field of the same struct has this name",
                ));
            }
            self.add_field(field, parent, prefix, repeated)?;
        }
        Ok(())
    }

    fn add_field(
        &mut self,
        field: &NestedField,
        parent: Option<i32>,
        prefix: &str,
        repeated: bool,
    ) -> Result<()> {
        let full_name = format!("{prefix}{}", field.name);
        let indexed = Indexed {
            field: field.clone(),
            full_name: full_name.clone(),
            parent,
            repeated,
        };
        if let Some(other) = self.by_id.insert(field.id, indexed) {
            return Err(Error::invalid(
                format!("field `{full_name}`"),
                format!("its id {} is also that of `{}`", field.id, other.full_name),
            ));
        }
        // Two paths can spell one name where names hold dots; the shorter path wins, as it was there first.
        self.by_name.entry(full_name.clone()).or_insert(field.id);
        let prefix = format!("{full_name}.");
        match &field.field_type {
            Type::Primitive(_) => Ok(()),
            Type::Struct(s) => self.add_struct(s, Some(field.id), &prefix, repeated),
            Type::List(l) => self.add_field(&l.element, Some(field.id), &prefix, true),
            Type::Map(m) => {
                self.add_field(&m.key, Some(field.id), &prefix, true)?;
                self.add_field(&m.value, Some(field.id), &prefix, true)
            }
        }
    }
}

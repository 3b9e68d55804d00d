//! Name mapping (§ Column Projection, § Name Mapping Serialization): field ids for data files that carry none.
//!
//! A table keeps its mapping in the property `schema.name-mapping.default`. Columns that the mapping does not name
//! are not read from files without ids, not even those whose name is in the schema.

mod json;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::types::NestedField;

/// The table property that holds the mapping.
pub const NAME_MAPPING_PROPERTY: &str = "schema.name-mapping.default";

/// Which names in data files mean which fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameMapping {
    fields: Vec<MappedField>,
}

/// One field of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedField {
    /// The id of the field; without one the names are known, but mean no column.
    pub field_id: Option<i32>,
    /// The names of the field in data files, none of them a path: a dot is part of the name.
    pub names: Vec<String>,
    /// The fields inside: of a struct by their names, of a list `element`, of a map `key` and `value`.
    pub fields: Vec<MappedField>,
}

impl NameMapping {
    /// A mapping of these fields. Refuses a name that two fields of one struct have.
    pub fn new(fields: Vec<MappedField>) -> Result<Self> {
        check_names(&fields)?;
        Ok(Self { fields })
    }

    /// The mapping that gives every field of the schema its name.
    pub fn of_schema(schema: &Schema) -> Self {
        let fields = schema.fields().iter().map(mapped).collect();
        Self { fields }
    }

    /// The fields of the columns.
    pub fn fields(&self) -> &[MappedField] {
        &self.fields
    }

    /// The field that a path of names means, from the column down, for example `["a", "element", "x"]`.
    pub fn find<S: AsRef<str>>(&self, path: &[S]) -> Option<&MappedField> {
        let (first, rest) = path.split_first()?;
        let column = named(&self.fields, first.as_ref())?;
        rest.iter()
            .try_fold(column, |field, name| field.child(name.as_ref()))
    }
}

impl MappedField {
    /// The field with this name inside this one.
    pub fn child(&self, name: &str) -> Option<&MappedField> {
        named(&self.fields, name)
    }
}

fn named<'a>(fields: &'a [MappedField], name: &str) -> Option<&'a MappedField> {
    fields.iter().find(|field| field.names.iter().any(|n| n == name))
}

fn mapped(field: &NestedField) -> MappedField {
    MappedField {
        field_id: Some(field.id),
        names: vec![field.name.clone()],
        fields: field.field_type.children().into_iter().map(mapped).collect(),
    }
}

fn check_names(fields: &[MappedField]) -> Result<()> {
    let mut names = HashSet::new();
    for field in fields {
        if let Some(twice) = field.names.iter().find(|name| !names.insert(name.as_str())) {
            let reason = format!("the name `{twice}` stands for two fields of one struct");
            return Err(Error::invalid("name mapping", reason));
        }
        check_names(&field.fields)?;
    }
    Ok(())
}

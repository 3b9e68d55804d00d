//! Ids for the columns of a new or replaced table.
//!
//! As in the reference implementation, ids are assigned level by level: first to all fields of a struct, then to
//! what is inside each of them; a map's key before its value.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::schema::{MAX_FIELD_ID, Schema};
use crate::types::{ListType, MapType, NestedField, StructType, Type};

/// The schema with fresh ids above `last_column_id`, and which old id became which new one. The ids of the schema
/// are names only. A field whose full name `base` has keeps the id it has there, whatever its type.
pub fn assign_fresh_ids(
    schema: &Schema,
    base: Option<&Schema>,
    last_column_id: i32,
) -> Result<(Schema, HashMap<i32, i32>)> {
    let mut ids = FreshIds {
        schema,
        base,
        last: last_column_id,
        new_ids: HashMap::new(),
    };
    let fields = ids.assign_struct(schema.as_struct())?;
    let identifiers = schema.identifier_field_ids().iter();
    let identifiers = identifiers
        .filter_map(|id| ids.new_ids.get(id).copied())
        .collect();
    let schema = Schema::new(schema.schema_id(), fields.fields().to_vec(), identifiers)?;
    Ok((schema, ids.new_ids))
}

struct FreshIds<'a> {
    schema: &'a Schema,
    base: Option<&'a Schema>,
    last: i32,
    new_ids: HashMap<i32, i32>,
}

impl FreshIds<'_> {
    fn next_id(&mut self, old_id: i32) -> Result<i32> {
        let kept = self
            .schema
            .name_of(old_id)
            .and_then(|name| Some(self.base?.field_by_name(name)?.id));
        let id = match kept {
            Some(id) => id,
            None if self.last >= MAX_FIELD_ID => {
                let reason = format!("no id up to {MAX_FIELD_ID} is left for a new column");
                return Err(Error::invalid("schema", reason));
            }
            None => {
                self.last += 1;
                self.last
            }
        };
        self.new_ids.insert(old_id, id);
        Ok(id)
    }

    fn assign_struct(&mut self, of: &StructType) -> Result<StructType> {
        let ids = of
            .fields()
            .iter()
            .map(|f| self.next_id(f.id))
            .collect::<Result<Vec<_>>>()?;
        let fields = ids.into_iter().zip(of.fields());
        let fields = fields.map(|(id, field)| self.assign_field(id, field));
        Ok(StructType::new(fields.collect::<Result<_>>()?))
    }

    fn assign_field(&mut self, id: i32, field: &NestedField) -> Result<NestedField> {
        let field_type = match &field.field_type {
            Type::Primitive(p) => Type::Primitive(p.clone()),
            Type::Struct(s) => self.assign_struct(s)?.into(),
            Type::List(l) => {
                let id = self.next_id(l.element.id)?;
                let element = self.assign_field(id, &l.element)?;
                ListType { element }.into()
            }
            Type::Map(m) => {
                let (key_id, value_id) = (self.next_id(m.key.id)?, self.next_id(m.value.id)?);
                let key = self.assign_field(key_id, &m.key)?;
                let value = self.assign_field(value_id, &m.value)?;
                MapType { key, value }.into()
            }
        };
        Ok(NestedField {
            id,
            field_type,
            ..field.clone()
        })
    }
}

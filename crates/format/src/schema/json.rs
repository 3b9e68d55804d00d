//! The JSON form of schemas (§ Appendix C: Schemas).

use serde_json::Value as Json;

use super::Schema;
use crate::error::{Error, Result};
use crate::types::StructType;

impl Schema {
    /// Reads a schema. `default_schema_id` is taken where `schema-id` is missing, as in version 1.
    pub fn from_json(json: &Json, default_schema_id: i32, at: &str) -> Result<Self> {
        let schema_id = match json.get("schema-id") {
            None | Some(Json::Null) => default_schema_id,
            Some(id) => id
                .as_i64()
                .and_then(|v| i32::try_from(v).ok())
                .ok_or_else(|| Error::invalid(at, "expected a 32-bit integer `schema-id`"))?,
        };
        let identifiers = match json.get("identifier-field-ids") {
            None | Some(Json::Null) => Vec::new(),
            Some(ids) => ids
                .as_array()
                .and_then(|ids| {
                    ids.iter()
                        .map(|v| v.as_i64().and_then(|v| i32::try_from(v).ok()))
                        .collect::<Option<Vec<_>>>()
                })
                .ok_or_else(|| Error::invalid(at, "expected an array of ids in `identifier-field-ids`"))?,
        };
        let fields = StructType::from_json(json, at)?;
        Self::new(schema_id, fields.fields().to_vec(), identifiers)
    }

    /// The JSON form.
    pub fn to_json(&self) -> Result<Json> {
        let mut object = self.as_struct().to_json_object()?;
        object.insert("schema-id".into(), self.schema_id().into());
        if !self.identifier_field_ids().is_empty() {
            object.insert("identifier-field-ids".into(), self.identifier_field_ids().into());
        }
        Ok(Json::Object(object))
    }
}

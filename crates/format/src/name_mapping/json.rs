//! The JSON form of name mappings (§ Name Mapping Serialization).

use serde_json::{Map, Value as Json};

use super::{MappedField, NameMapping};
use crate::error::{Error, Result};

const WHAT: &str = "name mapping";

impl NameMapping {
    /// Reads the text of the property [`NAME_MAPPING_PROPERTY`](super::NAME_MAPPING_PROPERTY).
    pub fn from_json_text(text: &str) -> Result<Self> {
        // The parser bounds how deep fields are nested.
        let json: Json = serde_json::from_str(text).map_err(|e| Error::invalid(WHAT, e.to_string()))?;
        Self::new(fields_from_json(&json, WHAT)?)
    }

    /// The text of the property.
    pub fn to_json_text(&self) -> String {
        fields_to_json(&self.fields).to_string()
    }
}

fn fields_from_json(json: &Json, at: &str) -> Result<Vec<MappedField>> {
    let fields = json
        .as_array()
        .ok_or_else(|| Error::invalid(at, "expected an array of mapped fields"))?;
    let fields = fields.iter().enumerate();
    fields
        .map(|(i, field)| field_from_json(field, &format!("{at}[{i}]")))
        .collect()
}

fn field_from_json(json: &Json, at: &str) -> Result<MappedField> {
    let names = json
        .get("names")
        .and_then(Json::as_array)
        .and_then(|names| names.iter().map(|n| n.as_str().map(str::to_string)).collect())
        .ok_or_else(|| Error::invalid(at, "expected an array of strings `names`"))?;
    let field_id = match json.get("field-id") {
        None | Some(Json::Null) => None,
        Some(id) => {
            let id = id.as_i64().and_then(|id| i32::try_from(id).ok());
            Some(id.ok_or_else(|| Error::invalid(at, "expected a 32-bit integer `field-id`"))?)
        }
    };
    let fields = match json.get("fields") {
        None | Some(Json::Null) => Vec::new(),
        Some(fields) => fields_from_json(fields, &format!("{at}.fields"))?,
    };
    Ok(MappedField {
        field_id,
        names,
        fields,
    })
}

fn fields_to_json(fields: &[MappedField]) -> Json {
    let field = |field: &MappedField| {
        let mut json = Map::new();
        if let Some(id) = field.field_id {
            json.insert("field-id".into(), id.into());
        }
        json.insert("names".into(), field.names.clone().into());
        if !field.fields.is_empty() {
            json.insert("fields".into(), fields_to_json(&field.fields));
        }
        Json::Object(json)
    };
    fields.iter().map(field).collect()
}

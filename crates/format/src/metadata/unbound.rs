//! Partition specs as a client asks for them: ids may be left for the table to assign.

use serde_json::{Map, Value as Json, json};

use crate::error::{Error, Result};
use crate::partition::{PartitionField, PartitionSpec};
use crate::transform::Transform;

/// A partition spec whose ids are not assigned yet (REST catalog: the `spec` of the update `add-spec`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnboundPartitionSpec {
    /// The id that the client gave; the table reuses the id of an equal spec or assigns the next.
    pub spec_id: Option<i32>,
    /// The fields in order.
    pub fields: Vec<UnboundPartitionField>,
}

/// A field of an [`UnboundPartitionSpec`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnboundPartitionField {
    /// Ids of the source columns.
    pub source_ids: Vec<i32>,
    /// The id of the field; without one, the table reuses that of an equivalent field or assigns the next.
    pub field_id: Option<i32>,
    /// The name of the field.
    pub name: String,
    /// How the value is made.
    pub transform: Transform,
}

impl From<&PartitionSpec> for UnboundPartitionSpec {
    fn from(spec: &PartitionSpec) -> Self {
        let field = |f: &PartitionField| UnboundPartitionField {
            source_ids: f.source_ids.clone(),
            field_id: Some(f.field_id),
            name: f.name.clone(),
            transform: f.transform.clone(),
        };
        Self {
            spec_id: Some(spec.spec_id()),
            fields: spec.fields().iter().map(field).collect(),
        }
    }
}

impl UnboundPartitionSpec {
    /// Reads `{"fields": […]}` with ids where they are given.
    pub fn from_json(json: &Json, at: &str) -> Result<Self> {
        let fields = json
            .get("fields")
            .and_then(Json::as_array)
            .ok_or_else(|| Error::invalid(at, "expected an array `fields`"))?;
        let fields = fields
            .iter()
            .enumerate()
            .map(|(i, field)| field_from_json(field, &format!("{at}.fields[{i}]")))
            .collect::<Result<_>>()?;
        Ok(Self {
            spec_id: optional_int(json, "spec-id", at)?,
            fields,
        })
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        let mut json = Map::new();
        if let Some(id) = self.spec_id {
            json.insert("spec-id".into(), id.into());
        }
        let fields = self.fields.iter().map(|field| {
            let mut json = json!({"name": field.name, "transform": field.transform.to_string()});
            match field.source_ids.as_slice() {
                [id] => json["source-id"] = (*id).into(),
                ids => json["source-ids"] = ids.into(),
            }
            if let Some(id) = field.field_id {
                json["field-id"] = id.into();
            }
            json
        });
        json.insert("fields".into(), fields.collect());
        Json::Object(json)
    }
}

fn field_from_json(json: &Json, at: &str) -> Result<UnboundPartitionField> {
    let text = |key: &str| {
        json.get(key)
            .and_then(Json::as_str)
            .ok_or_else(|| Error::invalid(at, format!("expected a string `{key}`")))
    };
    let Ok(transform) = text("transform")?.parse::<Transform>();
    let source_ids = match (optional_int(json, "source-id", at)?, json.get("source-ids")) {
        (Some(id), _) => Some(vec![id]),
        (None, Some(ids)) => ids.as_array().and_then(|ids| {
            let int = |id: &Json| id.as_i64().and_then(|id| i32::try_from(id).ok());
            ids.iter().map(int).collect()
        }),
        (None, None) => None,
    };
    Ok(UnboundPartitionField {
        source_ids: source_ids
            .filter(|ids: &Vec<i32>| !ids.is_empty())
            .ok_or_else(|| Error::invalid(at, "expected an id `source-id` or ids `source-ids`"))?,
        field_id: optional_int(json, "field-id", at)?,
        name: text("name")?.to_string(),
        transform,
    })
}

fn optional_int(json: &Json, key: &str, at: &str) -> Result<Option<i32>> {
    match json.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => value
            .as_i64()
            .and_then(|v| i32::try_from(v).ok())
            .map(Some)
            .ok_or_else(|| Error::invalid(at, format!("expected a 32-bit integer `{key}`"))),
    }
}

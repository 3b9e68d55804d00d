//! The JSON form of partition specs (§ Appendix C: Partition Specs).

use serde_json::{Value as Json, json};

use super::{FIRST_PARTITION_FIELD_ID, PartitionField, PartitionSpec};
use crate::error::{Error, Result};
use crate::transform::Transform;

impl PartitionSpec {
    /// Reads `{"spec-id": …, "fields": […]}`.
    pub fn from_json(json: &Json, at: &str) -> Result<Self> {
        let spec_id = int(json.get("spec-id"))
            .ok_or_else(|| Error::invalid(at, "expected a 32-bit integer `spec-id`"))?;
        let fields = json
            .get("fields")
            .ok_or_else(|| Error::invalid(at, "`fields` is missing"))?;
        Ok(Self::new(spec_id, fields_from_json(fields, at)?))
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        json!({"spec-id": self.spec_id, "fields": self.fields_to_json()})
    }

    /// The array of fields alone, as version 1 metadata and manifest headers hold it.
    pub fn fields_to_json(&self) -> Json {
        self.fields.iter().map(field_to_json).collect()
    }
}

/// Reads an array of partition fields. Where ids are missing, as version 1 allows, they count up from 1000.
pub fn fields_from_json(json: &Json, at: &str) -> Result<Vec<PartitionField>> {
    let fields = json
        .as_array()
        .ok_or_else(|| Error::invalid(at, "expected an array of partition fields"))?;
    (FIRST_PARTITION_FIELD_ID..)
        .zip(fields)
        .map(|(default_id, field)| field_from_json(field, default_id, at))
        .collect()
}

fn field_from_json(json: &Json, default_id: i32, at: &str) -> Result<PartitionField> {
    let name = text(json, "name", at)?;
    let at = &format!("{at}, partition field `{name}`");
    let Ok(transform) = text(json, "transform", at)?.parse::<Transform>();
    let source_ids = match (json.get("source-id"), json.get("source-ids")) {
        (Some(id), _) => int(Some(id)).map(|id| vec![id]),
        (None, Some(ids)) => ids
            .as_array()
            .and_then(|ids| ids.iter().map(|id| int(Some(id))).collect()),
        (None, None) => None,
    };
    let field_id = match json.get("field-id") {
        None | Some(Json::Null) => Some(default_id),
        id => int(id),
    };
    Ok(PartitionField {
        source_ids: source_ids
            .filter(|ids| !ids.is_empty())
            .ok_or_else(|| Error::invalid(at, "expected an id `source-id` or ids `source-ids`"))?,
        field_id: field_id.ok_or_else(|| Error::invalid(at, "expected a 32-bit integer `field-id`"))?,
        name,
        transform,
    })
}

fn field_to_json(field: &PartitionField) -> Json {
    let mut json = json!({
        "name": field.name,
        "transform": field.transform.to_string(),
        "field-id": field.field_id,
    });
    match field.source_id() {
        Some(id) => json["source-id"] = id.into(),
        None => json["source-ids"] = field.source_ids.clone().into(),
    }
    json
}

fn int(json: Option<&Json>) -> Option<i32> {
    json?.as_i64().and_then(|v| i32::try_from(v).ok())
}

fn text(json: &Json, key: &str, at: &str) -> Result<String> {
    json.get(key)
        .and_then(Json::as_str)
        .map(str::to_string)
        .ok_or_else(|| Error::invalid(at, format!("expected a string `{key}`")))
}

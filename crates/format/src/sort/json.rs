//! The JSON form of sort orders (§ Appendix C: Sort Orders).

use serde_json::{Value as Json, json};

use super::{NullOrder, SortDirection, SortField, SortOrder};
use crate::error::{Error, Result};
use crate::transform::Transform;

impl SortOrder {
    /// Reads `{"order-id": …, "fields": […]}`; `at` names the place for errors.
    pub fn from_json(json: &Json, at: &str) -> Result<Self> {
        let order_id = int(json.get("order-id"))
            .ok_or_else(|| Error::invalid(at, "expected a 32-bit integer `order-id`"))?;
        let fields = json
            .get("fields")
            .and_then(Json::as_array)
            .ok_or_else(|| Error::invalid(at, "expected an array `fields`"))?;
        let fields = fields
            .iter()
            .enumerate()
            .map(|(i, field)| field_from_json(field, &format!("{at}.fields[{i}]")))
            .collect::<Result<_>>()?;
        Ok(Self { order_id, fields })
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        let fields: Json = self.fields.iter().map(field_to_json).collect();
        json!({"order-id": self.order_id, "fields": fields})
    }
}

fn field_from_json(json: &Json, at: &str) -> Result<SortField> {
    let text = |key: &str| {
        json.get(key)
            .and_then(Json::as_str)
            .ok_or_else(|| Error::invalid(at, format!("expected a string `{key}`")))
    };
    let Ok(transform) = text("transform")?.parse::<Transform>();
    let source_ids = match (json.get("source-id"), json.get("source-ids")) {
        (Some(id), _) => int(Some(id)).map(|id| vec![id]),
        (None, Some(ids)) => ids
            .as_array()
            .and_then(|ids| ids.iter().map(|id| int(Some(id))).collect()),
        (None, None) => None,
    };
    // Java reads both in any case.
    let direction = match text("direction")?.to_ascii_lowercase().as_str() {
        "asc" => SortDirection::Ascending,
        "desc" => SortDirection::Descending,
        other => {
            let reason = format!("expected `direction` asc or desc, found `{other}`");
            return Err(Error::invalid(at, reason));
        }
    };
    let null_order = match text("null-order")?.to_ascii_lowercase().as_str() {
        "nulls-first" => NullOrder::First,
        "nulls-last" => NullOrder::Last,
        other => {
            let reason = format!("expected `null-order` nulls-first or nulls-last, found `{other}`");
            return Err(Error::invalid(at, reason));
        }
    };
    Ok(SortField {
        source_ids: source_ids
            .filter(|ids| !ids.is_empty())
            .ok_or_else(|| Error::invalid(at, "expected an id `source-id` or ids `source-ids`"))?,
        transform,
        direction,
        null_order,
    })
}

fn field_to_json(field: &SortField) -> Json {
    let mut json = json!({
        "transform": field.transform.to_string(),
        "direction": field.direction.to_string(),
        "null-order": field.null_order.to_string(),
    });
    match field.source_ids.as_slice() {
        [id] => json["source-id"] = (*id).into(),
        ids => json["source-ids"] = ids.into(),
    }
    json
}

fn int(json: Option<&Json>) -> Option<i32> {
    json?.as_i64().and_then(|v| i32::try_from(v).ok())
}

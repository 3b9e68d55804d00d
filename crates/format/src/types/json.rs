//! The JSON form of types and fields (§ Appendix C: Schemas).

use serde_json::{Map, Value as Json, json};

use super::{ListType, MapType, NestedField, StructType, Type};
use crate::error::{Error, Result};
use crate::value::json as value_json;

/// How deep types may be nested; deeper JSON is refused before it can exhaust the stack.
pub const MAX_TYPE_DEPTH: usize = 64;

impl Type {
    /// Reads a type from its JSON form; `at` names the place for errors, for example `schemas[0].fields[3].type`.
    pub fn from_json(json: &Json, at: &str) -> Result<Self> {
        type_from_json(json, at, 0)
    }

    /// The JSON form.
    pub fn to_json(&self) -> Result<Json> {
        Ok(match self {
            Self::Primitive(p) => Json::String(p.to_string()),
            Self::Struct(s) => Json::Object(s.to_json_object()?),
            Self::List(l) => json!({
                "type": "list",
                "element-id": l.element.id,
                "element": l.element.field_type.to_json()?,
                "element-required": l.element.required,
            }),
            Self::Map(m) => json!({
                "type": "map",
                "key-id": m.key.id,
                "key": m.key.field_type.to_json()?,
                "value-id": m.value.id,
                "value": m.value.field_type.to_json()?,
                "value-required": m.value.required,
            }),
        })
    }
}

impl StructType {
    /// `{"type": "struct", "fields": […]}` as an object, to which a schema adds its own keys.
    pub fn to_json_object(&self) -> Result<Map<String, Json>> {
        let fields = self
            .fields()
            .iter()
            .map(NestedField::to_json)
            .collect::<Result<Vec<_>>>()?;
        let mut object = Map::new();
        object.insert("type".into(), "struct".into());
        object.insert("fields".into(), fields.into());
        Ok(object)
    }

    /// Reads the `fields` of a struct or a schema.
    pub fn from_json(json: &Json, at: &str) -> Result<Self> {
        struct_from_json(json, at, 0)
    }
}

impl NestedField {
    fn to_json(&self) -> Result<Json> {
        let mut object = Map::new();
        object.insert("id".into(), self.id.into());
        object.insert("name".into(), self.name.clone().into());
        object.insert("required".into(), self.required.into());
        object.insert("type".into(), self.field_type.to_json()?);
        if let Some(doc) = &self.doc {
            object.insert("doc".into(), doc.clone().into());
        }
        for (key, value) in [
            ("initial-default", &self.initial_default),
            ("write-default", &self.write_default),
        ] {
            if let Some(value) = value {
                object.insert(key.into(), value_json::to_json(value, &self.field_type)?);
            }
        }
        Ok(Json::Object(object))
    }
}

fn type_from_json(json: &Json, at: &str, depth: usize) -> Result<Type> {
    if depth > MAX_TYPE_DEPTH {
        return Err(Error::invalid(
            at,
            format!("types are nested deeper than {MAX_TYPE_DEPTH}"),
        ));
    }
    match json {
        Json::String(text) => match text.parse() {
            Ok(primitive) => Ok(Type::Primitive(primitive)),
            Err(Error::Invalid { what, reason }) => Err(Error::invalid(at, format!("{what}: {reason}"))),
            Err(other) => Err(other),
        },
        Json::Object(object) => match object.get("type").and_then(Json::as_str) {
            Some("struct") => Ok(struct_from_json(json, at, depth)?.into()),
            Some("list") => Ok(ListType::new(
                id(object, "element-id", at)?,
                nested_type(object, "element", at, depth)?,
                boolean(object, "element-required", at)?,
            )
            .into()),
            Some("map") => Ok(MapType::new(
                id(object, "key-id", at)?,
                nested_type(object, "key", at, depth)?,
                id(object, "value-id", at)?,
                nested_type(object, "value", at, depth)?,
                boolean(object, "value-required", at)?,
            )
            .into()),
            other => Err(Error::invalid(
                at,
                format!("expected the type struct, list or map, found {other:?}"),
            )),
        },
        other => Err(Error::invalid(at, format!("expected a type, found `{other}`"))),
    }
}

fn struct_from_json(json: &Json, at: &str, depth: usize) -> Result<StructType> {
    let fields = json
        .get("fields")
        .and_then(Json::as_array)
        .ok_or_else(|| Error::invalid(at, "expected an array `fields`"))?;
    let fields = fields
        .iter()
        .enumerate()
        .map(|(i, field)| field_from_json(field, &format!("{at}.fields[{i}]"), depth + 1))
        .collect::<Result<Vec<_>>>()?;
    Ok(StructType::new(fields))
}

fn field_from_json(json: &Json, at: &str, depth: usize) -> Result<NestedField> {
    let object = json
        .as_object()
        .ok_or_else(|| Error::invalid(at, "expected an object"))?;
    let name = object
        .get("name")
        .and_then(Json::as_str)
        .ok_or_else(|| Error::invalid(at, "expected a string `name`"))?;
    let at = &format!("{at} (`{name}`)");
    let field_type = nested_type(object, "type", at, depth)?;
    let default = |key: &str| match object.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(json) => value_json::from_json(json, &field_type, &format!("{at}.{key}")),
    };
    Ok(NestedField {
        id: id(object, "id", at)?,
        name: name.to_string(),
        required: boolean(object, "required", at)?,
        doc: object.get("doc").and_then(Json::as_str).map(str::to_string),
        initial_default: default("initial-default")?,
        write_default: default("write-default")?,
        field_type,
    })
}

fn nested_type(object: &Map<String, Json>, key: &str, at: &str, depth: usize) -> Result<Type> {
    let json = object
        .get(key)
        .ok_or_else(|| Error::invalid(at, format!("`{key}` is missing")))?;
    type_from_json(json, &format!("{at}.{key}"), depth + 1)
}

fn id(object: &Map<String, Json>, key: &str, at: &str) -> Result<i32> {
    object
        .get(key)
        .and_then(Json::as_i64)
        .and_then(|v| i32::try_from(v).ok())
        .ok_or_else(|| Error::invalid(at, format!("expected a 32-bit integer `{key}`")))
}

fn boolean(object: &Map<String, Json>, key: &str, at: &str) -> Result<bool> {
    object
        .get(key)
        .and_then(Json::as_bool)
        .ok_or_else(|| Error::invalid(at, format!("expected true or false in `{key}`")))
}

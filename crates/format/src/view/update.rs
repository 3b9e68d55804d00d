//! The changes that a commit of a view is made of, and what it asks for (REST catalog: `ViewUpdate`,
//! `ViewRequirement`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use uuid::Uuid;

use super::{ViewMetadata, ViewVersion};
use crate::error::{Error, Result};
use crate::metadata::UpdateFields;
use crate::schema::Schema;

/// One change of view metadata (REST catalog: `ViewUpdate`).
#[derive(Debug, Clone, PartialEq)]
pub enum ViewUpdate {
    /// `assign-uuid`: gives a new view its id.
    AssignUuid(Uuid),
    /// `set-location`.
    SetLocation(String),
    /// `set-properties`.
    SetProperties(BTreeMap<String, String>),
    /// `remove-properties`.
    RemoveProperties(Vec<String>),
    /// `add-schema`; an equal schema is reused.
    AddSchema(Arc<Schema>),
    /// `add-view-version`; one of equal content is reused. The view assigns its id; its schema id may be -1 for the
    /// last added.
    AddVersion(ViewVersion),
    /// `set-current-view-version`: this id or -1 for the last added.
    SetCurrentVersion(i32),
}

/// What must hold for a view's metadata before updates are applied to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewRequirement {
    /// `assert-create`: there is no such view.
    NotExist,
    /// `assert-view-uuid`: it is this very view.
    Uuid(Uuid),
}

impl ViewUpdate {
    /// The name of the change in the REST catalog.
    pub fn action(&self) -> &'static str {
        match self {
            Self::AssignUuid(_) => "assign-uuid",
            Self::SetLocation(_) => "set-location",
            Self::SetProperties(_) => "set-properties",
            Self::RemoveProperties(_) => "remove-properties",
            Self::AddSchema(_) => "add-schema",
            Self::AddVersion(_) => "add-view-version",
            Self::SetCurrentVersion(_) => "set-current-view-version",
        }
    }

    /// Reads an update. An action that is not known is unsupported, never skipped.
    pub fn from_json(json: &Json) -> Result<Self> {
        let action = json
            .get("action")
            .and_then(Json::as_str)
            .ok_or_else(|| Error::invalid("view update", "expected a string `action`"))?;
        let at = format!("view update `{action}`");
        let fields = UpdateFields { json, at: &at };
        Ok(match action {
            "assign-uuid" => Self::AssignUuid(fields.uuid()?),
            "set-location" => Self::SetLocation(fields.get("location")?),
            "set-properties" => Self::SetProperties(fields.get("updates")?),
            "remove-properties" => Self::RemoveProperties(fields.get("removals")?),
            "add-schema" => {
                let schema = Schema::from_json(fields.raw("schema")?, 0, &format!("{at}, `schema`"))?;
                Self::AddSchema(Arc::new(schema))
            }
            "add-view-version" => Self::AddVersion(fields.get("view-version")?),
            "set-current-view-version" => Self::SetCurrentVersion(fields.get("view-version-id")?),
            other => return Err(Error::unsupported(format!("the view update `{other}`"))),
        })
    }

    /// The JSON form.
    pub fn to_json(&self) -> Result<Json> {
        let (key, value) = match self {
            Self::AssignUuid(id) => ("uuid", id.to_string().into()),
            Self::SetLocation(location) => ("location", location.clone().into()),
            Self::SetProperties(updates) => {
                let updates = updates
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone().into()));
                ("updates", Json::Object(updates.collect()))
            }
            Self::RemoveProperties(removals) => ("removals", removals.clone().into()),
            Self::AddSchema(schema) => ("schema", schema.to_json()?),
            Self::AddVersion(version) => {
                let json = serde_json::to_value(version);
                (
                    "view-version",
                    json.map_err(|e| Error::invalid("view update", e.to_string()))?,
                )
            }
            Self::SetCurrentVersion(id) => ("view-version-id", (*id).into()),
        };
        let mut json = Map::new();
        json.insert("action".into(), self.action().into());
        json.insert(key.into(), value);
        Ok(Json::Object(json))
    }
}

impl ViewRequirement {
    /// Checks it against the metadata of the view, `None` if there is no view. Fails with
    /// [`Error::RequirementFailed`].
    pub fn check(&self, view: Option<&ViewMetadata>) -> Result<()> {
        let found = || match view {
            Some(view) => format!("the view {} at {}", view.view_uuid(), view.location()),
            None => "none".to_string(),
        };
        let failed = match (self, view) {
            (Self::NotExist, None) => return Ok(()),
            (Self::Uuid(id), Some(view)) if view.view_uuid() == *id => return Ok(()),
            (Self::NotExist, _) => format!("assert-create: expected no view, found {}", found()),
            (Self::Uuid(id), _) => format!("assert-view-uuid: expected the view {id}, found {}", found()),
        };
        Err(Error::RequirementFailed(failed))
    }

    /// Reads a requirement. A type that is not known is unsupported, never skipped.
    pub fn from_json(json: &Json) -> Result<Self> {
        let name = json
            .get("type")
            .and_then(Json::as_str)
            .ok_or_else(|| Error::invalid("view requirement", "expected a string `type`"))?;
        let at = format!("view requirement `{name}`");
        match name {
            "assert-create" => Ok(Self::NotExist),
            "assert-view-uuid" => Ok(Self::Uuid(UpdateFields { json, at: &at }.uuid()?)),
            other => Err(Error::unsupported(format!("the view requirement `{other}`"))),
        }
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        match self {
            Self::NotExist => serde_json::json!({"type": "assert-create"}),
            Self::Uuid(id) => serde_json::json!({"type": "assert-view-uuid", "uuid": id.to_string()}),
        }
    }
}

//! Views (Iceberg view specification, version 1): a query under a name, with its history.
//!
//! [`ViewMetadata`] is read and written like table metadata (in `json`); [`ViewMetadataBuilder`] makes the next one.

mod builder;
mod json;
mod update;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use uuid::Uuid;

use crate::schema::Schema;

pub use builder::ViewMetadataBuilder;
pub use update::{ViewRequirement, ViewUpdate};

/// The state of a view: its versions and their schemas.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewMetadata {
    view_uuid: Uuid,
    location: String,
    schemas: Vec<Arc<Schema>>,
    current_version_id: i32,
    versions: Vec<Arc<ViewVersion>>,
    version_log: Vec<ViewLogEntry>,
    properties: BTreeMap<String, String>,
}

/// One definition of a view.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewVersion {
    /// The id of the version in its view.
    pub version_id: i32,
    /// The schema of the query's result.
    pub schema_id: i32,
    /// When it was made, in ms since 1970-01-01 UTC.
    pub timestamp_ms: i64,
    /// Notes of the writer, for example `engine-name`.
    pub summary: BTreeMap<String, String>,
    /// The query, in one or more dialects.
    pub representations: Vec<ViewRepresentation>,
    /// The catalog of names without one; `None` is the catalog of the view itself.
    pub default_catalog: Option<String>,
    /// The namespace of names without one.
    pub default_namespace: Vec<String>,
}

/// One form of a view's query.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewRepresentation {
    /// SQL text.
    Sql {
        /// The text of the `SELECT` statement.
        sql: String,
        /// The dialect it is written in, for example `spark`.
        dialect: String,
    },
    /// A form that this library does not know; it is kept as it is.
    Other(Json),
}

/// Which version became current when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewLogEntry {
    /// When it became current, in ms since 1970-01-01 UTC.
    pub timestamp_ms: i64,
    /// The version.
    pub version_id: i32,
}

impl ViewMetadata {
    /// The id of the view, made at its creation.
    pub fn view_uuid(&self) -> Uuid {
        self.view_uuid
    }

    /// The view's base location, verbatim.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// All schemas, in the order of the file.
    pub fn schemas(&self) -> &[Arc<Schema>] {
        &self.schemas
    }

    /// The schema with this id.
    pub fn schema_by_id(&self, schema_id: i32) -> Option<&Arc<Schema>> {
        self.schemas.iter().find(|s| s.schema_id() == schema_id)
    }

    /// The id of the current version.
    pub fn current_version_id(&self) -> i32 {
        self.current_version_id
    }

    /// The current version; there always is one.
    pub fn current_version(&self) -> Option<&Arc<ViewVersion>> {
        self.version_by_id(self.current_version_id)
    }

    /// The versions that are kept, in the order of the file.
    pub fn versions(&self) -> &[Arc<ViewVersion>] {
        &self.versions
    }

    /// The version with this id.
    pub fn version_by_id(&self, version_id: i32) -> Option<&Arc<ViewVersion>> {
        self.versions.iter().find(|v| v.version_id == version_id)
    }

    /// Which version became current when, oldest first.
    pub fn version_log(&self) -> &[ViewLogEntry] {
        &self.version_log
    }

    /// The view's properties.
    pub fn properties(&self) -> &BTreeMap<String, String> {
        &self.properties
    }
}

impl ViewVersion {
    /// The SQL text in this dialect, whatever its case.
    pub fn sql(&self, dialect: &str) -> Option<&str> {
        self.representations.iter().find_map(|r| match r {
            ViewRepresentation::Sql { sql, dialect: d } if d.eq_ignore_ascii_case(dialect) => {
                Some(sql.as_str())
            }
            _ => None,
        })
    }

    /// The dialects that there is SQL text in, in lower case.
    pub fn dialects(&self) -> impl Iterator<Item = String> + '_ {
        self.representations.iter().filter_map(|r| match r {
            ViewRepresentation::Sql { dialect, .. } => Some(dialect.to_ascii_lowercase()),
            ViewRepresentation::Other(_) => None,
        })
    }
}

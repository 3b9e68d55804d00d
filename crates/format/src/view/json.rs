//! The JSON form of view metadata (view specification § View Metadata).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value as Json, json};
use uuid::Uuid;

use super::{ViewLogEntry, ViewMetadata, ViewRepresentation, ViewVersion};
use crate::error::{Error, Result};
use crate::metadata::{MAX_METADATA_BYTES, file};
use crate::schema::Schema;

const WHAT: &str = "view metadata";
const FORMAT_VERSION: i64 = 1;

/// The file, in Java's order of keys.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Fields<V> {
    view_uuid: String,
    format_version: i64,
    location: String,
    #[serde(default)]
    properties: Option<BTreeMap<String, String>>,
    schemas: Vec<Json>,
    current_version_id: i32,
    versions: Vec<V>,
    version_log: Vec<LogFields>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct LogFields {
    timestamp_ms: i64,
    version_id: i32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct VersionFields {
    version_id: i32,
    timestamp_ms: i64,
    schema_id: i32,
    summary: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_catalog: Option<String>,
    default_namespace: Vec<String>,
    representations: Vec<ViewRepresentation>,
}

impl ViewMetadata {
    /// Reads a view's metadata file, plain JSON or gzip, whatever its name.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let bytes = file::plain(bytes, MAX_METADATA_BYTES, WHAT)?;
        let fields: Fields<ViewVersion> = file::parse(&bytes, WHAT)?;
        if fields.format_version != FORMAT_VERSION {
            let text = format!("view format version {}; version 1 is read", fields.format_version);
            return Err(Error::unsupported(text));
        }
        let view_uuid = Uuid::parse_str(&fields.view_uuid).map_err(|_| {
            let reason = format!("expected a UUID, found `{}`", fields.view_uuid);
            Error::invalid(format!("{WHAT}, field `view-uuid`"), reason)
        })?;
        let schemas = fields.schemas.iter().enumerate();
        let schemas = schemas
            .map(|(i, json)| {
                Ok(Arc::new(Schema::from_json(
                    json,
                    0,
                    &format!("field `schemas[{i}]`"),
                )?))
            })
            .collect::<Result<_>>()?;
        let log = fields.version_log.into_iter().map(|e| ViewLogEntry {
            timestamp_ms: e.timestamp_ms,
            version_id: e.version_id,
        });
        let view = Self {
            view_uuid,
            location: fields.location,
            schemas,
            current_version_id: fields.current_version_id,
            versions: fields.versions.into_iter().map(Arc::new).collect(),
            version_log: log.collect(),
            properties: fields.properties.unwrap_or_default(),
        };
        view.check()?;
        Ok(view)
    }

    /// The JSON text of a metadata file.
    pub fn to_json_bytes(&self) -> Result<Vec<u8>> {
        let log = self.version_log.iter().map(|e| LogFields {
            timestamp_ms: e.timestamp_ms,
            version_id: e.version_id,
        });
        let fields = Fields {
            view_uuid: self.view_uuid.to_string(),
            format_version: FORMAT_VERSION,
            location: self.location.clone(),
            properties: Some(self.properties.clone()),
            schemas: self.schemas.iter().map(|s| s.to_json()).collect::<Result<_>>()?,
            current_version_id: self.current_version_id,
            versions: self.versions.iter().map(|v| v.as_ref().clone()).collect(),
            version_log: log.collect(),
        };
        serde_json::to_vec(&fields).map_err(|e| Error::invalid(WHAT, e.to_string()))
    }

    /// The current version and its schema must exist.
    fn check(&self) -> Result<()> {
        let current = self.current_version().ok_or_else(|| {
            let ids: Vec<_> = self.versions.iter().map(|v| v.version_id).collect();
            let reason = format!("the version {} is not among {ids:?}", self.current_version_id);
            Error::invalid(format!("{WHAT}, field `current-version-id`"), reason)
        })?;
        match self.schema_by_id(current.schema_id) {
            Some(_) => Ok(()),
            None => Err(Error::invalid(
                format!("{WHAT}, version {}", current.version_id),
                format!("its schema {} is not in `schemas`", current.schema_id),
            )),
        }
    }
}

impl<'de> Deserialize<'de> for ViewVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = VersionFields::deserialize(deserializer)?;
        Ok(Self {
            version_id: fields.version_id,
            schema_id: fields.schema_id,
            timestamp_ms: fields.timestamp_ms,
            summary: fields.summary,
            representations: fields.representations,
            default_catalog: fields.default_catalog,
            default_namespace: fields.default_namespace,
        })
    }
}

impl Serialize for ViewVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = VersionFields {
            version_id: self.version_id,
            timestamp_ms: self.timestamp_ms,
            schema_id: self.schema_id,
            summary: self.summary.clone(),
            default_catalog: self.default_catalog.clone(),
            default_namespace: self.default_namespace.clone(),
            representations: self.representations.clone(),
        };
        fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ViewRepresentation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Json::deserialize(deserializer)?;
        let text = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_string);
        match text("type") {
            None => Err(de::Error::missing_field("type")),
            Some(kind) if kind.eq_ignore_ascii_case("sql") => Ok(Self::Sql {
                sql: text("sql").ok_or_else(|| de::Error::missing_field("sql"))?,
                dialect: text("dialect").ok_or_else(|| de::Error::missing_field("dialect"))?,
            }),
            Some(_) => Ok(Self::Other(json)),
        }
    }
}

impl Serialize for ViewRepresentation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Sql { sql, dialect } => {
                json!({"type": "sql", "sql": sql, "dialect": dialect}).serialize(serializer)
            }
            Self::Other(json) => json.serialize(serializer),
        }
    }
}

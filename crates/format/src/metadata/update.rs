//! The changes that a commit is made of (REST catalog: `TableUpdate`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use uuid::Uuid;

use super::{EncryptedKey, PartitionStatisticsFile, StatisticsFile, UnboundPartitionSpec};
use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::snapshot::{Snapshot, SnapshotRef};
use crate::sort::SortOrder;

/// In place of a schema, spec or order id: that which was added last.
pub const LAST_ADDED: i32 = -1;

/// One change of table metadata, applied by [`TableMetadataBuilder`](super::TableMetadataBuilder).
#[derive(Debug, Clone, PartialEq)]
pub enum TableUpdate {
    /// `assign-uuid`: gives a table without id its id.
    AssignUuid(Uuid),
    /// `upgrade-format-version`: to this version; never down.
    UpgradeFormatVersion(u8),
    /// `add-schema`; an equal schema is reused.
    AddSchema(Arc<Schema>),
    /// `set-current-schema`: this id or [`LAST_ADDED`].
    SetCurrentSchema(i32),
    /// `add-spec`; an equal spec is reused.
    AddSpec(UnboundPartitionSpec),
    /// `set-default-spec`: this id or [`LAST_ADDED`].
    SetDefaultSpec(i32),
    /// `add-sort-order`; an equal order is reused.
    AddSortOrder(SortOrder),
    /// `set-default-sort-order`: this id or [`LAST_ADDED`].
    SetDefaultSortOrder(i32),
    /// `add-snapshot`: adds it without making it current.
    AddSnapshot(Arc<Snapshot>),
    /// `set-snapshot-ref`: makes or moves a branch or tag; moving `main` changes the current snapshot.
    SetSnapshotRef {
        /// The name of the branch or tag.
        name: String,
        /// Where it points and how long it is kept.
        snapshot_ref: SnapshotRef,
    },
    /// `remove-snapshots`, with the refs and statistics that name them.
    RemoveSnapshots(Vec<i64>),
    /// `remove-snapshot-ref`: a branch or tag.
    RemoveSnapshotRef(String),
    /// `set-location`: the table's base location.
    SetLocation(String),
    /// `set-properties`.
    SetProperties(BTreeMap<String, String>),
    /// `remove-properties`.
    RemoveProperties(Vec<String>),
    /// `set-statistics`: replaces those of the same snapshot.
    SetStatistics(StatisticsFile),
    /// `remove-statistics` of this snapshot.
    RemoveStatistics(i64),
    /// `set-partition-statistics`: replaces those of the same snapshot.
    SetPartitionStatistics(PartitionStatisticsFile),
    /// `remove-partition-statistics` of this snapshot.
    RemovePartitionStatistics(i64),
    /// `remove-partition-specs` with these ids, which are not the default's.
    RemovePartitionSpecs(Vec<i32>),
    /// `remove-schemas` with these ids, which are not the current one's.
    RemoveSchemas(Vec<i32>),
    /// `add-encryption-key`.
    AddEncryptionKey(EncryptedKey),
    /// `remove-encryption-key` with this id.
    RemoveEncryptionKey(String),
}

impl TableUpdate {
    /// The name of the change in the REST catalog.
    pub fn action(&self) -> &'static str {
        match self {
            Self::AssignUuid(_) => "assign-uuid",
            Self::UpgradeFormatVersion(_) => "upgrade-format-version",
            Self::AddSchema(_) => "add-schema",
            Self::SetCurrentSchema(_) => "set-current-schema",
            Self::AddSpec(_) => "add-spec",
            Self::SetDefaultSpec(_) => "set-default-spec",
            Self::AddSortOrder(_) => "add-sort-order",
            Self::SetDefaultSortOrder(_) => "set-default-sort-order",
            Self::AddSnapshot(_) => "add-snapshot",
            Self::SetSnapshotRef { .. } => "set-snapshot-ref",
            Self::RemoveSnapshots(_) => "remove-snapshots",
            Self::RemoveSnapshotRef(_) => "remove-snapshot-ref",
            Self::SetLocation(_) => "set-location",
            Self::SetProperties(_) => "set-properties",
            Self::RemoveProperties(_) => "remove-properties",
            Self::SetStatistics(_) => "set-statistics",
            Self::RemoveStatistics(_) => "remove-statistics",
            Self::SetPartitionStatistics(_) => "set-partition-statistics",
            Self::RemovePartitionStatistics(_) => "remove-partition-statistics",
            Self::RemovePartitionSpecs(_) => "remove-partition-specs",
            Self::RemoveSchemas(_) => "remove-schemas",
            Self::AddEncryptionKey(_) => "add-encryption-key",
            Self::RemoveEncryptionKey(_) => "remove-encryption-key",
        }
    }

    /// Reads an update. An action that is not known is unsupported, never skipped.
    pub fn from_json(json: &Json) -> Result<Self> {
        let action = json
            .get("action")
            .and_then(Json::as_str)
            .ok_or_else(|| Error::invalid("table update", "expected a string `action`"))?;
        let at = format!("update `{action}`");
        let fields = UpdateFields { json, at: &at };
        Ok(match action {
            "assign-uuid" => Self::AssignUuid(fields.uuid()?),
            "upgrade-format-version" => Self::UpgradeFormatVersion(fields.get("format-version")?),
            "add-schema" => {
                let schema = Schema::from_json(fields.raw("schema")?, 0, &format!("{at}, `schema`"))?;
                Self::AddSchema(Arc::new(schema))
            }
            "set-current-schema" => Self::SetCurrentSchema(fields.get("schema-id")?),
            "add-spec" => {
                let spec = fields.raw("spec")?;
                Self::AddSpec(UnboundPartitionSpec::from_json(spec, &format!("{at}, `spec`"))?)
            }
            "set-default-spec" => Self::SetDefaultSpec(fields.get("spec-id")?),
            "add-sort-order" => {
                let order = fields.raw("sort-order")?;
                Self::AddSortOrder(SortOrder::from_json(order, &format!("{at}, `sort-order`"))?)
            }
            "set-default-sort-order" => Self::SetDefaultSortOrder(fields.get("sort-order-id")?),
            "add-snapshot" => Self::AddSnapshot(Arc::new(fields.get("snapshot")?)),
            "set-snapshot-ref" => Self::SetSnapshotRef {
                name: fields.get("ref-name")?,
                snapshot_ref: fields.whole()?,
            },
            "remove-snapshots" => Self::RemoveSnapshots(fields.get("snapshot-ids")?),
            "remove-snapshot-ref" => Self::RemoveSnapshotRef(fields.get("ref-name")?),
            "set-location" => Self::SetLocation(fields.get("location")?),
            // The old names of the lists were `updated` and `removed`.
            "set-properties" => Self::SetProperties(fields.get_either("updates", "updated")?),
            "remove-properties" => Self::RemoveProperties(fields.get_either("removals", "removed")?),
            "set-statistics" => Self::SetStatistics(fields.get("statistics")?),
            "remove-statistics" => Self::RemoveStatistics(fields.get("snapshot-id")?),
            "set-partition-statistics" => Self::SetPartitionStatistics(fields.get("partition-statistics")?),
            "remove-partition-statistics" => Self::RemovePartitionStatistics(fields.get("snapshot-id")?),
            "remove-partition-specs" => Self::RemovePartitionSpecs(fields.get("spec-ids")?),
            "remove-schemas" => Self::RemoveSchemas(fields.get("schema-ids")?),
            "add-encryption-key" => Self::AddEncryptionKey(fields.get("encryption-key")?),
            "remove-encryption-key" => Self::RemoveEncryptionKey(fields.get("key-id")?),
            other => return Err(Error::unsupported(format!("the table update `{other}`"))),
        })
    }

    /// The JSON form.
    pub fn to_json(&self) -> Result<Json> {
        let mut json = Map::new();
        json.insert("action".into(), self.action().into());
        let mut put = |key: &str, value: Json| json.insert(key.into(), value);
        match self {
            Self::AssignUuid(id) => put("uuid", id.to_string().into()),
            Self::UpgradeFormatVersion(version) => put("format-version", (*version).into()),
            Self::AddSchema(schema) => put("schema", schema.to_json()?),
            Self::SetCurrentSchema(id) => put("schema-id", (*id).into()),
            Self::AddSpec(spec) => put("spec", spec.to_json()),
            Self::SetDefaultSpec(id) => put("spec-id", (*id).into()),
            Self::AddSortOrder(order) => put("sort-order", order.to_json()),
            Self::SetDefaultSortOrder(id) => put("sort-order-id", (*id).into()),
            Self::AddSnapshot(snapshot) => put("snapshot", value(snapshot.as_ref())?),
            Self::SetSnapshotRef { name, snapshot_ref } => {
                if let Json::Object(fields) = value(snapshot_ref)? {
                    json.extend(fields);
                }
                json.insert("ref-name".into(), name.clone().into())
            }
            Self::RemoveSnapshots(ids) => put("snapshot-ids", ids.clone().into()),
            Self::RemoveSnapshotRef(name) => put("ref-name", name.clone().into()),
            Self::SetLocation(location) => put("location", location.clone().into()),
            Self::SetProperties(updates) => put("updates", value(updates)?),
            Self::RemoveProperties(removals) => put("removals", removals.clone().into()),
            Self::SetStatistics(file) => {
                // Deprecated, but old servers ask for it.
                put("snapshot-id", file.snapshot_id.into());
                put("statistics", value(file)?)
            }
            Self::RemoveStatistics(id) | Self::RemovePartitionStatistics(id) => {
                put("snapshot-id", (*id).into())
            }
            Self::SetPartitionStatistics(file) => put("partition-statistics", value(file)?),
            Self::RemovePartitionSpecs(ids) => put("spec-ids", ids.clone().into()),
            Self::RemoveSchemas(ids) => put("schema-ids", ids.clone().into()),
            Self::AddEncryptionKey(key) => put("encryption-key", value(key)?),
            Self::RemoveEncryptionKey(id) => put("key-id", id.clone().into()),
        };
        Ok(Json::Object(json))
    }
}

fn value(of: &impl Serialize) -> Result<Json> {
    serde_json::to_value(of).map_err(|e| Error::invalid("table update", e.to_string()))
}

/// The fields of an update or a requirement, read one by one.
pub(crate) struct UpdateFields<'a> {
    pub(crate) json: &'a Json,
    pub(crate) at: &'a str,
}

impl<'a> UpdateFields<'a> {
    pub(crate) fn raw(&self, key: &str) -> Result<&'a Json> {
        self.json
            .get(key)
            .ok_or_else(|| Error::invalid(self.at, format!("`{key}` is missing")))
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, key: &str) -> Result<T> {
        T::deserialize(self.raw(key)?).map_err(|e| Error::invalid(self.at, format!("`{key}`: {e}")))
    }

    pub(crate) fn uuid(&self) -> Result<Uuid> {
        let text: String = self.get("uuid")?;
        let reason = || format!("expected a UUID in `uuid`, found `{text}`");
        Uuid::parse_str(&text).map_err(|_| Error::invalid(self.at, reason()))
    }

    fn get_either<T: DeserializeOwned>(&self, key: &str, old_key: &str) -> Result<T> {
        match self.json.get(key) {
            None if self.json.get(old_key).is_some() => self.get(old_key),
            _ => self.get(key),
        }
    }

    fn whole<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(self.json).map_err(|e| Error::invalid(self.at, e.to_string()))
    }
}

//! Making the next metadata of a table.
//!
//! [`TableMetadataBuilder`] applies [`TableUpdate`]s in order to a table's metadata or to nothing, and checks each.
//! Schemas are in `schemas`, specs and sort orders in `layout`, snapshots and refs in `snapshots`.

mod layout;
mod schemas;
mod snapshots;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use super::update::TableUpdate;
use super::{MAX_FORMAT_VERSION, TableMetadata, UnboundPartitionSpec, check, fresh_ids};
use crate::error::{Error, Result};
use crate::partition::{FIRST_PARTITION_FIELD_ID, PartitionSpec};
use crate::schema::Schema;
use crate::snapshot::MetadataLogEntry;
use crate::sort::SortOrder;

/// The property that says the format version at creation; it is not stored.
pub const FORMAT_VERSION_PROPERTY: &str = "format-version";

/// The format version of a table for which none was asked.
pub const DEFAULT_FORMAT_VERSION: u8 = 2;

/// Names that tables show as properties but that are none.
pub const RESERVED_PROPERTIES: [&str; 9] = [
    FORMAT_VERSION_PROPERTY,
    "uuid",
    "snapshot-count",
    "current-snapshot-id",
    "current-snapshot-summary",
    "current-snapshot-timestamp-ms",
    "current-schema",
    "default-partition-spec",
    "default-sort-order",
];

const PREVIOUS_VERSIONS_MAX: &str = "write.metadata.previous-versions-max";
const PREVIOUS_VERSIONS_MAX_DEFAULT: usize = 100;

/// What a new table is made of.
#[derive(Debug, Clone)]
pub struct NewTable {
    /// The base location.
    pub location: String,
    /// The columns; their ids serve only to tie spec and order to them, the table gets its own.
    pub schema: Schema,
    /// The partition fields, by the ids of `schema`.
    pub partition_spec: UnboundPartitionSpec,
    /// The sort order, by the ids of `schema`.
    pub sort_order: SortOrder,
    /// Properties, among which `format-version` says the version.
    pub properties: BTreeMap<String, String>,
}

/// Applies updates to metadata; see the module.
#[derive(Debug, Clone)]
pub struct TableMetadataBuilder {
    /// The metadata so far. Without a base, its lists are empty at first.
    metadata: TableMetadata,
    base: Option<Base>,
    last_added_schema: Option<i32>,
    last_added_spec: Option<i32>,
    last_added_order: Option<i32>,
    added_snapshots: HashSet<i64>,
    /// Whether entries of the snapshot log may have lost their snapshot or were dropped.
    log_cut: bool,
    updates: Vec<TableUpdate>,
}

/// What is remembered of the metadata that the changes start from.
#[derive(Debug, Clone)]
struct Base {
    last_updated_ms: i64,
    current_snapshot_id: Option<i64>,
    file: Option<String>,
}

impl TableMetadataBuilder {
    /// Starts from nothing, as a catalog does that gets the updates of a new table.
    pub fn empty() -> Self {
        let nothing = TableMetadata {
            format_version: DEFAULT_FORMAT_VERSION,
            table_uuid: None,
            location: String::new(),
            last_sequence_number: 0,
            last_updated_ms: 0,
            last_column_id: 0,
            schemas: Vec::new(),
            current_schema: Arc::new(Schema::default()),
            partition_specs: Vec::new(),
            default_spec: Arc::new(PartitionSpec::unpartitioned(0)),
            last_partition_id: FIRST_PARTITION_FIELD_ID - 1,
            sort_orders: Vec::new(),
            default_sort_order: Arc::new(SortOrder::unsorted()),
            properties: BTreeMap::new(),
            current_snapshot_id: None,
            snapshots: Vec::new(),
            snapshot_index: HashMap::new(),
            snapshot_log: Vec::new(),
            metadata_log: Vec::new(),
            refs: BTreeMap::new(),
            statistics: Vec::new(),
            partition_statistics: Vec::new(),
            next_row_id: 0,
            encryption_keys: Vec::new(),
        };
        Self::new(nothing, None)
    }

    /// Starts from a table's metadata, read from the file of this name.
    pub fn from(metadata: TableMetadata, file: Option<String>) -> Self {
        let base = Base {
            last_updated_ms: metadata.last_updated_ms,
            current_snapshot_id: metadata.current_snapshot_id,
            file,
        };
        Self::new(metadata, Some(base))
    }

    fn new(metadata: TableMetadata, base: Option<Base>) -> Self {
        Self {
            metadata,
            base,
            last_added_schema: None,
            last_added_spec: None,
            last_added_order: None,
            added_snapshots: HashSet::new(),
            log_cut: false,
            updates: Vec::new(),
        }
    }

    /// Starts a new table with a new uuid. Columns get fresh ids level by level, partition fields from 1000.
    pub fn create(table: NewTable) -> Result<Self> {
        let mut builder = Self::empty();
        let mut properties = table.properties;
        let version = match properties.remove(FORMAT_VERSION_PROPERTY) {
            Some(text) => parse_version(&text)?,
            None => DEFAULT_FORMAT_VERSION,
        };
        let (schema, ids) = fresh_ids::assign_fresh_ids(&table.schema.with_schema_id(0), None, 0)?;
        let new_ids = |old: &[i32], what: &str| -> Result<Vec<i32>> {
            let id = |id: &i32| {
                let reason = || format!("the schema has no column with the id {id}");
                ids.get(id).copied().ok_or_else(|| Error::invalid(what, reason()))
            };
            old.iter().map(id).collect()
        };
        let mut spec = table.partition_spec;
        spec.spec_id = None;
        for field in &mut spec.fields {
            field.source_ids = new_ids(&field.source_ids, &format!("partition field `{}`", field.name))?;
            field.field_id = None;
        }
        layout::check_redundancy(&spec)?;
        let mut order = table.sort_order;
        for field in &mut order.fields {
            field.source_ids = new_ids(&field.source_ids, "sort order")?;
        }
        builder.apply_all([
            TableUpdate::AssignUuid(Uuid::new_v4()),
            TableUpdate::UpgradeFormatVersion(version),
            TableUpdate::AddSchema(Arc::new(schema)),
            TableUpdate::SetCurrentSchema(super::LAST_ADDED),
            TableUpdate::AddSpec(spec),
            TableUpdate::SetDefaultSpec(super::LAST_ADDED),
            TableUpdate::AddSortOrder(order),
            TableUpdate::SetDefaultSortOrder(super::LAST_ADDED),
            TableUpdate::SetLocation(table.location),
            TableUpdate::SetProperties(properties),
        ])?;
        Ok(builder)
    }

    /// The metadata as changed so far. Without a base it may lack what [`build`](Self::build) asks for.
    pub fn metadata(&self) -> &TableMetadata {
        &self.metadata
    }

    /// The updates applied so far, for a catalog that wants them rather than their result.
    pub fn updates(&self) -> &[TableUpdate] {
        &self.updates
    }

    /// Applies updates in order.
    pub fn apply_all(&mut self, updates: impl IntoIterator<Item = TableUpdate>) -> Result<()> {
        updates.into_iter().try_for_each(|update| self.apply(update))
    }

    /// Applies one update. After an error the builder is as it was before the update.
    pub fn apply(&mut self, update: TableUpdate) -> Result<()> {
        match &update {
            TableUpdate::AssignUuid(id) => self.assign_uuid(*id)?,
            TableUpdate::UpgradeFormatVersion(version) => self.upgrade_format_version(*version)?,
            TableUpdate::AddSchema(schema) => self.add_schema(schema)?,
            TableUpdate::SetCurrentSchema(id) => self.set_current_schema(*id)?,
            TableUpdate::AddSpec(spec) => self.add_spec(spec)?,
            TableUpdate::SetDefaultSpec(id) => self.set_default_spec(*id)?,
            TableUpdate::AddSortOrder(order) => self.add_sort_order(order)?,
            TableUpdate::SetDefaultSortOrder(id) => self.set_default_sort_order(*id)?,
            TableUpdate::AddSnapshot(snapshot) => self.add_snapshot(snapshot)?,
            TableUpdate::SetSnapshotRef { name, snapshot_ref } => {
                self.set_snapshot_ref(name, snapshot_ref)?
            }
            TableUpdate::RemoveSnapshots(ids) => self.remove_snapshots(ids)?,
            TableUpdate::RemoveSnapshotRef(name) => self.remove_snapshot_ref(name),
            TableUpdate::SetLocation(location) => self.set_location(location)?,
            TableUpdate::SetProperties(updates) => self.set_properties(updates)?,
            TableUpdate::RemoveProperties(removals) => {
                self.metadata.properties.retain(|key, _| !removals.contains(key));
            }
            TableUpdate::SetStatistics(file) => {
                self.snapshot_must_exist(file.snapshot_id, &update)?;
                self.metadata
                    .statistics
                    .retain(|s| s.snapshot_id != file.snapshot_id);
                self.metadata.statistics.push(file.clone());
            }
            TableUpdate::RemoveStatistics(id) => self.metadata.statistics.retain(|s| s.snapshot_id != *id),
            TableUpdate::SetPartitionStatistics(file) => {
                self.snapshot_must_exist(file.snapshot_id, &update)?;
                self.metadata
                    .partition_statistics
                    .retain(|s| s.snapshot_id != file.snapshot_id);
                self.metadata.partition_statistics.push(file.clone());
            }
            TableUpdate::RemovePartitionStatistics(id) => {
                self.metadata
                    .partition_statistics
                    .retain(|s| s.snapshot_id != *id);
            }
            TableUpdate::RemovePartitionSpecs(ids) => self.remove_partition_specs(ids)?,
            TableUpdate::RemoveSchemas(ids) => self.remove_schemas(ids)?,
            TableUpdate::AddEncryptionKey(key) => self.add_encryption_key(key)?,
            TableUpdate::RemoveEncryptionKey(id) => self.metadata.encryption_keys.retain(|k| k.key_id != *id),
        }
        self.updates.push(update);
        Ok(())
    }

    /// The new metadata, made at `now_ms` (ms since 1970-01-01 UTC). The file of the base goes into the metadata
    /// log; the snapshot log gets one entry if the current snapshot is another one than the base's.
    pub fn build(mut self, now_ms: i64) -> Result<TableMetadata> {
        if self.metadata.location.is_empty() {
            return Err(Error::invalid(
                "table metadata",
                "a table needs a location (set-location)",
            ));
        }
        if self
            .metadata
            .schema_by_id(self.metadata.current_schema.schema_id())
            .is_none()
        {
            let reason = "a table needs a current schema (add-schema, set-current-schema)";
            return Err(Error::invalid("table metadata", reason));
        }
        if self.metadata.table_uuid.is_none() && self.metadata.format_version > 1 {
            self.metadata.table_uuid = Some(Uuid::new_v4());
        }
        if self.metadata.partition_specs.is_empty() {
            self.metadata
                .partition_specs
                .push(Arc::clone(&self.metadata.default_spec));
        }
        if self.metadata.sort_orders.is_empty() {
            self.metadata
                .sort_orders
                .push(Arc::clone(&self.metadata.default_sort_order));
        }
        self.check_layout()?;
        self.metadata.last_updated_ms = self.updated_ms(now_ms);
        self.log_snapshot();
        self.log_metadata_file();
        check::check(&self.metadata)?;
        Ok(self.metadata)
    }

    /// The time of the change: that of the newest snapshot added, else now; never before the base's.
    fn updated_ms(&self, now_ms: i64) -> i64 {
        let added = self.added_snapshots.iter();
        let added = added.filter_map(|id| Some(self.metadata.snapshot_by_id(*id)?.timestamp_ms));
        let at_least = self.base.as_ref().map_or(i64::MIN, |base| base.last_updated_ms);
        added.max().unwrap_or(now_ms).max(at_least)
    }

    fn log_metadata_file(&mut self) {
        let Some((file, timestamp_ms)) = self
            .base
            .as_ref()
            .and_then(|b| Some((b.file.clone()?, b.last_updated_ms)))
        else {
            return;
        };
        self.metadata.metadata_log.push(MetadataLogEntry {
            timestamp_ms,
            metadata_file: file,
        });
        let keep = self
            .metadata
            .property(PREVIOUS_VERSIONS_MAX)
            .and_then(|text| text.parse::<usize>().ok())
            .unwrap_or(PREVIOUS_VERSIONS_MAX_DEFAULT)
            .max(1);
        let drop = self.metadata.metadata_log.len().saturating_sub(keep);
        self.metadata.metadata_log.drain(..drop);
    }

    fn assign_uuid(&mut self, id: Uuid) -> Result<()> {
        match self.metadata.table_uuid {
            Some(other) if other != id => {
                let reason = format!("the table has the uuid {other} and cannot get {id}");
                Err(Error::invalid("update `assign-uuid`", reason))
            }
            _ => {
                self.metadata.table_uuid = Some(id);
                Ok(())
            }
        }
    }

    fn upgrade_format_version(&mut self, version: u8) -> Result<()> {
        let what = "update `upgrade-format-version`";
        if version > MAX_FORMAT_VERSION {
            return Err(Error::unsupported(format!(
                "format version {version}; versions 1 to {MAX_FORMAT_VERSION} are written"
            )));
        }
        // A table that is only being made has no version to fall below.
        let lowest = if self.base.is_some() {
            self.metadata.format_version
        } else {
            1
        };
        if version < lowest {
            let reason = format!("the table has format version {lowest} and cannot go down to {version}");
            return Err(Error::invalid(what, reason));
        }
        if self.base.is_none() && version < self.metadata.format_version {
            for schema in &self.metadata.schemas {
                schema.check_format_version(version)?;
            }
        }
        if self.metadata.table_uuid.is_none() && version > 1 {
            self.metadata.table_uuid = Some(Uuid::new_v4());
        }
        self.metadata.format_version = version;
        Ok(())
    }

    fn set_location(&mut self, location: &str) -> Result<()> {
        let location = location.trim_end_matches('/');
        if location.is_empty() {
            return Err(Error::invalid("update `set-location`", "the location is empty"));
        }
        self.metadata.location = location.to_string();
        Ok(())
    }

    fn set_properties(&mut self, updates: &BTreeMap<String, String>) -> Result<()> {
        let reserved = |key: &&String| RESERVED_PROPERTIES.contains(&key.as_str());
        if let Some(key) = updates
            .keys()
            .filter(|k| *k != FORMAT_VERSION_PROPERTY)
            .find(reserved)
        {
            let reason = format!("`{key}` is reserved: it shows what the table is and cannot be set");
            return Err(Error::invalid("update `set-properties`", reason));
        }
        if let Some(text) = updates.get(FORMAT_VERSION_PROPERTY) {
            self.upgrade_format_version(parse_version(text)?)?;
        }
        let stored = updates.iter().filter(|(key, _)| *key != FORMAT_VERSION_PROPERTY);
        let stored = stored.map(|(key, value)| (key.clone(), value.clone()));
        self.metadata.properties.extend(stored);
        Ok(())
    }

    fn add_encryption_key(&mut self, key: &super::EncryptedKey) -> Result<()> {
        if self.metadata.format_version < 3 {
            let reason = "encryption keys need format version 3";
            return Err(Error::invalid("update `add-encryption-key`", reason));
        }
        self.metadata.encryption_keys.retain(|k| k.key_id != key.key_id);
        self.metadata.encryption_keys.push(key.clone());
        Ok(())
    }

    fn snapshot_must_exist(&self, id: i64, update: &TableUpdate) -> Result<()> {
        match self.metadata.snapshot_by_id(id) {
            Some(_) => Ok(()),
            None => {
                let reason = format!("the table has no snapshot {id}");
                Err(Error::invalid(format!("update `{}`", update.action()), reason))
            }
        }
    }
}

fn parse_version(text: &str) -> Result<u8> {
    let version = text.trim().parse().ok().filter(|v| *v > 0);
    version.ok_or_else(|| {
        let reason = format!("expected a version from 1 to {MAX_FORMAT_VERSION}, found `{text}`");
        Error::invalid(format!("property `{FORMAT_VERSION_PROPERTY}`"), reason)
    })
}

/// The id, or that of what was added last for [`LAST_ADDED`](super::LAST_ADDED).
fn resolve(id: i32, last_added: Option<i32>, what: &str) -> Result<i32> {
    match (id, last_added) {
        (super::LAST_ADDED, Some(last)) => Ok(last),
        (super::LAST_ADDED, None) => Err(Error::invalid(
            what,
            "-1 means the last added, but none was added",
        )),
        (id, _) => Ok(id),
    }
}

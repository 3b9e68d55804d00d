//! Table metadata (§ Table Metadata): the file that a catalog points to.
//!
//! [`TableMetadata`] is read with [`from_bytes`](TableMetadata::from_bytes) (in `read`, checked in `check`), written
//! with [`to_json_bytes`](TableMetadata::to_json_bytes) (in `write`), and answers which snapshot a name or a time
//! means (in [`lookup`]). It is immutable: a commit makes the next one with [`TableMetadataBuilder`] out of
//! [`TableUpdate`]s, under [`TableRequirement`]s.

mod builder;
mod check;
pub(crate) mod file;
mod fresh_ids;
pub mod lookup;
mod read;
mod requirement;
mod statistics;
mod unbound;
mod update;
mod write;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use uuid::Uuid;

use crate::partition::PartitionSpec;
use crate::schema::Schema;
use crate::snapshot::{MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotRef};
use crate::sort::SortOrder;

pub use builder::{
    DEFAULT_FORMAT_VERSION, FORMAT_VERSION_PROPERTY, NewTable, RESERVED_PROPERTIES, TableMetadataBuilder,
};
pub use file::MAX_METADATA_BYTES;
pub use fresh_ids::assign_fresh_ids;
pub use lookup::SchemaChoice;
pub use requirement::TableRequirement;
pub use statistics::{EncryptedKey, PartitionStatisticsFile, StatisticsBlob, StatisticsFile};
pub use unbound::{UnboundPartitionField, UnboundPartitionSpec};
pub(crate) use update::UpdateFields;
pub use update::{LAST_ADDED, TableUpdate};

/// The highest format version that is read and written.
pub const MAX_FORMAT_VERSION: u8 = 3;

/// The state of a table: its schemas, specs, orders, properties, snapshots and refs.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMetadata {
    format_version: u8,
    table_uuid: Option<Uuid>,
    location: String,
    last_sequence_number: i64,
    last_updated_ms: i64,
    last_column_id: i32,
    schemas: Vec<Arc<Schema>>,
    current_schema: Arc<Schema>,
    partition_specs: Vec<Arc<PartitionSpec>>,
    default_spec: Arc<PartitionSpec>,
    last_partition_id: i32,
    sort_orders: Vec<Arc<SortOrder>>,
    default_sort_order: Arc<SortOrder>,
    properties: BTreeMap<String, String>,
    current_snapshot_id: Option<i64>,
    snapshots: Vec<Arc<Snapshot>>,
    /// Where in `snapshots` each id stands.
    snapshot_index: HashMap<i64, usize>,
    snapshot_log: Vec<SnapshotLogEntry>,
    metadata_log: Vec<MetadataLogEntry>,
    refs: BTreeMap<String, SnapshotRef>,
    statistics: Vec<StatisticsFile>,
    partition_statistics: Vec<PartitionStatisticsFile>,
    next_row_id: i64,
    encryption_keys: Vec<EncryptedKey>,
}

impl TableMetadata {
    /// The format version, 1 to 3.
    pub fn format_version(&self) -> u8 {
        self.format_version
    }

    /// The id of the table, made at its creation. Only tables of version 1 may have none.
    pub fn table_uuid(&self) -> Option<Uuid> {
        self.table_uuid
    }

    /// The table's base location, verbatim.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The highest sequence number of any snapshot ever made; 0 in version 1.
    pub fn last_sequence_number(&self) -> i64 {
        self.last_sequence_number
    }

    /// When this metadata was made, in ms since 1970-01-01 UTC.
    pub fn last_updated_ms(&self) -> i64 {
        self.last_updated_ms
    }

    /// The highest column id ever assigned, nested fields included.
    pub fn last_column_id(&self) -> i32 {
        self.last_column_id
    }

    /// All schemas, in the order of the file.
    pub fn schemas(&self) -> &[Arc<Schema>] {
        &self.schemas
    }

    /// The schema that new data is written with.
    pub fn current_schema(&self) -> &Arc<Schema> {
        &self.current_schema
    }

    /// The schema with this id.
    pub fn schema_by_id(&self, schema_id: i32) -> Option<&Arc<Schema>> {
        self.schemas.iter().find(|s| s.schema_id() == schema_id)
    }

    /// All partition specs, in the order of the file.
    pub fn partition_specs(&self) -> &[Arc<PartitionSpec>] {
        &self.partition_specs
    }

    /// The spec that new data is written with.
    pub fn default_spec(&self) -> &Arc<PartitionSpec> {
        &self.default_spec
    }

    /// The partition spec with this id.
    pub fn spec_by_id(&self, spec_id: i32) -> Option<&Arc<PartitionSpec>> {
        self.partition_specs.iter().find(|s| s.spec_id() == spec_id)
    }

    /// The highest partition field id ever assigned, 999 before the first.
    pub fn last_partition_id(&self) -> i32 {
        self.last_partition_id
    }

    /// All sort orders, in the order of the file.
    pub fn sort_orders(&self) -> &[Arc<SortOrder>] {
        &self.sort_orders
    }

    /// The order that new data is sorted by.
    pub fn default_sort_order(&self) -> &Arc<SortOrder> {
        &self.default_sort_order
    }

    /// The sort order with this id.
    pub fn sort_order_by_id(&self, order_id: i32) -> Option<&Arc<SortOrder>> {
        self.sort_orders.iter().find(|o| o.order_id == order_id)
    }

    /// The table's properties.
    pub fn properties(&self) -> &BTreeMap<String, String> {
        &self.properties
    }

    /// The property of this name.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    /// The id of the current snapshot; `None` before the first.
    pub fn current_snapshot_id(&self) -> Option<i64> {
        self.current_snapshot_id
    }

    /// The current snapshot; `None` before the first.
    pub fn current_snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.snapshot_by_id(self.current_snapshot_id?)
    }

    /// All snapshots that are not expired, in the order of the file.
    pub fn snapshots(&self) -> &[Arc<Snapshot>] {
        &self.snapshots
    }

    /// The snapshot with this id, without a search.
    pub fn snapshot_by_id(&self, snapshot_id: i64) -> Option<&Arc<Snapshot>> {
        self.snapshots.get(*self.snapshot_index.get(&snapshot_id)?)
    }

    /// Which snapshot became current when, oldest first.
    pub fn snapshot_log(&self) -> &[SnapshotLogEntry] {
        &self.snapshot_log
    }

    /// Earlier metadata files, oldest first.
    pub fn metadata_log(&self) -> &[MetadataLogEntry] {
        &self.metadata_log
    }

    /// Branches and tags by name; `main` is there whenever there is a current snapshot.
    pub fn refs(&self) -> &BTreeMap<String, SnapshotRef> {
        &self.refs
    }

    /// Statistics files, one a snapshot at most.
    pub fn statistics(&self) -> &[StatisticsFile] {
        &self.statistics
    }

    /// Partition statistics files, one a snapshot at most.
    pub fn partition_statistics(&self) -> &[PartitionStatisticsFile] {
        &self.partition_statistics
    }

    /// The next row id that is free (v3, § Row Lineage); 0 in earlier versions.
    pub fn next_row_id(&self) -> i64 {
        self.next_row_id
    }

    /// The keys of an encrypted table (v3).
    pub fn encryption_keys(&self) -> &[EncryptedKey] {
        &self.encryption_keys
    }
}

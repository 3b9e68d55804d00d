//! Writing metadata files, in the key order of the reference implementation.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value as Json;

use super::{EncryptedKey, PartitionStatisticsFile, StatisticsFile, TableMetadata};
use crate::error::{Error, Result};
use crate::partition::PartitionSpec;
use crate::schema::Schema;
use crate::snapshot::{MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotRef};
use crate::sort::SortOrder;

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Fields<'a> {
    format_version: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    table_uuid: Option<String>,
    location: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sequence_number: Option<i64>,
    last_updated_ms: i64,
    last_column_id: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<Json>,
    current_schema_id: i32,
    schemas: Vec<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_spec: Option<Json>,
    default_spec_id: i32,
    partition_specs: Vec<Json>,
    last_partition_id: i32,
    default_sort_order_id: i32,
    sort_orders: Vec<Json>,
    properties: &'a BTreeMap<String, String>,
    current_snapshot_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_row_id: Option<i64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    encryption_keys: &'a [EncryptedKey],
    refs: &'a BTreeMap<String, SnapshotRef>,
    snapshots: Vec<&'a Snapshot>,
    statistics: &'a [StatisticsFile],
    partition_statistics: &'a [PartitionStatisticsFile],
    snapshot_log: &'a [SnapshotLogEntry],
    metadata_log: &'a [MetadataLogEntry],
}

impl TableMetadata {
    /// The JSON text of a metadata file. Version 1 gets its schema and spec in the old form as well, for readers that
    /// know no other. Fails for values that JSON cannot hold, such as a NaN default.
    pub fn to_json_bytes(&self) -> Result<Vec<u8>> {
        let v1 = self.format_version == 1;
        let v3 = self.format_version >= 3;
        let fields = Fields {
            format_version: self.format_version,
            table_uuid: self.table_uuid.map(|id| id.to_string()),
            location: &self.location,
            last_sequence_number: (!v1).then_some(self.last_sequence_number),
            last_updated_ms: self.last_updated_ms,
            last_column_id: self.last_column_id,
            schema: if v1 {
                Some(self.current_schema.to_json()?)
            } else {
                None
            },
            current_schema_id: self.current_schema.schema_id(),
            schemas: self
                .schemas
                .iter()
                .map(|s| Schema::to_json(s))
                .collect::<Result<_>>()?,
            partition_spec: v1.then(|| self.default_spec.fields_to_json()),
            default_spec_id: self.default_spec.spec_id(),
            partition_specs: self
                .partition_specs
                .iter()
                .map(|s| PartitionSpec::to_json(s))
                .collect(),
            last_partition_id: self.last_partition_id,
            default_sort_order_id: self.default_sort_order.order_id,
            sort_orders: self.sort_orders.iter().map(|o| SortOrder::to_json(o)).collect(),
            properties: &self.properties,
            // Java writes "none" as -1 before version 3 and as null from there on.
            current_snapshot_id: self.current_snapshot_id.or((!v3).then_some(-1)),
            next_row_id: v3.then_some(self.next_row_id),
            encryption_keys: &self.encryption_keys,
            refs: &self.refs,
            snapshots: self.snapshots.iter().map(Arc::as_ref).collect(),
            statistics: &self.statistics,
            partition_statistics: &self.partition_statistics,
            snapshot_log: &self.snapshot_log,
            metadata_log: &self.metadata_log,
        };
        serde_json::to_vec(&fields).map_err(|e| Error::invalid("table metadata", e.to_string()))
    }
}

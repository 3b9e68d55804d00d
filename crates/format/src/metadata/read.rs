//! Reading metadata files, with the fallbacks for what older writers leave out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;
use uuid::Uuid;

use super::file::{self, MAX_METADATA_BYTES};
use super::{
    EncryptedKey, MAX_FORMAT_VERSION, PartitionStatisticsFile, StatisticsFile, TableMetadata, check,
};
use crate::error::{Error, Result};
use crate::partition::json::fields_from_json;
use crate::partition::{FIRST_PARTITION_FIELD_ID, PartitionSpec};
use crate::schema::Schema;
use crate::snapshot::{MAIN_BRANCH, MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotRef};
use crate::sort::{SortOrder, UNSORTED_ORDER_ID};

const WHAT: &str = "table metadata";

/// The file as it stands. Optional is whatever any version or any old writer leaves out.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Fields {
    format_version: i64,
    table_uuid: Option<String>,
    location: Option<String>,
    last_sequence_number: Option<i64>,
    last_updated_ms: Option<i64>,
    last_column_id: Option<i32>,
    schema: Option<Json>,
    schemas: Option<Vec<Json>>,
    current_schema_id: Option<i32>,
    partition_spec: Option<Json>,
    partition_specs: Option<Vec<Json>>,
    default_spec_id: Option<i32>,
    last_partition_id: Option<i32>,
    properties: Option<BTreeMap<String, String>>,
    current_snapshot_id: Option<i64>,
    snapshots: Option<Vec<Snapshot>>,
    snapshot_log: Option<Vec<SnapshotLogEntry>>,
    metadata_log: Option<Vec<MetadataLogEntry>>,
    sort_orders: Option<Vec<Json>>,
    default_sort_order_id: Option<i32>,
    refs: Option<BTreeMap<String, SnapshotRef>>,
    statistics: Option<Vec<StatisticsFile>>,
    partition_statistics: Option<Vec<PartitionStatisticsFile>>,
    next_row_id: Option<i64>,
    encryption_keys: Option<Vec<EncryptedKey>>,
}

/// Read when the rest cannot be: whether the file is of a version that may well look different.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct VersionOnly {
    format_version: i64,
}

impl TableMetadata {
    /// Reads a metadata file, plain JSON or gzip, whatever its name. It is inflated to
    /// [`MAX_METADATA_BYTES`] at most.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_bytes_with_limit(bytes, MAX_METADATA_BYTES)
    }

    /// Like [`from_bytes`](Self::from_bytes), inflating to `max_bytes` at most.
    pub fn from_bytes_with_limit(bytes: &[u8], max_bytes: u64) -> Result<Self> {
        Self::from_json_bytes(&file::plain(bytes, max_bytes, WHAT)?)
    }

    /// Reads the JSON text of a metadata file.
    pub fn from_json_bytes(bytes: &[u8]) -> Result<Self> {
        let fields = parse(bytes)?;
        check_version(fields.format_version)?;
        let metadata = fields.into_metadata()?;
        check::check(&metadata)?;
        Ok(metadata)
    }
}

fn parse(bytes: &[u8]) -> Result<Fields> {
    file::parse(bytes, WHAT).map_err(|error| {
        let version = serde_json::from_slice::<VersionOnly>(bytes).map(|v| check_version(v.format_version));
        match version {
            Ok(Err(unsupported)) => unsupported,
            _ => error,
        }
    })
}

fn check_version(version: i64) -> Result<()> {
    match version {
        1..=3 => Ok(()),
        4 => Err(Error::unsupported(format!(
            "format version 4 is in development; versions 1 to {MAX_FORMAT_VERSION} are read"
        ))),
        5.. => Err(Error::unsupported(format!(
            "format version {version}; versions 1 to {MAX_FORMAT_VERSION} are read"
        ))),
        _ => {
            let reason = format!("expected a version from 1 to {MAX_FORMAT_VERSION}, found {version}");
            Err(Error::invalid(format!("{WHAT}, field `format-version`"), reason))
        }
    }
}

fn required<T>(field: Option<T>, name: &str, version: i64) -> Result<T> {
    field.ok_or_else(|| {
        let reason = format!("format version {version} requires it");
        Error::invalid(format!("{WHAT}, field `{name}`"), reason)
    })
}

fn parse_uuid(text: &str) -> Result<Uuid> {
    Uuid::parse_str(text).map_err(|_| {
        let reason = format!("expected a UUID, found `{text}`");
        Error::invalid(format!("{WHAT}, field `table-uuid`"), reason)
    })
}

fn find<T>(
    list: &[Arc<T>],
    id: i32,
    id_of: impl Fn(&T) -> i32,
    name: &str,
    list_name: &str,
) -> Result<Arc<T>> {
    list.iter()
        .find(|item| id_of(item) == id)
        .cloned()
        .ok_or_else(|| {
            let ids: Vec<_> = list.iter().map(|item| id_of(item)).collect();
            Error::invalid(
                format!("{WHAT}, field `{name}`"),
                format!("the id {id} is not in `{list_name}`, which has {ids:?}"),
            )
        })
}

impl Fields {
    fn into_metadata(self) -> Result<TableMetadata> {
        let version = self.format_version;
        let since = |first: i64| version >= first;
        let (schemas, current_schema) = self.schemas()?;
        let (partition_specs, default_spec) = self.specs()?;
        let (sort_orders, default_sort_order) = self.orders()?;
        let last_partition_id = match self.last_partition_id {
            None if !since(2) => partition_specs
                .iter()
                .map(|spec| spec.highest_field_id())
                .max()
                .unwrap_or(FIRST_PARTITION_FIELD_ID - 1),
            id => required(id, "last-partition-id", version)?,
        };
        let current_snapshot_id = self.current_snapshot_id.filter(|id| *id != -1);
        let refs = self.refs.unwrap_or_else(|| {
            current_snapshot_id
                .map(|id| (MAIN_BRANCH.to_string(), SnapshotRef::branch(id)))
                .into_iter()
                .collect()
        });
        let snapshots: Vec<_> = self
            .snapshots
            .unwrap_or_default()
            .into_iter()
            .map(Arc::new)
            .collect();
        Ok(TableMetadata {
            format_version: u8::try_from(version).unwrap_or(MAX_FORMAT_VERSION),
            table_uuid: match self.table_uuid {
                None if !since(2) => None,
                uuid => Some(parse_uuid(&required(uuid, "table-uuid", version)?)?),
            },
            location: required(self.location, "location", version)?,
            last_sequence_number: match self.last_sequence_number {
                _ if !since(2) => 0,
                number => required(number, "last-sequence-number", version)?,
            },
            last_updated_ms: required(self.last_updated_ms, "last-updated-ms", version)?,
            last_column_id: required(self.last_column_id, "last-column-id", version)?,
            schemas,
            current_schema,
            partition_specs,
            default_spec,
            last_partition_id,
            sort_orders,
            default_sort_order,
            properties: self.properties.unwrap_or_default(),
            current_snapshot_id,
            snapshot_index: index(&snapshots)?,
            snapshots,
            snapshot_log: self.snapshot_log.unwrap_or_default(),
            metadata_log: self.metadata_log.unwrap_or_default(),
            refs,
            statistics: self.statistics.unwrap_or_default(),
            partition_statistics: self.partition_statistics.unwrap_or_default(),
            next_row_id: match self.next_row_id {
                _ if !since(3) => 0,
                id => required(id, "next-row-id", version)?,
            },
            encryption_keys: self.encryption_keys.unwrap_or_default(),
        })
    }

    fn schemas(&self) -> Result<(Vec<Arc<Schema>>, Arc<Schema>)> {
        let version = self.format_version;
        match &self.schemas {
            None if version == 1 => {
                let schema = required(self.schema.as_ref(), "schema", version)?;
                let schema = Arc::new(Schema::from_json(schema, 0, "field `schema`")?);
                Ok((vec![Arc::clone(&schema)], schema))
            }
            schemas => {
                let schemas = required(schemas.as_ref(), "schemas", version)?
                    .iter()
                    .enumerate()
                    .map(|(i, json)| {
                        Ok(Arc::new(Schema::from_json(
                            json,
                            0,
                            &format!("field `schemas[{i}]`"),
                        )?))
                    })
                    .collect::<Result<Vec<_>>>()?;
                let id = required(self.current_schema_id, "current-schema-id", version)?;
                let current = find(&schemas, id, Schema::schema_id, "current-schema-id", "schemas")?;
                Ok((schemas, current))
            }
        }
    }

    fn specs(&self) -> Result<(Vec<Arc<PartitionSpec>>, Arc<PartitionSpec>)> {
        let version = self.format_version;
        match &self.partition_specs {
            None if version == 1 => {
                let fields = required(self.partition_spec.as_ref(), "partition-spec", version)?;
                let fields = fields_from_json(fields, "field `partition-spec`")?;
                let spec = Arc::new(PartitionSpec::new(0, fields));
                Ok((vec![Arc::clone(&spec)], spec))
            }
            specs => {
                let specs = required(specs.as_ref(), "partition-specs", version)?
                    .iter()
                    .enumerate()
                    .map(|(i, json)| {
                        let at = format!("field `partition-specs[{i}]`");
                        Ok(Arc::new(PartitionSpec::from_json(json, &at)?))
                    })
                    .collect::<Result<Vec<_>>>()?;
                let id = required(self.default_spec_id, "default-spec-id", version)?;
                let default = find(
                    &specs,
                    id,
                    PartitionSpec::spec_id,
                    "default-spec-id",
                    "partition-specs",
                )?;
                Ok((specs, default))
            }
        }
    }

    fn orders(&self) -> Result<(Vec<Arc<SortOrder>>, Arc<SortOrder>)> {
        let version = self.format_version;
        match &self.sort_orders {
            None if version == 1 => {
                let unsorted = Arc::new(SortOrder::unsorted());
                Ok((vec![Arc::clone(&unsorted)], unsorted))
            }
            orders => {
                let orders = required(orders.as_ref(), "sort-orders", version)?
                    .iter()
                    .enumerate()
                    .map(|(i, json)| {
                        Ok(Arc::new(SortOrder::from_json(
                            json,
                            &format!("field `sort-orders[{i}]`"),
                        )?))
                    })
                    .collect::<Result<Vec<_>>>()?;
                let id = required(self.default_sort_order_id, "default-sort-order-id", version)?;
                // Order 0 is the unsorted one, whether it is written down or not.
                let listed = |id| orders.iter().any(|o| o.order_id == id);
                let default = if id == UNSORTED_ORDER_ID && !listed(id) {
                    Arc::new(SortOrder::unsorted())
                } else {
                    find(
                        &orders,
                        id,
                        |o| o.order_id,
                        "default-sort-order-id",
                        "sort-orders",
                    )?
                };
                Ok((orders, default))
            }
        }
    }
}

/// Where each snapshot stands in the list.
pub(super) fn index(snapshots: &[Arc<Snapshot>]) -> Result<HashMap<i64, usize>> {
    let mut index = HashMap::with_capacity(snapshots.len());
    for (i, snapshot) in snapshots.iter().enumerate() {
        if let Some(other) = index.insert(snapshot.snapshot_id, i) {
            return Err(Error::invalid(
                format!("{WHAT}, field `snapshots[{i}].snapshot-id`"),
                format!("snapshots[{other}] has the id {} as well", snapshot.snapshot_id),
            ));
        }
    }
    Ok(index)
}

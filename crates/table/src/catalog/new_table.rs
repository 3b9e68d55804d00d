//! Tables that are not there yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use drumlin_format::metadata::{
    LAST_ADDED, NewTable, TableMetadata, TableMetadataBuilder, TableRequirement, TableUpdate,
    UnboundPartitionSpec, assign_fresh_ids,
};
use drumlin_format::schema::Schema;
use drumlin_format::snapshot::MAIN_BRANCH;
use drumlin_format::sort::SortOrder;

use super::TableIdent;
use crate::clock::now_ms;
use crate::error::Result;
use crate::storage::Storage;
use crate::table::Table;

/// The codec that new tables name unless they say otherwise: readers of the property alone take gzip for the default.
const NEW_TABLE_DEFAULTS: [(&str, &str); 1] = [("write.parquet.compression-codec", "zstd")];

/// What a new table is to be.
#[derive(Debug, Clone)]
pub struct TableCreation {
    /// The columns; their ids only tie spec and order to them, the table gets its own.
    pub schema: Schema,
    /// The partition fields, by the ids of `schema`.
    pub partition_spec: UnboundPartitionSpec,
    /// The sort order, by the ids of `schema`.
    pub sort_order: SortOrder,
    /// Where it goes; `None` leaves it to the catalog.
    pub location: Option<String>,
    /// Its properties, among which `format-version` says the version.
    pub properties: BTreeMap<String, String>,
}

impl TableCreation {
    /// An unpartitioned, unsorted table of the default version, without properties.
    pub fn new(schema: Schema) -> Self {
        Self {
            schema,
            partition_spec: UnboundPartitionSpec::default(),
            sort_order: SortOrder::unsorted(),
            location: None,
            properties: BTreeMap::new(),
        }
    }
}

/// A table that was worked out but is not there yet.
#[derive(Debug, Clone)]
pub struct StagedTable {
    ident: TableIdent,
    metadata: Arc<TableMetadata>,
    updates: Vec<TableUpdate>,
}

/// The updates that replace a table's columns, layout and rows: it is empty after them, but keeps its id, its old
/// snapshots and the ids of columns whose names stay.
///
/// # Errors
/// [`crate::Error::Format`] for what the format does not allow.
pub(crate) fn replacement(table: &Table, creation: TableCreation) -> Result<Vec<TableUpdate>> {
    let metadata = table.metadata();
    let base = Some(metadata.current_schema().as_ref());
    let (schema, ids) = assign_fresh_ids(&creation.schema, base, metadata.last_column_id())?;
    let new_ids = |old: &[i32], what: &str| -> Result<Vec<i32>> {
        let id = |id: &i32| {
            let reason = format!("the schema has no column with the id {id}");
            let found = ids.get(id).copied();
            found.ok_or_else(|| drumlin_format::Error::invalid(what, reason).into())
        };
        old.iter().map(id).collect()
    };
    let mut spec = creation.partition_spec;
    spec.spec_id = None;
    for field in &mut spec.fields {
        field.source_ids = new_ids(&field.source_ids, &format!("partition field `{}`", field.name))?;
        field.field_id = None;
    }
    let mut order = creation.sort_order;
    for field in &mut order.fields {
        field.source_ids = new_ids(&field.source_ids, "sort order")?;
    }
    let mut updates = vec![
        TableUpdate::RemoveSnapshotRef(MAIN_BRANCH.to_string()),
        TableUpdate::AddSchema(Arc::new(schema)),
        TableUpdate::SetCurrentSchema(LAST_ADDED),
        TableUpdate::AddSpec(spec),
        TableUpdate::SetDefaultSpec(LAST_ADDED),
        TableUpdate::AddSortOrder(order),
        TableUpdate::SetDefaultSortOrder(LAST_ADDED),
    ];
    if let Some(location) = creation.location {
        updates.push(TableUpdate::SetLocation(
            location.trim_end_matches('/').to_string(),
        ));
    }
    if !creation.properties.is_empty() {
        updates.push(TableUpdate::SetProperties(creation.properties));
    }
    Ok(updates)
}

impl StagedTable {
    /// Works out the metadata of a new table at a location.
    ///
    /// # Errors
    /// [`crate::Error::Format`] for what the format does not allow.
    pub fn new(ident: TableIdent, location: String, creation: TableCreation) -> Result<Self> {
        let mut properties = creation.properties;
        for (key, value) in NEW_TABLE_DEFAULTS {
            properties
                .entry(key.to_string())
                .or_insert_with(|| value.to_string());
        }
        let builder = TableMetadataBuilder::create(NewTable {
            location,
            schema: creation.schema,
            partition_spec: creation.partition_spec,
            sort_order: creation.sort_order,
            properties,
        })?;
        let updates = builder.updates().to_vec();
        let metadata = Arc::new(builder.build(now_ms())?);
        Ok(Self {
            ident,
            metadata,
            updates,
        })
    }

    /// Its name.
    pub fn ident(&self) -> &TableIdent {
        &self.ident
    }

    /// What its metadata will be.
    pub fn metadata(&self) -> &Arc<TableMetadata> {
        &self.metadata
    }

    /// What a commit that makes it requires: that it is not there.
    pub fn requirements(&self) -> Vec<TableRequirement> {
        vec![TableRequirement::NotExist]
    }

    /// What makes it out of nothing.
    pub fn updates(&self) -> &[TableUpdate] {
        &self.updates
    }

    /// The table as if it was there, without snapshots and without a metadata file: to plan and write data files.
    pub fn as_table(&self, storage: &Storage) -> Table {
        Table::new(
            self.ident.to_string(),
            storage.clone(),
            "",
            Arc::clone(&self.metadata),
        )
    }
}

//! A table pinned at one snapshot.

pub(crate) mod cache;
pub mod metadata_file;
mod new_columns;
mod open;
mod version;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use drumlin_format::manifest_list::ManifestFile;
use drumlin_format::metadata::TableMetadata;
use drumlin_format::partition::PartitionSpec;
use drumlin_format::schema::Schema;
use drumlin_format::snapshot::Snapshot;

pub use open::{OpenOptions, VERSION_HINT};
pub use version::TableVersion;

use crate::error::Result;
use crate::storage::Storage;

/// A table as one of its metadata files states it, pinned at one snapshot of that file.
///
/// A table never changes under its reader: a commit that lands later is seen only by opening the table again. Cheap
/// to clone.
#[derive(Debug, Clone)]
pub struct Table {
    name: String,
    storage: Storage,
    metadata_location: String,
    metadata: Arc<TableMetadata>,
    snapshot: Option<Arc<Snapshot>>,
    schema: Arc<Schema>,
    version: Option<TableVersion>,
}

impl Table {
    /// A table from metadata that was read already, at its current snapshot. `name` is how messages call it.
    pub fn new(
        name: impl Into<String>,
        storage: Storage,
        metadata_location: impl Into<String>,
        metadata: Arc<TableMetadata>,
    ) -> Self {
        Self {
            name: name.into(),
            storage,
            metadata_location: metadata_location.into(),
            snapshot: metadata.current_snapshot().cloned(),
            schema: Arc::clone(metadata.current_schema()),
            metadata,
            version: None,
        }
    }

    /// How messages call the table: the name in its catalog, or its location.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same table under another name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Where its files are read.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The metadata file.
    pub fn metadata_location(&self) -> &str {
        &self.metadata_location
    }

    /// What the metadata file says.
    pub fn metadata(&self) -> &Arc<TableMetadata> {
        &self.metadata
    }

    /// The snapshot that is read; `None` for a table that has none yet.
    pub fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.snapshot.as_ref()
    }

    /// The same table pinned at the head of a branch that is written to, with the current schema.
    pub(crate) fn at_head(&self, head: Option<&Arc<Snapshot>>) -> Self {
        Self {
            snapshot: head.cloned(),
            schema: Arc::clone(self.metadata.current_schema()),
            version: None,
            ..self.clone()
        }
    }

    /// The spec with this id.
    pub(crate) fn spec(&self, spec_id: i32, of: impl Fn() -> String) -> Result<&Arc<PartitionSpec>> {
        self.metadata.spec_by_id(spec_id).ok_or_else(|| {
            let reason = format!("table `{}` has no such spec", self.name);
            drumlin_format::Error::invalid(format!("partition spec id {spec_id} of {}", of()), reason).into()
        })
    }

    /// The spec of the files of a manifest.
    pub(crate) fn spec_of(&self, manifest: &ManifestFile) -> Result<&Arc<PartitionSpec>> {
        self.spec(manifest.partition_spec_id, || {
            format!("the manifest `{}`", manifest.manifest_path)
        })
    }

    /// The folder that new manifests, manifest lists and metadata files are written to (`write.metadata.path`).
    pub fn metadata_folder(&self) -> String {
        match self.metadata.property("write.metadata.path") {
            Some(folder) => folder.trim_end_matches('/').to_string(),
            None => format!("{}/metadata", self.metadata.location().trim_end_matches('/')),
        }
    }

    /// The schema that is read: that of the snapshot for a snapshot, tag or time, the table's current one otherwise.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The schema that is read, then all others of the table, newest first: columns that were dropped are still known to
    /// old files.
    pub fn schemas_newest_first(&self) -> Vec<&Arc<Schema>> {
        let mut others: Vec<_> = self.metadata.schemas().iter().collect();
        others.sort_by_key(|s| std::cmp::Reverse(s.schema_id()));
        others.insert(0, &self.schema);
        others
    }

    /// The version that was asked for; `None` for the current one.
    pub fn version(&self) -> Option<&TableVersion> {
        self.version.as_ref()
    }
}

//! Decoded manifests, kept across scans, snapshots and tables.

use std::sync::Arc;

use drumlin_format::manifest::ManifestEntry;

use crate::cache::{ByteCache, Memory};
use crate::error::Result;

/// How much memory a cache takes unless it is told otherwise: 256 MiB, some 400,000 files.
pub const DEFAULT_MANIFEST_CACHE_BYTES: u64 = 256 << 20;

/// What a cached manifest is found by. Manifests never change, but what their entries inherit comes from the manifest
/// list, and the types of their partition values from the schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ManifestKey {
    /// Of the storage: another one may have another file at the same path.
    pub generation: u64,
    pub path: String,
    pub length: i64,
    pub sequence_number: i64,
    pub added_snapshot_id: i64,
    pub first_row_id: Option<i64>,
    pub partition_type: String,
}

impl Memory for ManifestKey {
    fn bytes(&self) -> u64 {
        u64::try_from(self.path.len() + self.partition_type.len()).unwrap_or(0)
    }
}

/// The live entries of a manifest.
#[derive(Debug, Clone)]
pub(super) struct CachedManifest {
    pub entries: Arc<[Arc<ManifestEntry>]>,
    /// How many bytes the file has.
    pub bytes_read: u64,
    memory: u64,
}

impl CachedManifest {
    pub fn new(entries: Vec<ManifestEntry>, bytes_read: u64) -> Self {
        let memory = entries.iter().map(memory_of).sum::<u64>() + 256;
        Self {
            entries: entries.into_iter().map(Arc::new).collect(),
            bytes_read,
            memory,
        }
    }
}

impl Memory for CachedManifest {
    fn bytes(&self) -> u64 {
        self.memory
    }
}

/// The memory of an entry, in bytes: itself, its path, its metrics and about what its partition values take.
fn memory_of(entry: &ManifestEntry) -> u64 {
    let file = &entry.data_file;
    let lists = file.split_offsets.as_ref().map_or(0, |o| o.len() * 8) + file.partition.len() * 48;
    let size =
        size_of::<ManifestEntry>() + 32 + file.file_path.len() + file.column_metrics.heap_size() + lists;
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// A cache of manifests with a budget of memory. A manifest that several scans want at once is read once.
#[derive(Debug)]
pub struct ManifestCache {
    manifests: ByteCache<ManifestKey, CachedManifest>,
}

impl ManifestCache {
    /// A cache that takes at most about so many bytes; 0 keeps nothing.
    pub fn new(bytes: u64) -> Self {
        // An entry of the cache is a whole manifest, of some 100 KiB.
        Self {
            manifests: ByteCache::new(bytes, 1 << 17),
        }
    }

    /// The memory that is in use, in bytes.
    pub fn bytes(&self) -> u64 {
        self.manifests.bytes()
    }

    /// The manifest and whether it was here already; if not, `load` reads it.
    pub(super) async fn get_or_load(
        &self,
        key: &ManifestKey,
        load: impl Future<Output = Result<CachedManifest>>,
    ) -> Result<(CachedManifest, bool)> {
        self.manifests.get_or_load(key, load).await
    }
}

impl Default for ManifestCache {
    fn default() -> Self {
        Self::new(DEFAULT_MANIFEST_CACHE_BYTES)
    }
}

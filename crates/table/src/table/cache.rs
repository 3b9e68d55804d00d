//! Metadata files that were read already.

use std::sync::Arc;

use drumlin_format::metadata::TableMetadata;

use crate::cache::{ByteCache, Memory};

/// How much memory the files take at most: some ten tables with a thousand snapshots each.
const BUDGET: u64 = 32 << 20;

/// Parsed, metadata takes about so many times the bytes of its file.
const MEMORY_PER_BYTE: u64 = 2;

/// What cached metadata is found by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct MetadataKey {
    /// Of the storage: another one may have another file at the same place.
    pub generation: u64,
    pub location: String,
}

/// The metadata of a file.
#[derive(Debug, Clone)]
pub(crate) struct CachedMetadata {
    pub metadata: Arc<TableMetadata>,
    /// How many bytes the file has.
    pub bytes: u64,
}

/// Metadata by its file: only of files that never hold other metadata.
pub(crate) type MetadataCache = ByteCache<MetadataKey, CachedMetadata>;

/// A cache of the usual size.
pub(crate) fn metadata_cache() -> MetadataCache {
    ByteCache::new(BUDGET, 1 << 18)
}

impl Memory for MetadataKey {
    fn bytes(&self) -> u64 {
        u64::try_from(self.location.len()).unwrap_or(0)
    }
}

impl Memory for CachedMetadata {
    fn bytes(&self) -> u64 {
        self.bytes.saturating_mul(MEMORY_PER_BYTE)
    }
}

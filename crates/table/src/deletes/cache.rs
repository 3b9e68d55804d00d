//! Decoded delete files, kept across scans, snapshots and tables.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};

use super::positions::PositionDeletes;
use crate::cache::{ByteCache, Memory};
use crate::error::Result;

/// How much memory a cache takes unless it is told otherwise: 256 MiB.
pub const DEFAULT_DELETE_CACHE_BYTES: u64 = 256 << 20;

/// What a decoded delete file is found by: delete files never change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct DeleteKey {
    /// Of the storage: another one may have another file at the same path.
    pub generation: u64,
    pub path: Arc<str>,
    /// Where the deletion vector starts, 0 for other files.
    pub offset: i64,
    /// How long the deletion vector is.
    pub length: i64,
    /// The columns that were decoded, with their types; empty for positions.
    pub columns: Arc<str>,
}

impl Memory for DeleteKey {
    fn bytes(&self) -> u64 {
        u64::try_from(self.path.len() + self.columns.len()).unwrap_or(0) + 64
    }
}

/// What a delete file says.
#[derive(Debug, Clone)]
pub(super) enum Decoded {
    Positions(Arc<PositionDeletes>),
    /// Batches of rows: the key columns of each.
    Keys(Arc<[Vec<ArrayRef>]>),
}

impl Memory for Decoded {
    fn bytes(&self) -> u64 {
        match self {
            Self::Positions(positions) => positions.bytes(),
            Self::Keys(batches) => {
                let arrays = batches.iter().flatten();
                let bytes = arrays.map(|a| a.get_array_memory_size()).sum::<usize>();
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
        }
    }
}

/// A cache of decoded delete files with a budget of memory. One that several scans want at once is read once.
#[derive(Debug)]
pub struct DeleteCache {
    files: ByteCache<DeleteKey, Decoded>,
}

impl DeleteCache {
    /// A cache that takes at most about so many bytes; 0 keeps nothing.
    pub fn new(bytes: u64) -> Self {
        Self {
            files: ByteCache::new(bytes, 1 << 15),
        }
    }

    /// The memory that is in use, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.bytes()
    }

    pub(super) async fn get_or_load(
        &self,
        key: &DeleteKey,
        load: impl Future<Output = Result<Decoded>>,
    ) -> Result<Decoded> {
        Ok(self.files.get_or_load(key, load).await?.0)
    }
}

impl Default for DeleteCache {
    fn default() -> Self {
        Self::new(DEFAULT_DELETE_CACHE_BYTES)
    }
}

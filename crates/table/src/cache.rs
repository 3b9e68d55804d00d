//! What was read and decoded once, kept in memory across scans, snapshots and tables.

use std::fmt;
use std::hash::Hash;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::error::Result;

/// How much memory something takes, in bytes, what it points to included.
pub(crate) trait Memory {
    fn bytes(&self) -> u64;
}

#[derive(Debug, Clone)]
struct ByMemory;

impl<K: Memory, V: Memory> Weighter<K, V> for ByMemory {
    fn weight(&self, key: &K, value: &V) -> u64 {
        key.bytes() + value.bytes()
    }
}

/// A cache with a budget of memory. What several scans want at once is loaded once.
pub(crate) struct ByteCache<K, V> {
    entries: Cache<K, V, ByMemory>,
}

impl<K: Memory + Hash + Eq + Clone, V: Memory + Clone> ByteCache<K, V> {
    /// A cache that takes at most about so many bytes, for entries of about `each` bytes; a budget of 0 keeps nothing.
    pub fn new(bytes: u64, each: u64) -> Self {
        let entries = usize::try_from(bytes / each.max(1)).unwrap_or(usize::MAX).max(64);
        Self {
            entries: Cache::with_weighter(entries, bytes, ByMemory),
        }
    }

    /// The memory that is in use, in bytes.
    pub fn bytes(&self) -> u64 {
        self.entries.weight()
    }

    /// The value and whether it was here already; if not, `load` makes it.
    pub async fn get_or_load(&self, key: &K, load: impl Future<Output = Result<V>>) -> Result<(V, bool)> {
        match self.entries.get_value_or_guard_async(key).await {
            Ok(found) => Ok((found, true)),
            Err(guard) => {
                let loaded = load.await?;
                // Fails only where the entry was removed meanwhile, which costs another read later.
                let _ = guard.insert(loaded.clone());
                Ok((loaded, false))
            }
        }
    }
}

impl<K, V> fmt::Debug for ByteCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteCache")
    }
}

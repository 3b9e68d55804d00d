//! Ranges of a file, checked against its size.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::error::{Error, Result};
use crate::storage::Storage;

/// A file that is read in ranges. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileBytes {
    store: Arc<dyn ObjectStore>,
    path: Path,
    location: Arc<str>,
    size: u64,
}

impl FileBytes {
    /// The file at `location`, which has `size` bytes. Nothing is read yet.
    pub fn new(storage: &Storage, location: &str, size: u64) -> Result<Self> {
        let (store, path) = storage.resolve(location)?;
        Ok(Self {
            store,
            path,
            location: location.into(),
            size,
        })
    }

    /// The location of the file, as the table names it.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// An error of this file.
    pub fn unreadable(&self, reason: impl ToString) -> Error {
        Error::unreadable(&self.location, reason)
    }

    /// Reads a range, all of it.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        self.check(&range)?;
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let answer = self.store.get_range(&self.path, range.clone()).await;
        let bytes = answer.map_err(|e| Error::store(&self.location, e))?;
        self.complete(&range, &bytes)?;
        Ok(bytes)
    }

    /// Reads several ranges; near ones are read together.
    pub async fn read_all(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        for range in ranges {
            self.check(range)?;
        }
        let answer = self.store.get_ranges(&self.path, ranges).await;
        let all = answer.map_err(|e| Error::store(&self.location, e))?;
        for (range, bytes) in ranges.iter().zip(&all) {
            self.complete(range, bytes)?;
        }
        Ok(all)
    }

    fn check(&self, range: &Range<u64>) -> Result<()> {
        match range.start <= range.end && range.end <= self.size {
            true => Ok(()),
            false => Err(self.unreadable(format!(
                "bytes {} to {} are needed, which are not inside of the file of {} bytes",
                range.start, range.end, self.size
            ))),
        }
    }

    /// Stores answer with what there is where a file ends before the range does.
    fn complete(&self, range: &Range<u64>, bytes: &Bytes) -> Result<()> {
        let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match range.end - range.start == found {
            true => Ok(()),
            false => Err(self.unreadable(format!(
                "it ends at byte {}, but its bytes {} to {} are needed: it is shorter than the table says",
                range.start.saturating_add(found),
                range.start,
                range.end
            ))),
        }
    }
}

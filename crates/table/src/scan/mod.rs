//! Planning a scan: which data files of a snapshot may hold rows that a predicate keeps (§ Scan Planning).
//!
//! ```text
//! manifest list ──► manifests whose partition summaries may match ──► entries whose partition tuple may match
//!                                                                 ──► entries whose bounds may match ──► tasks
//! ```
//!
//! Then the delete manifests, only those that may apply to what is left, and each task gets its
//! [deletes](crate::deletes).
//!
//! Every manifest is judged by its own partition spec. Manifests are read with bounded concurrency, decoded on the
//! runtime's threads, and kept in a [`ManifestCache`].

mod cache;
mod list;
mod metrics;
mod plan;
mod summary;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::{DataFile, ManifestEntry};
use drumlin_format::partition::PartitionSpec;

use crate::deletes::{EqualityDeletes, FileDeletes};
use crate::error::Result;
use crate::memory::MemoryAccount;
use crate::table::Table;

pub use list::{entries_of, manifests_of};
pub(crate) use metrics::{KeyMetrics, summaries};

pub use cache::{DEFAULT_MANIFEST_CACHE_BYTES, ManifestCache};
pub use summary::PlanSummary;

/// The files that a scan must read.
#[derive(Debug, Clone, Default)]
pub struct ScanPlan {
    /// One task a data file, in the order of the manifest list.
    pub tasks: Vec<FileTask>,
    /// What was looked at and what was pruned.
    pub summary: PlanSummary,
}

impl ScanPlan {
    /// The equality deletes that apply to any of the files, each once, in the order of the files.
    pub fn equality_deletes(&self) -> Vec<&Arc<EqualityDeletes>> {
        let mut seen = HashSet::new();
        let deletes = self.tasks.iter().filter_map(FileTask::deletes);
        let all = deletes.flat_map(|d| d.equality_deletes());
        all.filter(|e| seen.insert(Arc::as_ptr(e))).collect()
    }
}

/// A data file to read. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileTask {
    entry: Arc<ManifestEntry>,
    spec: Arc<PartitionSpec>,
    deletes: Option<Arc<FileDeletes>>,
}

impl FileTask {
    /// The data file.
    pub fn data_file(&self) -> &DataFile {
        &self.entry.data_file
    }

    /// The data sequence number of the file (§ Sequence Numbers).
    pub fn sequence_number(&self) -> i64 {
        self.entry.sequence_number
    }

    /// What is deleted of the file; `None` if nothing is.
    pub fn deletes(&self) -> Option<&Arc<FileDeletes>> {
        self.deletes.as_ref()
    }

    /// The same file without equality deletes, which something else applies.
    #[must_use]
    pub fn without_equality_deletes(&self) -> Self {
        let left = self.deletes.as_ref().map(|d| d.without_equality_deletes());
        Self {
            deletes: left.filter(|d| !d.is_empty()).map(Arc::new),
            ..self.clone()
        }
    }

    /// The same file with these positions deleted besides, which are those of a change that is not committed
    /// ([`FileDeletes::with_deleted`]).
    #[must_use]
    pub fn with_deleted(&self, positions: Arc<DeletionVector>) -> Self {
        let deletes = self.deletes.as_deref().cloned().unwrap_or_default();
        let deletes = deletes.with_deleted(positions);
        Self {
            deletes: (!deletes.is_empty()).then(|| Arc::new(deletes)),
            ..self.clone()
        }
    }

    /// The rows of the file that are not deleted, if metadata tells exactly.
    pub fn live_rows(&self) -> Option<u64> {
        match &self.deletes {
            Some(deletes) => deletes.live_rows(self.data_file()),
            None => u64::try_from(self.data_file().record_count).ok(),
        }
    }

    /// The rows of the file that are not deleted. Delete files are read for it where metadata does not tell, the data file never;
    /// `None` if there are equality deletes, of which nobody knows what they delete before the data file is read.
    ///
    /// # Errors
    /// A delete file is gone or damaged, or there is no memory for it.
    pub async fn count_live_rows(&self, table: &Table, memory: &dyn MemoryAccount) -> Result<Option<u64>> {
        if let Some(rows) = self.live_rows() {
            return Ok(Some(rows));
        }
        let file = self.data_file();
        let Some(deletes) = self
            .deletes()
            .filter(|deletes| deletes.equality_deletes().is_empty())
        else {
            return Ok(None);
        };
        let Ok(rows) = u64::try_from(file.record_count) else {
            return Ok(None);
        };
        let deleted = deletes.deleted_positions(&file.file_path, table, memory).await?;
        Ok(Some(
            rows - deleted.map_or(0, |deleted| deleted.positions.count_in(0, rows)),
        ))
    }

    /// At least so many rows of the file are not deleted.
    pub fn least_live_rows(&self) -> u64 {
        match &self.deletes {
            Some(deletes) => deletes.least_live_rows(self.data_file()),
            None => self.live_rows().unwrap_or(0),
        }
    }

    /// The partition spec that the file was written with.
    pub fn spec(&self) -> &Arc<PartitionSpec> {
        &self.spec
    }
}

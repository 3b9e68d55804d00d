//! Planning a scan: which data files of a snapshot may hold rows that a predicate keeps (§ Scan Planning).
//!
//! ```text
//! manifest list ──► manifests whose partition summaries may match ──► entries whose partition tuple may match
//!                                                                 ──► entries whose bounds may match ──► tasks
//! ```
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

use std::sync::Arc;

use drumlin_format::manifest::{DataFile, ManifestEntry};
use drumlin_format::partition::PartitionSpec;

pub use cache::{DEFAULT_MANIFEST_CACHE_BYTES, ManifestCache};
pub use summary::PlanSummary;

/// The files that a scan must read.
#[derive(Debug, Clone)]
pub struct ScanPlan {
    /// One task a data file, in the order of the manifest list.
    pub tasks: Vec<FileTask>,
    /// What was looked at and what was pruned.
    pub summary: PlanSummary,
}

/// A data file to read. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileTask {
    entry: Arc<ManifestEntry>,
    spec: Arc<PartitionSpec>,
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

    /// The partition spec that the file was written with.
    pub fn spec(&self) -> &Arc<PartitionSpec> {
        &self.spec
    }
}

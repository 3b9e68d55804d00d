//! What planning looked at and what it pruned.

use std::fmt;
use std::time::Duration;

use crate::deletes::DeleteCounts;

/// Counts of one planning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanSummary {
    /// Data manifests with live files.
    pub manifests_total: usize,
    /// Of them, those that their partition summaries rule out: they were not opened.
    pub manifests_pruned: usize,
    /// Live data files, those of pruned manifests included; `None` where a pruned manifest does not say how many it
    /// has (version 1).
    pub files_total: Option<u64>,
    /// Of them, those that their partition rules out, those of pruned manifests included.
    pub files_pruned_by_partition: u64,
    /// Of them, those that column bounds and counts rule out.
    pub files_pruned_by_bounds: u64,
    /// Delete manifests with live files.
    pub delete_manifests_total: usize,
    /// Of them, those that apply to no file that is scanned, by partition summaries or sequence numbers: they were not
    /// opened.
    pub delete_manifests_pruned: usize,
    /// The delete files that apply to files that are scanned.
    pub deletes: DeleteCounts,
    /// Manifests that the cache had.
    pub manifests_cached: usize,
    /// Bytes of manifests and manifest lists that were read from the store.
    pub bytes_read: u64,
    /// How long planning took.
    pub elapsed: Duration,
}

impl PlanSummary {
    /// Data files that are left to scan.
    pub fn files_kept(&self) -> Option<u64> {
        self.files_total
            .map(|t| t.saturating_sub(self.files_pruned_by_partition + self.files_pruned_by_bounds))
    }
}

impl fmt::Display for PlanSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "manifests={}/{} pruned, files=",
            self.manifests_pruned, self.manifests_total
        )?;
        let pruned = self.files_pruned_by_partition + self.files_pruned_by_bounds;
        match self.files_total {
            Some(total) => write!(f, "{pruned}/{total} pruned")?,
            None => write!(f, "{pruned} or more pruned")?,
        }
        let (partition, bounds) = (self.files_pruned_by_partition, self.files_pruned_by_bounds);
        write!(f, " ({partition} by partition, {bounds} by bounds)")?;
        if self.delete_manifests_total > 0 {
            let (pruned, total) = (self.delete_manifests_pruned, self.delete_manifests_total);
            write!(f, ", delete_manifests={pruned}/{total} pruned")?;
        }
        match self.deletes.is_empty() {
            true => Ok(()),
            false => write!(f, ", deletes={}", self.deletes),
        }
    }
}

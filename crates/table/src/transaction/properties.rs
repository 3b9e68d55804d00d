//! The table properties that commits follow.

use std::time::Duration;

use drumlin_format::metadata::TableMetadata;

use crate::error::Result;
use crate::properties::Properties;

/// How commits are tried again, and how manifests are merged.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitProperties {
    /// `commit.retry.*`: after another commit was first.
    pub retry: RetryPolicy,
    /// `commit.status-check.*`: where it is not known whether a commit happened.
    pub status_check: RetryPolicy,
    /// `commit.manifest.target-size-bytes`.
    pub manifest_target_bytes: u64,
    /// `commit.manifest.min-count-to-merge`.
    pub min_manifests_to_merge: usize,
    /// `commit.manifest-merge.enabled`.
    pub merge_manifests: bool,
    /// `write.summary.partition-limit`: up to so many changed partitions the summary tells of each.
    pub summary_partition_limit: usize,
}

/// How often, and after which waits, something is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries after the first one.
    pub retries: usize,
    /// The first wait; each is twice the one before.
    pub min_wait: Duration,
    /// No wait is longer.
    pub max_wait: Duration,
    /// After so long no further try is made.
    pub total: Duration,
}

impl CommitProperties {
    /// What the table says, or the defaults of the reference implementation.
    ///
    /// # Errors
    /// [`Error::Property`](crate::Error::Property) for a value that cannot be read.
    pub fn of(metadata: &TableMetadata) -> Result<Self> {
        let properties = Properties::new(metadata.properties());
        let policy = |of: &str, retries: usize, min_ms: u64| -> Result<RetryPolicy> {
            let ms = |name: &str, default| {
                let ms = properties.number(&format!("{of}.{name}"), default, "milliseconds");
                ms.map(Duration::from_millis)
            };
            Ok(RetryPolicy {
                retries: properties.number(&format!("{of}.num-retries"), retries, "retries")?,
                min_wait: ms("min-wait-ms", min_ms)?,
                max_wait: ms("max-wait-ms", 60_000)?,
                total: ms("total-timeout-ms", 1_800_000)?,
            })
        };
        Ok(Self {
            retry: policy("commit.retry", 4, 100)?,
            status_check: policy("commit.status-check", 3, 1_000)?,
            manifest_target_bytes: properties.number(
                "commit.manifest.target-size-bytes",
                8 << 20,
                "bytes",
            )?,
            min_manifests_to_merge: properties.number(
                "commit.manifest.min-count-to-merge",
                100,
                "manifests",
            )?,
            merge_manifests: properties.boolean("commit.manifest-merge.enabled", true)?,
            summary_partition_limit: properties.number("write.summary.partition-limit", 0, "partitions")?,
        })
    }
}

impl RetryPolicy {
    /// The wait before the try `n`, counted from 1, lengthened by up to a tenth, so that those that were in each other's way
    /// do not meet again. `random` is any number.
    pub fn wait(&self, n: usize, random: u64) -> Duration {
        let doublings = u32::try_from(n.saturating_sub(1)).unwrap_or(u32::MAX).min(32);
        let wait = self
            .min_wait
            .saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
            .min(self.max_wait);
        let jitter = wait.as_millis() as f64 * 0.1 * (random % 1_000) as f64 / 1_000.0;
        wait + Duration::from_micros((jitter * 1_000.0) as u64)
    }
}

//! The metrics of manifest entries and the summaries of manifests, as predicates ask for them.

use drumlin_format::manifest::DataFile;
use drumlin_format::manifest_list::ManifestFile;

use crate::predicate::{FileMetrics, PartitionSummary};

impl FileMetrics for DataFile {
    fn record_count(&self) -> i64 {
        self.record_count
    }

    fn value_count(&self, field_id: i32) -> Option<i64> {
        self.column_metrics.value_count(field_id)
    }

    fn null_value_count(&self, field_id: i32) -> Option<i64> {
        self.column_metrics.null_value_count(field_id)
    }

    fn nan_value_count(&self, field_id: i32) -> Option<i64> {
        self.column_metrics.nan_value_count(field_id)
    }

    fn lower_bound(&self, field_id: i32) -> Option<&[u8]> {
        self.column_metrics.lower_bound(field_id)
    }

    fn upper_bound(&self, field_id: i32) -> Option<&[u8]> {
        self.column_metrics.upper_bound(field_id)
    }
}

/// The metrics of an equality delete file as those of the rows that it deletes: of the columns that it compares. What
/// other columns it may hold says nothing of the rows.
pub struct KeyMetrics<'a>(pub &'a DataFile);

impl KeyMetrics<'_> {
    fn of<T>(&self, field_id: i32, metric: Option<T>) -> Option<T> {
        metric.filter(|_| {
            self.0
                .equality_ids
                .as_ref()
                .is_some_and(|ids| ids.contains(&field_id))
        })
    }
}

impl FileMetrics for KeyMetrics<'_> {
    fn record_count(&self) -> i64 {
        self.0.record_count
    }

    fn value_count(&self, field_id: i32) -> Option<i64> {
        self.of(field_id, self.0.column_metrics.value_count(field_id))
    }

    fn null_value_count(&self, field_id: i32) -> Option<i64> {
        self.of(field_id, self.0.column_metrics.null_value_count(field_id))
    }

    fn nan_value_count(&self, field_id: i32) -> Option<i64> {
        self.of(field_id, self.0.column_metrics.nan_value_count(field_id))
    }

    fn lower_bound(&self, field_id: i32) -> Option<&[u8]> {
        self.of(field_id, self.0.column_metrics.lower_bound(field_id))
    }

    fn upper_bound(&self, field_id: i32) -> Option<&[u8]> {
        self.of(field_id, self.0.column_metrics.upper_bound(field_id))
    }
}

/// The partition summaries of a manifest; none where the list has none.
pub fn summaries(manifest: &ManifestFile) -> Vec<PartitionSummary<'_>> {
    manifest
        .partitions
        .iter()
        .flatten()
        .map(|s| PartitionSummary {
            contains_null: s.contains_null,
            contains_nan: s.contains_nan,
            lower_bound: s.lower_bound.as_deref(),
            upper_bound: s.upper_bound.as_deref(),
        })
        .collect()
}

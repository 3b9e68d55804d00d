//! What a predicate says about whole files, whatever spec they have.

use std::collections::HashMap;
use std::sync::Arc;

use drumlin_format::manifest::{DataContent, DataFile};
use drumlin_format::manifest_list::ManifestFile;
use drumlin_format::metadata::TableMetadata;
use drumlin_format::partition::PartitionSpec;

use super::projection::{project_inclusive, project_strict};
use super::{PartitionPredicate, Predicate};
use crate::scan::{KeyMetrics, summaries};

/// A predicate on rows that can be asked of the files of a table: it is projected to each of its partition specs.
#[derive(Debug)]
pub struct FilePredicate {
    predicate: Predicate,
    by_spec: HashMap<i32, Projections>,
}

#[derive(Debug)]
struct Projections {
    spec: Arc<PartitionSpec>,
    inclusive: PartitionPredicate,
    strict: PartitionPredicate,
}

impl FilePredicate {
    /// The predicate for the files of a table.
    pub fn new(predicate: Predicate, metadata: &TableMetadata) -> Self {
        let projections = |spec: &Arc<PartitionSpec>| Projections {
            inclusive: project_inclusive(&predicate, spec),
            strict: project_strict(&predicate, spec),
            spec: Arc::clone(spec),
        };
        let specs = metadata.partition_specs().iter();
        let by_spec = specs.map(|spec| (spec.spec_id(), projections(spec))).collect();
        Self { predicate, by_spec }
    }

    /// Whether files of a manifest may hold such a row, or delete one.
    pub fn may_be_in_manifest(&self, manifest: &ManifestFile) -> bool {
        match self.by_spec.get(&manifest.partition_spec_id) {
            Some(p) => p.inclusive.might_match_summaries(&p.spec, &summaries(manifest)),
            None => true,
        }
    }

    /// Whether a file may hold such a row, or delete one.
    pub fn may_be_in(&self, file: &DataFile) -> bool {
        let partition = self.by_spec.get(&file.spec_id);
        // Equality deletes of an unpartitioned spec are for the rows of all partitions.
        if partition.is_some_and(|p| !p.inclusive.might_match_tuple(&file.partition)) {
            return false;
        }
        match file.content {
            DataContent::Data => self.predicate.might_match(file),
            DataContent::PositionDeletes => true,
            DataContent::EqualityDeletes => self.predicate.might_match(&KeyMetrics(file)),
        }
    }

    /// Whether all rows of a file are such rows. Of delete files only the partition is asked.
    pub fn are_all_of(&self, file: &DataFile) -> bool {
        let by_partition = match self.by_spec.get(&file.spec_id) {
            Some(p) => p.strict.must_match_tuple(&file.partition),
            None => false,
        };
        by_partition || (file.content == DataContent::Data && self.predicate.must_match(file))
    }
}

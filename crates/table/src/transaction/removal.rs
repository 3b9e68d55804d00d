//! Which files of a snapshot a change removes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use drumlin_format::manifest::{DataContent, DataFile, ManifestContent};
use drumlin_format::manifest_list::ManifestFile;
use drumlin_format::partition::PartitionTuple;
use drumlin_format::types::{PrimitiveType, StructType, Type};
use drumlin_format::value::Value;
use drumlin_format::value::bytes::from_bytes;

use super::change::{Kind, SnapshotChange};
use crate::deletes::{data_file_of, scope_of};
use crate::error::{Error, Result};
use crate::predicate::{FilePredicate, Predicate};
use crate::table::Table;

/// Up to so many named files, the summaries of manifests are asked whether they can hold one.
const COMPARED_FILES: usize = 64;

/// A file of a snapshot: several deletion vectors can be in one Puffin file.
type FileKey = (Arc<str>, Option<i64>);

/// The files to be removed from a snapshot.
#[derive(Debug)]
pub(super) struct Removal {
    /// Named files that were not found yet.
    missing: HashSet<FileKey>,
    missing_paths: HashSet<Arc<str>>,
    named: HashMap<i32, Vec<PartitionTuple>>,
    /// Files all of whose rows are such rows.
    rows: Option<FilePredicate>,
    /// Partitions whose files are removed.
    partitions: HashMap<Vec<u8>, i32>,
    /// The data files that are removed, whose own deletes go with them.
    data_files: HashSet<Arc<str>>,
    /// Deletes of older data than there is go.
    oldest_data: Option<i64>,
}

impl Removal {
    /// What the change removes from the table.
    pub fn of(change: &SnapshotChange, table: &Table) -> Self {
        let metadata = table.metadata();
        let mut rows = change.removed_rows.clone();
        let mut partitions = HashMap::new();
        if change.kind == Kind::ReplacePartitions {
            if metadata.default_spec().is_unpartitioned() {
                rows = Some(Predicate::AlwaysTrue);
            } else {
                partitions.extend(change.added.iter().map(|f| (scope_of(f), f.spec_id)));
            }
        }
        let mut named: HashMap<i32, Vec<PartitionTuple>> = HashMap::new();
        for file in &change.removed {
            let tuples = named.entry(file.spec_id).or_default();
            if !tuples.contains(&file.partition) && tuples.len() <= COMPARED_FILES {
                tuples.push(file.partition.clone());
            }
        }
        Self {
            missing: change.removed.iter().map(key).collect(),
            missing_paths: change.removed_paths.clone(),
            named,
            rows: rows.map(|rows| FilePredicate::new(rows, metadata)),
            partitions,
            data_files: HashSet::new(),
            oldest_data: None,
        }
    }

    /// Whether anything may be removed from a manifest, so that it has to be opened.
    pub fn may_touch(&self, manifest: &ManifestFile, partition_type: &StructType) -> bool {
        let spec = manifest.partition_spec_id;
        let data = manifest.content == ManifestContent::Data;
        if !data {
            let dangling = !self.data_files.is_empty();
            let outlived = self
                .oldest_data
                .is_some_and(|oldest| manifest.min_sequence_number < oldest);
            if dangling || outlived {
                return true;
            }
        }
        let named = !self.missing.is_empty()
            && self
                .named
                .get(&spec)
                .is_some_and(|tuples| may_hold_any(manifest, tuples, partition_type));
        named
            || (data && !self.missing_paths.is_empty())
            || self.partitions.values().any(|of| *of == spec)
            || self
                .rows
                .as_ref()
                .is_some_and(|rows| rows.may_be_in_manifest(manifest))
    }

    /// Whether a live file is removed.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if only some of its rows are to be removed.
    pub fn takes(&mut self, file: &DataFile, sequence_number: i64, table: &Table) -> Result<bool> {
        let named = self.missing.remove(&key(file)) | self.missing_paths.remove(&file.file_path);
        let taken = named
            || (!self.partitions.is_empty() && self.partitions.contains_key(&scope_of(file)))
            || self.rows_go(file, table)?
            || self.outlived(file, sequence_number);
        if taken && file.content == DataContent::Data {
            self.data_files.insert(Arc::clone(&file.file_path));
        }
        Ok(taken)
    }

    fn rows_go(&self, file: &DataFile, table: &Table) -> Result<bool> {
        let Some(rows) = &self.rows else {
            return Ok(false);
        };
        if !rows.may_be_in(file) {
            return Ok(false);
        }
        if rows.are_all_of(file) {
            return Ok(true);
        }
        match file.content {
            DataContent::Data => Err(Error::Unsupported(format!(
                "table `{}`: removing some of the rows of `{}` only, which this operation cannot: only files all of \
                 whose rows match the filter can be removed",
                table.name(),
                file.file_path
            ))),
            _ => Ok(false),
        }
    }

    /// Whether a delete file has nothing left to delete (§ Scan Planning; dangling deletes).
    fn outlived(&self, file: &DataFile, sequence_number: i64) -> bool {
        if file.content == DataContent::Data {
            return false;
        }
        let dangling = || data_file_of(file).is_some_and(|path| self.data_files.contains(&path));
        let older = self
            .oldest_data
            .is_some_and(|oldest| 0 < sequence_number && sequence_number < oldest);
        older || dangling()
    }

    /// Says how old the data is that is left, before delete manifests are asked.
    pub fn keep_deletes_since(&mut self, oldest_data: i64) {
        self.oldest_data = Some(oldest_data);
    }

    /// A conflict if a named file was not found.
    pub fn all_found(&self, table: &Table) -> Result<()> {
        let missing = self
            .missing
            .iter()
            .map(|(path, _)| path)
            .chain(&self.missing_paths);
        let Some(first) = missing.min() else {
            return Ok(());
        };
        Err(Error::Conflict {
            table: table.name().to_string(),
            reason: format!(
                "`{first}`{}, which this one replaces, is not in the table any more",
                match self.missing.len() + self.missing_paths.len() {
                    1 => String::new(),
                    more => format!(" and {} other files", more - 1),
                }
            ),
        })
    }
}

fn key(file: &DataFile) -> FileKey {
    (Arc::clone(&file.file_path), file.content_offset)
}

/// Whether files of a manifest may be in one of these partitions, by its summaries.
fn may_hold_any(manifest: &ManifestFile, tuples: &[PartitionTuple], partition_type: &StructType) -> bool {
    let Some(summaries) = &manifest.partitions else {
        return true;
    };
    let fields = partition_type.fields();
    if tuples.len() > COMPARED_FILES || summaries.len() != fields.len() {
        return true;
    }
    let types: Vec<Option<&PrimitiveType>> = fields
        .iter()
        .map(|f| match &f.field_type {
            Type::Primitive(of) => Some(of),
            _ => None,
        })
        .collect();
    let outside = |value: &Value, bound: Option<&Vec<u8>>, of: Option<&PrimitiveType>, outside| {
        let bound = bound.zip(of).and_then(|(bytes, of)| from_bytes(bytes, of).ok());
        bound.is_some_and(|bound| value.compare(&bound) == Some(outside))
    };
    tuples.iter().any(|tuple| {
        tuple
            .iter()
            .zip(summaries)
            .zip(&types)
            .all(|((value, summary), of)| match value {
                None => summary.contains_null,
                Some(Value::Float(v)) if v.is_nan() => true,
                Some(Value::Double(v)) if v.is_nan() => true,
                Some(value) => {
                    !outside(value, summary.lower_bound.as_ref(), *of, std::cmp::Ordering::Less)
                        && !outside(
                            value,
                            summary.upper_bound.as_ref(),
                            *of,
                            std::cmp::Ordering::Greater,
                        )
                }
            })
    })
}

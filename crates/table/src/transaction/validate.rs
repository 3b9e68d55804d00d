//! Whether commits since a table was read break what a change assumes.
//!
//! All snapshots since the one that was read are looked at, on each try anew: what was fine on the first try may not be
//! on the second.

use std::collections::HashSet;
use std::sync::Arc;

use drumlin_format::manifest::{DataContent, DataFile, FileFormat, ManifestContent, ManifestStatus};
use drumlin_format::snapshot::{Operation, Snapshot};

use super::change::{Kind, SnapshotChange};
use crate::deletes::{data_file_of, scope_of};
use crate::error::{Error, Result};
use crate::predicate::{FilePredicate, Predicate};
use crate::scan::{entries_of, manifests_of};
use crate::table::Table;

/// What one snapshot did to the files of the table.
#[derive(Debug, Default)]
struct Changed {
    added_data: Vec<DataFile>,
    removed_data: Vec<DataFile>,
    added_deletes: Vec<DataFile>,
}

/// Checks the assumptions of a change against the branch whose head is `head`. The snapshots `own` are of the same
/// transaction.
///
/// # Errors
/// [`Error::Conflict`] naming the assumption, and the snapshot and file that break it.
pub(super) async fn validate(
    change: &SnapshotChange,
    table: &Table,
    head: Option<&Arc<Snapshot>>,
    own: &[i64],
) -> Result<()> {
    let Some(read_at) = change.assumptions.read_at else {
        return Ok(());
    };
    if head.map(|h| h.snapshot_id) == read_at {
        return Ok(());
    }
    let checks = Checks::of(change, table);
    let others = since(table, head, read_at)?;
    for snapshot in others.iter().filter(|s| !own.contains(&s.snapshot_id)) {
        let changed = changed_by(table, snapshot).await?;
        if let Err(reason) = checks.check(change, &snapshot.summary.operation, &changed) {
            let id = snapshot.snapshot_id;
            let reason = format!("snapshot {id} ({}) {reason}", snapshot.summary.operation);
            return Err(conflict(table, reason));
        }
    }
    Ok(())
}

/// What is looked for in other commits.
struct Checks {
    rows: FilePredicate,
    /// The partitions that are replaced.
    partitions: Option<HashSet<Vec<u8>>>,
    removed_paths: HashSet<Arc<str>>,
    removed_scopes: HashSet<Vec<u8>>,
    /// The data files that new deletion vectors are for.
    vectors: HashSet<Arc<str>>,
    /// Specs in which all files are in one partition: their equality deletes are for all.
    unpartitioned: HashSet<i32>,
}

impl Checks {
    fn of(change: &SnapshotChange, table: &Table) -> Self {
        let metadata = table.metadata();
        let mut rows = change.rows();
        let mut partitions = None;
        if change.kind == Kind::ReplacePartitions {
            rows = Predicate::AlwaysTrue;
            if !metadata.default_spec().is_unpartitioned() {
                partitions = Some(change.added.iter().map(scope_of).collect());
                rows = change.assumptions.rows.clone().unwrap_or(Predicate::AlwaysFalse);
            }
        }
        let removed = || change.removed.iter().filter(|f| f.content == DataContent::Data);
        let paths = removed().map(|f| Arc::clone(&f.file_path));
        let vectors = change
            .added
            .iter()
            .filter(|f| f.file_format == FileFormat::Puffin);
        let specs = metadata.partition_specs().iter();
        Self {
            rows: FilePredicate::new(rows, metadata),
            partitions,
            removed_paths: paths.chain(change.removed_paths.iter().cloned()).collect(),
            removed_scopes: removed().map(scope_of).collect(),
            vectors: vectors.filter_map(|f| f.referenced_data_file.clone()).collect(),
            unpartitioned: specs
                .filter(|s| s.is_unpartitioned())
                .map(|s| s.spec_id())
                .collect(),
        }
    }

    /// Whether a file may hold rows that were read, or delete them.
    fn was_read(&self, file: &DataFile) -> bool {
        let replaced = |partitions: &HashSet<Vec<u8>>| partitions.contains(&scope_of(file));
        self.partitions.as_ref().is_some_and(replaced) || self.rows.may_be_in(file)
    }

    fn check(&self, change: &SnapshotChange, operation: &Operation, changed: &Changed) -> Result<(), String> {
        let assumed = &change.assumptions;
        let adds_data = !matches!(operation, Operation::Replace | Operation::Delete);
        let adds_deletes = !matches!(operation, Operation::Append | Operation::Replace);
        let removes = *operation != Operation::Append;
        if assumed.no_new_data
            && adds_data
            && let Some(file) = changed.added_data.iter().find(|f| self.was_read(f))
        {
            return Err(format!(
                "added `{}`, which may hold rows that this statement would have read",
                file.file_path
            ));
        }
        // A change that names its files is not bothered by what happens to others, unless it is serializable: rows in files
        // that stay may have been read, too. Compaction leaves them as they are.
        let (sweeps, serializable) = (change.sweeps(), assumed.no_new_data);
        let deletes_count = sweeps || serializable || change.kind == Kind::RowDelta;
        let removals_count = sweeps || (serializable && *operation != Operation::Replace);
        if assumed.no_new_deletes && adds_deletes && deletes_count {
            let mut deletes = changed.added_deletes.iter();
            if let Some(file) = deletes.find(|f| self.was_read(f)) {
                return Err(format!(
                    "added `{}`, which may delete rows that this statement has read",
                    file.file_path
                ));
            }
        }
        if assumed.no_new_deletes && removes && removals_count {
            let mut removed = changed.removed_data.iter();
            if let Some(file) = removed.find(|f| self.was_read(f)) {
                return Err(format!(
                    "removed `{}`, which may hold rows that this statement has read",
                    file.file_path
                ));
            }
        }
        if let Some(file) = changed
            .added_deletes
            .iter()
            .find(|f| self.is_for_removed(change, f))
        {
            return Err(format!(
                "added `{}`, which may delete rows of a file that this statement replaces",
                file.file_path
            ));
        }
        let plain_delete = *operation == Operation::Delete && assumed.forgive_deleted;
        let is_needed = |f: &&DataFile| assumed.referenced.contains(&f.file_path);
        if let Some(file) = changed.removed_data.iter().find(is_needed)
            && !plain_delete
        {
            return Err(format!(
                "removed `{}`, in which this statement deletes rows",
                file.file_path
            ));
        }
        let twice = |f: &&DataFile| {
            f.file_format == FileFormat::Puffin
                && f.referenced_data_file
                    .as_ref()
                    .is_some_and(|p| self.vectors.contains(p))
        };
        if let Some(file) = changed.added_deletes.iter().find(twice) {
            return Err(format!(
                "added a deletion vector (in `{}`) for a data file in which this statement deletes rows, too",
                file.file_path
            ));
        }
        Ok(())
    }

    /// Whether new deletes may be for rows of the data files that the change removes.
    fn is_for_removed(&self, change: &SnapshotChange, deletes: &DataFile) -> bool {
        if self.removed_paths.is_empty() {
            return false;
        }
        let equality = deletes.content == DataContent::EqualityDeletes;
        // They still apply to what replaces the file, which keeps its sequence number.
        if equality && change.data_sequence_number.is_some() {
            return false;
        }
        match data_file_of(deletes) {
            Some(path) => self.removed_paths.contains(&path),
            None => {
                // Of files that were named by their paths alone the partition is not known.
                !change.removed_paths.is_empty()
                    || (equality && self.unpartitioned.contains(&deletes.spec_id))
                    || self.removed_scopes.contains(&scope_of(deletes))
            }
        }
    }
}

/// The snapshots from the head back to the one that was read, without it.
fn since(table: &Table, head: Option<&Arc<Snapshot>>, read_at: Option<i64>) -> Result<Vec<Arc<Snapshot>>> {
    let mut found = Vec::new();
    let mut next = head.map(|h| h.snapshot_id);
    let mut seen = HashSet::new();
    while next != read_at {
        let broken = || {
            let read = read_at.map_or_else(|| "an empty table".to_string(), |id| format!("snapshot {id}"));
            conflict(
                table,
                format!(
                    "it was read at {read}, which the branch does not come from any more (or the snapshots in between \
                     were expired), so that what happened since cannot be known"
                ),
            )
        };
        let id = next.ok_or_else(broken)?;
        let snapshot = table.metadata().snapshot_by_id(id).ok_or_else(broken)?;
        if !seen.insert(id) {
            return Err(broken());
        }
        next = snapshot.parent_snapshot_id;
        found.push(Arc::clone(snapshot));
    }
    Ok(found)
}

/// The files that a snapshot added and removed.
async fn changed_by(table: &Table, snapshot: &Arc<Snapshot>) -> Result<Changed> {
    let mut changed = Changed::default();
    let (manifests, _) = manifests_of(table, snapshot).await?;
    let own = manifests
        .into_iter()
        .filter(|m| m.added_snapshot_id == snapshot.snapshot_id);
    for manifest in own {
        if manifest.added_files_count == Some(0) && manifest.deleted_files_count == Some(0) {
            continue;
        }
        for entry in entries_of(table, &manifest).await? {
            if entry.snapshot_id != snapshot.snapshot_id {
                continue;
            }
            match (entry.status, manifest.content) {
                (ManifestStatus::Added, ManifestContent::Data) => changed.added_data.push(entry.data_file),
                (ManifestStatus::Added, ManifestContent::Deletes) => {
                    changed.added_deletes.push(entry.data_file);
                }
                (ManifestStatus::Deleted, ManifestContent::Data) => {
                    changed.removed_data.push(entry.data_file)
                }
                _ => {}
            }
        }
    }
    Ok(changed)
}

fn conflict(table: &Table, reason: String) -> Error {
    Error::Conflict {
        table: table.name().to_string(),
        reason,
    }
}

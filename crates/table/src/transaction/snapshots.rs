//! Making the snapshot of a change.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use drumlin_format::manifest_list::{ManifestListOptions, write_manifest_list};
use drumlin_format::metadata::{TableMetadata, TableUpdate};
use drumlin_format::snapshot::{MAIN_BRANCH, ManifestListLocation, Snapshot, SnapshotRef};

use super::change::SnapshotChange;
use super::manifests::{Listed, MANIFEST_CODEC, Manifests};
use super::properties::CommitProperties;
use super::summary::Summarized;
use super::validate::validate;
use crate::clock::now_ms;
use crate::error::{Error, Result};
use crate::scan::manifests_of;
use crate::storage::Storage;
use crate::table::Table;

/// A change and what its tries have written so far.
///
/// The snapshot id and the names of its manifests stay the same over all tries; sequence number, parent, row ids, manifest
/// list and totals are those of the table as it is at each.
#[derive(Debug)]
pub(super) struct PendingSnapshot {
    change: SnapshotChange,
    snapshot_id: i64,
    manifests: Manifests,
    lists: Vec<String>,
    /// The files of the last try.
    used: Vec<String>,
    /// Files that are on the disk for good.
    flushed: HashSet<String>,
}

impl PendingSnapshot {
    pub fn new(mut change: SnapshotChange, table: &Table) -> Self {
        // A file that is added twice is one.
        let mut seen = HashSet::new();
        change
            .added
            .retain(|file| seen.insert((Arc::clone(&file.file_path), file.content_offset)));
        if change.assumptions.read_at.is_none() && change.depends_on_history() {
            let head = table.metadata().refs().get(&change.branch);
            change.assumptions.read_at = Some(head.map(|r| r.snapshot_id));
        }
        let snapshot_id = table.metadata().new_snapshot_id();
        Self {
            change,
            snapshot_id,
            manifests: Manifests::new(snapshot_id),
            lists: Vec::new(),
            used: Vec::new(),
            flushed: HashSet::new(),
        }
    }

    pub fn snapshot_id(&self) -> i64 {
        self.snapshot_id
    }

    /// Waits until the files that the last try adds to the table are on the disk.
    pub async fn flush(&mut self, storage: &Storage) -> Result<()> {
        let data = self.change.added.iter().map(|f| f.file_path.to_string());
        let own = self.all_written().into_iter().filter(|f| self.used.contains(f));
        let new: Vec<String> = data.chain(own).filter(|f| !self.flushed.contains(f)).collect();
        storage.flush(new.iter().map(String::as_str)).await?;
        self.flushed.extend(new);
        Ok(())
    }

    /// Writes the manifests and the manifest list of the change of this table. The updates add the snapshot and move its
    /// branch. `own` are the snapshots of the same transaction.
    pub async fn produce(&mut self, table: &Table, own: &[i64]) -> Result<Vec<TableUpdate>> {
        let properties = CommitProperties::of(table.metadata())?;
        let (head, snapshot_ref) = self.head(table)?;
        // What is read of the table from here on is read of the head.
        let table = &table.at_head(head.as_ref());
        validate(&self.change, table, head.as_ref(), own).await?;
        let old = match &head {
            Some(head) => manifests_of(table, head).await?.0,
            None => Vec::new(),
        };
        let before: Vec<String> = old.iter().map(|m| m.manifest_path.clone()).collect();
        let listed = self
            .manifests
            .after(&self.change, old, table, &properties)
            .await?;
        let snapshot = self
            .write_snapshot(table, head.as_deref(), &before, listed, &properties)
            .await?;
        Ok(vec![
            TableUpdate::AddSnapshot(Arc::new(snapshot)),
            TableUpdate::SetSnapshotRef {
                name: self.change.branch.clone(),
                snapshot_ref,
            },
        ])
    }

    /// The head of the branch, and the branch with the new snapshot as head.
    fn head(&self, table: &Table) -> Result<(Option<Arc<Snapshot>>, SnapshotRef)> {
        let (metadata, branch) = (table.metadata(), self.change.branch.as_str());
        let invalid = |reason: &str| {
            let what = format!("table `{}`, branch `{branch}`", table.name());
            Err(drumlin_format::Error::invalid(what, reason).into())
        };
        match metadata.refs().get(branch) {
            Some(found) if !found.is_branch() => invalid("it is a tag, which cannot be written to"),
            Some(found) => {
                let head = Arc::clone(metadata.snapshot(found.snapshot_id)?);
                let moved = SnapshotRef {
                    snapshot_id: self.snapshot_id,
                    ..found.clone()
                };
                Ok((Some(head), moved))
            }
            None if branch == MAIN_BRANCH => Ok((None, SnapshotRef::branch(self.snapshot_id))),
            None => invalid("there is no such branch: create it first"),
        }
    }

    async fn write_snapshot(
        &mut self,
        table: &Table,
        parent: Option<&Snapshot>,
        before: &[String],
        listed: Listed,
        properties: &CommitProperties,
    ) -> Result<Snapshot> {
        let metadata = table.metadata();
        let version = metadata.format_version();
        let sequence_number = match version {
            1 => 0,
            _ => metadata.last_sequence_number().checked_add(1).ok_or_else(|| {
                drumlin_format::Error::invalid("table metadata, `last-sequence-number`", "no number is left")
            })?,
        };
        let first_row_id = (version >= 3).then(|| metadata.next_row_id());
        let options = ManifestListOptions {
            format_version: version,
            snapshot_id: self.snapshot_id,
            parent_snapshot_id: parent.map(|p| p.snapshot_id),
            sequence_number,
            first_row_id,
            codec: MANIFEST_CODEC,
        };
        let list = write_manifest_list(listed.manifests.clone(), &options)?;
        let attempt = self.lists.len() + 1;
        let (id, commit) = (self.snapshot_id, self.manifests.commit());
        let path = format!("{}/snap-{id}-{attempt}-{commit}.avro", table.metadata_folder());
        self.lists.push(path.clone());
        table.storage().write(&path, Bytes::from(list.bytes)).await?;
        let paths = listed.manifests.iter().map(|m| m.manifest_path.clone());
        self.used = paths.chain([path.clone()]).collect();
        let replaced = before.iter().filter(|old| !self.used.contains(old)).count();
        let summarized = Summarized {
            operation: self.change.operation(),
            parent: parent.map(|p| &p.summary),
            added: &self.change.added,
            listed: &listed,
            replaced_manifests: replaced,
            snapshot_id: id,
            notes: &self.change.notes,
            partition_limit: properties.summary_partition_limit,
        };
        let added_rows = first_row_id
            .zip(list.next_row_id)
            .map(|(first, next)| next - first);
        Ok(Snapshot {
            snapshot_id: id,
            parent_snapshot_id: parent.map(|p| p.snapshot_id),
            sequence_number,
            // Clocks of writers differ: history must not go back.
            timestamp_ms: now_ms().max(metadata.last_updated_ms()),
            manifest_list: ManifestListLocation::File(path),
            summary: summarized.summary(table),
            schema_id: Some(metadata.current_schema().schema_id()),
            first_row_id,
            added_rows,
            key_id: None,
        })
    }

    /// The files that no try needs, once the commit is known to have happened: none if it was not the last try that did.
    pub fn left_over(&self, committed: &TableMetadata) -> Vec<String> {
        let used: HashSet<&String> = self.used.iter().collect();
        let list = committed
            .snapshot_by_id(self.snapshot_id)
            .map(|s| &s.manifest_list);
        match list {
            Some(ManifestListLocation::File(list)) if used.contains(list) => {}
            _ => return Vec::new(),
        }
        let all = self.all_written();
        all.into_iter().filter(|path| !used.contains(path)).collect()
    }

    /// All files that the tries have written.
    pub fn all_written(&self) -> Vec<String> {
        self.manifests
            .written()
            .iter()
            .chain(&self.lists)
            .cloned()
            .collect()
    }
}

impl Error {
    /// Whether it is certain that a commit that failed so did not happen: then its own new files can be deleted.
    pub fn nothing_was_committed(&self) -> bool {
        !matches!(self, Self::CommitUnknown { .. })
    }
}

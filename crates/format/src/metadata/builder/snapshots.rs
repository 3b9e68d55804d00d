//! Snapshots, refs and the snapshot log.

use std::sync::Arc;

use super::TableMetadataBuilder;
use crate::error::{Error, Result};
use crate::metadata::read::index;
use crate::snapshot::{MAIN_BRANCH, ManifestListLocation, Snapshot, SnapshotLogEntry, SnapshotRef};

/// How far clocks of writers may be apart.
const CLOCK_TOLERANCE_MS: i64 = 60_000;

impl TableMetadataBuilder {
    pub(super) fn add_snapshot(&mut self, snapshot: &Arc<Snapshot>) -> Result<()> {
        let id = snapshot.snapshot_id;
        let invalid = |reason: String| {
            Err(Error::invalid(
                format!("update `add-snapshot`, snapshot {id}"),
                reason,
            ))
        };
        let metadata = &self.metadata;
        if metadata.schemas.is_empty() {
            return invalid("the table has no schema yet".into());
        }
        if id <= 0 {
            return invalid("its id must be above 0".into());
        }
        if metadata.snapshot_by_id(id).is_some() {
            return invalid("the table has a snapshot with this id".into());
        }
        if let Some(schema_id) = snapshot.schema_id
            && metadata.schema_by_id(schema_id).is_none()
        {
            return invalid(format!("the table has no schema {schema_id}"));
        }
        let (number, last) = (snapshot.sequence_number, metadata.last_sequence_number);
        if metadata.format_version == 1 && number != 0 {
            return invalid(format!(
                "in format version 1 its sequence number must be 0, not {number}"
            ));
        }
        if metadata.format_version > 1 {
            // A commit to another branch was first.
            if number <= last {
                return Err(Error::RequirementFailed(format!(
                    "snapshot {id}: its sequence number {number} must be above the table's last one, {last}"
                )));
            }
            if matches!(snapshot.manifest_list, ManifestListLocation::Manifests(_)) {
                return invalid("only format version 1 lists manifests without a manifest list".into());
            }
        }
        if snapshot.timestamp_ms < self.not_before() {
            return invalid(format!(
                "its time {} ms is more than a minute before {} ms, when the table was last updated",
                snapshot.timestamp_ms, metadata.last_updated_ms
            ));
        }
        let next_row_id = if metadata.format_version >= 3 {
            let (Some(first), Some(added)) = (snapshot.first_row_id, snapshot.added_rows) else {
                // Another commit may have made the table one of version 3.
                return Err(Error::RequirementFailed(format!(
                    "snapshot {id}: format version 3 requires `first-row-id` and `added-rows`"
                )));
            };
            if first < metadata.next_row_id {
                return Err(Error::RequirementFailed(format!(
                    "snapshot {id}: its first-row-id {first} must not be below the table's next-row-id {}",
                    metadata.next_row_id
                )));
            }
            // The ids from the old next one up to `first` stay unused.
            match first.checked_add(added) {
                Some(next) if added >= 0 => next,
                _ => return invalid(format!("its added-rows {added} is out of range")),
            }
        } else {
            metadata.next_row_id
        };
        let position = self.metadata.snapshots.len();
        self.metadata.snapshot_index.insert(id, position);
        self.metadata.snapshots.push(Arc::clone(snapshot));
        self.metadata.last_sequence_number = number.max(last);
        self.metadata.next_row_id = next_row_id;
        self.added_snapshots.insert(id);
        Ok(())
    }

    fn not_before(&self) -> i64 {
        let base = self.base.as_ref().map_or(i64::MIN, |b| b.last_updated_ms);
        base.saturating_sub(CLOCK_TOLERANCE_MS)
    }

    pub(super) fn set_snapshot_ref(&mut self, name: &str, snapshot_ref: &SnapshotRef) -> Result<()> {
        let invalid = |reason: String| {
            Err(Error::invalid(
                format!("update `set-snapshot-ref`, `{name}`"),
                reason,
            ))
        };
        let id = snapshot_ref.snapshot_id;
        if name.is_empty() {
            return invalid("the name is empty".into());
        }
        if self.metadata.snapshot_by_id(id).is_none() {
            return invalid(format!("the table has no snapshot {id}"));
        }
        if name == MAIN_BRANCH {
            if !snapshot_ref.is_branch() {
                return invalid("main must be a branch".into());
            }
            self.metadata.current_snapshot_id = Some(id);
        }
        self.metadata.refs.insert(name.to_string(), snapshot_ref.clone());
        Ok(())
    }

    /// Removes a branch or tag, if there is one. Without `main` the table has no current snapshot.
    pub(super) fn remove_snapshot_ref(&mut self, name: &str) {
        self.metadata.refs.remove(name);
        if name == MAIN_BRANCH {
            self.metadata.current_snapshot_id = None;
            self.metadata.snapshot_log.clear();
            self.log_cut = true;
        }
    }

    /// Removes snapshots, if they are there, with the refs and statistics that name them.
    pub(super) fn remove_snapshots(&mut self, ids: &[i64]) -> Result<()> {
        let ids: std::collections::HashSet<_> = ids.iter().copied().collect();
        let before = self.metadata.snapshots.len();
        self.metadata.snapshots.retain(|s| !ids.contains(&s.snapshot_id));
        if self.metadata.snapshots.len() == before {
            return Ok(());
        }
        self.metadata.snapshot_index = index(&self.metadata.snapshots)?;
        self.log_cut = true;
        self.added_snapshots.retain(|id| !ids.contains(id));
        self.metadata.statistics.retain(|s| !ids.contains(&s.snapshot_id));
        self.metadata
            .partition_statistics
            .retain(|s| !ids.contains(&s.snapshot_id));
        let dangling = self
            .metadata
            .refs
            .iter()
            .filter(|(_, r)| ids.contains(&r.snapshot_id));
        let dangling: Vec<_> = dangling.map(|(name, _)| name.clone()).collect();
        for name in dangling {
            self.remove_snapshot_ref(&name);
        }
        Ok(())
    }

    /// Brings the snapshot log up to date; `last_updated_ms` is that of the new metadata already.
    pub(super) fn log_snapshot(&mut self) {
        let metadata = &mut self.metadata;
        if self.log_cut {
            // With a gap, a time in the gap would mean the wrong snapshot: nothing before it may stay.
            let gone = |e: &SnapshotLogEntry| !metadata.snapshot_index.contains_key(&e.snapshot_id);
            let keep_from = metadata.snapshot_log.iter().rposition(gone).map_or(0, |i| i + 1);
            metadata.snapshot_log.drain(..keep_from);
        }
        let before = self.base.as_ref().and_then(|b| b.current_snapshot_id);
        let Some(current) = metadata.current_snapshot_id else {
            return;
        };
        let logged = metadata.snapshot_log.last().map(|e| e.snapshot_id);
        if before == Some(current) && (logged == Some(current) || !self.log_cut) {
            return;
        }
        let added = self.added_snapshots.contains(&current);
        let timestamp_ms = match metadata.snapshot_by_id(current) {
            Some(snapshot) if added => snapshot.timestamp_ms,
            _ => metadata.last_updated_ms,
        };
        metadata.snapshot_log.push(SnapshotLogEntry {
            timestamp_ms,
            snapshot_id: current,
        });
    }
}

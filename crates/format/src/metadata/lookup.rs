//! Which snapshot a name or a time means (§ Point in Time Reads (Time Travel)), and with which
//! schema it is read. What does not exist is an error that says what does.

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use super::TableMetadata;
use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::snapshot::{Snapshot, SnapshotRef};

/// How many snapshots or refs an error lists.
const LISTED: usize = 10;

/// With which schema a snapshot is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaChoice {
    /// The schema that was current when the snapshot was made: for a snapshot id, a time or a tag.
    OfSnapshot,
    /// The schema of the table today: for the current state and for branches.
    Current,
}

impl SchemaChoice {
    /// The choice for a branch or a tag.
    pub fn of_ref(snapshot_ref: &SnapshotRef) -> Self {
        if snapshot_ref.is_branch() {
            Self::Current
        } else {
            Self::OfSnapshot
        }
    }
}

impl TableMetadata {
    /// The snapshot with this id, or an error that lists the newest ones there are.
    pub fn snapshot(&self, snapshot_id: i64) -> Result<&Arc<Snapshot>> {
        self.snapshot_by_id(snapshot_id).ok_or_else(|| {
            let reason = format!(
                "the table has no such snapshot, it may be expired; {}",
                self.newest()
            );
            Error::invalid(format!("snapshot id {snapshot_id}"), reason)
        })
    }

    /// The snapshot that was current at this time (ms since 1970-01-01 UTC) by the snapshot log: that of the newest
    /// entry at or before the time. Parents and the times of snapshots are not asked, as a snapshot may have become
    /// current long after it was made, or never.
    pub fn snapshot_as_of(&self, timestamp_ms: i64) -> Result<&Arc<Snapshot>> {
        let what = || format!("time {timestamp_ms} ms");
        let entry = self.snapshot_log.iter().rfind(|e| e.timestamp_ms <= timestamp_ms);
        let Some(entry) = entry else {
            let reason = match self.snapshot_log.first() {
                Some(oldest) => format!(
                    "the table has no snapshot that old: its log begins at {} ms, with the snapshot {}",
                    oldest.timestamp_ms, oldest.snapshot_id
                ),
                None => "the table's snapshot log is empty, so no time can be travelled to".into(),
            };
            return Err(Error::invalid(what(), reason));
        };
        self.snapshot_by_id(entry.snapshot_id).ok_or_else(|| {
            let reason = format!(
                "the snapshot {}, current then, is not in the table any more; {}",
                entry.snapshot_id,
                self.newest()
            );
            Error::invalid(what(), reason)
        })
    }

    /// The snapshot of the branch or tag with this name.
    pub fn snapshot_for_ref(&self, name: &str) -> Result<&Arc<Snapshot>> {
        self.snapshot(self.snapshot_ref(name)?.snapshot_id)
    }

    /// The branch or tag with this name, or an error that lists those there are.
    pub fn snapshot_ref(&self, name: &str) -> Result<&SnapshotRef> {
        self.refs.get(name).ok_or_else(|| {
            let names: Vec<_> = self.refs.keys().take(LISTED).map(|n| format!("`{n}`")).collect();
            let reason = match self.refs.len() {
                0 => "the table has no branches and tags".into(),
                n if n > LISTED => format!(
                    "the table has {n} branches and tags, among them {}",
                    names.join(", ")
                ),
                _ => format!("the table has the branches and tags {}", names.join(", ")),
            };
            Error::invalid(format!("branch or tag `{name}`"), reason)
        })
    }

    /// The schema to read a snapshot with. Snapshots that do not say theirs are read with the current one.
    pub fn schema_for(&self, snapshot: &Snapshot, choice: SchemaChoice) -> Result<&Arc<Schema>> {
        match (choice, snapshot.schema_id) {
            (SchemaChoice::OfSnapshot, Some(id)) => self.schema_by_id(id).ok_or_else(|| {
                Error::invalid(
                    format!("snapshot {}, field `schema-id`", snapshot.snapshot_id),
                    format!("the schema {id} is not in `schemas`"),
                )
            }),
            _ => Ok(&self.current_schema),
        }
    }

    /// The snapshot itself, its parent, the parent of that and so on, as far as they are still in the table. Every
    /// snapshot comes once, even where parents form a cycle.
    pub fn ancestors_of(&self, snapshot_id: i64) -> Ancestors<'_> {
        Ancestors {
            metadata: self,
            next: Some(snapshot_id),
            seen: HashSet::new(),
        }
    }

    /// A random id for a new snapshot: positive, and not that of a snapshot in the table.
    pub fn new_snapshot_id(&self) -> i64 {
        loop {
            let (high, low) = Uuid::new_v4().as_u64_pair();
            // The top bit goes, so that the id is never negative.
            let id = ((high ^ low) >> 1).cast_signed();
            if id > 0 && self.snapshot_by_id(id).is_none() {
                return id;
            }
        }
    }

    /// Names the newest snapshots, for errors.
    fn newest(&self) -> String {
        let mut newest: Vec<_> = self.snapshots.iter().collect();
        newest.sort_by_key(|s| std::cmp::Reverse((s.sequence_number, s.timestamp_ms)));
        let ids: Vec<_> = newest
            .iter()
            .take(LISTED)
            .map(|s| s.snapshot_id.to_string())
            .collect();
        match self.snapshots.len() {
            0 => "it has no snapshots".into(),
            n if n > LISTED => format!("the newest of its {n} snapshots are {}", ids.join(", ")),
            _ => format!("its snapshots, newest first, are {}", ids.join(", ")),
        }
    }
}

/// See [`TableMetadata::ancestors_of`].
#[derive(Debug, Clone)]
pub struct Ancestors<'a> {
    metadata: &'a TableMetadata,
    next: Option<i64>,
    seen: HashSet<i64>,
}

impl<'a> Iterator for Ancestors<'a> {
    type Item = &'a Arc<Snapshot>;

    fn next(&mut self) -> Option<Self::Item> {
        let id = self.next.take()?;
        let snapshot = self.metadata.snapshot_by_id(id)?;
        if !self.seen.insert(id) {
            return None;
        }
        self.next = snapshot.parent_snapshot_id;
        Some(snapshot)
    }
}

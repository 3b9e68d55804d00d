//! Changing a table.
//!
//! A [`Transaction`] is a list of changes, made on the table as it was read and committed in one swap of its pointer. A
//! change says what it does and what it assumes ([`SnapshotChange`]), not how the table looks: where another commit was
//! first, it is worked out again on the table as that commit left it, and its assumptions are checked against all that
//! happened since the table was read.
//!
//! ```text
//!        ┌──────────────────────────────── another commit was first: load the table again ─┐
//!        ▼                                                                                 │
//! assumptions hold? ──► manifests ──► manifest list ──► snapshot ──► Catalog::commit ──────┤
//!        │ no                                                             │                ├─► answer lost: look for the
//!        ▼                                                                ▼                │   snapshot, delete nothing
//!   the statement fails                                                 done               ▼
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `change` | what a snapshot is to change: append, overwrite, replace partitions, delete, merge-on-read, compaction, manifests |
//! | `validate` | whether commits since break what it assumes |
//! | `snapshots` | a change becomes a snapshot: `removal` says which files go, `manifests` lists what is left, `summary` counts |
//! | `commit` | the tries, and what follows from an answer that did not arrive |
//! | `properties` | the table properties that it follows |

mod change;
mod commit;
mod manifests;
mod properties;
mod removal;
mod snapshots;
mod summary;
mod validate;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use drumlin_format::metadata::{TableMetadataBuilder, TableRequirement, TableUpdate};
use drumlin_format::snapshot::MAIN_BRANCH;

pub use change::SnapshotChange;
pub use properties::{CommitProperties, RetryPolicy};

use self::snapshots::PendingSnapshot;
use crate::catalog::{StagedTable, TableIdent};
use crate::error::Result;
use crate::storage::Storage;
use crate::table::Table;

/// Changes of one table that are committed together.
#[derive(Debug)]
pub struct Transaction {
    ident: TableIdent,
    /// The table as it was read.
    base: Table,
    /// The table that files are written for.
    table: Table,
    start: Start,
    changes: Vec<Change>,
}

/// What the changes start from.
#[derive(Debug)]
enum Start {
    /// The table as it is.
    Table,
    /// Nothing: these updates make the table.
    Nothing(Vec<TableUpdate>),
    /// The table as it was read and in no other state: these updates replace its columns and rows.
    Replaced(Vec<TableUpdate>),
}

#[derive(Debug)]
enum Change {
    /// Changes of the metadata alone.
    Updates(Vec<TableUpdate>),
    /// A snapshot.
    Snapshot(Box<PendingSnapshot>),
}

impl Transaction {
    /// Changes of a table, as it was read.
    pub fn new(table: &Table, ident: TableIdent) -> Self {
        Self {
            ident,
            base: table.clone(),
            table: table.clone(),
            start: Start::Table,
            changes: Vec::new(),
        }
    }

    /// Makes a table, with the snapshots that are added, if there are any: it is there with its rows or not at all.
    pub fn create(staged: &StagedTable, storage: &Storage) -> Self {
        Self {
            ident: staged.ident().clone(),
            base: staged.as_table(storage),
            table: staged.as_table(storage),
            start: Start::Nothing(staged.updates().to_vec()),
            changes: Vec::new(),
        }
    }

    /// Replaces columns, layout and rows of a table, which keeps its id and its history. A commit that was made since the
    /// table was read is a conflict: it would be lost.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for what the format does not allow.
    pub fn replace(
        table: &Table,
        ident: TableIdent,
        creation: crate::catalog::TableCreation,
    ) -> Result<Self> {
        let updates = crate::catalog::replacement(table, creation)?;
        let mut builder = builder_of(table);
        builder.apply_all(updates.iter().cloned())?;
        let replaced = builder.metadata().clone();
        let location = table.metadata_location();
        Ok(Self {
            ident,
            base: table.clone(),
            table: Table::new(
                table.name(),
                table.storage().clone(),
                location,
                Arc::new(replaced),
            ),
            start: Start::Replaced(updates),
            changes: Vec::new(),
        })
    }

    /// The table that data files are written for: as it was read, or as it will be once it is created or replaced.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Adds a snapshot.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "it adds a change, not a number")]
    pub fn add(mut self, change: SnapshotChange) -> Self {
        let change = PendingSnapshot::new(
            change
                .with_note("engine-name", "drumlin")
                .with_note("engine-version", env!("CARGO_PKG_VERSION")),
            &self.table,
        );
        self.changes.push(Change::Snapshot(Box::new(change)));
        self
    }

    /// Adds changes of the metadata. They are made on whatever state the table has then, if it fulfils what
    /// [`TableRequirement::for_updates`] asks of the state that was read.
    #[must_use]
    pub fn add_updates(mut self, updates: Vec<TableUpdate>) -> Self {
        self.changes.push(Change::Updates(updates));
        self
    }

    /// The ids of the snapshots that it adds.
    fn snapshot_ids(&self) -> Vec<i64> {
        let ids = self.changes.iter().map(|change| match change {
            Change::Snapshot(pending) => Some(pending.snapshot_id()),
            Change::Updates(_) => None,
        });
        ids.flatten().collect()
    }

    /// Works the changes out on a table. What has to be so for them, and the updates.
    async fn apply(&mut self, base: &Table) -> Result<(Vec<TableRequirement>, Vec<TableUpdate>)> {
        let (mut builder, metadata) = match &self.start {
            Start::Table => (builder_of(base), Some(base.metadata())),
            Start::Nothing(updates) => {
                let mut builder = TableMetadataBuilder::empty();
                builder.apply_all(updates.iter().cloned())?;
                (builder, None)
            }
            Start::Replaced(updates) => {
                let mut builder = builder_of(base);
                builder.apply_all(updates.iter().cloned())?;
                (builder, Some(base.metadata()))
            }
        };
        let own = self.snapshot_ids();
        for change in &mut self.changes {
            let updates = match change {
                Change::Updates(updates) => updates.clone(),
                Change::Snapshot(pending) => {
                    let state = Arc::new(builder.metadata().clone());
                    let location = base.metadata_location();
                    let table = Table::new(base.name(), base.storage().clone(), location, state);
                    pending.produce(&table, &own).await?
                }
            };
            builder.apply_all(updates)?;
        }
        let metadata = metadata.map(|m| m.as_ref());
        let mut requirements = TableRequirement::for_updates(metadata, builder.updates());
        if let (Start::Replaced(_), Some(metadata)) = (&self.start, metadata) {
            // Without rows of its own, a replacement does not move `main` but removes it.
            let main = TableRequirement::RefSnapshotId {
                name: MAIN_BRANCH.to_string(),
                snapshot_id: metadata.refs().get(MAIN_BRANCH).map(|r| r.snapshot_id),
            };
            if !requirements.contains(&main) {
                requirements.push(main);
            }
        }
        Ok((requirements, builder.updates().to_vec()))
    }
}

fn builder_of(table: &Table) -> TableMetadataBuilder {
    let file = table.metadata_location().to_string();
    TableMetadataBuilder::from(table.metadata().as_ref().clone(), Some(file))
}

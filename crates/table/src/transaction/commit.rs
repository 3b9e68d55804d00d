//! The tries of a commit.

use std::time::Instant;

use tokio::time::sleep;
use uuid::Uuid;

use super::properties::CommitProperties;
use super::{Change, Start, Transaction};
use crate::catalog::{Catalog, CommitError};
use crate::error::{Error, Result};
use crate::table::Table;

/// What a state of the table says about a commit whose answer did not arrive.
enum Fate {
    /// It happened.
    Done,
    /// It did not, and cannot any more: another commit took its place.
    Lost,
    /// Nobody can say yet.
    Open,
}

impl Transaction {
    /// Commits the changes in one swap of the table's pointer. The answer is the table after it.
    ///
    /// If this future is dropped while it runs the commit may or may not happen. Manifests of failed tries are deleted; data
    /// files belong to the caller, who may delete them if [`Error::nothing_was_committed`].
    ///
    /// # Errors
    /// [`Error::Conflict`] where an assumption of a change does not hold any more; [`Error::CommitRetries`] where other commits
    /// were first too often; [`Error::CommitUnknown`] where no answer arrived and the catalog cannot tell either.
    pub async fn commit(mut self, catalog: &dyn Catalog) -> Result<Table> {
        let result = self.try_commit(catalog).await;
        match &result {
            Ok(table) => self.clean_up(Some(table)).await,
            Err(e) if e.nothing_was_committed() => self.clean_up(None).await,
            // Nothing may be deleted: the table may name any of the files.
            Err(_) => {}
        }
        result
    }

    async fn try_commit(&mut self, catalog: &dyn Catalog) -> Result<Table> {
        let properties = CommitProperties::of(self.table.metadata())?;
        let start = Instant::now();
        let mut base = self.base.clone();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (requirements, updates) = self.apply(&base).await?;
            // Whatever the pointer is going to name must be there before it does.
            for change in &mut self.changes {
                if let Change::Snapshot(pending) = change {
                    pending.flush(self.base.storage()).await?;
                }
            }
            let answer = catalog.commit(&self.ident, &requirements, &updates).await;
            let (reason, own) = match answer {
                Ok(table) => return Ok(table),
                Err(CommitError::Failed(error)) => return Err(error),
                Err(CommitError::Conflict(reason)) => (reason, None),
                Err(CommitError::Unknown {
                    metadata_location,
                    source,
                }) => {
                    let own = metadata_location.as_deref();
                    match self.look_for(catalog, &base, own, &properties).await {
                        (Fate::Done, Some(table)) => return Ok(table),
                        (Fate::Lost, _) => (source.to_string(), metadata_location),
                        _ => return Err(self.unknown(source)),
                    }
                }
            };
            let wait = properties.retry.wait(attempt, random());
            let too_late = start.elapsed() + wait > properties.retry.total;
            let stop = match self.may_try_again(&reason) {
                Err(error) => Some(error),
                Ok(()) if attempt > properties.retry.retries || too_late => Some(Error::CommitRetries {
                    table: self.ident.to_string(),
                    attempts: attempt,
                    last: reason,
                }),
                Ok(()) => {
                    sleep(wait).await;
                    None
                }
            };
            let now = match catalog.load_table(&self.ident).await {
                Ok(table) => table,
                Err(error @ Error::NoSuchTable { .. }) => return Err(stop.unwrap_or(error)),
                // Whether the conflict was one with itself cannot be seen.
                Err(error) => return Err(self.unknown(error)),
            };
            // A server may have applied a request and answered its repetition.
            if let Fate::Done = self.fate_in(&now, &base, own.as_deref()) {
                return Ok(now);
            }
            if let Some(error) = stop {
                return Err(error);
            }
            base = now;
            self.may_build_on(&base)?;
        }
    }

    fn unknown(&self, source: Error) -> Error {
        Error::CommitUnknown {
            table: self.ident.to_string(),
            source: Box::new(source),
        }
    }

    /// Whether the changes can be tried again at all, after another commit was first.
    fn may_try_again(&self, reason: &str) -> Result<()> {
        match self.start {
            Start::Table => Ok(()),
            Start::Nothing(_) => Err(Error::TableExists {
                table: self.ident.to_string(),
            }),
            Start::Replaced(_) => Err(Error::Conflict {
                table: self.ident.to_string(),
                reason: format!("{reason}; replacing the table would lose that commit"),
            }),
        }
    }

    /// Whether the changes may be made on a later state of the table.
    fn may_build_on(&self, now: &Table) -> Result<()> {
        let (was, is) = (self.base.metadata().table_uuid(), now.metadata().table_uuid());
        if was.is_some() && was != is {
            return Err(Error::Conflict {
                table: self.ident.to_string(),
                reason: "it was dropped, and another table has its name".into(),
            });
        }
        self.assumed_layout(now)
    }

    /// Data files were written with the columns and partition fields that the table had. They can stay if those are as they
    /// were, and updates of the metadata only if nothing of what they build on has changed.
    fn assumed_layout(&self, now: &Table) -> Result<()> {
        let (was, is) = (self.base.metadata(), now.metadata());
        let updates = self.changes.iter().filter_map(|c| match c {
            Change::Updates(updates) => Some(updates.as_slice()),
            Change::Snapshot(_) => None,
        });
        let updates: Vec<_> = updates.flatten().cloned().collect();
        let requirements = drumlin_format::metadata::TableRequirement::for_updates(Some(was), &updates);
        for requirement in requirements {
            requirement.check(Some(is)).map_err(|e| Error::Conflict {
                table: self.ident.to_string(),
                reason: e.to_string(),
            })?;
        }
        let required = |id: i32| is.current_schema().field_by_id(id).is_some_and(|f| f.required);
        let added = is.current_schema().as_struct().fields().iter();
        let known = was.current_schema();
        let new_required = added
            .filter(|f| f.required && known.field_by_id(f.id).is_none() && f.initial_default.is_none())
            .chain(
                known
                    .as_struct()
                    .fields()
                    .iter()
                    .filter(|f| !f.required && required(f.id)),
            );
        let mut new_required = new_required.map(|f| f.name.as_str());
        match new_required.next() {
            Some(name) if !self.snapshot_ids().is_empty() => Err(Error::Conflict {
                table: self.ident.to_string(),
                reason: format!("the column `{name}` became required, and the new rows may not have it"),
            }),
            _ => Ok(()),
        }
    }

    /// Looks for a commit whose answer did not arrive, until it is known what became of it. The state that told is there unless
    /// it stays open.
    async fn look_for(
        &self,
        catalog: &dyn Catalog,
        base: &Table,
        metadata_location: Option<&str>,
        properties: &CommitProperties,
    ) -> (Fate, Option<Table>) {
        let policy = properties.status_check;
        let start = Instant::now();
        for n in 0..=policy.retries {
            if n > 0 {
                let wait = policy.wait(n, random());
                if start.elapsed() + wait > policy.total {
                    break;
                }
                sleep(wait).await;
            }
            // A table that was to be made and is not there yet may still come.
            let Ok(table) = catalog.load_table(&self.ident).await else {
                continue;
            };
            match self.fate_in(&table, base, metadata_location) {
                Fate::Open => {}
                known => return (known, Some(table)),
            }
        }
        (Fate::Open, None)
    }

    /// What a state of the table says about the commit that was tried on `base`.
    fn fate_in(&self, table: &Table, base: &Table, metadata_location: Option<&str>) -> Fate {
        let metadata = table.metadata();
        let ids = self.snapshot_ids();
        let has_all = !ids.is_empty() && ids.iter().all(|id| metadata.snapshot_by_id(*id).is_some());
        let log = metadata.metadata_log().iter().map(|e| e.metadata_file.as_str());
        let mut history: Vec<&str> = log.collect();
        history.push(table.metadata_location());
        let named = metadata_location.is_some_and(|own| history.contains(&own));
        let same_table = metadata.table_uuid() == self.base.metadata().table_uuid();
        let is_new = matches!(self.start, Start::Nothing(_));
        // Snapshots have ids of their own, tables that are made, too. The name of a metadata file may be one that another
        // commit took, where files are numbered; it tells only where there is nothing else.
        let done = match ids.is_empty() {
            true => named || (is_new && same_table),
            false => has_all,
        };
        if done {
            return Fate::Done;
        }
        if named {
            return Fate::Open;
        }
        // What came right after the base is not this commit: the pointer moved on, and the swap, which asks for the base,
        // cannot happen any more.
        let replaced = match self.start {
            Start::Nothing(_) => !same_table,
            _ => {
                let at = history.iter().position(|file| *file == base.metadata_location());
                metadata_location.is_some() && at.is_some_and(|at| at + 1 < history.len())
            }
        };
        match replaced {
            true => Fate::Lost,
            false => Fate::Open,
        }
    }

    /// Deletes what the tries have written and nothing needs. Failing to do so leaves files that nobody names.
    async fn clean_up(&self, committed: Option<&Table>) {
        let storage = self.table.storage();
        for change in &self.changes {
            let Change::Snapshot(pending) = change else {
                continue;
            };
            let files = match committed {
                Some(table) => pending.left_over(table.metadata()),
                None => pending.all_written(),
            };
            for file in files {
                // The error that matters is the one of the commit.
                let _ = storage.delete(&file).await;
            }
        }
    }
}

fn random() -> u64 {
    Uuid::new_v4().as_u64_pair().0
}

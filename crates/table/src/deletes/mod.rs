//! Row-level deletes (§ Delete Formats, § Scan Planning): which delete files apply to a data file, and what they
//! delete of it.
//!
//! ```text
//! delete manifests ──► DeleteIndex ──► FileDeletes of each data file
//!                                        ├ deletion vector or position deletes ──► deleted positions
//!                                        └ equality deletes ──► one set of keys for all data files
//! ```
//!
//! | kind | applies to | of a sequence number |
//! |---|---|---|
//! | deletion vector | the one data file that it names, of its spec and partition | not below the data file's |
//! | position deletes | the data files that they name, of their spec and partition | not below the data file's |
//! | equality deletes | all data files of their spec and partition; all of the table if their spec has no fields | above the data file's |
//!
//! A data file with a deletion vector has no other position deletes: they were merged into it. Planning decides from
//! manifests alone; a delete file is read when the first data file that needs it is opened, once for all of them, and
//! what was decoded is kept across scans in a [`DeleteCache`].
//!
//! - `index`: the delete files of a snapshot, and those of them that apply to a data file
//! - [`delete_file`]: a delete file of a scan, loaded once
//! - [`equality`]: the equality deletes of one set of columns, [`key_columns`] those columns, [`key_set`] their values,
//!   `integer_keys` those of one column, `key_hashes` what rules most rows out
//! - `positions`: deletion vectors and position delete files as sets of positions
//! - `cache`: what was decoded

mod cache;
pub mod delete_file;
pub mod equality;
mod index;
mod integer_keys;
pub mod key_columns;
mod key_hashes;
pub mod key_set;
mod positions;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::DataFile;

pub use cache::{DEFAULT_DELETE_CACHE_BYTES, DeleteCache};
pub use delete_file::DeleteFile;
pub use equality::EqualityDeletes;
pub use key_columns::KeyColumn;
pub use key_set::KeySet;

pub(crate) use index::{DeleteIndex, scope};
pub use index::{data_file_of, scope_of};
pub(crate) use positions::{FILE_PATH_ID, POS_ID};

pub use crate::memory::MemoryAccount;

use crate::error::Result;
use crate::table::Table;

/// The deletes of one data file.
#[derive(Debug, Clone, Default)]
pub struct FileDeletes {
    vector: Option<Arc<DeleteFile>>,
    positions: Vec<Arc<DeleteFile>>,
    equality: Vec<Arc<EqualityDeletes>>,
    /// Positions that no delete file deletes yet.
    uncommitted: Option<Arc<DeletionVector>>,
}

/// The deleted positions of a data file, and by what.
#[derive(Debug, Clone)]
pub struct DeletedPositions {
    /// The positions, from 0 over the whole file. There may be some beyond its end.
    pub positions: Arc<DeletionVector>,
    /// Whether they come from deletion vectors alone, else from position delete files too.
    pub by_vector: bool,
}

impl FileDeletes {
    /// The deletion vector.
    pub fn deletion_vector(&self) -> Option<&Arc<DeleteFile>> {
        self.vector.as_ref()
    }

    /// The position delete files; none if there is a deletion vector.
    pub fn position_deletes(&self) -> &[Arc<DeleteFile>] {
        &self.positions
    }

    /// The equality deletes, a set of columns each, and for each set those of the partition and those of the table.
    pub fn equality_deletes(&self) -> &[Arc<EqualityDeletes>] {
        &self.equality
    }

    /// The same without equality deletes, which something else applies.
    #[must_use]
    pub fn without_equality_deletes(&self) -> Self {
        Self {
            equality: Vec::new(),
            ..self.clone()
        }
    }

    /// The same with these positions deleted besides, which are those of a change that is not committed. Their memory is
    /// the caller's to account.
    #[must_use]
    pub fn with_deleted(&self, positions: Arc<DeletionVector>) -> Self {
        let mut all = positions;
        if let Some(before) = &self.uncommitted {
            Arc::make_mut(&mut all).merge(before);
        }
        Self {
            uncommitted: Some(all).filter(|all| !all.is_empty()),
            ..self.clone()
        }
    }

    /// Whether nothing is deleted.
    pub fn is_empty(&self) -> bool {
        !self.deletes_positions() && self.equality.is_empty()
    }

    /// Whether rows may be deleted by their positions.
    pub fn deletes_positions(&self) -> bool {
        self.vector.is_some() || !self.positions.is_empty() || self.uncommitted.is_some()
    }

    /// The delete files of a data file that have to be removed by the commit that adds a deletion vector, or position
    /// deletes of this data file alone, with all its [deleted positions](Self::deleted_positions) (§ Deletion Vectors): the
    /// deletion vector before, and the position delete files that are for no other data file. Those that may be for
    /// others too stay.
    pub fn superseded_by_vector<'a>(&'a self, file: &'a DataFile) -> impl Iterator<Item = &'a DataFile> {
        let alone = |deletes: &&DataFile| data_file_of(deletes).as_ref() == Some(&file.file_path);
        let positions = self.positions.iter().map(|d| d.data_file()).filter(alone);
        self.vector.iter().map(|d| d.data_file()).chain(positions)
    }

    /// The rows of the data file that are left, if metadata tells exactly: a deletion vector says how many it deletes.
    /// A position delete file may name a row twice, or none of this data file; positions that are not committed may be
    /// deleted already.
    pub fn live_rows(&self, file: &DataFile) -> Option<u64> {
        let rows = u64::try_from(file.record_count).ok()?;
        if !self.positions.is_empty() || !self.equality.is_empty() || self.uncommitted.is_some() {
            return None;
        }
        match &self.vector {
            Some(vector) => rows.checked_sub(vector.record_count()?),
            None => Some(rows),
        }
    }

    /// At least so many rows of the data file are left.
    pub fn least_live_rows(&self, file: &DataFile) -> u64 {
        let rows = u64::try_from(file.record_count).unwrap_or(0);
        if !self.equality.is_empty() {
            return 0;
        }
        let deleting = self.vector.iter().chain(&self.positions);
        let deleting = deleting.map(|deletes| deletes.record_count().unwrap_or(u64::MAX));
        let uncommitted = self.uncommitted.iter().map(|positions| positions.len());
        deleting.chain(uncommitted).fold(rows, u64::saturating_sub)
    }

    /// Loads the deleted positions of the data file at `path`; `None` if no position is deleted.
    ///
    /// # Errors
    /// A delete file is gone or damaged, or there is no memory for it.
    pub async fn deleted_positions(
        &self,
        path: &str,
        table: &Table,
        memory: &dyn MemoryAccount,
    ) -> Result<Option<DeletedPositions>> {
        let mut deleted = self.uncommitted.clone();
        for file in self.vector.iter().chain(&self.positions) {
            let Some(positions) = file.positions(table, memory).await?.of(path) else {
                continue;
            };
            match &mut deleted {
                None => deleted = Some(positions),
                Some(merged) => Arc::make_mut(merged).merge(&positions),
            }
        }
        let deleted = deleted.filter(|d| !d.is_empty());
        Ok(deleted.map(|positions| DeletedPositions {
            positions,
            by_vector: self.positions.is_empty(),
        }))
    }
}

/// How many delete files a scan has, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeleteCounts {
    /// Deletion vectors.
    pub deletion_vectors: usize,
    /// Position delete files.
    pub position_delete_files: usize,
    /// Equality delete files.
    pub equality_delete_files: usize,
}

impl DeleteCounts {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for DeleteCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [
            (self.deletion_vectors, "deletion vector"),
            (self.position_delete_files, "position delete file"),
            (self.equality_delete_files, "equality delete file"),
        ];
        let mut first = true;
        for (count, kind) in kinds.into_iter().filter(|(count, _)| *count > 0) {
            let comma = if first { "" } else { " + " };
            let plural = if count == 1 { "" } else { "s" };
            write!(f, "{comma}{count} {kind}{plural}")?;
            first = false;
        }
        Ok(())
    }
}

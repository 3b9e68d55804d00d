//! What a snapshot is to change, said without regard to the state of the table: it can be carried out again on another one.

use std::collections::HashSet;
use std::sync::Arc;

use drumlin_format::manifest::{DataContent, DataFile, FileFormat};
use drumlin_format::snapshot::{MAIN_BRANCH, Operation};

use crate::deletes::data_file_of;
use crate::predicate::Predicate;

/// A change of a table's files that one snapshot makes.
///
/// It names the files that come and go, and what it assumes about the commits since the table was read
/// ([`read_at`](Self::read_at) and the `refuse_` methods). Without assumptions it is retried on whatever is there.
#[derive(Debug, Clone)]
pub struct SnapshotChange {
    pub(super) kind: Kind,
    pub(super) branch: String,
    pub(super) added: Vec<DataFile>,
    pub(super) removed: Vec<DataFile>,
    pub(super) removed_paths: HashSet<Arc<str>>,
    pub(super) removed_rows: Option<Predicate>,
    pub(super) data_sequence_number: Option<i64>,
    pub(super) assumptions: Assumptions,
    pub(super) notes: Vec<(String, String)>,
    pub(super) merge: bool,
}

/// Which of the operations of the reference implementation it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Append,
    DeleteFiles,
    Overwrite,
    ReplacePartitions,
    RowDelta,
    RewriteFiles,
    RewriteManifests,
}

/// What may not have happened since the table was read.
#[derive(Debug, Clone, Default)]
pub(super) struct Assumptions {
    /// The snapshot that was read: `None` is not said, `Some(None)` is a table without snapshots.
    pub read_at: Option<Option<i64>>,
    /// The rows that were read.
    pub rows: Option<Predicate>,
    /// New data files that may hold such rows are a conflict.
    pub no_new_data: bool,
    /// New deletes are a conflict: see [`SnapshotChange::refuse_new_deletes`].
    pub no_new_deletes: bool,
    /// Data files that must still be there: those that new position deletes point at.
    pub referenced: HashSet<Arc<str>>,
    /// Whether a plain delete may have removed them: their rows are gone all the same.
    pub forgive_deleted: bool,
}

impl SnapshotChange {
    fn new(kind: Kind, added: Vec<DataFile>) -> Self {
        Self {
            kind,
            branch: MAIN_BRANCH.to_string(),
            added,
            removed: Vec::new(),
            removed_paths: HashSet::new(),
            removed_rows: None,
            data_sequence_number: None,
            assumptions: Assumptions::default(),
            notes: Vec::new(),
            merge: true,
        }
    }

    /// Adds data files.
    pub fn append(files: Vec<DataFile>) -> Self {
        Self::new(Kind::Append, files)
    }

    /// Removes whole files: those named by [`remove`](Self::remove) and [`remove_paths`](Self::remove_paths), and those all of whose rows
    /// [`remove_rows`](Self::remove_rows) keeps.
    pub fn delete_files() -> Self {
        Self::new(Kind::DeleteFiles, Vec::new())
    }

    /// Removes whole files and adds others: what copy-on-write and a static overwrite do.
    pub fn overwrite(added: Vec<DataFile>) -> Self {
        Self::new(Kind::Overwrite, added)
    }

    /// Adds data files in the place of all that is in their partitions; in the place of everything in a table without
    /// partitions.
    pub fn replace_partitions(added: Vec<DataFile>) -> Self {
        Self::new(Kind::ReplacePartitions, added).with_note("replace-partitions", "true")
    }

    /// Adds data files and delete files, and removes delete files that others replace and data files all of whose rows go:
    /// merge-on-read. Deletes of one data file alone go with it, whether they are named or not.
    pub fn row_delta(added: Vec<DataFile>) -> Self {
        Self::new(Kind::RowDelta, added)
    }

    /// Puts files in the place of others that hold the same rows: compaction.
    pub fn rewrite_files(removed: Vec<DataFile>, added: Vec<DataFile>) -> Self {
        Self {
            removed,
            ..Self::new(Kind::RewriteFiles, added)
        }
    }

    /// Puts the entries of small manifests together in manifests of the target size, whatever the table says about merging.
    /// No file comes or goes; entries keep their numbers and ids.
    pub fn rewrite_manifests() -> Self {
        Self::new(Kind::RewriteManifests, Vec::new())
    }

    /// Changes this branch instead of `main`.
    #[must_use]
    pub fn on_branch(mut self, branch: impl Into<String>) -> Self {
        self.branch = branch.into();
        self
    }

    /// Notes something in the summary of the snapshot.
    #[must_use]
    pub fn with_note(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.notes.push((key.into(), value.into()));
        self
    }

    /// Removes these data or delete files. One that is gone when the commit is made is a conflict.
    #[must_use]
    pub fn remove(mut self, files: impl IntoIterator<Item = DataFile>) -> Self {
        self.removed.extend(files);
        self
    }

    /// Removes the data files with these paths. One that is gone when the commit is made is a conflict.
    #[must_use]
    pub fn remove_paths(mut self, paths: impl IntoIterator<Item = Arc<str>>) -> Self {
        self.removed_paths.extend(paths);
        self
    }

    /// Removes the files all of whose rows the predicate keeps. A file of which it may keep some rows only is an error.
    #[must_use]
    pub fn remove_rows(mut self, rows: Predicate) -> Self {
        self.removed_rows = Some(rows);
        self
    }

    /// Keeps old manifests as they are, however many and small: a little faster, but reading gets slower.
    #[must_use]
    pub fn without_merge(mut self) -> Self {
        self.merge = false;
        self
    }

    /// The data sequence number of the added data files, instead of that of the commit: the one that the files had which
    /// they replace, so that equality deletes that were newer still apply.
    #[must_use]
    pub fn with_data_sequence_number(mut self, number: i64) -> Self {
        self.data_sequence_number = Some(number);
        self
    }

    /// The snapshot that was read, which later commits are compared with; `None` if the table had none. Unless it is said,
    /// it is the head of the branch in the table that the transaction was made of.
    #[must_use]
    pub fn read_at(mut self, snapshot_id: Option<i64>) -> Self {
        self.assumptions.read_at = Some(snapshot_id);
        self
    }

    /// The rows that were read: every one that could have changed the outcome, not only those that were written. Without
    /// it they are those that the change removes by a filter or by partition, and where it does not do that, all rows.
    /// Partitions that are replaced count in any case.
    #[must_use]
    pub fn rows_read(mut self, rows: Predicate) -> Self {
        self.assumptions.rows = Some(rows);
        self
    }

    /// New data files that may hold rows like those that were read are a conflict (serializable isolation).
    #[must_use]
    pub fn refuse_new_data(mut self) -> Self {
        self.assumptions.no_new_data = true;
        self
    }

    /// New deletes that are in the way are a conflict, as the reference implementation has it:
    ///
    /// - of a change that removes whatever there is, by a filter or by partition: new delete files and the removal of data
    ///   files, by compaction too, under the filter or in the partitions;
    /// - of merge-on-read ([`row_delta`](Self::row_delta)): new delete files that may be for rows like those that were read;
    /// - of copy-on-write ([`overwrite`](Self::overwrite) of named files): new deletes for those files.
    ///
    /// Together with [`refuse_new_data`](Self::refuse_new_data), that is serializable, the last two refuse all new delete files and
    /// the removal of all data files that may be about such rows, unless by compaction: what is written can depend on rows
    /// that stay where they are.
    #[must_use]
    pub fn refuse_new_deletes(mut self) -> Self {
        self.assumptions.no_new_deletes = true;
        self
    }

    /// Data files that must still be there, as new deletes point at them. `forgive_deleted`: unless a commit that only
    /// deleted removed them.
    #[must_use]
    pub fn require_files(mut self, paths: impl IntoIterator<Item = Arc<str>>, forgive_deleted: bool) -> Self {
        self.assumptions.referenced.extend(paths);
        self.assumptions.forgive_deleted = forgive_deleted;
        self
    }

    /// The branch that it changes.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// What the snapshot says that it did.
    pub(super) fn operation(&self) -> Operation {
        let adds = |data: bool| {
            self.added
                .iter()
                .any(|f| (f.content == DataContent::Data) == data)
        };
        let removes =
            !self.removed.is_empty() || !self.removed_paths.is_empty() || self.removed_rows.is_some();
        match self.kind {
            Kind::Append => Operation::Append,
            Kind::DeleteFiles => Operation::Delete,
            Kind::ReplacePartitions => Operation::Overwrite,
            Kind::RewriteFiles | Kind::RewriteManifests => Operation::Replace,
            Kind::Overwrite => match (adds(true), removes) {
                (true, false) => Operation::Append,
                (false, true) => Operation::Delete,
                _ => Operation::Overwrite,
            },
            Kind::RowDelta => match (adds(true), adds(false), removes) {
                (true, false, false) => Operation::Append,
                (false, true, _) => Operation::Delete,
                (false, false, true) if self.removes_data_alone() => Operation::Delete,
                _ => Operation::Overwrite,
            },
        }
    }

    /// Whether nothing is removed but data files and their own deletes: rows go, and none comes back.
    fn removes_data_alone(&self) -> bool {
        let data = self.removed.iter().filter(|f| f.content == DataContent::Data);
        let data: HashSet<&Arc<str>> = data.map(|f| &f.file_path).chain(&self.removed_paths).collect();
        self.removed.iter().all(|f| {
            f.content == DataContent::Data || data_file_of(f).is_some_and(|path| data.contains(&path))
        })
    }

    /// Whether it removes whatever files it finds, and not only those that it names.
    pub(super) fn sweeps(&self) -> bool {
        self.removed_rows.is_some() || self.kind == Kind::ReplacePartitions
    }

    /// Whether commits since the table was read can be in its way, beyond having removed what it removes.
    pub(super) fn depends_on_history(&self) -> bool {
        let assumed = &self.assumptions;
        let replaces = matches!(self.kind, Kind::Overwrite | Kind::RowDelta | Kind::RewriteFiles)
            && !(self.removed.is_empty() && self.removed_paths.is_empty());
        let vectors = || self.added.iter().any(|f| f.file_format == FileFormat::Puffin);
        assumed.no_new_data
            || assumed.no_new_deletes
            || !assumed.referenced.is_empty()
            || replaces
            || vectors()
    }

    /// The rows that were read: those that are removed, where nothing else is said and no files are named.
    pub(super) fn rows(&self) -> Predicate {
        let named = !self.removed.is_empty() || !self.removed_paths.is_empty();
        let removed = self.removed_rows.clone().filter(|_| !named);
        let rows = self.assumptions.rows.clone().or(removed);
        rows.unwrap_or(Predicate::AlwaysTrue)
    }
}

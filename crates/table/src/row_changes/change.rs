//! What a statement did, as a change of the table.

use drumlin_format::manifest::DataFile;

use super::{Isolation, Mode, RowChangeProperties, Statement};
use crate::predicate::Predicate;
use crate::scan::FileTask;
use crate::transaction::SnapshotChange;

/// What a statement did to the files of a table.
#[derive(Debug, Default)]
pub struct RowChanges {
    /// New files: data files with new rows, and what is left of the changed files (copy-on-write); delete files
    /// (merge-on-read).
    pub added: Vec<DataFile>,
    /// Data files some of whose rows were deleted or replaced. Copy-on-write takes them out of the table.
    pub changed: Vec<FileTask>,
    /// Data files all of whose rows are deleted.
    pub emptied: Vec<FileTask>,
    /// Delete files whose deletes are in the new ones.
    pub superseded: Vec<DataFile>,
    /// Whether rows of the table decide about others: the statement reads it in a subquery or as a source, too.
    pub reads_elsewhere: bool,
}

impl RowChanges {
    /// The change of the table, if there is anything to change.
    ///
    /// `read_at` is the snapshot that was read and `rows_read` keeps every row of it that could have made a difference: what
    /// the scan of the table was planned by, not what was changed in the end.
    ///
    /// - *Copy-on-write* conflicts with deletes among the rows that were read, and with the removal of files that hold them; by
    ///   serializable isolation also with new rows.
    /// - *Merge-on-read* needs the data files of its deletes. UPDATE and MERGE conflict with deletes among the rows that were
    ///   read, so that no row is replaced twice or comes back; DELETE does not mind rows that are gone already. By serializable
    ///   isolation they conflict with new rows.
    /// - Where rows decide about others, serializable isolation conflicts with deletes among the rows that were read, whatever the
    ///   mode and the statement.
    pub fn into_change(
        self,
        properties: &RowChangeProperties,
        read_at: Option<i64>,
        rows_read: Predicate,
    ) -> Option<SnapshotChange> {
        if self.added.is_empty() && self.changed.is_empty() && self.emptied.is_empty() {
            return None;
        }
        let data_file = |task: &FileTask| task.data_file().clone();
        let emptied = self.emptied.iter().map(data_file);
        let deletes = properties.statement == Statement::Delete;
        let by_metadata = deletes && self.added.is_empty() && self.changed.is_empty();
        let change = match properties.mode {
            _ if by_metadata => SnapshotChange::delete_files().remove(emptied),
            Mode::CopyOnWrite => SnapshotChange::overwrite(self.added)
                .remove(emptied)
                .remove(self.changed.iter().map(data_file))
                .refuse_new_deletes(),
            Mode::MergeOnRead => {
                let referenced = self.changed.iter().map(|task| task.data_file().file_path.clone());
                let change = SnapshotChange::row_delta(self.added)
                    .remove(emptied)
                    .remove(self.superseded)
                    .require_files(referenced, deletes);
                match deletes {
                    true => change,
                    false => change.refuse_new_deletes(),
                }
            }
        };
        let change = change.read_at(read_at).rows_read(rows_read);
        Some(match properties.isolation {
            Isolation::Serializable if self.reads_elsewhere => change.refuse_new_data().refuse_new_deletes(),
            Isolation::Serializable => change.refuse_new_data(),
            Isolation::Snapshot => change,
        })
    }
}

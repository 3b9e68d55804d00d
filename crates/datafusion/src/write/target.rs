//! Where a write goes.

use std::fmt;
use std::sync::Arc;

use drumlin_format::metadata::TableUpdate;
use drumlin_format::snapshot::MAIN_BRANCH;
use drumlin_table::Table;
use drumlin_table::catalog::{Catalog, StagedTable, TableCreation, TableIdent};
use drumlin_table::predicate::Predicate;
use drumlin_table::transaction::{SnapshotChange, Transaction};

/// The table of a catalog that a provider may write to. Tables without one (those of `iceberg_scan`, external tables,
/// tables at a version) are only read: which metadata file is the current one is for a catalog to say.
#[derive(Debug, Clone)]
pub struct WriteTarget {
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) ident: TableIdent,
    pub(crate) branch: Option<String>,
    pub(crate) making: Making,
    /// What happens to the rows of the table; `None` leaves it to the statement.
    pub(crate) mode: Option<WriteMode>,
    /// Whether the query reads the table that it writes to.
    pub(crate) reads_itself: bool,
}

/// Whether the table is there.
#[derive(Debug, Clone)]
pub(crate) enum Making {
    /// It is.
    Existing,
    /// The commit makes it.
    Create(Arc<StagedTable>),
    /// The commit replaces its columns and rows; the table as it was read.
    Replace(Table, Arc<TableCreation>),
    /// The commit gives it more columns; the table as it was read.
    Extend(Table, Arc<Vec<TableUpdate>>),
}

/// What happens to the rows of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WriteMode {
    /// They stay.
    Append,
    /// Those that the predicate keeps go.
    OverwriteRows(Predicate),
    /// Those in the partitions that rows are written to go.
    OverwritePartitions,
}

impl WriteTarget {
    /// The table of this name in a catalog.
    pub fn existing(catalog: Arc<dyn Catalog>, ident: TableIdent) -> Self {
        Self {
            catalog,
            ident,
            branch: None,
            making: Making::Existing,
            mode: None,
            reads_itself: false,
        }
    }

    /// The same, whose commit makes or replaces the table.
    pub(crate) fn making(mut self, making: Making) -> Self {
        self.making = making;
        self
    }

    /// The same on a branch.
    pub(crate) fn on_branch(mut self, branch: Option<String>) -> Self {
        self.branch = branch;
        self
    }

    /// The same with a mode that the statement has no say in.
    pub(crate) fn with_mode(mut self, mode: Option<WriteMode>) -> Self {
        self.mode = mode;
        self
    }

    /// The snapshot that the branch had when the table was read.
    pub(super) fn head(&self, table: &Table) -> Option<i64> {
        let metadata = table.metadata();
        match self.branch.as_deref() {
            None | Some(MAIN_BRANCH) => metadata.current_snapshot_id(),
            Some(branch) => metadata.refs().get(branch).map(|head| head.snapshot_id),
        }
    }

    /// The commit of a change of the rows of the table.
    pub(super) fn changing(&self, table: &Table, change: SnapshotChange) -> Transaction {
        let transaction = match &self.making {
            Making::Extend(base, updates) => {
                Transaction::new(base, self.ident.clone()).add_updates(updates.to_vec())
            }
            _ => Transaction::new(table, self.ident.clone()),
        };
        transaction.add(self.on_its_branch(change))
    }

    fn on_its_branch(&self, change: SnapshotChange) -> SnapshotChange {
        match &self.branch {
            Some(branch) => change.on_branch(branch),
            None => change,
        }
    }

    /// The commit of files. `None`: there is nothing to commit.
    pub(crate) fn transaction(
        &self,
        table: &Table,
        mode: &WriteMode,
        files: Vec<drumlin_format::manifest::DataFile>,
    ) -> drumlin_table::Result<Option<Transaction>> {
        let transaction = match &self.making {
            Making::Existing => Transaction::new(table, self.ident.clone()),
            Making::Extend(base, updates) => {
                Transaction::new(base, self.ident.clone()).add_updates(updates.to_vec())
            }
            Making::Create(staged) => Transaction::create(staged, table.storage()),
            Making::Replace(base, creation) => {
                Transaction::replace(base, self.ident.clone(), creation.as_ref().clone())?
            }
        };
        let change = match mode {
            // No rows: a new table is made all the same, for others there is nothing to say.
            WriteMode::Append | WriteMode::OverwritePartitions if files.is_empty() => {
                return Ok(match &self.making {
                    Making::Existing | Making::Extend(..) => None,
                    _ => Some(transaction),
                });
            }
            WriteMode::Append => SnapshotChange::append(files),
            WriteMode::OverwritePartitions => SnapshotChange::replace_partitions(files),
            WriteMode::OverwriteRows(rows) => SnapshotChange::overwrite(files).remove_rows(rows.clone()),
        };
        let change = self.on_its_branch(change);
        // Rows that came since the query has read would be gone without having been read, or missing in what it wrote,
        // whichever they are. A query that does not read the table comes after them, as it were.
        let change = match self.reads_itself && *mode != WriteMode::Append {
            true => change
                .read_at(self.head(table))
                .rows_read(Predicate::AlwaysTrue)
                .refuse_new_data()
                .refuse_new_deletes(),
            false => change,
        };
        Ok(Some(transaction.add(change)))
    }
}

impl fmt::Display for WriteMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append => f.write_str("append"),
            Self::OverwriteRows(Predicate::AlwaysTrue) => f.write_str("overwrite all rows"),
            Self::OverwriteRows(rows) => write!(f, "overwrite static [{rows}]"),
            Self::OverwritePartitions => f.write_str("overwrite dynamic"),
        }
    }
}

//! What writers have found and written becomes a change of the table.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, exec_err, internal_err};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryConsumer;
use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::DataFile;
use drumlin_table::Table;
use drumlin_table::memory::MemoryAccount;
use drumlin_table::predicate::Predicate;
use drumlin_table::row_changes::{Isolation, Mode, RowChangeProperties, RowChanges, with_older_deletes};
use drumlin_table::scan::FileTask;
use drumlin_table::transaction::SnapshotChange;
use drumlin_table::write::{DeleteWriteOptions, WriteProgress, write_deletes};

use super::columns::{ChangeColumns, Twice};
use super::rewrite::Rewrite;
use super::scan::ScannedTarget;
use crate::error::external;
use crate::projection::adapter::TableColumns;
use crate::scan::deleted_rows::PoolAccount;
use crate::write::commit::Written;
use crate::write::files::WrittenFiles;

/// How the rows that a statement has found are taken out of their files.
#[derive(Debug)]
pub(crate) struct ChangeCommit {
    pub(super) properties: RowChangeProperties,
    pub(super) columns: ChangeColumns,
    /// `None`: no row can be changed.
    pub(super) scanned: Option<Arc<ScannedTarget>>,
    pub(super) reads_elsewhere: bool,
    /// Defaults and name mapping, for reading.
    pub(super) table_columns: Arc<TableColumns>,
    /// Columns that say which row it is.
    pub(super) key: Vec<String>,
}

/// What a statement has done.
pub(crate) struct Changed {
    pub(crate) change: Option<SnapshotChange>,
    /// The files that it has written.
    pub(crate) paths: Vec<Arc<str>>,
    /// Rows that were deleted, replaced or inserted.
    pub(crate) rows: u64,
}

impl ChangeCommit {
    /// Whether a row that is changed twice is an error.
    pub(crate) fn unique(&self) -> bool {
        self.columns.unique
    }

    /// Takes the rows out of their files that writers have noted the places of. The table was read at the snapshot `read_at`.
    pub(crate) async fn apply(
        &self,
        written: Written,
        table: &Table,
        read_at: Option<i64>,
        files: &Arc<WrittenFiles>,
        context: &Arc<TaskContext>,
    ) -> Result<Changed> {
        let mut changes = RowChanges {
            added: written.data_files,
            reads_elsewhere: self.reads_elsewhere,
            ..RowChanges::default()
        };
        let mut rows = written.inserted;
        let mut deletes = Vec::with_capacity(written.places.len());
        // In the order of the scan, so that what is written does not depend on chance.
        for (place, positions) in written.places.into_iter().collect::<BTreeMap<_, _>>() {
            let task = self.task(place)?;
            rows = rows.saturating_add(positions.len());
            let all = task.live_rows() == Some(positions.len());
            match all && self.properties.mode == Mode::CopyOnWrite {
                true => changes.emptied.push(task.clone()),
                false => {
                    changes.changed.push(task.clone());
                    deletes.push((task.clone(), positions));
                }
            }
        }
        if let Some(scanned) = &self.scanned {
            for (task, emptied) in &scanned.emptied {
                rows = rows.saturating_add(*emptied);
                changes.emptied.push(task.clone());
            }
        }
        if !deletes.is_empty() {
            let (more, superseded) = match self.properties.mode {
                Mode::CopyOnWrite => (self.rewritten(table, deletes, files, context).await?, Vec::new()),
                Mode::MergeOnRead => self.deleted(table, deletes, files, context).await?,
            };
            changes.added.extend(more);
            changes.superseded = superseded;
        }
        let paths = changes.added.iter().map(|file| Arc::clone(&file.file_path));
        let mut paths: Vec<Arc<str>> = paths.collect();
        // Deletion vectors share files.
        paths.dedup();
        let rows_read = match &self.scanned {
            _ if self.depends_on_all() => Predicate::AlwaysTrue,
            Some(scanned) => scanned.predicate.clone(),
            None => Predicate::AlwaysFalse,
        };
        Ok(Changed {
            change: changes.into_change(&self.properties, read_at, rows_read),
            paths,
            rows,
        })
    }

    /// Whether any row of the table may have made a difference.
    fn depends_on_all(&self) -> bool {
        self.reads_elsewhere && self.properties.isolation == Isolation::Serializable
    }

    fn task(&self, place: i32) -> Result<&FileTask> {
        let place = usize::try_from(place).ok();
        let task = self.scanned.as_ref().zip(place);
        match task.and_then(|(scanned, place)| scanned.tasks.get(place)) {
            Some(task) => Ok(task),
            None => internal_err!("rows of a file that was not scanned are changed"),
        }
    }

    /// Merge-on-read: delete files, and those that they replace.
    async fn deleted(
        &self,
        table: &Table,
        deletes: Vec<(FileTask, DeletionVector)>,
        files: &Arc<WrittenFiles>,
        context: &Arc<TaskContext>,
    ) -> Result<(Vec<DataFile>, Vec<DataFile>)> {
        let options = DeleteWriteOptions::of(table.metadata()).map_err(external)?;
        let (deletes, superseded) = with_older_deletes(table, &options, deletes, &account(context))
            .await
            .map_err(external)?;
        let progress = context
            .session_config()
            .get_extension::<WriteProgress>()
            .unwrap_or_default();
        let written = write_deletes(table, &options, deletes, &progress)
            .await
            .map_err(external)?;
        if !files.report(&written) {
            return internal_err!("the statement was given up");
        }
        Ok((written, superseded))
    }

    /// Copy-on-write: data files with the other rows.
    async fn rewritten(
        &self,
        table: &Table,
        deletes: Vec<(FileTask, DeletionVector)>,
        files: &Arc<WrittenFiles>,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<DataFile>> {
        let rewrite = Rewrite::new(table, &self.table_columns, files, context)?;
        rewrite.files(deletes).await
    }

    /// The error of a row of the table that several other rows change.
    pub(crate) async fn twice(
        &self,
        twice: Twice,
        table: &Table,
        context: &Arc<TaskContext>,
    ) -> DataFusionError {
        let statement = self.properties.statement.to_string().to_uppercase();
        let row = match self.task(twice.file) {
            Ok(task) => {
                let row = self.row(task, twice.position, table, context).await;
                let place = format!("row {} of `{}`", twice.position, task.data_file().file_path);
                row.map_or(place.clone(), |row| format!("the one with {row} ({place})"))
            }
            Err(error) => return error,
        };
        let error: Result<()> = exec_err!(
            "{statement} {}: a row of the table, {row}, is matched by several rows of the source, so that it is not said what \
             becomes of it: make the source unique, or add conditions",
            table.name()
        );
        error.err().unwrap_or_else(|| DataFusionError::Execution(row))
    }

    /// The values of the columns that say which row it is.
    async fn row(
        &self,
        task: &FileTask,
        position: u64,
        table: &Table,
        context: &Arc<TaskContext>,
    ) -> Option<String> {
        super::rewrite::row_at(&self.key, task, position, table, &self.table_columns, context).await
    }
}

/// Where what a commit loads is accounted.
fn account(context: &Arc<TaskContext>) -> Arc<dyn MemoryAccount> {
    let consumer = MemoryConsumer::new("IcebergCommitExec");
    Arc::new(PoolAccount::new(consumer.register(context.memory_pool())))
}

impl fmt::Display for ChangeCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let properties = &self.properties;
        write!(
            f,
            "{} {}, isolation={}",
            properties.statement, properties.mode, properties.isolation
        )?;
        match &self.scanned {
            None => write!(f, ", no rows to change"),
            Some(scanned) => {
                if !scanned.emptied.is_empty() {
                    write!(f, ", data files removed by metadata={}", scanned.emptied.len())?;
                }
                match self.depends_on_all() {
                    true => write!(
                        f,
                        ", conflicts=[all rows: the table is read in a subquery or join as well]"
                    ),
                    false => write!(f, ", conflicts=[{}]", scanned.predicate),
                }
            }
        }
    }
}

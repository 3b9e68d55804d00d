//! The one commit of a statement.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef, UInt64Type};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, exec_err, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};
use drumlin_format::manifest::DataFile;
use drumlin_table::Table;
use drumlin_table::predicate::Predicate;
use drumlin_table::transaction::{SnapshotChange, Transaction};
use futures::TryStreamExt;

use super::files::{UnlessCommitted, WrittenFiles};
use super::row_changes::columns::{Places, Twice, add_encoded};
use super::row_changes::commit::ChangeCommit;
use super::target::{Making, WriteMode, WriteTarget};
use super::writers::decoded;
use crate::error::external;

static COUNT: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(ArrowSchema::new(vec![Field::new(
        "count",
        DataType::UInt64,
        false,
    )]))
});

/// Commits the files of all writers in one transaction, and gives the number of rows.
///
/// It has exactly one input partition, and commits after that has ended without an error: a writer that fails means that
/// there is no commit. Run a second time it is an error.
///
/// A statement that fails or is dropped before the commit begins leaves no files. From then on it cannot be cancelled: the commit
/// runs in a task of its own, so that it is never torn apart in the middle, and happens or not whether or not somebody waits for
/// it. Where it certainly did not happen its data files are removed; where that is not known, nothing is.
#[derive(Debug)]
pub struct IcebergCommitExec {
    input: Arc<dyn ExecutionPlan>,
    /// The table that files were written for.
    table: Table,
    target: WriteTarget,
    work: Work,
    files: Arc<WrittenFiles>,
    started: Arc<AtomicBool>,
    properties: Arc<PlanProperties>,
}

/// What is committed.
#[derive(Debug, Clone)]
pub(super) enum Work {
    /// Rows that are inserted.
    Insert(WriteMode),
    /// Rows that are changed.
    Changes(Arc<ChangeCommit>),
    /// The removal of all rows, of which there are so many; `None`: there are no data files.
    Truncate(Option<u64>),
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Insert(mode) => mode.fmt(f),
            Self::Changes(changes) => changes.fmt(f),
            Self::Truncate(rows) => write!(f, "truncate, rows={}", rows.unwrap_or(0)),
        }
    }
}

/// What all writers have done.
pub(super) struct Written {
    pub(super) data_files: Vec<DataFile>,
    /// Rows in the place of none.
    pub(super) inserted: u64,
    /// Rows that are changed.
    pub(super) places: Places,
}

impl IcebergCommitExec {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        table: Table,
        target: WriteTarget,
        work: Work,
        files: Arc<WrittenFiles>,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&COUNT)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            input,
            table,
            target,
            work,
            files,
            started: Arc::default(),
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for IcebergCommitExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IcebergCommitExec: table={}", self.table.name())?;
        match &self.target.making {
            Making::Existing => {}
            Making::Extend(..) => write!(f, ", new columns")?,
            Making::Create(_) => write!(f, ", create")?,
            Making::Replace(..) => write!(f, ", replace")?,
        }
        let branch = self.target.branch.as_deref().unwrap_or("main");
        write!(f, ", branch={branch}, mode={}", self.work)
    }
}

impl ExecutionPlan for IcebergCommitExec {
    fn name(&self) -> &'static str {
        "IcebergCommitExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = children.as_slice() else {
            return internal_err!("{} has one input, not {}", self.name(), children.len());
        };
        Ok(Arc::new(Self {
            input: Arc::clone(input),
            table: self.table.clone(),
            target: self.target.clone(),
            work: self.work.clone(),
            files: Arc::clone(&self.files),
            started: Arc::clone(&self.started),
            properties: Arc::clone(&self.properties),
        }))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let partitions = self.input.output_partitioning().partition_count();
        if partition != 0 || partitions != 1 {
            return internal_err!(
                "{} commits what one input partition holds, not partition {partition} of {partitions}",
                self.name()
            );
        }
        if self.started.swap(true, Ordering::SeqCst) {
            return exec_err!(
                "the write to `{}` was run before: plan the statement again",
                self.table.name()
            );
        }
        let guard = UnlessCommitted::new(Arc::clone(&self.files));
        let input = self.input.execute(0, Arc::clone(&context))?;
        let (table, target, work) = (self.table.clone(), self.target.clone(), self.work.clone());
        let files = Arc::clone(&self.files);
        let one = async move {
            let done = match collected(input, &table, &work).await {
                Ok(written) => work.done(written, &table, &target, &files, &context).await,
                Err(error) => Err(error),
            };
            let done = match (done, &work) {
                (Ok(done), _) => done,
                (Err(error), work) => {
                    guard.remove().await;
                    return Err(match (Twice::of(&error), work) {
                        (Some(twice), Work::Changes(changes)) => changes.twice(twice, &table, &context).await,
                        _ => error,
                    });
                }
            };
            guard.commit_begins();
            let rows = done.rows;
            let commit = tokio::spawn(commit(done, target, files));
            commit
                .await
                .map_err(|error| DataFusionError::Execution(format!("the commit stopped: {error}")))??;
            let count: ArrayRef = Arc::new(UInt64Array::from(vec![rows]));
            Ok(RecordBatch::try_new(Arc::clone(&COUNT), vec![count])?)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&COUNT),
            futures::stream::once(one),
        )))
    }
}

/// What all writers have done.
async fn collected(mut input: SendableRecordBatchStream, table: &Table, work: &Work) -> Result<Written> {
    let mut written = Written {
        data_files: Vec::new(),
        inserted: 0,
        places: Places::default(),
    };
    let unique = matches!(work, Work::Changes(changes) if changes.unique());
    while let Some(batch) = input.try_next().await? {
        let [manifests, counts, files, positions] = batch.columns() else {
            return internal_err!("expected what writers have done, found {}", batch.schema());
        };
        let (Some(manifests), Some(counts)) = (
            manifests.as_binary_opt::<i32>(),
            counts.as_primitive_opt::<UInt64Type>(),
        ) else {
            return internal_err!("expected files of writers, found {}", batch.schema());
        };
        for manifest in manifests.iter().flatten() {
            written.data_files.extend(decoded(manifest, table)?);
        }
        let counts = counts.iter().flatten();
        written.inserted = counts.fold(written.inserted, u64::saturating_add);
        add_encoded(&mut written.places, files, positions, unique)?;
    }
    Ok(written)
}

/// What is left to commit.
struct Done {
    transaction: Option<Transaction>,
    /// The files of the statement.
    paths: Vec<Arc<str>>,
    rows: u64,
}

impl Work {
    /// What writers have done becomes a change of the table, which may take further files.
    async fn done(
        &self,
        written: Written,
        table: &Table,
        target: &WriteTarget,
        files: &Arc<WrittenFiles>,
        context: &Arc<TaskContext>,
    ) -> Result<Done> {
        match self {
            Self::Insert(mode) => Ok(Done {
                paths: paths(&written.data_files),
                rows: written.inserted,
                transaction: target
                    .transaction(table, mode, written.data_files)
                    .map_err(external)?,
            }),
            Self::Changes(changes) => {
                let read_at = target.head(table);
                let changed = changes.apply(written, table, read_at, files, context).await?;
                Ok(Done {
                    transaction: changed.change.map(|change| target.changing(table, change)),
                    paths: changed.paths,
                    rows: changed.rows,
                })
            }
            Self::Truncate(rows) => {
                let all = SnapshotChange::delete_files().remove_rows(Predicate::AlwaysTrue);
                Ok(Done {
                    transaction: rows.map(|_| target.changing(table, all)),
                    paths: Vec::new(),
                    rows: rows.unwrap_or(0),
                })
            }
        }
    }
}

fn paths(files: &[DataFile]) -> Vec<Arc<str>> {
    files.iter().map(|file| Arc::clone(&file.file_path)).collect()
}

async fn commit(done: Done, target: WriteTarget, written: Arc<WrittenFiles>) -> Result<()> {
    let Some(transaction) = done.transaction else {
        return Ok(());
    };
    match transaction.commit(target.catalog.as_ref()).await {
        Ok(_) => Ok(()),
        Err(error) => {
            if error.nothing_was_committed() {
                written.remove(done.paths).await;
            }
            Err(external(error))
        }
    }
}

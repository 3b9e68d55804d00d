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
use futures::TryStreamExt;

use super::files::{UnlessCommitted, WrittenFiles};
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
    mode: WriteMode,
    files: Arc<WrittenFiles>,
    started: Arc<AtomicBool>,
    properties: Arc<PlanProperties>,
}

impl IcebergCommitExec {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        table: Table,
        target: WriteTarget,
        mode: WriteMode,
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
            mode,
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
            Making::Create(_) => write!(f, ", create")?,
            Making::Replace(..) => write!(f, ", replace")?,
        }
        let branch = self.target.branch.as_deref().unwrap_or("main");
        write!(f, ", branch={branch}, mode={}", self.mode)
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
            mode: self.mode.clone(),
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
        let input = self.input.execute(0, context)?;
        let (table, target, mode) = (self.table.clone(), self.target.clone(), self.mode.clone());
        let files = Arc::clone(&self.files);
        let one = async move {
            let (data_files, rows) = match collected(input, &table).await {
                Ok(all) => all,
                Err(error) => {
                    guard.remove().await;
                    return Err(error);
                }
            };
            guard.commit_begins();
            let commit = tokio::spawn(commit(table, target, mode, data_files, files));
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

/// The files and the number of rows of all writers.
async fn collected(mut input: SendableRecordBatchStream, table: &Table) -> Result<(Vec<DataFile>, u64)> {
    let (mut files, mut rows) = (Vec::new(), 0u64);
    while let Some(batch) = input.try_next().await? {
        let (Some(manifests), Some(counts)) = (
            batch.column(0).as_binary_opt::<i32>(),
            batch.column(1).as_primitive_opt::<UInt64Type>(),
        ) else {
            return internal_err!("expected files of writers, found {}", batch.schema());
        };
        for manifest in manifests.iter().flatten() {
            files.extend(decoded(manifest, table)?);
        }
        rows = counts.iter().flatten().fold(rows, u64::saturating_add);
    }
    Ok((files, rows))
}

async fn commit(
    table: Table,
    target: WriteTarget,
    mode: WriteMode,
    data_files: Vec<DataFile>,
    written: Arc<WrittenFiles>,
) -> Result<()> {
    let paths: Vec<Arc<str>> = data_files
        .iter()
        .map(|file| Arc::clone(&file.file_path))
        .collect();
    let result = match target.transaction(&table, &mode, data_files) {
        Ok(Some(transaction)) => transaction.commit(target.catalog.as_ref()).await.map(|_| ()),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => Ok(()),
        Err(error) => {
            if error.nothing_was_committed() {
                written.remove(paths).await;
            }
            Err(external(error))
        }
    }
}

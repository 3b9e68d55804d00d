//! Copy-on-write: data files are written anew without the rows that are changed.
//!
//! Each file is read by a scan of its own, with the deleted rows left out as any scan does it, and becomes one file (several
//! where the partition spec has changed since). Rows keep their order, their ids and, as they are not changed, the sequence
//! number of their last change.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{FieldRef, Int64Type, SchemaRef};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::prelude::SessionConfig;
use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::DataFile;
use drumlin_table::Table;
use drumlin_table::arrow::schema_to_arrow;
use drumlin_table::scan::{FileTask, ScanPlan};
use drumlin_table::write::{Arrangement, TableFileWriter, WriteOptions, WriteProgress};
use futures::TryStreamExt;
use tokio::task::JoinSet;

use crate::error::external;
use crate::metadata_columns::{LAST_UPDATED_SEQUENCE_NUMBER_ID, POS, ROW_ID_ID, metadata_columns};
use crate::projection::adapter::TableColumns;
use crate::scan::builder::ScanBuilder;
use crate::scan::deleted_rows::PoolAccount;
use crate::write::files::WrittenFiles;
use crate::write::writers::write_all;
use drumlin_table::arrow::field_id;

/// Writes data files anew.
#[derive(Clone)]
pub(super) struct Rewrite {
    table: Table,
    columns: Arc<TableColumns>,
    options: WriteOptions,
    /// The columns of the table, and the lineage of rows.
    projection: Vec<FieldRef>,
    files: Arc<WrittenFiles>,
    progress: Arc<WriteProgress>,
    context: Arc<TaskContext>,
}

impl Rewrite {
    pub(super) fn new(
        table: &Table,
        columns: &Arc<TableColumns>,
        files: &Arc<WrittenFiles>,
        context: &Arc<TaskContext>,
    ) -> Result<Self> {
        let mut options = WriteOptions::of(table.metadata()).map_err(external)?;
        let fields = schema_to_arrow(table.metadata().current_schema()).fields;
        let mut projection: Vec<FieldRef> = fields.iter().cloned().collect();
        if table.metadata().format_version() >= 3 {
            options = options.with_row_lineage();
            let lineage = metadata_columns(table).into_iter();
            let lineage = lineage.filter(|column| {
                matches!(
                    field_id(column),
                    Some(ROW_ID_ID | LAST_UPDATED_SEQUENCE_NUMBER_ID)
                )
            });
            projection.extend(lineage.map(|column| {
                // Under names that no column of the table has.
                let name = format!("drumlin${}", column.name());
                Arc::new(column.as_ref().clone().with_name(name))
            }));
        }
        Ok(Self {
            table: table.clone(),
            columns: Arc::clone(columns),
            options,
            projection,
            files: Arc::clone(files),
            progress: context
                .session_config()
                .get_extension::<WriteProgress>()
                .unwrap_or_default(),
            context: Arc::clone(context),
        })
    }

    /// What is left of data files, as many at a time as the session has partitions.
    pub(super) async fn files(&self, deletes: Vec<(FileTask, DeletionVector)>) -> Result<Vec<DataFile>> {
        let concurrent = self.context.session_config().target_partitions().max(1);
        let mut waiting = deletes.into_iter().enumerate();
        let mut running = JoinSet::new();
        let mut written = Vec::new();
        loop {
            while running.len() < concurrent
                && let Some((place, (task, positions))) = waiting.next()
            {
                let rewrite = self.clone();
                running.spawn(
                    async move { (place, rewrite.file(task.with_deleted(Arc::new(positions))).await) },
                );
            }
            let Some(done) = running.join_next().await else {
                break;
            };
            let (place, files) = done.map_err(|e| external(drumlin_table::Error::Stopped(e.to_string())))?;
            written.push((place, files?));
        }
        written.sort_unstable_by_key(|(place, _)| *place);
        Ok(written.into_iter().flat_map(|(_, files)| files).collect())
    }

    async fn file(&self, task: FileTask) -> Result<Vec<DataFile>> {
        let order = task.data_file().sort_order_id;
        let known = |order: &i32| self.table.metadata().sort_order_by_id(*order).is_some();
        let options = match order.filter(known) {
            // What is left of sorted rows is sorted.
            Some(order) => self.options.clone().sorted_by(order),
            None => self.options.clone(),
        };
        let rows = scan(&self.table, &self.columns, &self.projection, task, &self.context)?;
        let consumer = MemoryConsumer::new("copy-on-write");
        let memory = PoolAccount::new(consumer.register(self.context.memory_pool()));
        let writer = TableFileWriter::new(
            &self.table,
            options,
            Arrangement::FanOut,
            Arc::new(memory),
            Arc::clone(&self.progress),
        )
        .map_err(external)?;
        let columns = self.written_columns();
        let (files, _) = write_all(writer, rows, &columns, &self.table, Arc::clone(&self.files)).await?;
        Ok(files)
    }

    fn written_columns(&self) -> SchemaRef {
        crate::write::writers::written_columns(&self.table, self.table.metadata().format_version() >= 3)
    }
}

/// The rows of one file, in order.
fn scan(
    table: &Table,
    columns: &Arc<TableColumns>,
    projection: &[FieldRef],
    task: FileTask,
    context: &Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let config: SessionConfig = context.session_config().clone().with_target_partitions(1);
    let builder = ScanBuilder {
        config: &config,
        runtime: &context.runtime_env(),
        table,
        columns,
        projection: projection.to_vec(),
        limit: None,
        target: None,
    };
    let plan = ScanPlan {
        tasks: vec![task],
        ..ScanPlan::default()
    };
    builder
        .scan(&plan, projection, None)?
        .execute(0, Arc::clone(context))
}

/// The values of some columns in a row of a file, as text; `None` if they cannot be read, since it is for an error that is
/// told in any case.
pub(super) async fn row_at(
    key: &[String],
    task: &FileTask,
    position: u64,
    table: &Table,
    columns: &Arc<TableColumns>,
    context: &Arc<TaskContext>,
) -> Option<String> {
    let fields = schema_to_arrow(table.schema()).fields;
    let mut projection: Vec<FieldRef> = fields
        .iter()
        .filter(|f| key.contains(f.name()))
        .cloned()
        .collect();
    if projection.is_empty() {
        return None;
    }
    projection.extend(metadata_columns(table).into_iter().filter(|f| f.name() == POS));
    let mut rows = scan(table, columns, &projection, task.clone(), context).ok()?;
    let position = i64::try_from(position).ok()?;
    while let Some(batch) = rows.try_next().await.ok()? {
        let (positions, values) = batch.columns().split_last()?;
        let positions = positions.as_primitive_opt::<Int64Type>()?;
        if let Some(row) = positions.values().iter().position(|at| *at == position) {
            let value = |(field, values): (&FieldRef, &Arc<dyn Array>)| {
                let text = match values.is_null(row) {
                    true => "NULL".to_string(),
                    false => array_value_to_string(values, row).ok()?,
                };
                Some(format!("{} = {text}", field.name()))
            };
            let texts: Option<Vec<String>> = projection.iter().zip(values).map(value).collect();
            return Some(texts?.join(", "));
        }
    }
    None
}

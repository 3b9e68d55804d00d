//! Writing the rows of each partition of a plan.

use std::fmt;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, RecordBatch, RecordBatchOptions, UInt64Array, new_null_array,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema as ArrowSchema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, LexRequirement, OrderingRequirements, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use drumlin_format::avro::Codec;
use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::{
    DataFile, ManifestContent, ManifestProjection, ManifestWriter, ManifestWriterOptions, read_manifest,
};
use drumlin_format::manifest_list::ManifestFile;
use drumlin_table::Table;
use drumlin_table::arrow::schema_to_arrow;
use drumlin_table::memory::MemoryAccount;
use drumlin_table::write::{Arrangement, TableFileWriter, WriteOptions, WriteProgress};
use futures::{Stream, StreamExt, TryStreamExt};

use super::assignment::in_type;
use super::files::WrittenFiles;
use super::layout::Layout;
use super::row_changes::columns::{self, ChangeColumns, Places};
use crate::error::external;
use crate::metadata_columns::{LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID};
use crate::scan::deleted_rows::PoolAccount;

/// What a writer has done:
///
/// | column | |
/// |---|---|
/// | `manifest` | its data files, as the bytes of a manifest |
/// | `rows` | how many rows it has inserted |
/// | `file`, `positions` | a data file whose rows are changed, by its place in the scan, and which rows, as the blob of a deletion vector |
pub(super) static WRITTEN: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(ArrowSchema::new(vec![
        Field::new("manifest", DataType::Binary, true),
        Field::new("rows", DataType::UInt64, true),
        Field::new("file", DataType::Int32, true),
        Field::new("positions", DataType::Binary, true),
    ]))
});

/// Writes the rows of its input to data files, one writer a partition. Each partition gives one row, which holds its
/// files, and one for each data file in which it was told to change rows; they are part of no table before [`IcebergCommitExec`](super::IcebergCommitExec) commits them. If a writer fails or is
/// dropped it removes its files.
#[derive(Debug)]
pub struct IcebergWriteExec {
    input: Arc<dyn ExecutionPlan>,
    table: Table,
    options: WriteOptions,
    layout: Layout,
    files: Arc<WrittenFiles>,
    progress: Arc<WriteProgress>,
    /// What is in its input beside the rows to write.
    changes: Option<ChangeColumns>,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl IcebergWriteExec {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        table: Table,
        options: WriteOptions,
        layout: Layout,
        files: Arc<WrittenFiles>,
    ) -> Self {
        Self {
            properties: properties(&input),
            input,
            table,
            options,
            layout,
            files,
            progress: Arc::default(),
            changes: None,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The same, which counts what it writes there.
    pub(super) fn with_progress(self, progress: Arc<WriteProgress>) -> Self {
        Self { progress, ..self }
    }

    /// The same over rows that are changed.
    pub(super) fn with_changes(self, columns: ChangeColumns) -> Self {
        Self {
            changes: Some(columns),
            ..self
        }
    }

    /// What its writers have written so far, to show to whoever waits: the [`WriteProgress`] among the extensions of the
    /// session, if there is one, which counts what all of its statements write.
    pub fn progress(&self) -> &Arc<WriteProgress> {
        &self.progress
    }
}

fn properties(input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
    let partitions = input.output_partitioning().partition_count();
    Arc::new(PlanProperties::new(
        EquivalenceProperties::new(Arc::clone(&WRITTEN)),
        datafusion::physical_plan::Partitioning::UnknownPartitioning(partitions),
        EmissionType::Final,
        Boundedness::Bounded,
    ))
}

impl DisplayAs for IcebergWriteExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "IcebergWriteExec: table={}, distribution={}",
            self.table.name(),
            self.layout.name
        )?;
        if !self.layout.hashed.is_empty() {
            let terms: Vec<String> = self.layout.hashed.iter().map(ToString::to_string).collect();
            write!(f, ", partitioned by=[{}]", terms.join(", "))?;
        }
        Ok(())
    }
}

impl ExecutionPlan for IcebergWriteExec {
    fn name(&self) -> &'static str {
        "IcebergWriteExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![match self.layout.hashed.is_empty() {
            true => Distribution::UnspecifiedDistribution,
            false => Distribution::KeyPartitioned(self.layout.hashed.clone()),
        }]
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.layout.sorted.clone().map(LexRequirement::into)]
    }

    /// Encoding is work that several writers share. Rows that come in an order of their own, and get no other here, keep it:
    /// one writer has them all.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        let reordered = !self.layout.hashed.is_empty() || self.layout.sorted.is_some();
        vec![reordered || self.input.output_ordering().is_none()]
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
            options: self.options.clone(),
            layout: self.layout.clone(),
            files: Arc::clone(&self.files),
            progress: Arc::clone(&self.progress),
            changes: self.changes,
            metrics: ExecutionPlanMetricsSet::new(),
            properties: properties(input),
        }))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expr in &self.layout.hashed {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let account = |what: &str| -> Arc<dyn MemoryAccount> {
            let consumer = MemoryConsumer::new(format!("IcebergWriteExec[{partition}]{what}"));
            Arc::new(PoolAccount::new(consumer.register(context.memory_pool())))
        };
        let mut options = self.options.clone().with_partition_id(partition);
        let mut arrangement = Arrangement::FanOut;
        if self.layout.sorted.is_some() {
            // Sorted by partition first.
            arrangement = Arrangement::Clustered;
            options = options.sorted_by(self.layout.sort_order_id);
        }
        let progress = Arc::clone(&self.progress);
        let writer = TableFileWriter::new(&self.table, options, arrangement, account(""), progress);
        let mut places = Places::default();
        let lineage = self.changes.is_some_and(|columns| columns.row_id);
        let schema = written_columns(&self.table, lineage);
        let (writer, changes) = (writer.map_err(external)?, self.changes);
        let rows = MetricBuilder::new(&self.metrics).output_rows(partition);
        let files = MetricBuilder::new(&self.metrics).counter("files_written", partition);
        let bytes = MetricBuilder::new(&self.metrics).counter("bytes_written", partition);
        let changed = MetricBuilder::new(&self.metrics).counter("rows_changed", partition);
        let (table, written) = (self.table.clone(), Arc::clone(&self.files));
        let noted = account(" places");
        let one = async move {
            let (data_files, count, inserted) = match changes {
                None => {
                    let (files, count) = write_all(writer, input, &schema, &table, written).await?;
                    (files, count, count)
                }
                Some(columns) => {
                    let mut inserted = 0;
                    let new_rows = new_rows(input, columns, &mut places, &mut inserted, noted.as_ref());
                    let (files, count) =
                        write_all(writer, Box::pin(new_rows), &schema, &table, written).await?;
                    (files, count, inserted)
                }
            };
            rows.add(usize::try_from(count).unwrap_or(usize::MAX));
            files.add(data_files.len());
            let size: i64 = data_files.iter().map(|file| file.file_size_in_bytes).sum();
            bytes.add(usize::try_from(size).unwrap_or_default());
            let positions: u64 = places.values().map(DeletionVector::len).sum();
            changed.add(usize::try_from(positions).unwrap_or(usize::MAX));
            done(&encoded(&data_files, &table)?, inserted, &places)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&WRITTEN),
            futures::stream::once(one),
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// What a writer has done, as [`WRITTEN`].
fn done(manifest: &[u8], inserted: u64, places: &Places) -> Result<RecordBatch> {
    let none = |of: &DataType, rows| new_null_array(of, rows);
    let files: Vec<ArrayRef> = vec![
        Arc::new(BinaryArray::from(vec![manifest])),
        Arc::new(UInt64Array::from(vec![inserted])),
        none(&DataType::Int32, 1),
        none(&DataType::Binary, 1),
    ];
    let (files_of_places, positions) = columns::encoded(places)?;
    let of_places: Vec<ArrayRef> = vec![
        none(&DataType::Binary, files_of_places.len()),
        none(&DataType::UInt64, files_of_places.len()),
        files_of_places,
        positions,
    ];
    let batches = [files, of_places].map(|columns| RecordBatch::try_new(Arc::clone(&WRITTEN), columns));
    let [files, places] = batches;
    Ok(concat_batches(&WRITTEN, &[files?, places?])?)
}

/// The columns that are written, in the very types of the table; with those of the lineage of rows, if a writer has them.
pub(super) fn written_columns(table: &Table, lineage: bool) -> SchemaRef {
    let fields = schema_to_arrow(table.metadata().current_schema()).fields;
    let mut fields: Vec<FieldRef> = fields.iter().cloned().collect();
    if lineage {
        for name in [ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER] {
            fields.push(Arc::new(Field::new(name, DataType::Int64, true)));
        }
    }
    Arc::new(ArrowSchema::new(fields))
}

/// The rows to write among those that are changed. Where the others are is noted.
fn new_rows<'a>(
    input: SendableRecordBatchStream,
    columns: ChangeColumns,
    places: &'a mut Places,
    inserted: &'a mut u64,
    memory: &'a dyn MemoryAccount,
) -> impl Stream<Item = Result<RecordBatch>> + Send + 'a {
    input
        .map(move |batch| {
            let taken = columns.take(&batch?, places, memory)?;
            *inserted = inserted.saturating_add(taken.inserted);
            Ok(taken.new_rows)
        })
        .try_filter_map(|rows| std::future::ready(Ok(rows)))
}

/// Writes all rows. The files, which have been reported, and the number of rows.
pub(super) async fn write_all(
    mut writer: TableFileWriter,
    mut input: impl Stream<Item = Result<RecordBatch>> + Send + Unpin,
    schema: &SchemaRef,
    table: &Table,
    written: Arc<WrittenFiles>,
) -> Result<(Vec<DataFile>, u64)> {
    let mut count = 0u64;
    loop {
        let result = match input.try_next().await {
            Ok(Some(batch)) => {
                count = count.saturating_add(u64::try_from(batch.num_rows()).unwrap_or(u64::MAX));
                match in_types(&batch, schema, table) {
                    Ok(batch) => writer.write(&batch).await.map_err(external),
                    Err(error) => Err(error),
                }
            }
            Ok(None) => break,
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            // In a task of its own: once one writer has told its error the others are cancelled, and must clean up all the
            // same. An error of it is nothing that could be told besides.
            let _ = tokio::spawn(writer.abort()).await;
            return Err(error);
        }
    }
    let files = writer.finish().await.map_err(external)?;
    if !written.report(&files) {
        let paths = files.iter().map(|file| Arc::clone(&file.file_path)).collect();
        // In a task of its own: this one may be cancelled by whoever has seen the failure.
        tokio::spawn(async move { written.remove(paths).await });
        return internal_err!("another writer of the statement has failed");
    }
    Ok((files, count))
}

/// The batch with columns in the very types of the table.
fn in_types(batch: &RecordBatch, schema: &SchemaRef, table: &Table) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns
        .map(|(column, field)| in_type(column, field, table.name()))
        .collect::<Result<Vec<_>>>()?;
    // Nulls in required columns are found by the writer, which says where.
    let fields = schema.fields().iter();
    let fields: Vec<Field> = fields.map(|f| f.as_ref().clone().with_nullable(true)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        Arc::new(ArrowSchema::new(fields)),
        columns,
        &options,
    )?)
}

/// Files as the bytes of a manifest.
fn encoded(files: &[DataFile], table: &Table) -> Result<Vec<u8>> {
    let metadata = table.metadata();
    let encode = || -> drumlin_format::Result<Vec<u8>> {
        let mut writer = ManifestWriter::new(ManifestWriterOptions {
            format_version: metadata.format_version(),
            content: ManifestContent::Data,
            schema: metadata.current_schema(),
            spec: metadata.default_spec(),
            snapshot_id: 0,
            codec: Codec::Null,
        })?;
        files.iter().try_for_each(|file| writer.add(file))?;
        Ok(writer.finish(IN_MEMORY)?.0)
    };
    encode().map_err(|error| external(error.into()))
}

/// The path of manifests that are none of a table.
const IN_MEMORY: &str = "in-memory";

/// The files in the bytes of a manifest.
pub(super) fn decoded(bytes: &[u8], table: &Table) -> Result<Vec<DataFile>> {
    let metadata = table.metadata();
    let spec = metadata.default_spec();
    let manifest = ManifestFile::unlisted(IN_MEMORY, spec.spec_id(), ManifestContent::Data, 0);
    let partition_type = spec.partition_type(metadata.current_schema());
    let read = read_manifest(bytes, &manifest, &partition_type, ManifestProjection::ALL)
        .map_err(|error| external(error.into()))?;
    Ok(read.entries.into_iter().map(|entry| entry.data_file).collect())
}

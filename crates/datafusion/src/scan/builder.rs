//! From planned files to the scan.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::{Result, ScalarValue, Statistics, plan_datafusion_err, plan_err};
use datafusion::config::TableParquetOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, FileSource, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::object_store::memory::InMemory;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricValue, Time};
use datafusion::prelude::SessionConfig;
use datafusion_datasource::compute_all_files_statistics;
use drumlin_format::manifest::{DataFile, FileFormat};
use drumlin_format::partition::PartitionSpec;
use drumlin_format::transform::Transform;
use drumlin_format::types::StructType;
use drumlin_table::Table;
use drumlin_table::arrow::field_id;
use drumlin_table::deletes::scope_of;
use drumlin_table::scan::{FileTask, PlanSummary, ScanPlan};
use drumlin_table::storage::{RoutingStore, routed_path};

use super::delete_join::{SCOPE_ID, SEQUENCE_NUMBER_ID};
use super::deleted_rows::ScanDeletes;
use super::reader::CheckedReaderFactory;
use super::source::IcebergSource;
use super::statistics;
use crate::error::external;
use crate::metadata_columns::{
    FILE_ID, PARTITION_ID, POS_ID, ROW_ID_ID, ROW_POSITION, SPEC_ID_ID, row_position, unified_partition_type,
};
use crate::projection::adapter::{FileColumns, TableColumns};
use crate::scalar::{struct_to_scalar, to_scalar};
use crate::table_provider::marked;
use crate::write::{FILE_ID as FILE_PLACE_ID, ScannedTarget};

/// Columns times files of which a scan carries statistics, some 300 bytes each. Beyond it only the number of all rows
/// is told.
const MAX_FILE_COLUMN_STATISTICS: usize = 200_000;

/// Rows of a table that seems large. Products of two such numbers are still numbers.
const LARGE_ROWS: usize = 1_000_000_000;

/// What a scan is built from.
pub struct ScanBuilder<'a> {
    /// The options of the session that runs it.
    pub config: &'a SessionConfig,
    /// Where it runs.
    pub runtime: &'a Arc<RuntimeEnv>,
    /// The table, pinned.
    pub table: &'a Table,
    /// Defaults and name mapping.
    pub columns: &'a Arc<TableColumns>,
    /// The columns that are read, in the order of the output; metadata columns among them.
    pub projection: Vec<FieldRef>,
    /// Rows that are enough.
    pub limit: Option<usize>,
    /// Set where the rows are to be changed.
    pub(crate) target: Option<Arc<ScannedTarget>>,
}

impl ScanBuilder<'_> {
    /// Builds the scan of the planned files.
    pub fn build(&self, plan: ScanPlan) -> Result<Arc<dyn ExecutionPlan>> {
        match self.key_joins(&plan) {
            None => self.scan(&plan, &self.projection, self.limit),
            Some(joins) => joins.build(self, &plan),
        }
    }

    /// The scan of the planned files with these columns.
    pub(crate) fn scan(
        &self,
        plan: &ScanPlan,
        columns: &[FieldRef],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let is_position = |f: &FieldRef| field_id(f) == Some(POS_ID);
        let needs_position = deletes_positions(plan)
            || columns
                .iter()
                .any(|f| is_position(f) || field_id(f) == Some(ROW_ID_ID));
        let stored = columns.iter().filter(|f| !is_position(f));
        let mut stored: Vec<FieldRef> = stored.cloned().collect();
        let mut deletes = ScanDeletes::new(plan, self.table, self.runtime);
        stored.extend(deletes.key_fields());
        let file_schema = Arc::new(marked(stored));
        let mut table_schema = TableSchema::builder(Arc::clone(&file_schema));
        if needs_position {
            table_schema = table_schema.with_virtual_columns(vec![row_position()]);
        }
        let table_schema = table_schema.build();
        let scanned = Arc::clone(table_schema.table_schema());
        let (groups, mut totals) = self.file_groups(plan, &scanned, limit)?;
        if self.target.is_some() {
            // An estimate that the optimizer takes for larger than whatever it is joined with: so the rows that decide about
            // others are what a hash join holds in memory, and their keys filter this scan.
            let rows = totals.num_rows.get_value().copied().unwrap_or(0);
            totals.num_rows = Precision::Inexact(rows.max(LARGE_ROWS));
            let bytes = totals.total_byte_size.get_value().copied().unwrap_or(0);
            totals.total_byte_size = Precision::Inexact(bytes.max(LARGE_ROWS.saturating_mul(1000)));
        }
        let parquet = self.parquet_source(table_schema);
        report(&plan.summary, parquet.metrics());
        if !plan.summary.deletes.is_empty() {
            deletes.report(parquet.metrics());
        }
        let description = self.description(&plan.summary);
        let source = IcebergSource::try_new(parquet, Arc::clone(self.columns), deletes, description)?
            .with_nan_columns(nan_columns(&plan.tasks, &file_schema))
            .with_target(self.target.clone());
        let output = |f: &FieldRef| {
            let name = if is_position(f) { ROW_POSITION } else { f.name() };
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new_with_schema(name, &scanned)?);
            Ok(ProjectionExpr::new(column, f.name().clone()))
        };
        let output = columns.iter().map(output).collect::<Result<Vec<_>>>()?;
        let projected = source.try_pushdown_projection(&ProjectionExprs::new(output))?;
        let source = projected.unwrap_or_else(|| Arc::new(source));
        self.plan_of(source, groups, totals, limit)
    }

    /// A plan of files.
    pub(super) fn plan_of(
        &self,
        source: Arc<dyn FileSource>,
        groups: Vec<FileGroup>,
        totals: Statistics,
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Files are read through the source's own reader factory; the session only has to know a store by this name.
        let url = ObjectStoreUrl::parse("iceberg://tables")?;
        let runtime = self.runtime;
        if runtime.object_store(&url).is_err() {
            runtime.register_object_store(url.as_ref(), Arc::new(InMemory::new()));
        }
        let config = FileScanConfigBuilder::new(url, source)
            .with_file_groups(groups)
            .with_statistics(totals)
            .with_limit(limit);
        Ok(DataSourceExec::from_data_source(config.build()))
    }

    pub(super) fn parquet_source(&self, table_schema: TableSchema) -> ParquetSource {
        let mut options = TableParquetOptions {
            global: self.config.options().execution.parquet.clone(),
            ..TableParquetOptions::default()
        };
        // The old 96-bit timestamps are instants; the adapter drops the zone where the column has none.
        options.global.coerce_int96 = Some("us".into());
        options.global.coerce_int96_tz = Some("UTC".into());
        let store = RoutingStore::new(self.table.storage().clone()).needed_for(self.table.files_needed_for());
        let cache = self.runtime.cache_manager.get_file_metadata_cache();
        let factory = CachedParquetFileReaderFactory::new(Arc::new(store), cache);
        let mut source = ParquetSource::new(table_schema)
            .with_parquet_file_reader_factory(Arc::new(CheckedReaderFactory::new(factory)))
            .with_table_parquet_options(options.clone());
        if let Some(hint) = options.global.metadata_size_hint {
            source = source.with_metadata_size_hint(hint);
        }
        source
    }

    fn description(&self, summary: &PlanSummary) -> String {
        let snapshot = match self.table.snapshot() {
            Some(snapshot) => snapshot.snapshot_id.to_string(),
            None => "none".to_string(),
        };
        format!("table={}, snapshot={snapshot}, {summary}", self.table.name())
    }

    fn file_groups(
        &self,
        plan: &ScanPlan,
        scanned: &SchemaRef,
        limit: Option<usize>,
    ) -> Result<(Vec<FileGroup>, Statistics)> {
        let tasks = enough(&plan.tasks, limit);
        let with_columns = tasks.len().saturating_mul(scanned.fields().len()) <= MAX_FILE_COLUMN_STATISTICS;
        let mut specs = HashMap::new();
        let mut files = Vec::with_capacity(tasks.len());
        for (place, task) in tasks.iter().enumerate() {
            let spec = specs
                .entry(task.spec().spec_id())
                .or_insert_with(|| SpecColumns::new(self.table, task.spec(), scanned));
            files.push(self.file(task, place, spec, scanned, with_columns)?);
        }
        let groups = balanced(files, self.config.target_partitions());
        if groups.is_empty() {
            // No file at all: still one partition, of no rows.
            let mut none = Statistics::new_unknown(scanned);
            none.num_rows = Precision::Exact(0);
            return Ok((vec![FileGroup::new(vec![])], none));
        }
        if !with_columns {
            return Ok((groups, statistics::of_rows(tasks, scanned)));
        }
        compute_all_files_statistics(groups, Arc::clone(scanned), true, false)
    }

    /// A file of a scan, of so many bytes.
    pub(super) fn partitioned(
        &self,
        file: &DataFile,
        size: u64,
        columns: Arc<FileColumns>,
    ) -> Result<PartitionedFile> {
        let mut partitioned = PartitionedFile::new(String::new(), size).with_extension(columns);
        partitioned.object_meta.location = routed_path(&file.file_path).map_err(external)?;
        // Nobody knows when the file was written, but DataFusion's cache of footers goes by path, size and this time:
        // footers of another storage, where the same path may be another file, must not be taken.
        partitioned.object_meta.last_modified += Duration::from_secs(self.table.storage().generation());
        Ok(partitioned)
    }

    fn file(
        &self,
        task: &FileTask,
        place: usize,
        spec: &SpecColumns,
        scanned: &SchemaRef,
        with_columns: bool,
    ) -> Result<PartitionedFile> {
        let file = task.data_file();
        if !matches!(
            file.file_format,
            FileFormat::Parquet | FileFormat::Avro | FileFormat::Orc
        ) {
            return plan_err!(
                "table `{}`: the data file `{}` is of the format {}; data files can be read in Parquet, Avro and ORC",
                self.table.name(),
                file.file_path,
                file.file_format.name()
            );
        }
        let Ok(size) = u64::try_from(file.file_size_in_bytes) else {
            return plan_err!(
                "table `{}`: the data file `{}` has the size {} in its manifest",
                self.table.name(),
                file.file_path,
                file.file_size_in_bytes
            );
        };
        let columns = Arc::new(FileColumns {
            path: file.file_path.to_string(),
            format: file.file_format.clone(),
            constants: spec.constants(task, place)?,
            first_row_id: file.first_row_id,
            sequence_number: task.sequence_number(),
            record_count: file.record_count,
            deletes: task.deletes().cloned(),
        });
        let statistics =
            with_columns.then(|| statistics::of_file(task, &columns, scanned, self.table.schema()));
        let partitioned = self.partitioned(file, size, columns)?;
        Ok(match statistics {
            Some(statistics) => partitioned.with_statistics(Arc::new(statistics)),
            None => partitioned,
        })
    }
}

/// The files that are enough for a limit: no filter takes rows away, and deleted rows are not counted.
fn enough(tasks: &[FileTask], limit: Option<usize>) -> &[FileTask] {
    let Some(limit) = limit else {
        return tasks;
    };
    let mut rows = 0usize;
    for (read, task) in tasks.iter().enumerate() {
        if rows >= limit {
            return tasks.get(..read).unwrap_or(tasks);
        }
        // An unknown count adds nothing.
        rows = rows.saturating_add(usize::try_from(task.least_live_rows()).unwrap_or(0));
    }
    tasks
}

/// Whether positions of any file are deleted.
fn deletes_positions(plan: &ScanPlan) -> bool {
    let mut deletes = plan.tasks.iter().filter_map(FileTask::deletes);
    deletes.any(|d| d.deletes_positions())
}

/// The floating-point columns that may hold NaN: those of which not every file says that it holds none.
fn nan_columns(tasks: &[FileTask], columns: &Schema) -> HashSet<String> {
    let mut floating: Vec<&FieldRef> = columns
        .fields()
        .iter()
        .filter(|f| f.data_type().is_floating())
        .collect();
    let all = floating.len();
    for task in tasks {
        if floating.is_empty() {
            break;
        }
        let counts = task.data_file().column_metrics.nan_value_counts();
        let none: HashSet<i32> = counts
            .into_iter()
            .flatten()
            .filter(|(_, n)| *n == 0)
            .map(|(id, _)| id)
            .collect();
        floating.retain(|f| field_id(f).is_some_and(|id| none.contains(&id)));
    }
    let holds_none: HashSet<&str> = floating.iter().map(|f| f.name().as_str()).collect();
    if holds_none.len() == all {
        return HashSet::new();
    }
    columns
        .fields()
        .iter()
        .filter(|f| f.data_type().is_floating() && !holds_none.contains(f.name().as_str()))
        .map(|f| f.name().clone())
        .collect()
}

/// Which constants the files of one spec have, of those that a scan reads.
struct SpecColumns {
    spec_id: i32,
    /// Source field and place in the tuple of the identity fields.
    identities: Vec<(drumlin_format::types::NestedField, bool, usize)>,
    /// The partition type of all specs, and the field ids of this one by place; if `_partition` is read.
    partition: Option<(StructType, Vec<i32>)>,
    reads_file: bool,
    /// Whether the place of a file among the tasks is read.
    reads_file_place: bool,
    reads_spec_id: bool,
    /// Whether equality deletes are joined.
    reads_scope: bool,
}

impl SpecColumns {
    fn new(table: &Table, spec: &PartitionSpec, scanned: &Schema) -> Self {
        let reads = |id| scanned.fields().iter().any(|f| field_id(f) == Some(id));
        let schemas = table.schemas_newest_first();
        let identities = spec
            .fields()
            .iter()
            .enumerate()
            .filter(|(_, f)| f.transform == Transform::Identity)
            .filter_map(|(place, f)| {
                let id = f.source_id()?;
                let schema = schemas.iter().find(|s| s.field_by_id(id).is_some())?;
                let source = schema.field_by_id(id)?;
                let path = schema.path_to(source.id);
                let column = path.len() == 1;
                path.first()
                    .is_some_and(|id| reads(*id))
                    .then(|| (source.clone(), column, place))
            })
            .collect();
        Self {
            spec_id: spec.spec_id(),
            identities,
            partition: reads(PARTITION_ID).then(|| {
                let ids = spec.fields().iter().map(|f| f.field_id).collect();
                (unified_partition_type(table), ids)
            }),
            reads_file: reads(FILE_ID),
            reads_file_place: reads(FILE_PLACE_ID),
            reads_spec_id: reads(SPEC_ID_ID),
            reads_scope: reads(SCOPE_ID),
        }
    }

    fn constants(&self, task: &FileTask, place: usize) -> Result<HashMap<i32, ScalarValue>> {
        let file = task.data_file();
        let mut constants = HashMap::new();
        for (source, column, place) in &self.identities {
            let value = file.partition.get(*place).and_then(Option::as_ref);
            constants.insert(source.id, to_scalar(value, &source.field_type, *column)?);
        }
        if self.reads_file {
            constants.insert(FILE_ID, ScalarValue::from(file.file_path.as_ref()));
        }
        if self.reads_file_place {
            let place = i32::try_from(place).map_err(|_| plan_datafusion_err!("a scan of {place} files"))?;
            constants.insert(FILE_PLACE_ID, ScalarValue::from(place));
        }
        if self.reads_spec_id {
            constants.insert(SPEC_ID_ID, ScalarValue::from(self.spec_id));
        }
        if self.reads_scope {
            constants.insert(SEQUENCE_NUMBER_ID, ScalarValue::from(task.sequence_number()));
            constants.insert(SCOPE_ID, ScalarValue::Binary(Some(scope_of(file))));
        }
        if let Some((unified, ids)) = &self.partition {
            let value_of = |id: i32| {
                let place = ids.iter().position(|i| *i == id)?;
                file.partition.get(place)?.as_ref()
            };
            constants.insert(PARTITION_ID, struct_to_scalar(unified, value_of)?);
        }
        Ok(constants)
    }
}

/// Runs of files of about the same number of bytes, at most `groups` of them.
pub(super) fn balanced(files: Vec<PartitionedFile>, groups: usize) -> Vec<FileGroup> {
    // Sizes come from manifests and may be absurd.
    let sizes = files.iter().map(|f| f.object_meta.size.max(1));
    let total = sizes.fold(0u64, u64::saturating_add);
    let share = total.div_ceil(u64::try_from(groups.max(1)).unwrap_or(1)).max(1);
    let mut balanced: Vec<Vec<PartitionedFile>> = Vec::new();
    let mut before = 0u64;
    for file in files {
        let group = usize::try_from(before / share).unwrap_or(0);
        before = before.saturating_add(file.object_meta.size.max(1));
        if balanced.len() <= group {
            balanced.push(Vec::new());
        }
        if let Some(last) = balanced.last_mut() {
            last.push(file);
        }
    }
    balanced.into_iter().map(FileGroup::new).collect()
}

/// Puts the cost of planning among the metrics of the scan, for `EXPLAIN ANALYZE`.
fn report(summary: &PlanSummary, metrics: &ExecutionPlanMetricsSet) {
    let time = Time::new();
    time.add_duration(summary.elapsed);
    MetricBuilder::new(metrics).build(MetricValue::Time {
        name: "planning_time".into(),
        time,
    });
    let bytes = MetricBuilder::new(metrics).global_counter("manifest_bytes_read");
    bytes.add(usize::try_from(summary.bytes_read).unwrap_or(usize::MAX));
}

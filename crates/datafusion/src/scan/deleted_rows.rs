//! Rows of data files that are deleted.
//!
//! Positions become a row selection of the Parquet reader: it never decodes the rows, and all else that it does (row
//! filters, page pruning, limits, splits of files) stays as it is. Equality deletes are looked up by the key columns of
//! the rows that were read; columns that the query does not read are read for that and left out after. Both are loaded
//! when a file is opened.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{FilterBuilder, filter_record_batch};
use datafusion::arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::parquet::arrow::arrow_reader::RowSelection;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use drumlin_table::Table;
use drumlin_table::arrow::column_to_arrow;
use drumlin_table::deletes::{DeletedPositions, FileDeletes, KeyColumn, KeySet, MemoryAccount};
use drumlin_table::scan::ScanPlan;

use crate::error::external;
use crate::projection::adapter::FileColumns;

/// What a scan needs to leave deleted rows out.
#[derive(Debug)]
pub struct ScanDeletes {
    table: Table,
    memory: PoolAccount,
    /// The key columns of all equality deletes, each once.
    keys: Vec<KeyColumn>,
    removed: Removed,
}

/// Rows that were left out, by what deleted them.
#[derive(Debug, Default)]
struct Removed {
    by_vectors: Count,
    by_positions: Count,
    by_keys: Count,
}

/// Memory that is taken from the pool of the session and given back with the plan.
#[derive(Debug)]
pub(crate) struct PoolAccount(MemoryReservation);

impl PoolAccount {
    pub(crate) fn new(reservation: MemoryReservation) -> Self {
        Self(reservation)
    }
}

impl MemoryAccount for PoolAccount {
    fn grow(&self, bytes: usize) -> drumlin_table::Result<()> {
        let taken = self.0.try_grow(bytes);
        taken.map_err(|e| drumlin_table::Error::NoMemory(e.to_string()))
    }

    fn shrink(&self, bytes: usize) {
        // More than was taken is nothing to give back.
        let _ = self.0.try_shrink(bytes);
    }
}

impl ScanDeletes {
    /// The deletes of a plan.
    pub fn new(plan: &ScanPlan, table: &Table, runtime: &RuntimeEnv) -> Self {
        let mut keys: Vec<KeyColumn> = Vec::new();
        for equality in plan.equality_deletes() {
            for column in equality.columns().iter() {
                if !keys.contains(column) {
                    keys.push(column.clone());
                }
            }
        }
        let consumer = MemoryConsumer::new(format!("deletes of {}", table.name()));
        Self {
            table: table.clone(),
            memory: PoolAccount(consumer.register(&runtime.memory_pool)),
            keys,
            removed: Removed::default(),
        }
    }

    /// The table that is scanned.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The columns that hold the keys, for the schema of the scan.
    pub fn key_fields(&self) -> Vec<FieldRef> {
        self.keys.iter().map(key_field).collect()
    }

    /// Counts rows among these metrics from now on.
    pub fn report(&mut self, metrics: &ExecutionPlanMetricsSet) {
        let counter = |name: &'static str| MetricBuilder::new(metrics).global_counter(name);
        self.removed = Removed {
            by_vectors: counter("rows_removed_by_deletion_vectors"),
            by_positions: counter("rows_removed_by_position_deletes"),
            by_keys: counter("rows_removed_by_equality_deletes"),
        };
    }

    /// The positions of a file that are deleted. They are counted by the piece of the file that holds its first byte.
    pub async fn positions(
        &self,
        file: &FileColumns,
        deletes: &FileDeletes,
        range: Option<Range<i64>>,
    ) -> Result<Option<DeletedPositions>> {
        let deleted = deletes.deleted_positions(&file.path, &self.table, &self.memory);
        let deleted = deleted.await.map_err(external)?;
        if let Some(deleted) = &deleted
            && range.is_none_or(|range| range.start == 0)
        {
            let rows = u64::try_from(file.record_count).unwrap_or(0);
            let counter = match deleted.by_vector {
                true => &self.removed.by_vectors,
                false => &self.removed.by_positions,
            };
            counter.add(usize::try_from(deleted.positions.count_in(0, rows)).unwrap_or(0));
        }
        Ok(deleted)
    }

    /// The values of equality deletes that may delete rows of a file.
    pub async fn key_sets(&self, deletes: &FileDeletes) -> Result<Vec<Arc<KeySet>>> {
        let mut sets = Vec::with_capacity(deletes.equality_deletes().len());
        for equality in deletes.equality_deletes() {
            let keys = equality.keys(&self.table, &self.memory).await;
            sets.push(Arc::clone(keys.map_err(external)?));
        }
        sets.retain(|set| !set.is_empty());
        Ok(sets)
    }

    /// What reads the rows of a file that no equality delete deletes, in place of a plain `projection` of the columns
    /// of `schema`. Of rows that `wanted` does not keep no more is asked: something above the scan leaves them out.
    pub fn key_filter(
        &self,
        sets: Vec<Arc<KeySet>>,
        sequence_number: i64,
        projection: &ProjectionExprs,
        wanted: Option<Arc<dyn PhysicalExpr>>,
        schema: &Schema,
    ) -> Result<KeyFilter> {
        let output = Arc::new(projection.project_schema(schema)?);
        let mut inner = InnerProjection::new(schema);
        let outer = projection.iter().map(|p| inner.output(p));
        let outer = outer.collect::<Result<Vec<_>>>()?;
        let mut places = |set: &Arc<KeySet>| {
            let columns = set.columns().iter();
            columns
                .map(|c| inner.column(&key_name(c)))
                .collect::<Result<Vec<_>>>()
        };
        let mut with_places = Vec::with_capacity(sets.len());
        for set in sets {
            let places = places(&set)?;
            with_places.push((set, places));
        }
        // What answers otherwise each time it is asked must be asked once, above the scan.
        let wanted = wanted.filter(|wanted| !is_volatile(wanted));
        let wanted = wanted.map(|wanted| inner.over_read(wanted)).transpose()?;
        Ok(KeyFilter {
            wanted: wanted.map(WantedRows::new),
            sets: with_places,
            sequence_number,
            inner: ProjectionExprs::new(inner.expressions),
            outer,
            output,
            removed: self.removed.by_keys.clone(),
        })
    }
}

/// The column of a scan that holds a key. Its name is not that of the table, where another column may have it by now.
pub fn key_field(column: &KeyColumn) -> FieldRef {
    let field: Field = column_to_arrow(column.column()).as_ref().clone();
    Arc::new(field.with_name(key_name(column)))
}

/// A name that no column of a table has.
fn key_name(column: &KeyColumn) -> String {
    format!("\u{1}key {}", column.field_id())
}

/// The rows that are left of a file as a selection over all its rows; `None` if none are.
pub fn selection(deleted: &DeletedPositions, file: &FileColumns) -> Option<ParquetRowSelection> {
    // The selection must have as many rows as the file. If its manifest lies, the reader says so.
    let rows = usize::try_from(file.record_count).unwrap_or(0);
    let mut ranges = Vec::new();
    let mut start = 0;
    for position in deleted.positions.iter() {
        let Some(position) = usize::try_from(position).ok().filter(|p| *p < rows) else {
            break;
        };
        if start < position {
            ranges.push(start..position);
        }
        start = position + 1;
    }
    if start < rows {
        ranges.push(start..rows);
    }
    if ranges.is_empty() {
        return None;
    }
    let selection = RowSelection::from_consecutive_ranges(ranges.into_iter(), rows);
    Some(ParquetRowSelection::new(selection))
}

/// What is read of a file with equality deletes: outputs that cannot fail, the columns that the others are made of, and
/// the keys. Others are made after the deleted rows are gone, whose values they may not be able to take.
struct InnerProjection<'a> {
    schema: &'a Schema,
    expressions: Vec<ProjectionExpr>,
}

impl<'a> InnerProjection<'a> {
    fn new(schema: &'a Schema) -> Self {
        Self {
            schema,
            expressions: Vec::new(),
        }
    }

    fn push(&mut self, expression: Arc<dyn PhysicalExpr>) -> usize {
        let found = self
            .expressions
            .iter()
            .position(|p| p.expr.as_ref() == expression.as_ref());
        found.unwrap_or_else(|| {
            let name = format!("\u{1}{}", self.expressions.len());
            self.expressions.push(ProjectionExpr::new(expression, name));
            self.expressions.len() - 1
        })
    }

    /// The place of a column of the scan.
    fn column(&mut self, name: &str) -> Result<usize> {
        Ok(self.push(Arc::new(Column::new_with_schema(name, self.schema)?)))
    }

    /// An output, over what is read.
    fn output(&mut self, output: &ProjectionExpr) -> Result<Output> {
        if cannot_fail(&output.expr) {
            return Ok(Output::Read(self.push(Arc::clone(&output.expr))));
        }
        Ok(Output::Made(self.over_read(Arc::clone(&output.expr))?))
    }

    /// An expression over the columns of the scan as one over what is read.
    fn over_read(&mut self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let over_read = expr.transform_up(|expr| {
            let Some(column) = expr.downcast_ref::<Column>() else {
                return Ok(Transformed::no(expr));
            };
            let place = self.column(column.name())?;
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), place));
            Ok(Transformed::yes(column))
        })?;
        Ok(over_read.data)
    }
}

/// Whether an expression is a column, a field of one, or a literal.
fn cannot_fail(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut plain = true;
    // The closure never fails.
    let _ = expr.apply(|expr| {
        plain &= expr.downcast_ref::<Column>().is_some()
            || expr.downcast_ref::<Literal>().is_some()
            || ScalarFunctionExpr::try_downcast_func::<GetFieldFunc>(expr.as_ref()).is_some();
        Ok(TreeNodeRecursion::Continue)
    });
    plain
}

/// An output column.
#[derive(Debug)]
enum Output {
    /// As it was read, at this place.
    Read(usize),
    /// Made of what was read.
    Made(Arc<dyn PhysicalExpr>),
}

/// Batches of which most rows are wanted, after which that is not asked any more.
const MOSTLY_WANTED: usize = 4;

/// Rows that the query's filter keeps. Where they are few, looking their keys up is all there is to do.
struct WantedRows {
    filter: Arc<dyn PhysicalExpr>,
    mostly: AtomicUsize,
}

impl WantedRows {
    fn new(filter: Arc<dyn PhysicalExpr>) -> Self {
        Self {
            filter,
            mostly: AtomicUsize::new(0),
        }
    }

    /// The wanted rows of a batch, if they are few.
    fn few_of(&self, batch: &RecordBatch) -> Option<RecordBatch> {
        if self.mostly.load(Ordering::Relaxed) >= MOSTLY_WANTED {
            return None;
        }
        // A filter that fails on a deleted row must not fail the query.
        let wanted = self
            .filter
            .evaluate(batch)
            .ok()?
            .into_array(batch.num_rows())
            .ok()?;
        let wanted = as_boolean_array(&wanted).ok()?;
        if wanted.true_count() > batch.num_rows() / 2 {
            self.mostly.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        filter_record_batch(batch, wanted).ok()
    }
}

/// Leaves out the rows of a file that equality deletes delete.
pub struct KeyFilter {
    wanted: Option<WantedRows>,
    /// The keys, and the places of their columns in what is read.
    sets: Vec<(Arc<KeySet>, Vec<usize>)>,
    sequence_number: i64,
    inner: ProjectionExprs,
    outer: Vec<Output>,
    output: SchemaRef,
    removed: Count,
}

impl fmt::Debug for KeyFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyFilter({} sets)", self.sets.len())
    }
}

impl KeyFilter {
    /// What must be read.
    pub fn read(&self) -> &ProjectionExprs {
        &self.inner
    }

    /// The output columns of the rows that are left of a batch that was read.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let few = self.wanted.as_ref().and_then(|wanted| wanted.few_of(batch));
        let batch = few.as_ref().unwrap_or(batch);
        let rows = batch.num_rows();
        let mut kept = None;
        for (set, places) in &self.sets {
            let values = set.columns().iter().zip(places);
            let values = values.map(|(c, place)| c.values(column_at(batch, *place)?).map_err(external));
            let values = values.collect::<Result<Vec<_>>>()?;
            let left = set.kept(&values, self.sequence_number).map_err(external)?;
            kept = match (kept, left) {
                (Some(before), Some(left)) => Some(&before & &left),
                (before, left) => before.or(left),
            };
        }
        let left = kept.as_ref().map_or(rows, |kept| kept.count_set_bits());
        self.removed.add(rows - left);
        let kept = kept.map(|kept| BooleanArray::new(kept, None));
        let predicate = kept
            .as_ref()
            .map(|kept| FilterBuilder::new(kept).optimize().build());
        let filtered = |array: &ArrayRef| match &predicate {
            Some(predicate) => Ok(predicate.filter(array)?),
            None => Ok(Arc::clone(array)),
        };
        let options = RecordBatchOptions::new().with_row_count(Some(left));
        let needs_all = self.outer.iter().any(|o| matches!(o, Output::Made(_)));
        let read = needs_all.then(|| {
            let columns = batch.columns().iter().map(filtered).collect::<Result<Vec<_>>>()?;
            Ok::<_, DataFusionError>(RecordBatch::try_new_with_options(
                batch.schema(),
                columns,
                &options,
            )?)
        });
        let read = read.transpose()?;
        let column = |output: &Output| match (output, &read) {
            (Output::Read(place), Some(read)) => Ok(Arc::clone(column_at(read, *place)?)),
            (Output::Read(place), None) => filtered(column_at(batch, *place)?),
            (Output::Made(expr), Some(read)) => expr.evaluate(read)?.into_array(left),
            (Output::Made(_), None) => Err(internal_datafusion_err!("nothing was read")),
        };
        let columns = self.outer.iter().map(column).collect::<Result<Vec<_>>>()?;
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(&self.output),
            columns,
            &options,
        )?)
    }
}

fn column_at(batch: &RecordBatch, place: usize) -> Result<&ArrayRef> {
    let column = batch.columns().get(place);
    column.ok_or_else(|| internal_datafusion_err!("column {place} of a data file was not read"))
}

//! Taking deleted rows out of what was read of a file.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{Int64Type, Schema, SchemaRef};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::metrics::Count;
use drumlin_format::deletion_vector::DeletionVector;
use drumlin_table::deletes::KeySet;

use super::deleted_positions::left_of;
use super::deleted_rows::key_name;
use super::kept_rows::KeptRows;
use crate::error::external;
use crate::metadata_columns::ROW_POSITION;

/// The deleted rows of a file that its reader does not skip.
#[derive(Debug, Default)]
pub struct DeletedRows {
    /// Deleted positions.
    pub positions: Option<Arc<DeletionVector>>,
    /// Equality deletes.
    pub sets: Vec<Arc<KeySet>>,
}

impl DeletedRows {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_none() && self.sets.is_empty()
    }
}

/// What is read of a file with deleted rows: outputs that cannot fail, the columns that the others are made of, and what
/// tells deleted rows. Others are made after the deleted rows are gone, whose values they may not be able to take.
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

/// Leaves out deleted rows of a file.
pub struct RowFilter {
    wanted: Option<WantedRows>,
    /// The deleted positions, and the place of the position in what is read.
    positions: Option<(Arc<DeletionVector>, usize)>,
    /// The keys, and the places of their columns in what is read.
    sets: Vec<(Arc<KeySet>, Vec<usize>)>,
    sequence_number: i64,
    inner: ProjectionExprs,
    /// How many columns the outputs are made of, the first ones.
    needed: usize,
    outer: Vec<Output>,
    output: SchemaRef,
    removed_by_keys: Count,
}

impl fmt::Debug for RowFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowFilter({} sets)", self.sets.len())
    }
}

impl RowFilter {
    /// What reads the rows of a file that are not deleted, in place of a plain `projection` of the columns of `schema`.
    /// `sequence_number` is that of the file. Where keys are looked up, no more is asked of rows that `wanted` does not
    /// keep: something above the scan leaves them out.
    ///
    /// # Errors
    /// A column is not there.
    pub fn try_new(
        deleted: DeletedRows,
        sequence_number: i64,
        projection: &ProjectionExprs,
        wanted: Option<Arc<dyn PhysicalExpr>>,
        schema: &Schema,
        removed_by_keys: Count,
    ) -> Result<Self> {
        let output = Arc::new(projection.project_schema(schema)?);
        let mut inner = InnerProjection::new(schema);
        let outer = projection.iter().map(|p| inner.output(p));
        let outer = outer.collect::<Result<Vec<_>>>()?;
        let needed = inner.expressions.len();
        let mut sets = Vec::with_capacity(deleted.sets.len());
        for set in deleted.sets {
            let places = set.columns().iter().map(|c| inner.column(&key_name(c)));
            let places = places.collect::<Result<Vec<_>>>()?;
            sets.push((set, places));
        }
        let positions = deleted
            .positions
            .map(|positions| Ok::<_, DataFusionError>((positions, inner.column(ROW_POSITION)?)));
        // What answers otherwise each time it is asked must be asked once, above the scan.
        let wanted = wanted.filter(|wanted| !sets.is_empty() && !is_volatile(wanted));
        let wanted = wanted.map(|wanted| inner.over_read(wanted)).transpose()?;
        Ok(Self {
            wanted: wanted.map(WantedRows::new),
            positions: positions.transpose()?,
            sets,
            sequence_number,
            inner: ProjectionExprs::new(inner.expressions),
            needed,
            outer,
            output,
            removed_by_keys,
        })
    }

    /// What must be read.
    pub fn read(&self) -> &ProjectionExprs {
        &self.inner
    }

    /// How many rows must be read for so many to be left; `None` if nobody knows.
    pub fn limit(&self, rows: usize) -> Option<usize> {
        let deleted = self
            .positions
            .as_ref()
            .map_or(0, |(positions, _)| positions.len());
        let deleted = usize::try_from(deleted).ok()?;
        self.sets.is_empty().then(|| rows.saturating_add(deleted))
    }

    /// The output columns of the rows that are left of a batch that was read.
    ///
    /// # Errors
    /// An output cannot be made.
    pub fn apply(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let few = self.wanted.as_ref().and_then(|wanted| wanted.few_of(&batch));
        let batch = few.unwrap_or(batch);
        let kept = self.kept(&batch)?.map(KeptRows::new);
        let left = kept.as_ref().map_or(batch.num_rows(), KeptRows::count);
        let options = RecordBatchOptions::new().with_row_count(Some(left));
        let (schema, columns, _) = batch.into_parts();
        let columns = columns.into_iter().take(self.needed);
        let columns = columns.map(|column| match &kept {
            Some(kept) => kept.of(column),
            None => Ok(column),
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let is_made = |output: &Output| matches!(output, Output::Made(_));
        let read = self.outer.iter().any(is_made).then(|| {
            let fields = schema.fields().iter().take(self.needed);
            let schema = Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()));
            RecordBatch::try_new_with_options(schema, columns.clone(), &options)
        });
        let read = read.transpose()?;
        let column = |output: &Output| match (output, &read) {
            (Output::Read(place), _) => column_at(&columns, *place).cloned(),
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

    /// Which rows are not deleted; `None` if all are not.
    fn kept(&self, batch: &RecordBatch) -> Result<Option<BooleanBuffer>> {
        let mut kept = None;
        if let Some((deleted, place)) = &self.positions {
            let positions = column_at(batch.columns(), *place)?;
            let Some(positions) = positions.as_primitive_opt::<Int64Type>() else {
                return Err(internal_datafusion_err!(
                    "positions are {}",
                    positions.data_type()
                ));
            };
            kept = left_of(deleted, positions.values());
        }
        let count =
            |kept: &Option<BooleanBuffer>| kept.as_ref().map_or(batch.num_rows(), |k| k.count_set_bits());
        let before = count(&kept);
        for (set, places) in &self.sets {
            let values = set.columns().iter().zip(places);
            let values =
                values.map(|(c, place)| c.values(column_at(batch.columns(), *place)?).map_err(external));
            let values = values.collect::<Result<Vec<_>>>()?;
            let left = set.kept(&values, self.sequence_number).map_err(external)?;
            kept = match (kept, left) {
                (Some(before), Some(left)) => Some(&before & &left),
                (before, left) => before.or(left),
            };
        }
        if !self.sets.is_empty() {
            self.removed_by_keys.add(before - count(&kept));
        }
        Ok(kept)
    }
}

fn column_at(columns: &[ArrayRef], place: usize) -> Result<&ArrayRef> {
    let column = columns.get(place);
    column.ok_or_else(|| internal_datafusion_err!("column {place} of a data file was not read"))
}

//! Avro and ORC data files.
//!
//! They are read from the first row to the last: the scan's filter and outputs, rewritten for the columns of the file,
//! are evaluated on each batch. The rows come out as a Parquet file would give them.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr_adapter::{PhysicalExprAdapter, PhysicalExprAdapterFactory};
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner};
use drumlin_table::deletes::DeletedPositions;
use drumlin_table::{Table, data_file};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use super::deleted_positions::left_in;
use crate::error::external;
use crate::metadata_columns::row_position;
use crate::projection::adapter::{FileAdapterFactory, FileColumns};

/// An Avro or ORC file that is not opened yet.
pub struct WholeFile {
    /// The table that the file is of.
    pub table: Table,
    /// The file.
    pub columns: Arc<FileColumns>,
    /// The bytes of the file.
    pub size: u64,
    /// How its columns become those of the table.
    pub adapter: FileAdapterFactory,
    /// The columns of the scan.
    pub scanned: SchemaRef,
    /// What comes out, over the columns of the scan.
    pub outputs: ProjectionExprs,
    /// Which rows come out. Nothing above the scan may do it again.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    /// Rows of a batch.
    pub batch_size: usize,
    /// The positions that are deleted.
    pub deleted: Option<DeletedPositions>,
}

impl fmt::Debug for WholeFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WholeFile({})", self.columns.path)
    }
}

impl MorselPlanner for WholeFile {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let open = async move {
            let rows = self.rows().await?;
            Ok(Box::new(OpenRows(rows)) as Box<dyn MorselPlanner>)
        };
        Ok(Some(MorselPlan::new().with_pending_planner(open)))
    }
}

/// The rows of an opened file.
struct OpenRows(BoxStream<'static, Result<RecordBatch>>);

impl fmt::Debug for OpenRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenRows")
    }
}

impl MorselPlanner for OpenRows {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        Ok(Some(MorselPlan::new().with_morsels(vec![self])))
    }
}

impl Morsel for OpenRows {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        self.0
    }
}

impl WholeFile {
    async fn rows(self) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let needed_for = self.table.files_needed_for();
        let of_table = move |e: drumlin_table::Error| external(e.needed_for(needed_for.as_str()));
        let format = self.columns.format.clone();
        let opened = data_file::open(self.table.storage(), &self.columns.path, self.size, format).await;
        let opened = opened.map_err(&of_table)?;
        let position = row_position();
        let fields = opened.schema().fields().iter().chain([&position]);
        let file_schema = Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()));
        let adapter = self
            .adapter
            .create(Arc::clone(&self.scanned), Arc::clone(&file_schema))?;
        let mut raw = RawColumns {
            adapter,
            places: Vec::new(),
        };
        let filter = self.filter.map(|filter| raw.over(filter)).transpose()?;
        let outputs = self
            .outputs
            .iter()
            .map(|output| raw.over(Arc::clone(&output.expr)));
        let outputs = outputs.collect::<Result<Vec<_>>>()?;
        let position = opened.schema().fields().len();
        let stored: Vec<usize> = raw.places.iter().copied().filter(|p| *p != position).collect();
        let mut rows = Rows {
            raw: Arc::new(file_schema.project(&raw.places)?),
            position: raw.places.iter().position(|p| *p == position),
            filter,
            outputs,
            output: Arc::new(self.outputs.project_schema(&self.scanned)?),
            deleted: self.deleted,
            read: 0,
        };
        let batches = opened.read(&stored, self.batch_size);
        let batches = batches.map(move |batch| rows.next(batch.map_err(&of_table)?));
        Ok(batches
            .try_filter(|batch| futures::future::ready(batch.num_rows() > 0))
            .boxed())
    }
}

/// The columns of the file that expressions need.
struct RawColumns {
    adapter: Arc<dyn PhysicalExprAdapter>,
    /// Their places in the file; that of the position is behind all of them.
    places: Vec<usize>,
}

impl RawColumns {
    /// An expression over the columns of the scan as one over these columns.
    fn over(&mut self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let over_file = self.adapter.rewrite(expr)?;
        over_file
            .transform_up(|expr| {
                let Some(column) = expr.downcast_ref::<Column>() else {
                    return Ok(Transformed::no(expr));
                };
                let found = self.places.iter().position(|place| *place == column.index());
                let place = found.unwrap_or_else(|| {
                    self.places.push(column.index());
                    self.places.len() - 1
                });
                let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), place));
                Ok(Transformed::yes(column))
            })
            .data()
    }
}

/// Makes output rows of stored rows.
struct Rows {
    /// The schema of a batch with all that expressions need.
    raw: SchemaRef,
    /// The place of the position in it.
    position: Option<usize>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    outputs: Vec<Arc<dyn PhysicalExpr>>,
    output: SchemaRef,
    deleted: Option<DeletedPositions>,
    /// How many rows of the file were read.
    read: u64,
}

impl Rows {
    fn next(&mut self, stored: RecordBatch) -> Result<RecordBatch> {
        let start = self.read;
        let rows = u64::try_from(stored.num_rows()).unwrap_or(u64::MAX);
        self.read = start.saturating_add(rows);
        let mut columns = stored.columns().to_vec();
        if let Some(place) = self.position {
            let first = i64::try_from(start);
            let first = first.map_err(|_| exec_datafusion_err!("the file has too many rows"))?;
            let positions: ArrayRef =
                Arc::new(Int64Array::from_iter_values((first..).take(stored.num_rows())));
            columns.insert(place.min(columns.len()), positions);
        }
        let mut batch = batch_of(&self.raw, columns, stored.num_rows())?;
        // Rows that are deleted are gone before anything is evaluated.
        if let Some(left) = self
            .deleted
            .as_ref()
            .and_then(|d| left_in(&d.positions, start, self.read))
        {
            batch = filter_record_batch(&batch, &BooleanArray::new(left, None))?;
        }
        if let Some(filter) = &self.filter {
            let kept = filter.evaluate(&batch)?.into_array(batch.num_rows())?;
            let kept = as_boolean_array(&kept)?;
            if kept.null_count() > 0 || kept.true_count() < kept.len() {
                batch = filter_record_batch(&batch, kept)?;
            }
        }
        let outputs = self.outputs.iter();
        let outputs = outputs.map(|output| output.evaluate(&batch)?.into_array(batch.num_rows()));
        batch_of(&self.output, outputs.collect::<Result<_>>()?, batch.num_rows())
    }
}

fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}

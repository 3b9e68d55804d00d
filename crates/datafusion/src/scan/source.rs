//! DataFusion's Parquet source, told for each file how its columns become those of the table.
//!
//! Reading, pruning of row groups and pages, row filters, dynamic filters, limits, splitting of files are those of
//! [`ParquetSource`], which this source hands everything on to. What it adds: the expression adapter of each file and its
//! deletes ([`open`](super::open)), and the pruning of whole files in `EXPLAIN`.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource, ParquetSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, SortOrderPushdownResult};
use datafusion_datasource::morsel::Morselizer;

use drumlin_table::arrow::field_id;

use super::deleted_rows::ScanDeletes;
use super::open::{FileMorselizer, FileOpening};
use crate::metadata_columns::{LAST_UPDATED_SEQUENCE_NUMBER_ID, POS_ID, ROW_ID_ID};
use crate::projection::adapter::TableColumns;
use crate::write::ScannedTarget;

/// Columns that are made from positions or by the file, after row filters.
const MADE_IDS: [i32; 3] = [POS_ID, ROW_ID_ID, LAST_UPDATED_SEQUENCE_NUMBER_ID];

/// The rows of a batch where nobody says it.
const DEFAULT_BATCH_SIZE: usize = 8192;

/// The data files of an Iceberg table. Avro and ORC files are read by [`whole_file`](super::whole_file), with the
/// projection and the filter that the Parquet source holds.
///
/// The Parquet source inside gives more than this source: behind the outputs come all columns of the scan as they are,
/// so that a file with equality deletes can be asked for its key columns, whatever the projection became.
#[derive(Debug, Clone)]
pub struct IcebergSource {
    pub(super) parquet: ParquetSource,
    /// The outputs, which come first in those of `parquet`.
    pub(super) projection: ProjectionExprs,
    pub(super) deletes: Arc<ScanDeletes>,
    pub(super) columns: Arc<TableColumns>,
    /// What `EXPLAIN` says: table, snapshot, pruning.
    pub(super) description: Arc<str>,
    /// Rows of a batch, for files that Parquet's source does not read.
    pub(super) batch_size: usize,
    /// Floating-point columns that may hold NaN.
    nan_columns: Arc<HashSet<String>>,
    /// Set where the rows that are read are to be changed.
    target: Option<Arc<ScannedTarget>>,
}

impl IcebergSource {
    /// A source over `parquet`, whose files carry their `FileColumns` as extension.
    ///
    /// # Errors
    /// `parquet` takes no projection.
    pub fn try_new(
        parquet: ParquetSource,
        columns: Arc<TableColumns>,
        deletes: ScanDeletes,
        description: impl Into<Arc<str>>,
    ) -> Result<Self> {
        let source = Self {
            projection: ProjectionExprs::new([]),
            parquet,
            columns,
            deletes: Arc::new(deletes),
            description: description.into(),
            batch_size: DEFAULT_BATCH_SIZE,
            nan_columns: Arc::default(),
            target: None,
        };
        let schema = Arc::clone(source.parquet.table_schema().table_schema());
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        source.projected(
            &ProjectionExprs::from_indices(&all, &schema),
            source.columns_from(0),
        )
    }

    /// All columns of the scan, if they are found from this place on.
    fn columns_from(&self, first: usize) -> Vec<ProjectionExpr> {
        let columns = self.parquet.table_schema().table_schema().fields().iter();
        let columns = columns.enumerate().map(|(place, field)| {
            let column = Arc::new(Column::new(field.name(), first + place));
            ProjectionExpr::new(column, format!("\u{1}column {place}"))
        });
        columns.collect()
    }

    /// This source with these outputs, over those of `parquet`, where all columns follow as `rest`.
    fn projected(&self, outputs: &ProjectionExprs, rest: Vec<ProjectionExpr>) -> Result<Self> {
        let all = ProjectionExprs::new(outputs.iter().cloned().chain(rest));
        let Some(changed) = self.parquet.try_pushdown_projection(&all)? else {
            return internal_err!("the Parquet source took no projection");
        };
        let mut source = self.with_parquet(&changed)?;
        let inner = source.parquet.projection().into_iter().flat_map(|p| p.iter());
        source.projection = ProjectionExprs::new(inner.take(outputs.iter().count()).cloned());
        Ok(source)
    }

    /// Names the floating-point columns that may hold NaN. Arrow puts NaN above or below all numbers, depending on its
    /// sign, but the statistics of Parquet leave it out: filters on such columns must not prune row groups.
    #[must_use]
    pub fn with_nan_columns(mut self, columns: HashSet<String>) -> Self {
        self.nan_columns = Arc::new(columns);
        self
    }

    /// The same, whose rows are to be changed.
    #[must_use]
    pub(crate) fn with_target(mut self, target: Option<Arc<ScannedTarget>>) -> Self {
        self.target = target;
        self
    }

    /// What is read, where the rows are to be changed.
    pub(crate) fn target(&self) -> Option<&Arc<ScannedTarget>> {
        self.target.as_ref()
    }

    /// This source over what `changed` made of its Parquet source.
    fn over(&self, changed: &Arc<dyn FileSource>) -> Result<Arc<dyn FileSource>> {
        Ok(Arc::new(self.with_parquet(changed)?))
    }

    fn with_parquet(&self, changed: &Arc<dyn FileSource>) -> Result<Self> {
        match changed.downcast_ref::<ParquetSource>() {
            Some(parquet) => Ok(Self {
                parquet: parquet.clone(),
                ..self.clone()
            }),
            None => internal_err!("the Parquet source became a source of {}", changed.file_type()),
        }
    }

    /// The Parquet source with these outputs alone, which are over the columns of the scan.
    pub(super) fn parquet_with(&self, outputs: &ProjectionExprs) -> Result<Arc<dyn FileSource>> {
        let known: Vec<_> = self.projection.iter().map(|p| p.expr.as_ref()).collect();
        let columns = self.parquet.table_schema().table_schema().fields().len();
        let over_parquet = |output: &ProjectionExpr| {
            let name = output.alias.clone();
            if let Some(place) = known.iter().position(|known| *known == output.expr.as_ref()) {
                return Ok(ProjectionExpr::new(Arc::new(Column::new(&name, place)), name));
            }
            let shifted =
                Arc::clone(&output.expr).transform_up(|expr| match expr.downcast_ref::<Column>() {
                    Some(column) if column.index() < columns => {
                        let shifted = Column::new(column.name(), known.len() + column.index());
                        Ok(Transformed::yes(Arc::new(shifted) as Arc<dyn PhysicalExpr>))
                    }
                    Some(column) => internal_err!("`{}` is no column of the scan", column.name()),
                    None => Ok(Transformed::no(expr)),
                })?;
            Ok(ProjectionExpr::new(shifted.data, name))
        };
        let outputs = outputs.iter().map(over_parquet).collect::<Result<Vec<_>>>()?;
        match self
            .parquet
            .try_pushdown_projection(&ProjectionExprs::new(outputs))?
        {
            Some(parquet) => Ok(parquet),
            None => internal_err!("the Parquet source took no projection"),
        }
    }

    /// Whether a filter may prune and become a row filter inside the Parquet reader. A column of a nested type has
    /// another shape in each file, and the reader leaves out silently what it cannot evaluate there; row ids are made
    /// from positions, which exist only after row filters; for NaN see [`with_nan_columns`](Self::with_nan_columns).
    fn may_be_offered(&self, filter: &Arc<dyn PhysicalExpr>) -> bool {
        let schema = self.parquet.table_schema().table_schema();
        let mut may = true;
        // The closure never fails.
        let _ = filter.apply(|expr| {
            if let Some(column) = expr.downcast_ref::<Column>() {
                may &= match schema.field_with_name(column.name()) {
                    Ok(field) => {
                        let made = field_id(field).is_some_and(|id| MADE_IDS.contains(&id));
                        !made && !field.data_type().is_nested() && !self.nan_columns.contains(column.name())
                    }
                    Err(_) => false,
                };
            }
            Ok(TreeNodeRecursion::Continue)
        });
        may
    }
}

impl FileSource for IcebergSource {
    fn create_file_opener(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.parquet
            .create_file_opener(object_store, base_config, partition)
    }

    fn create_morselizer(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        let opener = FileOpening {
            source: self.clone(),
            parquet: self.parquet_with(&self.projection)?,
            object_store,
            limit: base_config.limit,
            preserve_order: base_config.preserve_order,
            object_store_url: base_config.object_store_url.clone(),
            partition,
        };
        Ok(Box::new(FileMorselizer(Arc::new(opener))))
    }

    fn table_schema(&self) -> &TableSchema {
        self.parquet.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        let parquet = self.parquet.with_batch_size(batch_size);
        // A Parquet source stays one; were it not so, the batch size would be the only thing lost.
        let mut source = self.with_parquet(&parquet).unwrap_or_else(|_| self.clone());
        source.batch_size = batch_size;
        Arc::new(source)
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.parquet.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.parquet.metrics()
    }

    fn file_type(&self) -> &str {
        self.parquet.file_type()
    }

    fn fmt_extra(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::TreeRender => writeln!(f, "{}", self.description)?,
            _ => write!(f, ", {}", self.description)?,
        }
        self.parquet.fmt_extra(t, f)
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.parquet.reorder_files(files)
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let allowed: Vec<bool> = filters.iter().map(|f| self.may_be_offered(f)).collect();
        let offered = filters
            .into_iter()
            .zip(&allowed)
            .filter_map(|(filter, allowed)| allowed.then_some(filter))
            .collect();
        let answer = self.parquet.try_pushdown_filters(offered, config)?;
        let mut taken = answer.filters.into_iter();
        let filters = allowed
            .iter()
            .map(|allowed| match allowed {
                true => taken.next().unwrap_or(PushedDown::No),
                false => PushedDown::No,
            })
            .collect();
        Ok(FilterPushdownPropagation {
            filters,
            updated_node: answer.updated_node.map(|n| self.over(&n)).transpose()?,
        })
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        eq_properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        Ok(match self.parquet.try_pushdown_sort(order, eq_properties)? {
            SortOrderPushdownResult::Exact { inner } => SortOrderPushdownResult::Exact {
                inner: self.over(&inner)?,
            },
            SortOrderPushdownResult::Inexact { inner } => SortOrderPushdownResult::Inexact {
                inner: self.over(&inner)?,
            },
            SortOrderPushdownResult::Unsupported => SortOrderPushdownResult::Unsupported,
        })
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        let rest = self.columns_from(self.projection.iter().count());
        Ok(Some(Arc::new(self.projected(projection, rest)?)))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.parquet.apply_expressions(f)
    }
}

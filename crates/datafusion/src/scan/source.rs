//! DataFusion's Parquet source, told for each file how its columns become those of the table.
//!
//! Reading, pruning of row groups and pages, row filters, dynamic filters, limits, splitting of files are those of
//! [`ParquetSource`], which this source hands everything on to. What it adds: the expression adapter of each file, and
//! the pruning of whole files in `EXPLAIN`.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, SortOrderPushdownResult};
use datafusion_datasource::morsel::{MorselPlanner, Morselizer};

use drumlin_table::arrow::field_id;

use super::named::{Named, in_file};
use crate::metadata_columns::{LAST_UPDATED_SEQUENCE_NUMBER_ID, POS_ID, ROW_ID_ID};
use crate::projection::adapter::{FileAdapterFactory, FileColumns, TableColumns};

/// Columns that are made from positions or by the file, after row filters.
const MADE_IDS: [i32; 3] = [POS_ID, ROW_ID_ID, LAST_UPDATED_SEQUENCE_NUMBER_ID];

/// The Parquet files of an Iceberg table.
#[derive(Debug, Clone)]
pub struct IcebergSource {
    parquet: ParquetSource,
    columns: Arc<TableColumns>,
    /// What `EXPLAIN` says: table, snapshot, pruning.
    description: Arc<str>,
    /// Floating-point columns that may hold NaN.
    nan_columns: Arc<HashSet<String>>,
}

impl IcebergSource {
    /// A source over `parquet`, whose files carry their [`FileColumns`] as extension.
    pub fn new(parquet: ParquetSource, columns: Arc<TableColumns>, description: impl Into<Arc<str>>) -> Self {
        Self {
            parquet,
            columns,
            description: description.into(),
            nan_columns: Arc::default(),
        }
    }

    /// Names the floating-point columns that may hold NaN. Arrow puts NaN above or below all numbers, depending on its
    /// sign, but the statistics of Parquet leave it out: filters on such columns must not prune row groups.
    #[must_use]
    pub fn with_nan_columns(mut self, columns: HashSet<String>) -> Self {
        self.nan_columns = Arc::new(columns);
        self
    }

    /// This source over what `changed` made of its Parquet source.
    fn over(&self, changed: &Arc<dyn FileSource>) -> Result<Arc<dyn FileSource>> {
        match changed.downcast_ref::<ParquetSource>() {
            Some(parquet) => Ok(Arc::new(Self {
                parquet: parquet.clone(),
                ..self.clone()
            })),
            None => internal_err!("the Parquet source became a source of {}", changed.file_type()),
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
        Ok(Box::new(FileMorselizer {
            source: self.clone(),
            object_store,
            limit: base_config.limit,
            preserve_order: base_config.preserve_order,
            object_store_url: base_config.object_store_url.clone(),
            partition,
        }))
    }

    fn table_schema(&self) -> &TableSchema {
        self.parquet.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        let parquet = self.parquet.with_batch_size(batch_size);
        // A Parquet source stays one; were it not so, the batch size would be the only thing lost.
        self.over(&parquet).unwrap_or_else(|_| Arc::new(self.clone()))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.parquet.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.parquet.projection()
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
        let changed = self.parquet.try_pushdown_projection(projection)?;
        changed.map(|c| self.over(&c)).transpose()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.parquet.apply_expressions(f)
    }
}

/// Opens each file with its own adapter.
struct FileMorselizer {
    source: IcebergSource,
    object_store: Arc<dyn ObjectStore>,
    limit: Option<usize>,
    preserve_order: bool,
    object_store_url: datafusion::execution::object_store::ObjectStoreUrl,
    partition: usize,
}

impl fmt::Debug for FileMorselizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileMorselizer({})", self.source.description)
    }
}

impl Morselizer for FileMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let Some(columns) = file.extension::<Arc<FileColumns>>().cloned() else {
            return internal_err!(
                "{}: the file carries no column information",
                file.object_meta.location
            );
        };
        let adapter = FileAdapterFactory::new(Arc::clone(&self.source.columns), Arc::clone(&columns));
        // Of the scan's configuration a file needs only these; its list of files would be copied for each file.
        let parquet: Arc<dyn FileSource> = Arc::new(self.source.parquet.clone());
        let config = FileScanConfigBuilder::new(self.object_store_url.clone(), Arc::clone(&parquet))
            .with_limit(self.limit)
            .with_preserve_order(self.preserve_order)
            .with_expr_adapter(Some(Arc::new(adapter)))
            .build();
        let planner = parquet
            .create_morselizer(Arc::clone(&self.object_store), &config, self.partition)?
            .plan_file(file)
            .map_err(|e| in_file(e, &columns))?;
        Ok(Named::planner(planner, columns))
    }
}

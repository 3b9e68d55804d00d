//! Opening a data file of a scan: with its own expression adapter and without its deleted rows.

use std::fmt;
use std::sync::Arc;

use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileScanConfigBuilder, FileSource};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::ObjectStore;
use datafusion_datasource::morsel::{MorselPlan, MorselPlanner, Morselizer};
use drumlin_format::manifest::FileFormat;
use drumlin_table::deletes::{DeletedPositions, FileDeletes};

use super::deleted_positions::LeftOut;
use super::named::{Named, in_file};
use super::row_filter::{DeletedRows, RowFilter};
use super::source::IcebergSource;
use super::whole_file::WholeFile;
use crate::projection::adapter::{FileAdapterFactory, FileColumns};

/// Opens the files of a partition of a scan.
pub struct FileMorselizer(pub Arc<FileOpening>);

/// What is needed to open a file.
pub struct FileOpening {
    /// The source of the scan.
    pub source: IcebergSource,
    /// Its Parquet source with its outputs alone, for files whose deleted rows the reader skips.
    pub parquet: Arc<dyn FileSource>,
    /// The store that DataFusion knows, which is not used.
    pub object_store: Arc<dyn ObjectStore>,
    /// Rows that are enough.
    pub limit: Option<usize>,
    /// Whether rows must come in the order of the file.
    pub preserve_order: bool,
    /// The name of the store.
    pub object_store_url: ObjectStoreUrl,
    /// The partition of the plan.
    pub partition: usize,
}

impl fmt::Debug for FileMorselizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileMorselizer({})", self.0.source.description)
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
        match columns.deletes.clone() {
            None => self.0.open(file, columns, None, None),
            Some(deletes) => Ok(Box::new(WithDeletes {
                opening: Arc::clone(&self.0),
                file: Box::new(file),
                columns,
                deletes,
            })),
        }
    }
}

impl FileOpening {
    /// The planner of a file. Deleted positions are those of files in other formats than Parquet, whose reader
    /// and row filter know them already.
    fn open(
        &self,
        file: PartitionedFile,
        columns: Arc<FileColumns>,
        deleted: Option<DeletedPositions>,
        rows: Option<RowFilter>,
    ) -> Result<Box<dyn MorselPlanner>> {
        let source = &self.source;
        let (outputs, limit) = match &rows {
            // Rows that are deleted must not count.
            Some(rows) => (rows.read(), self.limit.and_then(|limit| rows.limit(limit))),
            None => (&source.projection, self.limit),
        };
        let adapter = FileAdapterFactory::new(Arc::clone(&source.columns), Arc::clone(&columns));
        if columns.format != FileFormat::Parquet {
            // Such files are not entered in their middle: of the pieces of one, that with its first byte is all of it.
            if file.range.as_ref().is_some_and(|range| range.start != 0) {
                return Ok(Box::new(NoRows));
            }
            let whole = WholeFile {
                table: source.deletes.table().clone(),
                columns: Arc::clone(&columns),
                size: file.object_meta.size,
                adapter,
                scanned: Arc::clone(source.table_schema().table_schema()),
                outputs: outputs.clone(),
                filter: source.filter(),
                batch_size: source.batch_size,
                deleted,
            };
            return Ok(Named::planner(Box::new(whole), columns, rows.map(Arc::new)));
        }
        let parquet = match &rows {
            Some(_) => source.parquet_with(outputs)?,
            None => Arc::clone(&self.parquet),
        };
        // Of the scan's configuration a file needs only these; its list of files would be copied for each file.
        let config = FileScanConfigBuilder::new(self.object_store_url.clone(), Arc::clone(&parquet))
            .with_limit(limit)
            .with_preserve_order(self.preserve_order)
            .with_expr_adapter(Some(Arc::new(adapter)))
            .build();
        let planner = parquet
            .create_morselizer(Arc::clone(&self.object_store), &config, self.partition)?
            .plan_file(file)
            .map_err(|e| in_file(e, &columns))?;
        Ok(Named::planner(planner, columns, rows.map(Arc::new)))
    }
}

/// A file whose deletes are not loaded yet.
struct WithDeletes {
    opening: Arc<FileOpening>,
    file: Box<PartitionedFile>,
    columns: Arc<FileColumns>,
    deletes: Arc<FileDeletes>,
}

impl fmt::Debug for WithDeletes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WithDeletes({})", self.columns.path)
    }
}

impl MorselPlanner for WithDeletes {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        Ok(Some(MorselPlan::new().with_pending_planner(self.loaded())))
    }
}

impl WithDeletes {
    /// The planner of the file, once its deletes are here.
    async fn loaded(self: Box<Self>) -> Result<Box<dyn MorselPlanner>> {
        let Self {
            opening,
            file,
            columns,
            deletes,
        } = *self;
        let mut file = *file;
        let source = &opening.source;
        let range = file.range.as_ref().map(|r| r.start..r.end);
        let scan = Arc::clone(&source.deletes);
        let of = Arc::clone(&columns);
        // What is loaded once for many files must not wait for the one that came first to be polled again: its
        // consumer may be waiting for the others.
        let load = SpawnedTask::spawn(async move {
            let positions = scan.positions(&of, &deletes, range).await?;
            Ok::<_, DataFusionError>((positions, scan.key_sets(&deletes).await?))
        });
        let loaded = load.join_unwind().await;
        let (mut deleted, sets) = loaded.map_err(|e| exec_datafusion_err!("loading deletes: {e}"))??;
        let mut filtered = DeletedRows {
            positions: None,
            sets,
        };
        if columns.format == FileFormat::Parquet
            && let Some(deleted) = deleted.take()
        {
            let rows = usize::try_from(columns.record_count).unwrap_or(0);
            match LeftOut::of(&deleted.positions, rows, source.batch_size) {
                LeftOut::Everything => return Ok(Box::new(NoRows)),
                LeftOut::Rows {
                    selection,
                    filtered: more,
                } => {
                    filtered.positions = more.then_some(deleted.positions);
                    if let Some(selection) = selection {
                        file = file.with_extension(selection);
                    }
                }
            }
        }
        let rows = match filtered.is_empty() {
            true => None,
            false => {
                let schema = source.parquet.table_schema().table_schema();
                let number = columns.sequence_number;
                let (projection, wanted) = (&source.projection, source.filter());
                Some(
                    source
                        .deletes
                        .row_filter(filtered, number, projection, wanted, schema)?,
                )
            }
        };
        opening.open(file, columns, deleted, rows)
    }
}

/// A file of which no row is left, or a piece of one that another piece reads.
#[derive(Debug)]
struct NoRows;

impl MorselPlanner for NoRows {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        Ok(None)
    }
}

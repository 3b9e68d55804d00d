//! From batches to data files.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow_schema::SchemaRef;
use drumlin_format::manifest::{DataContent, DataFile};
use drumlin_format::metrics::MetricsMode;
use drumlin_format::schema::Schema;

use super::columns::{check_batch, stored_batch};
use super::data_file_writer::FileKind;
use super::dictionary::Dictionaries;
use super::fan_out::FanOut;
use super::location::FileNames;
use super::open_files::{OpenFiles, OpenLimits, Partition};
use super::partition::{PartitionKey, Partitioner, Runs};
use super::row_lineage::{mode_of, with_row_lineage};
use super::shape::FileShape;
use super::{Arrangement, WriteOptions, WriteProgress, partition_columns};
use crate::arrow::schema_to_arrow;
use crate::error::{Error, Result};
use crate::memory::MemoryAccount;
use crate::table::Table;

/// Writes rows to data files of a table, of its current schema and its default partition spec, unless the options say
/// another one.
///
/// After an error the writer is of no more use: [`abort`](Self::abort) it. A writer that is dropped before it is finished
/// removes its files in a task of the runtime, if there is one.
pub struct TableFileWriter {
    table: String,
    /// The columns of batches: those of the table, and those of the row lineage if files carry it.
    schema: Arc<Schema>,
    /// The same in Arrow's terms.
    arrow: SchemaRef,
    partitioner: Partitioner,
    files: OpenFiles,
    rows: Rows,
    /// Whether a batch was not written as a whole, because of an error or because nobody waited for it. Then files may
    /// lack rows.
    incomplete: bool,
}

/// What is known of the order of the rows.
enum Rows {
    Clustered(Clustered),
    FanOut(FanOut),
}

#[derive(Default)]
struct Clustered {
    current: Option<PartitionKey>,
    /// The partitions before.
    finished: HashSet<PartitionKey>,
}

impl std::fmt::Debug for TableFileWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableFileWriter")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

impl TableFileWriter {
    /// A writer. Nothing is written before there are rows.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for tables that no file can be written to: an unknown transform, a struct of nothing but
    /// unknown fields, and for row lineage below format version 3; [`Error::Format`] for a spec or sort order that the table does not have.
    pub fn new(
        table: &Table,
        options: WriteOptions,
        arrangement: Arrangement,
        memory: Arc<dyn MemoryAccount>,
        progress: Arc<WriteProgress>,
    ) -> Result<Self> {
        let metadata = table.metadata();
        let schema = Arc::clone(metadata.current_schema());
        let spec = match options.spec_id {
            None => Some(metadata.default_spec()),
            Some(id) => metadata.spec_by_id(id),
        };
        let spec = Arc::clone(spec.ok_or_else(|| not_there("partition spec", options.spec_id))?);
        if metadata.sort_order_by_id(options.sort_order_id).is_none()
            && options.sort_order_id != drumlin_format::sort::UNSORTED_ORDER_ID
        {
            return Err(not_there("sort order", Some(options.sort_order_id)));
        }
        let partitioner = Partitioner::new(Arc::clone(&schema), Arc::clone(&spec))?;
        // What the spec cannot take is found before there are rows.
        let no_rows = RecordBatch::new_empty(Arc::new(schema_to_arrow(&schema)));
        partition_columns(&schema, &spec, &no_rows)?;
        let schema = match options.row_lineage {
            false => schema,
            true if metadata.format_version() < 3 => {
                return Err(Error::Unsupported(format!(
                    "row lineage in files of table `{}`: it is of format version {}, rows have ids from version 3 on",
                    table.name(),
                    metadata.format_version()
                )));
            }
            true => Arc::new(with_row_lineage(&schema)?),
        };
        let arrow: SchemaRef = Arc::new(schema_to_arrow(&schema));
        let shape = FileShape::new(&schema)?;
        let modes = shape
            .leaves
            .iter()
            .map(|leaf| mode_of(&options.metrics, leaf.field_id));
        let modes: Vec<MetricsMode> = modes.collect();
        let kind = FileKind {
            properties: options.parquet.writer_properties(&shape, &modes),
            dictionaries: Dictionaries::new(&shape, &options.parquet),
            shape,
            modes,
            content: DataContent::Data,
            sort_order_id: Some(options.sort_order_id),
            target_bytes: options.target_file_size_bytes,
        };
        // With one partition there is one file open at a time, in whatever order the rows are.
        let rows = match arrangement {
            Arrangement::FanOut if !partitioner.is_single() => Rows::FanOut(FanOut::default()),
            _ => Rows::Clustered(Clustered::default()),
        };
        Ok(Self {
            table: table.name().to_string(),
            schema,
            arrow,
            partitioner,
            files: OpenFiles::new(
                Arc::new(kind),
                table.storage(),
                Arc::new(FileNames::new(
                    options.locations,
                    options.partition_id,
                    ".parquet",
                )),
                OpenLimits {
                    files: options.max_open_files,
                    memory_bytes: options.memory_limit_bytes,
                },
                memory,
                progress,
            ),
            rows,
            incomplete: false,
        })
    }

    /// Writes a batch with the columns of the table, in order, of the types that
    /// [`schema_to_arrow`](crate::arrow::schema_to_arrow) says, and those of the row lineage behind them if the options
    /// say so ([`WriteOptions::with_row_lineage`]).
    ///
    /// # Errors
    /// [`Error::Row`] for columns of other types, for a null in a required field at any depth, and for a partition that
    /// comes back to a writer of [`Arrangement::Clustered`]; [`Error::NoMemory`]; those of the store.
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.table, &self.schema, &self.arrow, batch)?;
        self.check_complete()?;
        self.incomplete = true;
        self.write_checked(batch).await?;
        self.incomplete = false;
        Ok(())
    }

    fn check_complete(&self) -> Result<()> {
        match self.incomplete {
            false => Ok(()),
            true => Err(Error::Row {
                table: self.table.clone(),
                reason: "rows before could not be written: the writer can only be aborted".to_string(),
            }),
        }
    }

    async fn write_checked(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let runs = self.partitioner.runs(batch)?;
        let stored = stored_batch(&self.schema, &self.files.kind().shape, batch)?;
        match &mut self.rows {
            Rows::FanOut(rows) => rows.write(stored, runs, &self.partitioner, &mut self.files).await,
            Rows::Clustered(_) => self.write_clustered(&stored, &runs).await,
        }
    }

    async fn write_clustered(&mut self, stored: &RecordBatch, runs: &Runs) -> Result<()> {
        let Rows::Clustered(rows) = &mut self.rows else {
            return Ok(());
        };
        for (run, range) in runs.ranges().iter().enumerate() {
            let key = runs.key(run);
            let tuple = self.partitioner.tuple(runs, range.start);
            let partition = Partition {
                spec_id: self.partitioner.spec_id(),
                key,
                path: self.partitioner.path(&tuple),
                tuple,
            };
            if rows.current.as_deref() != Some(key) {
                if rows.finished.contains(key) {
                    return Err(Error::Row {
                        table: self.table.clone(),
                        reason: format!(
                            "the partition `{}` comes back after rows of others: sort the rows by partition, or write \
                             them with fan-out",
                            partition.path
                        ),
                    });
                }
                if let Some(before) = rows.current.replace(key.into()) {
                    self.files.close(&before).await?;
                    rows.finished.insert(before);
                }
            }
            let rows = stored.slice(range.start, range.len());
            self.files.write(&partition, &rows).await?;
        }
        Ok(())
    }

    /// Completes all files. They have their metrics, and are as they go into a manifest.
    ///
    /// # Errors
    /// Those of the store, and [`Error::Row`] if a batch before could not be written; then the files are removed.
    pub async fn finish(mut self) -> Result<Vec<DataFile>> {
        let waiting = match &mut self.rows {
            _ if self.incomplete => self.check_complete(),
            Rows::FanOut(rows) => rows.flush(&self.partitioner, &mut self.files).await,
            Rows::Clustered(_) => Ok(()),
        };
        let files = match waiting {
            Ok(()) => self.files.finish().await,
            Err(e) => Err(e),
        };
        if files.is_err() {
            self.files.abort().await;
        }
        files
    }

    /// Removes all files of the writer, complete or not, as far as the store lets us.
    pub async fn abort(mut self) {
        self.files.abort().await;
    }
}

fn not_there(what: &str, id: Option<i32>) -> Error {
    let id = id.unwrap_or_default();
    drumlin_format::Error::invalid(format!("{what} {id}"), "the table has none of this id").into()
}

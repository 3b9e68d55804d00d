//! Position delete files (§ Position Delete Files): the paths of data files and positions in them, sorted by both.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewBuilder};
use arrow::buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};
use drumlin_format::manifest::{DataContent, DataFile};
use drumlin_format::metrics::MetricsMode;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};
use futures::StreamExt;

use super::DeletedRows;
use crate::deletes::{FILE_PATH_ID, POS_ID, data_file_of, scope};
use crate::error::Result;
use crate::memory::UnlimitedMemory;
use crate::table::Table;
use crate::write::data_file_writer::FileKind;
use crate::write::dictionary::Dictionaries;
use crate::write::location::FileNames;
use crate::write::open_files::{OpenFiles, OpenLimits, Partition};
use crate::write::shape::FileShape;
use crate::write::{DeleteGranularity, DeleteWriteOptions, WriteProgress};

/// Rows that are put together at once.
const BATCH_ROWS: usize = 8192;

/// Files that are written at once: most are small, and wait for their store.
const CONCURRENT_FILES: usize = 8;

/// The memory of one of them, in bytes, after which its row group ends. What paths and sorted positions take as encoded is
/// far below it unless there are tens of millions.
const MEMORY_BYTES: usize = 32 << 20;

/// Writes files for the rows, which are sorted by the path of their data file.
pub async fn write(
    table: &Table,
    options: &DeleteWriteOptions,
    rows: Vec<DeletedRows>,
    progress: &WriteProgress,
) -> Result<Vec<DataFile>> {
    let writer = PositionFiles::new(table, options, progress)?;
    let failed = AtomicBool::new(false);
    let groups = groups(rows, options.granularity);
    let written: Vec<Result<OpenFiles>> = futures::stream::iter(groups)
        .map(|group| writer.write(group, &failed))
        .buffered(CONCURRENT_FILES)
        .filter_map(|written| std::future::ready(written.transpose()))
        .collect()
        .await;
    let mut complete = Vec::with_capacity(written.len());
    let mut first_error = None;
    for written in written {
        match written {
            Ok(files) => complete.push(files),
            Err(e) => first_error = first_error.or(Some(e)),
        }
    }
    if let Some(e) = first_error {
        for mut files in complete {
            files.abort().await;
        }
        return Err(e);
    }
    let mut files = Vec::with_capacity(complete.len());
    for mut of_group in complete {
        files.extend(of_group.take_closed());
    }
    for file in &mut files {
        file.referenced_data_file = data_file_of(file);
    }
    Ok(files)
}

/// Data files, all in one partition, whose deletes share a file.
type Group = Vec<DeletedRows>;

fn groups(rows: Vec<DeletedRows>, granularity: DeleteGranularity) -> Vec<Group> {
    if granularity == DeleteGranularity::File {
        return rows.into_iter().map(|of_one| vec![of_one]).collect();
    }
    let mut by_partition: BTreeMap<Vec<u8>, Group> = BTreeMap::new();
    for of in rows {
        let group = by_partition.entry(scope(of.spec_id, &of.partition));
        group.or_default().push(of);
    }
    by_partition.into_values().collect()
}

/// What all files have in common.
struct PositionFiles<'a> {
    table: &'a Table,
    kind: Arc<FileKind>,
    names: Arc<FileNames>,
    progress: Arc<WriteProgress>,
}

impl<'a> PositionFiles<'a> {
    fn new(table: &'a Table, options: &DeleteWriteOptions, progress: &WriteProgress) -> Result<Self> {
        let fields = vec![
            NestedField::required(FILE_PATH_ID, "file_path", PrimitiveType::String),
            NestedField::required(POS_ID, "pos", PrimitiveType::Long),
        ];
        let shape = FileShape::new(&Schema::new(0, fields, Vec::new())?)?;
        // Bounds that are cut would not tell which data files are named.
        let modes = vec![MetricsMode::Full; shape.leaves.len()];
        let kind = FileKind {
            properties: options.parquet.writer_properties(&shape, &modes),
            dictionaries: Dictionaries::new(&shape, &options.parquet),
            shape,
            modes,
            content: DataContent::PositionDeletes,
            // By path and position: that is no order of the table.
            sort_order_id: None,
            target_bytes: options.target_file_size_bytes,
        };
        let ending = "-deletes.parquet";
        let names = FileNames::new(options.locations.clone(), options.partition_id, ending);
        Ok(Self {
            table,
            kind: Arc::new(kind),
            names: Arc::new(names),
            progress: Arc::new(progress.clone()),
        })
    }

    /// Writes the files of a group, which are closed then; `None` if another group has failed before.
    async fn write(&self, group: Group, failed: &AtomicBool) -> Result<Option<OpenFiles>> {
        if failed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let limits = OpenLimits {
            files: 1,
            memory_bytes: MEMORY_BYTES,
        };
        let mut files = OpenFiles::new(
            Arc::clone(&self.kind),
            self.table.storage(),
            Arc::clone(&self.names),
            limits,
            Arc::new(UnlimitedMemory),
            Arc::clone(&self.progress),
        );
        match self.write_rows(group, &mut files).await {
            Ok(()) => Ok(Some(files)),
            Err(e) => {
                failed.store(true, Ordering::Relaxed);
                files.abort().await;
                Err(e)
            }
        }
    }

    async fn write_rows(&self, group: Group, files: &mut OpenFiles) -> Result<()> {
        let Some(first) = group.first() else {
            return Ok(());
        };
        let spec = self.table.spec(first.spec_id, || "deletes".to_string())?;
        let partition = Partition {
            spec_id: first.spec_id,
            key: &[],
            tuple: first.partition.clone(),
            path: self.table.partition_path(spec, &first.partition),
        };
        let mut batch = Batch::default();
        for of_file in group {
            batch.runs.push((Arc::clone(&of_file.data_file), 0));
            for position in of_file.positions.iter() {
                batch.push(position);
                if batch.positions.len() >= BATCH_ROWS {
                    let rows = batch.take(&self.kind.shape.arrow)?;
                    files.write(&partition, &rows).await?;
                    batch.runs.push((Arc::clone(&of_file.data_file), 0));
                }
            }
        }
        if !batch.positions.is_empty() {
            let rows = batch.take(&self.kind.shape.arrow)?;
            files.write(&partition, &rows).await?;
        }
        files.close(partition.key).await
    }
}

/// Rows on their way to a file.
#[derive(Default)]
struct Batch {
    /// The data files, and how many of the positions are of each.
    runs: Vec<(Arc<str>, usize)>,
    positions: Vec<i64>,
}

impl Batch {
    /// Adds a position of the last data file.
    fn push(&mut self, position: u64) {
        // Positions fit 63 bits.
        self.positions.push(position.cast_signed());
        if let Some((_, rows)) = self.runs.last_mut() {
            *rows += 1;
        }
    }

    /// The rows as columns of a file. Each path is held once.
    fn take(&mut self, schema: &SchemaRef) -> Result<RecordBatch> {
        let Self { runs, positions } = std::mem::take(self);
        let invalid = |e: ArrowError| drumlin_format::Error::invalid("position deletes", e.to_string());
        let mut paths = StringViewBuilder::with_capacity(positions.len());
        for (path, rows) in runs.into_iter().filter(|(_, rows)| *rows > 0) {
            let length = u32::try_from(path.len())
                .map_err(|e| drumlin_format::Error::invalid("path of a data file", e.to_string()))?;
            let block = paths.append_block(Buffer::from(path.as_bytes()));
            for _ in 0..rows {
                paths.try_append_view(block, 0, length).map_err(invalid)?;
            }
        }
        let columns: Vec<ArrayRef> = vec![Arc::new(paths.finish()), Arc::new(Int64Array::from(positions))];
        Ok(RecordBatch::try_new(Arc::clone(schema), columns).map_err(invalid)?)
    }
}

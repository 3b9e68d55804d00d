//! One file of rows that is being written: a data file, or one of position deletes.

use std::sync::Arc;

use arrow::array::RecordBatch;
use drumlin_format::manifest::{DataContent, DataFile, FileFormat};
use drumlin_format::metrics::MetricsMode;
use drumlin_format::partition::PartitionTuple;
use parquet::arrow::AsyncArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;

use super::WriteProgress;
use super::dictionary::Dictionaries;
use super::metrics::{NanCounts, file_metrics};
use super::open_files::Partition;
use super::shape::FileShape;
use super::upload::{Upload, part_bytes};
use crate::error::{Error, Result};
use crate::storage::Storage;

/// What all files of a writer have in common.
pub struct FileKind {
    /// Their columns.
    pub shape: FileShape,
    /// The metrics modes of the leaves of the shape.
    pub modes: Vec<MetricsMode>,
    /// How they are written.
    pub properties: WriterProperties,
    /// Which columns have a dictionary only if it pays.
    pub dictionaries: Dictionaries,
    /// What they hold.
    pub content: DataContent,
    /// The order of their rows among those of the table.
    pub sort_order_id: Option<i32>,
    /// The size that they are to have, in bytes.
    pub target_bytes: u64,
}

/// An open file.
pub struct DataFileWriter {
    kind: Arc<FileKind>,
    location: String,
    spec_id: i32,
    partition: PartitionTuple,
    writer: AsyncArrowWriter<Upload>,
    nans: NanCounts,
    rows: u64,
    progress: Arc<WriteProgress>,
    /// Bytes that progress was told of.
    told_bytes: u64,
}

impl DataFileWriter {
    /// Starts a file at a location, whose first rows these are. Nothing is sent or written yet.
    pub fn new(
        kind: Arc<FileKind>,
        storage: &Storage,
        location: String,
        partition: &Partition<'_>,
        progress: Arc<WriteProgress>,
        first_rows: &RecordBatch,
    ) -> Result<Self> {
        let (store, path) = storage.resolve(&location)?;
        let upload = Upload::new(store, path, kind.target_bytes);
        // Without the Arrow schema in the footer: readers take ids and types from Parquet, and so do we.
        let options = ArrowWriterOptions::new()
            .with_properties(kind.dictionaries.properties(&kind.properties, first_rows))
            .with_parquet_schema(kind.shape.parquet.clone())
            .with_skip_arrow_metadata(true);
        let schema = Arc::clone(&kind.shape.arrow);
        let writer = AsyncArrowWriter::try_new_with_options(upload, schema, options);
        let writer = writer.map_err(|e| write_error(&location, e))?;
        Ok(Self {
            kind,
            location,
            spec_id: partition.spec_id,
            partition: partition.tuple.clone(),
            writer,
            nans: NanCounts::default(),
            rows: 0,
            progress,
            told_bytes: 0,
        })
    }

    /// Where the file will be.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Adds rows with the columns of the file.
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.nans.add(batch);
        let written = self.writer.write(batch).await;
        written.map_err(|e| write_error(&self.location, e))?;
        let rows = u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
        self.rows += rows;
        self.tell(rows, 0);
        Ok(())
    }

    /// Ends the row group.
    pub async fn flush(&mut self) -> Result<()> {
        let flushed = self.writer.flush().await;
        flushed.map_err(|e| write_error(&self.location, e))?;
        self.tell(0, 0);
        Ok(())
    }

    fn tell(&mut self, rows: u64, files: u64) {
        let bytes = self.flushed_bytes();
        self.progress
            .add(rows, bytes.saturating_sub(self.told_bytes), files);
        self.told_bytes = bytes;
    }

    fn flushed_bytes(&self) -> u64 {
        u64::try_from(self.writer.bytes_written()).unwrap_or(u64::MAX)
    }

    /// The bytes of the file if it was closed now, estimated.
    pub fn size(&self) -> u64 {
        let in_progress = u64::try_from(self.writer.in_progress_size()).unwrap_or(u64::MAX);
        self.flushed_bytes().saturating_add(in_progress)
    }

    /// The rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The memory of the row group in progress, in bytes.
    pub fn row_group_memory(&self) -> usize {
        self.writer.memory_size()
    }

    /// The memory that the file holds, in bytes: the row group, and what waits for its part of the upload to be full.
    pub fn memory(&self) -> usize {
        let waiting = usize::try_from(self.flushed_bytes()).unwrap_or(usize::MAX);
        self.row_group_memory()
            .saturating_add(waiting.min(self.part_bytes()))
    }

    /// The size of the parts of its upload.
    pub fn part_bytes(&self) -> usize {
        part_bytes(self.kind.target_bytes)
    }

    /// Completes the file. If that fails, what is there of it is removed.
    pub async fn close(mut self, storage: &Storage) -> Result<DataFile> {
        let footer = match self.writer.finish().await {
            Ok(footer) => footer,
            Err(e) => {
                let error = write_error(&self.location, e);
                self.abort(storage).await;
                return Err(error);
            }
        };
        self.tell(0, 1);
        let size = i64::try_from(self.flushed_bytes());
        let size = size.map_err(|e| Error::unreadable(&self.location, e))?;
        Ok(DataFile {
            content: self.kind.content,
            file_path: Arc::from(self.location.as_str()),
            file_format: FileFormat::Parquet,
            spec_id: self.spec_id,
            partition: self.partition,
            record_count: footer.file_metadata().num_rows(),
            file_size_in_bytes: size,
            column_metrics: file_metrics(&footer, &self.kind.shape, &self.kind.modes, &self.nans),
            key_metadata: None,
            split_offsets: split_offsets(&footer),
            equality_ids: None,
            sort_order_id: self.kind.sort_order_id,
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_in_bytes: None,
        })
    }

    /// Gives the file up, as far as the store lets us.
    pub async fn abort(self, storage: &Storage) {
        let upload = self.writer.into_inner();
        let _ = upload.abort().await;
        // A put or a completion whose answer was lost may have made the file.
        let _ = storage.delete(&self.location).await;
    }
}

/// Where row groups start, in bytes from the start of the file; `None` if it is not known of one of them.
fn split_offsets(footer: &ParquetMetaData) -> Option<Vec<i64>> {
    let starts = footer.row_groups().iter().map(|group| {
        let columns = group.columns().iter();
        let starts = columns.map(|c| c.dictionary_page_offset().unwrap_or(c.data_page_offset()));
        starts.min()
    });
    starts.collect()
}

/// The error of a file, or that of its store which the Parquet writer passed on.
pub fn write_error(location: &str, error: ParquetError) -> Error {
    let mut source: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
    loop {
        source = match source.downcast::<ParquetError>() {
            Ok(parquet) => match *parquet {
                ParquetError::External(inner) => inner,
                other => return Error::unreadable(location, format!("it cannot be written: {other}")),
            },
            Err(other) => match other.downcast::<object_store::Error>() {
                Ok(store) => return Error::store(location, *store),
                Err(other) => {
                    let text = other.to_string();
                    let io = other.downcast::<std::io::Error>().ok();
                    match io.and_then(|io| io.into_inner()) {
                        Some(inner) => inner,
                        None => return Error::unreadable(location, format!("it cannot be written: {text}")),
                    }
                }
            },
        };
    }
}

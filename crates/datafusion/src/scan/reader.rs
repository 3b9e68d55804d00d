//! Reading data files whose footer may lie.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetFileReaderFactory;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::{ParquetError, Result as ParquetResult};
use datafusion::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;

/// Makes readers that refuse footers whose columns lie outside of the file: the Parquet reader takes offsets and
/// lengths as they are, panics on some and allocates what others ask for.
pub struct CheckedReaderFactory<F> {
    readers: F,
}

impl<F> CheckedReaderFactory<F> {
    /// The same readers, checked.
    pub fn new(readers: F) -> Self {
        Self { readers }
    }
}

impl<F> fmt::Debug for CheckedReaderFactory<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CheckedReaderFactory")
    }
}

impl<F: ParquetFileReaderFactory> ParquetFileReaderFactory for CheckedReaderFactory<F> {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let size = file.object_meta.size;
        let reader = self
            .readers
            .create_reader(partition_index, file, metadata_size_hint, metrics)?;
        Ok(Box::new(CheckedReader { reader, size }))
    }
}

struct CheckedReader {
    reader: Box<dyn AsyncFileReader + Send>,
    /// The size of the file, in bytes.
    size: u64,
}

fn outside(what: &str, from: impl fmt::Display, to: impl fmt::Display, size: u64) -> ParquetError {
    ParquetError::General(format!(
        "{what} from byte {from} to {to} is not inside of the file, which has {size} bytes"
    ))
}

fn check_range(range: &Range<u64>, size: u64) -> ParquetResult<()> {
    match range.start <= range.end && range.end <= size {
        true => Ok(()),
        false => Err(outside("a page", range.start, range.end, size)),
    }
}

fn check_column(column: &ColumnChunkMetaData, size: u64) -> ParquetResult<()> {
    let start = column
        .dictionary_page_offset()
        .unwrap_or(column.data_page_offset());
    let length = column.compressed_size();
    let end = start.checked_add(length).and_then(|end| u64::try_from(end).ok());
    match end.is_some_and(|end| end <= size) && start >= 0 && length >= 0 {
        true => Ok(()),
        false => {
            let what = format!("the column chunk `{}` of {length} bytes", column.column_path());
            Err(outside(&what, start, start.saturating_add(length), size))
        }
    }
}

fn check(metadata: &ParquetMetaData, size: u64) -> ParquetResult<()> {
    for row_group in metadata.row_groups() {
        if row_group.num_rows() < 0 {
            let reason = format!("a row group of {} rows", row_group.num_rows());
            return Err(ParquetError::General(reason));
        }
        for column in row_group.columns() {
            check_column(column, size)?;
        }
    }
    Ok(())
}

impl AsyncFileReader for CheckedReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        match check_range(&range, self.size) {
            Ok(()) => self.reader.get_bytes(range),
            Err(error) => async { Err(error) }.boxed(),
        }
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        match ranges.iter().try_for_each(|range| check_range(range, self.size)) {
            Ok(()) => self.reader.get_byte_ranges(ranges),
            Err(error) => async { Err(error) }.boxed(),
        }
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        let size = self.size;
        let metadata = self.reader.get_metadata(options);
        async move {
            let metadata = metadata.await?;
            check(&metadata, size)?;
            Ok(metadata)
        }
        .boxed()
    }
}

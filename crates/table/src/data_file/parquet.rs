//! Parquet files.
//!
//! Delete files are read by this; of data files only [`check_footer`] looks at the footer, the engine's own scan reads
//! the rest.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::arrow::{ParquetRecordBatchStreamBuilder, ProjectionMask};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};

use super::bytes::FileBytes;
use crate::error::{Error, Result};

/// A Parquet file whose footer was read.
pub struct Opened {
    reader: Reader,
    metadata: ArrowReaderMetadata,
}

/// Reads the footer.
pub async fn open(bytes: FileBytes) -> Result<(SchemaRef, Opened)> {
    // An Arrow schema that a writer embedded is left aside: where there is one, field ids would come from it alone, and
    // it need not have any.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let mut reader = Reader { bytes };
    let footer = reader.get_metadata(Some(&options)).await;
    let metadata = footer.and_then(|footer| ArrowReaderMetadata::try_new(footer, options));
    let metadata = metadata.map_err(|e| error(&reader.bytes, e))?;
    Ok((Arc::clone(metadata.schema()), Opened { reader, metadata }))
}

impl Opened {
    /// The rows, with the columns at these ascending places.
    pub fn read(self, columns: &[usize], batch_size: usize) -> BoxStream<'static, Result<RecordBatch>> {
        let bytes = self.reader.bytes.clone();
        let builder = ParquetRecordBatchStreamBuilder::new_with_metadata(self.reader, self.metadata);
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        let built = builder.with_projection(mask).with_batch_size(batch_size).build();
        match built {
            Ok(batches) => batches
                .map(move |batch| batch.map_err(|e| error(&bytes, e)))
                .boxed(),
            Err(e) => {
                let error = error(&bytes, e);
                futures::stream::once(async move { Err(error) }).boxed()
            }
        }
    }
}

/// The error of the file, or that of its store which the reader passed on.
fn error(bytes: &FileBytes, error: ParquetError) -> Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<Error>() {
            Ok(own) => *own,
            Err(other) => bytes.unreadable(other),
        },
        other => bytes.unreadable(other),
    }
}

struct Reader {
    bytes: FileBytes,
}

fn passed_on(error: Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        async move { self.bytes.read(range).await.map_err(passed_on) }.boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        async move { self.bytes.read_all(&ranges).await.map_err(passed_on) }.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        _: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move {
            let size = self.bytes.size();
            let footer = ParquetMetaDataReader::new().load_and_finish(self, size).await?;
            check_footer(&footer, size)?;
            Ok(Arc::new(footer))
        }
        .boxed()
    }
}

/// Refuses a footer whose columns lie outside of the file of `size` bytes: the Parquet reader takes offsets and lengths
/// as they are, panics on some and allocates what others ask for.
pub fn check_footer(footer: &ParquetMetaData, size: u64) -> ParquetResult<()> {
    for row_group in footer.row_groups() {
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

/// The error about a part that is not inside of the file of `size` bytes.
pub fn outside(what: &str, from: impl fmt::Display, to: impl fmt::Display, size: u64) -> ParquetError {
    ParquetError::General(format!(
        "{what} from byte {from} to {to} is not inside of the file, which has {size} bytes"
    ))
}

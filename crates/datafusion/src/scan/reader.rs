//! Reading data files whose footer may lie.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetFileReaderFactory;
use datafusion::parquet::arrow::ARROW_SCHEMA_META_KEY;
use datafusion::parquet::arrow::arrow_reader::ArrowReaderOptions;
use datafusion::parquet::arrow::async_reader::AsyncFileReader;
use datafusion::parquet::errors::Result as ParquetResult;
use datafusion::parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataBuilder};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use drumlin_table::data_file::parquet::{check_footer, outside};
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

fn check_range(range: &Range<u64>, size: u64) -> ParquetResult<()> {
    match range.start <= range.end && range.end <= size {
        true => Ok(()),
        false => Err(outside("a page", range.start, range.end, size)),
    }
}

/// Takes out the Arrow schema that a writer may have embedded. Where there is one, the fields' metadata come from it
/// alone, and with it the field ids, which it need not have; and it changes types as the writer happened to hold them.
fn without_arrow_schema(metadata: Arc<ParquetMetaData>) -> Arc<ParquetMetaData> {
    let file = metadata.file_metadata();
    let pairs = file.key_value_metadata();
    if !pairs.is_some_and(|pairs| pairs.iter().any(|p| p.key == ARROW_SCHEMA_META_KEY)) {
        return metadata;
    }
    let others = pairs.map(|pairs| {
        let others = pairs.iter().filter(|p| p.key != ARROW_SCHEMA_META_KEY);
        others.cloned().collect()
    });
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_string),
        others,
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    let built = ParquetMetaDataBuilder::new(file)
        .set_row_groups(metadata.row_groups().to_vec())
        .set_column_index(metadata.column_index().cloned())
        .set_offset_index(metadata.offset_index().cloned())
        .build();
    Arc::new(built)
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
            check_footer(&metadata, size)?;
            Ok(without_arrow_schema(metadata))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use datafusion::arrow::array::{ArrayRef, Int32Array, RecordBatch};
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use datafusion::parquet::arrow::{ArrowWriter, parquet_to_arrow_schema};
    use drumlin_table::arrow::{FIELD_ID_KEY, field_id};

    use super::*;

    #[test]
    fn ids_of_the_file_count_and_not_those_of_an_embedded_schema() {
        let id = [(FIELD_ID_KEY.to_string(), "7".to_string())];
        let field = Field::new("a", DataType::Int32, true).with_metadata(id.into());
        let column: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap();
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
        let written = Arc::clone(reader.metadata());
        let read = without_arrow_schema(Arc::clone(&written));
        let pairs = read
            .file_metadata()
            .key_value_metadata()
            .cloned()
            .unwrap_or_default();
        assert!(pairs.iter().all(|p| p.key != ARROW_SCHEMA_META_KEY));
        assert_eq!(read.row_groups(), written.row_groups());
        let schema = parquet_to_arrow_schema(read.file_metadata().schema_descr(), None).unwrap();
        assert_eq!(field_id(schema.field(0)), Some(7));
    }
}

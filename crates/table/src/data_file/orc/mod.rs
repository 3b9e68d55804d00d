//! ORC files (§ Appendix A: ORC).
//!
//! They are decoded by `orc-rust`. What it leaves out is read here from the footer: the attributes of types, in which
//! Iceberg keeps field ids and what ORC's own types cannot say. The footer is also checked before that reader sees it,
//! since some damage to it would be more than a panic there.
//!
//! - [`footer`]: the end of the file
//! - [`types`]: ORC types in Arrow's terms

pub mod footer;
pub mod types;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::error::ArrowError;
use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use orc_rust::ArrowReaderBuilder;
use orc_rust::projection::ProjectionMask;
use orc_rust::reader::AsyncChunkReader;

use super::bytes::FileBytes;
use crate::error::{Error, Result};
use types::ColumnType;

/// The ORC reader asks for each stream of a stripe alone, one after the other: so much is fetched at once, in bytes.
const READ_AHEAD: u64 = 1 << 20;

/// An ORC file whose footer was read.
pub struct Opened {
    bytes: FileBytes,
    builder: ArrowReaderBuilder<Reader>,
    columns: Vec<ColumnType>,
    schema: SchemaRef,
}

/// Reads the footer.
pub async fn open(bytes: FileBytes) -> Result<(SchemaRef, Opened)> {
    let tail = footer::read_tail(&bytes).await?;
    let types = footer::types(&bytes, &tail)?;
    let reader = Reader {
        bytes: bytes.clone(),
        fetched_from: bytes.size().saturating_sub(length_of(&tail.bytes)),
        fetched: tail.bytes,
    };
    let builder = ArrowReaderBuilder::try_new_async(reader)
        .await
        .map_err(|e| error(&bytes, &e))?;
    let metadata = builder.file_metadata();
    let rows = metadata
        .stripe_metadatas()
        .iter()
        .try_fold(0u64, |rows, stripe| rows.checked_add(stripe.number_of_rows()));
    if rows != Some(metadata.number_of_rows()) {
        return Err(bytes.unreadable(format!(
            "its stripes do not have the {} rows that the file has",
            metadata.number_of_rows()
        )));
    }
    let columns = metadata
        .root_data_type()
        .children()
        .iter()
        .map(|column| types::column(column, &types))
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|reason| bytes.unreadable(reason))?;
    let fields: Vec<_> = columns.iter().map(|c| Arc::clone(&c.field)).collect();
    let schema = Arc::new(Schema::new(fields));
    let opened = Opened {
        bytes,
        builder,
        columns,
        schema: Arc::clone(&schema),
    };
    Ok((schema, opened))
}

impl Opened {
    /// The rows, with the columns at these ascending places.
    pub fn read(self, columns: &[usize], batch_size: usize) -> BoxStream<'static, Result<RecordBatch>> {
        let bytes = self.bytes;
        let schema = match self.schema.project(columns) {
            Ok(schema) => Arc::new(schema),
            Err(e) => {
                let error = bytes.unreadable(e);
                return futures::stream::once(async move { Err(error) }).boxed();
            }
        };
        let read: Vec<ColumnType> = columns
            .iter()
            .filter_map(|place| self.columns.get(*place).cloned())
            .collect();
        let decoded = Schema::new(read.iter().map(|c| Arc::clone(&c.decoded)).collect::<Vec<_>>());
        let root = self.builder.file_metadata().root_data_type();
        let mask = ProjectionMask::roots(root, read.iter().map(|c| c.index));
        let batches = self
            .builder
            .with_projection(mask)
            .with_schema(Arc::new(decoded))
            .with_batch_size(batch_size)
            .build_async();
        batches
            .map(move |batch| {
                let batch = batch.map_err(|e| error(&bytes, &e))?;
                finished(&batch, &schema).map_err(|e| bytes.unreadable(e))
            })
            .boxed()
    }
}

/// The batch in the types of the schema.
fn finished(batch: &RecordBatch, schema: &SchemaRef) -> std::result::Result<RecordBatch, ArrowError> {
    let column = |(array, field): (&ArrayRef, &arrow_schema::FieldRef)| {
        types::finished(array, field.data_type(), &|array, to| {
            let options = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            cast_with_options(array, to, &options)
        })
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column);
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// The error of the file, or that of its store which the reader passed on.
fn error(bytes: &FileBytes, error: &(dyn std::error::Error + 'static)) -> Error {
    let mut cause = Some(error);
    let mut reasons = vec![error.to_string()];
    while let Some(e) = cause {
        let of_store = e.downcast_ref::<std::io::Error>().and_then(|e| e.get_ref());
        if let Some(Passed(error)) = of_store.and_then(|e| e.downcast_ref::<Passed>()) {
            if let Error::NotFound { location, .. } = error {
                return Error::NotFound {
                    location: location.clone(),
                    context: None,
                };
            }
            return bytes.unreadable(error);
        }
        cause = e.source();
        if let Some(reason) = cause.map(ToString::to_string)
            && reasons.iter().all(|r| !r.contains(&reason))
        {
            reasons.push(reason);
        }
    }
    bytes.unreadable(reasons.join(": "))
}

/// Gives the ORC reader its ranges.
struct Reader {
    bytes: FileBytes,
    /// Where `fetched` starts in the file.
    fetched_from: u64,
    /// What was fetched last: at first the end of the file.
    fetched: Bytes,
}

fn length_of(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

impl Reader {
    /// A range, if it was fetched.
    fn found(&self, offset: u64, length: u64) -> Option<Bytes> {
        let start = usize::try_from(offset.checked_sub(self.fetched_from)?).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        (end <= self.fetched.len()).then(|| self.fetched.slice(start..end))
    }
}

/// An error that goes through the ORC reader.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Passed(Error);

impl AsyncChunkReader for Reader {
    fn len(&mut self) -> BoxFuture<'_, std::io::Result<u64>> {
        let size = self.bytes.size();
        async move { Ok(size) }.boxed()
    }

    fn get_bytes(&mut self, offset: u64, length: u64) -> BoxFuture<'_, std::io::Result<Bytes>> {
        async move {
            if let Some(found) = self.found(offset, length) {
                return Ok(found);
            }
            let end = offset.saturating_add(length);
            let ahead = offset.saturating_add(READ_AHEAD).min(self.bytes.size());
            let read = self.bytes.read(offset..end.max(ahead)).await;
            self.fetched = read.map_err(|e| std::io::Error::other(Passed(e)))?;
            self.fetched_from = offset;
            let found = self.found(offset, length);
            found.ok_or_else(|| {
                std::io::Error::other(Passed(self.bytes.unreadable("a stream was not fetched")))
            })
        }
        .boxed()
    }
}

//! The bytes of a file on their way to its store.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::ObjectStore;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use parquet::arrow::async_writer::AsyncFileWriter;
use parquet::errors::{ParquetError, Result as ParquetResult};
use tokio::io::AsyncWriteExt;

/// The least size of a part, in bytes. Stores take 10,000 parts.
const PART_BYTES: u64 = 8 << 20;

/// Parts that are on their way at one time.
const MAX_PARTS_ON_THE_WAY: usize = 4;

/// An upload in parts; a file smaller than one part goes at once when it is complete.
pub struct Upload {
    writer: BufWriter,
    part_bytes: usize,
    /// Whether it was completed, or tried to be: then there is nothing to abort.
    completed: bool,
}

/// The size of the parts of a file that will have about so many bytes.
pub fn part_bytes(expected_bytes: u64) -> usize {
    // Half of the parts are left for files that become larger than expected.
    let bytes = PART_BYTES.max(expected_bytes.div_ceil(5_000));
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Upload {
    /// An upload to an object, of a file that will have about `expected_bytes`.
    pub fn new(store: Arc<dyn ObjectStore>, path: Path, expected_bytes: u64) -> Self {
        let part_bytes = part_bytes(expected_bytes);
        let writer = BufWriter::with_capacity(store, path, part_bytes);
        Self {
            writer: writer.with_max_concurrency(MAX_PARTS_ON_THE_WAY),
            part_bytes,
            completed: false,
        }
    }

    /// Gives the upload up. What was sent is forgotten by the store, if it answers.
    pub async fn abort(mut self) -> object_store::Result<()> {
        match self.completed {
            true => Ok(()),
            false => self.writer.abort().await,
        }
    }
}

impl AsyncFileWriter for Upload {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, ParquetResult<()>> {
        async move {
            let mut left = bytes;
            // Piece by piece: a row group as a whole would be on its way all at once.
            while !left.is_empty() {
                let piece = left.split_to(left.len().min(self.part_bytes));
                let put = self.writer.put(piece).await;
                put.map_err(|e| ParquetError::External(Box::new(e)))?;
            }
            Ok(())
        }
        .boxed()
    }

    fn complete(&mut self) -> BoxFuture<'_, ParquetResult<()>> {
        async move {
            self.completed = true;
            let done = self.writer.shutdown().await;
            done.map_err(|e| ParquetError::External(Box::new(e)))
        }
        .boxed()
    }
}

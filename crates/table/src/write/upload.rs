//! The bytes of a file on their way to its store.
//!
//! `object_store` has writers of this kind, but the one that sends parts does not abort an upload of which a part failed
//! while it was being finished, and what is left of such uploads is paid for.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayloadMut, Result as StoreResult};
use parquet::arrow::async_writer::AsyncFileWriter;
use parquet::errors::{ParquetError, Result as ParquetResult};
use tokio::task::JoinSet;

/// The least size of a part, in bytes. Stores take 10,000 parts.
const PART_BYTES: u64 = 8 << 20;

/// Parts that are on their way at one time.
const MAX_PARTS_ON_THE_WAY: usize = 4;

/// An upload in parts; a file smaller than one part goes at once when it is complete.
pub struct Upload {
    store: Arc<dyn ObjectStore>,
    path: Path,
    part_bytes: usize,
    /// What waits for its part to be full.
    waiting: PutPayloadMut,
    parts: Option<Parts>,
}

struct Parts {
    upload: Box<dyn MultipartUpload>,
    on_the_way: JoinSet<StoreResult<()>>,
}

impl Parts {
    /// Waits until at most so many parts are on their way.
    async fn wait(&mut self, most: usize) -> StoreResult<()> {
        while self.on_the_way.len() > most {
            if let Some(sent) = self.on_the_way.join_next().await {
                sent.map_err(object_store::Error::from)??;
            }
        }
        Ok(())
    }
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
        Self {
            store,
            path,
            part_bytes: part_bytes(expected_bytes),
            waiting: PutPayloadMut::new(),
            parts: None,
        }
    }

    async fn put(&mut self, mut bytes: Bytes) -> StoreResult<()> {
        while !bytes.is_empty() {
            let room = self.part_bytes.saturating_sub(self.waiting.content_length());
            self.waiting.push(bytes.split_to(room.min(bytes.len())));
            if self.waiting.content_length() >= self.part_bytes {
                self.send_part().await?;
            }
        }
        Ok(())
    }

    async fn send_part(&mut self) -> StoreResult<()> {
        let parts = match &mut self.parts {
            Some(parts) => parts,
            None => self.parts.insert(Parts {
                upload: self.store.put_multipart(&self.path).await?,
                on_the_way: JoinSet::new(),
            }),
        };
        parts.wait(MAX_PARTS_ON_THE_WAY - 1).await?;
        let part = std::mem::take(&mut self.waiting).freeze();
        parts.on_the_way.spawn(parts.upload.put_part(part));
        Ok(())
    }

    async fn finish(&mut self) -> StoreResult<()> {
        if self.parts.is_some() && !self.waiting.is_empty() {
            self.send_part().await?;
        }
        match &mut self.parts {
            None => {
                let whole = std::mem::take(&mut self.waiting).freeze();
                self.store.put(&self.path, whole).await?;
            }
            Some(parts) => {
                parts.wait(0).await?;
                parts.upload.complete().await?;
                self.parts = None;
            }
        }
        Ok(())
    }

    /// Gives the upload up. What was sent is forgotten by the store, if it answers.
    pub async fn abort(self) -> StoreResult<()> {
        let Some(mut parts) = self.parts else {
            return Ok(());
        };
        parts.on_the_way.shutdown().await;
        parts.upload.abort().await
    }
}

fn passed_on(error: object_store::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

impl AsyncFileWriter for Upload {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, ParquetResult<()>> {
        async move { self.put(bytes).await.map_err(passed_on) }.boxed()
    }

    fn complete(&mut self) -> BoxFuture<'_, ParquetResult<()>> {
        async move { self.finish().await.map_err(passed_on) }.boxed()
    }
}

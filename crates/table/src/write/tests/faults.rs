//! Stores that fail, at each step of an upload.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use drumlin_format::types::{NestedField, PrimitiveType as P};
use drumlin_format::value::Value;
use futures::FutureExt;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result as StoreResult, UploadPart,
};

use super::rows::{batch, rows_of, text};
use super::{Arrangement, files_there, read, table, write};
use crate::error::Error;
use crate::storage::Storage;
use crate::table::Table;

/// A store in memory whose writing fails once, after so many steps.
#[derive(Debug)]
pub(in crate::write) struct Faulty {
    inner: InMemory,
    steps: Arc<Steps>,
}

#[derive(Debug)]
pub(in crate::write) struct Steps {
    left: AtomicIsize,
    /// Uploads that are neither complete nor aborted.
    pub(in crate::write) open: AtomicIsize,
}

impl Steps {
    fn take(&self) -> StoreResult<()> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            0 => Err(object_store::Error::Generic {
                store: "faulty",
                source: "no".into(),
            }),
            _ => Ok(()),
        }
    }
}

impl Faulty {
    /// A store that fails after so many steps, and its steps.
    pub(in crate::write) fn new(left: isize) -> (Self, Arc<Steps>) {
        let steps = Arc::new(Steps {
            left: AtomicIsize::new(left),
            open: AtomicIsize::new(0),
        });
        let store = Self {
            inner: InMemory::new(),
            steps: Arc::clone(&steps),
        };
        (store, steps)
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    steps: Arc<Steps>,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        match self.steps.take() {
            Ok(()) => self.inner.put_part(data),
            Err(e) => async { Err(e) }.boxed(),
        }
    }

    async fn complete(&mut self) -> StoreResult<PutResult> {
        self.steps.take()?;
        self.steps.open.fetch_sub(1, Ordering::Relaxed);
        self.inner.complete().await
    }

    async fn abort(&mut self) -> StoreResult<()> {
        self.steps.open.fetch_sub(1, Ordering::Relaxed);
        self.inner.abort().await
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> StoreResult<PutResult> {
        self.steps.take()?;
        self.inner.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.steps.take()?;
        self.steps.open.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(FaultyUpload {
            inner: self.inner.put_multipart_opts(path, options).await?,
            steps: Arc::clone(&self.steps),
        }))
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> StoreResult<GetResult> {
        self.inner.get_opts(path, options).await
    }

    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> StoreResult<Vec<Bytes>> {
        self.inner.get_ranges(path, ranges).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[tokio::test]
async fn each_step_of_an_upload_may_fail() {
    let columns = vec![
        NestedField::required(1, "part", P::Int),
        NestedField::required(2, "b", P::Binary),
    ];
    let plain = table(columns)
        .by(1, "part", drumlin_format::transform::Transform::Identity)
        .with("write.parquet.compression-codec", "uncompressed")
        .with("write.parquet.row-group-size-bytes", 6 << 20)
        .build();
    let schema = plain.metadata().current_schema();
    // A small file that goes at once, and one of several parts.
    let row = |part: i32, n: u8| vec![Some(Value::Int(part)), Some(Value::Bytes(vec![n; 1 << 18]))];
    let mut rows = vec![row(0, 0)];
    rows.extend((0..80).map(|n| row(1, n)));
    let batches: Vec<_> = rows.chunks(10).map(|rows| batch(schema, rows)).collect();
    let mut failed = 0;
    for step in 0..100 {
        let (store, steps) = Faulty::new(step);
        let storage = Storage::default();
        storage.register("memory:", Arc::new(store)).unwrap();
        let table = Table::new("t", storage, "", Arc::clone(plain.metadata()));
        // The writer is dropped by `write` where a batch fails.
        let outcome = write(&table, Arrangement::Clustered, &batches).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            steps.open.load(Ordering::Relaxed),
            0,
            "an upload is left at step {step}"
        );
        match outcome {
            Err(e) => {
                failed += 1;
                assert!(matches!(e, Error::Store { .. }), "step {step}: {e:?}");
                assert!(e.to_string().contains("-0000"), "step {step}: {e}");
                assert_eq!(files_there(&table).await, [""; 0], "step {step}");
            }
            Ok(files) => {
                assert_eq!(files.len(), 2);
                let mut back = Vec::new();
                for file in &files {
                    back.extend(rows_of(schema, &read(&table, file).await));
                }
                assert!(text(&back) == text(&rows));
                break;
            }
        }
    }
    // The put of the small file; the start, three parts and the end of the other.
    assert_eq!(failed, 6);
}

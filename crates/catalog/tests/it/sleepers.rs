//! A writer that sleeps between reading the newest version and creating the next one.

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use drumlin_catalog::ObjectStoreCatalog;
use drumlin_table::catalog::{Catalog, CommitError};
use drumlin_table::storage::Storage;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use crate::suite::{ident, make, set, set_property};

/// Awaits something before the first put that it is asked for.
struct Sleepy {
    inner: Arc<InMemory>,
    meanwhile: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl fmt::Debug for Sleepy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sleepy")
    }
}

impl fmt::Display for Sleepy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sleepy")
    }
}

#[async_trait]
impl ObjectStore for Sleepy {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        self.inner.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        o: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, o).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

fn catalog(store: Arc<dyn ObjectStore>) -> Arc<dyn Catalog> {
    let storage = Storage::default();
    storage.register("memory:", store).unwrap();
    Arc::new(ObjectStoreCatalog::new(storage, "memory:///w"))
}

/// An honest catalog with a table, and one whose next commit sleeps while something is done with the honest one.
async fn sleeper<F>(meanwhile: impl FnOnce(Arc<dyn Catalog>) -> F) -> (Arc<dyn Catalog>, Arc<dyn Catalog>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let inner = Arc::new(InMemory::new());
    let honest = catalog(Arc::clone(&inner) as _);
    make(&*honest, &ident(&["ns"], "t")).await;
    let meanwhile = meanwhile(Arc::clone(&honest));
    let sleepy = catalog(Arc::new(Sleepy {
        inner,
        meanwhile: Mutex::new(Some(Box::pin(meanwhile))),
    }));
    (honest, sleepy)
}

#[tokio::test]
async fn another_commit_is_a_conflict() {
    let t = ident(&["ns"], "t");
    let (honest, sleepy) = sleeper(async |honest| {
        set_property(&*honest, &ident(&["ns"], "t"), "k", "others").await;
    })
    .await;
    let answer = sleepy.commit(&t, &[], &[set("k", "own")]).await;
    assert!(matches!(answer, Err(CommitError::Conflict(_))), "{answer:?}");
    assert_eq!(
        honest.load_table(&t).await.unwrap().metadata().property("k"),
        Some("others")
    );
}

/// The version that the sleeper is about to create was made by another, fell off the log and was deleted. It is free, but
/// creating it is no commit.
#[tokio::test]
async fn a_version_that_was_used_and_deleted_is_no_commit() {
    let t = ident(&["ns"], "t");
    let (honest, sleepy) = sleeper(async |honest| {
        let t = ident(&["ns"], "t");
        for (key, value) in [
            ("write.metadata.previous-versions-max", "1"),
            ("write.metadata.delete-after-commit.enabled", "true"),
            ("k", "1"),
            ("k", "2"),
            ("k", "3"),
        ] {
            set_property(&*honest, &t, key, value).await;
        }
    })
    .await;
    // v1 was there before deleting was asked for, and stays: only the hint tells.
    let answer = sleepy.commit(&t, &[], &[set("k", "own")]).await;
    assert!(
        !matches!(answer, Ok(_) | Err(CommitError::Failed(_))),
        "{answer:?}"
    );
    assert_eq!(
        honest.load_table(&t).await.unwrap().metadata().property("k"),
        Some("3")
    );
    set_property(&*honest, &t, "k", "4").await;
    assert_eq!(
        sleepy.load_table(&t).await.unwrap().metadata().property("k"),
        Some("4")
    );
}

#[tokio::test]
async fn a_table_that_was_dropped_does_not_come_back() {
    let t = ident(&["ns"], "t");
    let (honest, sleepy) = sleeper(async |honest| {
        honest.drop_table(&ident(&["ns"], "t"), false).await.unwrap();
    })
    .await;
    let answer = sleepy.commit(&t, &[], &[set("k", "own")]).await;
    assert!(matches!(answer, Err(CommitError::Conflict(_))), "{answer:?}");
    assert!(!honest.table_exists(&t).await.unwrap());
    make(&*honest, &t).await;
}

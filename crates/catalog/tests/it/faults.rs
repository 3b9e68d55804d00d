//! A store that fails, hangs, or does what it was asked and then fails, at each request of a commit in turn.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use drumlin_catalog::{ObjectStoreCatalog, SqlCatalog, SqlCatalogOptions};
use drumlin_table::catalog::{Catalog, CommitError};
use drumlin_table::storage::Storage;
use drumlin_table::{Error, Table};
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use crate::suite::{ident, make, set};

/// What happens to one request.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// It is not carried out, and the answer is an error as of a connection that broke.
    Fail,
    /// It is not carried out, and the answer is that it may not be.
    Deny,
    /// It is carried out, and the answer is an error as of a connection that broke.
    ApplyThenFail,
    /// It is carried out, and then again, as a client does that lost the first answer.
    Twice,
    /// It is carried out after the answer was an error.
    ApplyLate,
    /// No answer comes.
    Hang,
}

#[derive(Debug)]
struct FaultyStore {
    inner: Arc<InMemory>,
    fault: Fault,
    /// How many requests are still answered as they should be.
    good: AtomicI64,
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyStore")
    }
}

fn broken() -> object_store::Error {
    object_store::Error::Generic {
        store: "FaultyStore",
        source: "connection reset".into(),
    }
}

impl FaultyStore {
    fn fault(&self) -> Option<Fault> {
        (self.good.fetch_sub(1, Ordering::SeqCst) == 0).then_some(self.fault)
    }

    /// For requests that change nothing.
    async fn read(&self, location: &Path) -> Result<()> {
        match self.fault() {
            None | Some(Fault::Twice) => Ok(()),
            Some(Fault::Deny) => Err(denied(location)),
            Some(Fault::Hang) => futures::future::pending().await,
            Some(_) => Err(broken()),
        }
    }
}

fn denied(location: &Path) -> object_store::Error {
    object_store::Error::PermissionDenied {
        path: location.to_string(),
        source: "denied".into(),
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        match self.fault() {
            None => self.inner.put_opts(location, payload, options).await,
            Some(Fault::Fail) => Err(broken()),
            Some(Fault::Deny) => Err(denied(location)),
            Some(Fault::ApplyThenFail) => {
                self.inner.put_opts(location, payload, options).await?;
                Err(broken())
            }
            Some(Fault::Twice) => {
                self.inner
                    .put_opts(location, payload.clone(), options.clone())
                    .await?;
                self.inner.put_opts(location, payload, options).await
            }
            Some(Fault::ApplyLate) => {
                let (inner, location) = (Arc::clone(&self.inner), location.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(30)).await;
                    let _ = inner.put_opts(&location, payload, options).await;
                });
                Err(broken())
            }
            Some(Fault::Hang) => futures::future::pending().await,
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.read(location).await?;
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        match self.fault() {
            None | Some(Fault::Twice) => self.inner.delete_stream(locations),
            Some(_) => futures::stream::once(async { Err(broken()) }).boxed(),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.read(prefix.unwrap_or(&Path::default())).await?;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// The catalogs that are tried, over a store.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Folder,
    Sqlite,
}

struct World {
    kind: Kind,
    inner: Arc<InMemory>,
    folder: tempfile::TempDir,
}

impl World {
    async fn open(&self, store: Arc<dyn ObjectStore>) -> Arc<dyn Catalog> {
        let storage = Storage::default();
        storage.register("memory:", store).unwrap();
        match self.kind {
            Kind::Folder => Arc::new(ObjectStoreCatalog::new(storage, "memory:///w")),
            Kind::Sqlite => {
                let uri = format!("sqlite:{}/catalog.db", self.folder.path().display());
                let options = SqlCatalogOptions::new(uri, "memory:///w");
                Arc::new(SqlCatalog::open(storage, options).await.unwrap())
            }
        }
    }

    async fn honest(&self) -> Arc<dyn Catalog> {
        self.open(Arc::clone(&self.inner) as _).await
    }
}

/// A table with some history, so that a commit also deletes an old metadata file.
async fn world(kind: Kind) -> World {
    let world = World {
        kind,
        inner: Arc::new(InMemory::new()),
        folder: tempfile::tempdir().unwrap(),
    };
    let catalog = world.honest().await;
    let t = ident(&["ns"], "t");
    make(&*catalog, &t).await;
    for (key, value) in [
        ("write.metadata.previous-versions-max", "1"),
        ("write.metadata.delete-after-commit.enabled", "true"),
        ("k", "before"),
    ] {
        catalog.commit(&t, &[], &[set(key, value)]).await.unwrap();
    }
    world
}

/// A commit with a fault at the request of this number; the answer, and what honest readers see afterwards. The third is
/// whether the fault was come to.
async fn commit_with(
    world: &World,
    fault: Fault,
    at: i64,
) -> (Option<Result<Table, CommitError>>, Table, bool) {
    let faulty = Arc::new(FaultyStore {
        inner: Arc::clone(&world.inner),
        fault,
        good: AtomicI64::new(at),
    });
    let catalog = world.open(Arc::clone(&faulty) as _).await;
    let t = ident(&["ns"], "t");
    let updates = [set("k", "after")];
    let commit = catalog.commit(&t, &[], &updates);
    let answer = tokio::time::timeout(Duration::from_millis(100), commit)
        .await
        .ok();
    if fault == Fault::ApplyLate {
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    let now = world.honest().await.load_table(&t).await.unwrap();
    (answer, now, faulty.good.load(Ordering::SeqCst) < 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_true_whatever_request_fails() {
    for kind in [Kind::Folder, Kind::Sqlite] {
        for fault in [
            Fault::Fail,
            Fault::Deny,
            Fault::ApplyThenFail,
            Fault::Twice,
            Fault::ApplyLate,
            Fault::Hang,
        ] {
            let mut unknown = 0;
            for at in 0.. {
                let world = world(kind).await;
                let (answer, now, met) = commit_with(&world, fault, at).await;
                if !met {
                    assert!(matches!(answer, Some(Ok(_))), "{answer:?}");
                    assert!(at >= 3, "{kind:?} {fault:?}: {at} requests");
                    break;
                }
                let happened = now.metadata().property("k") == Some("after");
                let case = format!("{kind:?} {fault:?} at {at}: {answer:?}, happened: {happened}");
                match &answer {
                    Some(Ok(table)) => {
                        assert!(happened, "{case}");
                        assert_eq!(table.metadata_location(), now.metadata_location(), "{case}");
                    }
                    Some(Err(CommitError::Conflict(_) | CommitError::Failed(_))) => {
                        assert!(!happened, "{case}")
                    }
                    Some(Err(CommitError::Unknown { .. })) => unknown += 1,
                    None => assert_eq!(fault, Fault::Hang, "{case}"),
                }
                // All that the table's metadata names is there.
                for entry in now.metadata().metadata_log() {
                    let there = now.storage().exists(&entry.metadata_file).await.unwrap();
                    assert!(there, "{case}: {}", entry.metadata_file);
                }
                // And it goes on.
                let catalog = world.honest().await;
                let t = ident(&["ns"], "t");
                catalog.commit(&t, &[], &[set("more", "1")]).await.unwrap();
                assert_eq!(
                    catalog.load_table(&t).await.unwrap().metadata().property("more"),
                    Some("1")
                );
            }
            // A folder's pointer is on the store: what may still come is not told as "failed".
            if matches!(kind, Kind::Folder) && matches!(fault, Fault::ApplyLate | Fault::Fail) {
                assert!(unknown > 0, "{fault:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_whose_answer_was_lost_is_done() {
    for kind in [Kind::Folder, Kind::Sqlite] {
        for fault in [Fault::ApplyThenFail, Fault::Twice] {
            let world = world(kind).await;
            let mut done = 0;
            for at in 0..12 {
                if let (Some(Ok(_)), _, true) = commit_with(&world, fault, at).await {
                    done += 1;
                }
            }
            assert!(done > 0, "{kind:?} {fault:?}");
        }
    }
}

/// A store that cannot create if absent is not written to.
#[tokio::test]
async fn stores_without_conditional_put_are_refused() {
    #[derive(Debug)]
    struct Plain(InMemory);

    impl fmt::Display for Plain {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Plain")
        }
    }

    #[async_trait]
    impl ObjectStore for Plain {
        async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
            match options.mode {
                object_store::PutMode::Overwrite => self.0.put_opts(path, payload, options).await,
                _ => Err(object_store::Error::NotImplemented {
                    operation: "put if absent".to_string(),
                    implementer: "Plain".to_string(),
                }),
            }
        }
        async fn put_multipart_opts(
            &self,
            path: &Path,
            o: PutMultipartOptions,
        ) -> Result<Box<dyn MultipartUpload>> {
            self.0.put_multipart_opts(path, o).await
        }
        async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
            self.0.get_opts(path, options).await
        }
        fn delete_stream(&self, paths: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
            self.0.delete_stream(paths)
        }
        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
            self.0.list(prefix)
        }
        async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
            self.0.list_with_delimiter(prefix).await
        }
        async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
            self.0.copy_opts(from, to, options).await
        }
    }

    let storage = Storage::default();
    let store = Arc::new(Plain(InMemory::new()));
    storage.register("memory:", Arc::clone(&store) as _).unwrap();
    let catalog = ObjectStoreCatalog::new(storage.clone(), "memory:///w");
    let catalog: &dyn Catalog = &catalog;
    let t = ident(&["ns"], "t");
    catalog
        .create_namespace(&t.namespace, &Default::default())
        .await
        .unwrap();
    let answer = catalog.create_table(&t, crate::suite::creation()).await;
    assert!(matches!(answer, Err(Error::Unsupported(_))), "{answer:?}");
    assert!(!catalog.table_exists(&t).await.unwrap());
    assert!(
        store
            .head(&Path::from("w/ns/t/metadata/v1.metadata.json"))
            .await
            .is_err()
    );
    // A database has the pointer: its metadata files have names of their own, and need no condition.
    let options = SqlCatalogOptions::new("sqlite::memory:", "memory:///sql");
    let catalog = SqlCatalog::open(storage, options).await.unwrap();
    make(&catalog, &t).await;
}

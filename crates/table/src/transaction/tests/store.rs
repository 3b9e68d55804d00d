//! A store in memory that counts its requests and can fail or hang at one of them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// What goes wrong at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It does not happen, and the answer says so.
    Fail,
    /// It does not happen, and no answer comes.
    Hang,
    /// It happens, and the answer is an error.
    ApplyThenFail,
    /// It happens, and no answer comes.
    ApplyThenHang,
    /// For the catalog: it does not happen, and the answer does not tell.
    Unknown,
    /// For the catalog: it happens, and its repetition is answered with a conflict.
    ApplyThenConflict,
}

/// The steps of a commit, counted over the store and the catalog; from 1.
#[derive(Debug, Default)]
pub struct Steps {
    count: AtomicUsize,
    fault: Mutex<Option<(usize, Fault)>>,
    names: Mutex<Vec<String>>,
}

impl Steps {
    /// Something goes wrong at step `n`, once.
    pub fn fail_at(&self, n: usize, fault: Fault) {
        *self.fault.lock().unwrap() = Some((n, fault));
    }

    /// Nothing goes wrong any more.
    pub fn heal(&self) {
        *self.fault.lock().unwrap() = None;
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    pub fn names(&self) -> Vec<String> {
        self.names.lock().unwrap().clone()
    }

    /// Takes the next step.
    pub fn next(&self, name: &str) -> Option<Fault> {
        let n = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        self.names.lock().unwrap().push(name.to_string());
        let mut fault = self.fault.lock().unwrap();
        let found = fault.filter(|(at, _)| *at == n).map(|(_, fault)| fault);
        if found.is_some() {
            *fault = None;
        }
        found
    }
}

/// What is in the store, and what was deleted from it. Never shared between tests.
#[derive(Debug, Default)]
pub struct Shelf {
    pub objects: InMemory,
    pub deleted: Mutex<BTreeSet<String>>,
    pub written: Mutex<BTreeSet<String>>,
    /// Names that were written a second time.
    pub overwritten: Mutex<BTreeSet<String>>,
}

/// A view of a shelf whose requests are steps.
#[derive(Debug)]
pub struct StepStore {
    pub shelf: Arc<Shelf>,
    pub steps: Arc<Steps>,
}

impl fmt::Display for StepStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StepStore")
    }
}

fn failed() -> object_store::Error {
    object_store::Error::Generic {
        store: "StepStore",
        source: "a fault of the test".into(),
    }
}

/// The fault before something happens; what is left is for afterwards.
async fn before(fault: Option<Fault>) -> Result<Option<Fault>> {
    match fault {
        Some(Fault::Fail | Fault::Unknown) => Err(failed()),
        Some(Fault::Hang) => std::future::pending().await,
        other => Ok(other),
    }
}

async fn after(fault: Option<Fault>) -> Result<()> {
    match fault {
        Some(Fault::ApplyThenHang) => std::future::pending().await,
        Some(_) => Err(failed()),
        None => Ok(()),
    }
}

#[async_trait]
impl ObjectStore for StepStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let fault = before(self.steps.next("get")).await?;
        let answer = self.shelf.objects.get_opts(location, options).await;
        after(fault).await?;
        answer
    }

    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let fault = before(self.steps.next("put")).await?;
        if !self.shelf.written.lock().unwrap().insert(location.to_string()) {
            self.shelf
                .overwritten
                .lock()
                .unwrap()
                .insert(location.to_string());
        }
        let answer = self.shelf.objects.put_opts(location, payload, options).await;
        after(fault).await?;
        answer
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.shelf.objects.put_multipart_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let (shelf, steps) = (Arc::clone(&self.shelf), Arc::clone(&self.steps));
        locations
            .then(move |location| {
                let (shelf, steps) = (Arc::clone(&shelf), Arc::clone(&steps));
                async move {
                    let location = location?;
                    let fault = before(steps.next("delete")).await?;
                    shelf.deleted.lock().unwrap().insert(location.to_string());
                    shelf.objects.delete(&location).await?;
                    after(fault).await?;
                    Ok(location)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.shelf.objects.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.shelf.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.shelf.objects.copy_opts(from, to, options).await
    }
}

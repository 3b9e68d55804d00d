//! A store and a catalog in which one step of many goes wrong.

use std::fmt;
use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use drumlin_format::metadata::{TableRequirement, TableUpdate};
use drumlin_table::catalog::{Catalog, CommitError, Namespace, Page, PageRequest, TableIdent};
use drumlin_table::storage::Storage;
use drumlin_table::{Error, Table};
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use tokio::sync::Notify;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed before the step.
    DieBefore,
    /// The process is killed after the step.
    DieAfter,
    /// The step fails, and nothing has happened.
    FailBefore,
    /// The step is done, but what comes back is an error.
    FailAfter,
    /// The step never answers, and nothing has happened.
    HangBefore,
    /// The step is done, but the answer never comes.
    HangAfter,
}

/// Which steps of a statement are counted: requests to the store, and commits of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    All,
    /// Those that change something.
    Writes,
}

/// Counts the steps of a statement.
#[derive(Debug)]
pub struct Steps {
    counted: Counted,
    taken: AtomicUsize,
    fault: Option<(usize, Fault)>,
    hangs: Notify,
}

impl Steps {
    pub fn counted(counted: Counted) -> Arc<Self> {
        Arc::new(Self {
            counted,
            taken: AtomicUsize::new(0),
            fault: None,
            hangs: Notify::new(),
        })
    }

    pub fn with_fault(counted: Counted, at: usize, fault: Fault) -> Arc<Self> {
        Arc::new(Self {
            counted,
            taken: AtomicUsize::new(0),
            fault: Some((at, fault)),
            hangs: Notify::new(),
        })
    }

    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }

    /// Waits until a step hangs.
    pub async fn one_hangs(&self) {
        self.hangs.notified().await;
    }

    /// A step that changes nothing.
    async fn read<T, E>(
        &self,
        work: impl Future<Output = Result<T, E>>,
        error: impl FnOnce() -> E,
    ) -> Result<T, E> {
        match self.counted {
            Counted::All => self.step(work, error).await,
            Counted::Writes => work.await,
        }
    }

    async fn step<T, E>(
        &self,
        work: impl Future<Output = Result<T, E>>,
        error: impl FnOnce() -> E,
    ) -> Result<T, E> {
        let number = self.taken.fetch_add(1, Ordering::SeqCst);
        match self.fault.filter(|(at, _)| *at == number).map(|(_, fault)| fault) {
            None => work.await,
            Some(Fault::DieBefore) => die(),
            Some(Fault::DieAfter) => {
                let _ = work.await;
                die()
            }
            Some(Fault::FailBefore) => Err(error()),
            Some(Fault::FailAfter) => {
                let _ = work.await;
                Err(error())
            }
            Some(Fault::HangBefore) => {
                self.hangs.notify_one();
                pending().await
            }
            Some(Fault::HangAfter) => {
                let _ = work.await;
                self.hangs.notify_one();
                pending().await
            }
        }
    }
}

/// As `kill -9` does: nothing is flushed, closed or cleaned up.
fn die() -> ! {
    let me = std::process::id().to_string();
    let _ = std::process::Command::new("kill").args(["-9", &me]).status();
    std::process::abort()
}

fn lost() -> object_store::Error {
    object_store::Error::Generic {
        store: "faulty",
        source: "the connection was lost".into(),
    }
}

/// A store in which a request goes wrong.
#[derive(Debug)]
pub struct FaultyStore {
    pub files: Arc<dyn ObjectStore>,
    pub steps: Arc<Steps>,
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FaultyStore")
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.steps
            .read(self.files.get_opts(location, options), lost)
            .await
    }

    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.steps
            .step(self.files.put_opts(location, payload, options), lost)
            .await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self
            .steps
            .step(self.files.put_multipart_opts(location, options), lost);
        Ok(Box::new(FaultyUpload {
            upload: upload.await?,
            steps: Arc::clone(&self.steps),
        }))
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.files.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.files.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.steps
            .read(self.files.list_with_delimiter(prefix), lost)
            .await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.steps
            .step(self.files.copy_opts(from, to, options), lost)
            .await
    }
}

#[derive(Debug)]
struct FaultyUpload {
    upload: Box<dyn MultipartUpload>,
    steps: Arc<Steps>,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.upload.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.steps.step(self.upload.complete(), lost).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.upload.abort().await
    }
}

/// A catalog in which a commit goes wrong.
#[derive(Debug)]
pub struct FaultyCatalog {
    pub catalog: Arc<dyn Catalog>,
    pub steps: Arc<Steps>,
}

type Properties = std::collections::BTreeMap<String, String>;

#[async_trait]
impl Catalog for FaultyCatalog {
    fn storage(&self) -> &Storage {
        self.catalog.storage()
    }

    async fn list_namespaces(
        &self,
        parent: &Namespace,
        page: &PageRequest,
    ) -> drumlin_table::Result<Page<Namespace>> {
        self.catalog.list_namespaces(parent, page).await
    }

    async fn create_namespace(
        &self,
        namespace: &Namespace,
        properties: &Properties,
    ) -> drumlin_table::Result<()> {
        self.catalog.create_namespace(namespace, properties).await
    }

    async fn namespace_properties(&self, namespace: &Namespace) -> drumlin_table::Result<Properties> {
        self.catalog.namespace_properties(namespace).await
    }

    async fn update_namespace_properties(
        &self,
        namespace: &Namespace,
        removals: &[String],
        updates: &Properties,
    ) -> drumlin_table::Result<()> {
        self.catalog
            .update_namespace_properties(namespace, removals, updates)
            .await
    }

    async fn drop_namespace(&self, namespace: &Namespace) -> drumlin_table::Result<()> {
        self.catalog.drop_namespace(namespace).await
    }

    async fn list_tables(
        &self,
        namespace: &Namespace,
        page: &PageRequest,
    ) -> drumlin_table::Result<Page<TableIdent>> {
        self.catalog.list_tables(namespace, page).await
    }

    async fn load_table(&self, table: &TableIdent) -> drumlin_table::Result<Table> {
        self.catalog.load_table(table).await
    }

    async fn table_exists(&self, table: &TableIdent) -> drumlin_table::Result<bool> {
        self.catalog.table_exists(table).await
    }

    async fn default_location(&self, table: &TableIdent) -> drumlin_table::Result<String> {
        self.catalog.default_location(table).await
    }

    async fn drop_table(&self, table: &TableIdent, purge: bool) -> drumlin_table::Result<()> {
        self.catalog.drop_table(table, purge).await
    }

    async fn rename_table(&self, from: &TableIdent, to: &TableIdent) -> drumlin_table::Result<()> {
        self.catalog.rename_table(from, to).await
    }

    async fn register_table(&self, table: &TableIdent, location: &str) -> drumlin_table::Result<Table> {
        self.catalog.register_table(table, location).await
    }

    async fn commit(
        &self,
        table: &TableIdent,
        requirements: &[TableRequirement],
        updates: &[TableUpdate],
    ) -> Result<Table, CommitError> {
        let work = self.catalog.commit(table, requirements, updates);
        // What a client sees whose connection breaks: no answer, and no name of a metadata file.
        let unknown = || CommitError::Unknown {
            metadata_location: None,
            source: Error::Stopped("the connection was lost".into()),
        };
        self.steps.step(work, unknown).await
    }
}

//! A catalog in memory that can be told what to answer.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use drumlin_format::metadata::{TableMetadata, TableMetadataBuilder, TableRequirement, TableUpdate};
use futures::future::BoxFuture;
use uuid::Uuid;

use super::store::{Fault, Shelf, StepStore, Steps};
use crate::catalog::{Catalog, CommitError, Namespace, Page, PageRequest, TableIdent};
use crate::clock::now_ms;
use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::table::Table;

/// What happens at a commit.
pub enum Answer {
    /// This happens first, then the commit as usual.
    After(BoxFuture<'static, ()>),
    /// As if it was a step of the [`Steps`].
    Faulty(Fault),
}

#[derive(Debug, Clone)]
struct Pointer {
    location: String,
    metadata: Arc<TableMetadata>,
}

/// A view of a catalog in memory; the views of one share their tables and files, and each has its own faults.
pub struct TestCatalog {
    storage: Storage,
    pub shelf: Arc<Shelf>,
    pub steps: Arc<Steps>,
    tables: Arc<Mutex<HashMap<TableIdent, Pointer>>>,
    script: Mutex<VecDeque<Answer>>,
    /// So many loads fail from now on.
    pub failing_loads: AtomicUsize,
    /// Commits that were asked for.
    pub commits: AtomicUsize,
    /// Whether an unknown outcome comes with the metadata file that it would have.
    pub tells_location: bool,
}

impl fmt::Debug for TestCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestCatalog")
    }
}

fn storage_of(shelf: &Arc<Shelf>, steps: &Arc<Steps>) -> Storage {
    let storage = Storage::default();
    let (shelf, steps) = (Arc::clone(shelf), Arc::clone(steps));
    storage
        .register("memory:/", Arc::new(StepStore { shelf, steps }))
        .unwrap();
    // Data files have names without a store, which are local, and are not there.
    let disk = Arc::new(object_store::memory::InMemory::new());
    storage.register("file:///", disk).unwrap();
    storage
}

fn fault() -> Error {
    Error::Catalog {
        catalog: "test".into(),
        reason: "a fault of the test".into(),
    }
}

impl TestCatalog {
    pub fn new() -> Self {
        Self::over(Arc::default(), Arc::default())
    }

    fn over(shelf: Arc<Shelf>, tables: Arc<Mutex<HashMap<TableIdent, Pointer>>>) -> Self {
        let steps = Arc::default();
        Self {
            storage: storage_of(&shelf, &steps),
            shelf,
            steps,
            tables,
            script: Mutex::default(),
            failing_loads: AtomicUsize::new(0),
            commits: AtomicUsize::new(0),
            tells_location: true,
        }
    }

    /// Another view of the same tables, in which nothing goes wrong.
    pub fn view(&self) -> Self {
        Self::over(Arc::clone(&self.shelf), Arc::clone(&self.tables))
    }

    /// The next commits are answered so, those after them as usual.
    pub fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.script.lock().unwrap().extend(answers);
    }

    pub fn commits(&self) -> usize {
        self.commits.load(Ordering::SeqCst)
    }

    /// Makes the pointer as it is said, past all rules.
    pub fn put(&self, ident: &TableIdent, metadata: TableMetadata) {
        let location = format!(
            "{}/metadata/{}.metadata.json",
            metadata.location(),
            Uuid::new_v4()
        );
        let pointer = Pointer {
            location,
            metadata: Arc::new(metadata),
        };
        self.tables.lock().unwrap().insert(ident.clone(), pointer);
    }

    pub fn remove(&self, ident: &TableIdent) {
        self.tables.lock().unwrap().remove(ident);
    }

    fn table(&self, ident: &TableIdent, pointer: &Pointer) -> Table {
        Table::new(
            ident.to_string(),
            self.storage.clone(),
            pointer.location.clone(),
            Arc::clone(&pointer.metadata),
        )
    }

    fn swap(
        &self,
        ident: &TableIdent,
        requirements: &[TableRequirement],
        updates: &[TableUpdate],
        location: String,
    ) -> Result<Table, CommitError> {
        let mut tables = self.tables.lock().unwrap();
        let base = tables.get(ident).cloned();
        for requirement in requirements {
            requirement
                .check(base.as_ref().map(|b| b.metadata.as_ref()))
                .map_err(Error::from)?;
        }
        let mut builder = match base {
            Some(base) => TableMetadataBuilder::from(base.metadata.as_ref().clone(), Some(base.location)),
            None => TableMetadataBuilder::empty(),
        };
        builder.apply_all(updates.to_vec()).map_err(Error::from)?;
        let metadata = builder.build(now_ms()).map_err(Error::from)?;
        // What is written can be read.
        let read = TableMetadata::from_bytes(&metadata.to_json_bytes().unwrap()).unwrap();
        let pointer = Pointer {
            location,
            metadata: Arc::new(read),
        };
        tables.insert(ident.clone(), pointer.clone());
        Ok(self.table(ident, &pointer))
    }
}

#[async_trait]
impl Catalog for TestCatalog {
    fn storage(&self) -> &Storage {
        &self.storage
    }

    async fn list_namespaces(&self, _: &Namespace, _: &PageRequest) -> Result<Page<Namespace>> {
        unimplemented!()
    }

    async fn create_namespace(&self, _: &Namespace, _: &BTreeMap<String, String>) -> Result<()> {
        Ok(())
    }

    async fn namespace_properties(&self, _: &Namespace) -> Result<BTreeMap<String, String>> {
        Ok(BTreeMap::new())
    }

    async fn update_namespace_properties(
        &self,
        _: &Namespace,
        _: &[String],
        _: &BTreeMap<String, String>,
    ) -> Result<()> {
        unimplemented!()
    }

    async fn drop_namespace(&self, _: &Namespace) -> Result<()> {
        unimplemented!()
    }

    async fn list_tables(&self, _: &Namespace, _: &PageRequest) -> Result<Page<TableIdent>> {
        unimplemented!()
    }

    async fn load_table(&self, table: &TableIdent) -> Result<Table> {
        match self.steps.next("load") {
            Some(Fault::Hang | Fault::ApplyThenHang) => std::future::pending().await,
            Some(_) => return Err(fault()),
            None => {}
        }
        let fewer = |n: usize| n.checked_sub(1);
        let loads = &self.failing_loads;
        if loads
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer)
            .is_ok()
        {
            return Err(fault());
        }
        match self.tables.lock().unwrap().get(table) {
            Some(pointer) => Ok(self.table(table, pointer)),
            None => Err(Error::NoSuchTable {
                table: table.to_string(),
            }),
        }
    }

    async fn table_exists(&self, table: &TableIdent) -> Result<bool> {
        Ok(self.tables.lock().unwrap().contains_key(table))
    }

    async fn default_location(&self, table: &TableIdent) -> Result<String> {
        Ok(format!("memory:/wh/{}", table.name))
    }

    async fn drop_table(&self, table: &TableIdent, _: bool) -> Result<()> {
        self.remove(table);
        Ok(())
    }

    async fn rename_table(&self, _: &TableIdent, _: &TableIdent) -> Result<()> {
        unimplemented!()
    }

    async fn register_table(&self, _: &TableIdent, _: &str) -> Result<Table> {
        unimplemented!()
    }

    async fn commit(
        &self,
        table: &TableIdent,
        requirements: &[TableRequirement],
        updates: &[TableUpdate],
    ) -> Result<Table, CommitError> {
        self.commits.fetch_add(1, Ordering::SeqCst);
        let step = self.steps.next("commit");
        let answer = self.script.lock().unwrap().pop_front();
        let fault_now = match answer {
            Some(Answer::Faulty(fault)) => Some(fault),
            Some(Answer::After(first)) => {
                first.await;
                step
            }
            None => step,
        };
        let location = format!(
            "memory:/wh/{}/metadata/{}.metadata.json",
            table.name,
            Uuid::new_v4()
        );
        let told = self.tells_location.then(|| location.clone());
        let unknown = || CommitError::Unknown {
            metadata_location: told.clone(),
            source: fault(),
        };
        match fault_now {
            Some(Fault::Fail) => return Err(CommitError::Failed(fault())),
            Some(Fault::Unknown) => return Err(unknown()),
            Some(Fault::Hang) => return std::future::pending().await,
            _ => {}
        }
        let done = self.swap(table, requirements, updates, location)?;
        match fault_now {
            Some(Fault::ApplyThenFail) => Err(unknown()),
            Some(Fault::ApplyThenConflict) => Err(CommitError::Conflict("it was repeated".into())),
            Some(Fault::ApplyThenHang) => std::future::pending().await,
            _ => Ok(done),
        }
    }
}

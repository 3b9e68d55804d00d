//! A table of the suite in memory, and reading it with one file in another state.

use std::sync::Arc;
use std::sync::LazyLock;

use bytes::Bytes;
use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{Expr, col, lit};
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_datafusion::IcebergTableProvider;
use drumlin_format::manifest_list::read_manifest_list;
use drumlin_format::snapshot::ManifestListLocation;
use drumlin_table::Table;
use drumlin_table::predicate::Predicate;
use drumlin_table::storage::Storage;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::conformance::{BUCKET, metadata_location, storage};
use crate::session::cells;

/// A file of the table and its right bytes.
#[derive(Debug, Clone)]
pub struct File {
    pub location: String,
    pub bytes: Bytes,
}

impl File {
    /// The last part of its location.
    pub fn name(&self) -> &str {
        self.location.rsplit('/').next().unwrap()
    }
}

/// A table with one file of each kind to be damaged.
#[derive(Debug)]
pub struct Subject {
    pub name: &'static str,
    pub snapshot: i64,
    pub metadata: File,
    pub list: File,
    pub manifest: File,
    pub data: File,
    /// All its rows, sorted.
    pub rows: Vec<Vec<String>>,
    store: InMemory,
}

/// Sessions are made of this, so that the functions are registered once.
static STATE: LazyLock<SessionState> = LazyLock::new(|| {
    let config = SessionConfig::new().with_target_partitions(2);
    SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .build()
});

impl Subject {
    /// The small tables of versions 1, 2 and 3.
    pub async fn all() -> Vec<Arc<Self>> {
        let mut all = Vec::new();
        for name in ["v1_basic", "v2_basic", "v3_basic"] {
            all.push(Arc::new(Self::new(name).await));
        }
        all
    }

    async fn new(name: &'static str) -> Self {
        let storage = storage();
        let location = metadata_location(name, 3);
        let table = Table::open(&storage, &location).await.unwrap();
        let snapshot = table.snapshot().unwrap();
        let ManifestListLocation::File(list) = &snapshot.manifest_list else {
            panic!("{name} has a manifest list")
        };
        let tasks = table.plan_scan(&Predicate::AlwaysTrue).await.unwrap().tasks;
        let manifests = read_manifest_list(&storage.read(list).await.unwrap()).unwrap();
        let store = InMemory::new();
        let keep = async |location: &str| {
            let bytes = storage.read(location).await.unwrap();
            store.put(&key(location), bytes.clone().into()).await.unwrap();
            File {
                location: location.to_owned(),
                bytes,
            }
        };
        let metadata = keep(&location).await;
        let list = keep(list).await;
        let mut of_manifests = Vec::new();
        for manifest in &manifests {
            of_manifests.push(keep(&manifest.manifest_path).await);
        }
        let mut of_data = Vec::new();
        for task in &tasks {
            of_data.push(keep(&task.data_file().file_path).await);
        }
        let mut subject = Self {
            name,
            snapshot: snapshot.snapshot_id,
            metadata,
            list,
            manifest: of_manifests.swap_remove(1),
            data: of_data.swap_remove(1),
            rows: Vec::new(),
            store,
        };
        subject.rows = subject.read(None, Question::All).await.unwrap();
        assert_eq!(subject.rows.len(), 120);
        subject
    }

    /// The answer where one file has other bytes, or is gone. Nothing is kept from one call to the next.
    pub async fn read(
        &self,
        change: Option<(&File, Option<Bytes>)>,
        question: Question,
    ) -> Result<Vec<Vec<String>>> {
        let store = self.store.fork();
        match change {
            Some((file, Some(bytes))) => drop(store.put(&key(&file.location), bytes.into()).await.unwrap()),
            Some((file, None)) => store.delete(&key(&file.location)).await.unwrap(),
            None => {}
        }
        let storage = Storage::default();
        let store: Arc<dyn ObjectStore> = Arc::new(store);
        storage.register(BUCKET, store).unwrap();
        let external = drumlin_datafusion::error::external;
        let table = Table::open(&storage, &self.metadata.location)
            .await
            .map_err(external)?;
        let provider = IcebergTableProvider::try_new(table)?;
        let state = SessionStateBuilder::new_from_existing(STATE.clone())
            .with_runtime_env(Arc::new(RuntimeEnv::default()))
            .build();
        let frame = SessionContext::new_with_state(state).read_table(Arc::new(provider))?;
        let frame = match question {
            Question::All => frame,
            Question::Filtered => frame.filter(filter())?,
        };
        let mut rows = cells(&frame.collect().await?);
        rows.sort();
        Ok(rows)
    }
}

/// What is asked of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// All rows.
    All,
    /// Some, for which bounds and statistics are looked at.
    Filtered,
}

fn filter() -> Expr {
    col("id").gt(lit(60_i64)).and(col("customer").is_not_null())
}

fn key(location: &str) -> Path {
    Path::from(location.strip_prefix("s3://conformance/").unwrap())
}

//! The catalogs that the suite runs on, each with nothing in it.

use std::sync::Arc;

use drumlin_catalog::{EmbeddedCatalog, ObjectStoreCatalog, SqlCatalog, SqlCatalogOptions};
use drumlin_table::catalog::Catalog;
use drumlin_table::storage::{Storage, StoreOptions};
use object_store::memory::InMemory;
use tempfile::TempDir;
use uuid::Uuid;

/// A catalog with nothing in it.
pub struct Fixture {
    /// The catalog.
    pub catalog: Arc<dyn Catalog>,
    /// A second one on the same tables, which shares nothing with the first but these.
    pub other: Arc<dyn Catalog>,
    /// Whether tables are found by their folders: no properties of namespaces, no renaming, no registering.
    pub by_folder: bool,
    /// Where its tables are.
    pub warehouse: String,
    /// What has to live as long.
    pub _folder: Option<TempDir>,
}

pub async fn memory() -> Option<Fixture> {
    let store = Arc::new(InMemory::new());
    let open = || {
        let storage = Storage::default();
        storage.register("memory:", Arc::clone(&store) as _).unwrap();
        Arc::new(ObjectStoreCatalog::new(storage, "memory:///warehouse"))
    };
    Some(Fixture {
        catalog: open(),
        other: open(),
        by_folder: true,
        warehouse: "memory:///warehouse".to_string(),
        _folder: None,
    })
}

pub async fn disk() -> Option<Fixture> {
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().join("warehouse").display().to_string();
    let open = || Arc::new(ObjectStoreCatalog::new(Storage::default(), &warehouse));
    Some(Fixture {
        catalog: open(),
        other: open(),
        by_folder: true,
        warehouse: warehouse.clone(),
        _folder: Some(folder),
    })
}

/// On the S3 server of `DRUMLIN_TEST_S3`; none where there is none.
pub async fn s3() -> Option<Fixture> {
    let endpoint = variable("DRUMLIN_TEST_S3", "an S3 server")?;
    let of = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let options = StoreOptions::from([
        ("s3.endpoint".to_string(), endpoint),
        ("s3.access-key-id".to_string(), of("DRUMLIN_TEST_S3_KEY")),
        ("s3.secret-access-key".to_string(), of("DRUMLIN_TEST_S3_SECRET")),
        ("s3.region".to_string(), "us-east-1".to_string()),
        ("s3.path-style-access".to_string(), "true".to_string()),
    ]);
    let warehouse = format!("s3://{}/{}", of("DRUMLIN_TEST_S3_BUCKET"), Uuid::new_v4());
    let open = || Arc::new(ObjectStoreCatalog::new(Storage::new(options.clone()), &warehouse));
    Some(Fixture {
        catalog: open(),
        other: open(),
        by_folder: true,
        warehouse: warehouse.clone(),
        _folder: None,
    })
}

pub async fn sqlite() -> Option<Fixture> {
    let folder = tempfile::tempdir().unwrap();
    let uri = format!("sqlite:{}/new/catalog.db", folder.path().display());
    Some(database(folder, &uri).await)
}

/// In SQLite, in a file that only the first write makes.
pub async fn embedded() -> Option<Fixture> {
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().join("warehouse").display().to_string();
    let open = || Arc::new(EmbeddedCatalog::new(Storage::default(), &warehouse).unwrap());
    Some(Fixture {
        catalog: open(),
        other: open(),
        by_folder: false,
        warehouse: warehouse.clone(),
        _folder: Some(folder),
    })
}

/// On the PostgreSQL of `DRUMLIN_TEST_POSTGRES`; none where there is none.
pub async fn postgres() -> Option<Fixture> {
    let uri = variable("DRUMLIN_TEST_POSTGRES", "a PostgreSQL")?;
    Some(database(tempfile::tempdir().unwrap(), &uri).await)
}

async fn database(folder: TempDir, uri: &str) -> Fixture {
    let warehouse = folder.path().join("warehouse").display().to_string();
    let mut options = SqlCatalogOptions::new(uri, &warehouse);
    // A catalog of its own in a database that others may be using.
    options.name = Uuid::new_v4().to_string();
    let open = async || {
        Arc::new(
            SqlCatalog::open(Storage::default(), options.clone())
                .await
                .unwrap(),
        )
    };
    Fixture {
        catalog: open().await,
        other: open().await,
        by_folder: false,
        warehouse: warehouse.clone(),
        _folder: Some(folder),
    }
}

/// What `scripts/services` sets. Tests that need it say that they did not run.
pub fn variable(name: &str, what: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    if value.is_none() {
        eprintln!("skipped: needs {what}, by {name}; scripts/test starts one");
    }
    value
}

//! The catalogs that the suite runs on, each with nothing in it.

use std::sync::Arc;

use drumlin_catalog::ObjectStoreCatalog;
use drumlin_table::catalog::Catalog;
use drumlin_table::storage::Storage;
use object_store::memory::InMemory;
use tempfile::TempDir;

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

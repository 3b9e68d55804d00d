//! A warehouse in a folder of its own, as the default catalog of a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_catalog::ObjectStoreCatalog;
use drumlin_datafusion::IcebergCatalogProvider;
use drumlin_table::Table;
use drumlin_table::catalog::{Catalog, Namespace, TableIdent};
use drumlin_table::storage::Storage;

use crate::session::{extended, rows};

/// The folder goes with the last copy of it.
pub struct Warehouse {
    folder: tempfile::TempDir,
    pub catalog: Arc<dyn Catalog>,
    pub ctx: SessionContext,
}

impl Warehouse {
    /// A warehouse with the schema `s`, which is the default one.
    pub async fn new() -> Self {
        Self::with(SessionConfig::new()).await
    }

    pub async fn with(config: SessionConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let storage = Storage::default();
        let path = folder.path().to_str().unwrap();
        let catalog: Arc<dyn Catalog> = Arc::new(ObjectStoreCatalog::new(storage.clone(), path));
        let config = config
            .with_default_catalog_and_schema("w", "s")
            .with_create_default_catalog_and_schema(false);
        let ctx = extended(&storage, config);
        let provider = IcebergCatalogProvider::new(Arc::clone(&catalog));
        ctx.register_catalog("w", Arc::new(provider));
        rows(&ctx, "CREATE SCHEMA s").await;
        Self { folder, catalog, ctx }
    }

    /// The table `s.<name>` as it is now.
    pub async fn table(&self, name: &str) -> Table {
        let ident = TableIdent::new(Namespace::new(["s"]).unwrap(), name).unwrap();
        self.catalog.load_table(&ident).await.unwrap()
    }

    /// Paths of the data files below the folder of `s.<name>`, whether the table knows them or not.
    pub fn data_files(&self, name: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(&self.folder.path().join("s").join(name).join("data"), &mut found);
        found
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => walk(&path, found),
            false => found.push(path),
        }
    }
}

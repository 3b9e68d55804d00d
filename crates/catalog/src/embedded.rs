//! A warehouse on a local disk with its catalog in a SQLite file inside of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use drumlin_format::metadata::{TableRequirement, TableUpdate};
use drumlin_table::catalog::{Catalog, CommitError, Namespace, Page, PageRequest, TableIdent};
use drumlin_table::storage::Storage;
use drumlin_table::{Error, Result, Table};
use tokio::sync::OnceCell;

use crate::sql::{DEFAULT_CATALOG_NAME, SqlCatalog, SqlCatalogOptions};

/// The file of the catalog in the folder of the warehouse.
pub const CATALOG_FILE: &str = "catalog.db";

/// The [`SqlCatalog`] in `<warehouse>/catalog.db`. The file, and the warehouse itself, are made by the first thing that is
/// written to it: a session that only reads, or reads something else, leaves nothing behind. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EmbeddedCatalog {
    storage: Storage,
    file: PathBuf,
    warehouse: String,
    name: String,
    opened: Arc<OnceCell<SqlCatalog>>,
}

impl EmbeddedCatalog {
    /// The catalog of a folder, which need not be there yet.
    ///
    /// # Errors
    /// [`Error::Location`] for a place that is no folder on a local disk.
    pub fn new(storage: Storage, warehouse: &str) -> Result<Self> {
        let warehouse = warehouse.trim_end_matches('/');
        let folder = storage.on_disk(warehouse)?.ok_or_else(|| Error::Location {
            location: warehouse.to_string(),
            reason: "a catalog inside of its warehouse needs a warehouse on a local disk".to_string(),
        })?;
        Ok(Self {
            storage,
            file: folder.join(CATALOG_FILE),
            // Locations in tables are absolute, wherever this process was started.
            warehouse: folder.display().to_string(),
            name: DEFAULT_CATALOG_NAME.to_string(),
            opened: Arc::default(),
        })
    }

    /// The same under another name in the database.
    #[must_use]
    pub fn with_name(self, name: &str) -> Self {
        Self {
            name: name.to_string(),
            opened: Arc::default(),
            ..self
        }
    }

    /// The catalog, made if it is not there.
    async fn made(&self) -> Result<&SqlCatalog> {
        let open = || async {
            let uri = format!("sqlite:{}", self.file.display());
            let options = SqlCatalogOptions {
                name: self.name.clone(),
                ..SqlCatalogOptions::new(uri, self.warehouse.clone())
            };
            SqlCatalog::open(self.storage.clone(), options).await
        };
        self.opened.get_or_try_init(open).await
    }

    /// The catalog if it is there.
    async fn found(&self) -> Result<Option<&SqlCatalog>> {
        match self.opened.initialized() || self.file.exists() {
            true => Ok(Some(self.made().await?)),
            false => Ok(None),
        }
    }

    async fn in_namespace(&self, namespace: &Namespace) -> Result<Option<&SqlCatalog>> {
        let found = self.found().await?;
        match found.is_none() && !namespace.is_root() {
            true => Err(Error::NoSuchNamespace {
                namespace: namespace.to_string(),
            }),
            false => Ok(found),
        }
    }

    async fn of_table(&self, table: &TableIdent) -> Result<&SqlCatalog> {
        self.found().await?.ok_or_else(|| Error::NoSuchTable {
            table: table.to_string(),
        })
    }
}

fn nothing<T>() -> Page<T> {
    Page {
        items: Vec::new(),
        next: None,
    }
}

#[async_trait]
impl Catalog for EmbeddedCatalog {
    fn storage(&self) -> &Storage {
        &self.storage
    }

    async fn list_namespaces(&self, parent: &Namespace, page: &PageRequest) -> Result<Page<Namespace>> {
        match self.in_namespace(parent).await? {
            Some(catalog) => catalog.list_namespaces(parent, page).await,
            None => Ok(nothing()),
        }
    }

    async fn create_namespace(
        &self,
        namespace: &Namespace,
        properties: &BTreeMap<String, String>,
    ) -> Result<()> {
        self.made().await?.create_namespace(namespace, properties).await
    }

    async fn namespace_properties(&self, namespace: &Namespace) -> Result<BTreeMap<String, String>> {
        match self.in_namespace(namespace).await? {
            Some(catalog) => catalog.namespace_properties(namespace).await,
            None => Ok(BTreeMap::new()),
        }
    }

    async fn update_namespace_properties(
        &self,
        namespace: &Namespace,
        removals: &[String],
        updates: &BTreeMap<String, String>,
    ) -> Result<()> {
        let catalog = self.made().await?;
        catalog
            .update_namespace_properties(namespace, removals, updates)
            .await
    }

    async fn drop_namespace(&self, namespace: &Namespace) -> Result<()> {
        match self.in_namespace(namespace).await? {
            Some(catalog) => catalog.drop_namespace(namespace).await,
            None => self.made().await?.drop_namespace(namespace).await,
        }
    }

    async fn list_tables(&self, namespace: &Namespace, page: &PageRequest) -> Result<Page<TableIdent>> {
        match self.in_namespace(namespace).await? {
            Some(catalog) => catalog.list_tables(namespace, page).await,
            None => Ok(nothing()),
        }
    }

    async fn load_table(&self, table: &TableIdent) -> Result<Table> {
        self.of_table(table).await?.load_table(table).await
    }

    async fn table_exists(&self, table: &TableIdent) -> Result<bool> {
        match self.found().await? {
            Some(catalog) => catalog.table_exists(table).await,
            None => Ok(false),
        }
    }

    async fn default_location(&self, table: &TableIdent) -> Result<String> {
        self.made().await?.default_location(table).await
    }

    async fn drop_table(&self, table: &TableIdent, purge: bool) -> Result<()> {
        self.of_table(table).await?.drop_table(table, purge).await
    }

    async fn rename_table(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        self.of_table(from).await?.rename_table(from, to).await
    }

    async fn register_table(&self, table: &TableIdent, metadata_location: &str) -> Result<Table> {
        self.made().await?.register_table(table, metadata_location).await
    }

    async fn commit(
        &self,
        table: &TableIdent,
        requirements: &[TableRequirement],
        updates: &[TableUpdate],
    ) -> Result<Table, CommitError> {
        self.made().await?.commit(table, requirements, updates).await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn reading_makes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let warehouse = folder.path().join("warehouse");
        let catalog = EmbeddedCatalog::new(Storage::default(), warehouse.to_str().unwrap()).unwrap();
        let root = Namespace::root();
        let page = PageRequest::default();
        assert_eq!(catalog.list_namespaces(&root, &page).await.unwrap(), nothing());
        let table = TableIdent::new(Namespace::new(["s"]).unwrap(), "t").unwrap();
        assert!(!catalog.table_exists(&table).await.unwrap());
        let error = catalog.load_table(&table).await.unwrap_err();
        assert!(matches!(error, Error::NoSuchTable { .. }), "{error}");
        assert!(!warehouse.exists());
        catalog
            .create_namespace(&table.namespace, &BTreeMap::new())
            .await
            .unwrap();
        assert!(warehouse.join(CATALOG_FILE).exists());
    }
}

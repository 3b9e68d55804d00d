//! Catalogs that load each table once, for statements that are planned in several passes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, TableProvider};
use datafusion::error::Result;
use datafusion::execution::{SessionState, SessionStateBuilder};

/// The same session with catalogs that load each table at most once.
pub(super) fn load_once(state: SessionState) -> SessionState {
    let catalogs = LoadedCatalogs {
        inner: Arc::clone(state.catalog_list()),
        tables: Arc::default(),
    };
    SessionStateBuilder::new_from_existing(state)
        .with_catalog_list(Arc::new(catalogs))
        .build()
}

/// By catalog, schema and name; `None`: there is no such table.
type Tables = Arc<Mutex<HashMap<[String; 3], Option<Arc<dyn TableProvider>>>>>;

#[derive(Debug)]
struct LoadedCatalogs {
    inner: Arc<dyn CatalogProviderList>,
    tables: Tables,
}

impl CatalogProviderList for LoadedCatalogs {
    fn register_catalog(
        &self,
        name: String,
        catalog: Arc<dyn CatalogProvider>,
    ) -> Option<Arc<dyn CatalogProvider>> {
        self.inner.register_catalog(name, catalog)
    }

    fn catalog_names(&self) -> Vec<String> {
        self.inner.catalog_names()
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        Some(Arc::new(LoadedCatalog {
            inner: self.inner.catalog(name)?,
            name: name.to_string(),
            tables: Arc::clone(&self.tables),
        }))
    }
}

#[derive(Debug)]
struct LoadedCatalog {
    inner: Arc<dyn CatalogProvider>,
    name: String,
    tables: Tables,
}

impl CatalogProvider for LoadedCatalog {
    fn schema_names(&self) -> Vec<String> {
        self.inner.schema_names()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        Some(Arc::new(LoadedSchema {
            inner: self.inner.schema(name)?,
            catalog: self.name.clone(),
            name: name.to_string(),
            tables: Arc::clone(&self.tables),
        }))
    }
}

#[derive(Debug)]
struct LoadedSchema {
    inner: Arc<dyn SchemaProvider>,
    catalog: String,
    name: String,
    tables: Tables,
}

#[async_trait]
impl SchemaProvider for LoadedSchema {
    fn owner_name(&self) -> Option<&str> {
        self.inner.owner_name()
    }

    fn table_names(&self) -> Vec<String> {
        self.inner.table_names()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let key = [self.catalog.clone(), self.name.clone(), name.to_string()];
        if let Some(table) = self
            .tables
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
        {
            return Ok(table.clone());
        }
        let table = self.inner.table(name).await?;
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(tables.entry(key).or_insert(table).clone())
    }

    fn table_exist(&self, name: &str) -> bool {
        self.inner.table_exist(name)
    }
}

//! A warehouse as catalog of DataFusion.
//!
//! Namespaces are schemas; levels of nested namespaces are joined by dots (`"sales.eu"`). A table is loaded anew for
//! each statement that names it, and once a statement. Views and external tables may be registered beside the tables
//! of the warehouse; they live as long as the session.

mod blocking;
mod external;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, MemorySchemaProvider, SchemaProvider, TableProvider};
use datafusion::common::{Result, not_impl_err, plan_err};
use drumlin_catalog::ObjectStoreCatalog;

use crate::IcebergTableProvider;
use crate::error::external;

pub(crate) use blocking::wait_for;
pub use external::IcebergTableFactory;

/// The catalog of a warehouse.
#[derive(Debug, Clone)]
pub struct IcebergCatalogProvider {
    catalog: Arc<ObjectStoreCatalog>,
    schemas: Arc<RwLock<HashMap<String, Arc<IcebergSchemaProvider>>>>,
}

impl IcebergCatalogProvider {
    /// A provider of the tables of a warehouse.
    pub fn new(catalog: ObjectStoreCatalog) -> Self {
        Self {
            catalog: Arc::new(catalog),
            schemas: Arc::default(),
        }
    }
}

impl CatalogProvider for IcebergCatalogProvider {
    /// Lists the warehouse. DataFusion asks in the middle of synchronous code, so that the thread waits for the store;
    /// where the store does not answer there are no names.
    fn schema_names(&self) -> Vec<String> {
        let catalog = Arc::clone(&self.catalog);
        let namespaces = wait_for(async move { catalog.list_all_namespaces().await.map_err(external) });
        let mut names: BTreeSet<String> = namespaces
            .unwrap_or_default()
            .iter()
            .map(|n| n.join("."))
            .collect();
        let schemas = self.schemas.read().unwrap_or_else(PoisonError::into_inner);
        let used = schemas
            .iter()
            .filter(|(_, s)| !s.registered.table_names().is_empty());
        names.extend(used.map(|(name, _)| name.clone()));
        names.into_iter().collect()
    }

    /// A schema of any name: whether it is there shows when a table is looked up in it.
    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let mut schemas = self.schemas.write().unwrap_or_else(PoisonError::into_inner);
        let schema = schemas.entry(name.to_string()).or_insert_with(|| {
            Arc::new(IcebergSchemaProvider {
                catalog: Arc::clone(&self.catalog),
                namespace: name.split('.').map(str::to_string).collect(),
                registered: Arc::default(),
            })
        });
        Some(Arc::clone(schema) as Arc<dyn SchemaProvider>)
    }
}

/// The tables of a namespace.
#[derive(Debug, Clone)]
pub struct IcebergSchemaProvider {
    catalog: Arc<ObjectStoreCatalog>,
    namespace: Vec<String>,
    /// Views and external tables of the session.
    registered: Arc<MemorySchemaProvider>,
}

impl IcebergSchemaProvider {
    /// Whether a name is that of a table of the warehouse, and not of a view or an external table of the session.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn is_in_warehouse(&self, name: &str) -> Result<bool> {
        if self.registered.table_exist(name) {
            return Ok(false);
        }
        self.catalog
            .table_exists(&self.levels(), name)
            .await
            .map_err(external)
    }

    fn levels(&self) -> Vec<&str> {
        self.namespace.iter().map(String::as_str).collect()
    }
}

#[async_trait]
impl SchemaProvider for IcebergSchemaProvider {
    /// See [`IcebergCatalogProvider::schema_names`].
    fn table_names(&self) -> Vec<String> {
        let this = self.clone();
        let content = wait_for(async move { this.catalog.list(&this.levels()).await.map_err(external) });
        let mut names = content.map_or_else(|_| Vec::new(), |c| c.tables);
        names.extend(self.registered.table_names());
        names.sort();
        names
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(registered) = self.registered.table(name).await? {
            return Ok(Some(registered));
        }
        let table = self
            .catalog
            .load_table(&self.levels(), name)
            .await
            .map_err(external)?;
        Ok(match table {
            Some(table) => Some(Arc::new(IcebergTableProvider::try_new(table)?)),
            None => None,
        })
    }

    fn table_exist(&self, name: &str) -> bool {
        if self.registered.table_exist(name) {
            return true;
        }
        let (this, name) = (self.clone(), name.to_string());
        wait_for(async move {
            this.catalog
                .table_exists(&this.levels(), &name)
                .await
                .map_err(external)
        })
        .unwrap_or(false)
    }

    /// Registers a view or an external table for this session; the warehouse is not written to.
    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        if self.table_exist(&name) {
            return plan_err!("the table `{}.{name}` exists", self.namespace.join("."));
        }
        self.registered.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        match self.registered.deregister_table(name)? {
            None if self.table_exist(name) => not_impl_err!(
                "writing to Iceberg tables: `{}.{name}` can only be read",
                self.namespace.join(".")
            ),
            removed => Ok(removed),
        }
    }
}

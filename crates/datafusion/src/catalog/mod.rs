//! A warehouse as catalog of DataFusion.
//!
//! Namespaces are schemas; levels of nested namespaces are joined by dots (`"sales.eu"`). A table is loaded anew for
//! each statement that names it, and once a statement.

mod blocking;
mod external;

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::Result;
use drumlin_catalog::ObjectStoreCatalog;

use crate::IcebergTableProvider;
use crate::error::external;

pub(crate) use blocking::wait_for;
pub use external::IcebergTableFactory;

/// The catalog of a warehouse.
#[derive(Debug, Clone)]
pub struct IcebergCatalogProvider {
    catalog: Arc<ObjectStoreCatalog>,
}

impl IcebergCatalogProvider {
    /// A provider of the tables of a warehouse.
    pub fn new(catalog: ObjectStoreCatalog) -> Self {
        Self {
            catalog: Arc::new(catalog),
        }
    }
}

impl CatalogProvider for IcebergCatalogProvider {
    /// Lists the warehouse. DataFusion asks in the middle of synchronous code, so that the thread waits for the store;
    /// where the store does not answer there are no names.
    fn schema_names(&self) -> Vec<String> {
        let catalog = Arc::clone(&self.catalog);
        let namespaces = wait_for(async move { catalog.list_all_namespaces().await.map_err(external) });
        namespaces.map_or_else(|_| Vec::new(), |all| all.iter().map(|n| n.join(".")).collect())
    }

    /// A schema of any name: whether it is there shows when a table is looked up in it.
    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        Some(Arc::new(IcebergSchemaProvider {
            catalog: Arc::clone(&self.catalog),
            namespace: name.split('.').map(str::to_string).collect(),
        }))
    }
}

/// The tables of a namespace.
#[derive(Debug, Clone)]
pub struct IcebergSchemaProvider {
    catalog: Arc<ObjectStoreCatalog>,
    namespace: Vec<String>,
}

impl IcebergSchemaProvider {
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
        content.map_or_else(|_| Vec::new(), |c| c.tables)
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let table = self.catalog.load_table(&self.levels(), name).await.map_err(external)?;
        Ok(match table {
            Some(table) => Some(Arc::new(IcebergTableProvider::try_new(table)?)),
            None => None,
        })
    }

    fn table_exist(&self, name: &str) -> bool {
        let (this, name) = (self.clone(), name.to_string());
        wait_for(async move { this.catalog.table_exists(&this.levels(), &name).await.map_err(external) })
            .unwrap_or(false)
    }
}

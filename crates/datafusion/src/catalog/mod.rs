//! A catalog of Iceberg tables as catalog of DataFusion.
//!
//! Namespaces are schemas; levels of nested namespaces are joined by dots (`"sales.eu"`). A table is loaded anew for
//! each statement that names it, and once a statement. Views and external tables may be registered beside the tables
//! of the catalog; they live as long as the session.

mod blocking;
mod external;
mod schema;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use datafusion::catalog::{CatalogProvider, CatalogProviderList, SchemaProvider, UrlTableFactory};
use drumlin_table::catalog::{Catalog, Namespace, all_namespaces};

use crate::error::external;

pub(crate) use blocking::wait_for;
pub use external::IcebergTableFactory;
pub use schema::IcebergSchemaProvider;

/// A catalog of Iceberg tables.
#[derive(Debug, Clone)]
pub struct IcebergCatalogProvider {
    catalog: Arc<dyn Catalog>,
    schemas: Arc<RwLock<HashMap<String, Arc<IcebergSchemaProvider>>>>,
    files: Option<Arc<dyn UrlTableFactory>>,
}

impl IcebergCatalogProvider {
    /// A provider of the tables of a catalog.
    pub fn new(catalog: Arc<dyn Catalog>) -> Self {
        Self {
            catalog,
            schemas: Arc::default(),
            files: None,
        }
    }

    /// The same, where `FROM 'folder/file.parquet'` reads a file: names with a dot or a slash that no table has are given to
    /// `files`, for example DataFusion's
    /// [`DynamicListTableFactory`](datafusion::datasource::dynamic_file::DynamicListTableFactory).
    #[must_use]
    pub fn with_file_tables(self, files: Arc<dyn UrlTableFactory>) -> Self {
        Self {
            schemas: Arc::default(),
            files: Some(files),
            ..self
        }
    }

    /// The catalog.
    pub fn catalog(&self) -> &Arc<dyn Catalog> {
        &self.catalog
    }

    /// The Iceberg catalog of this name among those of a session; `None` if it is another one, or none.
    pub(crate) fn named(name: &str, among: &dyn CatalogProviderList) -> Option<Self> {
        among.catalog(name)?.downcast_ref::<Self>().cloned()
    }

    /// The schema of this name, of which nothing is known but the name.
    pub(crate) fn iceberg_schema(&self, name: &str) -> Arc<IcebergSchemaProvider> {
        let mut schemas = self.schemas.write().unwrap_or_else(PoisonError::into_inner);
        let schema = schemas.entry(name.to_string()).or_insert_with(|| {
            Arc::new(IcebergSchemaProvider::new(
                Arc::clone(&self.catalog),
                name.to_string(),
                self.files.clone(),
            ))
        });
        Arc::clone(schema)
    }
}

impl CatalogProvider for IcebergCatalogProvider {
    /// Lists the catalog. DataFusion asks in the middle of synchronous code, so that the thread waits for the store;
    /// where the store does not answer there are no names.
    fn schema_names(&self) -> Vec<String> {
        let catalog = Arc::clone(&self.catalog);
        let namespaces = wait_for(async move {
            all_namespaces(catalog.as_ref(), &Namespace::root())
                .await
                .map_err(external)
        });
        let mut names: BTreeSet<String> = namespaces
            .unwrap_or_default()
            .iter()
            .map(Namespace::to_string)
            .collect();
        let schemas = self.schemas.read().unwrap_or_else(PoisonError::into_inner);
        let used = schemas.iter().filter(|(_, s)| s.has_registered());
        names.extend(used.map(|(name, _)| name.clone()));
        names.into_iter().collect()
    }

    /// A schema of any name: whether it is there shows when a table is looked up in it.
    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        Some(self.iceberg_schema(name) as Arc<dyn SchemaProvider>)
    }
}

//! A namespace as schema of DataFusion.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{MemTable, MemorySchemaProvider, SchemaProvider, TableProvider, UrlTableFactory};
use datafusion::common::{Result, plan_err};
use drumlin_table::Error;
use drumlin_table::catalog::{Catalog, Namespace, TableIdent, all_tables};

use super::wait_for;
use crate::IcebergTableProvider;
use crate::error::external;
use crate::write::WriteTarget;

/// The tables of a namespace.
#[derive(Debug, Clone)]
pub struct IcebergSchemaProvider {
    catalog: Arc<dyn Catalog>,
    name: String,
    /// Views and external tables of the session.
    registered: Arc<MemorySchemaProvider>,
    /// What makes tables of names that are paths of files.
    files: Option<Arc<dyn UrlTableFactory>>,
}

impl IcebergSchemaProvider {
    pub(super) fn new(
        catalog: Arc<dyn Catalog>,
        name: String,
        files: Option<Arc<dyn UrlTableFactory>>,
    ) -> Self {
        Self {
            catalog,
            name,
            registered: Arc::default(),
            files,
        }
    }

    /// The table of this name as the catalog knows it.
    ///
    /// # Errors
    /// A name that no table can have.
    pub(crate) fn ident(&self, table: &str) -> Result<TableIdent, Error> {
        TableIdent::new(Namespace::new(self.name.split('.'))?, table)
    }

    /// Whether a view or an external table of the session has this name.
    pub(crate) fn is_registered(&self, table: &str) -> bool {
        self.registered.table_exist(table)
    }

    pub(super) fn has_registered(&self) -> bool {
        !self.registered.table_names().is_empty()
    }

    async fn load(&self, table: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        // A name that no table can have is the name of none.
        let Ok(ident) = self.ident(table) else {
            return Ok(None);
        };
        let loaded = match self.catalog.load_table(&ident).await {
            Ok(loaded) => loaded,
            Err(Error::NoSuchTable { .. } | Error::NoSuchNamespace { .. } | Error::Name { .. }) => {
                return Ok(None);
            }
            Err(other) => return Err(external(other)),
        };
        let target = WriteTarget::existing(Arc::clone(&self.catalog), ident);
        Ok(Some(Arc::new(
            IcebergTableProvider::try_new(loaded)?.with_write_target(target),
        )))
    }
}

#[async_trait]
impl SchemaProvider for IcebergSchemaProvider {
    /// As for the names of schemas, the thread waits for the store.
    fn table_names(&self) -> Vec<String> {
        let this = self.clone();
        let tables = wait_for(async move {
            let namespace = Namespace::new(this.name.split('.')).map_err(external)?;
            all_tables(this.catalog.as_ref(), &namespace)
                .await
                .map_err(external)
        });
        let mut names: Vec<String> = tables.unwrap_or_default().into_iter().map(|t| t.name).collect();
        names.extend(self.registered.table_names());
        names.sort();
        names
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(registered) = self.registered.table(name).await? {
            return Ok(Some(registered));
        }
        if let Some(loaded) = self.load(name).await? {
            return Ok(Some(loaded));
        }
        match &self.files {
            Some(files) if name.contains(['.', '/']) => files.try_new(name).await,
            _ => Ok(None),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        if self.is_registered(name) {
            return true;
        }
        let Ok(ident) = self.ident(name) else {
            return false;
        };
        let catalog = Arc::clone(&self.catalog);
        wait_for(async move { catalog.table_exists(&ident).await.map_err(external) }).unwrap_or(false)
    }

    /// Registers a view or an external table for this session; the catalog is not written to.
    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        if table.downcast_ref::<MemTable>().is_some() {
            return plan_err!(
                "CREATE TABLE {}.{name}: run it by drumlin_datafusion::sql, which makes an Iceberg table of it; DataFusion alone \
                 would keep its rows in memory",
                self.name
            );
        }
        if self.table_exist(&name) {
            return plan_err!("the table `{}.{name}` exists", self.name);
        }
        self.registered.register_table(name, table)
    }

    /// Takes away a view or an external table of the session. A table of the catalog stays: DataFusion also calls this
    /// for `CREATE OR REPLACE TABLE`, before it knows whether the new table can be made.
    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        match self.registered.deregister_table(name)? {
            None if self.table_exist(name) => plan_err!(
                "`{}.{name}` is an Iceberg table: it is dropped by DROP TABLE through drumlin_datafusion::sql",
                self.name
            ),
            removed => Ok(removed),
        }
    }
}

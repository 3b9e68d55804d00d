//! The SQL session a command line works in. Everything that depends on how tables are found is in this file.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::catalog::{CatalogProviderList, MemoryCatalogProviderList};
use datafusion::dataframe::DataFrame;
use datafusion::datasource::dynamic_file::DynamicListTableFactory;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_catalog::{EmbeddedCatalog, ObjectStoreCatalog, SqlCatalog, SqlCatalogOptions};
use drumlin_datafusion::error::external;
use drumlin_datafusion::{IcebergCatalogProvider, IcebergStateBuilderExt};
use drumlin_table::catalog::Catalog;
use drumlin_table::storage::Storage;
use drumlin_table::write::WriteProgress;

use crate::args::Args;
use crate::statement::{self, Statement};

/// The catalog that unqualified names belong to.
pub const DEFAULT_CATALOG: &str = "drumlin";
/// `--catalog folder`: tables are found by their folders.
const FOLDER: &str = "folder";
/// The schema that unqualified names belong to.
pub const DEFAULT_SCHEMA: &str = "default";

/// The catalog that the arguments name.
async fn catalog(args: &Args, storage: Storage) -> drumlin_table::Result<Arc<dyn Catalog>> {
    let on_disk = storage.on_disk(&args.warehouse)?;
    // Locations in tables are absolute, wherever this process was started.
    let warehouse = match &on_disk {
        Some(folder) => &folder.display().to_string(),
        None => &args.warehouse,
    };
    Ok(match args.catalog.as_deref() {
        Some(FOLDER) => Arc::new(ObjectStoreCatalog::new(storage, warehouse)),
        Some(uri) => {
            let options = SqlCatalogOptions {
                name: args.catalog_name.clone(),
                ..SqlCatalogOptions::new(uri, warehouse)
            };
            Arc::new(SqlCatalog::open(storage, options).await?)
        }
        None if on_disk.is_some() => {
            Arc::new(EmbeddedCatalog::new(storage, warehouse)?.with_name(&args.catalog_name))
        }
        None => Arc::new(ObjectStoreCatalog::new(storage, warehouse)),
    })
}

/// A table's full name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableName {
    /// Catalog.
    pub catalog: String,
    /// Schema (Iceberg: namespace).
    pub schema: String,
    /// Table.
    pub table: String,
}

/// An open session.
pub struct Session {
    ctx: SessionContext,
    write_progress: Arc<WriteProgress>,
}

impl Session {
    /// A session over the tables of the warehouse that the arguments name.
    pub async fn open(args: &Args) -> Result<Self> {
        let options = args.options.iter().cloned().collect();
        let storage = Storage::default().with_options(options).map_err(external)?;
        for (uri, folder) in &args.mounts {
            let store = LocalFileSystem::new_with_prefix(folder)?;
            storage.register(uri, Arc::new(store)).map_err(external)?;
        }
        let catalog = catalog(args, storage.clone()).await.map_err(external)?;
        let mut config = SessionConfig::new()
            .with_information_schema(true)
            .with_default_catalog_and_schema(DEFAULT_CATALOG, DEFAULT_SCHEMA)
            // Otherwise the builder puts an empty catalog in the place of the warehouse.
            .with_create_default_catalog_and_schema(false);
        let write_progress: Arc<WriteProgress> = Arc::default();
        config.set_extension(Arc::clone(&write_progress));
        // Errors show the place they are about.
        config.options_mut().sql_parser.collect_spans = true;
        let files = Arc::new(DynamicListTableFactory::new(Default::default()));
        let catalogs = Arc::new(MemoryCatalogProviderList::new());
        catalogs.register_catalog(
            DEFAULT_CATALOG.to_owned(),
            Arc::new(IcebergCatalogProvider::new(catalog).with_file_tables(Arc::clone(&files) as _)),
        );
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(config)
            .with_catalog_list(catalogs)
            .with_iceberg_storage(storage)
            .build();
        let ctx = SessionContext::new_with_state(state);
        files.session_store().with_state(ctx.state_weak_ref());
        Ok(Self { ctx, write_progress })
    }

    /// What all statements of the session have written.
    pub fn write_progress(&self) -> &Arc<WriteProgress> {
        &self.write_progress
    }

    /// Plans one statement, time travel included. Statements without rows (DDL, `SET`) run here already.
    ///
    /// # Errors
    /// Whatever parsing or planning finds wrong, with spans in `text` where they are known.
    pub async fn sql(&self, text: &str) -> Result<DataFrame> {
        drumlin_datafusion::sql::sql(&self.ctx, text).await
    }

    /// The statements of `text`.
    pub fn split(text: &str) -> Vec<Statement> {
        statement::split(text)
    }

    /// The tables this session can name, sorted, without those of `information_schema`.
    pub async fn table_names(&self) -> Vec<TableName> {
        let mut names = BTreeSet::new();
        for catalog_name in self.ctx.catalog_names() {
            let Some(catalog) = self.ctx.catalog(&catalog_name) else {
                continue;
            };
            for schema_name in catalog.schema_names() {
                if schema_name == "information_schema" {
                    continue;
                }
                let Some(schema) = catalog.schema(&schema_name) else {
                    continue;
                };
                names.extend(schema.table_names().into_iter().map(|table| TableName {
                    catalog: catalog_name.clone(),
                    schema: schema_name.clone(),
                    table,
                }));
            }
        }
        names.into_iter().collect()
    }
}

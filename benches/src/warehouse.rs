//! Sessions over a warehouse in a folder, and statements in them.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{Int64Type, UInt64Type};
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_catalog::{ObjectStoreCatalog, SqlCatalog, SqlCatalogOptions};
use drumlin_datafusion::{IcebergCatalogProvider, IcebergContextExt, IcebergStateBuilderExt};
use drumlin_table::catalog::Catalog;
use drumlin_table::storage::Storage;

use crate::Result;
use crate::iceberg_table::text;

/// Where the pointers to the current state of tables are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointers {
    /// A database in a file of the warehouse.
    Sqlite,
    /// The folders of the tables.
    Folder,
}

/// A session, with a storage of its own, in which the warehouse is the catalog `lake`; and that catalog.
pub async fn session(
    warehouse: &Path,
    pointers: Pointers,
    partitions: usize,
) -> Result<(SessionContext, Arc<dyn Catalog>)> {
    let storage = Storage::default();
    let folder = text(warehouse)?;
    let catalog: Arc<dyn Catalog> = match pointers {
        Pointers::Sqlite => {
            let uri = format!("sqlite:{folder}/catalog.db");
            let options = SqlCatalogOptions::new(uri, folder);
            Arc::new(SqlCatalog::open(storage.clone(), options).await?)
        }
        Pointers::Folder => Arc::new(ObjectStoreCatalog::new(storage.clone(), folder)),
    };
    let config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_create_default_catalog_and_schema(true);
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .with_iceberg_storage(storage)
        .build();
    let ctx = SessionContext::new_with_state(state);
    ctx.register_catalog(
        "lake",
        Arc::new(IcebergCatalogProvider::new(Arc::clone(&catalog))),
    );
    Ok((ctx, catalog))
}

/// Runs a statement, and gives the count of rows that it answers, if it answers one number.
pub async fn run(ctx: &SessionContext, sql: &str) -> Result<u64> {
    let batches = ctx.iceberg_sql(sql).await?.collect().await?;
    let count = batches
        .first()
        .filter(|b| b.num_columns() == 1 && b.num_rows() == 1);
    let count = count.map(|b| b.column(0));
    Ok(count.map_or(0, |column| {
        let unsigned = column.as_primitive_opt::<UInt64Type>().map(|c| c.value(0));
        let signed = column.as_primitive_opt::<Int64Type>().map(|c| c.value(0));
        unsigned
            .or(signed.and_then(|n| u64::try_from(n).ok()))
            .unwrap_or(0)
    }))
}

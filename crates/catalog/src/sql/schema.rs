//! The two tables of the catalog's database, as Java's JdbcCatalog and PyIceberg's SqlCatalog make them.

use drumlin_table::Result;

use super::SqlCatalog;
use super::database::Database;

/// Whether rows say if they are tables or views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SchemaVersion {
    /// As the database is; V1 in a new one.
    #[default]
    Detect,
    /// Without `iceberg_type`: all rows are tables.
    V0,
    /// With `iceberg_type`. A database of V0 gets the column.
    V1,
}

const TABLES: &str = "CREATE TABLE IF NOT EXISTS iceberg_tables (\
    catalog_name VARCHAR(255) NOT NULL, \
    table_namespace VARCHAR(255) NOT NULL, \
    table_name VARCHAR(255) NOT NULL, \
    metadata_location VARCHAR(1000), \
    previous_metadata_location VARCHAR(1000), ";

const TABLES_TYPE: &str = "iceberg_type VARCHAR(5), ";

const TABLES_KEY: &str = "PRIMARY KEY (catalog_name, table_namespace, table_name))";

const NAMESPACES: &str = "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (\
    catalog_name VARCHAR(255) NOT NULL, \
    namespace VARCHAR(255) NOT NULL, \
    property_key VARCHAR(255) NOT NULL, \
    property_value VARCHAR(1000), \
    PRIMARY KEY (catalog_name, namespace, property_key))";

impl SqlCatalog {
    /// Makes the tables where they are missing, and finds out which version they have.
    pub(super) async fn prepare(&mut self, init: bool, version: SchemaVersion) -> Result<()> {
        let has = |columns: &'static str, table: &'static str| {
            let sql = format!("SELECT {columns} FROM {table} WHERE 1 = 0");
            let database = self.database.clone();
            async move { database.rows(&sql, &[]).await }
        };
        let there = has("catalog_name", "iceberg_tables").await.is_ok()
            && has("catalog_name", "iceberg_namespace_properties").await.is_ok();
        if !there && init {
            if let Database::Sqlite(_) = &self.database {
                // Readers and the writer do not wait for each other then. A database that is there keeps its mode. An error
                // means only that the mode stays.
                let _ = self.database.rows("PRAGMA journal_mode = WAL", &[]).await;
            }
            let of_type = match version {
                SchemaVersion::V0 => "",
                _ => TABLES_TYPE,
            };
            for sql in [format!("{TABLES}{of_type}{TABLES_KEY}"), NAMESPACES.to_string()] {
                if let Err(failure) = self.database.execute(&sql, &[]).await {
                    // Another process may be making the same at the same time, which PostgreSQL calls an error.
                    let table = match sql.starts_with(TABLES) {
                        true => "iceberg_tables",
                        false => "iceberg_namespace_properties",
                    };
                    if has("catalog_name", table).await.is_err() {
                        return Err(self.failed("making its tables", failure));
                    }
                }
            }
        }
        let typed = has("iceberg_type", "iceberg_tables").await;
        if let Err(failure) = typed {
            if let Err(missing) = has("catalog_name", "iceberg_tables").await {
                return Err(self.failed("looking for its table iceberg_tables", missing));
            }
            if version == SchemaVersion::V1 && init {
                let sql = "ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)";
                let added = self.database.execute(sql, &[]).await;
                if added.is_err() && has("iceberg_type", "iceberg_tables").await.is_err() {
                    return Err(self.failed("adding the column iceberg_type", failure));
                }
                self.typed = true;
                return Ok(());
            }
            self.typed = false;
            return Ok(());
        }
        self.typed = version != SchemaVersion::V0;
        Ok(())
    }
}

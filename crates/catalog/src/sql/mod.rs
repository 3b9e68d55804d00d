//! A catalog in a database: SQLite or PostgreSQL.
//!
//! The pointer of a table is a row of `iceberg_tables`, and a commit one `UPDATE` of it that names the old metadata file. Java's
//! JdbcCatalog and PyIceberg's SqlCatalog have the same tables, so that all of them can write to one database, under one
//! catalog name.
//!
//! SQLite needs a file on a disk of this machine: its locks, and with them the commits, are not to be trusted on network
//! file systems.

mod catalog;
mod commit;
mod database;
mod namespace;
mod schema;

#[cfg(test)]
mod tests;

use std::fmt;

use drumlin_table::catalog::{CommitError, Namespace, TableIdent};
use drumlin_table::storage::Storage;
use drumlin_table::{Error, Result, Table};

pub use schema::SchemaVersion;

use database::{Database, Failure};

/// The name of a catalog in its database, unless it is told another.
pub const DEFAULT_CATALOG_NAME: &str = "drumlin";

/// How long names of all kinds may be in characters.
const MAX_NAME: usize = 255;

/// How long locations and values may be in characters.
const MAX_VALUE: usize = 1000;

/// How often a table is loaded anew because its metadata file went while it was read.
const LOADS: usize = 5;

/// Where a catalog is and how it behaves.
#[derive(Clone)]
pub struct SqlCatalogOptions {
    /// `sqlite:<path>`, `sqlite::memory:` or `postgres://user:password@host:port/database`.
    pub uri: String,
    /// The folder below which tables go unless something else is said, a path or a URI.
    pub warehouse: String,
    /// Which of the catalogs in the database. Others that share it have to give the same name.
    pub name: String,
    /// Make the database's tables where they are missing (`jdbc.init-catalog-tables`).
    pub init_tables: bool,
    /// Refuse tables in namespaces that are not there, also at the time of the commit (`jdbc.strict-mode`).
    pub strict: bool,
    /// Whether rows say if they are tables or views (`jdbc.schema-version`).
    pub schema: SchemaVersion,
}

impl SqlCatalogOptions {
    /// The catalog `drumlin` of a database.
    pub fn new(uri: impl Into<String>, warehouse: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            warehouse: warehouse.into(),
            name: DEFAULT_CATALOG_NAME.to_string(),
            init_tables: true,
            strict: false,
            schema: SchemaVersion::Detect,
        }
    }
}

/// Without the URI, which may hold a password.
impl fmt::Debug for SqlCatalogOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlCatalogOptions")
            .field("name", &self.name)
            .field("warehouse", &self.warehouse)
            .finish_non_exhaustive()
    }
}

/// Tables whose pointers are rows of a database. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct SqlCatalog {
    storage: Storage,
    database: Database,
    /// What messages call the database.
    place: String,
    warehouse: String,
    name: String,
    strict: bool,
    typed: bool,
}

impl fmt::Debug for SqlCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlCatalog")
            .field("database", &self.place)
            .field("name", &self.name)
            .field("warehouse", &self.warehouse)
            .finish_non_exhaustive()
    }
}

impl SqlCatalog {
    /// Opens a catalog. A file of SQLite and its folder are made if they are not there.
    ///
    /// # Errors
    /// [`Error::Catalog`] for a database that cannot be reached or has not the tables, and for a URI of another kind.
    pub async fn open(storage: Storage, options: SqlCatalogOptions) -> Result<Self> {
        let (database, place) = Database::open(&options.uri).await?;
        let mut catalog = Self {
            storage,
            database,
            place,
            warehouse: options.warehouse.trim_end_matches('/').to_string(),
            name: options.name,
            strict: options.strict,
            typed: true,
        };
        catalog.prepare(options.init_tables, options.schema).await?;
        Ok(catalog)
    }

    /// The name of the catalog in its database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder below which tables go unless something else is said.
    pub fn warehouse(&self) -> &str {
        &self.warehouse
    }

    fn failed(&self, doing: &str, failure: Failure) -> Error {
        Error::Catalog {
            catalog: self.place.clone(),
            reason: format!("{doing}: {}", failure.reason()),
        }
    }

    /// What a statement on tables adds to its condition, so that it leaves views alone.
    fn tables_only(&self) -> &'static str {
        match self.typed {
            true => " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)",
            false => "",
        }
    }

    /// The metadata file that the row of a table names.
    async fn pointer(&self, table: &TableIdent) -> Result<Option<String>> {
        let Ok(namespace) = stored(&table.namespace) else {
            return Ok(None);
        };
        let sql = format!(
            "SELECT metadata_location FROM iceberg_tables \
             WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3{}",
            self.tables_only()
        );
        let rows = self
            .database
            .rows(&sql, &[&self.name, &namespace, &table.name])
            .await;
        let rows = rows.map_err(|failure| self.failed(&format!("looking for table `{table}`"), failure))?;
        match rows.into_iter().next() {
            None => Ok(None),
            Some(row) => match row.into_iter().next().flatten() {
                Some(location) => Ok(Some(location)),
                None => Err(Error::Catalog {
                    catalog: self.place.clone(),
                    reason: format!("the row of table `{table}` names no metadata file"),
                }),
            },
        }
    }

    /// The table as its row says now, if there is one.
    async fn find(&self, table: &TableIdent) -> Result<Option<Table>> {
        let mut tried = String::new();
        for _ in 0..LOADS {
            let Some(location) = self.pointer(table).await? else {
                return Ok(None);
            };
            match Table::open(&self.storage, &location).await {
                Ok(opened) => return Ok(Some(opened.with_name(table.to_string()))),
                // With delete-after-commit, others may have moved on and deleted the file before it was read.
                Err(Error::NotFound { .. }) if tried != location => tried = location,
                Err(other) => return Err(other),
            }
        }
        Err(Error::Catalog {
            catalog: self.place.clone(),
            reason: format!("the metadata files of table `{table}` are deleted faster than they can be read"),
        })
    }
}

fn missing(table: &TableIdent) -> Error {
    Error::NoSuchTable {
        table: table.to_string(),
    }
}

/// How a namespace stands in the database: its levels, joined by dots.
///
/// # Errors
/// [`Error::Name`] for levels that hold a dot, or are longer than the column.
fn stored(namespace: &Namespace) -> Result<String> {
    for level in namespace.levels() {
        if level.contains('.') {
            return Err(Error::Name {
                name: level.clone(),
                reason:
                    "a database keeps schemas with their levels joined by dots, so that names cannot hold one"
                        .into(),
            });
        }
    }
    let joined = namespace.levels().join(".");
    check_length(&joined, MAX_NAME)?;
    Ok(joined)
}

fn check_length(name: &str, max: usize) -> Result<()> {
    match name.chars().count() <= max {
        true => Ok(()),
        false => Err(Error::Name {
            name: name.to_string(),
            reason: format!("it is longer than the {max} characters that the database keeps"),
        }),
    }
}

/// A failure of what came before the one statement that a commit is.
fn before(error: Error) -> CommitError {
    CommitError::Failed(error)
}

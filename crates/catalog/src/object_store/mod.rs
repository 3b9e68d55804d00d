//! A warehouse folder on an object store, in the layout that Spark's catalogs of `type=hadoop` use.
//!
//! ```text
//! <warehouse>/<namespace>/…/<table>/metadata/version-hint.text    the newest version N, perhaps a little behind
//! <warehouse>/<namespace>/…/<table>/metadata/vN.metadata.json
//! <warehouse>/<namespace>/…/<table>/data/…
//! ```
//!
//! Folders are namespaces, but those whose `metadata` folder holds metadata files, which are tables. Nothing is kept:
//! each listing and each load asks the store.
//!
//! A commit creates `v(N+1).metadata.json` on condition that it is not there (`commit`); stores that cannot do so are
//! refused for writing. Namespaces have no properties, and tables can be neither renamed nor registered, nor be elsewhere
//! than in their folder.

mod catalog;
mod commit;
mod drop;
mod namespace;
#[cfg(test)]
mod tests;

use std::fmt;

use drumlin_table::catalog::Namespace;
use drumlin_table::storage::Storage;
use drumlin_table::table::metadata_file::is_metadata_file;
use drumlin_table::{Error, OpenOptions, Result, Table, VERSION_HINT};
use futures::{StreamExt, TryStreamExt};

/// Folders that are looked into at once.
const CONCURRENT_LISTINGS: usize = 16;

/// How often a table is opened whose metadata file goes before it is read.
const LOADS: usize = 5;

/// Tables in the folders of a warehouse. Whoever writes to them must do so by create-if-absent, as this catalog does: no
/// lock keeps writers apart that do not.
#[derive(Clone)]
pub struct ObjectStoreCatalog {
    storage: Storage,
    warehouse: String,
    options: OpenOptions,
}

/// Without the storage, whose options may be secrets.
impl fmt::Debug for ObjectStoreCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStoreCatalog")
            .field("warehouse", &self.warehouse)
            .finish_non_exhaustive()
    }
}

/// What is directly in a namespace.
#[derive(Debug, Default)]
struct NamespaceContent {
    /// Names of tables, sorted.
    tables: Vec<String>,
    /// Names of namespaces inside it, sorted.
    namespaces: Vec<String>,
}

impl ObjectStoreCatalog {
    /// The catalog of the tables below the folder `warehouse`, a path or a URI.
    pub fn new(storage: Storage, warehouse: impl Into<String>) -> Self {
        Self {
            storage,
            warehouse: warehouse.into().trim_end_matches('/').to_string(),
            options: OpenOptions::default(),
        }
    }

    /// The same with other options for opening tables.
    #[must_use]
    pub fn with_open_options(mut self, options: OpenOptions) -> Self {
        self.options = options;
        self
    }

    /// The folder of the warehouse.
    pub fn warehouse(&self) -> &str {
        &self.warehouse
    }

    /// Tables and namespaces directly in a namespace. One that is not there is empty.
    async fn list(&self, namespace: &Namespace) -> Result<NamespaceContent> {
        let folder = self.folder_of(namespace)?;
        let folders = self.storage.list(&folder).await?.folders;
        let kinds: Vec<(String, bool)> = futures::stream::iter(folders)
            .map(|name| {
                let location = format!("{folder}/{name}");
                async move { Ok::<_, drumlin_table::Error>((name, self.is_table(&location).await?)) }
            })
            .buffered(CONCURRENT_LISTINGS)
            .try_collect()
            .await?;
        let mut content = NamespaceContent::default();
        for (name, table) in kinds {
            if table {
                content.tables.push(name);
            } else {
                content.namespaces.push(name);
            }
        }
        Ok(content)
    }

    /// Opens the newest version. With delete-after-commit, others may move on and delete it before it is read.
    async fn open(&self, location: &str) -> Result<Table> {
        for _ in 1..LOADS {
            match Table::open_with(&self.storage, location, &self.options).await {
                Err(Error::NotFound { .. }) => {}
                answer => return answer,
            }
        }
        Table::open_with(&self.storage, location, &self.options).await
    }

    /// A hint is enough; without one, the folder is listed, which may hold many thousand files.
    async fn is_table(&self, location: &str) -> Result<bool> {
        let folder = format!("{location}/metadata");
        if self.storage.exists(&format!("{folder}/{VERSION_HINT}")).await? {
            return Ok(true);
        }
        let files = self.storage.list(&folder).await?.files;
        Ok(files.iter().any(|file| is_metadata_file(file)))
    }
}

/// Whether a name is that of one folder, and does not lead out of the warehouse.
fn name_is_folder(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/')
}

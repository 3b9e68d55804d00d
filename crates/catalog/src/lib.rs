//! Catalogs: where the current metadata file of a table is found, and how the pointer to it moves.
//!
//! The contract is [`drumlin_table::catalog::Catalog`].
//!
//! | module | holds |
//! |---|---|
//! | [`object_store`] | a warehouse folder on any object store, in the layout of Hadoop tables |
//! | [`sql`] | a database, in the tables that Java's JdbcCatalog and PyIceberg's SqlCatalog use |
//! | [`embedded`] | a warehouse on a local disk with its database inside, made by the first write |
//! | [`metadata_file`] | the next metadata file of a table: its content, bytes and name |
//! | `folder` | folders, on stores that have none and on a disk; files that are on the disk once they are written |
//! | `purge` | deleting all files of a table that was dropped |

pub mod embedded;
mod folder;
pub mod metadata_file;
pub mod object_store;
mod purge;
pub mod sql;

pub use embedded::EmbeddedCatalog;
pub use object_store::ObjectStoreCatalog;
pub use sql::{SqlCatalog, SqlCatalogOptions};

use drumlin_table::catalog::{Catalog, Namespace};
use drumlin_table::{Error, Result};

/// An error if a namespace is not there.
async fn must_be_there(catalog: &dyn Catalog, namespace: &Namespace) -> Result<()> {
    match catalog.namespace_exists(namespace).await? {
        true => Ok(()),
        false => Err(Error::NoSuchNamespace {
            namespace: namespace.to_string(),
        }),
    }
}

//! What a table reference may ask for, and who can answer it.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::error::Result;

use crate::IcebergTableProvider;

pub use drumlin_table::TableVersion;

/// A table that can be read as of an earlier version.
///
/// The metadata is in memory already, so this does no I/O: every reference of one statement to one table is pinned
/// from the metadata that the statement loaded.
pub trait VersionedTable {
    /// The same table pinned at `version`.
    ///
    /// # Errors
    /// The version does not exist. The message lists what does; the current rows are never the answer.
    fn at_version(&self, version: &TableVersion) -> Result<Arc<dyn TableProvider>>;

    /// The same table with its metadata columns behind its own columns in its schema, except those whose name a column
    /// of its own has.
    ///
    /// # Errors
    /// A metadata column has a type that is not supported.
    fn with_metadata_columns(&self) -> Result<Arc<dyn TableProvider>>;
}

/// The table behind `provider` if it is one that can time-travel: the one place that knows which providers do.
pub fn as_versioned(provider: &dyn TableProvider) -> Option<&dyn VersionedTable> {
    #[cfg(test)]
    if let Some(table) = provider.downcast_ref::<super::tests::fake::FakeTable>() {
        return Some(table);
    }
    let table = provider.downcast_ref::<IcebergTableProvider>()?;
    Some(table)
}

impl VersionedTable for IcebergTableProvider {
    fn at_version(&self, version: &TableVersion) -> Result<Arc<dyn TableProvider>> {
        Ok(Arc::new(IcebergTableProvider::at_version(self, version)?))
    }

    fn with_metadata_columns(&self) -> Result<Arc<dyn TableProvider>> {
        Ok(Arc::new(IcebergTableProvider::with_metadata_columns(self)))
    }
}

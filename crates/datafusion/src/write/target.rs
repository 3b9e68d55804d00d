//! Where a write goes.

use std::sync::Arc;

use drumlin_table::catalog::{Catalog, TableIdent};

/// The table of a catalog that a provider may write to. Tables without one (those of `iceberg_scan`, external tables) are
/// only read: which metadata file is the current one is for a catalog to say.
#[derive(Debug, Clone)]
pub struct WriteTarget {
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) ident: TableIdent,
}

impl WriteTarget {
    /// The table of this name in a catalog.
    pub fn existing(catalog: Arc<dyn Catalog>, ident: TableIdent) -> Self {
        Self { catalog, ident }
    }
}

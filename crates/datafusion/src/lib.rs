//! Apache Iceberg tables for DataFusion.

pub mod catalog;
pub mod error;
pub mod filter;
pub mod metadata_columns;
pub mod projection;
pub mod scalar;
pub mod scan;
pub mod session;
pub mod sql;
pub mod table_provider;
pub mod variant;
pub mod write;

pub use catalog::IcebergCatalogProvider;
pub use sql::{IcebergContextExt, IcebergStateBuilderExt, sql};
pub use table_provider::IcebergTableProvider;

/// The examples of these documents are compiled as doc tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;

    #[doc = include_str!("../../../docs/embedding.md")]
    struct Embedding;
}

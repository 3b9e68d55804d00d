//! Where the current metadata file of a table is found.
//!
//! | module | holds |
//! |---|---|
//! | [`object_store`] | a warehouse folder on any object store, in the layout of Hadoop tables |

pub mod object_store;

pub use object_store::ObjectStoreCatalog;

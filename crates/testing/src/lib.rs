//! Iceberg tables for Drumlin's own tests: any schema, partition spec and format version, every kind of delete, with
//! the metrics that a test wants its manifests to hold.
//!
//! Rows are values of the format by field id, so that a test can say what a table holds without going through the
//! code under test. Whatever goes wrong panics: only tests use this crate.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@array`] | rows as Arrow arrays |
//! | [`metrics`] | metrics of rows, as manifests hold them |
//! | [`rows`] | rows by later schemas and by partition |
//! | [`table_writer`] | data and delete files, snapshots, changes of schema and spec |

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

pub mod array;
pub mod metrics;
pub mod rows;
pub mod table_writer;

pub use rows::Row;
pub use table_writer::{Commit, Partition, TableWriter};

//! Iceberg tables for Drumlin's own tests: any schema, partition spec and format version, with the metrics that a test
//! wants its manifests to hold.
//!
//! Rows are values of the format by field id, so that a test can say what a table holds without going through the
//! code under test. Whatever goes wrong panics: only tests use this crate.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@array`] | rows as Arrow arrays |
//! | [`metrics`] | metrics of rows, as manifests hold them |
//! | [`table_writer`] | data files, snapshots, changes of schema and spec |

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

pub mod array;
pub mod metrics;
pub mod table_writer;

use std::collections::BTreeMap;

use drumlin_format::value::Value;

pub use table_writer::TableWriter;

/// A row: values of columns by field id. A column that is left out is null.
pub type Row = BTreeMap<i32, Option<Value>>;

//! Tests of Iceberg tables in DataFusion as a user of the crate has them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad_input;
mod catalog;
mod conformance;
mod crash;
mod ddl;
mod deletes;
mod formats;
mod insert;
mod old_parquet;
mod projection;
mod pruning;
mod random;
mod row_changes;
mod session;
mod snapshots;
mod variants;
mod warehouse;
mod written;

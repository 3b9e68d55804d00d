//! The physical scan: one `DataSourceExec` over DataFusion's own Parquet source.
//!
//! - [`builder`]: from planned files to the scan
//! - [`source`]: the Parquet source with a projection of its own for each file
//! - [`open`]: opening a file of it
//! - [`deleted_rows`]: leaving deleted rows out
//! - [`whole_file`]: Avro and ORC files
//! - [`delete_join`]: equality deletes that memory cannot hold
//! - [`named`]: what comes out of the reader of a file
//! - [`reader`]: reading data files whose footer may lie
//! - [`statistics`]: what manifest entries tell the optimizer

pub mod builder;
pub mod delete_join;
pub mod deleted_rows;
pub mod named;
pub mod open;
pub mod reader;
pub mod source;
pub mod statistics;
pub mod whole_file;

//! The physical scan: one `DataSourceExec` over DataFusion's own Parquet source.
//!
//! - [`builder`]: from planned files to the scan
//! - [`source`]: the Parquet source with a projection of its own for each file
//! - [`open`]: opening a file of it
//! - [`deleted_rows`]: what is needed to leave deleted rows out
//! - [`deleted_positions`]: rows that are deleted by position
//! - [`row_filter`]: taking deleted rows out of what was read, [`kept_rows`] out of an array
//! - [`whole_file`]: Avro and ORC files
//! - [`delete_join`]: equality deletes that memory cannot hold
//! - [`named`]: what comes out of the reader of a file
//! - [`reader`]: reading data files whose footer may lie
//! - [`statistics`]: what manifest entries tell the optimizer

pub mod builder;
pub mod delete_join;
pub mod deleted_positions;
pub mod deleted_rows;
pub mod kept_rows;
pub mod named;
pub mod open;
pub mod reader;
pub mod row_filter;
pub mod source;
pub mod statistics;
pub mod whole_file;

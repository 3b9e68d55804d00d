//! The physical scan: one `DataSourceExec` over DataFusion's own Parquet source.
//!
//! - [`builder`]: from planned files to the scan
//! - [`source`]: the Parquet source with a projection of its own for each file
//! - [`named`]: errors of reading a file that name it
//! - [`reader`]: reading data files whose footer may lie
//! - [`statistics`]: what manifest entries tell the optimizer

pub mod builder;
pub mod named;
pub mod reader;
pub mod source;
pub mod statistics;

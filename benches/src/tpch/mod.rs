//! TPC-H: its tables as Parquet files, the same as Iceberg tables, and its queries.
//!
//! - [`tables`]: generating the tables
//! - [`layout`]: the Parquet files of the tables, and Iceberg tables over them
//! - [`queries`]: the texts of the queries

pub mod layout;
pub mod queries;
pub mod tables;

pub use layout::Layout;

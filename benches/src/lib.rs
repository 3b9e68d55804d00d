//! Benchmarks of Drumlin: programs that print figures and the command that repeats them.
//!
//! | program | measures |
//! |---|---|
//! | `tpch` | the queries of TPC-H on Iceberg tables against plain Parquet files |
//! | `planning` | planning scans of a table of 100,000 files, and opening a table of 1,001 snapshots |
//!
//! What the programs share:
//!
//! | module | holds |
//! |---|---|
//! | [`iceberg_table`] | writing the metadata of an Iceberg table over files that are there |
//! | [`parquet_file`] | what manifests say about a Parquet file, from its footer |
//! | [`tpch`] | the tables of TPC-H as Parquet files, and its queries |
//! | [`synthetic_table`] | tables that have metadata only |
//! | [`result_rows`] | comparing results of queries |
//! | [`measure`] | time, memory, and what the machine does besides |

pub mod iceberg_table;
pub mod measure;
pub mod parquet_file;
pub mod result_rows;
pub mod synthetic_table;
pub mod tpch;

/// A result whose error is a text for whoever runs the benchmark.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

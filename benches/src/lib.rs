//! Benchmarks of Drumlin: programs that print figures and the command that repeats them.
//!
//! | program | measures |
//! |---|---|
//! | `tpch` | the queries of TPC-H on Iceberg tables against plain Parquet files |
//! | `deletes` | tables with deletion vectors and delete files against clean tables |
//! | `writes` | writing tables against DataFusion's `COPY`, and many small commits |
//! | `changes` | DELETE, UPDATE and MERGE |
//! | `planning` | planning scans of a table of 100,000 files, and opening a table of 1,001 snapshots |
//!
//! What the programs share:
//!
//! | module | holds |
//! |---|---|
//! | [`iceberg_table`] | writing the metadata of an Iceberg table over files that are there |
//! | [`delete_files`] | writing deletion vectors and delete files |
//! | [`parquet_file`] | writing Parquet files, and what manifests say about one |
//! | [`tpch`] | the tables of TPC-H as Parquet files, and its queries |
//! | [`deletes`] | tables with deletes, and how they are measured |
//! | [`warehouse`] | sessions over a warehouse in a folder |
//! | [`changes`] | statements that change rows, and how they are measured |
//! | [`synthetic_table`] | tables that have metadata only |
//! | [`cached`] | files that are kept from run to run |
//! | [`chance`] | what looks like chance and is the same in every run |
//! | [`threads`] | work on several threads |
//! | [`result_rows`] | reading and comparing results of queries |
//! | [`measure`] | time, memory, and what the machine does besides |

pub mod cached;
pub mod chance;
pub mod changes;
pub mod delete_files;
pub mod deletes;
pub mod iceberg_table;
pub mod measure;
pub mod parquet_file;
pub mod result_rows;
pub mod synthetic_table;
pub mod threads;
pub mod tpch;
pub mod warehouse;

/// A result whose error is a text for whoever runs the benchmark.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

//! An Iceberg table on object stores: opening, pinning at a snapshot, pruning, planning, writing and committing.
//!
//! This crate knows no query engine and no catalog of its own, only what a catalog does. Section marks (`§`) point into the Iceberg table
//! specification.
//!
//! | module | holds |
//! |---|---|
//! | [`storage`] | locations and the stores behind them |
//! | [`table`] | a table pinned at a snapshot, and how it is opened |
//! | [`catalog`] | what a catalog is: names, pointers, the one conditional write |
//! | [`predicate`] | predicates bound to field ids, and what metadata proves about them |
//! | [`scan`] | planning: from a predicate to the files that may hold its rows |
//! | [`deletes`] | which delete files apply to a data file, and what they delete |
//! | [`transaction`] | changes of a table: worked out, validated, committed, tried again |
//! | [`arrow`] | schemas in Arrow's terms |
//! | [`data_file`] | the rows of a file of any format as Arrow batches |
//! | [`write`](mod@write) | writing data files, with their metrics |
//! | [`memory`] | where memory is accounted |

pub mod arrow;
mod cache;
pub mod catalog;
pub mod clock;
pub mod data_file;
pub mod deletes;
pub mod error;
pub mod memory;
pub mod predicate;
mod properties;
pub mod row_changes;
pub mod scan;
pub mod storage;
pub mod table;
mod tasks;
pub mod transaction;
pub mod write;

pub use error::{Error, Result};
pub use table::{OpenOptions, Table, TableVersion, VERSION_HINT};

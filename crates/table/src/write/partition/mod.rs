//! Rows by partition.
//!
//! - `columns`: the partition values of rows, as arrays ([`partition_columns`])
//! - `runs`: rows of one partition that stand together in a batch

mod columns;
mod runs;

pub use columns::partition_columns;
pub(super) use runs::{PartitionKey, Partitioner, Runs};

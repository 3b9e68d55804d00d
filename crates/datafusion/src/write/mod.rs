//! Writing to Iceberg tables.
//!
//! ```text
//! input ─► store(…) for each column ─► [hash by partition] ─► [sort] ─► IcebergWriteExec ─► CoalescePartitionsExec ─► IcebergCommitExec
//!          `assignment`                `layout`                          a writer each, data     one input              one commit, the
//!                                                                        files as rows                                  number of rows
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `target` | the table of a catalog that is written to, and what happens to its rows |
//! | `assignment` | values arrive unchanged or the statement fails |
//! | `insert` | a query and a target become one plan |
//! | `layout` | partition and sort terms as expressions over the rows that are written |
//! | `writers` | `IcebergWriteExec` |
//! | `commit` | `IcebergCommitExec` |
//! | `row_changes` | DELETE, UPDATE and MERGE: the same writers and commit over rows that are changed |
//! | `files` | the files that a statement has written, and who removes them |
//! | `options` | options of the session |

pub(crate) mod assignment;
mod commit;
mod files;
mod insert;
mod layout;
mod options;
mod row_changes;
mod target;
mod writers;

pub use commit::IcebergCommitExec;
pub(crate) use insert::{
    Given, default_value, given_columns, insert_exec, insert_plan, store_plan, store_values,
};
pub use options::{IcebergOptions, PartitionOverwriteMode};
pub(crate) use row_changes::{
    Change, ChangePlan, ChangedRows, Clause, FILE_ID, POS, ScannedTarget, place_columns, reads, truncate_exec,
};
pub use target::WriteTarget;
pub(crate) use target::{Making, WriteMode};
pub use writers::IcebergWriteExec;

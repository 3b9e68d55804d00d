//! DELETE, UPDATE and MERGE as plans.
//!
//! ```text
//! scan of the table, with places ─► joins, filters ─► first clause that holds ─► IcebergWriteExec ─► IcebergCommitExec
//!            │                                                                   new rows to data    copy-on-write: reads and writes
//!            │                                                                   files, places of    the changed files
//!            │                                                                   old rows kept       merge-on-read: writes deletes
//!            └── which files and rows are read ────────────────────────────────────────────────────► one commit
//! ```
//!
//! The rows that change are found by a relational plan, so that any condition works that a query may have. Of the old ones
//! only their places are kept: for each data file a bitmap of positions. The table is read once; copy-on-write reads the files
//! that hold a changed row a second time, without any condition, so that what is left of them depends on nothing but those
//! places.
//!
//! | module | holds |
//! |---|---|
//! | `plan` | [`ChangePlan`]: a statement as a logical plan |
//! | `scan` | the columns of places, and what the scan tells of what it reads |
//! | `columns` | [`ChangeColumns`]: batches of changed rows, taken apart |
//! | `sink` | from the logical plan to `IcebergWriteExec` and `IcebergCommitExec` |
//! | `commit` | what was found becomes a change of the table |
//! | `rewrite` | copy-on-write |
//! | `truncate` | TRUNCATE |

pub(super) mod columns;
pub(super) mod commit;
mod plan;
mod rewrite;
mod scan;
mod sink;
mod truncate;

pub(crate) use plan::{Change, ChangePlan, Clause, reads};
pub(crate) use scan::{ChangedRows, FILE_ID, POS, ScannedTarget, place_columns};
pub(crate) use truncate::truncate_exec;

//! DELETE, UPDATE and MERGE as changes of a table (§ Row-level Deletes).
//!
//! ```text
//! rows that are deleted or replaced, by data file ─┬─ copy-on-write ──► the files are rewritten without them
//!                                                  └─ merge-on-read ──► deletion vectors or position delete files
//! new rows ───────────────────────────────────────────────────────────► data files
//! data files of which all rows are deleted ───────────────────────────► removed by metadata alone
//! ```
//!
//! Who finds the rows, and who reads what is left of a file, is not known here. A statement has read a snapshot, and in it
//! the rows that a predicate keeps; what commits since may have done to those depends on its isolation level.
//!
//! | module | holds |
//! |---|---|
//! | `properties` | [`RowChangeProperties`]: how the table wants a statement to be carried out |
//! | `merge_on_read` | new deletes take in the older ones of their data file |
//! | `change` | [`RowChanges`]: what was done, as a change of the table |

mod change;
mod merge_on_read;
mod properties;

#[cfg(test)]
mod tests;

use std::fmt;

pub use change::RowChanges;
pub use merge_on_read::with_older_deletes;
pub use properties::RowChangeProperties;

/// A statement that changes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statement {
    /// `DELETE`
    Delete,
    /// `UPDATE`
    Update,
    /// `MERGE`
    Merge,
}

/// How rows are taken out of data files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The files are written anew without them.
    CopyOnWrite,
    /// Delete files name them, and readers leave them out.
    MergeOnRead,
}

/// What may have been committed since a statement has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Nothing that would have changed what it did.
    Serializable,
    /// New rows, which it has not seen.
    Snapshot,
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delete => "delete",
            Self::Update => "update",
            Self::Merge => "merge",
        })
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CopyOnWrite => "copy-on-write",
            Self::MergeOnRead => "merge-on-read",
        })
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Serializable => "serializable",
            Self::Snapshot => "snapshot",
        })
    }
}

//! What a table reference may ask for, and who can answer it.

use std::fmt;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::error::Result;

/// The version of a table that a reference names: `VERSION AS OF`, `TIMESTAMP AS OF`, `AT (…)` or a selector
/// such as `t.branch_x`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TableVersion {
    /// The snapshot with this `snapshot-id`. A version that reads as a number is always one, even if quoted.
    Snapshot(i64),
    /// A branch or a tag of this name.
    Reference(String),
    /// The branch of this name; a tag does not do.
    Branch(String),
    /// The tag of this name; a branch does not do.
    Tag(String),
    /// The snapshot that was current at this instant, in milliseconds since the epoch: the newest entry of
    /// `snapshot-log` whose `timestamp-ms` is not later.
    TimestampMs(i64),
}

impl fmt::Display for TableVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(id) => write!(f, "snapshot {id}"),
            Self::Reference(name) => write!(f, "branch or tag '{name}'"),
            Self::Branch(name) => write!(f, "branch '{name}'"),
            Self::Tag(name) => write!(f, "tag '{name}'"),
            Self::TimestampMs(ms) => write!(f, "{ms} ms since the epoch"),
        }
    }
}

/// A table that can be read as of an earlier version.
///
/// The metadata is in memory already, so this does no I/O: every reference of one statement to one table is pinned
/// from the metadata that the statement loaded.
pub trait VersionedTable {
    /// The same table pinned at `version`.
    ///
    /// # Errors
    /// The version does not exist. The message lists what does; the current rows are never the answer.
    fn at_version(&self, version: &TableVersion) -> Result<Arc<dyn TableProvider>>;
}

/// The table behind `provider` if it is one that can time-travel: the one place that knows which providers do.
pub fn as_versioned(provider: &dyn TableProvider) -> Option<&dyn VersionedTable> {
    #[cfg(test)]
    if let Some(table) = provider.downcast_ref::<super::tests::fake::FakeTable>() {
        return Some(table);
    }
    let _ = provider;
    None
}

//! Snapshots, the refs that name them and the logs that remember them (§ Snapshots, § Snapshot References).

mod json;
mod summary;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use summary::{Operation, Summary};

/// The branch that is the table's current state (§ Snapshot References).
pub const MAIN_BRANCH: &str = "main";

/// The state of a table at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Unique in the table, positive.
    pub snapshot_id: i64,
    /// The snapshot this one was made from; it may have been expired since.
    pub parent_snapshot_id: Option<i64>,
    /// The order of commits; 0 for snapshots of version 1.
    pub sequence_number: i64,
    /// When it was made, in ms since 1970-01-01 UTC. Ids order history, times do not.
    pub timestamp_ms: i64,
    /// Where its manifests are listed.
    pub manifest_list: ManifestListLocation,
    /// What the commit did.
    pub summary: Summary,
    /// The current schema when it was made; old snapshots leave it out.
    pub schema_id: Option<i32>,
    /// The first row id that rows added by it may have (v3, § Row Lineage).
    pub first_row_id: Option<i64>,
    /// How many row ids it took: an upper bound of the rows added (v3).
    pub added_rows: Option<i64>,
    /// The key that encrypts the key metadata of its manifest list (v3).
    pub key_id: Option<String>,
}

/// Where the manifests of a snapshot are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestListLocation {
    /// The location of the manifest list, verbatim.
    File(String),
    /// The locations of the manifests themselves, as version 1 may embed them.
    Manifests(Vec<String>),
}

/// A branch or a tag (§ Snapshot References).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRef {
    /// The head of the branch, or the tagged snapshot.
    pub snapshot_id: i64,
    /// Branch or tag.
    pub kind: RefKind,
    /// For how many ms the ref itself is kept; ignored for `main`.
    pub max_ref_age_ms: Option<i64>,
}

/// Whether commits move a ref.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefKind {
    /// Commits move it.
    Branch {
        /// How many snapshots of the branch expiry keeps at least.
        min_snapshots_to_keep: Option<i32>,
        /// Up to which age, in ms, expiry keeps snapshots of the branch.
        max_snapshot_age_ms: Option<i64>,
    },
    /// It stays.
    Tag,
}

/// Which snapshot became current when (§ Table Metadata Fields, `snapshot-log`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SnapshotLogEntry {
    /// When it became current, in ms since 1970-01-01 UTC.
    pub timestamp_ms: i64,
    /// The snapshot.
    pub snapshot_id: i64,
}

/// An earlier metadata file (§ Table Metadata Fields, `metadata-log`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MetadataLogEntry {
    /// When the file was last updated, in ms since 1970-01-01 UTC.
    pub timestamp_ms: i64,
    /// Its location.
    pub metadata_file: String,
}

impl SnapshotRef {
    /// A branch that keeps what the table's properties say.
    pub fn branch(snapshot_id: i64) -> Self {
        Self {
            snapshot_id,
            kind: RefKind::Branch {
                min_snapshots_to_keep: None,
                max_snapshot_age_ms: None,
            },
            max_ref_age_ms: None,
        }
    }

    /// A tag that is kept for as long as the table's properties say.
    pub fn tag(snapshot_id: i64) -> Self {
        Self {
            snapshot_id,
            kind: RefKind::Tag,
            max_ref_age_ms: None,
        }
    }

    /// Whether it is a branch.
    pub fn is_branch(&self) -> bool {
        matches!(self.kind, RefKind::Branch { .. })
    }
}

//! Manifest lists (§ Manifest Lists): which manifests a snapshot has, and what they hold.

mod read;
mod write;

use crate::manifest::ManifestContent;

pub use read::read_manifest_list;
pub use write::{ManifestListOptions, WrittenManifestList, write_manifest_list};

/// The sequence number of manifests that no snapshot has committed yet.
pub const UNASSIGNED_SEQUENCE_NUMBER: i64 = -1;

/// An entry of a manifest list. Numbers in the documentation are field ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFile {
    /// Where the manifest is (500).
    pub manifest_path: String,
    /// Its size in bytes (501).
    pub manifest_length: i64,
    /// The id of the partition spec that its files have (502).
    pub partition_spec_id: i32,
    /// Whether it lists data files or delete files (517); data in version 1.
    pub content: ManifestContent,
    /// The sequence number of the snapshot that added it (515); 0 in version 1.
    pub sequence_number: i64,
    /// The lowest data sequence number of its live files (516); 0 in version 1.
    pub min_sequence_number: i64,
    /// The id of the snapshot that added it (503).
    pub added_snapshot_id: i64,
    /// How many entries have the status added (504); `None` is unknown, to be taken as some.
    pub added_files_count: Option<i32>,
    /// How many entries have the status existing (505); `None` is unknown, to be taken as some.
    pub existing_files_count: Option<i32>,
    /// How many entries have the status deleted (506); `None` is unknown, to be taken as some.
    pub deleted_files_count: Option<i32>,
    /// How many rows the added files have (512).
    pub added_rows_count: Option<i64>,
    /// How many rows the existing files have (513).
    pub existing_rows_count: Option<i64>,
    /// How many rows the deleted files have (514).
    pub deleted_rows_count: Option<i64>,
    /// A summary for each field of the partition spec, in its order (507). It may be shorter than the spec.
    pub partitions: Option<Vec<FieldSummary>>,
    /// How the manifest is encrypted (519). Lists that have it are refused.
    pub key_metadata: Option<Vec<u8>>,
    /// The id of the first row of its added data files without one of their own (520, v3).
    pub first_row_id: Option<i64>,
}

/// What the values of one partition field of a manifest are (508).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSummary {
    /// Whether any is null (509).
    pub contains_null: bool,
    /// Whether any is NaN (518); `None` is unknown.
    pub contains_nan: Option<bool>,
    /// The lowest value that is neither null nor NaN, as single-value bytes of the field's type (510).
    pub lower_bound: Option<Vec<u8>>,
    /// The highest value that is neither null nor NaN, as single-value bytes of the field's type (511).
    pub upper_bound: Option<Vec<u8>>,
}

impl ManifestFile {
    /// A manifest that no list tells of: nothing is known but where it is, its spec and the snapshot that added it, all of
    /// whose entries have their own numbers, or 0.
    pub fn unlisted(
        manifest_path: impl Into<String>,
        partition_spec_id: i32,
        content: ManifestContent,
        added_snapshot_id: i64,
    ) -> Self {
        Self {
            manifest_path: manifest_path.into(),
            manifest_length: 0,
            partition_spec_id,
            content,
            sequence_number: 0,
            min_sequence_number: 0,
            added_snapshot_id,
            added_files_count: None,
            existing_files_count: None,
            deleted_files_count: None,
            added_rows_count: None,
            existing_rows_count: None,
            deleted_rows_count: None,
            partitions: None,
            key_metadata: None,
            first_row_id: None,
        }
    }

    /// Whether the manifest may hold files that belong to the table's state: false only if the counts say there are
    /// none.
    pub fn may_have_live_files(&self) -> bool {
        self.added_files_count != Some(0) || self.existing_files_count != Some(0)
    }
}

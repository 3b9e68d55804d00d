//! Manifests (§ Manifests): data files or delete files with their partition, sequence numbers and column metrics.
//!
//! | file | holds |
//! |---|---|
//! | `read` | [`ManifestReader`]: entries with everything inherited filled in |
//! | `write` | [`ManifestWriter`], `avro_schema` the schema it writes, `summary` what the list says about partitions |
//! | `partition` | partition tuples from Avro |
//! | `metrics` | [`ColumnMetrics`]: counts and bounds by column, kept encoded |

pub(crate) mod avro_schema;
pub(crate) mod fields;
mod metrics;
mod partition;
mod read;
mod summary;
mod write;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::avro::Container;
use crate::error::{Error, Result};
use crate::partition::PartitionTuple;

pub use metrics::{ColumnMetrics, ColumnMetricsBuilder};
pub use read::{Manifest, ManifestHeader, ManifestProjection, ManifestReader, read_manifest};
pub use write::{ManifestWriter, ManifestWriterOptions};

/// What the files of a manifest are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ManifestContent {
    /// Data files (0).
    Data,
    /// Position and equality delete files and deletion vectors (1).
    Deletes,
}

/// What a manifest says about a file (field id 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ManifestStatus {
    /// It was there before the manifest (0).
    Existing,
    /// The snapshot that added the manifest added it (1).
    Added,
    /// The snapshot that added the manifest deleted it (2).
    Deleted,
}

/// What a file holds (field id 134).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataContent {
    /// Rows (0).
    Data,
    /// Paths and positions of deleted rows, or a deletion vector (1).
    PositionDeletes,
    /// Values of deleted rows (2).
    EqualityDeletes,
}

/// The format of a file (field id 101).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Apache Avro.
    Avro,
    /// Apache ORC.
    Orc,
    /// Puffin, for deletion vectors.
    Puffin,
    /// One that is not known here, as written.
    Other(Box<str>),
}

/// A file of a table. Numbers in the documentation are field ids.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFile {
    /// What it holds (134).
    pub content: DataContent,
    /// Where it is, exactly as written (100).
    pub file_path: Arc<str>,
    /// Its format (101).
    pub file_format: FileFormat,
    /// The id of its partition spec, that of its manifest.
    pub spec_id: i32,
    /// Its partition values, in the order of the spec (102).
    pub partition: PartitionTuple,
    /// How many rows, deletes or deleted positions it holds (103). Negative is unknown.
    pub record_count: i64,
    /// Its size in bytes (104); for a deletion vector that of the whole Puffin file.
    pub file_size_in_bytes: i64,
    /// Counts and bounds by column (108, 109, 110, 137, 125, 128).
    pub column_metrics: ColumnMetrics,
    /// How it is encrypted (131). Manifests that have it are refused.
    pub key_metadata: Option<Vec<u8>>,
    /// Offsets in bytes where it can be split, ascending (132). Those that are not ascending or lie outside of the
    /// file are left out as a whole.
    pub split_offsets: Option<Vec<i64>>,
    /// The columns that equality deletes compare (135).
    pub equality_ids: Option<Vec<i32>>,
    /// The id of the sort order that its rows have (140).
    pub sort_order_id: Option<i32>,
    /// The id of its first row (142, v3), inherited where the manifest leaves it out; `None` in tables without row
    /// lineage.
    pub first_row_id: Option<i64>,
    /// The one data file that position deletes are for (143).
    pub referenced_data_file: Option<Arc<str>>,
    /// Where the deletion vector starts in its file, in bytes (144, v3).
    pub content_offset: Option<i64>,
    /// How long the deletion vector is, in bytes (145, v3).
    pub content_size_in_bytes: Option<i64>,
}

/// A file in a manifest, with everything inherited filled in (§ Sequence Number Inheritance).
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestEntry {
    /// What is said about the file (0).
    pub status: ManifestStatus,
    /// The snapshot that added it, or deleted it if that is the status (1).
    pub snapshot_id: i64,
    /// Its data sequence number (3): deletes apply to older data; 0 in version 1.
    pub sequence_number: i64,
    /// The sequence number of the commit that added it (4); 0 in version 1.
    pub file_sequence_number: i64,
    /// The file (2).
    pub data_file: DataFile,
}

impl ManifestContent {
    /// The content with this number in the manifest list.
    pub fn from_code(code: i32) -> Result<Self> {
        match code {
            0 => Ok(Self::Data),
            1 => Ok(Self::Deletes),
            other => Err(Error::invalid(
                "value",
                format!("{other} is no content of a manifest: 0 is data, 1 is deletes"),
            )),
        }
    }

    /// The number in the manifest list.
    pub fn code(self) -> i32 {
        match self {
            Self::Data => 0,
            Self::Deletes => 1,
        }
    }

    /// The word in the header of a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Deletes => "deletes",
        }
    }
}

impl ManifestStatus {
    /// The status with this number.
    pub fn from_code(code: i32) -> Result<Self> {
        match code {
            0 => Ok(Self::Existing),
            1 => Ok(Self::Added),
            2 => Ok(Self::Deleted),
            other => Err(Error::invalid(
                "value",
                format!("{other} is no status: 0 is existing, 1 is added, 2 is deleted"),
            )),
        }
    }

    /// Its number.
    pub fn code(self) -> i32 {
        match self {
            Self::Existing => 0,
            Self::Added => 1,
            Self::Deleted => 2,
        }
    }
}

impl DataContent {
    /// The content with this number.
    pub fn from_code(code: i32) -> Result<Self> {
        match code {
            0 => Ok(Self::Data),
            1 => Ok(Self::PositionDeletes),
            2 => Ok(Self::EqualityDeletes),
            other => Err(Error::invalid(
                "value",
                format!(
                    "{other} is no content of a file: 0 is data, 1 is position deletes, 2 is equality deletes"
                ),
            )),
        }
    }

    /// Its number.
    pub fn code(self) -> i32 {
        match self {
            Self::Data => 0,
            Self::PositionDeletes => 1,
            Self::EqualityDeletes => 2,
        }
    }
}

impl FileFormat {
    /// The format with this name, in any case.
    pub fn from_name(name: &str) -> Self {
        for known in [Self::Parquet, Self::Avro, Self::Orc, Self::Puffin] {
            if known.name().eq_ignore_ascii_case(name) {
                return known;
            }
        }
        Self::Other(name.into())
    }

    /// The name as manifests hold it, in upper case.
    pub fn name(&self) -> &str {
        match self {
            Self::Parquet => "PARQUET",
            Self::Avro => "AVRO",
            Self::Orc => "ORC",
            Self::Puffin => "PUFFIN",
            Self::Other(name) => name,
        }
    }
}

impl ManifestEntry {
    /// Whether the file belongs to the table's state.
    pub fn is_live(&self) -> bool {
        self.status != ManifestStatus::Deleted
    }
}

/// The `format-version` of a header; without it the file is of version 1 (§ Manifests).
pub(crate) fn format_version(container: &Container<'_>, of: &str) -> Result<u8> {
    let Some(text) = container.text("format-version")? else {
        return Ok(1);
    };
    match text.parse::<u32>() {
        Ok(1) => Ok(1),
        Ok(2) => Ok(2),
        Ok(3) => Ok(3),
        Ok(other) if other > 3 => Err(Error::unsupported(format!(
            "format version {other} of a {of}; versions 1 to 3 are read"
        ))),
        _ => Err(Error::invalid(
            format!("{of} header, format-version"),
            format!("expected a version, found `{text}`"),
        )),
    }
}

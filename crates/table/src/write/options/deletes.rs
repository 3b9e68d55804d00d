//! How delete files are written.

use drumlin_format::metadata::TableMetadata;

use super::{ParquetSettings, locations, refuse_encryption};
use crate::error::{Error, Result};
use crate::properties::Properties;
use crate::write::location::LocationProvider;

const FORMAT: &str = "write.delete.format.default";
const DATA_FORMAT: &str = "write.format.default";

/// How many data files a position delete file is for (`write.delete.granularity`). Deletion vectors are always for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteGranularity {
    /// For one: a scan reads what it needs and nothing else, and another delete can replace it.
    File,
    /// For all of a partition: fewer files.
    Partition,
}

/// How delete files are written, from the table's properties, each of them checked.
#[derive(Debug, Clone)]
pub struct DeleteWriteOptions {
    pub(in crate::write) granularity: DeleteGranularity,
    pub(in crate::write) target_file_size_bytes: u64,
    pub(in crate::write) parquet: ParquetSettings,
    pub(in crate::write) locations: LocationProvider,
    pub(in crate::write) partition_id: usize,
    notes: Vec<String>,
}

impl DeleteWriteOptions {
    /// By the properties of a table.
    ///
    /// # Errors
    /// [`Error::Property`] for a value that cannot be used, naming the property, its value and what it may be;
    /// [`Error::Unsupported`] for encrypted tables, and for other formats than Parquet where it is asked for one: deletion
    /// vectors (format version 3) have a format of their own.
    pub fn of(metadata: &TableMetadata) -> Result<Self> {
        let mut properties = Properties::new(metadata.properties());
        refuse_encryption(&properties)?;
        let formats = [("parquet", true), ("avro", false), ("orc", false)];
        let of_deletes = properties.one_of(FORMAT, &formats)?;
        let (key, written) = match of_deletes {
            Some(written) => (FORMAT, written),
            None => (
                DATA_FORMAT,
                properties.one_of(DATA_FORMAT, &formats)?.unwrap_or(true),
            ),
        };
        if !written && metadata.format_version() < 3 {
            return Err(Error::Unsupported(format!(
                "table property `{key}`: position delete files are written in parquet only, not in `{}`; set \
                 '{FORMAT}' to 'parquet'",
                properties.text(key).unwrap_or_default()
            )));
        }
        let granularities = [
            ("file", DeleteGranularity::File),
            ("partition", DeleteGranularity::Partition),
        ];
        let granularity = properties.one_of("write.delete.granularity", &granularities)?;
        let default_target: u64 = 64 << 20;
        Ok(Self {
            granularity: granularity.unwrap_or(DeleteGranularity::File),
            target_file_size_bytes: properties.positive(
                "write.delete.target-file-size-bytes",
                default_target,
                "bytes",
            )?,
            parquet: ParquetSettings::of_deletes(&mut properties)?,
            locations: locations(&mut properties, metadata)?,
            partition_id: 0,
            notes: properties.notes,
        })
    }

    /// How many data files a position delete file is for; `File` unless `write.delete.granularity` says otherwise.
    pub fn granularity(&self) -> DeleteGranularity {
        self.granularity
    }

    /// A delete file is closed when it has so many bytes (`write.delete.target-file-size-bytes`).
    pub fn target_file_size_bytes(&self) -> u64 {
        self.target_file_size_bytes
    }

    /// What is to be told about properties that have no effect here.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The number of the writer among those of a statement, for the names of its files.
    #[must_use]
    pub fn with_partition_id(mut self, partition_id: usize) -> Self {
        self.partition_id = partition_id;
        self
    }
}

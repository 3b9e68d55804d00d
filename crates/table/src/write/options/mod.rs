//! How files are written, by the properties of the table and by what a caller says.
//!
//! - `parquet`: row groups, pages, codecs, bloom filters
//! - `deletes`: delete files
//! - `metrics`: which metrics are kept of which column

mod deletes;
mod metrics;
mod parquet;

use drumlin_format::metadata::TableMetadata;

pub use deletes::{DeleteGranularity, DeleteWriteOptions};
pub use metrics::MetricsModes;
pub(super) use parquet::ParquetSettings;

use super::location::LocationProvider;
use crate::error::{Error, Result};
use crate::properties::Properties;

/// The least limit of memory of a writer: row groups can be small, the parts of uploads are not.
const LEAST_MEMORY_LIMIT_BYTES: usize = 512 << 20;

/// How rows are brought to the writers of a table (`write.distribution-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistributionMode {
    /// As they come.
    None,
    /// Those of a partition together.
    Hash,
    /// By ranges of the sort order.
    Range,
}

impl DistributionMode {
    /// What properties call them.
    pub(crate) const WORDS: [(&str, Self); 3] =
        [("none", Self::None), ("hash", Self::Hash), ("range", Self::Range)];
}

/// How files are written, from the table's properties, each of them checked.
///
/// `write.parquet.row-group-check-*` and the bloom filters that adapt themselves are tuning of another library and have
/// no meaning here.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteOptions {
    pub(super) target_file_size_bytes: u64,
    pub(super) parquet: ParquetSettings,
    pub(super) metrics: MetricsModes,
    pub(super) locations: LocationProvider,
    pub(super) max_open_files: usize,
    pub(super) memory_limit_bytes: usize,
    pub(super) partition_id: usize,
    pub(super) spec_id: Option<i32>,
    pub(super) sort_order_id: i32,
    pub(super) row_lineage: bool,
    fanout: bool,
    distribution_mode: Option<DistributionMode>,
    notes: Vec<String>,
}

impl WriteOptions {
    /// Files that a writer keeps open at most, unless a caller says otherwise.
    pub const DEFAULT_MAX_OPEN_FILES: usize = 128;

    /// By the properties of a table.
    ///
    /// # Errors
    /// [`Error::Property`] for a value that cannot be used, naming the property, its value and what it may be;
    /// [`Error::Unsupported`] for other formats than Parquet and for encrypted tables.
    pub fn of(metadata: &TableMetadata) -> Result<Self> {
        let mut properties = Properties::new(metadata.properties());
        let formats = [("parquet", true), ("avro", false), ("orc", false)];
        if properties.one_of("write.format.default", &formats)? == Some(false) {
            return Err(Error::Unsupported(format!(
                "table property `write.format.default`: data files are written in parquet only, not in `{}`",
                properties.text("write.format.default").unwrap_or_default()
            )));
        }
        refuse_encryption(&properties)?;
        let parquet = ParquetSettings::of(&mut properties, metadata.current_schema())?;
        let default_target: u64 = 512 << 20;
        Ok(Self {
            target_file_size_bytes: properties.positive(
                "write.target-file-size-bytes",
                default_target,
                "bytes",
            )?,
            metrics: MetricsModes::of(&mut properties, metadata)?,
            locations: locations(&mut properties, metadata)?,
            max_open_files: Self::DEFAULT_MAX_OPEN_FILES,
            memory_limit_bytes: parquet
                .row_group_bytes
                .saturating_mul(4)
                .max(LEAST_MEMORY_LIMIT_BYTES),
            parquet,
            partition_id: 0,
            spec_id: None,
            sort_order_id: drumlin_format::sort::UNSORTED_ORDER_ID,
            row_lineage: false,
            fanout: properties.boolean("write.spark.fanout.enabled", false)?,
            distribution_mode: properties.one_of("write.distribution-mode", &DistributionMode::WORDS)?,
            notes: properties.notes,
        })
    }

    /// What is to be told about properties that have no effect here.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A file is closed when it has so many bytes, encoded (`write.target-file-size-bytes`).
    pub fn target_file_size_bytes(&self) -> u64 {
        self.target_file_size_bytes
    }

    /// Whether rows of all partitions may come in any order (`write.spark.fanout.enabled`).
    pub fn fanout(&self) -> bool {
        self.fanout
    }

    /// How rows are to be brought to the writers; `None` leaves it to the engine (`write.distribution-mode`).
    pub fn distribution_mode(&self) -> Option<DistributionMode> {
        self.distribution_mode
    }

    /// Which metrics are kept of which column.
    pub fn metrics_modes(&self) -> &MetricsModes {
        &self.metrics
    }

    /// Where files go.
    pub fn location_provider(&self) -> &LocationProvider {
        &self.locations
    }

    /// Another target size, in bytes; at least 1.
    #[must_use]
    pub fn with_target_file_size_bytes(mut self, bytes: u64) -> Self {
        self.target_file_size_bytes = bytes.max(1);
        self
    }

    /// How many files [`Arrangement::FanOut`](super::Arrangement) keeps open; at least 1.
    #[must_use]
    pub fn with_max_open_files(mut self, files: usize) -> Self {
        self.max_open_files = files.max(1);
        self
    }

    /// How many bytes the open files of a writer may hold in memory before row groups are closed early; four row
    /// groups, and at least 512 MiB, unless said otherwise.
    #[must_use]
    pub fn with_memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = bytes;
        self
    }

    /// The number of the writer among those of a statement, for the names of its files.
    #[must_use]
    pub fn with_partition_id(mut self, partition_id: usize) -> Self {
        self.partition_id = partition_id;
        self
    }

    /// Files of another partition spec of the table than its default one.
    #[must_use]
    pub fn with_spec_id(mut self, spec_id: i32) -> Self {
        self.spec_id = Some(spec_id);
        self
    }

    /// Says that the rows that a file gets are sorted by this order of the table (140). Without it files say that they are
    /// not sorted.
    #[must_use]
    pub fn sorted_by(mut self, sort_order_id: i32) -> Self {
        self.sort_order_id = sort_order_id;
        self
    }

    /// Files that carry the lineage of their rows (§ Row Lineage): batches have two more columns behind those of the
    /// table, `_row_id` and `_last_updated_sequence_number`, both `Int64`. What they hold is stored; null is inherited,
    /// as by a new row. The columns are taken by their place, whatever they are called.
    #[must_use]
    pub fn with_row_lineage(mut self) -> Self {
        self.row_lineage = true;
        self
    }
}

fn refuse_encryption(properties: &Properties<'_>) -> Result<()> {
    match properties.text("encryption.key-id") {
        None => Ok(()),
        Some(_) => Err(Error::Unsupported(
            "table property `encryption.key-id`: files of encrypted tables are not written".into(),
        )),
    }
}

/// Where the files of a table go.
fn locations(properties: &mut Properties<'_>, metadata: &TableMetadata) -> Result<LocationProvider> {
    if let Some(class) = properties.text("write.location-provider.impl") {
        let note = format!(
            "`write.location-provider.impl` has no effect: the class `{class}` cannot be run here, files get their \
             locations by the other properties"
        );
        properties.notes.push(note);
    }
    LocationProvider::of(properties, metadata.location())
}

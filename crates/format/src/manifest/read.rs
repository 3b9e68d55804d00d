//! Reading manifests.

use super::fields::{self, FieldReader, Required};
use super::metrics::{MetricsMap, MetricsScratch};
use super::partition::PartitionPlan;
use super::{
    ColumnMetrics, DataContent, DataFile, FileFormat, ManifestContent, ManifestEntry, ManifestStatus,
    format_version,
};
use crate::avro::{Block, Container, Decoder, NodeId};
use crate::error::{Error, Result};
use crate::manifest_list::ManifestFile;
use crate::types::StructType;

/// Which parts of entries are wanted. What is not is stepped over and left empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManifestProjection {
    /// Leave out entries with the status deleted.
    pub live_only: bool,
    /// Sizes of columns (108).
    pub column_sizes: bool,
    /// Counts of values, nulls and NaNs (109, 110, 137).
    pub counts: bool,
    /// Lower and upper bounds (125, 128).
    pub bounds: bool,
    /// Split offsets (132).
    pub split_offsets: bool,
}

impl ManifestProjection {
    /// Everything of every entry.
    pub const ALL: Self = Self {
        live_only: false,
        column_sizes: true,
        counts: true,
        bounds: true,
        split_offsets: true,
    };

    /// What planning needs to prune by metrics: live entries with counts and bounds.
    pub const SCAN: Self = Self {
        live_only: true,
        column_sizes: false,
        ..Self::ALL
    };

    /// Live entries without metrics.
    pub const FILES: Self = Self {
        counts: false,
        bounds: false,
        ..Self::SCAN
    };
}

/// A manifest, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// What its header says.
    pub header: ManifestHeader,
    /// Its entries in order; without deleted ones if the projection leaves them out.
    pub entries: Vec<ManifestEntry>,
}

/// The header of a manifest. All of it is a copy of what the table's metadata and the manifest list say, which have
/// authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestHeader {
    /// The format version it was written in, 1 if it does not say.
    pub format_version: u8,
    /// Whether it says that its files are data or deletes.
    pub content: Option<ManifestContent>,
    /// The id of its partition spec.
    pub partition_spec_id: Option<i32>,
    /// The partition fields, as a JSON array.
    pub partition_spec: Option<String>,
    /// The table's schema when it was written, as JSON.
    pub schema: Option<String>,
}

/// A manifest about to be read, by block or as a whole.
///
/// Blocks can be read in any order and in parallel; [`ManifestReader::assemble`] puts them together and assigns row
/// ids, which run through the whole manifest.
#[derive(Debug)]
pub struct ManifestReader<'a> {
    container: Container<'a>,
    header: ManifestHeader,
    manifest: &'a ManifestFile,
    projection: ManifestProjection,
    entry: Vec<Column<EntryField>>,
    file: Vec<Column<FileField>>,
    partition: PartitionPlan,
}

/// A column as it is written, and what it is to the reader.
#[derive(Debug)]
struct Column<F> {
    name: String,
    node: NodeId,
    field: F,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum EntryField {
    Status,
    SnapshotId,
    SequenceNumber,
    FileSequenceNumber,
    DataFile,
    Skipped,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum FileField {
    Content,
    FilePath,
    FileFormat,
    Partition,
    RecordCount,
    FileSize,
    Metrics(MetricsMap),
    KeyMetadata,
    SplitOffsets,
    EqualityIds,
    SortOrderId,
    FirstRowId,
    ReferencedDataFile,
    ContentOffset,
    ContentSize,
    Skipped,
}

/// Reads a manifest of version 1, 2 or 3.
///
/// `manifest` is its entry in the manifest list: sequence numbers, snapshot id and row ids are inherited from there, and
/// its spec id and content are those that count. `partition_type` is the type of that spec's tuples
/// ([`crate::partition::PartitionSpec::partition_type`]).
pub fn read_manifest(
    bytes: &[u8],
    manifest: &ManifestFile,
    partition_type: &StructType,
    projection: ManifestProjection,
) -> Result<Manifest> {
    let reader = ManifestReader::open(bytes, manifest, partition_type, projection)?;
    let mut blocks = Vec::new();
    let mut buffer = Vec::new();
    for block in reader.blocks()? {
        blocks.push(reader.read_block(&block, &mut buffer)?);
    }
    reader.assemble(blocks)
}

impl<'a> ManifestReader<'a> {
    /// Reads the header and matches the columns by field id. See [`read_manifest`] for the arguments.
    pub fn open(
        bytes: &'a [u8],
        manifest: &'a ManifestFile,
        partition_type: &StructType,
        projection: ManifestProjection,
    ) -> Result<Self> {
        let container = Container::open(bytes)?;
        let header = ManifestHeader::read(&container)?;
        let schema = container.schema();
        let entry_fields = schema
            .record_fields(schema.root())
            .ok_or_else(|| Error::invalid("manifest", "its entries are no records"))?;
        let entry: Vec<_> = entry_fields
            .iter()
            .map(|f| column(f, entry_field(f.id)))
            .collect();
        let data_file = find(&entry, EntryField::DataFile, "data_file (field id 2)")?.node;
        find(&entry, EntryField::Status, "status (field id 0)")?;
        let file_fields = schema
            .record_fields(data_file)
            .ok_or_else(|| fields::wrong_type(schema, data_file, "a record in data_file"))?;
        let file: Vec<_> = file_fields
            .iter()
            .map(|f| column(f, file_field(f.id, &projection)))
            .collect();
        find(&file, FileField::FilePath, "file_path (field id 100)")?;
        find(&file, FileField::FileFormat, "file_format (field id 101)")?;
        find(&file, FileField::RecordCount, "record_count (field id 103)")?;
        find(&file, FileField::FileSize, "file_size_in_bytes (field id 104)")?;
        let partition = find(&file, FileField::Partition, "partition (field id 102)")?.node;
        let partition = PartitionPlan::compile(schema, partition, partition_type)?;
        Ok(Self {
            header,
            manifest,
            projection,
            entry,
            file,
            partition,
            container,
        })
    }

    /// The header.
    pub fn header(&self) -> &ManifestHeader {
        &self.header
    }

    /// The blocks in order.
    pub fn blocks(&self) -> Result<Vec<Block<'a>>> {
        self.container.blocks()
    }

    /// Reads the entries of a block. `buffer` holds the inflated block; use it again for the next.
    pub fn read_block(&self, block: &Block<'_>, buffer: &mut Vec<u8>) -> Result<Vec<ManifestEntry>> {
        let data = self.container.codec().inflate(block.data, buffer)?;
        let mut decoder = Decoder::new(data);
        let mut scratch = MetricsScratch::default();
        // Every entry takes a byte at the least, for its status.
        let mut entries = Vec::with_capacity(block.count.min(data.len() / 64));
        for number in 0..block.count {
            let entry = self
                .read_entry(&mut decoder, &mut scratch)
                .map_err(|e| fields::at(e, || format!("manifest entry {number} of its block")))?;
            entries.extend(entry);
        }
        fields::expect_end(&decoder)?;
        Ok(entries)
    }

    /// Puts the blocks' entries together, in the order of the blocks, and assigns first row ids (§ First Row ID
    /// Inheritance).
    pub fn assemble(&self, blocks: Vec<Vec<ManifestEntry>>) -> Result<Manifest> {
        let mut blocks = blocks.into_iter();
        let mut entries = blocks.next().unwrap_or_default();
        entries.reserve_exact(blocks.as_slice().iter().map(Vec::len).sum());
        entries.extend(blocks.flatten());
        entries.shrink_to_fit();
        if let (Some(first), ManifestContent::Data) = (self.manifest.first_row_id, self.manifest.content) {
            assign_first_row_ids(&mut entries, first)?;
        }
        Ok(Manifest {
            header: self.header.clone(),
            entries,
        })
    }

    /// `None` for a deleted entry that the projection leaves out.
    fn read_entry(
        &self,
        decoder: &mut Decoder<'_>,
        scratch: &mut MetricsScratch,
    ) -> Result<Option<ManifestEntry>> {
        let schema = self.container.schema();
        let mut status = None;
        let (mut snapshot_id, mut sequence_number, mut file_sequence_number) = (None, None, None);
        let mut data_file = None;
        for column in &self.entry {
            let node = column.node;
            // A status that comes first, as it always does, saves decoding the rest.
            let dropped = self.projection.live_only && status == Some(ManifestStatus::Deleted);
            let mut field = FieldReader {
                schema,
                decoder,
                node,
            };
            let mut read = || -> Result<()> {
                match column.field {
                    _ if dropped => schema.skip(field.decoder, node)?,
                    EntryField::Status => status = Some(ManifestStatus::from_code(field.int()?.required()?)?),
                    EntryField::SnapshotId => snapshot_id = field.long()?,
                    EntryField::SequenceNumber => sequence_number = field.long()?,
                    EntryField::FileSequenceNumber => file_sequence_number = field.long()?,
                    EntryField::DataFile => {
                        schema.enter(field.decoder, node)?.required()?;
                        data_file = Some(self.read_file(field.decoder, scratch)?);
                    }
                    EntryField::Skipped => schema.skip(field.decoder, node)?,
                }
                Ok(())
            };
            read().map_err(|e| fields::at(e, || column.name.clone()))?;
        }
        let status = status.required()?;
        if self.projection.live_only && status == ManifestStatus::Deleted {
            return Ok(None);
        }
        Ok(Some(ManifestEntry {
            status,
            snapshot_id: snapshot_id.unwrap_or(self.manifest.added_snapshot_id),
            sequence_number: self.inherited(status, sequence_number, "sequence_number")?,
            file_sequence_number: self.inherited(status, file_sequence_number, "file_sequence_number")?,
            data_file: data_file.required()?,
        }))
    }

    /// A sequence number that is null is the manifest's, but only for added entries (§ Sequence Number Inheritance).
    fn inherited(&self, status: ManifestStatus, number: Option<i64>, name: &str) -> Result<i64> {
        match number {
            Some(number) => fields::not_negative(number).map_err(|e| fields::at(e, || name.to_owned())),
            None if status == ManifestStatus::Added || self.manifest.sequence_number == 0 => {
                Ok(self.manifest.sequence_number)
            }
            None if self.header.format_version == 1 => Ok(0),
            None => Err(Error::invalid(
                name,
                "it is null, which only entries with the status added may have",
            )),
        }
    }

    fn read_file(&self, decoder: &mut Decoder<'_>, scratch: &mut MetricsScratch) -> Result<DataFile> {
        let schema = self.container.schema();
        let mut content = None;
        let mut file = DataFile {
            content: DataContent::Data,
            file_path: "".into(),
            file_format: FileFormat::Parquet,
            spec_id: self.manifest.partition_spec_id,
            partition: Vec::new(),
            record_count: 0,
            file_size_in_bytes: 0,
            column_metrics: ColumnMetrics::unknown(),
            key_metadata: None,
            split_offsets: None,
            equality_ids: None,
            sort_order_id: None,
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_in_bytes: None,
        };
        for column in &self.file {
            let node = column.node;
            let mut field = FieldReader {
                schema,
                decoder,
                node,
            };
            let mut read = || -> Result<()> {
                match column.field {
                    FileField::Content => {
                        content = field.int()?.map(DataContent::from_code).transpose()?;
                    }
                    FileField::FilePath => file.file_path = field.string()?.required()?.into(),
                    FileField::FileFormat => {
                        file.file_format = FileFormat::from_name(field.string()?.required()?);
                    }
                    FileField::Partition => {
                        file.partition = self.partition.read(schema, field.decoder, node)?;
                    }
                    FileField::RecordCount => file.record_count = field.long()?.required()?,
                    FileField::FileSize => {
                        file.file_size_in_bytes = fields::not_negative(field.long()?.required()?)?;
                    }
                    FileField::Metrics(map) => scratch.read(map, schema, field.decoder, node)?,
                    FileField::KeyMetadata => fields::refuse_encryption(field.bytes()?, "manifest")?,
                    FileField::SplitOffsets => file.split_offsets = field.longs()?,
                    FileField::EqualityIds => file.equality_ids = field.ints()?,
                    FileField::SortOrderId => file.sort_order_id = field.int()?,
                    FileField::FirstRowId => file.first_row_id = non_negative(field.long()?)?,
                    FileField::ReferencedDataFile => {
                        file.referenced_data_file = field.string()?.map(Into::into);
                    }
                    FileField::ContentOffset => file.content_offset = non_negative(field.long()?)?,
                    FileField::ContentSize => file.content_size_in_bytes = non_negative(field.long()?)?,
                    FileField::Skipped => schema.skip(field.decoder, node)?,
                }
                Ok(())
            };
            read().map_err(|e| fields::at(e, || column.name.clone()))?;
        }
        file.column_metrics = scratch.finish();
        file.content = self.content(content)?;
        if !splits_are_valid(&file) {
            file.split_offsets = None;
        }
        Ok(file)
    }

    /// A manifest never mixes data and deletes, and the list says which it has.
    fn content(&self, content: Option<DataContent>) -> Result<DataContent> {
        let is_data = content.unwrap_or(DataContent::Data) == DataContent::Data;
        if is_data != (self.manifest.content == ManifestContent::Data) {
            return Err(Error::invalid(
                "content",
                format!(
                    "{content:?} does not fit the manifest list, which says that the manifest has {}",
                    self.manifest.content.name()
                ),
            ));
        }
        Ok(content.unwrap_or(DataContent::Data))
    }
}

impl ManifestHeader {
    fn read(container: &Container<'_>) -> Result<Self> {
        let content = match container.text("content")? {
            Some("data") => Some(ManifestContent::Data),
            Some("deletes") => Some(ManifestContent::Deletes),
            _ => None,
        };
        let text = |key| Ok::<_, Error>(container.text(key)?.map(str::to_owned));
        Ok(Self {
            format_version: format_version(container, "manifest")?,
            content,
            partition_spec_id: container
                .text("partition-spec-id")?
                .and_then(|id| id.parse().ok()),
            partition_spec: text("partition-spec")?,
            schema: text("schema")?,
        })
    }
}

fn column<F>(of: &crate::avro::Field, field: F) -> Column<F> {
    Column {
        name: of.name.clone(),
        node: of.node,
        field,
    }
}

fn find<'c, F: PartialEq>(columns: &'c [Column<F>], field: F, name: &str) -> Result<&'c Column<F>> {
    columns
        .iter()
        .find(|c| c.field == field)
        .ok_or_else(|| Error::invalid("manifest", format!("it has no column {name}")))
}

fn entry_field(id: Option<i32>) -> EntryField {
    match id {
        Some(0) => EntryField::Status,
        Some(1) => EntryField::SnapshotId,
        Some(2) => EntryField::DataFile,
        Some(3) => EntryField::SequenceNumber,
        Some(4) => EntryField::FileSequenceNumber,
        _ => EntryField::Skipped,
    }
}

fn file_field(id: Option<i32>, projection: &ManifestProjection) -> FileField {
    match id {
        Some(134) => FileField::Content,
        Some(100) => FileField::FilePath,
        Some(101) => FileField::FileFormat,
        Some(102) => FileField::Partition,
        Some(103) => FileField::RecordCount,
        Some(104) => FileField::FileSize,
        Some(108) if projection.column_sizes => FileField::Metrics(MetricsMap::ColumnSizes),
        Some(109) if projection.counts => FileField::Metrics(MetricsMap::ValueCounts),
        Some(110) if projection.counts => FileField::Metrics(MetricsMap::NullValueCounts),
        Some(137) if projection.counts => FileField::Metrics(MetricsMap::NanValueCounts),
        Some(125) if projection.bounds => FileField::Metrics(MetricsMap::LowerBounds),
        Some(128) if projection.bounds => FileField::Metrics(MetricsMap::UpperBounds),
        Some(131) => FileField::KeyMetadata,
        Some(132) if projection.split_offsets => FileField::SplitOffsets,
        Some(135) => FileField::EqualityIds,
        Some(140) => FileField::SortOrderId,
        Some(142) => FileField::FirstRowId,
        Some(143) => FileField::ReferencedDataFile,
        Some(144) => FileField::ContentOffset,
        Some(145) => FileField::ContentSize,
        _ => FileField::Skipped,
    }
}

fn non_negative(value: Option<i64>) -> Result<Option<i64>> {
    value.map(fields::not_negative).transpose()
}

/// Split offsets must ascend and lie inside the file, else they are worth nothing.
fn splits_are_valid(file: &DataFile) -> bool {
    let Some(offsets) = &file.split_offsets else {
        return true;
    };
    offsets.is_sorted_by(|a, b| a < b)
        && offsets.first().is_none_or(|first| *first >= 0)
        && offsets.last().is_none_or(|last| *last < file.file_size_in_bytes)
}

fn assign_first_row_ids(entries: &mut [ManifestEntry], first: i64) -> Result<()> {
    let mut next = first;
    for entry in entries.iter_mut().filter(|e| e.is_live()) {
        let file = &mut entry.data_file;
        if file.first_row_id.is_some() {
            continue;
        }
        file.first_row_id = Some(next);
        next = Some(file.record_count)
            .filter(|count| *count >= 0)
            .and_then(|count| next.checked_add(count))
            .ok_or_else(|| {
                Error::invalid(
                    format!("record_count of the file {}", file.file_path),
                    format!("{} rows cannot be numbered from {next}", file.record_count),
                )
            })?;
    }
    Ok(())
}

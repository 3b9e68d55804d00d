//! Writing manifests.

use super::avro_schema::{decimal_size, manifest_entry};
use super::summary::PartitionSummaries;
use super::{DataContent, DataFile, FileFormat, ManifestContent, ManifestEntry, ManifestStatus};
use crate::avro::{Codec, ContainerWriter, Encoder};
use crate::error::{Error, Result};
use crate::manifest_list::{ManifestFile, UNASSIGNED_SEQUENCE_NUMBER};
use crate::partition::PartitionSpec;
use crate::schema::Schema;
use crate::types::{PrimitiveType, StructType};
use crate::value::Value;

/// What version 1 files say their block size is; nobody reads it, but the column is required there (105).
const BLOCK_SIZE_IN_BYTES: i64 = 67_108_864;

/// What all entries of a manifest have in common.
#[derive(Debug, Clone, Copy)]
pub struct ManifestWriterOptions<'a> {
    /// The format version of the table.
    pub format_version: u8,
    /// Whether the manifest lists data or deletes.
    pub content: ManifestContent,
    /// The table's schema.
    pub schema: &'a Schema,
    /// The partition spec of all its files.
    pub spec: &'a PartitionSpec,
    /// The snapshot that adds the manifest.
    pub snapshot_id: i64,
    /// How its blocks are compressed.
    pub codec: Codec,
}

/// Writes a manifest of version 1, 2 or 3 into memory.
#[derive(Debug)]
pub struct ManifestWriter<'a> {
    options: ManifestWriterOptions<'a>,
    partition_type: StructType,
    container: ContainerWriter,
    record: Encoder,
    summaries: PartitionSummaries,
    counts: Counts,
    min_sequence_number: Option<i64>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Files and rows by status code: existing, added, deleted.
    files: [i32; 3],
    rows: [i64; 3],
}

impl<'a> ManifestWriter<'a> {
    /// A manifest without entries.
    pub fn new(options: ManifestWriterOptions<'a>) -> Result<Self> {
        Self::with_partition_type(options, options.spec.partition_type(options.schema))
    }

    /// A manifest without entries, whose tuples are of this type: for a spec some of whose source columns the schema does
    /// not have any more.
    pub fn with_partition_type(
        options: ManifestWriterOptions<'a>,
        partition_type: StructType,
    ) -> Result<Self> {
        let version = options.format_version;
        if !(1..=3).contains(&version) {
            return Err(Error::unsupported(format!(
                "writing manifests of format version {version}; 1 to 3 are written"
            )));
        }
        if version == 1 && options.content == ManifestContent::Deletes {
            return Err(Error::invalid("manifest", "format version 1 has no delete files"));
        }
        let schema = manifest_entry(version, &partition_type)?.to_string();
        let mut metadata = vec![
            ("schema", options.schema.to_json()?.to_string()),
            ("schema-id", options.schema.schema_id().to_string()),
            ("partition-spec", options.spec.fields_to_json().to_string()),
            ("partition-spec-id", options.spec.spec_id().to_string()),
            ("format-version", version.to_string()),
        ];
        if version >= 2 {
            metadata.push(("content", options.content.name().to_owned()));
        }
        Ok(Self {
            container: ContainerWriter::new(&schema, options.codec, &metadata),
            summaries: PartitionSummaries::new(partition_type.fields().len()),
            record: Encoder::default(),
            counts: Counts::default(),
            min_sequence_number: None,
            partition_type,
            options,
        })
    }

    /// Adds a new file. Its sequence numbers are those of the commit.
    pub fn add(&mut self, file: &DataFile) -> Result<()> {
        self.write(ManifestStatus::Added, self.options.snapshot_id, None, None, file)
    }

    /// Adds a new file that keeps an older data sequence number, as compaction does so that deletes still apply.
    pub fn add_with_sequence_number(&mut self, file: &DataFile, sequence_number: i64) -> Result<()> {
        let status = ManifestStatus::Added;
        self.write(
            status,
            self.options.snapshot_id,
            Some(sequence_number),
            None,
            file,
        )
    }

    /// Keeps a file that was there before.
    pub fn existing(&mut self, entry: &ManifestEntry) -> Result<()> {
        self.keep(ManifestStatus::Existing, entry.snapshot_id, entry)
    }

    /// Deletes a file.
    pub fn delete(&mut self, entry: &ManifestEntry) -> Result<()> {
        self.keep(ManifestStatus::Deleted, self.options.snapshot_id, entry)
    }

    /// How many bytes the manifest has so far, roughly.
    pub fn size_estimate(&self) -> usize {
        self.container.size_estimate()
    }

    /// The bytes of the manifest and its entry for the manifest list, where the sequence number is not assigned yet
    /// ([`UNASSIGNED_SEQUENCE_NUMBER`]): [`crate::manifest_list::write_manifest_list`] does.
    pub fn finish(self, path: impl Into<String>) -> Result<(Vec<u8>, ManifestFile)> {
        let bytes = self.container.finish()?;
        let [existing_files, added_files, deleted_files] = self.counts.files;
        let [existing_rows, added_rows, deleted_rows] = self.counts.rows;
        let manifest = ManifestFile {
            manifest_path: path.into(),
            manifest_length: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            partition_spec_id: self.options.spec.spec_id(),
            content: self.options.content,
            sequence_number: UNASSIGNED_SEQUENCE_NUMBER,
            min_sequence_number: self.min_sequence_number.unwrap_or(UNASSIGNED_SEQUENCE_NUMBER),
            added_snapshot_id: self.options.snapshot_id,
            added_files_count: Some(added_files),
            existing_files_count: Some(existing_files),
            deleted_files_count: Some(deleted_files),
            added_rows_count: Some(added_rows),
            existing_rows_count: Some(existing_rows),
            deleted_rows_count: Some(deleted_rows),
            partitions: Some(self.summaries.finish()),
            key_metadata: None,
            first_row_id: None,
        };
        Ok((bytes, manifest))
    }

    fn keep(&mut self, status: ManifestStatus, snapshot_id: i64, entry: &ManifestEntry) -> Result<()> {
        let numbers = (entry.sequence_number, entry.file_sequence_number);
        if numbers.0 < 0 || numbers.1 < 0 {
            return Err(Error::invalid(
                format!("manifest entry of {}", entry.data_file.file_path),
                "a file that was there before needs its sequence numbers",
            ));
        }
        self.write(
            status,
            snapshot_id,
            Some(numbers.0),
            Some(numbers.1),
            &entry.data_file,
        )
    }

    fn write(
        &mut self,
        status: ManifestStatus,
        snapshot_id: i64,
        sequence_number: Option<i64>,
        file_sequence_number: Option<i64>,
        file: &DataFile,
    ) -> Result<()> {
        self.check(status, file)
            .map_err(|reason| Error::invalid(format!("manifest entry of {}", file.file_path), reason))?;
        let version = self.options.format_version;
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        record.long(status.code().into());
        if version == 1 {
            record.long(snapshot_id);
        } else {
            record.optional(Some(snapshot_id), Encoder::long);
            record.optional(sequence_number, Encoder::long);
            record.optional(file_sequence_number, Encoder::long);
        }
        write_file(&mut record, version, file, &self.partition_type)?;
        self.container.record(record.as_slice())?;
        self.record = record;
        self.summaries.add(&file.partition);
        self.counts.add(status, file.record_count)?;
        if let (Some(number), true) = (sequence_number, status != ManifestStatus::Deleted) {
            let min = self.min_sequence_number.get_or_insert(number);
            *min = number.min(*min);
        }
        Ok(())
    }

    /// What the format does not allow.
    fn check(&self, status: ManifestStatus, file: &DataFile) -> Result<(), String> {
        let version = self.options.format_version;
        if (file.content == DataContent::Data) != (self.options.content == ManifestContent::Data) {
            let content = self.options.content.name();
            return Err(format!(
                "{:?} does not go into a manifest of {content}",
                file.content
            ));
        }
        if file.spec_id != self.options.spec.spec_id() {
            let expected = self.options.spec.spec_id();
            return Err(format!(
                "its spec id is {}, that of the manifest {expected}",
                file.spec_id
            ));
        }
        if file.key_metadata.is_some() {
            return Err("files with key_metadata, of encrypted tables, cannot be written".into());
        }
        if file.record_count < 0 || file.file_size_in_bytes < 0 {
            return Err("its record count or size is negative".into());
        }
        if (file.content == DataContent::EqualityDeletes)
            == file.equality_ids.as_ref().is_none_or(Vec::is_empty)
        {
            return Err("equality deletes have equality ids, other files have none".into());
        }
        if file.file_format == FileFormat::Puffin {
            if version < 3 {
                return Err(format!("format version {version} has no deletion vectors"));
            }
            let place = file.content_offset.is_some() && file.content_size_in_bytes.is_some();
            if file.content != DataContent::PositionDeletes || file.referenced_data_file.is_none() || !place {
                return Err("a deletion vector needs its data file, offset and size".into());
            }
        } else if version >= 3
            && status == ManifestStatus::Added
            && file.content == DataContent::PositionDeletes
        {
            return Err("format version 3 adds deletion vectors, not position delete files".into());
        } else if file.content_offset.is_some() || file.content_size_in_bytes.is_some() {
            return Err("only deletion vectors have a content offset and size".into());
        }
        if file.first_row_id.is_some() && (version < 3 || file.content != DataContent::Data) {
            return Err("only data files of format version 3 have a first row id".into());
        }
        Ok(())
    }
}

impl Counts {
    fn add(&mut self, status: ManifestStatus, record_count: i64) -> Result<()> {
        let overflow = || Error::invalid("manifest", "it has more files or rows than can be counted");
        let at = usize::try_from(status.code()).unwrap_or_default();
        if let (Some(files), Some(rows)) = (self.files.get_mut(at), self.rows.get_mut(at)) {
            *files = files.checked_add(1).ok_or_else(overflow)?;
            *rows = rows.checked_add(record_count).ok_or_else(overflow)?;
        }
        Ok(())
    }
}

/// The fields in the order of [`super::avro_schema`].
fn write_file(e: &mut Encoder, version: u8, file: &DataFile, partition_type: &StructType) -> Result<()> {
    if version >= 2 {
        e.long(file.content.code().into());
    }
    e.bytes(file.file_path.as_bytes());
    e.bytes(file.file_format.name().as_bytes());
    write_partition(e, file, partition_type)?;
    e.long(file.record_count);
    e.long(file.file_size_in_bytes);
    if version == 1 {
        e.long(BLOCK_SIZE_IN_BYTES);
    }
    let m = &file.column_metrics;
    write_map(e, m.column_sizes(), Encoder::long);
    write_map(e, m.value_counts(), Encoder::long);
    write_map(e, m.null_value_counts(), Encoder::long);
    write_map(e, m.nan_value_counts(), Encoder::long);
    write_map(e, m.lower_bounds(), Encoder::bytes);
    write_map(e, m.upper_bounds(), Encoder::bytes);
    // key_metadata
    e.optional(None, Encoder::long);
    e.optional(file.split_offsets.as_ref(), |e, offsets| {
        e.array(offsets.iter(), |e, offset| e.long(*offset));
    });
    if version >= 2 {
        e.optional(file.equality_ids.as_ref(), |e, ids| {
            e.array(ids.iter(), |e, id| e.long((*id).into()));
        });
    }
    e.optional(file.sort_order_id.map(i64::from), Encoder::long);
    if version >= 3 {
        e.optional(file.first_row_id, Encoder::long);
    }
    if version >= 2 {
        e.optional(file.referenced_data_file.as_deref(), |e, path| {
            e.bytes(path.as_bytes())
        });
    }
    if version >= 3 {
        e.optional(file.content_offset, Encoder::long);
        e.optional(file.content_size_in_bytes, Encoder::long);
    }
    Ok(())
}

fn write_map<T>(
    e: &mut Encoder,
    entries: Option<impl Iterator<Item = (i32, T)>>,
    mut write: impl FnMut(&mut Encoder, T),
) {
    e.optional(entries, |e, entries| {
        let entries: Vec<_> = entries.collect();
        e.array(entries.into_iter(), |e, (id, value)| {
            e.long(id.into());
            write(e, value);
        });
    });
}

fn write_partition(e: &mut Encoder, file: &DataFile, partition_type: &StructType) -> Result<()> {
    let fields = partition_type.fields();
    if fields.len() != file.partition.len() {
        return Err(Error::invalid(
            format!("partition of {}", file.file_path),
            format!(
                "it has {} values, its spec {} fields",
                file.partition.len(),
                fields.len()
            ),
        ));
    }
    for (field, value) in fields.iter().zip(&file.partition) {
        let of = field.field_type.as_primitive().unwrap_or(&PrimitiveType::Unknown);
        let wrong = || {
            Error::invalid(
                format!("partition of {}, field `{}`", file.file_path, field.name),
                format!("{value:?} is no value of type {of}"),
            )
        };
        match (of, value) {
            // The type null takes no bytes, not even for a branch.
            (PrimitiveType::Unknown, None) => {}
            (_, None) => e.long(0),
            (of, Some(value)) => {
                e.long(1);
                write_value(e, of, value).ok_or_else(wrong)?;
            }
        }
    }
    Ok(())
}

/// `None` if the value is not of the type.
fn write_value(e: &mut Encoder, of: &PrimitiveType, value: &Value) -> Option<()> {
    use PrimitiveType::*;
    match (of, value) {
        (Boolean, Value::Boolean(v)) => e.boolean(*v),
        (Int | Date, Value::Int(v)) => e.long((*v).into()),
        (Long | Time | Timestamp | Timestamptz | TimestampNs | TimestamptzNs, Value::Long(v)) => e.long(*v),
        (Float, Value::Float(v)) => e.raw(&v.to_le_bytes()),
        (Double, Value::Double(v)) => e.raw(&v.to_le_bytes()),
        (String, Value::String(v)) => e.bytes(v.as_bytes()),
        (Binary, Value::Bytes(v)) => e.bytes(v),
        (Uuid, Value::Bytes(v)) if v.len() == 16 => e.raw(v),
        (Fixed(size), Value::Bytes(v)) if usize::try_from(*size) == Ok(v.len()) => e.raw(v),
        (Decimal { precision, .. }, Value::Decimal(v)) => {
            let limit = 10i128.checked_pow((*precision).into())?;
            if v.checked_abs()? >= limit {
                return None;
            }
            let bytes = v.to_be_bytes();
            e.raw(bytes.get(bytes.len().checked_sub(decimal_size(*precision))?..)?);
        }
        _ => return None,
    }
    Some(())
}

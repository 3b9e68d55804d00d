//! Writing manifest lists.

use serde_json::{Value as Json, json};

use super::{FieldSummary, ManifestFile, UNASSIGNED_SEQUENCE_NUMBER};
use crate::avro::{Codec, ContainerWriter, Encoder};
use crate::error::{Error, Result};
use crate::manifest::ManifestContent;
use crate::manifest::avro_schema::{array, optional, required};

/// The snapshot that a manifest list is of.
#[derive(Debug, Clone, Copy)]
pub struct ManifestListOptions {
    /// The format version of the table.
    pub format_version: u8,
    /// The snapshot's id.
    pub snapshot_id: i64,
    /// The id of the snapshot before it.
    pub parent_snapshot_id: Option<i64>,
    /// The snapshot's sequence number; 0 in version 1.
    pub sequence_number: i64,
    /// The id of the first row that the snapshot numbers: the table's `next-row-id` (v3).
    pub first_row_id: Option<i64>,
    /// How its blocks are compressed.
    pub codec: Codec,
}

/// A manifest list, written.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenManifestList {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// Its entries as written, with sequence numbers and row ids assigned.
    pub manifests: Vec<ManifestFile>,
    /// The id after the last row that was numbered: the table's new `next-row-id` (v3).
    pub next_row_id: Option<i64>,
}

/// Writes the manifest list of a snapshot.
///
/// Manifests without a sequence number get the snapshot's (§ Sequence Number Inheritance); in version 3, data manifests
/// without a first row id are numbered in order, one id for each of their added and existing rows (§ First Row ID
/// Assignment).
pub fn write_manifest_list(
    mut manifests: Vec<ManifestFile>,
    options: &ManifestListOptions,
) -> Result<WrittenManifestList> {
    let version = options.format_version;
    let next_row_id = match (version, options.first_row_id) {
        (1 | 2, None) => None,
        (3, Some(first)) if first >= 0 => Some(number_rows(&mut manifests, first)?),
        (1..=3, first) => {
            return Err(Error::invalid(
                "manifest list",
                format!("{first:?} is no first row id of format version {version}"),
            ));
        }
        _ => {
            return Err(Error::unsupported(format!(
                "writing manifest lists of format version {version}; 1 to 3 are written"
            )));
        }
    };
    for manifest in &mut manifests {
        for number in [&mut manifest.sequence_number, &mut manifest.min_sequence_number] {
            if *number == UNASSIGNED_SEQUENCE_NUMBER {
                *number = options.sequence_number;
            }
        }
    }
    let mut metadata = vec![
        ("snapshot-id", options.snapshot_id.to_string()),
        (
            "parent-snapshot-id",
            options
                .parent_snapshot_id
                .map_or_else(|| "null".to_owned(), |id| id.to_string()),
        ),
        ("format-version", version.to_string()),
    ];
    if version >= 2 {
        metadata.push(("sequence-number", options.sequence_number.to_string()));
    }
    if let Some(first) = options.first_row_id {
        metadata.push(("first-row-id", first.to_string()));
    }
    let schema = schema(version).to_string();
    let mut container = ContainerWriter::new(&schema, options.codec, &metadata);
    let mut record = Encoder::default();
    for manifest in &manifests {
        record.clear();
        write_row(&mut record, version, manifest).map_err(|reason| {
            Error::invalid(
                format!("manifest list entry of {}", manifest.manifest_path),
                reason,
            )
        })?;
        container.record(record.as_slice())?;
    }
    Ok(WrittenManifestList {
        bytes: container.finish()?,
        manifests,
        next_row_id,
    })
}

fn number_rows(manifests: &mut [ManifestFile], first: i64) -> Result<i64> {
    let mut next = first;
    for manifest in manifests {
        if manifest.content != ManifestContent::Data || manifest.first_row_id.is_some() {
            continue;
        }
        manifest.first_row_id = Some(next);
        next = manifest
            .added_rows_count
            .zip(manifest.existing_rows_count)
            .and_then(|(added, existing)| added.checked_add(existing))
            .filter(|rows| *rows >= 0)
            .and_then(|rows| next.checked_add(rows))
            .ok_or_else(|| {
                Error::invalid(
                    format!("manifest list entry of {}", manifest.manifest_path),
                    "its rows cannot be numbered: its counts of added and existing rows are unknown or wrong",
                )
            })?;
    }
    Ok(next)
}

fn schema(version: u8) -> Json {
    let summary = json!({"type": "record", "name": "r508", "fields": [
        required(509, "contains_null", "boolean"),
        optional(518, "contains_nan", "boolean"),
        optional(510, "lower_bound", "bytes"),
        optional(511, "upper_bound", "bytes"),
    ]});
    let mut fields = vec![
        required(500, "manifest_path", "string"),
        required(501, "manifest_length", "long"),
        required(502, "partition_spec_id", "int"),
    ];
    let partitions = optional(507, "partitions", array(508, summary));
    let key_metadata = optional(519, "key_metadata", "bytes");
    if version == 1 {
        fields.extend([
            required(503, "added_snapshot_id", "long"),
            optional(504, "added_files_count", "int"),
            optional(505, "existing_files_count", "int"),
            optional(506, "deleted_files_count", "int"),
            partitions,
            optional(512, "added_rows_count", "long"),
            optional(513, "existing_rows_count", "long"),
            optional(514, "deleted_rows_count", "long"),
            key_metadata,
        ]);
    } else {
        fields.extend([
            required(517, "content", "int"),
            required(515, "sequence_number", "long"),
            required(516, "min_sequence_number", "long"),
            required(503, "added_snapshot_id", "long"),
            required(504, "added_files_count", "int"),
            required(505, "existing_files_count", "int"),
            required(506, "deleted_files_count", "int"),
            required(512, "added_rows_count", "long"),
            required(513, "existing_rows_count", "long"),
            required(514, "deleted_rows_count", "long"),
            partitions,
            key_metadata,
        ]);
    }
    if version >= 3 {
        fields.push(optional(520, "first_row_id", "long"));
    }
    json!({"type": "record", "name": "manifest_file", "fields": fields})
}

/// The columns in the order of [`schema`].
fn write_row(e: &mut Encoder, version: u8, manifest: &ManifestFile) -> Result<(), String> {
    if manifest.key_metadata.is_some() {
        return Err("manifests with key_metadata, of encrypted tables, cannot be written".into());
    }
    e.bytes(manifest.manifest_path.as_bytes());
    e.long(manifest.manifest_length);
    e.long(manifest.partition_spec_id.into());
    let files = [
        manifest.added_files_count,
        manifest.existing_files_count,
        manifest.deleted_files_count,
    ];
    let rows = [
        manifest.added_rows_count,
        manifest.existing_rows_count,
        manifest.deleted_rows_count,
    ];
    if version == 1 {
        if manifest.content != ManifestContent::Data {
            return Err("format version 1 has no delete manifests".into());
        }
        e.long(manifest.added_snapshot_id);
        for count in files {
            e.optional(count.map(i64::from), Encoder::long);
        }
        write_summaries(e, manifest.partitions.as_deref());
        for count in rows {
            e.optional(count, Encoder::long);
        }
        e.optional(None, Encoder::long);
        return Ok(());
    }
    e.long(manifest.content.code().into());
    e.long(manifest.sequence_number);
    e.long(manifest.min_sequence_number);
    e.long(manifest.added_snapshot_id);
    for count in files.map(|c| c.map(i64::from)).into_iter().chain(rows) {
        e.long(count.ok_or(
            "a count of its files or rows is unknown, which versions 2 and 3 do not allow; rewrite the manifest",
        )?);
    }
    write_summaries(e, manifest.partitions.as_deref());
    e.optional(None, Encoder::long);
    if version >= 3 {
        e.optional(manifest.first_row_id, Encoder::long);
    }
    Ok(())
}

fn write_summaries(e: &mut Encoder, summaries: Option<&[FieldSummary]>) {
    e.optional(summaries, |e, summaries| {
        e.array(summaries.iter(), |e, summary| {
            e.boolean(summary.contains_null);
            e.optional(summary.contains_nan, Encoder::boolean);
            e.optional(summary.lower_bound.as_deref(), Encoder::bytes);
            e.optional(summary.upper_bound.as_deref(), Encoder::bytes);
        });
    });
}

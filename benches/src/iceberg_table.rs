//! Writing the metadata of an Iceberg table over files that are there, in the layout of Hadoop tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use drumlin_format::avro::Codec;
use drumlin_format::manifest::{
    DataContent, DataFile, ManifestContent, ManifestEntry, ManifestStatus, ManifestWriter,
    ManifestWriterOptions,
};
use drumlin_format::manifest_list::{ManifestFile, ManifestListOptions, write_manifest_list};
use drumlin_format::metadata::{
    NewTable, TableMetadata, TableMetadataBuilder, TableUpdate, UnboundPartitionField, UnboundPartitionSpec,
};
use drumlin_format::schema::Schema;
use drumlin_format::snapshot::{
    MAIN_BRANCH, ManifestListLocation, Operation, Snapshot, SnapshotRef, Summary,
};
use drumlin_format::sort::SortOrder;
use drumlin_format::transform::Transform;

use crate::Result;

/// When the first snapshot of every table was made: 2024-01-01, in ms since 1970-01-01 UTC.
pub const FIRST_SNAPSHOT_MS: i64 = 1_704_067_200_000;

/// A table that gets one snapshot after the other, each of which adds files.
pub struct TableWriter<'f> {
    folder: &'f Path,
    format_version: u8,
    builder: TableMetadataBuilder,
    manifests: Vec<ManifestFile>,
    added: Vec<ManifestFile>,
    files: usize,
    totals: Totals,
    committed: Totals,
    snapshots: i64,
}

/// What the table holds, for the notes of its snapshots.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    data_files: i64,
    records: i64,
    delete_files: i64,
    position_deletes: i64,
    equality_deletes: i64,
    bytes: i64,
}

impl Totals {
    fn add(&mut self, file: &DataFile) {
        self.bytes += file.file_size_in_bytes;
        match file.content {
            DataContent::Data => {
                self.data_files += 1;
                self.records += file.record_count;
            }
            DataContent::PositionDeletes => {
                self.delete_files += 1;
                self.position_deletes += file.record_count;
            }
            DataContent::EqualityDeletes => {
                self.delete_files += 1;
                self.equality_deletes += file.record_count;
            }
        }
    }
}

impl<'f> TableWriter<'f> {
    /// A table of format version 2 or 3 in `folder`, whose metadata folder is emptied. The ids of `schema` must be 1,
    /// 2, 3 and so on.
    pub fn create(
        format_version: u8,
        folder: &'f Path,
        schema: Schema,
        partition_by: Option<(i32, Transform, &str)>,
    ) -> Result<Self> {
        let metadata = folder.join("metadata");
        if metadata.exists() {
            fs::remove_dir_all(&metadata)?;
        }
        fs::create_dir_all(&metadata)?;
        let field = |(source_id, transform, name): (i32, Transform, &str)| UnboundPartitionField {
            source_ids: vec![source_id],
            field_id: None,
            name: name.to_string(),
            transform,
        };
        let builder = TableMetadataBuilder::create(NewTable {
            location: text(folder)?,
            schema,
            partition_spec: UnboundPartitionSpec {
                spec_id: None,
                fields: partition_by.map(field).into_iter().collect(),
            },
            sort_order: SortOrder::unsorted(),
            properties: BTreeMap::from([("format-version".to_string(), format_version.to_string())]),
        })?;
        Ok(Self {
            folder,
            format_version,
            builder,
            manifests: Vec::new(),
            added: Vec::new(),
            files: 0,
            totals: Totals::default(),
            committed: Totals::default(),
            snapshots: 0,
        })
    }

    /// The table so far.
    pub fn metadata(&self) -> &TableMetadata {
        self.builder.metadata()
    }

    /// The next snapshot gets this number, as if those before it had expired.
    pub fn skip_to(&mut self, number: i64) {
        self.snapshots = number - 1;
    }

    /// Writes a manifest of these new files, for the next snapshot: data files or delete files.
    pub fn add_manifest(&mut self, files: &[DataFile]) -> Result<()> {
        self.write_manifest(files.iter(), |writer| {
            files.iter().try_for_each(|file| Ok(writer.add(file)?))
        })
    }

    /// Writes a manifest of files that earlier commits added, each with the number of its commit, as writers leave
    /// them that merge manifests.
    pub fn add_merged_manifest(&mut self, files: &[(i64, DataFile)]) -> Result<()> {
        self.write_manifest(files.iter().map(|(_, file)| file), |writer| {
            files.iter().try_for_each(|(number, file)| {
                Ok(writer.existing(&ManifestEntry {
                    status: ManifestStatus::Existing,
                    snapshot_id: snapshot_id(*number),
                    sequence_number: *number,
                    file_sequence_number: *number,
                    data_file: file.clone(),
                })?)
            })
        })
    }

    fn write_manifest<'d>(
        &mut self,
        files: impl Iterator<Item = &'d DataFile>,
        fill: impl FnOnce(&mut ManifestWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut content = ManifestContent::Data;
        for file in files {
            if file.content != DataContent::Data {
                content = ManifestContent::Deletes;
            }
            self.totals.add(file);
        }
        let metadata = self.builder.metadata();
        let mut writer = ManifestWriter::new(ManifestWriterOptions {
            format_version: self.format_version,
            content,
            schema: metadata.current_schema(),
            spec: metadata.default_spec(),
            snapshot_id: snapshot_id(self.snapshots + 1),
            // What the reference implementation does unless told otherwise.
            codec: Codec::Deflate,
        })?;
        fill(&mut writer)?;
        let path = self
            .folder
            .join(format!("metadata/manifest-{:06}-m0.avro", self.files));
        self.files += 1;
        let (bytes, manifest) = writer.finish(text(&path)?)?;
        fs::write(path, bytes)?;
        self.added.push(manifest);
        Ok(())
    }

    /// Makes a snapshot of all manifests that were added so far.
    pub fn commit(&mut self) -> Result<()> {
        let number = self.snapshots + 1;
        let id = snapshot_id(number);
        let metadata = self.builder.metadata();
        let parent = metadata.current_snapshot_id();
        let first_row_id = (self.format_version >= 3).then(|| metadata.next_row_id());
        let operation = self.operation();
        let manifests = self.added.drain(..).chain(self.manifests.drain(..)).collect();
        let list = write_manifest_list(
            manifests,
            &ManifestListOptions {
                format_version: self.format_version,
                snapshot_id: id,
                parent_snapshot_id: parent,
                sequence_number: number,
                first_row_id,
                codec: Codec::Deflate,
            },
        )?;
        let path = self.folder.join(format!("metadata/snap-{id}-1-{number:06}.avro"));
        fs::write(&path, &list.bytes)?;
        self.manifests = list.manifests;
        self.builder.apply_all([
            TableUpdate::AddSnapshot(Arc::new(Snapshot {
                snapshot_id: id,
                parent_snapshot_id: parent,
                sequence_number: number,
                timestamp_ms: FIRST_SNAPSHOT_MS + number * 60_000,
                manifest_list: ManifestListLocation::File(text(&path)?),
                summary: Summary::with_notes(operation, self.notes()),
                schema_id: Some(self.builder.metadata().current_schema().schema_id()),
                first_row_id,
                added_rows: first_row_id
                    .zip(list.next_row_id)
                    .map(|(first, next)| next - first),
                key_id: None,
            })),
            TableUpdate::SetSnapshotRef {
                name: MAIN_BRANCH.to_string(),
                snapshot_ref: SnapshotRef::branch(id),
            },
        ])?;
        self.snapshots = number;
        self.committed = self.totals;
        // Each snapshot is a commit of its own, so that the log of snapshots gets each.
        let base = self.builder.clone().build(FIRST_SNAPSHOT_MS + number * 60_000)?;
        let file = text(&self.folder.join(format!("metadata/v{number}.metadata.json")))?;
        self.builder = TableMetadataBuilder::from(base, Some(file));
        Ok(())
    }

    /// Writes the metadata file of the last snapshot and the version hint.
    pub fn finish(self) -> Result<()> {
        let folder = self.folder.join("metadata");
        let bytes = self.builder.metadata().to_json_bytes()?;
        fs::write(folder.join(format!("v{}.metadata.json", self.snapshots)), bytes)?;
        fs::write(folder.join("version-hint.text"), self.snapshots.to_string())?;
        Ok(())
    }

    /// What the next snapshot does.
    fn operation(&self) -> Operation {
        let has = |content| self.added.iter().any(|m| m.content == content);
        match (has(ManifestContent::Data), has(ManifestContent::Deletes)) {
            (true, true) => Operation::Overwrite,
            (false, true) => Operation::Delete,
            _ => Operation::Append,
        }
    }

    /// The figures that the reference implementation notes with a snapshot.
    fn notes(&self) -> Vec<(&'static str, String)> {
        let (now, before) = (&self.totals, &self.committed);
        vec![
            ("spark.app.id", "local-1704067200000".to_string()),
            (
                "added-data-files",
                (now.data_files - before.data_files).to_string(),
            ),
            ("added-records", (now.records - before.records).to_string()),
            ("added-files-size", (now.bytes - before.bytes).to_string()),
            ("changed-partition-count", "1".to_string()),
            ("total-records", now.records.to_string()),
            ("total-files-size", now.bytes.to_string()),
            ("total-data-files", now.data_files.to_string()),
            ("total-delete-files", now.delete_files.to_string()),
            ("total-position-deletes", now.position_deletes.to_string()),
            ("total-equality-deletes", now.equality_deletes.to_string()),
            ("engine-name", "spark".to_string()),
            ("engine-version", "3.5.1".to_string()),
        ]
    }
}

/// The id of the snapshot of this number, from 1: of as many digits as real ones have.
pub fn snapshot_id(number: i64) -> i64 {
    5_000_000_000_000_000_000 + number * 1_000_003
}

/// A path as text, as tables name files.
pub fn text(path: &Path) -> Result<String> {
    let text = path
        .to_str()
        .ok_or_else(|| format!("{} is not UTF-8", path.display()))?;
    Ok(text.to_string())
}

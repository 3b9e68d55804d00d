//! Writing the metadata of an Iceberg table over files that are there: one snapshot, in the layout of Hadoop tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use drumlin_format::avro::Codec;
use drumlin_format::manifest::{DataFile, ManifestContent, ManifestWriter, ManifestWriterOptions};
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

const FORMAT_VERSION: u8 = 2;

/// When the first snapshot of every table was made: 2024-01-01, in ms since 1970-01-01 UTC.
pub const FIRST_SNAPSHOT_MS: i64 = 1_704_067_200_000;

/// A table that gets one snapshot after the other, each of which adds files.
pub struct TableWriter<'f> {
    folder: &'f Path,
    builder: TableMetadataBuilder,
    manifests: Vec<ManifestFile>,
    added: Vec<ManifestFile>,
    snapshots: i64,
}

impl<'f> TableWriter<'f> {
    /// A table in `folder`, whose metadata folder is emptied. The ids of `schema` must be 1, 2, 3 and so on.
    pub fn create(
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
            properties: BTreeMap::from([("format-version".to_string(), FORMAT_VERSION.to_string())]),
        })?;
        Ok(Self {
            folder,
            builder,
            manifests: Vec::new(),
            added: Vec::new(),
            snapshots: 0,
        })
    }

    /// The table so far.
    pub fn metadata(&self) -> &TableMetadata {
        self.builder.metadata()
    }

    /// Writes a manifest of these new files, for the next snapshot.
    pub fn add_manifest(&mut self, files: &[DataFile]) -> Result<()> {
        let metadata = self.builder.metadata();
        let mut writer = ManifestWriter::new(ManifestWriterOptions {
            format_version: FORMAT_VERSION,
            content: ManifestContent::Data,
            schema: metadata.current_schema(),
            spec: metadata.default_spec(),
            snapshot_id: snapshot_id(self.snapshots + 1),
            // What the reference implementation does unless told otherwise.
            codec: Codec::Deflate,
        })?;
        for file in files {
            writer.add(file)?;
        }
        let number = self.manifests.len() + self.added.len();
        let path = self.folder.join(format!("metadata/manifest-{number:06}-m0.avro"));
        let (bytes, manifest) = writer.finish(text(&path)?)?;
        fs::write(path, bytes)?;
        self.added.push(manifest);
        Ok(())
    }

    /// Makes a snapshot of all manifests that were added so far.
    pub fn commit(&mut self) -> Result<()> {
        let number = self.snapshots + 1;
        let id = snapshot_id(number);
        let parent = (number > 1).then(|| snapshot_id(number - 1));
        let manifests = self.added.drain(..).chain(self.manifests.drain(..)).collect();
        let list = write_manifest_list(
            manifests,
            &ManifestListOptions {
                format_version: FORMAT_VERSION,
                snapshot_id: id,
                parent_snapshot_id: parent,
                sequence_number: number,
                first_row_id: None,
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
                summary: Summary::with_notes(Operation::Append, self.notes()),
                schema_id: Some(self.builder.metadata().current_schema().schema_id()),
                first_row_id: None,
                added_rows: None,
                key_id: None,
            })),
            TableUpdate::SetSnapshotRef {
                name: MAIN_BRANCH.to_string(),
                snapshot_ref: SnapshotRef::branch(id),
            },
        ])?;
        self.snapshots = number;
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

    /// The figures that the reference implementation notes with a snapshot.
    fn notes(&self) -> Vec<(&'static str, String)> {
        let files: i64 = self
            .manifests
            .iter()
            .filter_map(|m| m.added_files_count)
            .map(i64::from)
            .sum();
        let rows: i64 = self.manifests.iter().filter_map(|m| m.added_rows_count).sum();
        vec![
            ("spark.app.id", "local-1704067200000".to_string()),
            ("added-data-files", files.to_string()),
            ("added-records", rows.to_string()),
            ("added-files-size", (files * 1_048_576).to_string()),
            ("changed-partition-count", "1".to_string()),
            ("total-records", rows.to_string()),
            ("total-files-size", (files * 1_048_576).to_string()),
            ("total-data-files", files.to_string()),
            ("total-delete-files", "0".to_string()),
            ("total-position-deletes", "0".to_string()),
            ("total-equality-deletes", "0".to_string()),
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

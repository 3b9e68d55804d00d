//! Snapshots.

use std::sync::Arc;

use drumlin_format::avro::Codec;
use drumlin_format::manifest::{
    DataContent, DataFile, ManifestContent, ManifestEntry, ManifestStatus, ManifestWriter,
    ManifestWriterOptions,
};
use drumlin_format::manifest_list::{ManifestFile, ManifestListOptions, write_manifest_list};
use drumlin_format::metadata::TableUpdate;
use drumlin_format::partition::PartitionSpec;
use drumlin_format::schema::Schema;
use drumlin_format::snapshot::{
    MAIN_BRANCH, ManifestListLocation, Operation, Snapshot, SnapshotRef, Summary,
};
use drumlin_format::types::NestedField;
use drumlin_format::value::Value;

use crate::rows::promoted;

use super::{CREATED_MS, TableWriter, snapshot_id};

/// What a snapshot adds to the table and removes from it.
#[derive(Debug, Clone, Default)]
pub struct Commit {
    /// Data files: one manifest for each group, whose files are of one spec.
    pub added_data: Vec<Vec<DataFile>>,
    /// Delete files and deletion vectors: one manifest for each group, whose files are of one spec.
    pub added_deletes: Vec<Vec<DataFile>>,
    /// Data and delete files that are part of the table and shall not be any more. The manifests that list them are
    /// written anew.
    pub removed: Vec<DataFile>,
    /// The data sequence number of the added data files, if it is not that of the snapshot: compaction keeps one, so
    /// that later deletes still apply.
    pub data_sequence_number: Option<i64>,
}

/// A manifest of the current snapshot, with what its entries inherit.
pub(super) struct Manifest {
    file: ManifestFile,
    /// The schema that it was written with: its spec may have a source that later schemas do not have.
    schema: Arc<Schema>,
    entries: Vec<ManifestEntry>,
}

impl TableWriter {
    /// Makes a snapshot that adds these data files, one manifest for each of `manifests`.
    ///
    /// # Panics
    /// As [`commit`](Self::commit).
    pub async fn append(&mut self, manifests: &[Vec<DataFile>]) {
        let added_data = manifests.to_vec();
        self.commit(Commit {
            added_data,
            ..Commit::default()
        })
        .await;
    }

    /// Makes a snapshot. New manifests stand before old ones in its list, those of data before those of deletes.
    ///
    /// # Panics
    /// The format version does not allow a file, files of a group differ in their spec, a removed file is not part of
    /// the table, or the store fails.
    pub async fn commit(&mut self, commit: Commit) {
        let number = self.snapshots + 1;
        let id = snapshot_id(number);
        let sequence_number = if self.metadata.format_version() == 1 {
            0
        } else {
            number
        };
        let only_adds = commit.added_deletes.is_empty() && commit.removed.is_empty();
        let mut manifests = Vec::new();
        for (content, groups) in [
            (ManifestContent::Data, &commit.added_data),
            (ManifestContent::Deletes, &commit.added_deletes),
        ] {
            let data_sequence_number = commit
                .data_sequence_number
                .filter(|_| content == ManifestContent::Data)
                .unwrap_or(sequence_number);
            for group in groups.iter().filter(|group| !group.is_empty()) {
                let spec = self.spec(group[0].spec_id);
                let schema = self.schema_for(&spec);
                let entry = |file: &DataFile| ManifestEntry {
                    status: ManifestStatus::Added,
                    snapshot_id: id,
                    sequence_number: data_sequence_number,
                    file_sequence_number: sequence_number,
                    data_file: with_partition_of(file, &spec, &schema),
                };
                let entries: Vec<_> = group.iter().map(entry).collect();
                let place = manifests.len();
                manifests.push(self.write_manifest(place, content, schema, entries).await);
            }
        }
        let mut removed = commit.removed;
        for mut old in std::mem::take(&mut self.manifests) {
            old.entries.retain(ManifestEntry::is_live);
            if old.entries.is_empty() {
                continue;
            }
            let mut rewritten = false;
            for entry in &mut old.entries {
                let found = removed.iter().position(|file| is_same(file, &entry.data_file));
                entry.status = ManifestStatus::Existing;
                if let Some(found) = found {
                    removed.remove(found);
                    (entry.status, entry.snapshot_id) = (ManifestStatus::Deleted, id);
                    rewritten = true;
                }
            }
            if rewritten {
                let place = manifests.len();
                old = self
                    .write_manifest(place, old.file.content, old.schema, old.entries)
                    .await;
            }
            manifests.push(old);
        }
        assert!(
            removed.is_empty(),
            "files that are not part of the table: {removed:?}"
        );
        let operation = if only_adds {
            Operation::Append
        } else {
            Operation::Overwrite
        };
        self.add_snapshot(manifests, operation).await;
    }

    /// The data files of the current snapshot, with the row ids that they inherit.
    pub fn data_files(&self) -> impl Iterator<Item = &DataFile> {
        let live = self.manifests.iter().flat_map(|manifest| &manifest.entries);
        live.filter(|entry| entry.is_live())
            .map(|entry| &entry.data_file)
            .filter(|file| file.content == DataContent::Data)
    }

    async fn write_manifest(
        &self,
        place: usize,
        content: ManifestContent,
        schema: Arc<Schema>,
        entries: Vec<ManifestEntry>,
    ) -> Manifest {
        let id = snapshot_id(self.snapshots + 1);
        let spec = self.spec(entries[0].data_file.spec_id);
        let mut writer = ManifestWriter::new(ManifestWriterOptions {
            format_version: self.metadata.format_version(),
            content,
            schema: &schema,
            spec: &spec,
            snapshot_id: id,
            codec: Codec::Deflate,
        })
        .expect("a manifest");
        for entry in &entries {
            let is_inherited = entry.sequence_number == entry.file_sequence_number;
            let written = match entry.status {
                ManifestStatus::Added if is_inherited => writer.add(&entry.data_file),
                ManifestStatus::Added => {
                    writer.add_with_sequence_number(&entry.data_file, entry.sequence_number)
                }
                ManifestStatus::Existing => writer.existing(entry),
                ManifestStatus::Deleted => writer.delete(entry),
            };
            written.expect("a file that the format allows");
        }
        let path = format!("{}/metadata/{id}-m{place}.avro", self.metadata.location());
        let (bytes, file) = writer.finish(path.as_str()).expect("a manifest");
        self.put(&path, bytes).await;
        Manifest {
            file,
            schema,
            entries,
        }
    }

    async fn add_snapshot(&mut self, mut manifests: Vec<Manifest>, operation: Operation) {
        let number = self.snapshots + 1;
        let id = snapshot_id(number);
        let version = self.metadata.format_version();
        let sequence_number = if version == 1 { 0 } else { number };
        let first_row_id = (version >= 3).then(|| self.metadata.next_row_id());
        let parent_snapshot_id = self.metadata.current_snapshot_id();
        let list = write_manifest_list(
            manifests.iter().map(|m| m.file.clone()).collect(),
            &ManifestListOptions {
                format_version: version,
                snapshot_id: id,
                parent_snapshot_id,
                sequence_number,
                first_row_id,
                codec: Codec::Deflate,
            },
        )
        .expect("a manifest list");
        let path = format!("{}/metadata/snap-{id}.avro", self.metadata.location());
        self.put(&path, list.bytes).await;
        for (manifest, file) in manifests.iter_mut().zip(list.manifests) {
            manifest.file = file;
            manifest.number_rows();
        }
        self.manifests = manifests;
        self.snapshots = number;
        let snapshot = Snapshot {
            snapshot_id: id,
            parent_snapshot_id,
            sequence_number,
            timestamp_ms: CREATED_MS + number * 60_000,
            manifest_list: ManifestListLocation::File(path),
            summary: Summary::new(operation),
            schema_id: Some(self.metadata.current_schema().schema_id()),
            first_row_id,
            added_rows: first_row_id
                .zip(list.next_row_id)
                .map(|(first, next)| next - first),
            key_id: None,
        };
        self.update([
            TableUpdate::AddSnapshot(Arc::new(snapshot)),
            TableUpdate::SetSnapshotRef {
                name: MAIN_BRANCH.to_string(),
                snapshot_ref: SnapshotRef::branch(id),
            },
        ])
        .await;
    }

    fn spec(&self, id: i32) -> Arc<PartitionSpec> {
        let mut specs = self.metadata.partition_specs().iter();
        let spec = specs.find(|spec| spec.spec_id() == id);
        Arc::clone(spec.unwrap_or_else(|| panic!("no partition spec {id}")))
    }

    /// The latest schema that has all sources of the spec, the current one if none has.
    fn schema_for(&self, spec: &PartitionSpec) -> Arc<Schema> {
        let current = self.metadata.current_schema();
        let sources = || spec.fields().iter().flat_map(|field| &field.source_ids);
        let all = std::iter::once(current).chain(self.metadata.schemas().iter().rev());
        let mut having = all.filter(|schema| sources().all(|id| schema.field_by_id(*id).is_some()));
        Arc::clone(having.next().unwrap_or(current))
    }
}

impl Manifest {
    /// Gives its files the row ids that they inherit (§ First Row ID Inheritance).
    fn number_rows(&mut self) {
        let Some(mut next) = self.file.first_row_id else {
            return;
        };
        for entry in self.entries.iter_mut().filter(|entry| entry.is_live()) {
            if entry.data_file.first_row_id.is_none() {
                entry.data_file.first_row_id = Some(next);
                next += entry.data_file.record_count;
            }
        }
    }
}

/// The file with its partition values in the types that the spec has by this schema: deletes are added to partitions
/// that are older than the promotion of a column.
fn with_partition_of(file: &DataFile, spec: &PartitionSpec, schema: &Schema) -> DataFile {
    let of = spec.partition_type(schema);
    let values = file.partition.iter().zip(of.fields());
    let value = |(value, field): (&Option<Value>, &NestedField)| promoted(value.as_ref()?, &field.field_type);
    DataFile {
        partition: values.map(value).collect(),
        ..file.clone()
    }
}

/// Whether both are one file, or one deletion vector of a file that has several.
fn is_same(a: &DataFile, b: &DataFile) -> bool {
    a.file_path == b.file_path && a.content_offset == b.content_offset
}

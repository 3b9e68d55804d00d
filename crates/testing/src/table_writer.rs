//! Tables that get one snapshot after the other, in the layout of Hadoop tables.

use std::sync::Arc;

use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use drumlin_format::avro::Codec;
use drumlin_format::manifest::{
    ColumnMetrics, DataContent, DataFile, FileFormat, ManifestContent, ManifestWriter, ManifestWriterOptions,
};
use drumlin_format::manifest_list::{ManifestFile, ManifestListOptions, write_manifest_list};
use drumlin_format::metadata::{NewTable, TableMetadata, TableMetadataBuilder, TableUpdate};
use drumlin_format::partition::PartitionTuple;
use drumlin_format::snapshot::{
    MAIN_BRANCH, ManifestListLocation, Operation, Snapshot, SnapshotRef, Summary,
};
use drumlin_table::Table;
use drumlin_table::storage::Storage;
use object_store::ObjectStoreExt;

use crate::Row;
use crate::array::batch;

/// When the table was made: 2024-01-01, in ms since 1970-01-01 UTC; the snapshot with the number n is n minutes later.
pub const CREATED_MS: i64 = 1_704_067_200_000;

/// Writes a table into a storage, any that its location names.
pub struct TableWriter {
    storage: Storage,
    metadata: TableMetadata,
    manifests: Vec<ManifestFile>,
    version: i64,
    snapshots: i64,
    files: usize,
}

impl TableWriter {
    /// A new table without snapshots at the location of `table`, where nothing should be.
    ///
    /// # Panics
    /// The table is not valid.
    pub async fn create(storage: &Storage, table: NewTable) -> Self {
        let metadata = TableMetadataBuilder::create(table)
            .and_then(|b| b.build(CREATED_MS))
            .expect("a valid new table");
        let mut writer = Self {
            storage: storage.clone(),
            metadata,
            manifests: Vec::new(),
            version: 0,
            snapshots: 0,
            files: 0,
        };
        writer.publish().await;
        writer
    }

    /// The table so far.
    pub fn metadata(&self) -> &TableMetadata {
        &self.metadata
    }

    /// Changes the table in one commit without a snapshot.
    ///
    /// # Panics
    /// An update is not valid.
    pub async fn update(&mut self, updates: impl IntoIterator<Item = TableUpdate>) {
        let file = self.metadata_file(self.version);
        let mut builder = TableMetadataBuilder::from(self.metadata.clone(), Some(file));
        builder.apply_all(updates).expect("valid updates");
        self.metadata = builder
            .build(CREATED_MS + self.snapshots * 60_000)
            .expect("valid metadata");
        self.publish().await;
    }

    /// Writes a Parquet file of these rows, with the table's current schema. It belongs to the partition of the
    /// default spec, has the metrics that it is given, and becomes part of the table with
    /// [`append`](Self::append).
    ///
    /// # Panics
    /// The rows do not fit the schema, or the store fails.
    pub async fn write_file(
        &mut self,
        rows: &[Row],
        partition: PartitionTuple,
        column_metrics: ColumnMetrics,
        properties: WriterProperties,
    ) -> DataFile {
        let batch = batch(rows, self.metadata.current_schema());
        let mut bytes = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("a Parquet schema");
        writer.write(&batch).expect("a batch of the schema");
        writer.close().expect("a Parquet file");
        self.files += 1;
        let path = format!("{}/data/{:05}.parquet", self.metadata.location(), self.files);
        let size = i64::try_from(bytes.len()).expect("a size");
        self.put(&path, bytes).await;
        DataFile {
            content: DataContent::Data,
            file_path: Arc::from(path),
            file_format: FileFormat::Parquet,
            spec_id: self.metadata.default_spec().spec_id(),
            partition,
            record_count: i64::try_from(rows.len()).expect("a count"),
            file_size_in_bytes: size,
            column_metrics,
            key_metadata: None,
            split_offsets: None,
            equality_ids: None,
            sort_order_id: Some(0),
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_in_bytes: None,
        }
    }

    /// Makes a snapshot that adds these files, one manifest for each of `manifests`.
    ///
    /// # Panics
    /// A file is not of the default spec, or the store fails.
    pub async fn append(&mut self, manifests: &[Vec<DataFile>]) {
        let number = self.snapshots + 1;
        let id = snapshot_id(number);
        let version = self.metadata.format_version();
        let mut listed = Vec::new();
        for (place, files) in manifests.iter().enumerate() {
            let mut writer = ManifestWriter::new(ManifestWriterOptions {
                format_version: version,
                content: ManifestContent::Data,
                schema: self.metadata.current_schema(),
                spec: self.metadata.default_spec(),
                snapshot_id: id,
                codec: Codec::Deflate,
            })
            .expect("a manifest");
            for file in files {
                writer.add(file).expect("a file of the default spec");
            }
            let path = format!("{}/metadata/{id}-m{place}.avro", self.metadata.location());
            let (bytes, manifest) = writer.finish(path.as_str()).expect("a manifest");
            self.put(&path, bytes).await;
            listed.push(manifest);
        }
        listed.append(&mut self.manifests);
        let sequence_number = if version == 1 { 0 } else { number };
        let first_row_id = (version >= 3).then(|| self.metadata.next_row_id());
        let parent_snapshot_id = self.metadata.current_snapshot_id();
        let list = write_manifest_list(
            listed,
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
        self.manifests = list.manifests;
        self.snapshots = number;
        let snapshot = Snapshot {
            snapshot_id: id,
            parent_snapshot_id,
            sequence_number,
            timestamp_ms: CREATED_MS + number * 60_000,
            manifest_list: ManifestListLocation::File(path),
            summary: Summary::new(Operation::Append),
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

    /// Opens the table as it is now.
    ///
    /// # Panics
    /// It cannot be opened.
    pub async fn open(&self) -> Table {
        Table::open(&self.storage, self.metadata.location())
            .await
            .expect("a table that opens")
    }

    fn metadata_file(&self, version: i64) -> String {
        format!("{}/metadata/v{version}.metadata.json", self.metadata.location())
    }

    async fn publish(&mut self) {
        self.version += 1;
        let bytes = self.metadata.to_json_bytes().expect("metadata as JSON");
        self.put(&self.metadata_file(self.version), bytes).await;
        let hint = format!("{}/metadata/version-hint.text", self.metadata.location());
        self.put(&hint, self.version.to_string().into_bytes()).await;
    }

    async fn put(&self, location: &str, bytes: Vec<u8>) {
        let (store, path) = self.storage.resolve(location).expect("a location");
        store
            .put(&path, bytes.into())
            .await
            .expect("a store that takes files");
    }
}

/// The id of the snapshot with this number, from 1.
pub fn snapshot_id(number: i64) -> i64 {
    5_000_000_000_000_000_000 + number * 1_000_003
}

//! Tables that a test writes itself, into memory.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use drumlin_format::avro::Codec;
use drumlin_format::manifest::{
    ColumnMetrics, DataContent, DataFile, FileFormat, ManifestContent, ManifestWriter, ManifestWriterOptions,
};
use drumlin_format::manifest_list::{ManifestFile, ManifestListOptions, write_manifest_list};
use drumlin_format::partition::PartitionSpec;
use drumlin_format::schema::Schema;
use drumlin_table::storage::Storage;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::{Value as Json, json};

/// The one snapshot of a written table.
pub const SNAPSHOT: i64 = 77;

/// The first row id that the snapshot of a version 3 table numbers.
pub const FIRST_ROW_ID: i64 = 1000;

/// The bucket of written tables.
pub const BUCKET: &str = "s3://written";

/// The metadata file of the table.
pub const METADATA: &str = "s3://written/t/metadata/v1.metadata.json";

/// What is written. Tests change what they want to be odd.
pub struct Written {
    pub format_version: u8,
    /// In JSON; the last one is the current schema.
    pub schemas: Vec<Json>,
    /// What the manifest says of each data file, and its bytes.
    pub files: Vec<(DataFile, Vec<u8>)>,
    /// Applied to the entry of the manifest list.
    pub change_manifest: fn(&mut ManifestFile),
    /// Applied to the bytes of the manifest, whose blocks are not compressed.
    pub change_manifest_bytes: fn(&mut Vec<u8>),
    /// Applied to the metadata.
    pub change_metadata: fn(&mut Json),
}

impl Written {
    /// A table of these schemas, without files yet.
    pub fn new(format_version: u8, schemas: Vec<Json>) -> Self {
        Self {
            format_version,
            schemas,
            files: Vec::new(),
            change_manifest: |_| {},
            change_manifest_bytes: |_| {},
            change_metadata: |_| {},
        }
    }

    /// The schema of this place, as it is written in files.
    pub fn schema(&self, place: usize) -> Schema {
        Schema::from_json(&self.schemas[place], 0, "schema").unwrap()
    }

    /// Adds a Parquet file of these rows, in row groups of so many.
    pub fn add(&mut self, batch: &RecordBatch, row_group: usize) {
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(row_group))
            .set_data_page_row_count_limit(row_group / 4 + 1)
            .set_write_batch_size(64)
            .build();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(batch).unwrap();
        writer.close().unwrap();
        let path = format!("{BUCKET}/t/data/{}.parquet", self.files.len());
        let file = data_file(&path, batch.num_rows(), bytes.len());
        self.files.push((file, bytes));
    }

    /// Adds a file of so many rows, whose bytes these are.
    pub fn add_bytes(&mut self, format: FileFormat, rows: usize, bytes: Vec<u8>) {
        let path = format!(
            "{BUCKET}/t/data/{}.{}",
            self.files.len(),
            format.name().to_lowercase()
        );
        let file = DataFile {
            file_format: format,
            ..data_file(&path, rows, bytes.len())
        };
        self.files.push((file, bytes));
    }

    /// Writes all files of the table and returns the storage that has them.
    pub async fn write(&self) -> Storage {
        let store = InMemory::new();
        let put = async |location: &str, bytes: Vec<u8>| {
            let key = location.strip_prefix("s3://written/").unwrap();
            store.put(&Path::from(key), bytes.into()).await.unwrap();
        };
        let version = self.format_version;
        let (schema, spec) = (self.schema(self.schemas.len() - 1), PartitionSpec::new(0, vec![]));
        let mut manifest = ManifestWriter::new(ManifestWriterOptions {
            format_version: version,
            content: ManifestContent::Data,
            schema: &schema,
            spec: &spec,
            snapshot_id: SNAPSHOT,
            codec: Codec::Null,
        })
        .unwrap();
        for (file, bytes) in &self.files {
            manifest.add(file).unwrap();
            put(&file.file_path, bytes.clone()).await;
        }
        let path = format!("{BUCKET}/t/metadata/m.avro");
        let (mut bytes, mut entry) = manifest.finish(&path).unwrap();
        (self.change_manifest_bytes)(&mut bytes);
        put(&path, bytes).await;
        (self.change_manifest)(&mut entry);
        let options = ManifestListOptions {
            format_version: version,
            snapshot_id: SNAPSHOT,
            parent_snapshot_id: None,
            sequence_number: i64::from(version > 1),
            first_row_id: (version == 3).then_some(FIRST_ROW_ID),
            codec: Codec::Deflate,
        };
        let list = write_manifest_list(vec![entry], &options).unwrap();
        put(&format!("{BUCKET}/t/metadata/list.avro"), list.bytes).await;
        let mut metadata = self.metadata(&schema);
        (self.change_metadata)(&mut metadata);
        put(METADATA, metadata.to_string().into_bytes()).await;
        let storage = Storage::default();
        let store: Arc<dyn ObjectStore> = Arc::new(store);
        storage.register(BUCKET, store).unwrap();
        storage
    }

    fn metadata(&self, schema: &Schema) -> Json {
        let id = schema.schema_id();
        json!({
            "format-version": self.format_version,
            "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
            "location": format!("{BUCKET}/t"),
            "last-sequence-number": 1,
            "last-updated-ms": 1_700_000_000_000_i64,
            "last-column-id": 100,
            "next-row-id": 1_000_000,
            "schema": self.schemas[self.schemas.len() - 1],
            "schemas": self.schemas,
            "current-schema-id": id,
            "partition-spec": [],
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "default-spec-id": 0,
            "last-partition-id": 999,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "default-sort-order-id": 0,
            "current-snapshot-id": SNAPSHOT,
            "refs": {"main": {"snapshot-id": SNAPSHOT, "type": "branch"}},
            "snapshots": [{
                "snapshot-id": SNAPSHOT,
                "sequence-number": 1,
                "timestamp-ms": 1_700_000_000_000_i64,
                "summary": {"operation": "append"},
                "manifest-list": format!("{BUCKET}/t/metadata/list.avro"),
                "schema-id": id,
                "first-row-id": FIRST_ROW_ID,
                "added-rows": 1_000_000 - FIRST_ROW_ID,
            }],
            "snapshot-log": [{"snapshot-id": SNAPSHOT, "timestamp-ms": 1_700_000_000_000_i64}],
            "metadata-log": [],
        })
    }
}

/// A Parquet data file without column metrics.
fn data_file(path: &str, rows: usize, size: usize) -> DataFile {
    DataFile {
        content: DataContent::Data,
        file_path: path.into(),
        file_format: FileFormat::Parquet,
        spec_id: 0,
        partition: vec![],
        record_count: i64::try_from(rows).unwrap(),
        file_size_in_bytes: i64::try_from(size).unwrap(),
        column_metrics: ColumnMetrics::unknown(),
        key_metadata: None,
        split_offsets: None,
        equality_ids: None,
        sort_order_id: None,
        first_row_id: None,
        referenced_data_file: None,
        content_offset: None,
        content_size_in_bytes: None,
    }
}

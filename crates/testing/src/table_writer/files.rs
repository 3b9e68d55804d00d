//! Files of all kinds, written but not yet part of the table.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use drumlin_format::deletion_vector::{DELETION_VECTOR_BLOB_TYPE, DeletionVector};
use drumlin_format::manifest::{ColumnMetrics, DataContent, DataFile, FileFormat};
use drumlin_format::partition::PartitionTuple;
use drumlin_format::puffin::{BlobCompression, BlobMetadata, PuffinWriter};
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType, StructType, Type};
use drumlin_format::value::Value;

use super::TableWriter;
use crate::Row;
use crate::array::batch;
use crate::metrics::of_rows;

/// The field id of the path in position delete files (§ Reserved Field IDs).
pub const DELETE_FILE_PATH_ID: i32 = 2_147_483_546;

/// The field id of the position in position delete files.
pub const DELETE_FILE_POS_ID: i32 = 2_147_483_545;

/// The field id of positions, for which deletion vectors are computed.
const POS_ID: i32 = 2_147_483_645;

/// The partition that a file belongs to: values of a spec.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// The id of the spec.
    pub spec_id: i32,
    /// Its values, in the order of the spec.
    pub values: PartitionTuple,
}

impl Partition {
    /// The partition of a file.
    pub fn of(file: &DataFile) -> Self {
        Self {
            spec_id: file.spec_id,
            values: file.partition.clone(),
        }
    }
}

impl TableWriter {
    /// Writes a Parquet file of these rows, with the table's current schema. It belongs to the partition of the
    /// default spec and has the metrics that it is given.
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
        let partition = Partition {
            spec_id: self.metadata().default_spec().spec_id(),
            values: partition,
        };
        let batch = batch(rows, self.metadata().current_schema());
        let file = self
            .write_parquet(&batch, DataContent::Data, partition, properties)
            .await;
        DataFile {
            column_metrics,
            ..file
        }
    }

    /// Writes a Parquet file for these positions of data files, in the order that they are given. Its metrics are
    /// complete, its `referenced_data_file` is not set.
    ///
    /// # Panics
    /// The store fails.
    pub async fn write_position_deletes(
        &mut self,
        deletes: &[(Arc<str>, i64)],
        partition: Partition,
        properties: WriterProperties,
    ) -> DataFile {
        let schema = position_delete_schema();
        let row = |(path, position): &(Arc<str>, i64)| {
            Row::from([
                (DELETE_FILE_PATH_ID, Some(Value::String(path.to_string()))),
                (DELETE_FILE_POS_ID, Some(Value::Long(*position))),
            ])
        };
        let rows: Vec<Row> = deletes.iter().map(row).collect();
        let content = DataContent::PositionDeletes;
        let file = self
            .write_parquet(&batch(&rows, &schema), content, partition, properties)
            .await;
        DataFile {
            // Bounds of paths are never cut (§ Position Delete Files).
            column_metrics: of_rows(&rows, &schema, usize::MAX).build(),
            ..file
        }
    }

    /// Writes a Parquet file of these rows with the columns of `schema`, for deletes by the values of `equality_ids`.
    /// Its metrics are complete.
    ///
    /// # Panics
    /// The rows do not fit the schema, or the store fails.
    pub async fn write_equality_deletes(
        &mut self,
        rows: &[Row],
        schema: &Schema,
        equality_ids: &[i32],
        partition: Partition,
        properties: WriterProperties,
    ) -> DataFile {
        let content = DataContent::EqualityDeletes;
        let file = self
            .write_parquet(&batch(rows, schema), content, partition, properties)
            .await;
        DataFile {
            column_metrics: of_rows(rows, schema, 16).build(),
            equality_ids: Some(equality_ids.to_vec()),
            ..file
        }
    }

    /// Writes deletion vectors of these data files, all in one Puffin file.
    ///
    /// # Panics
    /// A vector is too long, or the store fails.
    pub async fn write_deletion_vectors(
        &mut self,
        vectors: &[(&DataFile, &DeletionVector)],
    ) -> Vec<DataFile> {
        let mut puffin = PuffinWriter::new();
        let mut blobs = Vec::new();
        for (file, vector) in vectors {
            let blob = BlobMetadata {
                blob_type: DELETION_VECTOR_BLOB_TYPE.to_string(),
                fields: vec![POS_ID],
                snapshot_id: -1,
                sequence_number: -1,
                offset: 0,
                length: 0,
                compression: BlobCompression::None,
                properties: BTreeMap::from([
                    ("referenced-data-file".to_string(), file.file_path.to_string()),
                    ("cardinality".to_string(), vector.len().to_string()),
                ]),
            };
            let content = vector.to_blob().expect("a deletion vector");
            blobs.push(puffin.add(blob, &content).expect("a blob"));
        }
        let (bytes, _) = puffin.finish().expect("a Puffin file");
        let size = bytes.len();
        let path = self.new_path("puffin");
        self.put(&path, bytes).await;
        let number = |n: u64| i64::try_from(n).expect("a number of bytes or rows");
        let of_blob = |((file, vector), blob): (&(&DataFile, &DeletionVector), BlobMetadata)| DataFile {
            file_format: FileFormat::Puffin,
            record_count: number(vector.len()),
            referenced_data_file: Some(Arc::clone(&file.file_path)),
            content_offset: Some(number(blob.offset)),
            content_size_in_bytes: Some(number(blob.length)),
            ..new_file(&path, size, DataContent::PositionDeletes, Partition::of(file))
        };
        vectors.iter().zip(blobs).map(of_blob).collect()
    }

    /// Writes a Parquet file of any columns. Its metrics are unknown.
    ///
    /// # Panics
    /// Parquet cannot hold the columns, or the store fails.
    pub async fn write_parquet(
        &mut self,
        batch: &RecordBatch,
        content: DataContent,
        partition: Partition,
        properties: WriterProperties,
    ) -> DataFile {
        let mut bytes = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("a Parquet schema");
        writer.write(batch).expect("a batch of the schema");
        writer.close().expect("a Parquet file");
        let path = self.new_path("parquet");
        let size = bytes.len();
        self.put(&path, bytes).await;
        DataFile {
            record_count: i64::try_from(batch.num_rows()).expect("a count"),
            ..new_file(&path, size, content, partition)
        }
    }

    fn new_path(&mut self, extension: &str) -> String {
        self.files += 1;
        let location = self.metadata().location();
        format!("{location}/data/{:05}.{extension}", self.files)
    }
}

fn new_file(path: &str, size: usize, content: DataContent, partition: Partition) -> DataFile {
    DataFile {
        content,
        file_path: Arc::from(path),
        file_format: FileFormat::Parquet,
        spec_id: partition.spec_id,
        partition: partition.values,
        record_count: 0,
        file_size_in_bytes: i64::try_from(size).expect("a size"),
        column_metrics: ColumnMetrics::unknown(),
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

fn position_delete_schema() -> Schema {
    let fields = vec![
        NestedField::required(DELETE_FILE_PATH_ID, "file_path", PrimitiveType::String),
        NestedField::required(DELETE_FILE_POS_ID, "pos", PrimitiveType::Long),
    ];
    Schema::new(0, fields, vec![]).expect("a schema")
}

/// The part of a schema that holds these primitive fields: they and the structs around them.
///
/// # Panics
/// The schema has none of them.
pub fn part_of_schema(schema: &Schema, ids: &[i32]) -> Schema {
    let fields = part_of_struct(schema.as_struct(), ids);
    assert!(
        !fields.is_empty(),
        "no fields {ids:?} in {:?}",
        schema.as_struct()
    );
    Schema::new(schema.schema_id(), fields, vec![]).expect("a part of a schema")
}

fn part_of_struct(of: &StructType, ids: &[i32]) -> Vec<NestedField> {
    let part = |field: &NestedField| match &field.field_type {
        Type::Struct(inner) => {
            let inner = part_of_struct(inner, ids);
            (!inner.is_empty()).then(|| NestedField {
                field_type: Type::Struct(StructType::new(inner)),
                ..field.clone()
            })
        }
        _ => ids.contains(&field.id).then(|| field.clone()),
    };
    of.fields().iter().filter_map(part).collect()
}

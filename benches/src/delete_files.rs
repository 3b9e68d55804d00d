//! Writing delete files (§ Delete Formats): deletion vectors, position delete files, equality delete files.
//!
//! All are of spec 0 of an unpartitioned table.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use drumlin_format::deletion_vector::{DELETION_VECTOR_BLOB_TYPE, DeletionVector};
use drumlin_format::manifest::{ColumnMetrics, DataContent, DataFile, FileFormat};
use drumlin_format::metrics::MetricsMode;
use drumlin_format::puffin::{BlobCompression, BlobMetadata, PuffinWriter};
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};
use drumlin_table::arrow::schema_to_arrow;

use crate::Result;
use crate::iceberg_table::text;
use crate::parquet_file::{create, create_with, data_file, data_file_with, properties};

/// The field ids of the columns of position delete files (§ Reserved Field IDs).
const FILE_PATH: i32 = 2_147_483_546;
/// See [`FILE_PATH`].
const POS: i32 = 2_147_483_545;

/// Rows that are written at once.
const BATCH_ROWS: usize = 8192;

/// A data file and the positions in it that are deleted.
#[derive(Debug, Clone)]
pub struct Deleted {
    /// The data file, as its manifest names it.
    pub data_file: Arc<str>,
    /// The positions.
    pub positions: DeletionVector,
}

impl Deleted {
    fn count(&self) -> Result<i64> {
        Ok(i64::try_from(self.positions.len())?)
    }
}

/// Writes a Puffin file with a deletion vector for each of the data files; returns what the manifest says of each.
pub fn deletion_vectors(path: &Path, deleted: &[Deleted]) -> Result<Vec<DataFile>> {
    let mut puffin = PuffinWriter::new();
    puffin.set_property("created-by", "drumlin-benches");
    let mut places = Vec::new();
    for one in deleted {
        let blob = BlobMetadata {
            blob_type: DELETION_VECTOR_BLOB_TYPE.to_string(),
            fields: vec![POS],
            snapshot_id: -1,
            sequence_number: -1,
            offset: 0,
            length: 0,
            compression: BlobCompression::None,
            properties: BTreeMap::from([
                ("referenced-data-file".to_string(), one.data_file.to_string()),
                ("cardinality".to_string(), one.positions.len().to_string()),
            ]),
        };
        let written = puffin.add(blob, &one.positions.to_blob()?)?;
        places.push((one, written));
    }
    let (bytes, _) = puffin.finish()?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, &bytes)?;
    let file_path: Arc<str> = Arc::from(text(path)?);
    let file_size_in_bytes = i64::try_from(bytes.len())?;
    let file = |(one, blob): (&Deleted, BlobMetadata)| -> Result<DataFile> {
        Ok(DataFile {
            content: DataContent::PositionDeletes,
            file_path: Arc::clone(&file_path),
            file_format: FileFormat::Puffin,
            spec_id: 0,
            partition: Vec::new(),
            record_count: one.count()?,
            file_size_in_bytes,
            column_metrics: ColumnMetrics::unknown(),
            key_metadata: None,
            split_offsets: None,
            equality_ids: None,
            sort_order_id: None,
            first_row_id: None,
            referenced_data_file: Some(Arc::clone(&one.data_file)),
            content_offset: Some(i64::try_from(blob.offset)?),
            content_size_in_bytes: Some(i64::try_from(blob.length)?),
        })
    };
    places.into_iter().map(file).collect()
}

/// Writes a position delete file (§ Position Delete Files) for these data files, which must be in the order of their
/// paths. For a single one it says so in its manifest.
pub fn position_deletes(path: &Path, deleted: &[Deleted]) -> Result<DataFile> {
    let schema = Schema::new(
        0,
        vec![
            NestedField::required(FILE_PATH, "file_path", PrimitiveType::String),
            NestedField::required(POS, "pos", PrimitiveType::Long),
        ],
        Vec::new(),
    )?;
    let arrow = Arc::new(schema_to_arrow(&schema));
    // Whole paths are in the bounds: they tell which files the deletes are for.
    let mut writer = create_with(path, &arrow, properties().set_statistics_truncate_length(None))?;
    for one in deleted {
        let mut positions = one.positions.iter().map(i64::try_from).peekable();
        while positions.peek().is_some() {
            let chunk = positions.by_ref().take(BATCH_ROWS);
            let chunk = chunk.collect::<Result<Vec<i64>, _>>()?;
            let paths = StringViewArray::from_iter_values(chunk.iter().map(|_| one.data_file.as_ref()));
            let columns: Vec<ArrayRef> = vec![Arc::new(paths), Arc::new(Int64Array::from(chunk))];
            writer.write(&RecordBatch::try_new(Arc::clone(&arrow), columns)?)?;
        }
    }
    writer.close()?;
    let only = match deleted {
        [only] => Some(Arc::clone(&only.data_file)),
        _ => None,
    };
    Ok(DataFile {
        content: DataContent::PositionDeletes,
        sort_order_id: None,
        referenced_data_file: only,
        ..data_file_with(path, &schema, Vec::new(), MetricsMode::Full)?
    })
}

/// Writes an equality delete file (§ Equality Delete Files): the columns of `table` with the ids `equality_ids`, in
/// this order.
pub fn equality_deletes(
    path: &Path,
    table: &Schema,
    equality_ids: &[i32],
    columns: Vec<ArrayRef>,
) -> Result<DataFile> {
    let field = |id: &i32| {
        let field = table.field_by_id(*id).cloned();
        field.ok_or_else(|| format!("the table has no field {id}"))
    };
    let fields = equality_ids.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Schema::new(0, fields, Vec::new())?;
    let arrow = Arc::new(schema_to_arrow(&schema));
    let mut writer = create(path, &arrow)?;
    writer.write(&RecordBatch::try_new(arrow, columns)?)?;
    writer.close()?;
    Ok(DataFile {
        content: DataContent::EqualityDeletes,
        equality_ids: Some(equality_ids.to_vec()),
        ..data_file(path, &schema, Vec::new())?
    })
}

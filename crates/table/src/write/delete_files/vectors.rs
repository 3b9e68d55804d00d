//! Deletion vectors (§ Deletion Vectors; Puffin spec § deletion-vector-v1): several share a Puffin file.

use std::collections::BTreeMap;
use std::sync::Arc;

use drumlin_format::deletion_vector::DELETION_VECTOR_BLOB_TYPE;
use drumlin_format::manifest::{ColumnMetrics, DataContent, DataFile, FileFormat};
use drumlin_format::puffin::{BlobCompression, BlobMetadata, PuffinWriter};
use parquet::arrow::async_writer::AsyncFileWriter;

use super::DeletedRows;
use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::table::Table;
use crate::write::complete_files::CompleteFiles;
use crate::write::data_file_writer::write_error;
use crate::write::location::FileNames;
use crate::write::upload::Upload;
use crate::write::{DeleteWriteOptions, WriteProgress};

/// The field of positions, for which vectors are computed (§ Reserved Field IDs, `_pos`).
const POSITION_ID: i32 = 2_147_483_645;

/// About how many bytes the footer has for a vector, besides the path of its data file.
const FOOTER_BYTES: u64 = 192;

/// Writes a vector for each data file.
pub async fn write(
    table: &Table,
    options: &DeleteWriteOptions,
    rows: Vec<DeletedRows>,
    progress: &WriteProgress,
) -> Result<Vec<DataFile>> {
    let names = FileNames::new(options.locations.clone(), options.partition_id, "-deletes.puffin");
    let mut complete = CompleteFiles::new(table.storage());
    let mut open = PuffinFile::default();
    let mut written = Ok(());
    let mut left = rows.into_iter().peekable();
    while let Some(rows) = left.next() {
        written = open.add(rows);
        if written.is_ok() && (left.peek().is_none() || open.bytes >= options.target_file_size_bytes) {
            // The vectors of different partitions share their files.
            let full = std::mem::take(&mut open).write(table.storage(), names.next(""), progress);
            written = complete.add(full).await;
        }
        if written.is_err() {
            break;
        }
    }
    match written {
        Ok(()) => Ok(complete.take()),
        Err(e) => {
            complete.remove().await;
            Err(e)
        }
    }
}

/// A Puffin file that is put together in memory.
#[derive(Default)]
struct PuffinFile {
    puffin: PuffinWriter,
    /// Its vectors, whose path and file size are not known yet.
    vectors: Vec<DataFile>,
    /// About its size.
    bytes: u64,
    /// The rows that its vectors delete.
    rows: u64,
}

impl PuffinFile {
    fn add(&mut self, rows: DeletedRows) -> Result<()> {
        let cardinality = rows.positions.len();
        let content = rows.positions.to_blob().map_err(|e| {
            let of = format!("deletion vector of `{}`", rows.data_file);
            e.in_file(of)
        })?;
        let blob = BlobMetadata {
            blob_type: DELETION_VECTOR_BLOB_TYPE.to_string(),
            fields: vec![POSITION_ID],
            // Both are those of the commit, which is not known yet.
            snapshot_id: -1,
            sequence_number: -1,
            offset: 0,
            length: 0,
            compression: BlobCompression::None,
            properties: BTreeMap::from([
                ("referenced-data-file".to_string(), rows.data_file.to_string()),
                ("cardinality".to_string(), cardinality.to_string()),
            ]),
        };
        let blob = self.puffin.add(blob, &content)?;
        let path_bytes = u64::try_from(rows.data_file.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(blob.length + path_bytes + FOOTER_BYTES);
        self.rows = self.rows.saturating_add(cardinality);
        self.vectors.push(DataFile {
            content: DataContent::PositionDeletes,
            file_path: "".into(),
            file_format: FileFormat::Puffin,
            spec_id: rows.spec_id,
            partition: rows.partition,
            record_count: number(cardinality)?,
            file_size_in_bytes: 0,
            column_metrics: ColumnMetrics::unknown(),
            key_metadata: None,
            split_offsets: None,
            equality_ids: None,
            sort_order_id: None,
            first_row_id: None,
            referenced_data_file: Some(rows.data_file),
            content_offset: Some(number(blob.offset)?),
            content_size_in_bytes: Some(number(blob.length)?),
        });
        Ok(())
    }

    /// Writes the file. What is there of it is removed if that fails.
    fn write(
        mut self,
        storage: &Storage,
        location: String,
        progress: &WriteProgress,
    ) -> impl Future<Output = Result<Vec<DataFile>>> + Send + 'static {
        let (storage, progress) = (storage.clone(), progress.clone());
        async move {
            let version = env!("CARGO_PKG_VERSION");
            self.puffin
                .set_property("created-by", format!("drumlin {version}"));
            let (bytes, _) = self.puffin.finish()?;
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            put(&storage, &location, bytes, size).await?;
            progress.add(self.rows, size, 1);
            let path: Arc<str> = location.into();
            let size = number(size)?;
            let placed = |vector| DataFile {
                file_path: Arc::clone(&path),
                file_size_in_bytes: size,
                ..vector
            };
            Ok(self.vectors.into_iter().map(placed).collect())
        }
    }
}

async fn put(storage: &Storage, location: &str, bytes: Vec<u8>, size: u64) -> Result<()> {
    let (store, path) = storage.resolve(location)?;
    let mut upload = Upload::new(store, path, size);
    let sent = match upload.write(bytes.into()).await {
        Ok(()) => upload.complete().await,
        Err(e) => Err(e),
    };
    let Err(e) = sent else {
        return Ok(());
    };
    let _ = upload.abort().await;
    // A put or a completion whose answer was lost may have made the file.
    let _ = storage.delete(location).await;
    Err(write_error(location, e))
}

fn number(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|e| {
        let error: Error = drumlin_format::Error::invalid("deletion vector", e.to_string()).into();
        error
    })
}

//! New deletes take in the older ones of their data file.

use std::sync::Arc;

use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::DataFile;
use futures::{StreamExt, TryStreamExt};

use crate::error::Result;
use crate::memory::MemoryAccount;
use crate::scan::FileTask;
use crate::table::Table;
use crate::write::{DeleteGranularity, DeleteWriteOptions, DeletedRows};

/// Data files whose older deletes are loaded at once.
const CONCURRENT_LOADS: usize = 16;

/// What is to be deleted of each data file, with what is deleted of it already, and the delete files that this replaces.
///
/// A data file has one deletion vector at most (§ Deletion Vectors): a new one holds the positions of the older one and of all
/// position delete files. Position delete files for one data file alone are replaced as well, on version 2 too, so that
/// their number does not grow; those for many data files stay.
///
/// # Errors
/// An older delete file is gone or damaged, or there is no memory for it.
pub async fn with_older_deletes(
    table: &Table,
    options: &DeleteWriteOptions,
    deletes: Vec<(FileTask, DeletionVector)>,
    memory: &Arc<dyn MemoryAccount>,
) -> Result<(Vec<DeletedRows>, Vec<DataFile>)> {
    let vectors = table.metadata().format_version() >= 3;
    let by_file = vectors || options.granularity() == DeleteGranularity::File;
    let loads = deletes.into_iter().map(|(task, mut positions)| async move {
        let file = task.data_file();
        let mut superseded = Vec::new();
        if let Some(older) = task.deletes().filter(|_| by_file) {
            superseded.extend(older.superseded_by_vector(file).cloned());
            if (vectors || !superseded.is_empty())
                && let Some(older) = older
                    .deleted_positions(&file.file_path, table, memory.as_ref())
                    .await?
            {
                positions.merge(&older.positions);
            }
        }
        let rows = DeletedRows {
            data_file: Arc::clone(&file.file_path),
            spec_id: file.spec_id,
            partition: file.partition.clone(),
            positions,
        };
        Ok::<_, crate::Error>((rows, superseded))
    });
    let loaded: Vec<_> = futures::stream::iter(loads)
        .buffered(CONCURRENT_LOADS)
        .try_collect()
        .await?;
    let (rows, superseded): (Vec<_>, Vec<_>) = loaded.into_iter().unzip();
    Ok((rows, superseded.into_iter().flatten().collect()))
}

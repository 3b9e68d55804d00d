//! Writing delete files (§ Delete Formats): which rows of which data files are deleted.
//!
//! | format version | is written |
//! |---|---|
//! | 1 | nothing: it has no row-level deletes |
//! | 2 | position delete files, `positions` |
//! | 3 | deletion vectors in Puffin files, `vectors` |
//!
//! ```text
//! DeletedRows of each data file ─┬─ v2 ─► by file or partition ─► sorted rows, in batches ─► Parquet, several at once
//!                                └─ v3 ─► a blob each ──────────► Puffin files of the target size
//! ```
//!
//! What is given is all that is deleted of a data file: in version 3 with the positions of the vector and of the position
//! deletes that the new vector replaces, which the commit has to remove.

mod positions;
mod vectors;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::DataFile;
use drumlin_format::partition::PartitionTuple;

use super::{DeleteWriteOptions, WriteProgress};
use crate::error::{Error, Result};
use crate::table::Table;

/// The rows of one data file that a delete file deletes.
#[derive(Debug, Clone)]
pub struct DeletedRows {
    /// The path of the data file, exactly as in its manifest (100).
    pub data_file: Arc<str>,
    /// The spec of the data file.
    pub spec_id: i32,
    /// Its partition values, in the order of the spec (102).
    pub partition: PartitionTuple,
    /// The positions of the rows, from 0 over the whole data file. Not empty.
    pub positions: DeletionVector,
}

/// Writes deletes: deletion vectors in Puffin files in format version 3, position delete files in version 2. They are as they
/// go into a manifest, and complete on the store; on an error, or when nobody waits for them any more, those that were
/// written are removed.
///
/// # Errors
/// [`Error::Unsupported`] in format version 1; [`Error::Format`] for a data file that is named twice, without positions or
/// of a spec that the table does not have; those of the store.
pub async fn write_deletes(
    table: &Table,
    options: &DeleteWriteOptions,
    mut rows: Vec<DeletedRows>,
    progress: &WriteProgress,
) -> Result<Vec<DataFile>> {
    let version = table.metadata().format_version();
    if version < 2 {
        return Err(Error::Unsupported(format!(
            "table `{}` has the format version 1, in which no rows of a file can be deleted: set its property \
             'format-version' to 2 or 3, or have the files rewritten ('write.delete.mode', 'write.update.mode' and \
             'write.merge.mode' as 'copy-on-write')",
            table.name()
        )));
    }
    rows.sort_unstable_by(|a, b| a.data_file.cmp(&b.data_file));
    check(table, &rows)?;
    match version {
        2 => positions::write(table, options, rows, progress).await,
        _ => vectors::write(table, options, rows, progress).await,
    }
}

/// Refuses what would be no deletes, or would be two for one data file.
fn check(table: &Table, rows: &[DeletedRows]) -> Result<()> {
    let invalid = |rows: &DeletedRows, reason: &str| {
        let what = format!("deletes of `{}` in table `{}`", rows.data_file, table.name());
        Err(drumlin_format::Error::invalid(what, reason).into())
    };
    let mut before: Option<&str> = None;
    for of in rows {
        if before == Some(&of.data_file) {
            return invalid(of, "they are given twice: put the positions together");
        }
        if of.positions.is_empty() {
            return invalid(of, "they delete no row");
        }
        table.spec(of.spec_id, || format!("the data file `{}`", of.data_file))?;
        before = Some(&of.data_file);
    }
    Ok(())
}

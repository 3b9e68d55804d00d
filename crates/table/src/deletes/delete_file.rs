//! A delete file of a scan.

use std::sync::Arc;

use drumlin_format::manifest::{DataFile, ManifestEntry};
use tokio::sync::OnceCell;

use super::MemoryAccount;
use super::cache::{Decoded, DeleteKey};
use super::positions::{self, PositionDeletes};
use crate::cache::Memory;
use crate::data_file::{self, OpenFile};
use crate::error::{Error, Result};
use crate::table::Table;

/// A delete file of a scan. Position deletes and deletion vectors are loaded when they are first asked for, once for
/// all data files of the scan, and kept as long as the scan's plan.
#[derive(Debug)]
pub struct DeleteFile {
    entry: Arc<ManifestEntry>,
    positions: OnceCell<Arc<PositionDeletes>>,
}

impl DeleteFile {
    pub(super) fn new(entry: Arc<ManifestEntry>) -> Self {
        Self {
            entry,
            positions: OnceCell::new(),
        }
    }

    /// What the manifest says of it.
    pub fn data_file(&self) -> &DataFile {
        &self.entry.data_file
    }

    /// Its data sequence number.
    pub fn sequence_number(&self) -> i64 {
        self.entry.sequence_number
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// Its manifest does not tell.
    pub fn size(&self) -> Result<u64> {
        size_of(self.data_file())
    }

    /// How many deletes it holds; `None` if the manifest does not say.
    pub fn record_count(&self) -> Option<u64> {
        u64::try_from(self.data_file().record_count).ok()
    }

    /// The positions that it deletes.
    pub(super) async fn positions(
        &self,
        table: &Table,
        memory: &dyn MemoryAccount,
    ) -> Result<&Arc<PositionDeletes>> {
        let load = async {
            let key = self.key(table, "".into());
            let load = async {
                let loaded = positions::load(self.data_file(), table).await?;
                Ok(Decoded::Positions(Arc::new(loaded)))
            };
            match table.storage().delete_cache().get_or_load(&key, load).await? {
                Decoded::Positions(positions) => {
                    memory.grow(usize::try_from(positions.bytes()).unwrap_or(usize::MAX))?;
                    Ok(positions)
                }
                Decoded::Keys(_) => Err(Error::Stopped(format!(
                    "the positions of `{}` were not decoded",
                    self.data_file().file_path
                ))),
            }
        };
        self.positions.get_or_try_init(|| load).await
    }

    /// What is found of it in the cache, with these columns.
    pub(super) fn key(&self, table: &Table, columns: Arc<str>) -> DeleteKey {
        let file = self.data_file();
        DeleteKey {
            generation: table.storage().generation(),
            path: Arc::clone(&file.file_path),
            offset: file.content_offset.unwrap_or(0),
            length: file.content_size_in_bytes.unwrap_or(0),
            columns,
        }
    }
}

/// The size of a file in bytes, which its manifest must tell.
pub(super) fn size_of(file: &DataFile) -> Result<u64> {
    u64::try_from(file.file_size_in_bytes).map_err(|_| {
        invalid(
            file,
            format!("its manifest says that it has {} bytes", file.file_size_in_bytes),
        )
    })
}

/// Opens a delete file that holds rows.
pub(super) async fn open(file: &DataFile, table: &Table) -> Result<OpenFile> {
    let (size, format) = (size_of(file)?, file.file_format.clone());
    let opened = data_file::open(table.storage(), &file.file_path, size, format).await;
    opened.map_err(|e| e.needed_for(table.files_needed_for()))
}

/// The error of a delete file that is not what it should be.
pub(super) fn invalid(file: &DataFile, reason: impl Into<String>) -> Error {
    drumlin_format::Error::invalid(format!("delete file `{}`", file.file_path), reason.into()).into()
}

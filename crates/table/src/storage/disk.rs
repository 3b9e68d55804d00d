//! What is different on a local disk: a file that was written is not yet safe from a loss of power.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path as FilePath, PathBuf};

use futures::{StreamExt, TryStreamExt};

use super::{Location, Scheme, Storage};
use crate::error::{Error, Result};

/// How the store of local files names itself, and the errors that come from it.
pub const LOCAL_STORE: &str = "LocalFileSystem";

/// Files that are flushed at once.
const CONCURRENT_FLUSHES: usize = 16;

impl Storage {
    /// The path on a local disk that a location is; `None` where anything but the disk is behind its store.
    ///
    /// # Errors
    /// [`Error::Location`] for a location that names no place.
    pub fn on_disk(&self, location: &str) -> Result<Option<PathBuf>> {
        let parsed = Location::parse(location)?;
        if parsed.scheme != Scheme::File {
            return Ok(None);
        }
        let (store, path) = self.resolve(location)?;
        let local = store.to_string().starts_with(LOCAL_STORE);
        Ok(local.then(|| FilePath::new("/").join(path.as_ref())))
    }

    /// Waits until files, and the folders that name them, are on the disk. Files in other stores are safe once they
    /// are written.
    ///
    /// The store of local files knows no `fsync`: without this, a pointer that is on the disk could name files that are not.
    ///
    /// # Errors
    /// [`Error::Store`] if the disk fails.
    pub async fn flush<'a>(&self, locations: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let mut files = BTreeSet::new();
        for location in locations {
            files.extend(self.on_disk(location)?);
        }
        let folders: BTreeSet<PathBuf> = files
            .iter()
            .filter_map(|f| f.parent())
            .map(PathBuf::from)
            .collect();
        for paths in [files, folders] {
            futures::stream::iter(paths)
                .map(|path| async move {
                    let name = path.display().to_string();
                    let flushed = blocking(move || std::fs::File::open(path)?.sync_all()).await;
                    flushed.map_err(|e| disk_error(&name, e))
                })
                .buffer_unordered(CONCURRENT_FLUSHES)
                .try_collect::<()>()
                .await?;
        }
        Ok(())
    }
}

/// An error of the disk, as the store of local files would tell it.
pub fn disk_error(location: &str, source: io::Error) -> Error {
    let source = match source.kind() {
        io::ErrorKind::AlreadyExists => object_store::Error::AlreadyExists {
            path: location.to_string(),
            source: Box::new(source),
        },
        _ => object_store::Error::Generic {
            store: LOCAL_STORE,
            source: Box::new(source),
        },
    };
    Error::store(location, source)
}

/// Runs what waits for the disk where it may wait.
///
/// # Errors
/// Those of the work.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use bytes::Bytes;

    use super::*;

    #[tokio::test]
    async fn files_on_the_disk_are_flushed_and_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let location = folder.path().join("a b%/f.parquet").display().to_string();
        let storage = Storage::default();
        storage
            .write(&location, Bytes::from_static(b"rows"))
            .await
            .unwrap();
        assert!(storage.on_disk(&location).unwrap().unwrap().is_file());
        // Files elsewhere are safe as they are.
        let elsewhere = "memory:/f.parquet";
        assert_eq!(storage.on_disk(elsewhere).unwrap(), None);
        storage.flush([location.as_str(), elsewhere]).await.unwrap();
        let missing = format!("{location}.gone");
        let error = storage.flush([missing.as_str()]).await.unwrap_err();
        assert!(error.to_string().contains(".gone"), "{error}");
    }
}

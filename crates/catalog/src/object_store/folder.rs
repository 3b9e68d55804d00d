//! Folders: on stores that have none, and on a local disk, which does.

use std::io;
use std::path::{Path as FilePath, PathBuf};

use bytes::Bytes;
use drumlin_table::storage::{Location, Scheme, Storage};
use drumlin_table::{Error, Result};
use uuid::Uuid;

/// How the store of local files names itself, and the errors that come from it.
pub(super) const LOCAL_STORE: &str = "LocalFileSystem";

/// The directory that a folder is, if it is on a local disk and nothing but the disk is behind its store.
pub(super) fn directory(storage: &Storage, folder: &str) -> Result<Option<PathBuf>> {
    let location = Location::parse(folder)?;
    let (store, path) = storage.resolve(folder)?;
    let local = location.scheme == Scheme::File && store.to_string().starts_with(LOCAL_STORE);
    Ok(local.then(|| FilePath::new("/").join(path.as_ref())))
}

/// Whether two locations are the same place, however they are spelt.
pub(super) fn same_place(one: &str, other: &str) -> bool {
    let parsed = |location: &str| Location::parse(location.trim_end_matches('/'));
    match (parsed(one), parsed(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// An error of the disk, as the store of local files would tell it.
pub(super) fn disk_error(location: &str, source: io::Error) -> Error {
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

/// Writes a file unless there is one of this name, in one step.
///
/// On a local disk this does what its store does, a hard link to a file that is complete, but what the link names and the
/// link itself are on the disk when this returns: the store knows no fsync, and after a loss of power the newest version of a
/// table would be an empty file.
pub(super) async fn create(storage: &Storage, location: &str, bytes: Bytes) -> Result<()> {
    let Some(path) = directory(storage, location)? else {
        return storage.create(location, bytes).await;
    };
    let done = blocking(move || create_on_disk(&path, &bytes)).await;
    done.map_err(|e| disk_error(location, e))
}

fn create_on_disk(path: &FilePath, bytes: &[u8]) -> io::Result<()> {
    let no_parent = || io::Error::new(io::ErrorKind::InvalidInput, "a file needs a folder");
    let folder = path.parent().ok_or_else(no_parent)?;
    let name = path.file_name().ok_or_else(no_parent)?;
    std::fs::create_dir_all(folder)?;
    // `#` and digits: a name that listings of the store leave out.
    let mut staged = name.to_os_string();
    staged.push(format!("#{}", Uuid::new_v4().as_u128()));
    let staged = folder.join(staged);
    let linked = write_to_disk(&staged, bytes).and_then(|()| std::fs::hard_link(&staged, path));
    // A leftover is not seen by anyone.
    let _ = std::fs::remove_file(&staged);
    linked?;
    std::fs::File::open(folder)?.sync_all()
}

fn write_to_disk(path: &FilePath, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;
    let mut file = std::fs::File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Runs what waits for the disk where it may wait.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)?
}

/// Removes the directories in one, and itself, as far as they are empty.
pub(super) fn remove_empty(directory: &FilePath) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty(&entry.path())?;
        }
    }
    match std::fs::remove_dir(directory) {
        Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        other => other,
    }
}

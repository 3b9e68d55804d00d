//! Folders: on stores that have none, and on a local disk, which does.

use std::io;
use std::path::Path as FilePath;

use bytes::Bytes;
use drumlin_table::Result;
use drumlin_table::storage::disk::{blocking, disk_error};
use drumlin_table::storage::{Location, Storage};
use uuid::Uuid;

/// Whether two locations are the same place, however they are spelt.
pub(crate) fn same_place(one: &str, other: &str) -> bool {
    let parsed = |location: &str| Location::parse(location.trim_end_matches('/'));
    match (parsed(one), parsed(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Writes a file unless there is one of this name, in one step.
///
/// On a local disk this does what its store does, a hard link to a file that is complete, but what the link names and the
/// link itself are on the disk when this returns: the store knows no fsync, and after a loss of power the newest version of a
/// table would be an empty file.
pub(crate) async fn create(storage: &Storage, location: &str, bytes: Bytes) -> Result<()> {
    let Some(path) = storage.on_disk(location)? else {
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

/// Removes the directories in one, and itself, as far as they are empty.
pub(crate) fn remove_empty(directory: &FilePath) -> io::Result<()> {
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

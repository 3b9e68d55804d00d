//! The tables of the conformance suite, written by Spark.

use std::path::PathBuf;
use std::sync::Arc;

use drumlin_table::storage::Storage;
use object_store::local::LocalFileSystem;

/// The bucket that all paths of the suite's tables name.
pub const BUCKET: &str = "s3://conformance";

/// The folder of the tables.
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../sql-tests/conformance/tables"
    ))
}

/// A storage that has the bucket.
pub fn storage() -> Storage {
    let storage = Storage::default();
    let store = LocalFileSystem::new_with_prefix(folder()).unwrap();
    storage.register(BUCKET, Arc::new(store)).unwrap();
    storage
}

/// The local file of a table's metadata by its number.
pub fn metadata_file(table: &str, number: u32) -> PathBuf {
    let prefix = format!("{number:05}-");
    let folder = folder().join(table).join("metadata");
    let found = std::fs::read_dir(&folder).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        (name.starts_with(&prefix) && name.ends_with(".metadata.json")).then_some(path)
    });
    found.unwrap_or_else(|| panic!("{} has no metadata file {number}", folder.display()))
}

/// The location of a table's metadata by its number.
pub fn metadata_location(table: &str, number: u32) -> String {
    let file = metadata_file(table, number);
    let name = file.file_name().unwrap().to_str().unwrap();
    format!("{BUCKET}/{table}/metadata/{name}")
}

//! Tables that get one snapshot after the other, in the layout of Hadoop tables.
//!
//! | file | holds |
//! |---|---|
//! | `files` | data files, position and equality delete files, deletion vectors |
//! | `commit` | snapshots: new manifests, and old ones written anew without the files that are removed |

mod commit;
mod files;

use drumlin_format::metadata::{NewTable, TableMetadata, TableMetadataBuilder, TableUpdate};
use drumlin_table::Table;
use drumlin_table::storage::Storage;
use object_store::ObjectStoreExt;

use commit::Manifest;

pub use commit::Commit;
pub use files::{DELETE_FILE_PATH_ID, DELETE_FILE_POS_ID, Partition, part_of_schema};

/// When the table was made: 2024-01-01, in ms since 1970-01-01 UTC; the snapshot with the number n is n minutes later.
pub const CREATED_MS: i64 = 1_704_067_200_000;

/// Writes a table into a storage, any that its location names.
///
/// Files are written first and become part of the table with a [`Commit`]. What a manifest says of a file is what
/// its `DataFile` says, which tests may change in between.
pub struct TableWriter {
    storage: Storage,
    metadata: TableMetadata,
    manifests: Vec<Manifest>,
    version: i64,
    snapshots: i64,
    files: usize,
}

impl TableWriter {
    /// A new table without snapshots at the location of `table`, where nothing should be.
    ///
    /// # Panics
    /// The table is not valid.
    pub async fn create(storage: &Storage, table: NewTable) -> Self {
        let metadata = TableMetadataBuilder::create(table)
            .and_then(|b| b.build(CREATED_MS))
            .expect("a valid new table");
        let mut writer = Self {
            storage: storage.clone(),
            metadata,
            manifests: Vec::new(),
            version: 0,
            snapshots: 0,
            files: 0,
        };
        writer.publish().await;
        writer
    }

    /// The table so far.
    pub fn metadata(&self) -> &TableMetadata {
        &self.metadata
    }

    /// Changes the table in one commit without a snapshot.
    ///
    /// # Panics
    /// An update is not valid.
    pub async fn update(&mut self, updates: impl IntoIterator<Item = TableUpdate>) {
        let file = self.metadata_file();
        let mut builder = TableMetadataBuilder::from(self.metadata.clone(), Some(file));
        builder.apply_all(updates).expect("valid updates");
        self.metadata = builder
            .build(CREATED_MS + self.snapshots * 60_000)
            .expect("valid metadata");
        self.publish().await;
    }

    /// Opens the table as it is now.
    ///
    /// # Panics
    /// It cannot be opened.
    pub async fn open(&self) -> Table {
        Table::open(&self.storage, self.metadata.location())
            .await
            .expect("a table that opens")
    }

    /// The location of the current metadata file.
    pub fn metadata_file(&self) -> String {
        let version = self.version;
        format!("{}/metadata/v{version}.metadata.json", self.metadata.location())
    }

    async fn publish(&mut self) {
        self.version += 1;
        let bytes = self.metadata.to_json_bytes().expect("metadata as JSON");
        self.put(&self.metadata_file(), bytes).await;
        let hint = format!("{}/metadata/version-hint.text", self.metadata.location());
        self.put(&hint, self.version.to_string().into_bytes()).await;
    }

    async fn put(&self, location: &str, bytes: Vec<u8>) {
        let (store, path) = self.storage.resolve(location).expect("a location");
        store
            .put(&path, bytes.into())
            .await
            .expect("a store that takes files");
    }
}

/// The id of the snapshot with this number, from 1.
pub fn snapshot_id(number: i64) -> i64 {
    5_000_000_000_000_000_000 + number * 1_000_003
}

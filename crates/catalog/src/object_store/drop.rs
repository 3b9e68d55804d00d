//! Dropping a table: its folder goes.

use drumlin_table::catalog::TableIdent;
use drumlin_table::storage::Location;
use drumlin_table::storage::disk::{blocking, disk_error};
use drumlin_table::table::metadata_file::{is_metadata_file, version_of};
use drumlin_table::{Error, Result, VERSION_HINT};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;

use super::ObjectStoreCatalog;
use super::commit::version;
use crate::folder::{self, same_place};
use crate::metadata_file::{GC_ENABLED, is_true};

impl ObjectStoreCatalog {
    /// Deletes the folder of a table, and nothing outside of it.
    ///
    /// First the older versions, the hint and the newest version, in this order, so that readers see the table or none, but
    /// never an older state of it; then all else.
    pub(super) async fn drop_folder(&self, ident: &TableIdent) -> Result<()> {
        let missing = || Error::NoSuchTable {
            table: ident.to_string(),
        };
        let location = self.location_of(ident).map_err(|_| missing())?;
        let table = match self.open(&location).await {
            Ok(table) => table.with_name(ident.to_string()),
            Err(Error::NoTable { .. }) => return Err(missing()),
            Err(other) => return Err(other),
        };
        let current = version(&table)?;
        if !is_true(table.metadata(), GC_ENABLED, true) {
            return Err(Error::Unsupported(format!(
                "dropping table `{ident}`, which deletes its folder, while its property {GC_ENABLED} is false"
            )));
        }
        if !same_place(table.metadata().location(), &location) {
            return Err(Error::Unsupported(format!(
                "dropping table `{ident}`, which deletes its folder: its metadata says that it is at {}, not at {location}; \
                 delete the folder by other means if nothing else uses it",
                table.metadata().location()
            )));
        }
        let files = self.files_below(&location).await?;
        self.check_no_other_table(&files, &location)?;

        let metadata = format!("{location}/metadata");
        let mut versions: Vec<(u64, String)> = self.versions(&metadata).await?;
        versions.sort();
        for (_, file) in versions.iter().filter(|(version, _)| *version < current) {
            self.storage.delete(&format!("{metadata}/{file}")).await?;
        }
        self.storage.delete(&format!("{metadata}/{VERSION_HINT}")).await?;
        self.storage.delete(table.metadata_location()).await?;
        if let Some((newer, _)) = self.versions(&metadata).await?.into_iter().max() {
            return Err(Error::Conflict {
                table: ident.to_string(),
                reason: format!(
                    "version {newer} was committed while the table was dropped; it is there still"
                ),
            });
        }
        self.delete_all(&location).await?;
        self.keep_namespace(&ident.namespace).await
    }

    async fn versions(&self, metadata: &str) -> Result<Vec<(u64, String)>> {
        let files = self.storage.list(metadata).await?.files;
        let versions = files.into_iter().filter_map(|f| Some((version_of(&f)?, f)));
        Ok(versions.collect())
    }

    async fn files_below(&self, folder: &str) -> Result<Vec<Path>> {
        let (store, path) = self.storage.resolve(folder)?;
        let files = store.list(Some(&path)).map_ok(|object| object.location);
        let files: object_store::Result<Vec<Path>> = files.try_collect().await;
        let files = files.map_err(|e| Error::store(folder, e))?;
        // Stores list by folder, not by the letters of its name; a store that does not must not cost others' files.
        Ok(files
            .into_iter()
            .filter(|file| file.prefix_matches(&path))
            .collect())
    }

    /// Refuses a folder that has another table somewhere inside.
    fn check_no_other_table(&self, files: &[Path], location: &str) -> Result<()> {
        let own = Location::parse(&format!("{location}/metadata"))?.path;
        let metadata = files.iter().filter(|file| is_metadata_file(file.as_ref()));
        for file in metadata {
            let folder = file.as_ref().rsplit_once('/').map_or("", |(folder, _)| folder);
            if folder != own.as_ref() && folder.ends_with("/metadata") {
                return Err(Error::Unsupported(format!(
                    "dropping a table, which deletes its folder {location}, while there is another table inside: {folder}"
                )));
            }
        }
        Ok(())
    }

    async fn delete_all(&self, folder: &str) -> Result<()> {
        let (store, _) = self.storage.resolve(folder)?;
        let files = self.files_below(folder).await?;
        let files = futures::stream::iter(files.into_iter().map(Ok)).boxed();
        let mut deleted = store.delete_stream(files);
        while let Some(answer) = deleted.next().await {
            match answer {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(e) => return Err(Error::store(folder, e)),
            }
        }
        if let Some(directory) = self.storage.on_disk(folder)? {
            let removed = blocking(move || folder::remove_empty(&directory)).await;
            removed.map_err(|e| disk_error(folder, e))?;
        }
        Ok(())
    }
}

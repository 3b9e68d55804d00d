//! Namespaces: folders, which on stores without folders are kept by a file.

use bytes::Bytes;
use drumlin_table::catalog::Namespace;
use drumlin_table::storage::Location;
use drumlin_table::storage::disk::{blocking, disk_error};
use drumlin_table::{Error, Result};
use futures::{StreamExt, TryStreamExt};

use super::{CONCURRENT_LISTINGS, ObjectStoreCatalog, name_is_folder};

/// An empty file that keeps a namespace while it holds nothing else, on stores that have no folders. Hadoop's catalogs
/// pass over files where they look for tables and namespaces. To drop such a namespace they need it gone: they take it for
/// content.
pub(super) const MARKER: &str = ".namespace";

impl ObjectStoreCatalog {
    /// The folder of a namespace.
    ///
    /// # Errors
    /// [`Error::Name`] for levels that are no names of folders.
    pub(super) fn folder_of(&self, namespace: &Namespace) -> Result<String> {
        let mut folder = self.warehouse.clone();
        for level in namespace.levels() {
            check_name(level)?;
            folder.push('/');
            folder.push_str(level);
        }
        Ok(folder)
    }

    pub(super) async fn is_namespace(&self, namespace: &Namespace) -> Result<bool> {
        if namespace.is_root() {
            return Ok(true);
        }
        let Ok(folder) = self.folder_of(namespace) else {
            return Ok(false);
        };
        let there = match self.storage.on_disk(&folder)? {
            Some(directory) => blocking(move || Ok(directory.is_dir()))
                .await
                .map_err(|e| disk_error(&folder, e))?,
            None => self.holds_file(&folder, None).await?,
        };
        // The folders of a table are not namespaces.
        Ok(there && self.table_around(namespace).await?.is_none())
    }

    /// Whether there is a file in a folder, at any depth, but for one. Some stores go on naming folders after the last file in
    /// them was deleted, so that folders say nothing.
    async fn holds_file(&self, folder: &str, but: Option<&str>) -> Result<bool> {
        let (store, path) = self.storage.resolve(folder)?;
        let but = but.map(Location::parse).transpose()?.map(|but| but.path);
        let mut files = store.list(Some(&path));
        while let Some(file) = files.next().await {
            match file {
                Ok(file) if Some(&file.location) == but.as_ref() => {}
                Ok(_) => return Ok(true),
                Err(object_store::Error::NotFound { .. }) => {}
                Err(e) => return Err(Error::store(folder, e)),
            }
        }
        Ok(false)
    }

    /// The namespaces directly inside of one that is there.
    pub(super) async fn children(&self, parent: &Namespace) -> Result<Vec<Namespace>> {
        let names = self.list(parent).await?.namespaces;
        // Folders whose names no namespace can have are left out.
        let children = names.into_iter().filter_map(|name| parent.child(name).ok());
        let children: Vec<(Namespace, bool)> = futures::stream::iter(children)
            .map(|child| async move {
                let folder = self.folder_of(&child)?;
                let there = match self.storage.on_disk(&folder)? {
                    Some(_) => true,
                    None => self.holds_file(&folder, None).await?,
                };
                Ok::<_, Error>((child, there))
            })
            .buffered(CONCURRENT_LISTINGS)
            .try_collect()
            .await?;
        let there = children.into_iter().filter(|(_, there)| *there);
        Ok(there.map(|(child, _)| child).collect())
    }

    /// The outermost level that is a table.
    async fn table_around(&self, namespace: &Namespace) -> Result<Option<String>> {
        let mut folder = self.warehouse.clone();
        for level in namespace.levels() {
            folder.push('/');
            folder.push_str(level);
            if self.is_table(&folder).await? {
                return Ok(Some(folder));
            }
        }
        Ok(None)
    }

    pub(super) async fn make_namespace(&self, namespace: &Namespace) -> Result<()> {
        let exists = || Error::NamespaceExists {
            namespace: namespace.to_string(),
        };
        let folder = self.folder_of(namespace)?;
        if let Some(table) = self.table_around(namespace).await? {
            return Err(Error::Unsupported(format!(
                "a schema `{namespace}` at or inside of the folder of a table: {table}"
            )));
        }
        if self.is_namespace(namespace).await? {
            return Err(exists());
        }
        if let Some(directory) = self.storage.on_disk(&folder)? {
            let made = blocking(move || {
                if let Some(parent) = directory.parent() {
                    std::fs::create_dir_all(parent)?;
                }
                std::fs::create_dir(&directory)
            })
            .await;
            return match made {
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Err(exists()),
                made => made.map_err(|e| disk_error(&folder, e)),
            };
        }
        let mut outer = Namespace::root();
        for level in namespace.levels() {
            outer = outer.child(level)?;
            if outer == *namespace || !self.is_namespace(&outer).await? {
                self.mark(&outer).await?;
            }
        }
        Ok(())
    }

    /// Keeps a namespace from going with the last that it holds.
    pub(super) async fn keep_namespace(&self, namespace: &Namespace) -> Result<()> {
        let folder = self.folder_of(namespace)?;
        match self.storage.on_disk(&folder)? {
            None if !namespace.is_root() => self.mark(namespace).await,
            _ => Ok(()),
        }
    }

    async fn mark(&self, namespace: &Namespace) -> Result<()> {
        let marker = format!("{}/{MARKER}", self.folder_of(namespace)?);
        self.storage.write(&marker, Bytes::new()).await
    }

    pub(super) async fn remove_namespace(&self, namespace: &Namespace) -> Result<()> {
        if namespace.is_root() || !self.is_namespace(namespace).await? {
            return Err(Error::NoSuchNamespace {
                namespace: namespace.to_string(),
            });
        }
        let not_empty = || Error::NamespaceNotEmpty {
            namespace: namespace.to_string(),
        };
        let folder = self.folder_of(namespace)?;
        let Some(directory) = self.storage.on_disk(&folder)? else {
            let marker = format!("{folder}/{MARKER}");
            return match self.holds_file(&folder, Some(&marker)).await? {
                true => Err(not_empty()),
                false => self.storage.delete(&marker).await,
            };
        };
        match blocking(move || std::fs::remove_dir(directory)).await {
            Err(e) if e.kind() == std::io::ErrorKind::DirectoryNotEmpty => Err(not_empty()),
            removed => removed.map_err(|e| disk_error(&folder, e)),
        }
    }
}

/// Refuses names that are not those of one folder.
pub(super) fn check_name(name: &str) -> Result<()> {
    let reason = match name {
        MARKER => "it is the name of the file that keeps an empty schema",
        _ if name_is_folder(name) => return Ok(()),
        _ => "it has to be the name of a folder",
    };
    Err(Error::Name {
        name: name.to_string(),
        reason: reason.to_string(),
    })
}

//! Files of tables, wherever they are.
//!
//! A [`Storage`] turns the locations that tables hold into objects of stores. Locations are used verbatim: they are
//! never rebuilt from the table's location and never URL-decoded.

pub mod disk;
mod location;
mod options;
mod routing;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode};

pub use location::{Location, Scheme};
pub use options::{StoreOptions, check_options};
pub use routing::{RoutingStore, routed_path};

use crate::deletes::DeleteCache;
use crate::error::{Error, Result};
use crate::scan::ManifestCache;
use crate::table::cache::{MetadataCache, metadata_cache};

/// The stores that locations are resolved in. Cheap to clone; clones share their stores.
#[derive(Debug, Clone)]
pub struct Storage {
    inner: Arc<Inner>,
}

struct Inner {
    options: StoreOptions,
    stores: RwLock<HashMap<StoreKey, Arc<dyn ObjectStore>>>,
    /// The stores that were registered, for storages derived from this one.
    registered: RwLock<HashMap<StoreKey, Arc<dyn ObjectStore>>>,
    caches: Caches,
    generation: AtomicU64,
}

/// Without the options, which may hold secrets.
impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options: Vec<&String> = self.options.keys().collect();
        f.debug_struct("Storage")
            .field("options", &options)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}

/// What was decoded, shared by storages that are derived from one another.
#[derive(Debug, Clone)]
struct Caches {
    manifests: Arc<ManifestCache>,
    deletes: Arc<DeleteCache>,
    metadata: Arc<MetadataCache>,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            manifests: Arc::default(),
            deletes: Arc::default(),
            metadata: Arc::new(metadata_cache()),
        }
    }
}

/// The kind of a store and its bucket.
type StoreKey = (Scheme, String);

/// Numbers the states of all storages of the process.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

impl Default for Storage {
    fn default() -> Self {
        Self::new(StoreOptions::default())
    }
}

impl Storage {
    /// A storage that makes its stores from these options and the environment when they are first needed.
    pub fn new(options: StoreOptions) -> Self {
        Self::build(options, HashMap::new(), Caches::default())
    }

    /// The same with other budgets of memory for decoded manifests and for decoded delete files, in bytes; 0 keeps none.
    pub fn with_cache_bytes(options: StoreOptions, manifests: u64, deletes: u64) -> Self {
        let caches = Caches {
            manifests: Arc::new(ManifestCache::new(manifests)),
            deletes: Arc::new(DeleteCache::new(deletes)),
            ..Caches::default()
        };
        Self::build(options, HashMap::new(), caches)
    }

    /// A storage with more options, which win over those of this one. It has the stores that were registered here, and
    /// shares the memory for
    /// manifests and delete files.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for options that no store has: see [`check_options`].
    pub fn with_options(&self, more: StoreOptions) -> Result<Self> {
        check_options(&more)?;
        let mut options = self.inner.options.clone();
        options.extend(more);
        let registered = self
            .inner
            .registered
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(Self::build(
            options,
            registered.clone(),
            self.inner.caches.clone(),
        ))
    }

    fn build(
        options: StoreOptions,
        registered: HashMap<StoreKey, Arc<dyn ObjectStore>>,
        caches: Caches,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                options,
                stores: RwLock::new(registered.clone()),
                registered: RwLock::new(registered),
                caches,
                generation: AtomicU64::new(GENERATIONS.fetch_add(1, Ordering::Relaxed)),
            }),
        }
    }

    /// Uses `store` for all locations of the bucket that `location` names (`s3://bucket`), or for all local files
    /// (`file:`), in place of one made from the options.
    pub fn register(&self, location: &str, store: Arc<dyn ObjectStore>) -> Result<()> {
        let key = Location::parse(location)?.store_key();
        for stores in [&self.inner.stores, &self.inner.registered] {
            stores
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(key.clone(), Arc::clone(&store));
        }
        let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
        self.inner.generation.store(generation, Ordering::Relaxed);
        Ok(())
    }

    /// The options of the stores.
    pub fn options(&self) -> &StoreOptions {
        &self.inner.options
    }

    /// A number that no other storage has, and that changes when a store is registered: what was cached of a file
    /// under another number may be of another file of the same name.
    pub fn generation(&self) -> u64 {
        self.inner.generation.load(Ordering::Relaxed)
    }

    /// The manifests that were decoded already. All tables of a storage share them.
    pub fn manifest_cache(&self) -> &ManifestCache {
        &self.inner.caches.manifests
    }

    /// The delete files that were decoded already. All tables of a storage share them.
    pub fn delete_cache(&self) -> &DeleteCache {
        &self.inner.caches.deletes
    }

    /// The metadata files that were read already.
    pub(crate) fn metadata_cache(&self) -> &MetadataCache {
        &self.inner.caches.metadata
    }

    /// The store and the object that a location means.
    pub fn resolve(&self, location: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
        let location = Location::parse(location)?;
        Ok((self.store(&location)?, location.path))
    }

    /// The store of a location, made now if it is the first of its bucket.
    fn store(&self, location: &Location) -> Result<Arc<dyn ObjectStore>> {
        let key = location.store_key();
        if let Some(store) = self
            .inner
            .stores
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
        {
            return Ok(Arc::clone(store));
        }
        let built = options::build(location, &self.inner.options)?;
        let mut stores = self.inner.stores.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been first: the memory store must be one and the same for all.
        Ok(Arc::clone(stores.entry(key).or_insert(built)))
    }

    /// Reads a whole file.
    pub async fn read(&self, location: &str) -> Result<Bytes> {
        let (store, path) = self.resolve(location)?;
        let answer = async { store.get(&path).await?.bytes().await };
        answer.await.map_err(|e| Error::store(location, e))
    }

    /// Writes a whole file. Its name must be unique: one that is there would be overwritten.
    pub async fn write(&self, location: &str, bytes: Bytes) -> Result<()> {
        let (store, path) = self.resolve(location)?;
        let answer = store.put(&path, bytes.into()).await;
        answer.map(drop).map_err(|e| Error::store(location, e))
    }

    /// Writes a whole file unless there is one of this name, in one step: of several that try, one succeeds.
    ///
    /// # Errors
    /// [`object_store::Error::AlreadyExists`] in [`Error::Store`] where there is one; [`Error::Unsupported`] for a store that
    /// cannot do this, which must never be written to by an ordinary put in its place.
    pub async fn create(&self, location: &str, bytes: Bytes) -> Result<()> {
        let (store, path) = self.resolve(location)?;
        match store.put_opts(&path, bytes.into(), PutMode::Create.into()).await {
            Ok(_) => Ok(()),
            Err(object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. }) => {
                Err(Error::Unsupported(format!(
                    "the store of `{location}` has no conditional put (create only if absent), so that commits to it would not be safe"
                )))
            }
            Err(e) => Err(Error::store(location, e)),
        }
    }

    /// Deletes a file. One that is not there is none to delete.
    pub async fn delete(&self, location: &str) -> Result<()> {
        let (store, path) = self.resolve(location)?;
        match store.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(Error::store(location, e)),
        }
    }

    /// Whether a file is there.
    pub async fn exists(&self, location: &str) -> Result<bool> {
        let (store, path) = self.resolve(location)?;
        match store.head(&path).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(e) => Err(Error::store(location, e)),
        }
    }

    /// The names of the files and of the folders directly in a folder, each sorted. A folder that is not there has
    /// none of both.
    pub async fn list(&self, folder: &str) -> Result<Listing> {
        let (store, path) = self.resolve(folder)?;
        let answer = match store.list_with_delimiter(Some(&path)).await {
            Ok(answer) => answer,
            Err(object_store::Error::NotFound { .. }) => return Ok(Listing::default()),
            Err(e) => return Err(Error::store(folder, e)),
        };
        let name = |p: &Path| p.filename().map(str::to_string);
        let mut listing = Listing {
            files: answer.objects.iter().filter_map(|o| name(&o.location)).collect(),
            folders: answer.common_prefixes.iter().filter_map(name).collect(),
        };
        listing.files.sort();
        listing.folders.sort();
        Ok(listing)
    }
}

/// What is directly in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Names of files.
    pub files: Vec<String>,
    /// Names of folders.
    pub folders: Vec<String>,
}

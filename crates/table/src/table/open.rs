//! Opening a table by its metadata file or by its location.

use std::sync::Arc;

use drumlin_format::metadata::TableMetadata;

use super::Table;
use super::cache::{CachedMetadata, MetadataKey};
use super::metadata_file::{ENDINGS, is_metadata_file, is_named_for_good, version_of};
use crate::error::{Error, Result};
use crate::storage::Storage;

/// The file that names the newest version in the layout of Hadoop tables.
pub const VERSION_HINT: &str = "version-hint.text";

/// How many versions after the hint are probed one by one before the folder is listed.
const MAX_PROBES: u64 = 64;

/// How a table is opened.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Take the newest of the files `NNNNN-<uuid>.metadata.json` where the location has no version hint and no
    /// `vN.metadata.json`. Such tables belong to a catalog, which alone knows their current file: the guess may show
    /// a commit that never happened.
    pub guess_newest_metadata: bool,
}

impl Table {
    /// Opens the table that a metadata file (`….metadata.json`, `….gz.metadata.json`, `….metadata.json.gz`) states, or
    /// the table at a location in the layout of Hadoop tables, by its version hint.
    pub async fn open(storage: &Storage, location: &str) -> Result<Self> {
        Self::open_with(storage, location, &OpenOptions::default()).await
    }

    /// [`open`](Self::open) with options.
    pub async fn open_with(storage: &Storage, location: &str, options: &OpenOptions) -> Result<Self> {
        let location = location.trim_end_matches('/');
        let metadata_location = if is_metadata_file(location) {
            location.to_string()
        } else {
            newest_metadata(storage, location, options).await?
        };
        let metadata = match is_named_for_good(&metadata_location) {
            true => {
                let key = MetadataKey {
                    generation: storage.generation(),
                    location: metadata_location.clone(),
                };
                let load = read_metadata(storage, &metadata_location);
                storage.metadata_cache().get_or_load(&key, load).await?.0.metadata
            }
            false => read_metadata(storage, &metadata_location).await?.metadata,
        };
        Ok(Self::new(location, storage.clone(), metadata_location, metadata))
    }
}

async fn read_metadata(storage: &Storage, location: &str) -> Result<CachedMetadata> {
    let bytes = storage
        .read(location)
        .await
        .map_err(|e| e.needed_for("it is the metadata file of a table"))?;
    let metadata = TableMetadata::from_bytes(&bytes).map_err(|e| e.in_file(location))?;
    Ok(CachedMetadata {
        metadata: Arc::new(metadata),
        bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
    })
}

/// The metadata file of the newest version: from the hint forward, or by listing where there is no hint.
async fn newest_metadata(storage: &Storage, location: &str, options: &OpenOptions) -> Result<String> {
    let folder = format!("{location}/metadata");
    let hint = match storage.read(&format!("{folder}/{VERSION_HINT}")).await {
        Ok(bytes) => std::str::from_utf8(&bytes)
            .ok()
            .and_then(|t| t.trim().parse::<u64>().ok()),
        Err(Error::NotFound { .. }) => None,
        Err(other) => return Err(other),
    };
    if let Some(hint) = hint
        && let Some(found) = probe_forward(storage, &folder, hint).await?
    {
        return Ok(found);
    }
    // No hint, or one that leads nowhere or far behind: the folder knows all versions.
    let files = storage.list(&folder).await?.files;
    let newest = files.iter().filter_map(|f| Some((version_of(f)?, f))).max();
    if let Some((_, file)) = newest {
        return Ok(format!("{folder}/{file}"));
    }
    let mut catalogued: Vec<&String> = files.iter().filter(|f| is_metadata_file(f)).collect();
    catalogued.sort();
    match catalogued.last() {
        Some(file) if options.guess_newest_metadata => Ok(format!("{folder}/{file}")),
        Some(file) => Err(Error::Catalogued {
            location: location.to_string(),
            files: catalogued.len(),
            newest: format!("{folder}/{file}"),
        }),
        None => Err(Error::NoTable {
            location: location.to_string(),
            reason: format!("the folder {folder} holds no metadata file"),
        }),
    }
}

/// From a version that should be there to the last one that is; `None` if the first is missing or if there are more
/// than are worth probing.
async fn probe_forward(storage: &Storage, folder: &str, hint: u64) -> Result<Option<String>> {
    let mut found = None;
    for version in hint..hint.saturating_add(MAX_PROBES) {
        match file_of_version(storage, folder, version).await? {
            Some(file) => found = Some(file),
            None => return Ok(found),
        }
    }
    Ok(None)
}

async fn file_of_version(storage: &Storage, folder: &str, version: u64) -> Result<Option<String>> {
    // The usual one first.
    for suffix in ENDINGS.iter().rev() {
        let file = format!("{folder}/v{version}.{suffix}");
        if storage.exists(&file).await? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

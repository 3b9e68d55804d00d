//! A commit: create-if-absent of the next version, then a hint.

use std::sync::Arc;

use bytes::Bytes;
use drumlin_format::metadata::{TableMetadata, TableRequirement, TableUpdate};
use drumlin_table::catalog::{CommitError, TableIdent};
use drumlin_table::storage::disk::LOCAL_STORE;
use drumlin_table::table::metadata_file::{ENDINGS, version_of};
use drumlin_table::{Error, Result, Table, VERSION_HINT};
use uuid::Uuid;

use super::ObjectStoreCatalog;
use crate::folder::{self, same_place};
use crate::metadata_file::{Codec, delete_fallen, next_metadata, version_name};

/// The property that puts metadata files elsewhere, where they would not be found.
const METADATA_PATH: &str = "write.metadata.path";

impl ObjectStoreCatalog {
    pub(super) async fn commit_version(
        &self,
        ident: &TableIdent,
        requirements: &[TableRequirement],
        updates: &[TableUpdate],
    ) -> Result<Table, CommitError> {
        let location = self.location_of(ident)?;
        let base = match self.open(&location).await {
            Ok(table) => Some(table.with_name(ident.to_string())),
            Err(Error::NoTable { .. }) if requirements.contains(&TableRequirement::NotExist) => None,
            Err(Error::NoTable { .. }) => {
                return Err(CommitError::Failed(Error::NoSuchTable {
                    table: ident.to_string(),
                }));
            }
            Err(other) => return Err(CommitError::Failed(other)),
        };
        let metadata = next_metadata(base.as_ref(), requirements, updates)?;
        check_place(&metadata, &location)?;
        let base_version = base.as_ref().map(version).transpose()?.unwrap_or(0);
        let next = base_version.checked_add(1).ok_or_else(|| {
            CommitError::Failed(Error::Unsupported(format!(
                "a version after {base_version} of {ident}"
            )))
        })?;
        // The codec is that of the base, so that all who commit to it compete for one name: with each their own, the
        // one that changes the codec and another could both create "the next version". A change shows one version later.
        let codec = Codec::of(base.as_ref().map_or(&metadata, |b| b.metadata().as_ref()))?;
        let folder = format!("{location}/metadata");
        let file = format!("{folder}/{}", version_name(next, codec));
        // Writers that do not do so may have taken the version under another name.
        for ending in ENDINGS.iter().filter(|ending| **ending != codec.ending()) {
            let other = format!("{folder}/v{next}.{ending}");
            if self.storage.exists(&other).await? {
                return Err(CommitError::Conflict(format!("`{other}` is there already")));
            }
        }
        let bytes = codec.encode(marked(metadata.to_json_bytes().map_err(Error::from)?))?;
        self.create_version(&file, bytes.into()).await?;
        let hint = self.settle(base.as_ref(), next, &file).await?;
        if self.write_hint(&folder, next, hint).await
            && let Some(base) = &base
        {
            delete_fallen(&self.storage, base, &metadata, &file).await;
        }
        Ok(Table::new(
            ident.to_string(),
            self.storage.clone(),
            file,
            Arc::new(metadata),
        ))
    }

    /// Creates the file of a version, and finds out what an error means for it.
    ///
    /// The file's name belongs to the first who creates it, forever, and [`marked`] makes its bytes the writer's own. So
    /// whatever came back, even "already exists" (the answer to a repetition inside of the store's client, after
    /// the answer to a first try that succeeded was lost), the file itself says whose it is. Only where it is not there, and
    /// the error does not say that it never will be, does the outcome stay unknown: the request may still be under way.
    async fn create_version(&self, file: &str, bytes: Bytes) -> Result<(), CommitError> {
        let error = match folder::create(&self.storage, file, bytes.clone()).await {
            Ok(()) => return Ok(()),
            Err(error @ Error::Unsupported(_)) => return Err(CommitError::Failed(error)),
            Err(error) => error,
        };
        match self.storage.read(file).await {
            Ok(found) if found == bytes => Ok(()),
            Ok(_) => Err(CommitError::Conflict(format!("another commit has made `{file}`"))),
            Err(Error::NotFound { .. }) if is_taken(&error) => Err(CommitError::Conflict(format!(
                "another commit has made `{file}`, which is gone again"
            ))),
            Err(Error::NotFound { .. }) if is_refusal(&error) => Err(CommitError::Failed(error)),
            _ => Err(CommitError::Unknown {
                metadata_location: Some(file.to_string()),
                source: error,
            }),
        }
    }

    /// Looks whether the version that was just created is one, and reads the hint on the way.
    ///
    /// With delete-after-commit, a writer that slept through several commits may find its version free again: created,
    /// used, fallen off the log and deleted. The base of a version is deleted before the version itself, and the hint is
    /// written before anything is deleted: a base that is there and a hint that is not ahead say that all is well. Otherwise
    /// the folder is listed and the newest version asked. (A table that was dropped and made anew meanwhile, and has come
    /// to the same version, is not told from the old one.)
    async fn settle(
        &self,
        base: Option<&Table>,
        version: u64,
        file: &str,
    ) -> Result<Option<u64>, CommitError> {
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let unknown = |source: Error| CommitError::Unknown {
            metadata_location: Some(file.to_string()),
            source,
        };
        let base_there = async {
            match base {
                Some(base) => self.storage.exists(base.metadata_location()).await,
                None => Ok(true),
            }
        };
        let (base_there, hint) = futures::join!(base_there, self.read_hint(folder));
        let base_there = base_there.map_err(unknown)?;
        if base_there && hint.is_none_or(|hint| hint <= version) {
            return Ok(hint);
        }
        let files = self.storage.list(folder).await.map_err(unknown)?.files;
        let newest = files.iter().filter_map(|f| Some((version_of(f)?, f))).max();
        match newest {
            Some((newest, _)) if newest == version && base_there => Ok(None),
            Some((newest, newest_file)) if newest > version => {
                let newest_file = format!("{folder}/{newest_file}");
                let table = Table::open(&self.storage, &newest_file).await.map_err(unknown)?;
                let mut log = table.metadata().metadata_log().iter();
                match log.any(|entry| same_place(&entry.metadata_file, file)) {
                    true => Ok(Some(newest)),
                    false => Err(unknown(Error::Unsupported(format!(
                        "a commit that took so long that the table came to version {newest} meanwhile, whose log no longer \
                         tells whether version {version} was this commit"
                    )))),
                }
            }
            // Nothing newer, and no base: the table was dropped. What was created would bring back a table without files.
            _ => {
                self.storage.delete(file).await.map_err(unknown)?;
                Err(CommitError::Conflict(
                    "the table was dropped meanwhile".to_string(),
                ))
            }
        }
    }

    async fn read_hint(&self, folder: &str) -> Option<u64> {
        let bytes = self
            .storage
            .read(&format!("{folder}/{VERSION_HINT}"))
            .await
            .ok()?;
        std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
    }

    /// Says which version is the newest, for readers to start at. Whether the hint names at least this version now.
    async fn write_hint(&self, folder: &str, version: u64, hint: Option<u64>) -> bool {
        if hint.is_some_and(|hint| hint >= version) {
            return true;
        }
        let file = format!("{folder}/{VERSION_HINT}");
        let text = version.to_string();
        self.storage.write(&file, text.into()).await.is_ok()
    }
}

/// The version that a table was loaded at.
pub(super) fn version(table: &Table) -> Result<u64> {
    version_of(table.metadata_location()).ok_or_else(|| {
        Error::Unsupported(format!(
            "writing to table `{}` by its folder: its metadata file {} has no version, so that another catalog has its pointer",
            table.name(),
            table.metadata_location()
        ))
    })
}

/// In this layout a table is found by its folder, and its versions in the folder's metadata folder.
fn check_place(metadata: &TableMetadata, location: &str) -> Result<()> {
    if !same_place(metadata.location(), location) {
        return Err(Error::Unsupported(format!(
            "a location of its own for a table of a warehouse folder: it has to be {location}, not {}",
            metadata.location()
        )));
    }
    match metadata.property(METADATA_PATH) {
        None => Ok(()),
        Some(path) => Err(Error::Unsupported(format!(
            "the table property {METADATA_PATH} (`{path}`) for a table of a warehouse folder, whose versions are found there"
        ))),
    }
}

/// The text with a line of white space after it that no other writer's has: 128 random bits, as spaces and tabs. Two
/// commits that change the same in the same millisecond would else be equal byte by byte, and both be taken for the one that
/// created the file; a counter in a property would be raised once for two.
fn marked(mut json: Vec<u8>) -> Vec<u8> {
    let mark = Uuid::new_v4().as_u128();
    json.push(b'\n');
    json.extend((0..u128::BITS).map(|bit| if mark >> bit & 1 == 1 { b'\t' } else { b' ' }));
    json
}

fn is_taken(error: &Error) -> bool {
    matches!(error, Error::Store { source, .. } if matches!(**source, object_store::Error::AlreadyExists { .. }))
}

/// Whether an error says that the request was refused, and thus will not be carried out later either.
fn is_refusal(error: &Error) -> bool {
    use object_store::Error as Store;
    match error {
        // There is no such bucket, or the location names no object.
        Error::NotFound { .. } | Error::Location { .. } => true,
        Error::Store { source, .. } => match &**source {
            Store::PermissionDenied { .. }
            | Store::Unauthenticated { .. }
            | Store::NotFound { .. }
            | Store::InvalidPath { .. }
            | Store::UnknownConfigurationKey { .. } => true,
            // A disk answers when all is done: a full or read-only one, for example.
            Store::Generic { store, .. } => *store == LOCAL_STORE,
            _ => false,
        },
        _ => false,
    }
}

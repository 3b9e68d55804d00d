//! A commit: a metadata file that nobody knows, then one statement that makes it the current one.

use std::sync::Arc;

use bytes::Bytes;
use drumlin_format::metadata::{TableMetadata, TableRequirement, TableUpdate};
use drumlin_table::catalog::{CommitError, TableIdent};
use drumlin_table::{Error, Result, Table};

use super::database::Failure;
use super::{MAX_NAME, MAX_VALUE, SqlCatalog, before, check_length, missing, stored};
use crate::folder;
use crate::metadata_file::{Codec, delete_fallen, next_metadata, numbered_name};
use crate::must_be_there;

impl SqlCatalog {
    pub(super) async fn commit_pointer(
        &self,
        ident: &TableIdent,
        requirements: &[TableRequirement],
        updates: &[TableUpdate],
    ) -> Result<Table, CommitError> {
        let base = self.find(ident).await.map_err(before)?;
        if base.is_none() {
            if !requirements.contains(&TableRequirement::NotExist) {
                return Err(CommitError::Failed(missing(ident)));
            }
            check_length(&ident.name, MAX_NAME).map_err(before)?;
            if self.strict {
                must_be_there(self, &ident.namespace).await.map_err(before)?;
            }
        }
        let metadata = next_metadata(base.as_ref(), requirements, updates)?;
        let codec = Codec::of(&metadata)?;
        let bytes = codec.encode(metadata.to_json_bytes().map_err(Error::from)?)?;
        let next = Table::new(ident.to_string(), self.storage.clone(), "", Arc::new(metadata));
        let name = numbered_name(base.as_ref().map(Table::metadata_location), codec);
        let file = format!("{}/{name}", next.metadata_folder());
        check_length(&file, MAX_VALUE).map_err(before)?;
        if let Err(error) = self.write(&file, bytes.into()).await {
            self.discard(&file).await;
            return Err(CommitError::Failed(error));
        }
        let metadata = Arc::clone(next.metadata());
        match self.swap(ident, base.as_ref(), &file).await {
            Ok(1) => {}
            Ok(_) => {
                self.discard(&file).await;
                return Err(CommitError::Conflict(
                    "another commit has moved or dropped the table".to_string(),
                ));
            }
            Err(Failure::Taken) => {
                self.discard(&file).await;
                return Err(CommitError::Conflict(format!("`{ident}` was made meanwhile")));
            }
            Err(Failure::Busy(reason)) => {
                self.discard(&file).await;
                return Err(CommitError::Conflict(format!("{}: {reason}", self.place)));
            }
            Err(failure @ Failure::Refused(_)) => {
                self.discard(&file).await;
                return Err(CommitError::Failed(self.failed("committing", failure)));
            }
            Err(failure @ Failure::Lost(_)) => {
                let failure = self.failed("committing", failure);
                self.find_out(ident, base.as_ref(), &metadata, &file, failure)
                    .await?;
            }
        }
        if let Some(base) = &base {
            delete_fallen(&self.storage, base, &metadata, &file).await;
        }
        Ok(Table::new(
            ident.to_string(),
            self.storage.clone(),
            file,
            metadata,
        ))
    }

    /// The one statement. It changes one row or none.
    pub(super) async fn swap(
        &self,
        ident: &TableIdent,
        base: Option<&Table>,
        file: &str,
    ) -> Result<u64, Failure> {
        let namespace = stored(&ident.namespace).map_err(|e| Failure::Refused(e.to_string()))?;
        let Some(base) = base else {
            let (column, value) = match self.typed {
                true => (", iceberg_type", ", 'TABLE'"),
                false => ("", ""),
            };
            let sql = format!(
                "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, \
                 previous_metadata_location{column}) VALUES ($1, $2, $3, $4, NULL{value})"
            );
            let arguments = [self.name.as_str(), &namespace, &ident.name, file];
            return self.database.execute(&sql, &arguments).await;
        };
        let sql = format!(
            "UPDATE iceberg_tables SET metadata_location = $1, previous_metadata_location = $2 \
             WHERE catalog_name = $3 AND table_namespace = $4 AND table_name = $5 AND metadata_location = $2{}",
            self.tables_only()
        );
        let arguments = [
            file,
            base.metadata_location(),
            &self.name,
            &namespace,
            &ident.name,
        ];
        self.database.execute(&sql, &arguments).await
    }

    /// After an answer that did not arrive: the row may say what happened.
    ///
    /// The file's name is nobody else's: if the row or the log behind it names the file, the commit happened. The statement
    /// names the base: if the row names something else that has the base, but not the file, in its log, it did not happen and
    /// never will. While the row names the base, the statement may be under way.
    async fn find_out(
        &self,
        ident: &TableIdent,
        base: Option<&Table>,
        metadata: &TableMetadata,
        file: &str,
        error: Error,
    ) -> Result<(), CommitError> {
        let unknown = |source| CommitError::Unknown {
            metadata_location: Some(file.to_string()),
            source,
        };
        let Ok(Some(now)) = self.find(ident).await else {
            return Err(unknown(error));
        };
        let names = |file: &str| {
            let mut log = now.metadata().metadata_log().iter();
            now.metadata_location() == file || log.any(|entry| entry.metadata_file == file)
        };
        if names(file) {
            return Ok(());
        }
        let lost = match base {
            Some(base) => {
                base.metadata_location() != now.metadata_location() && names(base.metadata_location())
            }
            None => now.metadata().table_uuid() != metadata.table_uuid(),
        };
        match lost {
            true => {
                self.discard(file).await;
                Err(CommitError::Conflict("another commit was first".to_string()))
            }
            false => Err(unknown(error)),
        }
    }

    /// Writes a file under a name that nobody else has. On a local disk it is there for good before the row names it.
    async fn write(&self, file: &str, bytes: Bytes) -> Result<()> {
        match self.storage.on_disk(file)? {
            Some(_) => folder::create(&self.storage, file, bytes).await,
            None => self.storage.write(file, bytes).await,
        }
    }

    /// Deletes an own metadata file that is certainly not, and will not become, the current one. A leftover does no harm.
    async fn discard(&self, file: &str) {
        let _ = self.storage.delete(file).await;
    }
}

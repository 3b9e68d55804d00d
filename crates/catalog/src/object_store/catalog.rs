//! The contract of catalogs, fulfilled by folders.

use std::collections::BTreeMap;

use async_trait::async_trait;
use drumlin_format::metadata::{TableRequirement, TableUpdate};
use drumlin_table::catalog::{
    Catalog, CommitError, Namespace, Page, PageRequest, StagedTable, TableCreation, TableIdent,
};
use drumlin_table::storage::Storage;
use drumlin_table::{Error, Result, Table};

use super::ObjectStoreCatalog;
use super::namespace::{MARKER, check_name};
use crate::folder::same_place;
use crate::must_be_there;

impl ObjectStoreCatalog {
    /// The folder of a table.
    pub(super) fn location_of(&self, table: &TableIdent) -> Result<String> {
        check_name(&table.name)?;
        Ok(format!("{}/{}", self.folder_of(&table.namespace)?, table.name))
    }

    /// Refuses the folder of a namespace in use as that of a table: what is in the namespace would no longer be found.
    /// Folders `data` and `metadata` alone are what a table that was given up leaves behind.
    async fn refuse_namespace_in_use(&self, location: &str) -> Result<()> {
        let listing = self.storage.list(location).await?;
        let in_use = listing.files.iter().any(|file| file == MARKER)
            || listing.folders.iter().any(|f| f != "data" && f != "metadata");
        match in_use {
            false => Ok(()),
            true => Err(Error::Unsupported(format!(
                "a table in the folder of a schema: {location}"
            ))),
        }
    }
}

#[async_trait]
impl Catalog for ObjectStoreCatalog {
    fn storage(&self) -> &Storage {
        &self.storage
    }

    async fn list_namespaces(&self, parent: &Namespace, page: &PageRequest) -> Result<Page<Namespace>> {
        must_be_there(self, parent).await?;
        let children = self.children(parent).await?;
        Ok(Page::cut(
            children,
            |child| child.levels().last().map_or("", String::as_str),
            page,
        ))
    }

    async fn create_namespace(
        &self,
        namespace: &Namespace,
        properties: &BTreeMap<String, String>,
    ) -> Result<()> {
        refuse_properties(properties.keys().next())?;
        self.make_namespace(namespace).await
    }

    async fn namespace_properties(&self, namespace: &Namespace) -> Result<BTreeMap<String, String>> {
        must_be_there(self, namespace).await?;
        Ok(BTreeMap::new())
    }

    async fn update_namespace_properties(
        &self,
        namespace: &Namespace,
        removals: &[String],
        updates: &BTreeMap<String, String>,
    ) -> Result<()> {
        must_be_there(self, namespace).await?;
        refuse_properties(removals.iter().chain(updates.keys()).next())
    }

    async fn drop_namespace(&self, namespace: &Namespace) -> Result<()> {
        self.remove_namespace(namespace).await
    }

    async fn list_tables(&self, namespace: &Namespace, page: &PageRequest) -> Result<Page<TableIdent>> {
        must_be_there(self, namespace).await?;
        let names = self.list(namespace).await?.tables;
        let tables = names
            .into_iter()
            .filter_map(|name| TableIdent::new(namespace.clone(), name).ok());
        Ok(Page::cut(tables, |table| table.name.as_str(), page))
    }

    async fn load_table(&self, table: &TableIdent) -> Result<Table> {
        let missing = || Error::NoSuchTable {
            table: table.to_string(),
        };
        let location = self.location_of(table).map_err(|_| missing())?;
        match self.open(&location).await {
            Ok(opened) => Ok(opened.with_name(table.to_string())),
            Err(Error::NoTable { .. }) => Err(missing()),
            Err(other) => Err(other),
        }
    }

    async fn table_exists(&self, table: &TableIdent) -> Result<bool> {
        match self.location_of(table) {
            Ok(location) => self.is_table(&location).await,
            Err(_) => Ok(false),
        }
    }

    async fn namespace_exists(&self, namespace: &Namespace) -> Result<bool> {
        self.is_namespace(namespace).await
    }

    async fn default_location(&self, table: &TableIdent) -> Result<String> {
        self.location_of(table)
    }

    async fn stage_table(&self, table: &TableIdent, creation: TableCreation) -> Result<StagedTable> {
        let location = self.location_of(table)?;
        if let Some(other) = &creation.location
            && !same_place(other, &location)
        {
            return Err(Error::Unsupported(format!(
                "a location of its own for a table of a warehouse folder: it has to be {location}, not {other}"
            )));
        }
        if self.is_table(&location).await? {
            return Err(Error::TableExists {
                table: table.to_string(),
            });
        }
        must_be_there(self, &table.namespace).await?;
        self.refuse_namespace_in_use(&location).await?;
        StagedTable::new(table.clone(), location, creation)
    }

    /// The folder goes, so that it is the same with `purge` and without.
    async fn drop_table(&self, table: &TableIdent, _purge: bool) -> Result<()> {
        self.drop_folder(table).await
    }

    async fn rename_table(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        Err(Error::Unsupported(format!(
            "renaming table `{from}` to `{to}`: in a warehouse folder, the name of a table is its folder"
        )))
    }

    async fn register_table(&self, table: &TableIdent, metadata_location: &str) -> Result<Table> {
        Err(Error::Unsupported(format!(
            "registering {metadata_location} as table `{table}`: in a warehouse folder, tables are found by their folders"
        )))
    }

    async fn commit(
        &self,
        table: &TableIdent,
        requirements: &[TableRequirement],
        updates: &[TableUpdate],
    ) -> Result<Table, CommitError> {
        self.commit_version(table, requirements, updates).await
    }
}

fn refuse_properties(key: Option<&String>) -> Result<()> {
    match key {
        None => Ok(()),
        Some(key) => Err(Error::Unsupported(format!(
            "the schema property `{key}`: a warehouse folder keeps no properties of schemas"
        ))),
    }
}

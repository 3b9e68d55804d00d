//! The contract of catalogs, fulfilled by a database.

use std::collections::BTreeMap;

use async_trait::async_trait;
use drumlin_format::metadata::{TableRequirement, TableUpdate};
use drumlin_table::catalog::{Catalog, CommitError, Namespace, Page, PageRequest, TableIdent};
use drumlin_table::storage::Storage;
use drumlin_table::{Error, Result, Table};

use super::database::Failure;
use super::{MAX_NAME, MAX_VALUE, SqlCatalog, check_length, missing, stored};
use crate::metadata_file::{GC_ENABLED, is_true};
use crate::must_be_there;
use crate::purge::purge;

impl SqlCatalog {
    fn exists(&self, table: &TableIdent) -> Error {
        Error::TableExists {
            table: table.to_string(),
        }
    }

    /// Deletes the row of a table, with a condition on the metadata file that it names. Whether there was one.
    async fn delete_row(&self, table: &TableIdent, at: Option<&str>) -> Result<bool> {
        let namespace = stored(&table.namespace).map_err(|_| missing(table))?;
        let mut arguments = vec![self.name.as_str(), &namespace, &table.name];
        let condition = match at {
            Some(location) => {
                arguments.push(location);
                " AND metadata_location = $4"
            }
            None => "",
        };
        let sql = format!(
            "DELETE FROM iceberg_tables WHERE catalog_name = $1 AND table_namespace = $2 AND table_name = $3{condition}{}",
            self.tables_only()
        );
        let deleted = self.database.execute(&sql, &arguments).await;
        let deleted =
            deleted.map_err(|failure| self.failed(&format!("dropping table `{table}`"), failure))?;
        Ok(deleted > 0)
    }

    async fn drop_and_purge(&self, table: &TableIdent) -> Result<()> {
        // What is purged has to be the last state: a commit in between makes the row another one.
        loop {
            let found = self.find(table).await?.ok_or_else(|| missing(table))?;
            if !is_true(found.metadata(), GC_ENABLED, true) {
                return Err(Error::Unsupported(format!(
                    "purging table `{table}`, whose property {GC_ENABLED} is false: other tables may use its files"
                )));
            }
            if self.delete_row(table, Some(found.metadata_location())).await? {
                return purge(&found).await.map_err(|error| Error::Catalog {
                    catalog: self.place.clone(),
                    reason: format!(
                        "table `{table}` is dropped, but not all of its files are deleted: {error}"
                    ),
                });
            }
        }
    }
}

#[async_trait]
impl Catalog for SqlCatalog {
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
        self.make_namespace(namespace, properties).await
    }

    async fn namespace_properties(&self, namespace: &Namespace) -> Result<BTreeMap<String, String>> {
        self.properties_of(namespace).await
    }

    async fn update_namespace_properties(
        &self,
        namespace: &Namespace,
        removals: &[String],
        updates: &BTreeMap<String, String>,
    ) -> Result<()> {
        self.change_properties(namespace, removals, updates).await
    }

    async fn drop_namespace(&self, namespace: &Namespace) -> Result<()> {
        self.remove_namespace(namespace).await
    }

    async fn list_tables(&self, namespace: &Namespace, page: &PageRequest) -> Result<Page<TableIdent>> {
        must_be_there(self, namespace).await?;
        let sql = format!(
            "SELECT table_name FROM iceberg_tables WHERE catalog_name = $1 AND table_namespace = $2{}",
            self.tables_only()
        );
        let rows = self.database.rows(&sql, &[&self.name, &stored(namespace)?]).await;
        let rows = rows.map_err(|failure| self.failed(&format!("listing schema `{namespace}`"), failure))?;
        let mut names: Vec<String> = rows.into_iter().flatten().flatten().collect();
        // Not by the database, whose order depends on its locale.
        names.sort();
        let tables = names
            .into_iter()
            .filter_map(|name| TableIdent::new(namespace.clone(), name).ok());
        Ok(Page::cut(tables, |table| table.name.as_str(), page))
    }

    async fn load_table(&self, table: &TableIdent) -> Result<Table> {
        self.find(table).await?.ok_or_else(|| missing(table))
    }

    async fn table_exists(&self, table: &TableIdent) -> Result<bool> {
        Ok(self.pointer(table).await?.is_some())
    }

    async fn namespace_exists(&self, namespace: &Namespace) -> Result<bool> {
        self.is_namespace(namespace).await
    }

    async fn default_location(&self, table: &TableIdent) -> Result<String> {
        check_length(&table.name, MAX_NAME)?;
        self.location_for(table).await
    }

    async fn drop_table(&self, table: &TableIdent, purge: bool) -> Result<()> {
        if purge {
            return self.drop_and_purge(table).await;
        }
        match self.delete_row(table, None).await? {
            true => Ok(()),
            false => Err(missing(table)),
        }
    }

    async fn rename_table(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        if !self.table_exists(from).await? {
            return Err(missing(from));
        }
        must_be_there(self, &to.namespace).await?;
        check_length(&to.name, MAX_NAME)?;
        let sql = format!(
            "UPDATE iceberg_tables SET table_namespace = $1, table_name = $2 \
             WHERE catalog_name = $3 AND table_namespace = $4 AND table_name = $5{}",
            self.tables_only()
        );
        let (new, old) = (stored(&to.namespace)?, stored(&from.namespace)?);
        let arguments = [new.as_str(), &to.name, &self.name, &old, &from.name];
        match self.database.execute(&sql, &arguments).await {
            Ok(0) => Err(missing(from)),
            Ok(_) => Ok(()),
            Err(Failure::Taken) => Err(self.exists(to)),
            Err(other) => Err(self.failed(&format!("renaming table `{from}`"), other)),
        }
    }

    async fn register_table(&self, table: &TableIdent, metadata_location: &str) -> Result<Table> {
        must_be_there(self, &table.namespace).await?;
        check_length(&table.name, MAX_NAME)?;
        check_length(metadata_location, MAX_VALUE)?;
        if self.table_exists(table).await? {
            return Err(self.exists(table));
        }
        let opened = Table::open(&self.storage, metadata_location).await?;
        match self.swap(table, None, opened.metadata_location()).await {
            Ok(_) => Ok(opened.with_name(table.to_string())),
            Err(Failure::Taken) => Err(self.exists(table)),
            Err(failure @ Failure::Lost(_)) => Err(Error::CommitUnknown {
                table: table.to_string(),
                source: Box::new(self.failed("registering", failure)),
            }),
            Err(other) => Err(self.failed(&format!("registering table `{table}`"), other)),
        }
    }

    async fn commit(
        &self,
        table: &TableIdent,
        requirements: &[TableRequirement],
        updates: &[TableUpdate],
    ) -> Result<Table, CommitError> {
        self.commit_pointer(table, requirements, updates).await
    }
}

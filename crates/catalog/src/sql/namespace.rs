//! Namespaces: rows of properties, and whatever holds tables.

use std::collections::{BTreeMap, BTreeSet};

use drumlin_table::catalog::{Namespace, TableIdent};
use drumlin_table::{Error, Result};

use super::database::{Failure, Statement};
use super::{MAX_NAME, MAX_VALUE, SqlCatalog, check_length, stored};
use crate::must_be_there;

/// The property that keeps a namespace without others. It is not shown.
const EXISTS: &str = "exists";

/// The property of a namespace that says where its tables go.
const LOCATION: &str = "location";

const SET: &str = "INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value) \
    VALUES ($1, $2, $3, $4) \
    ON CONFLICT (catalog_name, namespace, property_key) DO UPDATE SET property_value = excluded.property_value";

const ADD: &str = "INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value) \
    VALUES ($1, $2, $3, $4)";

const REMOVE: &str = "DELETE FROM iceberg_namespace_properties \
    WHERE catalog_name = $1 AND namespace = $2 AND property_key = $3";

/// The pattern of what is inside of a namespace; `!` escapes.
fn pattern(namespace: &str) -> String {
    let mut pattern = String::with_capacity(namespace.len() + 2);
    for c in namespace.chars() {
        if matches!(c, '_' | '%' | '!') {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern.push_str(".%");
    pattern
}

impl SqlCatalog {
    /// The namespaces that are named by rows and are this one or inside of it, by their levels.
    async fn named(&self, parent: &Namespace) -> Result<BTreeSet<Vec<String>>> {
        let joined = stored(parent)?;
        let pattern = match parent.is_root() {
            true => "%".to_string(),
            false => pattern(&joined),
        };
        let sql = "SELECT DISTINCT table_namespace FROM iceberg_tables \
             WHERE catalog_name = $1 AND (table_namespace = $2 OR table_namespace LIKE $3 ESCAPE '!') \
             UNION SELECT DISTINCT namespace FROM iceberg_namespace_properties \
             WHERE catalog_name = $1 AND (namespace = $2 OR namespace LIKE $3 ESCAPE '!')";
        let rows = self.database.rows(sql, &[&self.name, &joined, &pattern]).await;
        let rows = rows.map_err(|failure| self.failed("listing schemas", failure))?;
        let names = rows.into_iter().flatten().flatten();
        let levels = names.map(|name| name.split('.').map(str::to_string).collect::<Vec<_>>());
        // LIKE takes letters of both cases for one in SQLite.
        Ok(levels
            .filter(|levels| levels.starts_with(parent.levels()))
            .filter(|levels| levels.iter().all(|level| !level.is_empty()))
            .collect())
    }

    pub(super) async fn is_namespace(&self, namespace: &Namespace) -> Result<bool> {
        if namespace.is_root() {
            return Ok(true);
        }
        match stored(namespace) {
            Ok(_) => Ok(!self.named(namespace).await?.is_empty()),
            Err(_) => Ok(false),
        }
    }

    pub(super) async fn children(&self, parent: &Namespace) -> Result<Vec<Namespace>> {
        let depth = parent.levels().len();
        let named = self.named(parent).await?;
        let children: BTreeSet<&String> = named.iter().filter_map(|levels| levels.get(depth)).collect();
        Ok(children
            .into_iter()
            .filter_map(|name| parent.child(name).ok())
            .collect())
    }

    pub(super) async fn make_namespace(
        &self,
        namespace: &Namespace,
        properties: &BTreeMap<String, String>,
    ) -> Result<()> {
        let joined = stored(namespace)?;
        check_properties(properties)?;
        let exists = || Error::NamespaceExists {
            namespace: namespace.to_string(),
        };
        if self.is_namespace(namespace).await? {
            return Err(exists());
        }
        let mut statements: Vec<Statement<'_>> =
            vec![(ADD.to_string(), vec![&self.name, &joined, EXISTS, "true"])];
        for (key, value) in properties {
            statements.push((ADD.to_string(), vec![&self.name, &joined, key, value]));
        }
        match self.database.execute_all(&statements).await {
            Ok(()) => Ok(()),
            Err(Failure::Taken) => Err(exists()),
            Err(other) => Err(self.failed(&format!("creating schema `{namespace}`"), other)),
        }
    }

    pub(super) async fn properties_of(&self, namespace: &Namespace) -> Result<BTreeMap<String, String>> {
        must_be_there(self, namespace).await?;
        let sql = "SELECT property_key, property_value FROM iceberg_namespace_properties \
             WHERE catalog_name = $1 AND namespace = $2";
        let rows = self.database.rows(sql, &[&self.name, &stored(namespace)?]).await;
        let rows = rows.map_err(|failure| self.failed(&format!("reading schema `{namespace}`"), failure))?;
        let mut properties = BTreeMap::new();
        for row in rows {
            if let [Some(key), Some(value)] = row.as_slice()
                && key != EXISTS
            {
                properties.insert(key.clone(), value.clone());
            }
        }
        Ok(properties)
    }

    pub(super) async fn change_properties(
        &self,
        namespace: &Namespace,
        removals: &[String],
        updates: &BTreeMap<String, String>,
    ) -> Result<()> {
        must_be_there(self, namespace).await?;
        check_properties(updates)?;
        let joined = stored(namespace)?;
        // Other writers keep a namespace by any property: this one has to stay when that goes.
        let mut statements: Vec<Statement<'_>> =
            vec![(SET.to_string(), vec![&self.name, &joined, EXISTS, "true"])];
        for key in removals.iter().filter(|key| *key != EXISTS) {
            statements.push((REMOVE.to_string(), vec![&self.name, &joined, key]));
        }
        for (key, value) in updates {
            statements.push((SET.to_string(), vec![&self.name, &joined, key, value]));
        }
        let done = self.database.execute_all(&statements).await;
        done.map_err(|failure| self.failed(&format!("changing schema `{namespace}`"), failure))
    }

    pub(super) async fn remove_namespace(&self, namespace: &Namespace) -> Result<()> {
        let missing = || Error::NoSuchNamespace {
            namespace: namespace.to_string(),
        };
        if namespace.is_root() {
            return Err(missing());
        }
        must_be_there(self, namespace).await?;
        let joined = stored(namespace)?;
        let sql = "SELECT table_name FROM iceberg_tables WHERE catalog_name = $1 AND table_namespace = $2";
        let held = self.database.rows(sql, &[&self.name, &joined]).await;
        let held = held.map_err(|failure| self.failed(&format!("reading schema `{namespace}`"), failure))?;
        if !held.is_empty() || !self.children(namespace).await?.is_empty() {
            return Err(Error::NamespaceNotEmpty {
                namespace: namespace.to_string(),
            });
        }
        // A table that was made since is not lost: it keeps the namespace.
        let sql = "DELETE FROM iceberg_namespace_properties WHERE catalog_name = $1 AND namespace = $2";
        match self.database.execute(sql, &[&self.name, &joined]).await {
            Ok(0) => Err(missing()),
            Ok(_) => Ok(()),
            Err(failure) => Err(self.failed(&format!("dropping schema `{namespace}`"), failure)),
        }
    }

    /// Where a table goes: to its name in the folder of its namespace.
    pub(super) async fn location_for(&self, table: &TableIdent) -> Result<String> {
        let joined = stored(&table.namespace)?;
        let names = table.namespace.levels().iter().chain([&table.name]);
        for name in names {
            if name.contains('/') || name == "." || name == ".." {
                return Err(Error::Name {
                    name: name.clone(),
                    reason: "it cannot be the name of a folder; give the table a location".to_string(),
                });
            }
        }
        let sql = "SELECT property_value FROM iceberg_namespace_properties \
             WHERE catalog_name = $1 AND namespace = $2 AND property_key = $3";
        let rows = self.database.rows(sql, &[&self.name, &joined, LOCATION]).await;
        let rows =
            rows.map_err(|failure| self.failed(&format!("reading schema `{}`", table.namespace), failure))?;
        let mut folder = match rows.into_iter().flatten().flatten().next() {
            Some(location) => location.trim_end_matches('/').to_string(),
            None => {
                let mut folder = self.warehouse.clone();
                for level in table.namespace.levels() {
                    folder.push('/');
                    folder.push_str(level);
                }
                folder
            }
        };
        folder.push('/');
        folder.push_str(&table.name);
        Ok(folder)
    }
}

fn check_properties(properties: &BTreeMap<String, String>) -> Result<()> {
    for (key, value) in properties {
        if key == EXISTS {
            return Err(Error::Unsupported(format!(
                "the schema property `{EXISTS}`: it is how a database keeps schemas without properties"
            )));
        }
        check_length(key, MAX_NAME)?;
        if value.chars().count() > MAX_VALUE {
            return Err(Error::Property {
                key: key.clone(),
                value: value.clone(),
                expected: format!("{MAX_VALUE} characters at most"),
            });
        }
    }
    Ok(())
}

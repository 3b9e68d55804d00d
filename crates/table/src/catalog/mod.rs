//! Where tables are found, and where their pointers move.
//!
//! A [`Catalog`] maps names to metadata files, the pointers, and swaps one such pointer at a time: a commit is that swap
//! and nothing else, so that readers see the old table or the new one and never less. Catalogs themselves are in
//! `drumlin-catalog`; what is here is the contract, and `new_table`, which is the same for all of them.

mod name;
mod new_table;

use std::collections::BTreeMap;
use std::fmt::Debug;

use async_trait::async_trait;
use drumlin_format::metadata::{TableRequirement, TableUpdate};

pub use name::{Namespace, TableIdent};
pub(crate) use new_table::replacement;
pub use new_table::{StagedTable, TableCreation};

use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::table::Table;

/// Namespaces and tables, and the one conditional write that a commit is.
///
/// Catalogs keep nothing between calls that could be stale: what a call answers was so during the call.
#[async_trait]
pub trait Catalog: Debug + Send + Sync {
    /// Where the files of its tables are read and written.
    fn storage(&self) -> &Storage;

    /// The namespaces directly inside of `parent`, in order of their names.
    ///
    /// # Errors
    /// [`Error::NoSuchNamespace`] where `parent` is not there; the root always is.
    async fn list_namespaces(&self, parent: &Namespace, page: &PageRequest) -> Result<Page<Namespace>>;

    /// Makes a namespace. Its parents need not be there.
    ///
    /// # Errors
    /// [`Error::NamespaceExists`]; [`Error::Unsupported`] for properties where the catalog has no place for them.
    async fn create_namespace(
        &self,
        namespace: &Namespace,
        properties: &BTreeMap<String, String>,
    ) -> Result<()>;

    /// The properties of a namespace; empty where the catalog keeps none.
    ///
    /// # Errors
    /// [`Error::NoSuchNamespace`].
    async fn namespace_properties(&self, namespace: &Namespace) -> Result<BTreeMap<String, String>>;

    /// Removes and sets properties of a namespace. A key that is not there may be removed.
    ///
    /// # Errors
    /// [`Error::NoSuchNamespace`]; [`Error::Unsupported`] where the catalog has no place for properties.
    async fn update_namespace_properties(
        &self,
        namespace: &Namespace,
        removals: &[String],
        updates: &BTreeMap<String, String>,
    ) -> Result<()>;

    /// Removes a namespace that holds nothing.
    ///
    /// # Errors
    /// [`Error::NoSuchNamespace`], [`Error::NamespaceNotEmpty`].
    async fn drop_namespace(&self, namespace: &Namespace) -> Result<()>;

    /// The tables directly inside of a namespace, in order of their names. Views are not among them.
    ///
    /// # Errors
    /// [`Error::NoSuchNamespace`].
    async fn list_tables(&self, namespace: &Namespace, page: &PageRequest) -> Result<Page<TableIdent>>;

    /// Loads a table as its pointer says now, under the name `table.to_string()`.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], also for a view of this name.
    async fn load_table(&self, table: &TableIdent) -> Result<Table>;

    /// Whether there is a table of this name. Its metadata need not be readable.
    async fn table_exists(&self, table: &TableIdent) -> Result<bool>;

    /// Whether there is a namespace.
    async fn namespace_exists(&self, namespace: &Namespace) -> Result<bool> {
        match self.namespace_properties(namespace).await {
            Ok(_) => Ok(true),
            Err(Error::NoSuchNamespace { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Where a table of this name goes when nothing else is said.
    ///
    /// # Errors
    /// [`Error::Name`] for a name that the catalog cannot have.
    async fn default_location(&self, table: &TableIdent) -> Result<String>;

    /// Works out a table that is not there yet: nothing is written. Data files may be written to its location before
    /// [`commit`](Self::commit) makes it with [`StagedTable::requirements`] and [`StagedTable::updates`].
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::NoSuchNamespace`]; [`Error::Format`] for a schema, spec, order or property
    /// that the format does not allow.
    async fn stage_table(&self, table: &TableIdent, creation: TableCreation) -> Result<StagedTable> {
        if self.table_exists(table).await? {
            return Err(Error::TableExists {
                table: table.to_string(),
            });
        }
        if !table.namespace.is_root() && !self.namespace_exists(&table.namespace).await? {
            return Err(Error::NoSuchNamespace {
                namespace: table.namespace.to_string(),
            });
        }
        let location = match &creation.location {
            Some(location) => location.trim_end_matches('/').to_string(),
            None => self.default_location(table).await?,
        };
        StagedTable::new(table.clone(), location, creation)
    }

    /// Makes a table without snapshots.
    ///
    /// # Errors
    /// As [`stage_table`](Self::stage_table) and [`commit`](Self::commit).
    async fn create_table(&self, table: &TableIdent, creation: TableCreation) -> Result<Table> {
        let staged = self.stage_table(table, creation).await?;
        match self.commit(table, &staged.requirements(), staged.updates()).await {
            Ok(table) => Ok(table),
            // Nothing but the same name can be in the way of a new table.
            Err(CommitError::Conflict(_)) => Err(Error::TableExists {
                table: table.to_string(),
            }),
            Err(CommitError::Failed(error)) => Err(error),
            Err(CommitError::Unknown { source, .. }) => Err(Error::CommitUnknown {
                table: table.to_string(),
                source: Box::new(source),
            }),
        }
    }

    /// Takes the table out of the catalog. Its files stay where they are, unless the catalog *is* the folder of the
    /// table, and are deleted with `purge`.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; [`Error::Unsupported`] for `purge` where the table's property `gc.enabled` is false.
    async fn drop_table(&self, table: &TableIdent, purge: bool) -> Result<()>;

    /// Gives a table another name, perhaps in another namespace. Its files stay where they are.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], [`Error::TableExists`], [`Error::NoSuchNamespace`]; [`Error::Unsupported`] where the name is the
    /// folder.
    async fn rename_table(&self, from: &TableIdent, to: &TableIdent) -> Result<()>;

    /// Takes in a table by its metadata file. No other catalog may hold it for writing.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::NoSuchNamespace`], [`Error::NotFound`] for the file; [`Error::Unsupported`] where
    /// the catalog finds its tables by folder.
    async fn register_table(&self, table: &TableIdent, metadata_location: &str) -> Result<Table>;

    /// Applies the updates to the table's metadata, if that fulfils the requirements, in one conditional write.
    /// [`TableRequirement::NotExist`] makes the table. The answer is the table after the commit.
    async fn commit(
        &self,
        table: &TableIdent,
        requirements: &[TableRequirement],
        updates: &[TableUpdate],
    ) -> Result<Table, CommitError>;
}

/// Why a commit is not known to have happened.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// It did not happen: another commit was first, or the table does not fulfil the requirements. Worked out anew on
    /// the table as it is now, it may succeed.
    #[error("another commit was first: {0}")]
    Conflict(String),
    /// It did not happen, and would not if it was tried again.
    #[error(transparent)]
    Failed(Error),
    /// Whether it happened is not known: the answer did not arrive. Nothing that it names may be deleted.
    #[error("it is not known whether the commit happened: {source}")]
    Unknown {
        /// The metadata file that the pointer names if it did happen, where the catalog knows it: the table's metadata,
        /// or its log, then names it.
        metadata_location: Option<String>,
        /// What came in place of an answer.
        source: Error,
    },
}

impl From<Error> for CommitError {
    fn from(error: Error) -> Self {
        match error {
            Error::Format(drumlin_format::Error::RequirementFailed(reason)) => Self::Conflict(reason),
            other => Self::Failed(other),
        }
    }
}

/// Which part of a list is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// [`Page::next`] of the page before; `None` is the first one.
    pub after: Option<String>,
    /// How many names at most; catalogs may give fewer. `None` leaves it to the catalog.
    pub size: Option<usize>,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The names.
    pub items: Vec<T>,
    /// What [`PageRequest::after`] has to be for the next page; `None` after the last.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Cuts a page out of the whole list, which is in order of `key`: for catalogs whose stores know no pages.
    pub fn cut(all: impl IntoIterator<Item = T>, key: impl Fn(&T) -> &str, page: &PageRequest) -> Self {
        let mut rest = all
            .into_iter()
            .skip_while(|item| page.after.as_deref().is_some_and(|after| key(item) <= after));
        let size = page.size.unwrap_or(usize::MAX).max(1);
        let items: Vec<T> = rest.by_ref().take(size).collect();
        let next = match rest.next() {
            Some(_) => items.last().map(|item| key(item).to_string()),
            None => None,
        };
        Self { items, next }
    }
}

/// All tables of a namespace, page by page.
///
/// # Errors
/// As [`Catalog::list_tables`].
pub async fn all_tables(catalog: &dyn Catalog, namespace: &Namespace) -> Result<Vec<TableIdent>> {
    let mut all = Vec::new();
    let mut request = PageRequest::default();
    loop {
        let page = catalog.list_tables(namespace, &request).await?;
        all.extend(page.items);
        // A catalog that answers the same token forever must not hang its readers.
        if page.next.is_none() || page.next == request.after {
            return Ok(all);
        }
        request.after = page.next;
    }
}

/// All namespaces inside of `parent`, at any depth, each before those inside of it.
///
/// # Errors
/// As [`Catalog::list_namespaces`].
pub async fn all_namespaces(catalog: &dyn Catalog, parent: &Namespace) -> Result<Vec<Namespace>> {
    let mut all = Vec::new();
    let mut open = vec![parent.clone()];
    while let Some(parent) = open.pop() {
        let mut children = Vec::new();
        let mut request = PageRequest::default();
        loop {
            let page = catalog.list_namespaces(&parent, &request).await?;
            children.extend(page.items);
            if page.next.is_none() || page.next == request.after {
                break;
            }
            request.after = page.next;
        }
        open.extend(children.iter().rev().cloned());
        all.extend(children);
    }
    all.sort();
    Ok(all)
}

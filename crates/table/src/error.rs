//! The error of this crate.

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a table could not be opened, planned, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A location that names no place that can be reached.
    #[error("location `{location}`: {reason}")]
    Location {
        /// The location as it was given.
        location: String,
        /// What is wrong with it and what is expected.
        reason: String,
    },
    /// A file that a table or a user names is not there.
    #[error("`{location}` does not exist{}", .context.as_deref().map(|c| format!(": {c}")).unwrap_or_default())]
    NotFound {
        /// The file.
        location: String,
        /// What it was needed for.
        context: Option<String>,
    },
    /// The store answered with an error.
    #[error("{location}: {source}")]
    Store {
        /// The file or folder that was asked for.
        location: String,
        /// The answer of the store.
        source: Box<object_store::Error>,
    },
    /// Bytes that are not what the format asks for.
    #[error(transparent)]
    Format(#[from] drumlin_format::Error),
    /// A data or delete file whose bytes are not what its format asks for.
    #[error("`{location}`: {reason}")]
    Unreadable {
        /// The file.
        location: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no table at a location.
    #[error("no Iceberg table at `{location}`: {reason}")]
    NoTable {
        /// The location of the table.
        location: String,
        /// What was looked for.
        reason: String,
    },
    /// There is a table at a location, but which of its metadata files is the current one only its catalog knows.
    #[error(
        "the table at `{location}` belongs to a catalog, which alone knows the current one of its {files} metadata files: \
         name the file (the newest by name is {newest}), or allow the guess by the option guess_newest_metadata"
    )]
    Catalogued {
        /// The location of the table.
        location: String,
        /// How many metadata files it holds.
        files: usize,
        /// The one whose name sorts last.
        newest: String,
    },
    /// A name that no namespace or table can have.
    #[error("`{name}` cannot be the name of a namespace or table: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The catalog has no table of this name.
    #[error("there is no table `{table}`")]
    NoSuchTable {
        /// The full name.
        table: String,
    },
    /// The catalog has no namespace of this name.
    #[error("there is no schema `{namespace}`")]
    NoSuchNamespace {
        /// The full name.
        namespace: String,
    },
    /// The name of a table, or of a view, is taken.
    #[error("the table `{table}` exists")]
    TableExists {
        /// The full name.
        table: String,
    },
    /// The name of a namespace is taken.
    #[error("the schema `{namespace}` exists")]
    NamespaceExists {
        /// The full name.
        namespace: String,
    },
    /// A namespace that is to be dropped holds tables or namespaces.
    #[error("the schema `{namespace}` is not empty: drop what is in it first")]
    NamespaceNotEmpty {
        /// The full name.
        namespace: String,
    },
    /// A catalog's database or server answered with an error.
    #[error("catalog {catalog}: {reason}")]
    Catalog {
        /// Where it is, without secrets.
        catalog: String,
        /// What it said, and during what.
        reason: String,
    },
    /// A table property whose value cannot be used.
    #[error("table property `{key}`: expected {expected}, found `{value}`")]
    Property {
        /// Its name.
        key: String,
        /// Its value.
        value: String,
        /// What it may be.
        expected: String,
    },
    /// Rows that a table cannot take.
    #[error("table `{table}` cannot take a row: {reason}")]
    Row {
        /// The name of the table.
        table: String,
        /// The column, what it expects and what was found.
        reason: String,
    },
    /// What a commit assumed is not so: trying again does not help, the statement has to read the table anew.
    #[error("table `{table}` was changed by another commit: {reason}")]
    Conflict {
        /// The name of the table.
        table: String,
        /// The assumption, and the snapshot and file that break it.
        reason: String,
    },
    /// A commit lost against others as often as it may be tried.
    #[error(
        "table `{table}`: another commit was first {attempts} times (the last: {last}); nothing was changed, \
         try again or raise commit.retry.num-retries"
    )]
    CommitRetries {
        /// The name of the table.
        table: String,
        /// How often it was tried.
        attempts: usize,
        /// What was in the way the last time.
        last: String,
    },
    /// It is not known whether a commit happened. Nothing was deleted.
    #[error(
        "table `{table}`: it is not known whether the commit happened, look before it is repeated: {source}"
    )]
    CommitUnknown {
        /// The name of the table.
        table: String,
        /// What came in place of an answer.
        source: Box<Error>,
    },
    /// Something of the table or the request that this library does not do.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// Deletes of a scan, or data files being written, that do not fit into the memory that there is for them.
    #[error("not enough memory: {0}")]
    NoMemory(String),
    /// A part of the work that stopped without a result.
    #[error("planning stopped: {0}")]
    Stopped(String),
}

impl Error {
    /// An error of the store about a location; a missing object becomes [`Error::NotFound`].
    pub fn store(location: &str, source: object_store::Error) -> Self {
        match source {
            object_store::Error::NotFound { .. } => Self::NotFound {
                location: location.to_string(),
                context: None,
            },
            source => Self::Store {
                location: location.to_string(),
                source: Box::new(source),
            },
        }
    }

    /// An [`Error::Unreadable`] about a file.
    pub fn unreadable(location: &str, reason: impl ToString) -> Self {
        Self::Unreadable {
            location: location.to_string(),
            reason: reason.to_string(),
        }
    }

    /// Adds to a [`Error::NotFound`] what the file was needed for.
    #[must_use]
    pub fn needed_for(self, what: impl Into<String>) -> Self {
        match self {
            Self::NotFound {
                location,
                context: None,
            } => Self::NotFound {
                location,
                context: Some(what.into()),
            },
            other => other,
        }
    }
}

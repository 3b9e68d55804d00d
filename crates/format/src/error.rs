//! The error of this crate: what was read, what was expected there, what was found.

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why bytes or text are not a valid part of an Iceberg table.
///
/// The crate reads bytes that its caller fetched, so errors name the field; the caller adds the file with
/// [`Error::in_file`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A part of the format does not hold what the specification asks for.
    #[error("invalid {what}: {reason}")]
    Invalid {
        /// The part of the format, for example `table metadata` or `field schemas[2].fields`.
        what: String,
        /// What was expected and what was found.
        reason: String,
    },
    /// The format allows it (or a later version does), this library does not.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A change of the metadata breaks one of its requirements.
    #[error("requirement failed: {0}")]
    RequirementFailed(String),
    /// An error inside a named file.
    #[error("{path}: {source}")]
    InFile {
        /// The location of the file, as the table names it.
        path: String,
        /// What is wrong there.
        source: Box<Error>,
    },
}

impl Error {
    /// An [`Error::Invalid`] about `what`.
    pub fn invalid(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Invalid {
            what: what.into(),
            reason: reason.into(),
        }
    }

    /// An [`Error::Unsupported`] that names the feature and, where there is one, the way round.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported(what.into())
    }

    /// Says in which file the error was found. An error that names a file already keeps it.
    #[must_use]
    pub fn in_file(self, path: impl Into<String>) -> Self {
        match self {
            Self::InFile { .. } => self,
            other => Self::InFile {
                path: path.into(),
                source: Box::new(other),
            },
        }
    }
}

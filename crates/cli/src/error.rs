//! Why a run ended early, and the exit code that says so.

use std::io;
use std::process::ExitCode;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;

/// Why statements stopped running.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The session or a statement failed; already rendered for the user.
    #[error("{0}")]
    Sql(String),
    /// The arguments do not describe something that can be done.
    #[error("error: {0}")]
    Usage(String),
    /// Results could not be written.
    #[error("error: cannot write the result: {0}")]
    Output(#[source] io::Error),
    /// The reader of the results has gone. Nothing is wrong and nobody is left to tell.
    #[error("the reader of the output has gone")]
    ReaderGone,
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    /// 0 reader gone, 1 SQL or output error, 2 usage, 130 interrupted (128 + SIGINT, as shells do).
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::ReaderGone => ExitCode::SUCCESS,
            Self::Sql(_) | Self::Output(_) => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
            Self::Interrupted => ExitCode::from(130),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderGone
        } else {
            Self::Output(error)
        }
    }
}

/// Why one statement did not finish.
#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    /// The statement is wrong, or failed while running.
    #[error(transparent)]
    Sql(#[from] DataFusionError),
    /// The rows cannot be expressed in the chosen format.
    #[error("cannot write this result as {format}: {reason}")]
    Format {
        /// The format's name.
        format: &'static str,
        /// What does not fit and what to do.
        reason: String,
    },
    /// Writing failed.
    #[error("{0}")]
    Output(#[from] io::Error),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl From<ArrowError> for StatementError {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, io) => Self::Output(io),
            other => Self::Sql(other.into()),
        }
    }
}

//! How a table wants rows to be changed.

use drumlin_format::metadata::TableMetadata;

use super::{Isolation, Mode, Statement};
use crate::error::{Error, Result};
use crate::properties::Properties;
use crate::write::options::DistributionMode;

/// What the properties of a table say about a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowChangeProperties {
    /// The statement.
    pub statement: Statement,
    /// `write.<statement>.mode`; copy-on-write unless the table says otherwise.
    pub mode: Mode,
    /// `write.<statement>.isolation-level`; serializable unless the table says otherwise.
    pub isolation: Isolation,
    /// `write.<statement>.distribution-mode`, for new rows.
    pub distribution_mode: Option<DistributionMode>,
}

impl RowChangeProperties {
    /// What the table says about a statement.
    ///
    /// # Errors
    /// [`Error::Property`] for a value that is none of those that there are; [`Error::Unsupported`] for merge-on-read in a table
    /// of version 1, which has no delete files.
    pub fn of(metadata: &TableMetadata, statement: Statement) -> Result<Self> {
        let properties = Properties::new(metadata.properties());
        let modes = [
            ("copy-on-write", Mode::CopyOnWrite),
            ("merge-on-read", Mode::MergeOnRead),
        ];
        let levels = [
            ("serializable", Isolation::Serializable),
            ("snapshot", Isolation::Snapshot),
        ];
        let key = |of: &str| format!("write.{statement}.{of}");
        let mode = properties
            .one_of(&key("mode"), &modes)?
            .unwrap_or(Mode::CopyOnWrite);
        if mode == Mode::MergeOnRead && metadata.format_version() < 2 {
            return Err(Error::Unsupported(format!(
                "`{}` = merge-on-read in a table of format version 1, which has no delete files: set it to copy-on-write, or \
                 upgrade the table to version 2",
                key("mode")
            )));
        }
        Ok(Self {
            statement,
            mode,
            isolation: properties
                .one_of(&key("isolation-level"), &levels)?
                .unwrap_or(Isolation::Serializable),
            distribution_mode: properties.one_of(&key("distribution-mode"), &DistributionMode::WORDS)?,
        })
    }
}

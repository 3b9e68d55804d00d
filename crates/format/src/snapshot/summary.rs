//! What a commit did (§ Optional Snapshot Summary Fields).

use std::collections::BTreeMap;
use std::fmt;

/// What a snapshot changed in its table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Only data files were added.
    Append,
    /// Files were replaced without a change of the table's rows.
    Replace,
    /// Rows were added and removed.
    Overwrite,
    /// Only rows were removed.
    Delete,
    /// An operation that the specification does not name.
    Other(String),
}

/// The operation of a snapshot and the figures its writer noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What the commit did. Where it is missing, it counts as overwrite, of which nothing can be assumed.
    pub operation: Operation,
    /// The other keys, for example `added-data-files`. They are notes of the writer, not facts to compute with.
    pub others: BTreeMap<String, String>,
}

impl Summary {
    /// The key that holds the operation.
    pub const OPERATION: &'static str = "operation";

    /// A summary without figures.
    pub fn new(operation: Operation) -> Self {
        Self {
            operation,
            others: BTreeMap::new(),
        }
    }

    /// The note under this key; `operation` is not among them.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.others.get(key).map(String::as_str)
    }
}

impl Operation {
    /// The operation of this name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "append" => Self::Append,
            "replace" => Self::Replace,
            "overwrite" => Self::Overwrite,
            "delete" => Self::Delete,
            other => Self::Other(other.to_string()),
        }
    }

    /// Its name in the summary.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Append => "append",
            Self::Replace => "replace",
            Self::Overwrite => "overwrite",
            Self::Delete => "delete",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

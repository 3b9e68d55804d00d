//! Names of namespaces and tables.

use std::fmt;

use crate::error::{Error, Result};

/// A namespace by its levels, outermost first; without levels it is the root of the catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace {
    levels: Vec<String>,
}

/// A table by its namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableIdent {
    /// Where it is.
    pub namespace: Namespace,
    /// Its name in the namespace.
    pub name: String,
}

impl Namespace {
    /// The namespace of these levels.
    ///
    /// # Errors
    /// [`Error::Name`] for an empty level, or one that holds a control character.
    pub fn new<S: Into<String>>(levels: impl IntoIterator<Item = S>) -> Result<Self> {
        let levels: Vec<String> = levels.into_iter().map(Into::into).collect();
        levels.iter().try_for_each(|level| check(level))?;
        Ok(Self { levels })
    }

    /// The root of the catalog.
    pub fn root() -> Self {
        Self::default()
    }

    /// Its levels, outermost first.
    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    /// Whether it is the root of the catalog.
    pub fn is_root(&self) -> bool {
        self.levels.is_empty()
    }

    /// The namespace of this name inside of it.
    ///
    /// # Errors
    /// As [`Namespace::new`].
    pub fn child(&self, name: impl Into<String>) -> Result<Self> {
        Self::new(self.levels.iter().cloned().chain([name.into()]))
    }

    /// The namespace that it is in; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, outer) = self.levels.split_last()?;
        Some(Self {
            levels: outer.to_vec(),
        })
    }
}

impl TableIdent {
    /// The table of this name in a namespace.
    ///
    /// # Errors
    /// [`Error::Name`] for an empty name, or one that holds a control character.
    pub fn new(namespace: Namespace, name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        check(&name)?;
        Ok(Self { namespace, name })
    }
}

fn check(name: &str) -> Result<()> {
    let reason = match name {
        "" => "it is empty",
        _ if name.chars().any(char::is_control) => "it holds a control character",
        _ => return Ok(()),
    };
    Err(Error::Name {
        name: name.to_string(),
        reason: reason.to_string(),
    })
}

/// The levels, joined by dots.
impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.levels.join("."))
    }
}

/// The levels of the namespace and the name, joined by dots.
impl fmt::Display for TableIdent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for level in self.namespace.levels() {
            write!(f, "{level}.")?;
        }
        f.write_str(&self.name)
    }
}

//! Locations: which store and which object a path in a table means.

use std::path::Path as FilePath;

use object_store::path::Path;

use crate::error::{Error, Result};

/// A location taken apart: the store it is in and the object there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The kind of store.
    pub scheme: Scheme,
    /// The bucket, container or host; empty for files and memory.
    pub authority: String,
    /// The object. Locations are taken verbatim: `%2F` in a location is `%2F` in the object's name.
    pub path: Path,
}

/// The kind of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Local files: `file:` or a plain path.
    File,
    /// The memory of this process: `memory:`.
    Memory,
    /// Amazon S3 and what speaks its protocol: `s3:`, `s3a:`, `s3n:`.
    S3,
    /// Google Cloud Storage: `gs:`, `gcs:`.
    Gcs,
    /// Azure Blob Storage: `abfs:`, `abfss:`, `az:`, `wasb:`, `wasbs:`.
    Azure,
}

impl Scheme {
    /// The name by which the store is keyed: one for all spellings of a scheme.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Memory => "memory",
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "az",
        }
    }

    fn parse(scheme: &str) -> Option<Self> {
        Some(match scheme.to_ascii_lowercase().as_str() {
            "file" => Self::File,
            "memory" => Self::Memory,
            "s3" | "s3a" | "s3n" => Self::S3,
            "gs" | "gcs" => Self::Gcs,
            "abfs" | "abfss" | "az" | "azure" | "wasb" | "wasbs" => Self::Azure,
            _ => return None,
        })
    }
}

impl Location {
    /// Takes a location apart. Plain paths are local files; relative ones are relative to the current folder.
    pub fn parse(location: &str) -> Result<Self> {
        let wrong = |reason: String| Error::Location {
            location: location.to_string(),
            reason,
        };
        let (scheme, rest) = match split_scheme(location) {
            Some((scheme, rest)) => {
                let known = Scheme::parse(scheme).ok_or_else(|| {
                    wrong(format!(
                        "the scheme `{scheme}` is not known; file, memory, s3, s3a, gs, abfs, abfss and az are"
                    ))
                })?;
                (known, rest)
            }
            None => (Scheme::File, location),
        };
        let (authority, key) = match (scheme, rest.strip_prefix("//")) {
            (Scheme::Memory, after) => (String::new(), after.unwrap_or(rest).to_string()),
            (Scheme::File, after) => (String::new(), absolute(after.unwrap_or(rest), location)?),
            (_, Some(after)) => {
                let (authority, key) = after.split_once('/').unwrap_or((after, ""));
                if authority.is_empty() {
                    return Err(wrong("a bucket or container is expected after `//`".into()));
                }
                (authority.to_string(), key.to_string())
            }
            (_, None) => {
                return Err(wrong(
                    "`//` and a bucket or container are expected after the scheme".into(),
                ));
            }
        };
        let path = match scheme {
            // The file system takes a run of slashes for one, objects of a bucket do not.
            Scheme::File | Scheme::Memory => key
                .split('/')
                .filter(|s| !s.is_empty())
                .collect::<Vec<_>>()
                .join("/"),
            _ => key,
        };
        Ok(Self {
            scheme,
            authority,
            path: Path::parse(path).map_err(|e| wrong(e.to_string()))?,
        })
    }

    /// The key of the store: scheme and authority.
    pub fn store_key(&self) -> (Scheme, String) {
        (self.scheme, self.authority.clone())
    }
}

/// `scheme:rest` with a scheme of at least two letters, so that Windows drives are none.
fn split_scheme(location: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = location.split_once(':')?;
    let valid = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    valid.then_some((scheme, rest))
}

/// An absolute path without `.` and `..`, since objects have no such segments.
fn absolute(path: &str, location: &str) -> Result<String> {
    let wrong = |reason: String| Error::Location {
        location: location.to_string(),
        reason,
    };
    let absolute = std::path::absolute(FilePath::new(path)).map_err(|e| wrong(e.to_string()))?;
    let mut segments: Vec<&str> = Vec::new();
    for component in absolute.components() {
        match component {
            std::path::Component::ParentDir => {
                segments.pop();
            }
            std::path::Component::Normal(segment) => {
                let segment = segment
                    .to_str()
                    .ok_or_else(|| wrong("the path is not UTF-8".into()))?;
                segments.push(segment);
            }
            _ => {}
        }
    }
    Ok(segments.join("/"))
}

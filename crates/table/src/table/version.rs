//! Time travel: which snapshot, and with which schema (§ Point in Time Reads).

use std::fmt;
use std::sync::Arc;

use drumlin_format::metadata::SchemaChoice;
use drumlin_format::snapshot::SnapshotRef;

use super::Table;
use crate::error::Result;

/// A version of a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TableVersion {
    /// The snapshot with this id, with its own schema.
    Snapshot(i64),
    /// A branch or tag.
    Reference(String),
    /// The head of a branch, with the table's current schema.
    Branch(String),
    /// The snapshot of a tag, with its own schema.
    Tag(String),
    /// The snapshot that was current at this time in ms since 1970-01-01T00:00 UTC, by the snapshot log, with its
    /// own schema.
    TimestampMs(i64),
}

impl fmt::Display for TableVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(id) => write!(f, "snapshot {id}"),
            Self::Reference(name) => write!(f, "branch or tag `{name}`"),
            Self::Branch(name) => write!(f, "branch `{name}`"),
            Self::Tag(name) => write!(f, "tag `{name}`"),
            Self::TimestampMs(ms) => write!(f, "the time {ms} ms"),
        }
    }
}

impl Table {
    /// The same table at another version. The error for a version that does not exist lists what does.
    pub fn at_version(&self, version: &TableVersion) -> Result<Self> {
        let metadata = &self.metadata;
        let named = |e: drumlin_format::Error| e.in_file(format!("table `{}`", self.name));
        let of_ref = |found: &SnapshotRef| {
            let snapshot = metadata.snapshot(found.snapshot_id)?;
            Ok((snapshot, SchemaChoice::of_ref(found)))
        };
        let found = match version {
            TableVersion::Snapshot(id) => metadata.snapshot(*id).map(|s| (s, SchemaChoice::OfSnapshot)),
            TableVersion::TimestampMs(ms) => metadata
                .snapshot_as_of(*ms)
                .map(|s| (s, SchemaChoice::OfSnapshot)),
            TableVersion::Reference(name) => metadata.snapshot_ref(name).and_then(of_ref),
            TableVersion::Branch(name) | TableVersion::Tag(name) => {
                let branch = matches!(version, TableVersion::Branch(_));
                metadata.snapshot_ref(name).and_then(|found| {
                    if found.is_branch() == branch {
                        return of_ref(found);
                    }
                    let (wanted, is) = if branch {
                        ("branch", "tag")
                    } else {
                        ("tag", "branch")
                    };
                    Err(drumlin_format::Error::invalid(
                        format!("{wanted} `{name}`"),
                        format!("`{name}` is a {is}"),
                    ))
                })
            }
        };
        let (snapshot, choice) = found.map_err(named)?;
        let schema = metadata.schema_for(snapshot, choice).map_err(named)?;
        Ok(Self {
            snapshot: Some(Arc::clone(snapshot)),
            schema: Arc::clone(schema),
            version: Some(version.clone()),
            ..self.clone()
        })
    }
}

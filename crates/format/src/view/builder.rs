//! Making the next metadata of a view.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::update::ViewUpdate;
use super::{ViewLogEntry, ViewMetadata, ViewRepresentation, ViewVersion};
use crate::error::{Error, Result};
use crate::metadata::LAST_ADDED;
use crate::schema::Schema;

const HISTORY_ENTRIES: &str = "version.history.num-entries";
const HISTORY_ENTRIES_DEFAULT: usize = 10;
const DROP_DIALECT_ALLOWED: &str = "replace.drop-dialect.allowed";

/// Applies updates to a view's metadata, or to nothing.
#[derive(Debug, Clone)]
pub struct ViewMetadataBuilder {
    view: ViewMetadata,
    /// The version that was current before; `None` for a new view.
    base_version: Option<Arc<ViewVersion>>,
    has_uuid: bool,
    last_added_schema: Option<i32>,
    last_added_version: Option<i32>,
    added_versions: BTreeSet<i32>,
    current_set: bool,
}

impl ViewMetadataBuilder {
    /// Starts from nothing.
    pub fn empty() -> Self {
        Self {
            view: ViewMetadata {
                view_uuid: Uuid::nil(),
                location: String::new(),
                schemas: Vec::new(),
                current_version_id: LAST_ADDED,
                versions: Vec::new(),
                version_log: Vec::new(),
                properties: BTreeMap::new(),
            },
            base_version: None,
            has_uuid: false,
            last_added_schema: None,
            last_added_version: None,
            added_versions: BTreeSet::new(),
            current_set: false,
        }
    }

    /// Starts from a view's metadata.
    pub fn from(view: ViewMetadata) -> Self {
        Self {
            base_version: view.current_version().cloned(),
            has_uuid: true,
            view,
            ..Self::empty()
        }
    }

    /// Applies one update. After an error the builder is as it was before the update.
    pub fn apply(&mut self, update: ViewUpdate) -> Result<()> {
        match update {
            ViewUpdate::AssignUuid(id) if self.has_uuid && id != self.view.view_uuid => {
                let reason = format!(
                    "the view has the uuid {} and cannot get {id}",
                    self.view.view_uuid
                );
                return Err(Error::invalid("update `assign-uuid`", reason));
            }
            ViewUpdate::AssignUuid(id) => {
                self.view.view_uuid = id;
                self.has_uuid = true;
            }
            ViewUpdate::SetLocation(location) if location.trim_end_matches('/').is_empty() => {
                return Err(Error::invalid("update `set-location`", "the location is empty"));
            }
            ViewUpdate::SetLocation(location) => {
                self.view.location = location.trim_end_matches('/').to_string();
            }
            ViewUpdate::SetProperties(updates) => self.view.properties.extend(updates),
            ViewUpdate::RemoveProperties(removals) => {
                self.view.properties.retain(|key, _| !removals.contains(key));
            }
            ViewUpdate::AddSchema(schema) => self.add_schema(&schema)?,
            ViewUpdate::AddVersion(version) => self.add_version(version)?,
            ViewUpdate::SetCurrentVersion(id) => self.set_current_version(id)?,
        }
        Ok(())
    }

    fn add_schema(&mut self, schema: &Schema) -> Result<()> {
        let equal = self.view.schemas.iter().find(|s| s.same_columns(schema));
        let id = match equal {
            Some(equal) => equal.schema_id(),
            None => {
                let ids = self.view.schemas.iter().map(|s| s.schema_id());
                let id = next(ids.max(), 0, "update `add-schema`")?;
                self.view
                    .schemas
                    .push(Arc::new(schema.clone().with_schema_id(id)));
                id
            }
        };
        self.last_added_schema = Some(id);
        Ok(())
    }

    fn add_version(&mut self, mut version: ViewVersion) -> Result<()> {
        let what = "update `add-view-version`";
        version.schema_id = resolve(version.schema_id, self.last_added_schema, what)?;
        if self.view.schema_by_id(version.schema_id).is_none() {
            let reason = format!("the view has no schema {}", version.schema_id);
            return Err(Error::invalid(what, reason));
        }
        let mut dialects = BTreeSet::new();
        if let Some(twice) = version.dialects().find(|d| !dialects.insert(d.clone())) {
            return Err(Error::invalid(
                what,
                format!("it has two queries in the dialect `{twice}`"),
            ));
        }
        if version.representations.is_empty() {
            return Err(Error::invalid(what, "it has no representation of the query"));
        }
        if let Some(ViewRepresentation::Other(json)) = version
            .representations
            .iter()
            .find(|r| matches!(r, ViewRepresentation::Other(_)))
        {
            let text = format!("{what}: the representation `{json}`, which cannot be written; SQL can");
            return Err(Error::unsupported(text));
        }
        let same = |other: &&Arc<ViewVersion>| {
            ViewVersion {
                version_id: version.version_id,
                timestamp_ms: version.timestamp_ms,
                ..other.as_ref().clone()
            } == version
        };
        let id = match self.view.versions.iter().find(same) {
            Some(same) => same.version_id,
            None => {
                let ids = self.view.versions.iter().map(|v| v.version_id);
                version.version_id = next(ids.max(), 1, what)?;
                let id = version.version_id;
                self.view.versions.push(Arc::new(version));
                self.added_versions.insert(id);
                id
            }
        };
        self.last_added_version = Some(id);
        Ok(())
    }

    fn set_current_version(&mut self, id: i32) -> Result<()> {
        let what = "update `set-current-view-version`";
        let id = resolve(id, self.last_added_version, what)?;
        if self.view.version_by_id(id).is_none() {
            return Err(Error::invalid(what, format!("the view has no version {id}")));
        }
        self.current_set |= self.view.current_version_id != id;
        self.view.current_version_id = id;
        Ok(())
    }

    /// The new metadata, made at `now_ms` (ms since 1970-01-01 UTC). Keeps the newest versions, as many as
    /// `version.history.num-entries` says (10), and the current one. Refuses to drop a dialect of the version that
    /// was current, unless `replace.drop-dialect.allowed` is true.
    pub fn build(mut self, now_ms: i64) -> Result<ViewMetadata> {
        if self.view.location.is_empty() {
            return Err(Error::invalid(
                "view metadata",
                "a view needs a location (set-location)",
            ));
        }
        let Some(current) = self.view.current_version().cloned() else {
            let reason = "a view needs a current version (add-view-version, set-current-view-version)";
            return Err(Error::invalid("view metadata", reason));
        };
        if !self.has_uuid {
            self.view.view_uuid = Uuid::new_v4();
        }
        self.check_dialects(&current)?;
        let base_id = self.base_version.as_ref().map(|v| v.version_id);
        if self.current_set && base_id != Some(current.version_id) {
            let added = self.added_versions.contains(&current.version_id);
            self.view.version_log.push(ViewLogEntry {
                timestamp_ms: if added { current.timestamp_ms } else { now_ms },
                version_id: current.version_id,
            });
        }
        self.drop_old_versions(current.version_id);
        Ok(self.view)
    }

    fn check_dialects(&self, current: &ViewVersion) -> Result<()> {
        let allowed = self.view.properties.get(DROP_DIALECT_ALLOWED);
        let Some(base) = &self.base_version else {
            return Ok(());
        };
        if allowed.is_some_and(|v| v.eq_ignore_ascii_case("true")) {
            return Ok(());
        }
        let kept: BTreeSet<_> = current.dialects().collect();
        match base.dialects().find(|d| !kept.contains(d)) {
            None => Ok(()),
            Some(lost) => {
                let reason = format!(
                    "the new version lacks the dialect `{lost}` of the one before; \
                     set `{DROP_DIALECT_ALLOWED}` to true to drop it"
                );
                Err(Error::invalid("view metadata", reason))
            }
        }
    }

    fn drop_old_versions(&mut self, current: i32) {
        let keep = self.view.properties.get(HISTORY_ENTRIES);
        let keep = keep
            .and_then(|text| text.parse().ok())
            .unwrap_or(HISTORY_ENTRIES_DEFAULT);
        // What this change added stays as well, however little is to be kept.
        let keep = keep.max(self.added_versions.len()).max(1);
        let mut ids: Vec<_> = self.view.versions.iter().map(|v| v.version_id).collect();
        ids.sort_by_key(|id| std::cmp::Reverse((*id == current, *id)));
        let kept: BTreeSet<_> = ids.into_iter().take(keep).collect();
        self.view.versions.retain(|v| kept.contains(&v.version_id));
        // As with snapshots: no history across a gap.
        let gone = |e: &ViewLogEntry| !kept.contains(&e.version_id);
        let keep_from = self.view.version_log.iter().rposition(gone).map_or(0, |i| i + 1);
        self.view.version_log.drain(..keep_from);
    }
}

fn resolve(id: i32, last_added: Option<i32>, what: &str) -> Result<i32> {
    match (id, last_added) {
        (LAST_ADDED, Some(last)) => Ok(last),
        (LAST_ADDED, None) => Err(Error::invalid(
            what,
            "-1 means the last added, but none was added",
        )),
        (id, _) => Ok(id),
    }
}

fn next(last: Option<i32>, first: i32, what: &str) -> Result<i32> {
    match last {
        None => Ok(first),
        Some(last) => last
            .checked_add(1)
            .ok_or_else(|| Error::invalid(what, "no id is left")),
    }
}

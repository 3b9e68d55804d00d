//! The JSON form of snapshots and refs (§ Appendix C: Snapshots and References).

use serde::de;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ManifestListLocation, Operation, RefKind, Snapshot, SnapshotRef, Summary};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SnapshotFields {
    sequence_number: Option<i64>,
    snapshot_id: i64,
    parent_snapshot_id: Option<i64>,
    timestamp_ms: i64,
    summary: Option<Summary>,
    manifest_list: Option<String>,
    manifests: Option<Vec<String>>,
    schema_id: Option<i32>,
    first_row_id: Option<i64>,
    added_rows: Option<i64>,
    key_id: Option<String>,
}

impl<'de> Deserialize<'de> for Snapshot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = SnapshotFields::deserialize(deserializer)?;
        let manifest_list = match (fields.manifest_list, fields.manifests) {
            // Where both are written, the list is the newer way.
            (Some(list), _) => ManifestListLocation::File(list),
            (None, Some(manifests)) => ManifestListLocation::Manifests(manifests),
            (None, None) => return Err(de::Error::missing_field("manifest-list")),
        };
        Ok(Self {
            snapshot_id: fields.snapshot_id,
            // Some writers note the missing parent of the first snapshot as -1.
            parent_snapshot_id: fields.parent_snapshot_id.filter(|id| *id != -1),
            sequence_number: fields.sequence_number.unwrap_or(0),
            timestamp_ms: fields.timestamp_ms,
            manifest_list,
            summary: fields
                .summary
                .unwrap_or_else(|| Summary::new(Operation::Overwrite)),
            schema_id: fields.schema_id,
            first_row_id: fields.first_row_id,
            added_rows: fields.added_rows,
            key_id: fields.key_id,
        })
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // Version 1 has no sequence numbers, and its snapshots keep 0 after an upgrade; left out, 0 is what all
        // readers take.
        if self.sequence_number != 0 {
            map.serialize_entry("sequence-number", &self.sequence_number)?;
        }
        map.serialize_entry("snapshot-id", &self.snapshot_id)?;
        if let Some(id) = self.parent_snapshot_id {
            map.serialize_entry("parent-snapshot-id", &id)?;
        }
        map.serialize_entry("timestamp-ms", &self.timestamp_ms)?;
        map.serialize_entry("summary", &self.summary)?;
        match &self.manifest_list {
            ManifestListLocation::File(location) => map.serialize_entry("manifest-list", location)?,
            ManifestListLocation::Manifests(locations) => map.serialize_entry("manifests", locations)?,
        }
        if let Some(id) = self.schema_id {
            map.serialize_entry("schema-id", &id)?;
        }
        if let Some(id) = self.first_row_id {
            map.serialize_entry("first-row-id", &id)?;
        }
        if let Some(rows) = self.added_rows {
            map.serialize_entry("added-rows", &rows)?;
        }
        if let Some(id) = &self.key_id {
            map.serialize_entry("key-id", id)?;
        }
        map.end()
    }
}

/// The fields of a ref, in Java's order; part of the update `set-snapshot-ref` as well.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RefFields {
    snapshot_id: i64,
    #[serde(rename = "type")]
    kind: KindName,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_snapshots_to_keep: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_snapshot_age_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ref_age_ms: Option<i64>,
}

#[derive(Serialize, Deserialize)]
enum KindName {
    // Java reads the type in any case.
    #[serde(rename = "branch", alias = "BRANCH")]
    Branch,
    #[serde(rename = "tag", alias = "TAG")]
    Tag,
}

impl<'de> Deserialize<'de> for SnapshotRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = RefFields::deserialize(deserializer)?;
        for (key, value) in [
            (
                "min-snapshots-to-keep",
                fields.min_snapshots_to_keep.map(i64::from),
            ),
            ("max-snapshot-age-ms", fields.max_snapshot_age_ms),
            ("max-ref-age-ms", fields.max_ref_age_ms),
        ] {
            if let Some(value @ ..=0) = value {
                return Err(de::Error::custom(format!(
                    "`{key}` must be above 0, found {value}"
                )));
            }
        }
        let kind = match fields.kind {
            KindName::Branch => RefKind::Branch {
                min_snapshots_to_keep: fields.min_snapshots_to_keep,
                max_snapshot_age_ms: fields.max_snapshot_age_ms,
            },
            KindName::Tag
                if fields.min_snapshots_to_keep.is_some() || fields.max_snapshot_age_ms.is_some() =>
            {
                return Err(de::Error::custom(
                    "a tag has no `min-snapshots-to-keep` and no `max-snapshot-age-ms`",
                ));
            }
            KindName::Tag => RefKind::Tag,
        };
        Ok(Self {
            snapshot_id: fields.snapshot_id,
            kind,
            max_ref_age_ms: fields.max_ref_age_ms,
        })
    }
}

impl Serialize for SnapshotRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, min_snapshots_to_keep, max_snapshot_age_ms) = match self.kind {
            RefKind::Branch {
                min_snapshots_to_keep,
                max_snapshot_age_ms,
            } => (KindName::Branch, min_snapshots_to_keep, max_snapshot_age_ms),
            RefKind::Tag => (KindName::Tag, None, None),
        };
        let fields = RefFields {
            snapshot_id: self.snapshot_id,
            kind,
            min_snapshots_to_keep,
            max_snapshot_age_ms,
            max_ref_age_ms: self.max_ref_age_ms,
        };
        fields.serialize(serializer)
    }
}

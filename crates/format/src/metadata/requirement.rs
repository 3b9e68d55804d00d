//! What a commit asks to be so, lest it overwrite somebody else's (REST catalog: `TableRequirement`).

use serde_json::{Map, Value as Json};
use uuid::Uuid;

use super::TableMetadata;
use super::update::{TableUpdate, UpdateFields};
use crate::error::{Error, Result};
use crate::snapshot::MAIN_BRANCH;

/// What must hold for the table's metadata before updates are applied to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableRequirement {
    /// `assert-create`: there is no such table.
    NotExist,
    /// `assert-table-uuid`: it is this very table.
    Uuid(Uuid),
    /// `assert-ref-snapshot-id`: the branch or tag is at this snapshot; `None`: it does not exist.
    RefSnapshotId {
        /// The name of the branch or tag.
        name: String,
        /// The snapshot it is at.
        snapshot_id: Option<i64>,
    },
    /// `assert-last-assigned-field-id`: no columns were added.
    LastAssignedFieldId(i32),
    /// `assert-current-schema-id`.
    CurrentSchemaId(i32),
    /// `assert-last-assigned-partition-id`: no partition fields were added.
    LastAssignedPartitionId(i32),
    /// `assert-default-spec-id`.
    DefaultSpecId(i32),
    /// `assert-default-sort-order-id`.
    DefaultSortOrderId(i32),
}

impl TableRequirement {
    /// What a commit of these updates, worked out on `base`, asks for; `None` is a table that does not exist yet.
    /// Each thing is asked for once, and always in the state of the base, however often the updates change it.
    pub fn for_updates(base: Option<&TableMetadata>, updates: &[TableUpdate]) -> Vec<Self> {
        let mut requirements = Self::for_replace(base);
        let Some(base) = base else {
            return requirements;
        };
        let mut require = |requirement: Self| {
            if !requirements.contains(&requirement) {
                requirements.push(requirement);
            }
        };
        let ref_of_base = |name: &str| Self::RefSnapshotId {
            name: name.to_string(),
            snapshot_id: base.refs().get(name).map(|r| r.snapshot_id),
        };
        for update in updates {
            match update {
                TableUpdate::SetSnapshotRef { name, .. } => require(ref_of_base(name)),
                TableUpdate::AddSchema(_) => require(Self::LastAssignedFieldId(base.last_column_id())),
                TableUpdate::SetCurrentSchema(_) => {
                    require(Self::CurrentSchemaId(base.current_schema().schema_id()));
                }
                TableUpdate::AddSpec(_) => require(Self::LastAssignedPartitionId(base.last_partition_id())),
                TableUpdate::SetDefaultSpec(_) => require(Self::DefaultSpecId(base.default_spec().spec_id())),
                TableUpdate::SetDefaultSortOrder(_) => {
                    require(Self::DefaultSortOrderId(base.default_sort_order().order_id));
                }
                // A branch that moved meanwhile may have come to need what is removed.
                TableUpdate::RemoveSchemas(_) | TableUpdate::RemovePartitionSpecs(_) => {
                    require(match update {
                        TableUpdate::RemoveSchemas(_) => {
                            Self::CurrentSchemaId(base.current_schema().schema_id())
                        }
                        _ => Self::DefaultSpecId(base.default_spec().spec_id()),
                    });
                    let branches = base.refs().iter().filter(|(_, r)| r.is_branch());
                    for (name, _) in branches.filter(|(name, _)| *name != MAIN_BRANCH) {
                        require(ref_of_base(name));
                    }
                }
                _ => {}
            }
        }
        requirements
    }

    /// What replacing the table asks for: that it is the same table, whatever was committed to it meanwhile. Only
    /// tables of version 1 without id cannot be told from others.
    pub fn for_replace(base: Option<&TableMetadata>) -> Vec<Self> {
        match base {
            None => vec![Self::NotExist],
            Some(base) => base.table_uuid().map(Self::Uuid).into_iter().collect(),
        }
    }

    /// The name of the requirement in the REST catalog.
    pub fn requirement_type(&self) -> &'static str {
        match self {
            Self::NotExist => "assert-create",
            Self::Uuid(_) => "assert-table-uuid",
            Self::RefSnapshotId { .. } => "assert-ref-snapshot-id",
            Self::LastAssignedFieldId(_) => "assert-last-assigned-field-id",
            Self::CurrentSchemaId(_) => "assert-current-schema-id",
            Self::LastAssignedPartitionId(_) => "assert-last-assigned-partition-id",
            Self::DefaultSpecId(_) => "assert-default-spec-id",
            Self::DefaultSortOrderId(_) => "assert-default-sort-order-id",
        }
    }

    /// Checks it against the metadata of the table, `None` if there is no table. Fails with
    /// [`Error::RequirementFailed`], which says what was expected and what is so.
    pub fn check(&self, metadata: Option<&TableMetadata>) -> Result<()> {
        let failed = |expected: String, found: String| {
            let name = self.requirement_type();
            Err(Error::RequirementFailed(format!(
                "{name}: expected {expected}, found {found}"
            )))
        };
        let Some(metadata) = metadata else {
            return match self {
                Self::NotExist => Ok(()),
                _ => failed("a table".into(), "none".into()),
            };
        };
        let ids = |name: &str, expected: i32, found: i32| {
            if expected == found {
                Ok(())
            } else {
                failed(format!("the {name} {expected}"), found.to_string())
            }
        };
        match self {
            Self::NotExist => failed("no table".into(), format!("one at {}", metadata.location())),
            Self::Uuid(id) if metadata.table_uuid() == Some(*id) => Ok(()),
            Self::Uuid(id) => failed(
                format!("the table {id}"),
                metadata
                    .table_uuid()
                    .map_or("a table without id".into(), |id| id.to_string()),
            ),
            Self::RefSnapshotId { name, snapshot_id } => {
                let found = metadata.refs().get(name).map(|r| r.snapshot_id);
                let at = |id: Option<i64>| match id {
                    Some(id) => format!("`{name}` at the snapshot {id}"),
                    None => format!("no branch or tag `{name}`"),
                };
                if found == *snapshot_id {
                    Ok(())
                } else {
                    failed(at(*snapshot_id), at(found))
                }
            }
            Self::LastAssignedFieldId(id) => ids("last assigned field id", *id, metadata.last_column_id()),
            Self::CurrentSchemaId(id) => ids("current schema", *id, metadata.current_schema().schema_id()),
            Self::LastAssignedPartitionId(id) => {
                ids("last assigned partition id", *id, metadata.last_partition_id())
            }
            Self::DefaultSpecId(id) => ids("default spec", *id, metadata.default_spec().spec_id()),
            Self::DefaultSortOrderId(id) => {
                ids("default sort order", *id, metadata.default_sort_order().order_id)
            }
        }
    }

    /// Reads a requirement. A type that is not known is unsupported, never skipped.
    pub fn from_json(json: &Json) -> Result<Self> {
        let name = json
            .get("type")
            .and_then(Json::as_str)
            .ok_or_else(|| Error::invalid("table requirement", "expected a string `type`"))?;
        let at = format!("requirement `{name}`");
        let fields = UpdateFields { json, at: &at };
        Ok(match name {
            "assert-create" => Self::NotExist,
            "assert-table-uuid" => Self::Uuid(fields.uuid()?),
            "assert-ref-snapshot-id" => Self::RefSnapshotId {
                name: fields.get("ref")?,
                snapshot_id: match json.get("snapshot-id") {
                    None => None,
                    Some(_) => fields.get("snapshot-id")?,
                },
            },
            "assert-last-assigned-field-id" => {
                Self::LastAssignedFieldId(fields.get("last-assigned-field-id")?)
            }
            "assert-current-schema-id" => Self::CurrentSchemaId(fields.get("current-schema-id")?),
            "assert-last-assigned-partition-id" => {
                Self::LastAssignedPartitionId(fields.get("last-assigned-partition-id")?)
            }
            "assert-default-spec-id" => Self::DefaultSpecId(fields.get("default-spec-id")?),
            "assert-default-sort-order-id" => Self::DefaultSortOrderId(fields.get("default-sort-order-id")?),
            other => return Err(Error::unsupported(format!("the table requirement `{other}`"))),
        })
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        let mut json = Map::new();
        json.insert("type".into(), self.requirement_type().into());
        let mut put = |key: &str, value: Json| {
            json.insert(key.into(), value);
        };
        match self {
            Self::NotExist => {}
            Self::Uuid(id) => put("uuid", id.to_string().into()),
            Self::RefSnapshotId { name, snapshot_id } => {
                put("ref", name.clone().into());
                put("snapshot-id", (*snapshot_id).into());
            }
            Self::LastAssignedFieldId(id) => put("last-assigned-field-id", (*id).into()),
            Self::CurrentSchemaId(id) => put("current-schema-id", (*id).into()),
            Self::LastAssignedPartitionId(id) => put("last-assigned-partition-id", (*id).into()),
            Self::DefaultSpecId(id) => put("default-spec-id", (*id).into()),
            Self::DefaultSortOrderId(id) => put("default-sort-order-id", (*id).into()),
        }
        Json::Object(json)
    }
}

//! Schemas: adding, choosing, removing.

use std::sync::Arc;

use super::{TableMetadataBuilder, resolve};
use crate::error::{Error, Result};
use crate::schema::{MAX_FIELD_ID, Schema};

impl TableMetadataBuilder {
    /// Adds a schema under the next id, or reuses that of an equal one.
    pub(super) fn add_schema(&mut self, schema: &Schema) -> Result<()> {
        schema.check_format_version(self.metadata.format_version)?;
        let highest = schema.highest_field_id();
        if highest > MAX_FIELD_ID {
            let reason = format!("the field id {highest} is above {MAX_FIELD_ID} and reserved");
            return Err(Error::invalid("update `add-schema`", reason));
        }
        let equal = self.metadata.schemas.iter().find(|s| s.same_columns(schema));
        let id = match equal {
            Some(equal) => equal.schema_id(),
            None => {
                let id = match self.metadata.schemas.iter().map(|s| s.schema_id()).max() {
                    Some(last) => last
                        .checked_add(1)
                        .ok_or_else(|| Error::invalid("update `add-schema`", "no schema id is left"))?,
                    None => 0,
                };
                self.metadata
                    .schemas
                    .push(Arc::new(schema.clone().with_schema_id(id)));
                id
            }
        };
        self.metadata.last_column_id = self.metadata.last_column_id.max(highest);
        self.last_added_schema = Some(id);
        Ok(())
    }

    pub(super) fn set_current_schema(&mut self, id: i32) -> Result<()> {
        let what = "update `set-current-schema`";
        let id = resolve(id, self.last_added_schema, what)?;
        let schema = self.metadata.schema_by_id(id);
        let schema = schema.ok_or_else(|| Error::invalid(what, format!("the table has no schema {id}")))?;
        self.metadata.current_schema = Arc::clone(schema);
        Ok(())
    }

    pub(super) fn remove_schemas(&mut self, ids: &[i32]) -> Result<()> {
        let current = self.metadata.current_schema.schema_id();
        if ids.contains(&current) {
            let reason = format!("the schema {current} is the current one");
            return Err(Error::invalid("update `remove-schemas`", reason));
        }
        let used_by = self
            .metadata
            .snapshots
            .iter()
            .find(|s| s.schema_id.is_some_and(|id| ids.contains(&id)));
        if let Some(snapshot) = used_by {
            let reason = format!(
                "the snapshot {} is read with one of the schemas {ids:?}",
                snapshot.snapshot_id
            );
            return Err(Error::invalid("update `remove-schemas`", reason));
        }
        self.metadata.schemas.retain(|s| !ids.contains(&s.schema_id()));
        self.last_added_schema = self.last_added_schema.filter(|id| !ids.contains(id));
        Ok(())
    }
}

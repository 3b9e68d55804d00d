//! A table with more columns, before they are committed.

use std::sync::Arc;

use drumlin_format::metadata::{LAST_ADDED, TableMetadataBuilder, TableUpdate, assign_fresh_ids};
use drumlin_format::schema::Schema;
use drumlin_format::types::NestedField;

use super::Table;
use crate::error::Result;

impl Table {
    /// The same table with more columns behind its own, at the same snapshot, and the updates of its metadata that make it so. The
    /// columns get new ids and are optional: there are rows without them.
    ///
    /// # Errors
    /// [`crate::Error::Format`] for names that the table has already, and what the format does not allow.
    pub fn with_new_columns(&self, columns: &Schema) -> Result<(Self, Vec<TableUpdate>)> {
        let metadata = &self.metadata;
        let (fresh, _) = assign_fresh_ids(columns, None, metadata.last_column_id())?;
        let current = metadata.current_schema();
        let added = fresh.fields().iter().map(|field| NestedField {
            required: false,
            ..field.clone()
        });
        let fields = current.fields().iter().cloned().chain(added).collect();
        let identifiers = current.identifier_field_ids().to_vec();
        let schema = Schema::new(current.schema_id(), fields, identifiers)?;
        let updates = vec![
            TableUpdate::AddSchema(Arc::new(schema)),
            TableUpdate::SetCurrentSchema(LAST_ADDED),
        ];
        let mut builder = TableMetadataBuilder::from(metadata.as_ref().clone(), None);
        builder.apply_all(updates.iter().cloned())?;
        let metadata = Arc::new(builder.metadata().clone());
        let table = Self {
            schema: Arc::clone(metadata.current_schema()),
            metadata,
            ..self.clone()
        };
        Ok((table, updates))
    }
}

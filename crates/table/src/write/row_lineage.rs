//! Row lineage in data files (§ Row Lineage): the two columns behind those of the table.
//!
//! Files of new rows have neither: ids and sequence numbers are inherited from the manifest. Files that take over rows of
//! other files store what these rows had, and null where a row is to inherit like a new one: its sequence number if it was
//! changed, both if it is new.

use drumlin_format::metrics::MetricsMode;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};

use super::options::MetricsModes;
use crate::error::Result;

/// The reserved field id of `_row_id` (§ Reserved Field IDs).
pub const ROW_ID: i32 = 2_147_483_540;

/// The reserved field id of `_last_updated_sequence_number` (§ Reserved Field IDs).
pub const LAST_UPDATED_SEQUENCE_NUMBER: i32 = 2_147_483_539;

/// The columns of the schema with those of the lineage behind them. Where a column of the table has one of their names
/// they have another one: two columns of a file cannot be called alike, and readers go by the ids.
pub fn with_row_lineage(schema: &Schema) -> Result<Schema> {
    let mut fields = schema.fields().to_vec();
    let columns = [
        (ROW_ID, "_row_id"),
        (LAST_UPDATED_SEQUENCE_NUMBER, "_last_updated_sequence_number"),
    ];
    for (id, name) in columns {
        let mut free = name.to_string();
        while fields.iter().any(|field| field.name == free) {
            free.push('_');
        }
        fields.push(NestedField::optional(id, free, PrimitiveType::Long));
    }
    let identifiers = schema.identifier_field_ids().to_vec();
    Ok(Schema::new(schema.schema_id(), fields, identifiers)?)
}

/// Whether a column is one of those of the lineage.
pub fn is_row_lineage(field_id: i32) -> bool {
    matches!(field_id, ROW_ID | LAST_UPDATED_SEQUENCE_NUMBER)
}

/// The mode of a column of a file. Columns of the lineage have no metrics: bounds of what is stored would say nothing of
/// the rows that inherit.
pub fn mode_of(modes: &MetricsModes, field_id: i32) -> MetricsMode {
    match is_row_lineage(field_id) {
        true => MetricsMode::None,
        false => modes.of_field(field_id),
    }
}

//! Which metrics of which column are kept.

use std::collections::{BTreeMap, VecDeque};

use drumlin_format::metadata::TableMetadata;
use drumlin_format::metrics::MetricsMode;
use drumlin_format::schema::Schema;
use drumlin_format::types::Type;

use super::Properties;
use crate::error::Result;

const DEFAULT: &str = "write.metadata.metrics.default";
const MAX_INFERRED: &str = "write.metadata.metrics.max-inferred-column-defaults";
const BY_COLUMN: &str = "write.metadata.metrics.column.";
const EXPECTED: &str = "none, counts, truncate(length above 0) or full";

/// The modes of a table's columns, by field id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsModes {
    default: MetricsMode,
    by_id: BTreeMap<i32, MetricsMode>,
}

impl MetricsModes {
    /// By the table's properties. Without a default among them the first 100 leaf columns (or as many as another property
    /// says), level by level, have truncated bounds and the others nothing; columns of the sort order have bounds
    /// unless a property says otherwise.
    pub(crate) fn of(properties: &mut Properties<'_>, metadata: &TableMetadata) -> Result<Self> {
        let schema = metadata.current_schema();
        let stated = properties.parsed::<MetricsMode>(DEFAULT, EXPECTED)?;
        let inferred: usize = properties
            .parsed(MAX_INFERRED, "a number of columns")?
            .unwrap_or(100);
        let mut modes = Self {
            default: stated.unwrap_or(MetricsMode::DEFAULT),
            by_id: BTreeMap::new(),
        };
        let leaves = leaves_by_level(schema);
        if stated.is_none() && leaves.len() > inferred {
            modes.default = MetricsMode::None;
            let first = leaves.into_iter().take(inferred);
            modes.by_id.extend(first.map(|id| (id, MetricsMode::DEFAULT)));
        }
        for field in &metadata.default_sort_order().fields {
            for id in &field.source_ids {
                if !modes.of_field(*id).has_bounds() {
                    modes.by_id.insert(*id, MetricsMode::DEFAULT);
                }
            }
        }
        for (key, column, value) in properties.by_column(BY_COLUMN).collect::<Vec<_>>() {
            let mode = value.parse();
            let mode: MetricsMode = mode.map_err(|_| Properties::wrong(key, value, EXPECTED))?;
            match schema.field_by_name(column) {
                Some(field) => {
                    modes.by_id.insert(field.id, mode);
                }
                None => properties
                    .notes
                    .push(format!("`{key}` names no column of the table and has no effect")),
            }
        }
        Ok(modes)
    }

    /// The mode of a field.
    pub fn of_field(&self, id: i32) -> MetricsMode {
        self.by_id.get(&id).copied().unwrap_or(self.default)
    }
}

/// The ids of primitive fields: those of the table first, then those of its structs, lists and maps, and so on.
fn leaves_by_level(schema: &Schema) -> Vec<i32> {
    let mut leaves = Vec::new();
    let mut left: VecDeque<_> = schema.fields().iter().collect();
    while let Some(field) = left.pop_front() {
        match &field.field_type {
            Type::Primitive(_) => leaves.push(field.id),
            nested => left.extend(nested.children()),
        }
    }
    leaves
}

//! States of tables on disk, for other engines.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::statement::State;
use super::subject::Subject;
use super::value::Value;

/// States, and where they are.
#[derive(Debug, Default)]
pub struct Kept(Vec<Json>);

impl Kept {
    /// Keeps the current state of a table.
    pub fn add(&mut self, subject: &Subject, state: &State) {
        let metadata = subject.table.metadata();
        let cell = |cell: &Option<Value>| match cell {
            None => Json::Null,
            Some(Value::Int(value)) => json!(value),
            Some(Value::Text(value)) => json!(value),
            // JSON knows no NaN.
            Some(Value::Double(value)) => json!({"double": value.to_string()}),
            Some(Value::Date(value)) => json!(value),
            Some(Value::Stamp(value)) => json!(value * 1000),
        };
        let rows: Vec<Vec<Json>> = state
            .rows
            .iter()
            .map(|row| row.iter().map(cell).collect())
            .collect();
        let columns: Vec<_> = state.columns.iter().map(|column| &column.name).collect();
        self.0.push(json!({
            "table": subject.name,
            "version": subject.version(),
            "metadata": subject.table.metadata_location(),
            "snapshot": metadata.current_snapshot_id(),
            "columns": columns,
            "rows": rows,
        }));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes `expected.json` into a folder.
    pub fn write(&self, folder: &Path) {
        let text = serde_json::to_string(&self.0).unwrap();
        std::fs::write(folder.join("expected.json"), text).unwrap();
    }
}

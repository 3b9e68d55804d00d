//! What changes between statements: columns, partitions, versions and modes.

use std::collections::BTreeMap;
use std::sync::Arc;

use drumlin_format::metadata::{LAST_ADDED, TableUpdate, UnboundPartitionField, UnboundPartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::transform::Transform;
use drumlin_format::types::NestedField;
use drumlin_table::Table;

use super::statement::State;
use super::value::{Cell, Column, Of};
use crate::random::Random;

/// A change of the columns of all tables.
#[derive(Debug, Clone)]
pub enum Change {
    /// With the value that rows have that are there. What new rows get without a value is `column.default`.
    Add {
        column: Column,
        initial: Cell,
    },
    Rename {
        place: usize,
        name: String,
    },
    /// From INT to BIGINT.
    Widen {
        place: usize,
    },
    Drop {
        place: usize,
    },
}

impl Change {
    /// Some change; `defaults` are values of tables of version 3 only.
    pub fn random(state: &State, number: usize, defaults: bool, random: &mut Random) -> Self {
        let first = super::statements::first_columns().len();
        let columns = &state.columns;
        loop {
            let place = 1 + random.below(columns.len() - 1);
            let name = format!("c{number}");
            match random.below(6) {
                0 | 1 if columns.len() < first + 4 => {
                    let mut column =
                        Column::new(&name, *random.pick(&[Of::Int, Of::Long, Of::Text, Of::Date]));
                    let mut initial = None;
                    if defaults && random.percent(70) {
                        initial = column.of.random(0, random);
                        column.default = column.of.random(20, random);
                    }
                    return Self::Add { column, initial };
                }
                2 => return Self::Rename { place, name },
                3 | 5 if columns[place].of == Of::Int => return Self::Widen { place },
                // Those that tables start with are sources of partitions.
                4 if place >= first => return Self::Drop { place },
                _ => {}
            }
        }
    }

    /// What it does to the rows.
    pub fn apply(&self, state: &mut State) {
        match self {
            Self::Add { column, initial } => {
                state.columns.push(column.clone());
                for row in &mut state.rows {
                    row.push(initial.clone());
                }
            }
            Self::Rename { place, name } => state.columns[*place].name.clone_from(name),
            Self::Widen { place } => state.columns[*place].of = Of::Long,
            Self::Drop { place } => {
                state.columns.remove(*place);
                for row in &mut state.rows {
                    row.remove(*place);
                }
            }
        }
    }

    /// The same for a table.
    pub fn updates(&self, table: &Table) -> Vec<TableUpdate> {
        let metadata = table.metadata();
        let mut fields = metadata.current_schema().fields().to_vec();
        match self {
            Self::Add { column, initial } => {
                let id = metadata.last_column_id() + 1;
                let mut field = NestedField::optional(id, column.name.clone(), column.of.primitive());
                field.initial_default = initial.as_ref().map(|value| value.stored(column.of));
                field.write_default = column.default.as_ref().map(|value| value.stored(column.of));
                fields.push(field);
            }
            Self::Rename { place, name } => fields[*place].name.clone_from(name),
            Self::Widen { place } => {
                let field = &mut fields[*place];
                field.field_type = Of::Long.primitive().into();
                let wider = |value: &drumlin_format::value::Value| match value {
                    drumlin_format::value::Value::Int(value) => {
                        drumlin_format::value::Value::Long(i64::from(*value))
                    }
                    other => other.clone(),
                };
                field.initial_default = field.initial_default.as_ref().map(wider);
                field.write_default = field.write_default.as_ref().map(wider);
            }
            Self::Drop { place } => drop(fields.remove(*place)),
        }
        let schema = Schema::new(0, fields, vec![]).unwrap();
        vec![
            TableUpdate::AddSchema(Arc::new(schema)),
            TableUpdate::SetCurrentSchema(LAST_ADDED),
        ]
    }
}

/// Some partition spec, whose fields have this number in their names; perhaps without fields.
pub fn spec(number: usize, random: &mut Random) -> Vec<TableUpdate> {
    let kinds: [&[(i32, Transform)]; 10] = [
        &[],
        &[(8, Transform::Identity)],
        &[(8, Transform::Identity)],
        &[(2, Transform::Bucket(3))],
        &[(7, Transform::Month)],
        &[(6, Transform::Year)],
        &[(4, Transform::Truncate(1))],
        &[(8, Transform::Identity), (3, Transform::Bucket(2))],
        &[(2, Transform::Truncate(5))],
        &[(6, Transform::Day)],
    ];
    let field = |(place, (source, transform)): (usize, &(i32, Transform))| UnboundPartitionField {
        source_ids: vec![*source],
        field_id: None,
        name: format!("f{number}_{place}"),
        transform: transform.clone(),
    };
    let fields = random.pick(&kinds).iter().enumerate().map(field).collect();
    vec![
        TableUpdate::AddSpec(UnboundPartitionSpec {
            spec_id: None,
            fields,
        }),
        TableUpdate::SetDefaultSpec(LAST_ADDED),
    ]
}

/// Properties that say how each kind of statement writes.
pub fn modes(merge_on_read: impl Fn(&mut Random) -> bool, random: &mut Random) -> BTreeMap<String, String> {
    let mut properties = BTreeMap::new();
    for statement in ["delete", "update", "merge"] {
        let mode = match merge_on_read(random) {
            true => "merge-on-read",
            false => "copy-on-write",
        };
        properties.insert(format!("write.{statement}.mode"), mode.to_string());
    }
    let granularity = *random.pick(&["file", "partition"]);
    properties.insert("write.delete.granularity".to_string(), granularity.to_string());
    properties
}

//! Random schemas, partition specs, and how they change.

use drumlin_format::metadata::{UnboundPartitionField, UnboundPartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::transform::Transform;
use drumlin_format::types::PrimitiveType as P;
use drumlin_format::types::{NestedField, StructType, Type};
use drumlin_testing::rows;

use super::value::{Habit, primitive};
use crate::random::Random;

/// The column that numbers the rows: always there, never changed.
pub const ROW: &str = "row";

/// Columns and spec of a table that changes.
pub struct Evolution<'r> {
    pub random: &'r mut Random,
    pub version: u8,
    /// The next field id.
    pub next_id: i32,
    /// The next number for names.
    pub next_name: usize,
    /// Names that are free again.
    pub dropped_names: Vec<String>,
    /// All columns that any spec has ever had as source.
    pub sources: Vec<i32>,
}

impl Evolution<'_> {
    /// The first schema. Ids are given level by level, as a new table does.
    pub fn first_schema(&mut self) -> Schema {
        let mut fields = vec![NestedField::required(1, ROW, P::Long)];
        let columns = 4 + i32::try_from(self.random.below(5)).unwrap();
        self.next_id = columns + 2;
        for id in 2..columns + 2 {
            let name = self.name();
            let of = if self.random.percent(25) {
                let inner = (0..1 + self.random.below(3)).map(|_| self.optional()).collect();
                Type::Struct(StructType::new(inner))
            } else {
                Type::Primitive(self.primitive())
            };
            let mut field = NestedField::optional(id, name, of);
            field.required = self.random.percent(15);
            fields.push(field);
        }
        Schema::new(0, fields, vec![]).unwrap()
    }

    /// The schema after a few changes; columns of the current spec stay.
    pub fn change(&mut self, schema: &Schema, spec_sources: &[i32]) -> Schema {
        let mut fields = schema.fields().to_vec();
        for _ in 0..1 + self.random.below(3) {
            let place = 1 + self.random.below(fields.len() - 1);
            match self.random.below(8) {
                0 | 1 => {
                    let added = self.added();
                    fields.insert(place, added);
                }
                2 => {
                    let lost = |id: i32| schema.path_to(id).contains(&fields[place].id);
                    if fields.len() > 4 && !spec_sources.iter().any(|id| lost(*id)) {
                        self.dropped_names.push(fields.remove(place).name);
                    }
                }
                3 => fields[place].name = self.name(),
                4 => {
                    let moved = fields.remove(place);
                    fields.push(moved);
                }
                5 if fields[place].required => fields[place].required = false,
                _ => self.promote(&mut fields[place]),
            }
        }
        Schema::new(0, fields, vec![]).unwrap()
    }

    fn promote(&mut self, field: &mut NestedField) {
        let partitioned = self.sources.contains(&field.id);
        let promoted = match &field.field_type {
            Type::Primitive(P::Int) => P::Long,
            Type::Primitive(P::Float) => P::Double,
            Type::Primitive(P::Decimal { precision, scale }) => P::Decimal {
                precision: (precision + 5).min(38),
                scale: *scale,
            },
            Type::Primitive(P::Date) if self.version >= 3 && !partitioned => {
                self.random.pick(&[P::Timestamp, P::TimestampNs]).clone()
            }
            Type::Struct(inner) => {
                let mut fields = inner.fields().to_vec();
                if self.random.percent(30) {
                    let added = self.added();
                    fields.push(added);
                } else if self.random.percent(30) {
                    let place = self.random.below(fields.len());
                    fields[place].name = self.name();
                } else {
                    let place = self.random.below(fields.len());
                    self.promote(&mut fields[place]);
                }
                field.field_type = Type::Struct(StructType::new(fields));
                return;
            }
            _ => return,
        };
        field.field_type = Type::Primitive(promoted);
        // Defaults are of the new type then; leave them out rather than convert them here.
        if let Some(value) = &field.initial_default {
            field.initial_default = rows::promoted(value, &field.field_type);
            field.write_default = field.initial_default.clone();
        }
    }

    /// A column for files that do not hold it.
    fn added(&mut self) -> NestedField {
        let mut field = self.optional();
        let Type::Primitive(of) = &field.field_type else {
            return field;
        };
        if self.version >= 3 && self.random.percent(70) {
            let habit = Habit::random(self.random);
            let default = primitive(of, habit, self.random);
            // JSON has no NaN and no infinity.
            let number = |v: &drumlin_format::value::Value| {
                use drumlin_format::value::Value as V;
                match v {
                    V::Float(v) => v.is_finite(),
                    V::Double(v) => v.is_finite(),
                    _ => true,
                }
            };
            if number(&default) {
                field.required = self.random.percent(30);
                field.initial_default = Some(default.clone());
                field.write_default = Some(default);
            }
        }
        field
    }

    fn optional(&mut self) -> NestedField {
        let id = self.next_id;
        self.next_id += 1;
        let name = self.name();
        NestedField::optional(id, name, self.primitive())
    }

    fn name(&mut self) -> String {
        if !self.dropped_names.is_empty() && self.random.percent(50) {
            return self.dropped_names.remove(0);
        }
        self.next_name += 1;
        format!("c{}", self.next_name)
    }

    fn primitive(&mut self) -> P {
        let mut types = vec![
            P::Boolean,
            P::Int,
            P::Int,
            P::Long,
            P::Float,
            P::Double,
            P::Double,
            P::Decimal {
                precision: 9,
                scale: 2,
            },
            P::Decimal {
                precision: 18,
                scale: 3,
            },
            P::Decimal {
                precision: 25,
                scale: 0,
            },
            P::Date,
            P::Date,
            P::Time,
            P::Timestamp,
            P::Timestamptz,
            P::String,
            P::String,
            P::Binary,
            P::Uuid,
            P::Fixed(4),
        ];
        if self.version >= 3 {
            types.extend([P::TimestampNs, P::TimestamptzNs]);
        }
        self.random.pick(&types).clone()
    }

    /// A spec over the columns of the schema. In version 1 the fields of the spec before stay, perhaps as void.
    pub fn spec(&mut self, schema: &Schema, before: &[UnboundPartitionField]) -> UnboundPartitionSpec {
        let mut fields: Vec<UnboundPartitionField> = Vec::new();
        if self.version == 1 {
            fields = before.to_vec();
            for field in &mut fields {
                if self.random.percent(50) && field.transform != Transform::Void {
                    field.transform = Transform::Void;
                    self.next_name += 1;
                    field.name = format!("v{}", self.next_name);
                }
            }
        }
        let mut leaves: Vec<(i32, P)> = schema
            .field_ids()
            .filter(|id| schema.name_of(*id) != Some(ROW))
            .filter_map(|id| Some((id, schema.field_by_id(id)?.field_type.as_primitive()?.clone())))
            .collect();
        leaves.sort_by_key(|(id, _)| *id);
        for _ in 0..*self.random.pick(&[0, 1, 1, 1, 2]) {
            let (id, of) = self.random.pick(&leaves).clone();
            let transform = self.transform(&of);
            if fields.iter().any(|f| f.source_ids == [id]) || transform.result_type(&of).is_none() {
                continue;
            }
            self.next_name += 1;
            self.sources.push(id);
            fields.push(UnboundPartitionField {
                source_ids: vec![id],
                field_id: None,
                name: format!("p{}", self.next_name),
                transform,
            });
        }
        UnboundPartitionSpec {
            spec_id: None,
            fields,
        }
    }

    fn transform(&mut self, of: &P) -> Transform {
        let width = u32::try_from(1 + self.random.below(9)).unwrap();
        let all = [
            Transform::Identity,
            Transform::Bucket(width),
            Transform::Truncate(width),
            Transform::Year,
            Transform::Month,
            Transform::Day,
            Transform::Hour,
            Transform::Identity,
            Transform::Void,
        ];
        let able: Vec<_> = all.into_iter().filter(|t| t.result_type(of).is_some()).collect();
        self.random.pick(&able).clone()
    }
}

//! Columns, partitions and values of the tables, and how they change.

use drumlin_format::metadata::{UnboundPartitionField, UnboundPartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::transform::Transform;
use drumlin_format::types::PrimitiveType as P;
use drumlin_format::types::{NestedField, StructType, Type};
use drumlin_format::value::Value;
use drumlin_testing::Row;

use crate::random::Random;

/// The column that numbers the rows: required, never changed.
pub const ID: i32 = 1;
/// A column that is never changed.
pub const AMOUNT: i32 = 2;

/// The columns that every table starts with.
pub fn first_schema() -> Schema {
    let decimal = P::Decimal {
        precision: 9,
        scale: 2,
    };
    let nested = StructType::new(vec![
        NestedField::optional(9, "x", P::Int),
        NestedField::optional(10, "y", P::String),
    ]);
    let fields = vec![
        NestedField::required(ID, "id", P::Long),
        NestedField::optional(AMOUNT, "amount", P::Long),
        NestedField::optional(3, "k", P::Int),
        NestedField::optional(4, "s", P::String),
        NestedField::optional(5, "d", decimal),
        NestedField::optional(6, "p", P::Int),
        NestedField::optional(7, "n", nested),
        NestedField::optional(8, "day", P::Date),
    ];
    Schema::new(0, fields, vec![]).unwrap()
}

/// Names and ids for columns that are added or renamed.
#[derive(Debug, Default)]
pub struct Names {
    /// The last number that a name has got.
    last: usize,
    /// Names that are free again.
    dropped: Vec<String>,
}

impl Names {
    fn next(&mut self, random: &mut Random) -> String {
        if !self.dropped.is_empty() && random.percent(60) {
            return self.dropped.remove(0);
        }
        self.last += 1;
        format!("c{}", self.last)
    }
}

/// The schema after a change, and what it was. The sources of the current spec stay.
pub fn change(
    schema: &Schema,
    version: u8,
    next_id: i32,
    spec_sources: &[i32],
    names: &mut Names,
    random: &mut Random,
) -> (Schema, String) {
    let mut fields = schema.fields().to_vec();
    let place = 2 + random.below(fields.len() - 2);
    let is_source = spec_sources.contains(&fields[place].id);
    let columns = fields.len();
    let field = &mut fields[place];
    let told = match random.below(8) {
        0 | 1 => {
            let before = std::mem::replace(&mut field.name, names.next(random));
            names.dropped.push(before.clone());
            format!("rename {before} to {}", field.name)
        }
        2 | 3 if columns > 4 && !is_source => {
            let dropped = fields.remove(place).name;
            let told = format!("drop {dropped}");
            names.dropped.push(dropped);
            told
        }
        4 | 5 => {
            let (added, told) = added(version, next_id, names, random);
            fields.insert(place, added);
            told
        }
        _ => {
            promote(field, random);
            format!("promote {} to {}", field.name, field.field_type)
        }
    };
    (Schema::new(0, fields, vec![]).unwrap(), told)
}

fn added(version: u8, id: i32, names: &mut Names, random: &mut Random) -> (NestedField, String) {
    let of = random.pick(&[P::Int, P::Long, P::String]).clone();
    let mut field = NestedField::optional(id, names.next(random), of);
    if version >= 3 && random.percent(70) {
        field.initial_default = value(&field.field_type, 0, random);
        field.write_default = field.initial_default.clone();
        field.required = random.percent(20);
    }
    let told = format!(
        "add {} {} {:?} (id {id})",
        field.name, field.field_type, field.initial_default
    );
    (field, told)
}

fn promote(field: &mut NestedField, random: &mut Random) {
    match &field.field_type {
        Type::Primitive(P::Int) => {
            field.field_type = P::Long.into();
            let wider = |value: &Value| match value {
                Value::Int(value) => Value::Long(i64::from(*value)),
                other => other.clone(),
            };
            field.initial_default = field.initial_default.as_ref().map(wider);
            field.write_default = field.initial_default.clone();
        }
        Type::Primitive(P::Decimal { precision, scale }) => {
            field.field_type = Type::Primitive(P::Decimal {
                precision: (precision + 5).min(38),
                scale: *scale,
            });
        }
        Type::Struct(inner) => {
            let mut inner = inner.fields().to_vec();
            let place = random.below(inner.len());
            if random.percent(50) {
                promote(&mut inner[place], random);
            } else {
                inner[place].name = format!("{}r", inner[place].name);
            }
            field.field_type = StructType::new(inner).into();
        }
        _ => {}
    }
}

/// A partition spec over the columns that are there, perhaps without fields.
pub fn spec(schema: &Schema, number: usize, random: &mut Random) -> UnboundPartitionSpec {
    let width = u32::try_from(2 + random.below(2)).unwrap();
    let kinds: [&[(i32, Transform)]; 7] = [
        &[],
        &[(6, Transform::Identity)],
        &[(6, Transform::Identity)],
        &[(3, Transform::Bucket(width))],
        &[(4, Transform::Bucket(width))],
        &[(4, Transform::Truncate(1))],
        &[(6, Transform::Identity), (3, Transform::Bucket(2))],
    ];
    let field = |(place, (source, transform)): (usize, &(i32, Transform))| {
        schema.field_by_id(*source)?;
        Some(UnboundPartitionField {
            source_ids: vec![*source],
            field_id: None,
            name: format!("p{number}_{place}"),
            transform: transform.clone(),
        })
    };
    UnboundPartitionSpec {
        spec_id: None,
        fields: random.pick(&kinds).iter().enumerate().filter_map(field).collect(),
    }
}

/// A row whose number is `id`.
pub fn row(schema: &Schema, id: i64, random: &mut Random) -> Row {
    let mut row = Row::new();
    for field in schema.fields() {
        let value = match field.id {
            ID => Some(Value::Long(id)),
            AMOUNT if random.percent(90) => Some(Value::Long(random.between(0, 99))),
            _ => value(&field.field_type, if field.required { 0 } else { 15 }, random),
        };
        row.insert(field.id, value);
    }
    row
}

/// One of few values, so that deletes meet them.
pub fn value(of: &Type, nulls: u64, random: &mut Random) -> Option<Value> {
    if random.percent(nulls) {
        return None;
    }
    let small = random.between(0, 4);
    Some(match of {
        Type::Primitive(P::Int) => Value::Int(i32::try_from(small).unwrap()),
        Type::Primitive(P::Date) => Value::Int(i32::try_from(19_000 + small).unwrap()),
        Type::Primitive(P::Long) => Value::Long(small),
        Type::Primitive(P::Decimal { .. }) => Value::Decimal(i128::from(small) * 50 - 100),
        Type::Primitive(P::String) => {
            let texts = [
                "",
                "a",
                "ab",
                "é",
                "it's",
                "a long text that views do not hold inline",
            ];
            Value::String((*random.pick(&texts)).to_string())
        }
        Type::Struct(inner) => {
            let fields = inner.fields().iter();
            Value::Struct(
                fields
                    .map(|f| (f.id, value(&f.field_type, nulls, random)))
                    .collect(),
            )
        }
        other => panic!("no values of {other} are made"),
    })
}

/// Fields that can be keys of equality deletes: primitive ones at any depth, in the order of their ids.
pub fn key_fields(schema: &Schema) -> Vec<i32> {
    let is_key = |id: &i32| {
        let field = schema.field_by_id(*id).unwrap();
        *id != AMOUNT && field.field_type.as_primitive().is_some()
    };
    let mut ids: Vec<i32> = schema.field_ids().filter(is_key).collect();
    ids.sort_unstable();
    ids
}

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation
)]

mod expression;
mod files;
mod inclusive;
mod projection;
mod random;
mod residual;
mod strict;

use drumlin_format::partition::{PartitionField, PartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::types::{ListType, NestedField, PrimitiveType, StructType};
use drumlin_format::value::Value;

use super::*;

/// A column of every type that has an order; ids count from 1. Field 21 is inside the struct 20, 31 inside a list.
fn schema() -> Schema {
    let mut fields: Vec<NestedField> = random::TYPES
        .iter()
        .zip(1..)
        .map(|(p, id)| NestedField::optional(id, format!("c{id}"), p.clone()))
        .collect();
    let inner = StructType::new(vec![NestedField::optional(21, "inner", PrimitiveType::Int)]);
    fields.push(NestedField::optional(20, "s", inner));
    fields.push(NestedField::optional(
        30,
        "l",
        ListType::new(31, PrimitiveType::Int, false),
    ));
    Schema::new(0, fields, vec![]).unwrap()
}

fn field(id: i32) -> FieldRef {
    FieldRef::new(&schema(), id).unwrap()
}

/// The column of this type.
fn of_type(primitive: &PrimitiveType) -> FieldRef {
    let position = random::TYPES.iter().position(|p| p == primitive).unwrap();
    field(i32::try_from(position).unwrap() + 1)
}

fn spec(fields: &[(i32, &str)]) -> PartitionSpec {
    let fields = fields
        .iter()
        .zip(1000..)
        .map(|((source, transform), id)| PartitionField {
            source_ids: vec![*source],
            field_id: id,
            name: format!("p{id}"),
            transform: transform.parse().unwrap(),
        });
    PartitionSpec::new(0, fields.collect())
}

fn text(s: &str) -> Value {
    Value::String(s.into())
}

#[test]
fn only_primitive_fields_outside_lists_and_maps_have_references() {
    let schema = schema();
    assert!(!FieldRef::new(&schema, 1).unwrap().is_nested());
    let inner = FieldRef::new(&schema, 21).unwrap();
    assert!(inner.is_nested());
    assert_eq!(inner.name(), "s.inner");
    assert_eq!(FieldRef::new(&schema, 20), Err(NotFilterable::Nested("s".into())));
    assert_eq!(
        FieldRef::new(&schema, 31),
        Err(NotFilterable::Repeated("l.element".into()))
    );
    assert!(matches!(
        FieldRef::new(&schema, 99),
        Err(NotFilterable::Unknown { .. })
    ));
}

#[test]
fn builders_flatten_and_drop_constants() {
    let a = || Predicate::is_null(field(1));
    let b = || Predicate::not_null(field(2));
    assert_eq!(a().and(Predicate::AlwaysTrue), a());
    assert_eq!(a().and(Predicate::AlwaysFalse), Predicate::AlwaysFalse);
    assert_eq!(a().or(Predicate::AlwaysFalse), a());
    assert_eq!(a().or(Predicate::AlwaysTrue), Predicate::AlwaysTrue);
    assert_eq!(a().and(b()).and(a()), Predicate::And(vec![a(), b(), a()]));
    assert_eq!(
        a().and(b()).negate(),
        Predicate::Or(vec![Predicate::not_null(field(1)), Predicate::is_null(field(2))])
    );
    assert_eq!(Predicate::<FieldRef>::all([]), Predicate::AlwaysTrue);
    assert_eq!(Predicate::<FieldRef>::any([]), Predicate::AlwaysFalse);
    assert_eq!(Predicate::is_in(field(1), []), Predicate::AlwaysFalse);
}

#[test]
fn predicates_read_like_sql() {
    let date = of_type(&PrimitiveType::Date);
    let name = of_type(&PrimitiveType::String);
    let double = of_type(&PrimitiveType::Double);
    let predicate = Predicate::ge(date.clone(), Value::Int(19_000)).and(
        Predicate::starts_with(name.clone(), "it's")
            .or(Predicate::is_in(
                double.clone(),
                [1.5, -0.0, f64::NAN].map(Value::Double),
            ))
            .or(Predicate::not_nan(double.clone())),
    );
    assert_eq!(
        predicate.to_string(),
        format!(
            "({date} >= '2022-01-08' AND (starts_with({name}, 'it''s') OR {double} IN (-0.0, 1.5, NaN) OR NOT isnan({double})))"
        )
    );
    let many = Predicate::not_in(field(1), (0..100).map(Value::Int));
    assert_eq!(
        many.to_string(),
        "c1 NOT IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 100 in all)"
    );
}

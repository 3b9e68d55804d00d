#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::types::{ListType, PrimitiveType as P};

fn nested() -> Schema {
    let inner = StructType::new(vec![
        NestedField::required(3, "x", P::Int),
        NestedField::optional(4, "l", ListType::new(5, P::Double, false)),
    ]);
    Schema::new(
        7,
        vec![
            NestedField::required(1, "id", P::Long),
            NestedField::required(2, "s", inner),
        ],
        vec![1, 3],
    )
    .unwrap()
}

#[test]
fn fields_are_found_by_id_and_by_name() {
    let schema = nested();
    assert_eq!(schema.name_of(5), Some("s.l.element"));
    assert_eq!(schema.field_by_name("s.x").unwrap().id, 3);
    assert_eq!(schema.path_to(5), vec![2, 4, 5]);
    assert!(schema.is_repeated(5) && !schema.is_repeated(4));
    assert_eq!(schema.highest_field_id(), 5);
}

#[test]
fn json_reads_back() {
    let schema = nested();
    let json = schema.to_json().unwrap();
    assert_eq!(Schema::from_json(&json, 0, "schema").unwrap(), schema);
}

#[test]
fn broken_schemas_are_refused() {
    let twice = vec![
        NestedField::optional(1, "a", P::Int),
        NestedField::optional(1, "b", P::Int),
    ];
    assert!(Schema::new(0, twice, vec![]).is_err());
    let same_name = vec![
        NestedField::optional(1, "a", P::Int),
        NestedField::optional(2, "a", P::Int),
    ];
    assert!(Schema::new(0, same_name, vec![]).is_err());
    for (field, id) in [
        (NestedField::optional(1, "a", P::Int), 1),
        (NestedField::required(1, "a", P::Double), 1),
        (NestedField::required(1, "a", P::Int), 2),
        (NestedField::required(1, "a", ListType::new(2, P::Int, true)), 2),
    ] {
        assert!(Schema::new(0, vec![field], vec![id]).is_err());
    }
}

#[test]
fn later_types_need_a_later_version() {
    let schema = Schema::new(0, vec![NestedField::optional(1, "v", P::Variant)], vec![]).unwrap();
    assert!(schema.check_format_version(3).is_ok());
    assert!(
        schema
            .check_format_version(2)
            .unwrap_err()
            .to_string()
            .contains("variant")
    );
}

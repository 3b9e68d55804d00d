#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::types::{ListType, MapType, PrimitiveType as P, StructType};

const TEXT: &str = r#"[
    {"field-id": 1, "names": ["id", "record.id"]},
    {"names": ["gone"]},
    {"field-id": 3, "names": ["l"], "fields": [{"field-id": 4, "names": ["element"], "fields": [
        {"field-id": 5, "names": ["x"]}]}]}
]"#;

#[test]
fn paths_of_names_find_fields() {
    let mapping = NameMapping::from_json_text(TEXT).unwrap();
    let id = |path: &[&str]| mapping.find(path).map(|f| f.field_id);
    assert_eq!(id(&["id"]), Some(Some(1)));
    assert_eq!(id(&["record.id"]), Some(Some(1)));
    assert_eq!(id(&["record", "id"]), None);
    assert_eq!(id(&["gone"]), Some(None));
    assert_eq!(id(&["l", "element", "x"]), Some(Some(5)));
    assert_eq!(id(&["l", "x"]), None);
    assert_eq!(id(&[]), None);
}

#[test]
fn mappings_read_back() {
    let mapping = NameMapping::from_json_text(TEXT).unwrap();
    assert_eq!(
        NameMapping::from_json_text(&mapping.to_json_text()).unwrap(),
        mapping
    );
    let inner = StructType::new(vec![NestedField::required(3, "a.b", P::Int)]);
    let schema = Schema::new(
        0,
        vec![
            NestedField::optional(1, "s", inner),
            NestedField::optional(2, "l", ListType::new(4, P::Double, false)),
            NestedField::optional(5, "m", MapType::new(6, P::String, 7, P::Long, false)),
        ],
        vec![],
    )
    .unwrap();
    let mapping = NameMapping::of_schema(&schema);
    for (path, id) in [
        (vec!["s", "a.b"], 3),
        (vec!["l", "element"], 4),
        (vec!["m", "key"], 6),
        (vec!["m", "value"], 7),
    ] {
        assert_eq!(mapping.find(&path).unwrap().field_id, Some(id));
    }
    assert_eq!(
        NameMapping::from_json_text(&mapping.to_json_text()).unwrap(),
        mapping
    );
}

#[test]
fn broken_mappings_are_refused() {
    for (text, expect) in [
        ("{", "name mapping"),
        ("{}", "array"),
        (r#"[{"field-id": 1}]"#, "`names`"),
        (r#"[{"field-id": "1", "names": []}]"#, "`field-id`"),
        (
            r#"[{"names": ["a"], "fields": [{"names": [1]}]}]"#,
            "[0].fields[0]",
        ),
        (
            r#"[{"field-id": 1, "names": ["a"]}, {"field-id": 2, "names": ["b", "a"]}]"#,
            "`a`",
        ),
    ] {
        let error = NameMapping::from_json_text(text).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }
    let deep = format!(
        "{}{}",
        r#"[{"names":["a"],"fields":"#.repeat(500),
        "[]".to_string() + &"}]".repeat(500)
    );
    assert!(NameMapping::from_json_text(&deep).is_err());
}

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[test]
fn text_of_every_primitive_reads_back() {
    for text in [
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "decimal(9, 2)",
        "date",
        "time",
        "timestamp",
        "timestamptz",
        "timestamp_ns",
        "timestamptz_ns",
        "string",
        "uuid",
        "fixed[16]",
        "binary",
        "unknown",
        "variant",
        "geometry",
        "geometry(srid:4326)",
        "geography",
        "geography(srid:4326)",
        "geography(srid:4326, karney)",
    ] {
        let parsed: PrimitiveType = text.parse().unwrap();
        assert_eq!(parsed.to_string(), text);
    }
    assert_eq!(
        "decimal(9,2)".parse::<PrimitiveType>().unwrap(),
        PrimitiveType::Decimal {
            precision: 9,
            scale: 2
        }
    );
}

#[test]
fn bad_types_are_refused() {
    for text in [
        "decimal",
        "decimal(39,2)",
        "decimal(0,0)",
        "decimal(5,6)",
        "decimal(9,2",
        "fixed",
        "fixed[-1]",
        "fixed[99999999999]",
        "int(4)",
        "money",
        "",
        "geography(x, wrong)",
    ] {
        assert!(text.parse::<PrimitiveType>().is_err(), "{text}");
    }
}

#[test]
fn nested_types_read_back_from_json() {
    let json = serde_json::json!({
        "type": "struct",
        "fields": [
            {"id": 1, "name": "a.b", "required": true, "type": "int", "doc": "d",
             "initial-default": 5, "write-default": 6},
            {"id": 2, "name": "m", "required": false, "type": {
                "type": "map", "key-id": 3, "key": "string", "value-id": 4, "value-required": false,
                "value": {"type": "list", "element-id": 5, "element-required": true, "element": "decimal(9, 2)"}}},
        ],
    });
    let parsed = Type::from_json(&json, "x").unwrap();
    assert_eq!(parsed.to_json().unwrap(), json);
    assert_eq!(
        parsed.to_string(),
        "struct<a.b: int, m: map<string, list<decimal(9, 2)>>>"
    );
}

#[test]
fn endless_nesting_is_refused() {
    let mut json = serde_json::json!("int");
    for _ in 0..100 {
        json =
            serde_json::json!({"type": "list", "element-id": 1, "element-required": true, "element": json});
    }
    let error = Type::from_json(&json, "schema").unwrap_err().to_string();
    assert!(error.contains("nested deeper"), "{error}");
}

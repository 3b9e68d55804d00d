#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use super::*;

#[test]
fn specs_read_back_from_json() {
    let json = json!({"spec-id": 3, "fields": [
        {"name": "a_bucket", "transform": "bucket[16]", "source-id": 1, "field-id": 1000},
        {"name": "z", "transform": "zorder[2]", "source-ids": [1, 2], "field-id": 1005},
    ]});
    let spec = PartitionSpec::from_json(&json, "x").unwrap();
    assert_eq!(spec.to_json(), json);
    assert_eq!(spec.highest_field_id(), 1005);
    assert_eq!(spec.fields()[1].transform, Transform::Unknown("zorder[2]".into()));
}

#[test]
fn missing_ids_count_up_from_1000() {
    let fields = json!([
        {"name": "a", "transform": "identity", "source-id": 1},
        {"name": "b", "transform": "VOID", "source-id": 2},
    ]);
    let fields = json::fields_from_json(&fields, "x").unwrap();
    assert_eq!(
        fields.iter().map(|f| f.field_id).collect::<Vec<_>>(),
        [1000, 1001]
    );
    assert_eq!(fields[1].transform, Transform::Void);
}

#[test]
fn a_dropped_source_leaves_an_unknown_type() {
    let schema = Schema::new(
        0,
        vec![NestedField::optional(1, "a", PrimitiveType::Timestamp)],
        vec![],
    )
    .unwrap();
    let field = |source, transform| PartitionField {
        source_ids: vec![source],
        field_id: 1000,
        name: "f".into(),
        transform,
    };
    assert_eq!(
        field(1, Transform::Day).result_type(&schema),
        Some(PrimitiveType::Date)
    );
    assert_eq!(field(9, Transform::Day).result_type(&schema), None);
    let spec = PartitionSpec::new(0, vec![field(9, Transform::Day)]);
    assert_eq!(
        spec.partition_type(&schema).fields()[0].field_type,
        PrimitiveType::Unknown.into()
    );
}

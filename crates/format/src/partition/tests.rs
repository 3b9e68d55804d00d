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

#[test]
fn partition_paths_are_readable_and_encoded() {
    let text =
        |transform: Transform, value, result: &PrimitiveType| transform.to_human_text(Some(&value), result);
    let int = &PrimitiveType::Int;
    assert_eq!(text(Transform::Year, Value::Int(54), int), "2024");
    assert_eq!(text(Transform::Year, Value::Int(-1), int), "1969");
    assert_eq!(text(Transform::Month, Value::Int(649), int), "2024-02");
    assert_eq!(text(Transform::Month, Value::Int(-1), int), "1969-12");
    assert_eq!(
        text(Transform::Day, Value::Int(17_486), &PrimitiveType::Date),
        "2017-11-16"
    );
    assert_eq!(
        text(Transform::Day, Value::Int(-1), &PrimitiveType::Date),
        "1969-12-31"
    );
    assert_eq!(text(Transform::Hour, Value::Int(419_686), int), "2017-11-16-22");
    assert_eq!(text(Transform::Hour, Value::Int(-1), int), "1969-12-31-23");
    for (bytes, base64) in [
        (&b""[..], ""),
        (b"f", "Zg=="),
        (b"fo", "Zm8="),
        (b"foo", "Zm9v"),
        (b"\xff\xfe\xfd!", "//79IQ=="),
    ] {
        let value = Value::Bytes(bytes.to_vec());
        assert_eq!(text(Transform::Identity, value, &PrimitiveType::Binary), base64);
    }
    let field = |name: &str, source| PartitionField {
        source_ids: vec![source],
        field_id: 999 + source,
        name: name.into(),
        transform: Transform::Identity,
    };
    let spec = PartitionSpec::new(
        0,
        vec![field("a b", 1), field("c", 2), field("d", 3), field("é", 4)],
    );
    let string = |s: &str| Some(Value::String(s.into()));
    let tuple = vec![string("x/y z"), None, string(""), Some(Value::Decimal(-5))];
    let results = [
        PrimitiveType::String,
        PrimitiveType::String,
        PrimitiveType::String,
        PrimitiveType::Decimal {
            precision: 9,
            scale: 2,
        },
    ];
    assert_eq!(
        spec.partition_path(&tuple, &results),
        "a+b=x%2Fy+z/c=null/d=/%C3%A9=-0.05"
    );
    assert_eq!(PartitionSpec::unpartitioned(0).partition_path(&vec![], &[]), "");
}

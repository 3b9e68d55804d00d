use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::super::*;
use super::read::{golden, read};
use crate::error::Result;
use crate::schema::Schema;
use crate::snapshot::MAIN_BRANCH;
use crate::sort::{NullOrder, SortDirection, SortField, SortOrder};
use crate::transform::Transform;
use crate::types::{ListType, MapType, NestedField, PrimitiveType as P, StructType};

fn schema() -> Schema {
    let inner = StructType::new(vec![
        NestedField::required(11, "x", P::Int),
        NestedField::optional(12, "l", ListType::new(13, P::Double, false)),
    ]);
    Schema::new(
        5,
        vec![
            NestedField::optional(10, "s", inner),
            NestedField::optional(20, "m", MapType::new(21, P::String, 22, P::Long, false)),
            NestedField::required(30, "id", P::Long),
            NestedField::optional(40, "ts", P::Timestamp),
        ],
        vec![30],
    )
    .unwrap()
}

pub(super) fn field(source_id: i32, name: &str, transform: Transform) -> UnboundPartitionField {
    UnboundPartitionField {
        source_ids: vec![source_id],
        field_id: None,
        name: name.into(),
        transform,
    }
}

fn new_table(version: &str) -> NewTable {
    NewTable {
        location: "s3://b/t/".into(),
        schema: schema(),
        partition_spec: UnboundPartitionSpec {
            spec_id: None,
            fields: vec![
                field(40, "ts_day", Transform::Day),
                field(30, "id_bucket", Transform::Bucket(4)),
            ],
        },
        sort_order: SortOrder {
            order_id: 9,
            fields: vec![SortField {
                source_ids: vec![30],
                transform: Transform::Identity,
                direction: SortDirection::Ascending,
                null_order: NullOrder::First,
            }],
        },
        properties: BTreeMap::from([
            ("format-version".into(), version.into()),
            ("owner".into(), "me".into()),
        ]),
    }
}

fn created(version: &str) -> TableMetadata {
    TableMetadataBuilder::create(new_table(version))
        .unwrap()
        .build(1000)
        .unwrap()
}

fn change(base: TableMetadata, updates: Vec<Json>) -> Result<TableMetadata> {
    change_at(base, updates, 5000)
}

fn change_at(base: TableMetadata, updates: Vec<Json>, now_ms: i64) -> Result<TableMetadata> {
    let mut builder = TableMetadataBuilder::from(base, Some("s3://b/t/metadata/v1.metadata.json".into()));
    for update in updates {
        builder.apply(TableUpdate::from_json(&update)?)?;
    }
    builder.build(now_ms)
}

fn snapshot(id: i64, sequence_number: i64, timestamp_ms: i64) -> Json {
    json!({"action": "add-snapshot", "snapshot": {"snapshot-id": id, "sequence-number": sequence_number,
        "timestamp-ms": timestamp_ms, "manifest-list": "l", "summary": {"operation": "append"}}})
}

fn set_main(id: i64) -> Json {
    json!({"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": id})
}

fn log_of(metadata: &TableMetadata) -> Vec<(i64, i64)> {
    metadata
        .snapshot_log()
        .iter()
        .map(|e| (e.timestamp_ms, e.snapshot_id))
        .collect()
}

#[test]
fn new_tables_get_ids_level_by_level() {
    for version in ["1", "2", "3"] {
        let metadata = created(version);
        assert_eq!(metadata.format_version().to_string(), version);
        let id = |name: &str| metadata.current_schema().field_by_name(name).unwrap().id;
        let names = [
            "s",
            "m",
            "id",
            "ts",
            "s.x",
            "s.l",
            "s.l.element",
            "m.key",
            "m.value",
        ];
        assert_eq!(names.map(id), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(metadata.last_column_id(), 9);
        assert_eq!(metadata.current_schema().identifier_field_ids(), [3]);
        let spec = metadata.default_spec();
        let ids = spec.fields().iter().map(|f| (f.source_ids[0], f.field_id));
        assert_eq!(ids.collect::<Vec<_>>(), [(4, 1000), (3, 1001)]);
        assert_eq!(metadata.last_partition_id(), 1001);
        assert_eq!(
            (
                metadata.default_sort_order().order_id,
                metadata.default_sort_order().fields[0].source_ids[0]
            ),
            (1, 3)
        );
        assert_eq!(metadata.properties().len(), 1);
        assert_eq!(metadata.location(), "s3://b/t");
        assert!(metadata.table_uuid().is_some() && metadata.metadata_log().is_empty());
        assert_eq!(
            TableMetadata::from_bytes(&metadata.to_json_bytes().unwrap()).unwrap(),
            metadata
        );
    }
}

#[test]
fn replaced_columns_keep_their_ids_by_name() {
    let base = created("2");
    let (schema, _) =
        assign_fresh_ids(&schema(), Some(base.current_schema()), base.last_column_id()).unwrap();
    assert!(schema.same_columns(base.current_schema()));
    let wider = Schema::new(
        0,
        vec![
            NestedField::optional(1, "new", P::Int),
            NestedField::optional(2, "ts", P::String),
        ],
        vec![],
    );
    let (schema, _) = assign_fresh_ids(&wider.unwrap(), Some(base.current_schema()), 9).unwrap();
    assert_eq!(schema.fields().iter().map(|f| f.id).collect::<Vec<_>>(), [10, 4]);
    assert!(assign_fresh_ids(&schema, None, crate::schema::MAX_FIELD_ID - 1).is_err());
}

#[test]
fn broken_new_tables_are_refused() {
    let error = |change: fn(&mut NewTable)| {
        let mut table = new_table("2");
        change(&mut table);
        let built = TableMetadataBuilder::create(table).and_then(|b| b.build(0));
        built.unwrap_err().to_string()
    };
    let with = |change, expect: &str| {
        let error = error(change);
        assert!(error.contains(expect), "{error}");
    };
    with(|t| t.location.clear(), "location");
    with(
        |t| drop(t.properties.insert("uuid".into(), "x".into())),
        "`uuid` is reserved",
    );
    with(
        |t| drop(t.properties.insert("format-version".into(), "4".into())),
        "format version 4",
    );
    with(
        |t| drop(t.properties.insert("format-version".into(), "x".into())),
        "`x`",
    );
    with(|t| t.partition_spec.fields[0].source_ids = vec![99], "99");
    with(
        |t| t.partition_spec.fields[0].source_ids = vec![22],
        "list or map",
    );
    with(|t| t.partition_spec.fields[0].source_ids = vec![30], "day");
    with(
        |t| t.partition_spec.fields[0].name = "id".into(),
        "a column has this name",
    );
    with(
        |t| t.partition_spec.fields[0].name = "id_bucket".into(),
        "same name",
    );
    with(
        |t| t.partition_spec.fields[0].transform = Transform::Unknown("zorder".into()),
        "zorder",
    );
    with(
        |t| t.partition_spec.fields[1] = field(40, "ts_month", Transform::Month),
        "same column",
    );
    with(|t| t.sort_order.fields[0].source_ids = vec![99], "99");
    let variant = |t: &mut NewTable| {
        t.schema = Schema::new(0, vec![NestedField::optional(1, "v", P::Variant)], vec![]).unwrap();
        t.partition_spec = UnboundPartitionSpec::default();
        t.sort_order = SortOrder::unsorted();
    };
    with(variant, "variant");
    let nothing = TableMetadataBuilder::empty().build(0).unwrap_err().to_string();
    assert!(nothing.contains("location"), "{nothing}");
}

#[test]
fn equal_schemas_specs_and_orders_are_reused() {
    let base = created("2");
    let schema = base.current_schema().to_json().unwrap();
    let same = change(base.clone(), vec![
        json!({"action": "add-schema", "schema": schema}),
        json!({"action": "set-current-schema", "schema-id": -1}),
        json!({"action": "add-spec", "spec": UnboundPartitionSpec::from(base.default_spec().as_ref()).to_json()}),
        json!({"action": "set-default-spec", "spec-id": -1}),
        json!({"action": "add-sort-order", "sort-order": base.default_sort_order().to_json()}),
        json!({"action": "set-default-sort-order", "sort-order-id": -1}),
    ])
    .unwrap();
    assert_eq!(
        (
            same.schemas().len(),
            same.partition_specs().len(),
            same.sort_orders().len()
        ),
        (1, 1, 1)
    );
    let mut wider = schema;
    wider["fields"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": 10, "name": "n", "required": false, "type": "int"}));
    let wider = change(
        base.clone(),
        vec![
            json!({"action": "add-schema", "schema": wider}),
            json!({"action": "set-current-schema", "schema-id": -1}),
            json!({"action": "add-spec", "spec": {"fields": [
            {"name": "n", "transform": "identity", "source-id": 10},
            {"name": "day2", "transform": "day", "source-id": 4}]}}),
            json!({"action": "set-default-spec", "spec-id": -1}),
            json!({"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}}),
            json!({"action": "set-default-sort-order", "sort-order-id": -1}),
        ],
    )
    .unwrap();
    assert_eq!(wider.current_schema().schema_id(), 1);
    assert_eq!(wider.last_column_id(), 10);
    let ids: Vec<_> = wider.default_spec().fields().iter().map(|f| f.field_id).collect();
    assert_eq!((wider.default_spec().spec_id(), ids), (1, vec![1002, 1000]));
    assert_eq!(wider.default_sort_order().order_id, 0);
    // Going back to fewer columns does not bring ids back.
    let back = change(
        wider,
        vec![
            json!({"action": "set-current-schema", "schema-id": 0}),
            json!({"action": "set-default-spec", "spec-id": 0}),
        ],
    );
    assert_eq!(back.unwrap().last_column_id(), 10);
    let none = change(
        base,
        vec![json!({"action": "set-current-schema", "schema-id": -1})],
    );
    assert!(none.unwrap_err().to_string().contains("none was added"));
}

#[test]
fn the_default_spec_keeps_its_columns() {
    let base = created("2");
    let narrow =
        json!({"type": "struct", "fields": [{"id": 3, "name": "id", "required": true, "type": "long"}]});
    let error = change(
        base,
        vec![
            json!({"action": "add-schema", "schema": narrow}),
            json!({"action": "set-current-schema", "schema-id": -1}),
        ],
    );
    assert!(error.unwrap_err().to_string().contains("ts_day"));
}

#[test]
fn ids_of_version_1_are_positions() {
    let spec = |id: i32| {
        vec![json!({"action": "add-spec", "spec": {"fields": [
            {"name": "ts_day", "transform": "void", "source-id": 4, "field-id": 1000},
            {"name": "b", "transform": "bucket[8]", "source-id": 3, "field-id": id}]}})]
    };
    assert_eq!(
        change(created("1"), spec(1001)).unwrap().partition_specs().len(),
        2
    );
    assert!(
        change(created("1"), spec(1002))
            .unwrap_err()
            .to_string()
            .contains("1001")
    );
    assert!(
        change(created("2"), spec(1001))
            .unwrap_err()
            .to_string()
            .contains("another field of an older spec")
    );
    assert_eq!(
        change(created("2"), spec(1002)).unwrap().last_partition_id(),
        1002
    );
}

#[test]
fn a_commit_logs_its_last_snapshot_only() {
    let base = read(&golden(2)).unwrap();
    let next = change(
        base,
        vec![
            snapshot(13, 3, 4000),
            set_main(13),
            snapshot(14, 4, 4500),
            set_main(14),
        ],
    )
    .unwrap();
    assert_eq!(log_of(&next), [(1000, 11), (2000, 12), (4500, 14)]);
    assert_eq!((next.last_updated_ms(), next.last_sequence_number()), (4500, 4));
    assert_eq!(next.current_snapshot_id(), Some(14));
    assert_eq!(next.refs()[MAIN_BRANCH].snapshot_id, 14);
    assert_eq!(next.metadata_log().len(), 2);
    assert_eq!(next.metadata_log()[1].timestamp_ms, 3000);
    // To a branch: nothing is logged; back to an older one: at the time of the change.
    let branch = json!({"action": "set-snapshot-ref", "ref-name": "b", "type": "branch", "snapshot-id": 15});
    let next = change(next, vec![snapshot(15, 5, 5000), branch]).unwrap();
    assert_eq!(next.snapshot_log().len(), 3);
    let next = change_at(next, vec![set_main(11)], 6000).unwrap();
    assert_eq!(log_of(&next).last(), Some(&(6000, 11)));
}

#[test]
fn broken_snapshots_are_refused() {
    let base = || read(&golden(2)).unwrap();
    for (updates, expect) in [
        (vec![snapshot(12, 3, 4000)], "this id"),
        (vec![snapshot(0, 3, 4000)], "above 0"),
        (vec![snapshot(13, 2, 4000)], "above the table's last one, 2"),
        (vec![snapshot(13, 3, -57_001)], "more than a minute"),
        (vec![set_main(13)], "no snapshot 13"),
        (
            vec![json!({"action": "set-snapshot-ref", "ref-name": "main", "type": "tag", "snapshot-id": 11})],
            "branch",
        ),
    ] {
        let error = change(base(), updates).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }
    let v3 = || read(&golden(3)).unwrap();
    let with_rows = |first: i64, added: i64| {
        let mut json = snapshot(13, 3, 4000);
        json["snapshot"]["first-row-id"] = first.into();
        json["snapshot"]["added-rows"] = added.into();
        json
    };
    assert!(
        change(v3(), vec![snapshot(13, 3, 4000)])
            .unwrap_err()
            .to_string()
            .contains("first-row-id")
    );
    assert!(
        change(v3(), vec![with_rows(29, 1)])
            .unwrap_err()
            .to_string()
            .contains("next-row-id 30")
    );
    assert!(change(v3(), vec![with_rows(30, -1)]).is_err());
    assert!(change(v3(), vec![with_rows(i64::MAX, 1)]).is_err());
    assert_eq!(change(v3(), vec![with_rows(30, 5)]).unwrap().next_row_id(), 35);
    assert!(change(read(&golden(1)).unwrap(), vec![snapshot(13, 3, 4000)]).is_err());
}

#[test]
fn removed_snapshots_take_their_refs_statistics_and_history_with_them() {
    let base = || read(&golden(2)).unwrap();
    let first = change(
        base(),
        vec![json!({"action": "remove-snapshots", "snapshot-ids": [11, 99]})],
    )
    .unwrap();
    assert_eq!(log_of(&first), [(2000, 12)]);
    assert!(!first.refs().contains_key("first"));
    assert_eq!(first.statistics().len(), 1);
    let current = change(
        base(),
        vec![json!({"action": "remove-snapshots", "snapshot-ids": [12]})],
    )
    .unwrap();
    assert_eq!(current.current_snapshot_id(), None);
    assert!(current.snapshot_log().is_empty() && current.statistics().is_empty());
    assert!(current.partition_statistics().is_empty());
    assert!(current.snapshot_by_id(11).is_some());
    // A gap in the middle: times before it cannot be travelled to any more.
    let third = change(base(), vec![snapshot(13, 3, 4000), set_main(13)]).unwrap();
    let gap = change(
        third,
        vec![json!({"action": "remove-snapshots", "snapshot-ids": [12]})],
    )
    .unwrap();
    assert_eq!(log_of(&gap), [(4000, 13)]);
    let schema = change(
        base(),
        vec![json!({"action": "remove-schemas", "schema-ids": [0]})],
    );
    assert!(schema.unwrap_err().to_string().contains("snapshot 11"));
}

#[test]
fn versions_only_rise() {
    let v2 = change(
        read(&golden(1)).unwrap(),
        vec![json!({"action": "upgrade-format-version", "format-version": 2})],
    );
    let v2 = v2.unwrap();
    assert!(v2.table_uuid().is_some());
    assert_eq!(
        TableMetadata::from_bytes(&v2.to_json_bytes().unwrap()).unwrap(),
        v2
    );
    let v3 = change(
        v2,
        vec![json!({"action": "set-properties", "updates": {"format-version": "3", "a": "b"}})],
    )
    .unwrap();
    assert_eq!((v3.format_version(), v3.next_row_id()), (3, 0));
    assert_eq!(v3.properties().keys().collect::<Vec<_>>(), ["a"]);
    for version in [2, 4] {
        let update = json!({"action": "upgrade-format-version", "format-version": version});
        assert!(change(v3.clone(), vec![update]).is_err());
    }
}

#[test]
fn the_metadata_log_is_bounded() {
    let mut metadata = created("2");
    let max = json!({"action": "set-properties", "updates": {"write.metadata.previous-versions-max": "3"}});
    for i in 0..10 {
        metadata = change_at(metadata, vec![max.clone()], 2000 + i).unwrap();
    }
    let times: Vec<_> = metadata.metadata_log().iter().map(|e| e.timestamp_ms).collect();
    assert_eq!(times, [2006, 2007, 2008]);
    // Clocks that go back do not take the table back.
    assert_eq!(change_at(metadata, vec![], 5).unwrap().last_updated_ms(), 2009);
}

#[test]
fn a_catalog_makes_a_table_from_updates() {
    let mut builder = TableMetadataBuilder::create(new_table("3")).unwrap();
    let updates: Vec<_> = builder.updates().iter().map(|u| u.to_json().unwrap()).collect();
    builder
        .apply(TableUpdate::SetLocation("s3://b/t".into()))
        .unwrap();
    let mut server = TableMetadataBuilder::empty();
    for update in updates {
        server.apply(TableUpdate::from_json(&update).unwrap()).unwrap();
    }
    assert_eq!(server.build(7).unwrap(), builder.build(7).unwrap());
    let id = TableUpdate::AssignUuid(uuid::Uuid::from_u128(1));
    assert!(TableMetadataBuilder::from(created("2"), None).apply(id).is_err());
    let schema = Arc::new(schema());
    assert!(
        TableMetadataBuilder::empty()
            .apply(TableUpdate::AddSchema(schema))
            .is_ok()
    );
}

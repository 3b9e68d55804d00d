#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::error::Result;
use crate::types::{NestedField, PrimitiveType as P};

fn golden() -> Json {
    json!({
        "view-uuid": "fa6506c3-7681-40c8-86dc-e36561f83385", "format-version": 1, "location": "s3://b/v",
        "current-version-id": 2, "properties": {"comment": "daily"},
        "versions": [
            {"version-id": 1, "timestamp-ms": 1000, "schema-id": 1, "default-catalog": "prod",
                "default-namespace": ["default"], "summary": {"engine-name": "Spark"},
                "representations": [{"type": "sql", "sql": "SELECT 1 AS a", "dialect": "spark"}]},
            {"version-id": 2, "timestamp-ms": 2000, "schema-id": 1, "default-namespace": [], "summary": {},
                "representations": [{"type": "sql", "sql": "SELECT 2 AS a", "dialect": "Spark"},
                    {"type": "substrait", "plan": "AA=="}]},
        ],
        "schemas": [{"type": "struct", "schema-id": 1, "fields": [
            {"id": 1, "name": "a", "required": false, "type": "int"}]}],
        "version-log": [{"timestamp-ms": 1000, "version-id": 1}, {"timestamp-ms": 2000, "version-id": 2}],
    })
}

fn read(json: &Json) -> Result<ViewMetadata> {
    ViewMetadata::from_bytes(&serde_json::to_vec(json).unwrap())
}

fn version(sql: &str, dialect: &str) -> ViewVersion {
    ViewVersion {
        version_id: 0,
        schema_id: -1,
        timestamp_ms: 5000,
        summary: BTreeMap::new(),
        representations: vec![ViewRepresentation::Sql {
            sql: sql.into(),
            dialect: dialect.into(),
        }],
        default_catalog: None,
        default_namespace: vec!["n".into()],
    }
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(0, vec![NestedField::optional(1, "a", P::Int)], vec![]).unwrap())
}

fn replace(view: ViewMetadata, version: ViewVersion) -> Result<ViewMetadata> {
    let mut builder = ViewMetadataBuilder::from(view);
    builder.apply(ViewUpdate::AddSchema(schema()))?;
    builder.apply(ViewUpdate::AddVersion(version))?;
    builder.apply(ViewUpdate::SetCurrentVersion(-1))?;
    builder.build(7000)
}

fn created() -> ViewMetadata {
    let mut builder = ViewMetadataBuilder::empty();
    for update in [
        ViewUpdate::SetLocation("s3://b/v/".into()),
        ViewUpdate::AddSchema(schema()),
        ViewUpdate::AddVersion(version("SELECT 1", "drumlin")),
        ViewUpdate::SetCurrentVersion(-1),
    ] {
        builder.apply(update).unwrap();
    }
    builder.build(7000).unwrap()
}

#[test]
fn views_read_back_as_they_were() {
    let view = read(&golden()).unwrap();
    let written: Json = serde_json::from_slice(&view.to_json_bytes().unwrap()).unwrap();
    assert_eq!(written, golden());
    let current = view.current_version().unwrap();
    assert_eq!(current.sql("SPARK"), Some("SELECT 2 AS a"));
    assert_eq!(current.sql("trino"), None);
    assert_eq!(current.dialects().collect::<Vec<_>>(), ["spark"]);
}

#[test]
fn broken_views_are_refused() {
    for (key, value, expect) in [
        ("format-version", json!(2), "view format version 2"),
        ("current-version-id", json!(9), "`current-version-id`"),
        ("view-uuid", json!("x"), "`view-uuid`"),
        ("schemas", json!([]), "schema 1"),
        (
            "versions",
            json!([{"version-id": "x"}]),
            "`versions[0].version-id`",
        ),
        ("location", Json::Null, "`location`"),
    ] {
        let mut json = golden();
        json[key] = value;
        let error = read(&json).unwrap_err().to_string();
        assert!(error.contains(expect), "{key}: {error}");
    }
}

#[test]
fn equal_versions_are_reused_and_old_ones_dropped() {
    let mut view = created();
    assert_eq!((view.current_version_id(), view.version_log().len()), (1, 1));
    assert_eq!(view.location(), "s3://b/v");
    view = replace(view, version("SELECT 1", "drumlin")).unwrap();
    assert_eq!((view.versions().len(), view.version_log().len()), (1, 1));
    for i in 2..15 {
        view = replace(view, version(&format!("SELECT {i}"), "drumlin")).unwrap();
    }
    assert_eq!(view.current_version_id(), 14);
    let ids: Vec<_> = view.versions().iter().map(|v| v.version_id).collect();
    assert_eq!(ids, (5..15).collect::<Vec<_>>());
    assert_eq!((view.version_log().len(), view.schemas().len()), (10, 1));
    // Back to an old one, which then is kept whatever comes.
    view = replace(view, version("SELECT 5", "drumlin")).unwrap();
    assert_eq!(
        view.version_log().last(),
        Some(&ViewLogEntry {
            timestamp_ms: 7000,
            version_id: 5
        })
    );
    let mut builder = ViewMetadataBuilder::from(view);
    let one = BTreeMap::from([("version.history.num-entries".to_string(), "1".to_string())]);
    builder.apply(ViewUpdate::SetProperties(one)).unwrap();
    let view = builder.build(8000).unwrap();
    assert_eq!(
        (
            view.versions().len(),
            view.current_version_id(),
            view.version_log().len()
        ),
        (1, 5, 1)
    );
    assert_eq!(
        ViewMetadata::from_bytes(&view.to_json_bytes().unwrap()).unwrap(),
        view
    );
}

#[test]
fn broken_versions_are_refused() {
    let error = replace(created(), version("SELECT 1", "trino"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`drumlin`") && error.contains("replace.drop-dialect.allowed"),
        "{error}"
    );
    let mut twice = version("SELECT 1", "drumlin");
    twice.representations.push(ViewRepresentation::Sql {
        sql: "SELECT 2".into(),
        dialect: "DRUMLIN".into(),
    });
    assert!(
        replace(created(), twice)
            .unwrap_err()
            .to_string()
            .contains("two queries")
    );
    let mut none = version("SELECT 1", "drumlin");
    none.representations.clear();
    assert!(replace(created(), none).is_err());
    assert!(ViewMetadataBuilder::empty().build(0).is_err());
    let mut builder = ViewMetadataBuilder::from(created());
    assert!(builder.apply(ViewUpdate::AssignUuid(Uuid::from_u128(1))).is_err());
    assert!(builder.apply(ViewUpdate::SetCurrentVersion(7)).is_err());
    assert!(
        builder
            .apply(ViewUpdate::AddVersion(version("SELECT 1", "x")))
            .is_err()
    );
}

#[test]
fn updates_and_requirements_read_back_from_json() {
    let view = golden();
    for json in [
        json!({"action": "assign-uuid", "uuid": view["view-uuid"]}),
        json!({"action": "set-location", "location": "s3://b/v"}),
        json!({"action": "set-properties", "updates": {"a": "b"}}),
        json!({"action": "remove-properties", "removals": ["a"]}),
        json!({"action": "add-schema", "schema": view["schemas"][0]}),
        json!({"action": "add-view-version", "view-version": view["versions"][0]}),
        json!({"action": "set-current-view-version", "view-version-id": -1}),
    ] {
        assert_eq!(ViewUpdate::from_json(&json).unwrap().to_json().unwrap(), json);
    }
    let unknown = ViewUpdate::from_json(&json!({"action": "paint"})).unwrap_err();
    assert!(unknown.to_string().contains("paint"));
    let read = read(&view).unwrap();
    for (json, holds, holds_for_none) in [
        (json!({"type": "assert-create"}), false, true),
        (
            json!({"type": "assert-view-uuid", "uuid": view["view-uuid"]}),
            true,
            false,
        ),
        (
            json!({"type": "assert-view-uuid", "uuid": Uuid::nil().to_string()}),
            false,
            false,
        ),
    ] {
        let requirement = ViewRequirement::from_json(&json).unwrap();
        assert_eq!(requirement.to_json(), json);
        assert_eq!(requirement.check(Some(&read)).is_ok(), holds);
        assert_eq!(requirement.check(None).is_ok(), holds_for_none);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn changed_bytes_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = serde_json::to_vec(&golden()).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(view) = ViewMetadata::from_bytes(&bytes) {
            let written = view.to_json_bytes().unwrap();
            assert_eq!(ViewMetadata::from_bytes(&written).unwrap(), view);
        }
    }
}

use serde_json::{Value as Json, json};

use super::super::*;
use super::read::{golden, read};
use crate::error::Error;

fn all_updates() -> Vec<Json> {
    let v3 = golden(3);
    vec![
        json!({"action": "assign-uuid", "uuid": "5c47484d-190d-4933-b4d2-5e1a453a771a"}),
        json!({"action": "upgrade-format-version", "format-version": 3}),
        json!({"action": "add-schema", "schema": v3["schemas"][1]}),
        json!({"action": "set-current-schema", "schema-id": -1}),
        json!({"action": "add-spec", "spec": {"fields": [{"name": "d", "transform": "day", "source-id": 2}]}}),
        json!({"action": "add-spec", "spec": {"spec-id": 3, "fields": [
            {"name": "d", "transform": "day", "source-id": 2, "field-id": 1000}]}}),
        json!({"action": "set-default-spec", "spec-id": -1}),
        json!({"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": [
            {"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}]}}),
        json!({"action": "set-default-sort-order", "sort-order-id": -1}),
        json!({"action": "add-snapshot", "snapshot": v3["snapshots"][1]}),
        json!({"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 12}),
        json!({"action": "set-snapshot-ref", "ref-name": "t", "type": "tag", "snapshot-id": 12, "max-ref-age-ms": 1}),
        json!({"action": "remove-snapshots", "snapshot-ids": [1, 2]}),
        json!({"action": "remove-snapshot-ref", "ref-name": "t"}),
        json!({"action": "set-location", "location": "s3://b/u"}),
        json!({"action": "set-properties", "updates": {"a": "b"}}),
        json!({"action": "remove-properties", "removals": ["a"]}),
        json!({"action": "set-statistics", "snapshot-id": 12, "statistics": v3["statistics"][0]}),
        json!({"action": "remove-statistics", "snapshot-id": 12}),
        json!({"action": "set-partition-statistics", "partition-statistics": v3["partition-statistics"][0]}),
        json!({"action": "remove-partition-statistics", "snapshot-id": 12}),
        json!({"action": "remove-partition-specs", "spec-ids": [1]}),
        json!({"action": "remove-schemas", "schema-ids": [1]}),
        json!({"action": "add-encryption-key", "encryption-key": v3["encryption-keys"][0]}),
        json!({"action": "remove-encryption-key", "key-id": "k"}),
    ]
}

#[test]
fn updates_read_back_from_json() {
    for json in all_updates() {
        let update = TableUpdate::from_json(&json).unwrap();
        assert_eq!(update.to_json().unwrap(), json);
        assert_eq!(update.action(), json["action"]);
    }
}

#[test]
fn broken_updates_name_the_field() {
    for mut json in all_updates() {
        let keys: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        // Of set-statistics, only the statistics count.
        for key in keys
            .iter()
            .filter(|k| *k != "action" && !(*k == "snapshot-id" && keys.contains(&"statistics".into())))
        {
            let kept = json[key].take();
            json[key] = json!({"x": [1]});
            let error = TableUpdate::from_json(&json).unwrap_err().to_string();
            assert!(error.contains(json["action"].as_str().unwrap()), "{error}");
            json[key] = kept;
        }
    }
    let error = TableUpdate::from_json(&json!({"action": "paint"})).unwrap_err();
    assert!(matches!(&error, Error::Unsupported(text) if text.contains("paint")));
    assert!(TableUpdate::from_json(&json!([])).is_err());
}

#[test]
fn old_names_of_property_lists_are_read() {
    let set = TableUpdate::from_json(&json!({"action": "set-properties", "updated": {"a": "b"}})).unwrap();
    assert_eq!(set, TableUpdate::SetProperties([("a".into(), "b".into())].into()));
    let remove = TableUpdate::from_json(&json!({"action": "remove-properties", "removed": ["a"]})).unwrap();
    assert_eq!(remove, TableUpdate::RemoveProperties(vec!["a".into()]));
}

#[test]
fn requirements_are_checked() {
    let metadata = read(&golden(2)).unwrap();
    for (json, holds) in [
        (json!({"type": "assert-create"}), false),
        (
            json!({"type": "assert-table-uuid", "uuid": "5c47484d-190d-4933-b4d2-5e1a453a771a"}),
            true,
        ),
        (
            json!({"type": "assert-table-uuid", "uuid": "5c47484d-190d-4933-b4d2-5e1a453a771b"}),
            false,
        ),
        (
            json!({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 12}),
            true,
        ),
        (
            json!({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 11}),
            false,
        ),
        (
            json!({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": null}),
            false,
        ),
        (
            json!({"type": "assert-ref-snapshot-id", "ref": "new", "snapshot-id": null}),
            true,
        ),
        (
            json!({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2}),
            true,
        ),
        (
            json!({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 3}),
            false,
        ),
        (
            json!({"type": "assert-current-schema-id", "current-schema-id": 1}),
            true,
        ),
        (
            json!({"type": "assert-current-schema-id", "current-schema-id": 0}),
            false,
        ),
        (
            json!({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000}),
            true,
        ),
        (
            json!({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999}),
            false,
        ),
        (
            json!({"type": "assert-default-spec-id", "default-spec-id": 0}),
            true,
        ),
        (
            json!({"type": "assert-default-spec-id", "default-spec-id": 1}),
            false,
        ),
        (
            json!({"type": "assert-default-sort-order-id", "default-sort-order-id": 0}),
            true,
        ),
        (
            json!({"type": "assert-default-sort-order-id", "default-sort-order-id": 1}),
            false,
        ),
    ] {
        let requirement = TableRequirement::from_json(&json).unwrap();
        assert_eq!(requirement.to_json(), json);
        let checked = requirement.check(Some(&metadata));
        assert_eq!(checked.is_ok(), holds, "{json}");
        assert!(holds || matches!(checked, Err(Error::RequirementFailed(_))));
        assert_eq!(
            requirement.check(None).is_ok(),
            requirement == TableRequirement::NotExist
        );
    }
    let unknown = TableRequirement::from_json(&json!({"type": "assert-luck"})).unwrap_err();
    assert!(matches!(unknown, Error::Unsupported(_)));
}

#[test]
fn commits_ask_for_the_base_they_were_worked_out_on() {
    let mut json = golden(2);
    json["refs"]["audit"] = json!({"snapshot-id": 11, "type": "branch"});
    let base = read(&json).unwrap();
    let uuid = json!({"type": "assert-table-uuid", "uuid": "5c47484d-190d-4933-b4d2-5e1a453a771a"});
    let asked = |actions: &[&str]| -> Vec<Json> {
        let updates: Vec<_> = all_updates()
            .iter()
            .filter(|u| actions.contains(&u["action"].as_str().unwrap()))
            .map(|u| TableUpdate::from_json(u).unwrap())
            .collect();
        let requirements = TableRequirement::for_updates(Some(&base), &updates);
        assert!(requirements.iter().all(|r| r.check(Some(&base)).is_ok()));
        requirements.iter().map(TableRequirement::to_json).collect()
    };
    assert_eq!(
        asked(&[
            "set-properties",
            "set-location",
            "set-statistics",
            "remove-snapshots"
        ]),
        vec![uuid.clone()]
    );
    assert_eq!(
        asked(&["add-spec", "set-snapshot-ref"]),
        [
            uuid.clone(),
            json!({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000}),
            json!({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 12}),
            json!({"type": "assert-ref-snapshot-id", "ref": "t", "snapshot-id": null}),
        ]
    );
    assert_eq!(
        asked(&["remove-schemas"]),
        [
            uuid,
            json!({"type": "assert-current-schema-id", "current-schema-id": 1}),
            json!({"type": "assert-ref-snapshot-id", "ref": "audit", "snapshot-id": 11}),
        ]
    );
    assert_eq!(
        asked(&[
            "add-schema",
            "set-current-schema",
            "set-default-spec",
            "set-default-sort-order"
        ])
        .len(),
        5
    );
    assert_eq!(
        TableRequirement::for_updates(None, &[]),
        [TableRequirement::NotExist]
    );
}

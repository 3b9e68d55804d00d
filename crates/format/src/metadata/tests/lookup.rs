use serde_json::json;

use super::super::*;
use super::read::{golden, read};

#[test]
fn time_travel_goes_by_the_log() {
    let metadata = read(&golden(2)).unwrap();
    let at = |ms| metadata.snapshot_as_of(ms).map(|s| s.snapshot_id);
    assert_eq!(at(1000).unwrap(), 11);
    assert_eq!(at(1999).unwrap(), 11);
    assert_eq!(at(2000).unwrap(), 12);
    assert_eq!(at(i64::MAX).unwrap(), 12);
    let error = at(999).unwrap_err().to_string();
    assert!(error.contains("1000 ms") && error.contains("11"), "{error}");
    let mut json = golden(2);
    json["snapshot-log"] = json!([]);
    assert!(
        read(&json)
            .unwrap()
            .snapshot_as_of(5000)
            .unwrap_err()
            .to_string()
            .contains("empty")
    );
    json["snapshot-log"] = json!([{"timestamp-ms": 1, "snapshot-id": 5}]);
    let error = read(&json).unwrap().snapshot_as_of(5000).unwrap_err().to_string();
    assert!(error.contains("5") && error.contains("12, 11"), "{error}");
}

#[test]
fn errors_list_what_exists() {
    let metadata = read(&golden(2)).unwrap();
    let error = metadata.snapshot(5).unwrap_err().to_string();
    assert!(error.contains("12, 11"), "{error}");
    let error = metadata.snapshot_for_ref("audit").unwrap_err().to_string();
    assert!(
        error.contains("`audit`") && error.contains("`first`, `main`"),
        "{error}"
    );
    assert_eq!(metadata.snapshot_for_ref("first").unwrap().snapshot_id, 11);
}

#[test]
fn branches_are_read_with_the_schema_of_today_and_the_rest_with_their_own() {
    let metadata = read(&golden(2)).unwrap();
    let first = metadata.snapshot(11).unwrap();
    let of = |choice| metadata.schema_for(first, choice).unwrap().schema_id();
    assert_eq!(of(SchemaChoice::OfSnapshot), 0);
    assert_eq!(of(SchemaChoice::Current), 1);
    assert_eq!(
        SchemaChoice::of_ref(&metadata.refs()["main"]),
        SchemaChoice::Current
    );
    assert_eq!(
        SchemaChoice::of_ref(&metadata.refs()["first"]),
        SchemaChoice::OfSnapshot
    );
    let mut json = golden(2);
    json["snapshots"][0]["schema-id"] = 9.into();
    let metadata = read(&json).unwrap();
    let first = metadata.snapshot(11).unwrap();
    assert!(metadata.schema_for(first, SchemaChoice::OfSnapshot).is_err());
}

#[test]
fn ancestors_end_at_what_is_gone_and_at_cycles() {
    let ids = |json| -> Vec<i64> {
        let metadata = read(&json).unwrap();
        metadata.ancestors_of(12).map(|s| s.snapshot_id).collect()
    };
    assert_eq!(ids(golden(2)), [12, 11]);
    let mut json = golden(2);
    json["snapshots"][0]["parent-snapshot-id"] = 12.into();
    assert_eq!(ids(json), [12, 11]);
    let mut json = golden(2);
    json["snapshots"][1]["parent-snapshot-id"] = 3.into();
    assert_eq!(ids(json), [12]);
}

#[test]
fn new_snapshot_ids_are_positive_and_differ() {
    let metadata = read(&golden(2)).unwrap();
    let ids: std::collections::HashSet<_> = (0..1000).map(|_| metadata.new_snapshot_id()).collect();
    assert_eq!(ids.len(), 1000);
    assert!(ids.iter().all(|id| *id > 0));
}

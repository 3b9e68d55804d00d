#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;

use super::*;

#[test]
fn snapshots_read_back_from_json() {
    let json = json!({
        "sequence-number": 4, "snapshot-id": 7, "parent-snapshot-id": 6, "timestamp-ms": 1000,
        "summary": {"operation": "overwrite", "added-data-files": "1"},
        "manifest-list": "s3://b/l.avro", "schema-id": 2, "first-row-id": 10, "added-rows": 2, "key-id": "k"
    });
    let snapshot: Snapshot = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(snapshot.summary.operation, Operation::Overwrite);
    assert_eq!(snapshot.summary.get("added-data-files"), Some("1"));
    assert_eq!(serde_json::to_value(&snapshot).unwrap(), json);
}

#[test]
fn the_first_version_is_read() {
    let json =
        json!({"snapshot-id": 7, "parent-snapshot-id": null, "timestamp-ms": 1, "manifests": ["a", "b"]});
    let snapshot: Snapshot = serde_json::from_value(json).unwrap();
    assert_eq!(snapshot.sequence_number, 0);
    assert_eq!(snapshot.summary.operation, Operation::Overwrite);
    assert_eq!(
        snapshot.manifest_list,
        ManifestListLocation::Manifests(vec!["a".into(), "b".into()])
    );
    let summary: Summary = serde_json::from_value(json!({"k": "v", "operation": "compact"})).unwrap();
    assert_eq!(summary.operation, Operation::Other("compact".into()));
    assert!(serde_json::from_value::<Snapshot>(json!({"snapshot-id": 7, "timestamp-ms": 1})).is_err());
}

#[test]
fn refs_read_back_from_json() {
    for json in [
        json!({"snapshot-id": 1, "type": "branch"}),
        json!({"snapshot-id": 1, "type": "tag", "max-ref-age-ms": 5}),
        json!({"snapshot-id": 1, "type": "branch", "min-snapshots-to-keep": 2, "max-snapshot-age-ms": 3}),
    ] {
        let read: SnapshotRef = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), json);
    }
    for json in [
        json!({"snapshot-id": 1, "type": "twig"}),
        json!({"snapshot-id": 1, "type": "tag", "min-snapshots-to-keep": 1}),
        json!({"snapshot-id": 1, "type": "branch", "max-ref-age-ms": 0}),
    ] {
        assert!(serde_json::from_value::<SnapshotRef>(json).is_err());
    }
}

#[test]
fn summaries_keep_their_notes_in_order() {
    let notes = [
        ("b", "1"),
        ("operation", "ignored"),
        ("a", ""),
        ("", "3"),
        ("é\n", "ü"),
    ];
    let summary = Summary::with_notes(Operation::Append, notes);
    let expect = [("b", "1"), ("a", ""), ("", "3"), ("é\n", "ü")];
    assert_eq!(summary.iter().collect::<Vec<_>>(), expect);
    assert_eq!(
        (summary.get("a"), summary.get("c"), summary.get("operation")),
        (Some(""), None, None)
    );
    let text = serde_json::to_string(&summary).unwrap();
    assert_eq!(text, r#"{"operation":"append","b":"1","a":"","":"3","é\n":"ü"}"#);
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    assert!(serde_json::from_str::<Summary>(r#"{"a": 1}"#).is_err());
}

//! Whatever happens to the bytes of a metadata file: an error or a table, never a panic.

use proptest::prelude::*;
use serde_json::Value as Json;

use super::super::*;
use super::read::golden;

/// Something else in place of what was there.
fn other_values() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        Just(Json::from(true)),
        any::<i64>().prop_map(Json::from),
        (-2_i64..5).prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[a-z0-9\\[\\],]{0,12}".prop_map(Json::from),
        Just(Json::Array(vec![])),
        Just(Json::Object(serde_json::Map::new())),
    ]
}

/// JSON pointers to all values inside.
fn pointers(json: &Json, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Json)> = match json {
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(i, v)| (i.to_string(), v))
            .collect(),
        Json::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), v)).collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let at = format!("{at}/{key}");
        found.push(at.clone());
        pointers(child, &at, found);
    }
}

/// Replaces the value there, or takes it out.
fn mutate(json: &mut Json, pointer: &str, with: Option<Json>) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match (with, json.pointer_mut(parent)) {
        (Some(with), _) => *json.pointer_mut(pointer).unwrap() = with,
        (None, Some(Json::Object(fields))) => drop(fields.remove(key)),
        (None, Some(Json::Array(items))) => drop(items.remove(key.parse().unwrap())),
        _ => panic!("{pointer} has no parent"),
    }
}

/// Reads the bytes, and uses what was read as everything above would.
fn use_up(bytes: &[u8]) {
    let Ok(metadata) = TableMetadata::from_bytes_with_limit(bytes, 1 << 20) else {
        return;
    };
    for snapshot in metadata.snapshots() {
        let _ = metadata.schema_for(snapshot, SchemaChoice::OfSnapshot);
        let ancestors = metadata.ancestors_of(snapshot.snapshot_id).count();
        assert!(ancestors <= metadata.snapshots().len());
    }
    let _ = metadata.snapshot_as_of(1500);
    for name in metadata.refs().keys() {
        metadata.snapshot_for_ref(name).unwrap();
    }
    for spec in metadata.partition_specs() {
        spec.partition_type(metadata.current_schema());
    }
    let written = metadata.to_json_bytes().unwrap();
    assert_eq!(TableMetadata::from_bytes(&written).unwrap(), metadata);
    let _ = TableMetadataBuilder::from(metadata, Some("f".into())).build(4000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_bytes_do_no_harm(
        version in 1_u8..=3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = serde_json::to_vec(&golden(version)).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        use_up(&bytes);
    }

    #[test]
    fn changed_values_do_no_harm(
        version in 1_u8..=3,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(other_values())), 1..4),
    ) {
        let mut json = golden(version);
        for (at, with) in changes {
            let mut found = Vec::new();
            pointers(&json, "", &mut found);
            if !found.is_empty() {
                mutate(&mut json, at.get::<String>(&found), with);
            }
        }
        use_up(&serde_json::to_vec(&json).unwrap());
    }
}

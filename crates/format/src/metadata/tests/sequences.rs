//! Random sequences of updates: whatever is refused, what is built is sound and reads back.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::*;
use super::builder::field;
use super::read::{golden, read};
use crate::schema::Schema;
use crate::snapshot::{MAIN_BRANCH, ManifestListLocation, Operation, Snapshot, SnapshotRef, Summary};
use crate::sort::{NullOrder, SortDirection, SortField, SortOrder};
use crate::transform::Transform;
use crate::types::{NestedField, PrimitiveType as P};

/// A change, of which the ids are small so that they often meet.
fn update() -> impl Strategy<Value = TableUpdate> {
    let snapshot_id = 11_i64..18;
    let column = 1_i32..7;
    let name = prop::sample::select(vec!["main", "a", "first"]);
    let key = prop::sample::select(vec!["k", "owner", "write.metadata.previous-versions-max", "uuid"]);
    let transform = prop::sample::select(vec![
        Transform::Identity,
        Transform::Bucket(4),
        Transform::Day,
        Transform::Void,
    ]);
    prop_oneof![
        (1_u8..5).prop_map(TableUpdate::UpgradeFormatVersion),
        prop::collection::btree_set(column.clone(), 0..6).prop_map(|ids| {
            let field = |id| {
                NestedField::optional(id, format!("c{id}"), if id == 2 { P::Timestamp } else { P::Long })
            };
            TableUpdate::AddSchema(Arc::new(
                Schema::new(0, ids.into_iter().map(field).collect(), vec![]).unwrap(),
            ))
        }),
        (-1_i32..4).prop_map(TableUpdate::SetCurrentSchema),
        (
            column.clone(),
            transform.clone(),
            prop::option::of(1000_i32..1004)
        )
            .prop_map(|(id, transform, field_id)| {
                let name = format!("c{id}_{}", transform.to_string().split('[').next().unwrap());
                let field = UnboundPartitionField {
                    field_id,
                    ..field(id, &name, transform)
                };
                TableUpdate::AddSpec(UnboundPartitionSpec {
                    spec_id: None,
                    fields: vec![field],
                })
            }),
        (-1_i32..4).prop_map(TableUpdate::SetDefaultSpec),
        (column, transform).prop_map(|(id, transform)| TableUpdate::AddSortOrder(SortOrder {
            order_id: 7,
            fields: vec![SortField {
                source_ids: vec![id],
                transform,
                direction: SortDirection::Descending,
                null_order: NullOrder::Last,
            }],
        })),
        (-1_i32..4).prop_map(TableUpdate::SetDefaultSortOrder),
        (snapshot_id.clone(), 0_i64..12, 0_i64..200_000, 0_i64..60).prop_map(|(id, number, time, row_id)| {
            TableUpdate::AddSnapshot(Arc::new(Snapshot {
                snapshot_id: id,
                parent_snapshot_id: Some(id - 1),
                sequence_number: number,
                timestamp_ms: time,
                manifest_list: ManifestListLocation::File("l".into()),
                summary: Summary::new(Operation::Append),
                schema_id: None,
                first_row_id: Some(row_id),
                added_rows: Some(3),
                key_id: None,
            }))
        }),
        (name.clone(), snapshot_id.clone(), any::<bool>()).prop_map(|(name, id, tag)| {
            TableUpdate::SetSnapshotRef {
                name: name.into(),
                snapshot_ref: if tag {
                    SnapshotRef::tag(id)
                } else {
                    SnapshotRef::branch(id)
                },
            }
        }),
        (snapshot_id.clone()).prop_map(|id| TableUpdate::SetSnapshotRef {
            name: MAIN_BRANCH.into(),
            snapshot_ref: SnapshotRef::branch(id),
        }),
        prop::collection::vec(snapshot_id.clone(), 0..3).prop_map(TableUpdate::RemoveSnapshots),
        name.prop_map(|name| TableUpdate::RemoveSnapshotRef(name.into())),
        (key.clone(), 0_u8..3).prop_map(|(key, value)| {
            TableUpdate::SetProperties(BTreeMap::from([(key.to_string(), value.to_string())]))
        }),
        key.prop_map(|key| TableUpdate::RemoveProperties(vec![key.into()])),
        snapshot_id.prop_map(
            |snapshot_id| TableUpdate::SetPartitionStatistics(PartitionStatisticsFile {
                snapshot_id,
                statistics_path: "p".into(),
                file_size_in_bytes: 1,
            })
        ),
        prop::collection::vec(0_i32..3, 0..2).prop_map(TableUpdate::RemovePartitionSpecs),
        prop::collection::vec(0_i32..3, 0..2).prop_map(TableUpdate::RemoveSchemas),
    ]
}

fn check_invariants(before: &TableMetadata, after: &TableMetadata) {
    assert!(after.format_version() >= before.format_version());
    assert!(after.last_column_id() >= before.last_column_id());
    assert!(after.last_partition_id() >= before.last_partition_id());
    assert!(after.last_sequence_number() >= before.last_sequence_number());
    assert!(after.last_updated_ms() >= before.last_updated_ms());
    assert!(after.next_row_id() >= before.next_row_id());
    for schema in after.schemas() {
        assert!(schema.highest_field_id() <= after.last_column_id());
    }
    for spec in after.partition_specs() {
        assert!(spec.highest_field_id() <= after.last_partition_id());
    }
    let main = after.refs().get(MAIN_BRANCH).map(|r| r.snapshot_id);
    assert_eq!(main, after.current_snapshot_id());
    for snapshot_ref in after.refs().values() {
        assert!(after.snapshot_by_id(snapshot_ref.snapshot_id).is_some());
    }
    for file in after.partition_statistics() {
        assert!(after.snapshot_by_id(file.snapshot_id).is_some());
    }
    // One commit, one entry of each log at most, and the newest is the current snapshot.
    assert!(after.snapshot_log().len() <= before.snapshot_log().len() + 1);
    assert!(after.metadata_log().len() <= before.metadata_log().len() + 1);
    if after.current_snapshot_id() != before.current_snapshot_id() {
        let last = after.snapshot_log().last().map(|e| e.snapshot_id);
        assert_eq!(last, after.current_snapshot_id());
    }
    let written = after.to_json_bytes().unwrap();
    assert_eq!(&TableMetadata::from_bytes(&written).unwrap(), after);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn commits_keep_tables_sound(
        version in 1_u8..=3,
        commits in prop::collection::vec(prop::collection::vec(update(), 1..8), 1..6),
    ) {
        let mut metadata = read(&golden(version)).unwrap();
        let mut now_ms = metadata.last_updated_ms();
        for updates in commits {
            now_ms += 1000;
            let mut builder = TableMetadataBuilder::from(metadata.clone(), Some(format!("{now_ms}.metadata.json")));
            for update in updates {
                let json = update.to_json().unwrap();
                prop_assert_eq!(TableUpdate::from_json(&json).unwrap(), update.clone());
                // What is refused leaves no trace.
                let before = builder.metadata().clone();
                if builder.apply(update).is_err() {
                    prop_assert_eq!(builder.metadata(), &before);
                }
            }
            if let Ok(next) = builder.build(now_ms) {
                check_invariants(&metadata, &next);
                metadata = next;
            }
        }
    }
}

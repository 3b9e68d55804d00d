//! How manifests are laid out: rolled, merged, of old specs, on branches, of tables that were upgraded.

use std::collections::BTreeMap;
use std::sync::Arc;

use drumlin_format::manifest::ManifestStatus;
use drumlin_format::metadata::{TableMetadata, TableUpdate};
use drumlin_format::snapshot::{MAIN_BRANCH, SnapshotRef};
use drumlin_format::value::Value;

use super::checked::check;
use super::checked::{current, live, manifests, paths};
use super::operations::{after, statuses};
use super::tables::*;
use crate::catalog::Catalog;
use crate::table::Table;
use crate::transaction::{SnapshotChange, Transaction};

#[tokio::test]
async fn manifests_are_rolled_and_merged() {
    let tiny = [
        ("commit.manifest.target-size-bytes", "9000"),
        ("commit.manifest.min-count-to-merge", "3"),
    ];
    for version in 1..=3 {
        let (catalog, mut t) = by_p(version, &tiny).await;
        let many = (0..400).map(|n| data_in(&format!("{:0100}", n * 7919 % 100_003), n % 3, 1));
        after(&catalog, &mut t, SnapshotChange::append(many.collect())).await;
        let rolled = manifests(&t, t.snapshot().unwrap()).await.len();
        assert!(rolled > 1, "C21: {rolled}");
        let (catalog, mut t) = by_p(version, &[("commit.manifest.min-count-to-merge", "3")]).await;
        let mut counts = Vec::new();
        for n in 0..7 {
            let append = SnapshotChange::append(vec![data_in(&format!("f{n}"), n % 2, i64::from(n) + 1)]);
            after(&catalog, &mut t, append).await;
            counts.push(manifests(&t, t.snapshot().unwrap()).await.len());
        }
        // C14: the bin with the newest is merged once it has three.
        assert_eq!(counts, [1, 2, 1, 2, 1, 2, 1]);
        let merge_off = TableUpdate::SetProperties(BTreeMap::from([(
            "commit.manifest-merge.enabled".to_string(),
            "FALSE".to_string(),
        )]));
        let tx = Transaction::new(&t, ident()).add_updates(vec![merge_off]);
        t = tx.commit(catalog.as_ref()).await.unwrap();
        for n in 7..12 {
            let append = SnapshotChange::append(vec![data_in(&format!("f{n}"), 0, 1)]);
            after(&catalog, &mut t, append).await;
        }
        assert_eq!(manifests(&t, t.snapshot().unwrap()).await.len(), 6);
    }
}

/// C30: no file comes or goes, and nothing of the entries changes.
#[tokio::test]
async fn manifests_are_rewritten() {
    let numbers = |table: &Table| {
        let table = table.clone();
        async move {
            let all = manifests(&table, table.snapshot().unwrap()).await;
            let entries = all
                .iter()
                .flat_map(|(_, entries)| entries)
                .filter(|e| e.is_live());
            let mut found: Vec<_> = entries
                .map(|e| {
                    let file = &e.data_file;
                    let numbers = (e.sequence_number, e.file_sequence_number, e.snapshot_id);
                    (file.file_path.to_string(), numbers, file.first_row_id)
                })
                .collect();
            found.sort();
            (all.len(), found)
        }
    };
    for version in 1..=3 {
        let (catalog, mut t) = by_p(version, &[("commit.manifest-merge.enabled", "false")]).await;
        for n in 0..5 {
            let append = SnapshotChange::append(vec![data_in(&format!("f{n}"), n % 2, 3)]);
            after(&catalog, &mut t, append).await;
        }
        let (count, before) = numbers(&t).await;
        assert_eq!(count, 5);
        let files = after(&catalog, &mut t, SnapshotChange::rewrite_manifests()).await;
        assert_eq!(files, ["f0", "f1", "f2", "f3", "f4"]);
        assert_eq!(numbers(&t).await, (1, before));
        let summary = &t.snapshot().unwrap().summary;
        assert_eq!(summary.operation.as_str(), "replace");
        assert_eq!(summary.get("manifests-replaced"), Some("5"));
    }
}

/// C15: a merge drops what older snapshots deleted and keeps what this one deletes.
#[tokio::test]
async fn merges_keep_own_deletions_only() {
    let (catalog, mut t) = by_p(2, &[("commit.manifest.min-count-to-merge", "2")]).await;
    let files: Vec<_> = (0..4).map(|n| data_in(&format!("f{n}"), 0, 1)).collect();
    after(&catalog, &mut t, SnapshotChange::append(files.clone())).await;
    let delete = SnapshotChange::delete_files().remove([files[0].clone()]);
    after(&catalog, &mut t, delete).await;
    let overwrite = SnapshotChange::overwrite(vec![data_in("n", 0, 1)]).remove([files[1].clone()]);
    after(&catalog, &mut t, overwrite).await;
    use ManifestStatus::*;
    let mut found = statuses(&t).await.concat();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [("f1", Deleted), ("f2", Existing), ("f3", Existing), ("n", Added)];
    assert_eq!(found, expected.map(|(f, s)| (f.to_string(), s)));
}

#[tokio::test]
async fn manifests_of_old_specs_keep_them() {
    for version in 1..=3 {
        let (catalog, mut t) = by_p(version, &[("commit.manifest.min-count-to-merge", "2")]).await;
        let old = [data_in("a", 0, 1), data_in("b", 1, 1)];
        after(&catalog, &mut t, SnapshotChange::append(old.to_vec())).await;
        let updates = vec![
            TableUpdate::AddSpec(spec(&[(ID, "bucket[4]"), (TS, "day")])),
            TableUpdate::SetDefaultSpec(-1),
        ];
        t = Transaction::new(&t, ident())
            .add_updates(updates)
            .commit(catalog.as_ref())
            .await
            .unwrap();
        let tuple = |day| vec![Some(Value::Int(3)), day];
        let new = [
            data("c", 1).of(1, tuple(Some(Value::Int(19_000)))),
            data("d", 1).of(1, tuple(None)),
        ];
        after(&catalog, &mut t, SnapshotChange::append(new.to_vec())).await;
        let delete = SnapshotChange::delete_files().remove_paths(["a".into(), "d".into()]);
        assert_eq!(after(&catalog, &mut t, delete).await, ["b", "c"]);
        let all = manifests(&t, t.snapshot().unwrap()).await;
        let mut specs: Vec<_> = all.iter().map(|(m, _)| m.partition_spec_id).collect();
        specs.sort_unstable();
        assert_eq!(specs, [0, 1], "C23");
        // The partitions of the new spec only.
        let replace =
            SnapshotChange::replace_partitions(vec![data("e", 1).of(1, tuple(Some(Value::Int(19_000))))]);
        assert_eq!(after(&catalog, &mut t, replace).await, ["b", "e"]);
    }
}

/// A spec whose source column was dropped is still read, filtered and merged.
#[tokio::test]
async fn the_source_of_an_old_spec_may_be_gone() {
    for version in 2..=3 {
        let (catalog, mut t) = by_p(version, &[("commit.manifest.min-count-to-merge", "2")]).await;
        let old = [data_in("a", 0, 1), data_in("b", 1, 1)];
        after(&catalog, &mut t, SnapshotChange::append(old.to_vec())).await;
        let mut fields = schema().fields().to_vec();
        fields.remove(1);
        let dropped = drumlin_format::schema::Schema::new(1, fields, vec![]).unwrap();
        let updates = vec![
            TableUpdate::AddSpec(spec(&[])),
            TableUpdate::SetDefaultSpec(-1),
            TableUpdate::AddSchema(Arc::new(dropped)),
            TableUpdate::SetCurrentSchema(-1),
        ];
        t = Transaction::new(&t, ident())
            .add_updates(updates)
            .commit(catalog.as_ref())
            .await
            .unwrap();
        let new = data("c", 1).of(1, vec![]);
        after(&catalog, &mut t, SnapshotChange::append(vec![new])).await;
        let delete = SnapshotChange::delete_files().remove([old[0].clone()]);
        assert_eq!(after(&catalog, &mut t, delete).await, ["b", "c"]);
    }
}

#[tokio::test]
async fn branches_move_alone() {
    for version in 1..=3 {
        let (catalog, mut t) = by_p(version, &[]).await;
        after(&catalog, &mut t, SnapshotChange::append(vec![data_in("a", 0, 1)])).await;
        let main = t.snapshot().unwrap().snapshot_id;
        let set = |name: &str, to| TableUpdate::SetSnapshotRef {
            name: name.into(),
            snapshot_ref: to,
        };
        let refs = vec![
            set("dev", SnapshotRef::branch(main)),
            set("v1", SnapshotRef::tag(main)),
        ];
        let tx = Transaction::new(&t, ident()).add_updates(refs);
        t = tx.commit(catalog.as_ref()).await.unwrap();
        let change = || SnapshotChange::append(vec![data_in("b", 1, 1)]);
        assert_eq!(after(&catalog, &mut t, change().on_branch("dev")).await, ["a"]);
        let metadata = t.metadata();
        assert_eq!(metadata.current_snapshot_id(), Some(main));
        assert_eq!(metadata.snapshot_log().len(), 1, "C3");
        let dev = metadata
            .snapshot_by_id(metadata.refs()["dev"].snapshot_id)
            .unwrap();
        assert_eq!(dev.parent_snapshot_id, Some(main));
        assert_eq!(paths(&live(&t, dev).await, true), ["a", "b"]);
        for branch in ["v1", "nowhere"] {
            let error = commit(&catalog, &t, change().on_branch(branch))
                .await
                .unwrap_err();
            assert!(error.to_string().contains(branch), "C35: {error}");
        }
        // The base of the branch is in its own history, what happens on main is not.
        let own = SnapshotChange::overwrite(vec![data_in("c", 1, 1)]).remove([data_in("b", 1, 1)]);
        let own = own
            .on_branch("dev")
            .read_at(Some(dev.snapshot_id))
            .refuse_new_data();
        let old = t.clone();
        after(&catalog, &mut t, SnapshotChange::append(vec![data_in("m", 1, 1)])).await;
        let done = commit(&catalog, &old, own).await.unwrap();
        check(&catalog, &done).await;
    }
}

/// § Row Lineage: a table that becomes version 3 numbers all of its files at the next commit, for good (F108).
#[tokio::test]
async fn files_are_numbered_once_a_table_is_of_version_3() {
    let (catalog, mut t) = by_p(1, &[]).await;
    for (n, version) in [(0, 1), (1, 2), (2, 2), (3, 3)] {
        let tx = Transaction::new(&t, ident()).add_updates(vec![TableUpdate::UpgradeFormatVersion(version)]);
        t = tx.commit(catalog.as_ref()).await.unwrap();
        let files = vec![data_in(&format!("f{n}"), 0, 10), data_in(&format!("g{n}"), 1, 7)];
        after(&catalog, &mut t, SnapshotChange::append(files)).await;
    }
    let ids = |t: &Table| {
        let t = t.clone();
        async move {
            let all = current(&t).await;
            let ids = all.values().map(|e| {
                (
                    e.data_file.file_path.to_string(),
                    e.data_file.first_row_id.unwrap(),
                )
            });
            ids.collect::<BTreeMap<_, _>>()
        }
    };
    let first = ids(&t).await;
    assert_eq!(
        (first["f3"], first["g3"]),
        (0, 10),
        "the new manifest comes first"
    );
    assert_eq!(t.metadata().next_row_id(), 4 * 17);
    let delete = SnapshotChange::delete_files().remove_rows(p_is(1));
    after(&catalog, &mut t, delete).await;
    let second = ids(&t).await;
    assert!(second.iter().all(|(file, id)| first[file] == *id));
    assert_eq!(
        t.metadata().next_row_id(),
        4 * 17 + 4 * 10,
        "rewritten manifests take ids, which is allowed"
    );
}

/// Version 1 may name manifests in the metadata; the next commit lists them with all that a list has to say.
#[tokio::test]
async fn manifests_named_by_the_metadata_are_taken_over() {
    let (catalog, mut t) = by_p(1, &[]).await;
    after(&catalog, &mut t, SnapshotChange::append(vec![data_in("a", 0, 1)])).await;
    let manifest = manifests(&t, t.snapshot().unwrap()).await[0]
        .0
        .manifest_path
        .clone();
    let mut json: serde_json::Value = serde_json::from_slice(&t.metadata().to_json_bytes().unwrap()).unwrap();
    let entry = &mut json["snapshots"][0];
    entry.as_object_mut().unwrap().remove("manifest-list");
    entry["manifests"] = serde_json::json!([manifest]);
    let metadata = TableMetadata::from_bytes(&serde_json::to_vec(&json).unwrap()).unwrap();
    catalog.put(&ident(), metadata);
    let t = catalog.load_table(&ident()).await.unwrap();
    assert_eq!(scanned(&t).await, ["a"]);
    let t = commit(&catalog, &t, SnapshotChange::append(vec![data_in("b", 0, 1)]))
        .await
        .unwrap();
    assert_eq!(scanned(&t).await, ["a", "b"]);
    for (manifest, _) in manifests(&t, t.snapshot().unwrap()).await {
        assert!(manifest.manifest_length > 0, "{}", manifest.manifest_path);
    }
    assert_eq!(
        t.metadata().refs()[MAIN_BRANCH].snapshot_id,
        t.snapshot().unwrap().snapshot_id
    );
}

//! Row-level deletes: vectors that share a Puffin file, deletes that replace others, data files that go with them.

use std::collections::BTreeMap;

use drumlin_format::manifest::{DataFile, ManifestContent};
use drumlin_format::metadata::TableUpdate;
use drumlin_format::snapshot::Operation;
use drumlin_format::value::Value;

use super::catalog::{Answer, TestCatalog};
use super::checked::{current, manifests};
use super::operations::after;
use super::tables::*;
use crate::error::Error;
use crate::table::Table;
use crate::transaction::{SnapshotChange, Transaction};

/// The `n`-th vector of a Puffin file.
fn vector(puffin: &str, n: i64, of: &DataFile, count: i64) -> DataFile {
    DataFile {
        content_offset: Some(4 + 42 * n),
        file_size_in_bytes: 1000,
        ..deletes_of(3, puffin, of, count)
    }
}

/// The live deletes: file, offset, data file, count.
async fn live_deletes(table: &Table) -> Vec<(String, i64, String, i64)> {
    let live = current(table).await;
    let files = live.values().map(|e| &e.data_file);
    let deletes = files.filter(|f| f.content != drumlin_format::manifest::DataContent::Data);
    deletes
        .map(|f| {
            let of = f.referenced_data_file.as_deref().unwrap_or("").to_string();
            let offset = f.content_offset.unwrap_or(-1);
            (f.file_path.to_string(), offset, of, f.record_count)
        })
        .collect()
}

fn listed(deletes: &[&DataFile]) -> Vec<(String, i64, String, i64)> {
    let mut all: Vec<_> = deletes
        .iter()
        .map(|f| {
            let of = f.referenced_data_file.as_deref().unwrap_or("").to_string();
            let offset = f.content_offset.unwrap_or(-1);
            (f.file_path.to_string(), offset, of, f.record_count)
        })
        .collect();
    all.sort();
    all
}

/// The figures of the summary that are about files and rows, without totals.
fn figures(table: &Table) -> BTreeMap<String, i64> {
    let summary = &table.snapshot().unwrap().summary;
    let keys = [
        "added-data-files",
        "deleted-data-files",
        "added-delete-files",
        "removed-delete-files",
        "added-position-delete-files",
        "removed-position-delete-files",
        "added-dvs",
        "removed-dvs",
        "added-records",
        "deleted-records",
        "added-position-deletes",
        "removed-position-deletes",
        "added-files-size",
        "removed-files-size",
    ];
    keys.iter()
        .filter_map(|key| Some(((*key).to_string(), summary.get(key)?.parse().unwrap())))
        .collect()
}

fn said(figures: &[(&str, i64)]) -> BTreeMap<String, i64> {
    figures.iter().map(|(key, n)| ((*key).to_string(), *n)).collect()
}

async fn with_files(version: u8, files: &[DataFile]) -> (std::sync::Arc<TestCatalog>, Table) {
    let (catalog, mut t) = by_p(version, &[]).await;
    after(&catalog, &mut t, SnapshotChange::append(files.to_vec())).await;
    (catalog, t)
}

#[tokio::test]
async fn vectors_of_one_puffin_file_come_and_go_one_by_one() {
    let files = [data_in("a", 0, 10), data_in("b", 1, 20), data_in("c", 1, 30)];
    let [a, b, c] = &files;
    let (catalog, mut t) = with_files(3, &files).await;
    let (da, db, dc) = (vector("p", 0, a, 1), vector("p", 1, b, 2), vector("p", 2, c, 3));
    let delta = SnapshotChange::row_delta(vec![da.clone(), db.clone(), dc.clone()]);
    after(&catalog, &mut t, delta).await;
    assert_eq!(live_deletes(&t).await, listed(&[&da, &db, &dc]));
    // C47: vectors are no position delete files, and count as their content.
    let added = [
        ("added-delete-files", 3),
        ("added-dvs", 3),
        ("added-position-deletes", 6),
        ("added-files-size", 3 * 42),
    ];
    assert_eq!(figures(&t), said(&added));
    // Two of three are replaced.
    let (da2, dc2) = (vector("q", 0, a, 4), vector("q", 1, c, 5));
    let delta = SnapshotChange::row_delta(vec![da2.clone(), dc2.clone()]);
    after(&catalog, &mut t, delta.remove([dc.clone(), da.clone()])).await;
    assert_eq!(live_deletes(&t).await, listed(&[&db, &da2, &dc2]));
    let figures_now = [
        ("added-delete-files", 2),
        ("added-dvs", 2),
        ("added-position-deletes", 9),
        ("added-files-size", 2 * 42),
        ("removed-delete-files", 2),
        ("removed-dvs", 2),
        ("removed-position-deletes", 4),
        ("removed-files-size", 2 * 42),
    ];
    assert_eq!(figures(&t), said(&figures_now));
    let summary = &t.snapshot().unwrap().summary;
    assert_eq!(summary.operation, Operation::Delete);
    assert_eq!(summary.get("total-position-deletes"), Some("11"));
    assert_eq!(summary.get("total-delete-files"), Some("3"));
    // The last one of the first Puffin file: its manifest is empty then.
    let db2 = vector("r", 0, b, 7);
    let delta = SnapshotChange::row_delta(vec![db2.clone()]).remove([db.clone()]);
    after(&catalog, &mut t, delta).await;
    assert_eq!(live_deletes(&t).await, listed(&[&da2, &dc2, &db2]));
    // One of another place in a file that is there.
    let gone = SnapshotChange::row_delta(vec![vector("s", 0, b, 8)]).remove([vector("q", 5, b, 7)]);
    let error = commit(&catalog, &t, gone).await.unwrap_err();
    assert!(
        matches!(&error, Error::Conflict { reason, .. } if reason.contains("`q`")),
        "{error}"
    );
}

/// F125: whether the deletes of a data file that goes are named or not.
#[tokio::test]
async fn data_files_go_with_their_deletes() {
    for version in 2..=3 {
        for named in [false, true] {
            let files = [data_in("a", 0, 10), data_in("b", 1, 20)];
            let [a, b] = &files;
            let (catalog, mut t) = with_files(version, &files).await;
            let (da, db) = match version {
                3 => (vector("p", 0, a, 1), vector("p", 1, b, 2)),
                _ => (deletes_of(2, "pa", a, 1), deletes_of(2, "pb", b, 2)),
            };
            let delta = SnapshotChange::row_delta(vec![da.clone(), db.clone()]);
            after(&catalog, &mut t, delta).await;
            let mut removed = vec![a.clone()];
            removed.extend(named.then(|| da.clone()));
            let delta = SnapshotChange::row_delta(vec![]).remove(removed);
            assert_eq!(after(&catalog, &mut t, delta).await, ["b"]);
            assert_eq!(live_deletes(&t).await, listed(&[&db]));
            let mut expected = vec![
                ("deleted-data-files", 1),
                ("deleted-records", 10),
                ("removed-delete-files", 1),
                ("removed-position-deletes", 1),
            ];
            expected.extend(match version {
                3 => [("removed-dvs", 1), ("removed-files-size", 110 + 42)],
                _ => [
                    ("removed-position-delete-files", 1),
                    ("removed-files-size", 110 + 51),
                ],
            });
            assert_eq!(figures(&t), said(&expected));
            let operation = &t.snapshot().unwrap().summary.operation;
            assert_eq!(*operation, Operation::Delete, "rows go, none comes");
            // Without its data file, deletes that go bring rows back.
            let delta = SnapshotChange::row_delta(vec![]).remove([db]);
            after(&catalog, &mut t, delta).await;
            let operation = &t.snapshot().unwrap().summary.operation;
            assert_eq!(*operation, Operation::Overwrite);
        }
    }
}

/// An UPDATE or MERGE: new rows, new deletes that take in old ones, and a data file without a row that is left.
#[tokio::test]
async fn everything_in_one_snapshot() {
    for version in 2..=3 {
        let files = [data_in("a", 0, 10), data_in("b", 1, 20), data_in("c", 1, 30)];
        let [a, b, c] = &files;
        let (catalog, mut t) = with_files(version, &files).await;
        let (da, db, dc) = match version {
            3 => (vector("p", 0, a, 1), vector("p", 1, b, 2), vector("p", 2, c, 3)),
            _ => (
                deletes_of(2, "pa", a, 1),
                deletes_of(2, "pb", b, 2),
                deletes_of(2, "pc", c, 3),
            ),
        };
        let delta = SnapshotChange::row_delta(vec![da.clone(), db.clone(), dc.clone()]);
        after(&catalog, &mut t, delta).await;
        let new = data_in("n", 0, 7);
        let db2 = match version {
            3 => vector("q", 0, b, 9),
            _ => deletes_of(2, "pb2", b, 9),
        };
        let head = t.snapshot().unwrap().snapshot_id;
        let delta = SnapshotChange::row_delta(vec![new, db2.clone()])
            .remove([db.clone(), a.clone(), da.clone()])
            .require_files([path(b)], false)
            .read_at(Some(head))
            .refuse_new_data()
            .refuse_new_deletes();
        assert_eq!(after(&catalog, &mut t, delta).await, ["b", "c", "n"]);
        assert_eq!(live_deletes(&t).await, listed(&[&db2, &dc]));
        assert_eq!(t.snapshot().unwrap().summary.operation, Operation::Overwrite);
        let mut expected = vec![
            ("added-data-files", 1),
            ("added-records", 7),
            ("added-delete-files", 1),
            ("added-position-deletes", 9),
            ("deleted-data-files", 1),
            ("deleted-records", 10),
            ("removed-delete-files", 2),
            ("removed-position-deletes", 3),
        ];
        expected.extend(match version {
            3 => [
                ("added-dvs", 1),
                ("removed-dvs", 2),
                ("added-files-size", 107 + 42),
                ("removed-files-size", 110 + 2 * 42),
            ],
            _ => [
                ("added-position-delete-files", 1),
                ("removed-position-delete-files", 2),
                ("added-files-size", 107 + 59),
                ("removed-files-size", 110 + 51 + 52),
            ],
        });
        assert_eq!(figures(&t), said(&expected));
    }
}

/// Deletes are listed in manifests of the spec of their data files, those of a Puffin file in several.
#[tokio::test]
async fn deletes_of_several_specs() {
    for version in 2..=3 {
        let a = data_in("a", 0, 10);
        let (catalog, t) = with_files(version, std::slice::from_ref(&a)).await;
        let mut t = Transaction::new(&t, ident())
            .add_updates(vec![
                TableUpdate::AddSpec(spec(&[(ID, "bucket[4]")])),
                TableUpdate::SetDefaultSpec(-1),
            ])
            .commit(catalog.as_ref())
            .await
            .unwrap();
        let id = t.metadata().default_spec().spec_id();
        let b = data("b", 20).of(id, vec![Some(Value::Int(3))]);
        after(&catalog, &mut t, SnapshotChange::append(vec![b.clone()])).await;
        let of = |n: i64, file, count| match version {
            3 => vector(&format!("p{count}"), n, file, count),
            _ => deletes_of(2, &format!("p{n}{count}"), file, count),
        };
        let (da, db) = (of(0, &a, 1), of(1, &b, 1));
        let delta = SnapshotChange::row_delta(vec![da.clone(), db.clone()]);
        after(&catalog, &mut t, delta).await;
        let specs = |t: Table| async move {
            let all = manifests(&t, t.snapshot().unwrap()).await;
            let deletes = all.iter().filter(|(m, _)| m.content == ManifestContent::Deletes);
            let mut specs: Vec<_> = deletes.map(|(m, _)| m.partition_spec_id).collect();
            specs.sort_unstable();
            specs
        };
        assert_eq!(specs(t.clone()).await, [0, id]);
        // Both are replaced.
        let (da2, db2) = (of(0, &a, 2), of(1, &b, 2));
        let delta = SnapshotChange::row_delta(vec![da2.clone(), db2.clone()]);
        after(&catalog, &mut t, delta.remove([da, db])).await;
        assert_eq!(live_deletes(&t).await, listed(&[&da2, &db2]));
        // The data file of the old spec goes, the other gets new deletes.
        let db3 = of(1, &b, 3);
        let delta = SnapshotChange::row_delta(vec![db3.clone()]);
        after(&catalog, &mut t, delta.remove([a.clone(), db2])).await;
        assert_eq!(live_deletes(&t).await, listed(&[&db3]));
    }
}

/// Of two that replace vectors of one Puffin file at a time, those of different data files are no conflict.
#[tokio::test]
async fn vectors_of_one_puffin_file_are_replaced_by_two_at_once() {
    for (other, conflicts) in [(1, false), (0, true)] {
        let files = [data_in("a", 0, 10), data_in("b", 0, 20)];
        let (catalog, mut t) = with_files(3, &files).await;
        let old = [vector("p", 0, &files[0], 1), vector("p", 1, &files[1], 2)];
        after(&catalog, &mut t, SnapshotChange::row_delta(old.to_vec())).await;
        let replaced = |by: &str, n: usize| {
            let new = vector(by, 0, &files[n], 5);
            SnapshotChange::row_delta(vec![new]).remove([old[n].clone()])
        };
        let (view, theirs, read) = (catalog.view(), replaced("theirs", other), t.clone());
        catalog.script([Answer::After(Box::pin(async move {
            commit(&view, &read, theirs).await.unwrap();
        }))]);
        let result = commit(&catalog, &t, replaced("mine", 0)).await;
        match conflicts {
            true => assert!(matches!(result, Err(Error::Conflict { .. })), "{result:?}"),
            false => {
                let t = result.unwrap();
                super::checked::check(&catalog, &t).await;
                let (a, b) = (vector("mine", 0, &files[0], 5), vector("theirs", 0, &files[1], 5));
                assert_eq!(live_deletes(&t).await, listed(&[&a, &b]));
            }
        }
    }
}

/// F123: in a table that was of version 2 a vector takes the place of position deletes of its data file; those of a whole
/// partition stay.
#[tokio::test]
async fn vectors_replace_position_deletes() {
    let files = [data_in("a", 0, 10), data_in("b", 0, 20)];
    let (catalog, mut t) = with_files(2, &files).await;
    let of_a = deletes_of(2, "pa", &files[0], 1);
    let of_both = DataFile {
        referenced_data_file: None,
        ..deletes_of(2, "pp", &files[0], 3)
    };
    let delta = SnapshotChange::row_delta(vec![of_a.clone(), of_both.clone()]);
    after(&catalog, &mut t, delta).await;
    let mut t = Transaction::new(&t, ident())
        .add_updates(vec![TableUpdate::UpgradeFormatVersion(3)])
        .commit(catalog.as_ref())
        .await
        .unwrap();
    let new = vector("q", 0, &files[0], 5);
    let delta = SnapshotChange::row_delta(vec![new.clone()]);
    after(&catalog, &mut t, delta.remove([of_a])).await;
    assert_eq!(live_deletes(&t).await, listed(&[&of_both, &new]));
    let expected = [
        ("added-delete-files", 1),
        ("added-dvs", 1),
        ("added-position-deletes", 5),
        ("added-files-size", 42),
        ("removed-delete-files", 1),
        ("removed-position-delete-files", 1),
        ("removed-position-deletes", 1),
        ("removed-files-size", 51),
    ];
    assert_eq!(figures(&t), said(&expected));
    // Those of the partition stay when one of its data files goes with its vector.
    let delta = SnapshotChange::row_delta(vec![]).remove([files[0].clone(), new]);
    after(&catalog, &mut t, delta).await;
    assert_eq!(live_deletes(&t).await, listed(&[&of_both]));
}

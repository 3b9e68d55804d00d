//! Which commits are in each other's way (C24-C43).

use std::collections::BTreeMap;

use drumlin_format::metadata::TableUpdate;

use super::catalog::TestCatalog;
use super::checked::check;
use super::tables::*;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::table::Table;
use crate::transaction::{SnapshotChange, Transaction};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Append,
    /// Removes by a filter, adds.
    Rows,
    /// Copy-on-write: names the file that it replaces.
    Cow,
    /// Merge-on-read.
    Mor,
    Partitions,
    Rewrite,
}

use Op::*;

const DATA: [(&str, i32); 3] = [("a", 0), ("b", 0), ("c", 1)];

/// The operation on a file and its partition. It was read at the snapshot, with the assumptions of the isolation level.
fn change(op: Op, version: u8, n: usize, by: &str, read: Option<(i64, bool)>) -> SnapshotChange {
    let (name, p) = DATA[n];
    let file = data_in(name, p, 10);
    let new = || vec![data_in(&format!("{by}-new"), p, 10)];
    let change = match op {
        Append => SnapshotChange::append(new()),
        Rows => SnapshotChange::overwrite(new()).remove_rows(p_is(p)),
        Cow => SnapshotChange::overwrite(new()).remove([file]).rows_read(p_is(p)),
        Mor => SnapshotChange::row_delta(vec![deletes_of(version, &format!("{by}-del"), &file, 1)])
            .require_files([path(&file)], true)
            .rows_read(p_is(p)),
        Partitions => SnapshotChange::replace_partitions(new()),
        Rewrite => SnapshotChange::rewrite_files(vec![file], new()),
    };
    let (Some((read_at, serializable)), false) = (read, op == Append) else {
        return change;
    };
    let change = change.read_at(Some(read_at));
    match (op, serializable) {
        // Compaction keeps the sequence number of what it read, and assumes nothing of other files.
        (Rewrite, _) if version > 1 => change.with_data_sequence_number(1),
        (Rewrite, _) => change,
        (_, true) => change.refuse_new_data().refuse_new_deletes(),
        (_, false) => change.refuse_new_deletes(),
    }
}

async fn start(version: u8) -> (std::sync::Arc<TestCatalog>, Table) {
    let (catalog, t) = by_p(version, &[]).await;
    let files = DATA.map(|(name, p)| data_in(name, p, 10)).to_vec();
    let t = commit(&catalog, &t, SnapshotChange::append(files)).await.unwrap();
    (catalog, t)
}

const OK: bool = true;
const NO: bool = false;

/// Ours, theirs; whether ours succeeds if theirs was about the same file and about another file of the same partition,
/// each under serializable and under snapshot isolation. Ours is about the file `a`.
const MATRIX: [(Op, Op, [bool; 2], [bool; 2]); 36] = [
    // C24, C42: nothing is in the way of an append.
    (Append, Append, [OK, OK], [OK, OK]),
    (Append, Rows, [OK, OK], [OK, OK]),
    (Append, Cow, [OK, OK], [OK, OK]),
    (Append, Mor, [OK, OK], [OK, OK]),
    (Append, Partitions, [OK, OK], [OK, OK]),
    (Append, Rewrite, [OK, OK], [OK, OK]),
    // C26: under the filter no new data (serializable), no new deletes, no removed data. C43: `replace` removes data too.
    (Rows, Append, [NO, OK], [NO, OK]),
    (Rows, Rows, [NO, NO], [NO, NO]),
    (Rows, Cow, [NO, NO], [NO, NO]),
    (Rows, Mor, [NO, NO], [NO, NO]),
    (Rows, Partitions, [NO, NO], [NO, NO]),
    (Rows, Rewrite, [NO, NO], [NO, NO]),
    // C39: no new data under the filter of the scan (serializable). Files that are replaced must be there, without new
    // deletes; what else happened to others counts only where rows of theirs may have been read. The reference does not
    // ask that, as it replaces every file with a match. Compaction of other files changes no rows.
    (Cow, Append, [NO, OK], [NO, OK]),
    (Cow, Rows, [NO, NO], [NO, NO]),
    (Cow, Cow, [NO, NO], [NO, OK]),
    (Cow, Mor, [NO, NO], [NO, OK]),
    (Cow, Partitions, [NO, NO], [NO, NO]),
    (Cow, Rewrite, [NO, NO], [OK, OK]),
    // C27, C40: that of UPDATE and MERGE. No new delete files under the filter, for whichever file.
    (Mor, Append, [NO, OK], [NO, OK]),
    (Mor, Rows, [NO, NO], [NO, NO]),
    (Mor, Cow, [NO, NO], [NO, OK]),
    (Mor, Mor, [NO, NO], [NO, NO]),
    (Mor, Partitions, [NO, NO], [NO, NO]),
    (Mor, Rewrite, [NO, NO], [OK, OK]),
    // C28
    (Partitions, Append, [NO, OK], [NO, OK]),
    (Partitions, Rows, [NO, NO], [NO, NO]),
    (Partitions, Cow, [NO, NO], [NO, NO]),
    (Partitions, Mor, [NO, NO], [NO, NO]),
    (Partitions, Partitions, [NO, NO], [NO, NO]),
    (Partitions, Rewrite, [NO, NO], [NO, NO]),
    // C29: only that its files are there and no new deletes are for them.
    (Rewrite, Append, [OK, OK], [OK, OK]),
    (Rewrite, Rows, [NO, NO], [NO, NO]),
    (Rewrite, Cow, [NO, NO], [OK, OK]),
    (Rewrite, Mor, [NO, NO], [OK, OK]),
    (Rewrite, Partitions, [NO, NO], [NO, NO]),
    (Rewrite, Rewrite, [NO, NO], [OK, OK]),
];

#[tokio::test]
async fn every_pair() {
    for version in 1..=3 {
        for (ours, theirs, same, other) in MATRIX {
            if version == 1 && (ours == Mor || theirs == Mor) {
                continue;
            }
            // The third file is in another partition: nothing about it is in the way.
            for (n, expected) in [(0, same), (1, other), (2, [OK, OK])] {
                for (serializable, expected) in [true, false].into_iter().zip(expected) {
                    let (catalog, t) = start(version).await;
                    let read = Some((t.snapshot().unwrap().snapshot_id, serializable));
                    // X68: not only the last commit counts.
                    let now = commit(&catalog, &t, change(theirs, version, n, "theirs", None))
                        .await
                        .unwrap();
                    let last = if n == 2 { "d" } else { "far" };
                    let far = SnapshotChange::append(vec![data_in(last, 7, 1)]);
                    commit(&catalog, &now, far).await.unwrap();
                    let result = commit(&catalog, &t, change(ours, version, 0, "ours", read)).await;
                    let what = format!(
                        "v{version}: {ours:?} after {theirs:?} of file {n}, serializable {serializable}"
                    );
                    match result {
                        Ok(_) => assert!(expected, "{what}: it was committed"),
                        Err(Error::Conflict { reason, .. }) => assert!(!expected, "{what}: {reason}"),
                        Err(other) => panic!("{what}: {other}"),
                    }
                    if serializable {
                        let now = catalog.view().load_table(&ident()).await.unwrap();
                        check(&catalog, &now).await;
                    }
                }
            }
        }
    }
}

/// Removes snapshots from the table.
async fn expire(catalog: &TestCatalog, t: &Table, ids: Vec<i64>) -> Table {
    let tx = Transaction::new(t, ident()).add_updates(vec![TableUpdate::RemoveSnapshots(ids)]);
    tx.commit(catalog).await.unwrap()
}

fn is_conflict(result: &Result<Table>) -> bool {
    matches!(result, Err(Error::Conflict { .. }))
}

/// C43: a history that does not reach back to what was read proves nothing.
#[tokio::test]
async fn history_that_was_expired() {
    for also_between in [false, true] {
        let (catalog, old) = start(2).await;
        let read = old.snapshot().unwrap().snapshot_id;
        let mut ids = vec![read];
        let mut t = old.clone();
        for n in 0..3 {
            let far = SnapshotChange::append(vec![data_in(&format!("far{n}"), 7, 1)]);
            t = commit(&catalog, &t, far).await.unwrap();
        }
        if also_between {
            ids = vec![t.metadata().snapshots()[1].snapshot_id];
        }
        expire(&catalog, &t, ids).await;
        let result = commit(&catalog, &old, change(Cow, 2, 0, "ours", Some((read, true)))).await;
        // The snapshot that was read may itself be gone: those after it are all there.
        assert_eq!(is_conflict(&result), also_between, "{:?}", result.err());
        commit(&catalog, &old, change(Append, 2, 0, "ours2", None))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn history_that_was_rolled_back() {
    let (catalog, t) = start(2).await;
    let first = t.snapshot().unwrap().snapshot_id;
    let t = commit(&catalog, &t, SnapshotChange::append(vec![data_in("d", 0, 1)]))
        .await
        .unwrap();
    let read = t.snapshot().unwrap().snapshot_id;
    let back = TableUpdate::SetSnapshotRef {
        name: "main".into(),
        snapshot_ref: drumlin_format::snapshot::SnapshotRef::branch(first),
    };
    let tx = Transaction::new(&t, ident()).add_updates(vec![back]);
    tx.commit(catalog.as_ref()).await.unwrap();
    let result = commit(&catalog, &t, change(Cow, 2, 0, "ours", Some((read, false)))).await;
    assert!(is_conflict(&result), "{:?}", result.err());
}

#[tokio::test]
async fn a_table_that_was_read_empty() {
    for (serializable, p) in [(true, 0), (true, 1), (false, 0)] {
        let (catalog, empty) = by_p(2, &[]).await;
        commit(&catalog, &empty, SnapshotChange::append(vec![data_in("x", p, 1)]))
            .await
            .unwrap();
        let ours = SnapshotChange::overwrite(vec![data_in("n", 0, 1)])
            .rows_read(p_is(0))
            .read_at(None);
        let ours = match serializable {
            true => ours.refuse_new_data().refuse_new_deletes(),
            false => ours.refuse_new_deletes(),
        };
        let result = commit(&catalog, &empty, ours).await;
        assert_eq!(is_conflict(&result), serializable && p == 0, "{:?}", result.err());
    }
}

/// Without a word on what was read, it is the table of the transaction.
#[tokio::test]
async fn assumptions_without_a_snapshot() {
    let (catalog, t) = start(2).await;
    commit(&catalog, &t, change(Append, 2, 1, "theirs", None))
        .await
        .unwrap();
    let ours = SnapshotChange::overwrite(vec![data_in("n", 0, 1)]).refuse_new_data();
    assert!(is_conflict(&commit(&catalog, &t, ours).await));
    let (catalog, t) = start(2).await;
    commit(&catalog, &t, change(Mor, 2, 0, "theirs", None))
        .await
        .unwrap();
    let ours = SnapshotChange::rewrite_files(vec![data_in("a", 0, 10)], vec![data_in("n", 0, 10)]);
    assert!(
        is_conflict(&commit(&catalog, &t, ours).await),
        "the new deletes would be lost"
    );
}

/// C27: files in which rows are deleted may be gone by a plain delete, if the statement says so.
#[tokio::test]
async fn deletes_of_rows_whose_file_is_gone() {
    for version in 2..=3 {
        let a = data_in("a", 0, 10);
        let removed = || SnapshotChange::delete_files().remove([data_in("a", 0, 10)]);
        let replaced = || change(Rewrite, version, 0, "theirs", None);
        for (theirs, forgive, expected) in [
            (removed(), true, OK),
            (removed(), false, NO),
            (replaced(), true, NO),
            (replaced(), false, NO),
        ] {
            let (catalog, t) = start(version).await;
            commit(&catalog, &t, theirs).await.unwrap();
            let read = t.snapshot().unwrap().snapshot_id;
            let ours = SnapshotChange::row_delta(vec![deletes_of(version, "del", &a, 1)])
                .require_files([path(&a)], forgive)
                .read_at(Some(read));
            let result = commit(&catalog, &t, ours).await;
            assert_eq!(result.is_ok(), expected, "forgive {forgive}: {:?}", result.err());
        }
    }
}

/// F114: at most one vector for a file. Of position delete files there may be several.
#[tokio::test]
async fn two_deletes_of_one_file() {
    for (version, expected) in [(2, OK), (3, NO)] {
        let (catalog, t) = start(version).await;
        let a = data_in("a", 0, 10);
        let delta = |name: &str| SnapshotChange::row_delta(vec![deletes_of(version, name, &a, 1)]);
        commit(&catalog, &t, delta("d1")).await.unwrap();
        let result = commit(&catalog, &t, delta("d2")).await;
        assert_eq!(result.is_ok(), expected, "{:?}", result.err());
        // A vector that takes in the one before replaces it; two that do so are in each other's way.
        if version == 3 {
            let t = catalog.load_table(&ident()).await.unwrap();
            let next = |name: &str| delta(name).remove([deletes_of(version, "d1", &a, 1)]);
            commit(&catalog, &t, next("d3")).await.unwrap();
            assert!(is_conflict(&commit(&catalog, &t, next("d4")).await));
        }
        let t = catalog.load_table(&ident()).await.unwrap();
        check(&catalog, &t).await;
    }
}

/// C29: equality deletes that are newer still apply to what keeps its number, and are lost to what does not.
#[tokio::test]
async fn equality_deletes_during_a_rewrite() {
    for (keeps, partition, expected) in [(true, 0, OK), (false, 0, NO), (false, 1, OK)] {
        let (catalog, t) = start(2).await;
        let tuple = vec![Some(drumlin_format::value::Value::Int(partition))];
        let theirs = SnapshotChange::row_delta(vec![equality_deletes("e", 0, tuple, 1)]);
        commit(&catalog, &t, theirs).await.unwrap();
        let read = t.snapshot().unwrap().snapshot_id;
        let ours = SnapshotChange::rewrite_files(vec![data_in("a", 0, 10)], vec![data_in("n", 0, 10)]);
        let ours = ours.read_at(Some(read));
        let ours = if keeps {
            ours.with_data_sequence_number(1)
        } else {
            ours
        };
        let result = commit(&catalog, &t, ours).await;
        assert_eq!(result.is_ok(), expected, "{:?}", result.err());
        let t = catalog.load_table(&ident()).await.unwrap();
        check(&catalog, &t).await;
    }
}

/// Rows that were read are told from others by bounds, too.
#[tokio::test]
async fn bounds_tell_rows_apart() {
    for (lowest, conflict) in [(5, true), (10, false)] {
        let (catalog, t) = table(2, &[], &[]).await;
        let t = commit(&catalog, &t, SnapshotChange::append(vec![data("a", 10)]))
            .await
            .unwrap();
        let read = t.snapshot().unwrap().snapshot_id;
        let new = data("x", 10).with_ids(lowest, 20);
        commit(&catalog, &t, SnapshotChange::append(vec![new]))
            .await
            .unwrap();
        let ours = SnapshotChange::overwrite(vec![data("n", 9)])
            .remove([data("a", 10)])
            .rows_read(ids_below(10))
            .read_at(Some(read))
            .refuse_new_data();
        assert_eq!(is_conflict(&commit(&catalog, &t, ours).await), conflict);
    }
}

/// X69: partitions can be replaced by what was read in others.
#[tokio::test]
async fn partitions_that_are_replaced_by_rows_of_others() {
    for (version, read, p, expected) in [
        (1, None, 1, OK),
        (2, None, 1, OK),
        (2, None, 0, NO),
        (2, Some(p_is(1)), 1, NO),
        (2, Some(p_is(1)), 0, NO),
        (2, Some(p_is(1)), 2, OK),
    ] {
        let (catalog, t) = start(version).await;
        let theirs = SnapshotChange::append(vec![data_in("x", p, 1)]);
        commit(&catalog, &t, theirs).await.unwrap();
        let ours = SnapshotChange::replace_partitions(vec![data_in("n", 0, 1)])
            .read_at(t.metadata().current_snapshot_id())
            .refuse_new_data();
        let ours = match &read {
            Some(rows) => ours.rows_read(rows.clone()),
            None => ours,
        };
        let result = commit(&catalog, &t, ours).await;
        assert_eq!(result.is_ok(), expected, "{read:?} {p}: {:?}", result.err());
    }
}

/// Metadata that a change builds on, and metadata that it does not.
#[tokio::test]
async fn changes_of_metadata() {
    let set = |key: &str| TableUpdate::SetProperties(BTreeMap::from([(key.to_string(), "1".to_string())]));
    let spec = || {
        vec![
            TableUpdate::AddSpec(spec(&[(ID, "bucket[4]")])),
            TableUpdate::SetDefaultSpec(-1),
        ]
    };
    for (ours, theirs, expected) in [
        (vec![set("a")], vec![set("b")], OK),
        (vec![set("a")], spec(), OK),
        (spec(), vec![set("b")], OK),
        (spec(), spec(), NO),
    ] {
        let (catalog, t) = by_p(2, &[]).await;
        let tx = |updates| Transaction::new(&t, ident()).add_updates(updates);
        tx(theirs).commit(catalog.as_ref()).await.unwrap();
        let result = tx(ours).commit(catalog.as_ref()).await;
        assert_eq!(result.is_ok(), expected, "{:?}", result.err());
    }
}

//! Tries after other commits, answers that are lost, and what is deleted after them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use drumlin_format::metadata::TableUpdate;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::catalog::{Answer, TestCatalog};
use super::checked::{check, current};
use super::store::Fault;
use super::tables::*;
use crate::catalog::{Catalog, TableIdent};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::transaction::{SnapshotChange, Transaction};

/// Another commit, made on the table as it is then.
fn other(catalog: &TestCatalog, change: SnapshotChange) -> Answer {
    let view = catalog.view();
    Answer::After(
        async move {
            let table = view.load_table(&ident()).await.unwrap();
            commit(&view, &table, change).await.unwrap();
        }
        .boxed(),
    )
}

/// Another commit of metadata.
fn other_updates(catalog: &TestCatalog, updates: Vec<TableUpdate>) -> Answer {
    let view = catalog.view();
    let commit: BoxFuture<'static, ()> = async move {
        let table = view.load_table(&ident()).await.unwrap();
        let tx = Transaction::new(&table, ident()).add_updates(updates);
        tx.commit(&view).await.unwrap();
    }
    .boxed();
    Answer::After(commit)
}

async fn settled(catalog: &TestCatalog) -> Table {
    let table = catalog.view().load_table(&ident()).await.unwrap();
    check(catalog, &table).await;
    table
}

/// How many manifests and lists are in the store that no snapshot names.
async fn left_over(catalog: &TestCatalog) -> usize {
    let table = catalog.view().load_table(&ident()).await.unwrap();
    let mut named = std::collections::BTreeSet::new();
    for snapshot in table.metadata().snapshots() {
        for (manifest, _) in super::checked::manifests(&table, snapshot).await {
            named.insert(manifest.manifest_path.replace("memory:/", ""));
        }
        if let drumlin_format::snapshot::ManifestListLocation::File(list) = &snapshot.manifest_list {
            named.insert(list.replace("memory:/", ""));
        }
    }
    let written = catalog.shelf.written.lock().unwrap().clone();
    let deleted = catalog.shelf.deleted.lock().unwrap().clone();
    written
        .iter()
        .filter(|w| !deleted.contains(*w) && !named.contains(*w))
        .count()
}

#[tokio::test]
async fn a_lost_race_is_run_again() {
    for version in 1..=3 {
        let (catalog, t) = by_p(version, &[]).await;
        let answers = (0..4).map(|n| {
            other(
                &catalog,
                SnapshotChange::append(vec![data_in(&format!("o{n}"), 0, 3)]),
            )
        });
        catalog.script(answers.collect::<Vec<_>>());
        let done = commit(&catalog, &t, SnapshotChange::append(vec![data_in("a", 0, 5)]))
            .await
            .unwrap();
        assert_eq!(catalog.commits(), 1 + 5);
        assert_eq!(scanned(&done).await, ["a", "o0", "o1", "o2", "o3"]);
        assert_eq!(settled(&catalog).await.metadata().snapshots().len(), 5);
        assert_eq!(left_over(&catalog).await, 0);
    }
}

#[tokio::test]
async fn tries_end() {
    for (retries, total) in [("0", "60000"), ("2", "60000"), ("7", "60000"), ("7", "0")] {
        let properties = [
            ("commit.retry.num-retries", retries),
            ("commit.retry.total-timeout-ms", total),
        ];
        let (catalog, t) = by_p(2, &properties).await;
        // A first commit, so that the wait of a millisecond is more than the total.
        let answers = (0..9).map(|n| {
            other(
                &catalog,
                SnapshotChange::append(vec![data_in(&format!("o{n}"), 0, 3)]),
            )
        });
        catalog.script(answers.collect::<Vec<_>>());
        let error = commit(&catalog, &t, SnapshotChange::append(vec![data_in("a", 0, 5)]))
            .await
            .unwrap_err();
        let Error::CommitRetries { attempts, .. } = &error else {
            panic!("{error}")
        };
        let expected = if total == "0" {
            1
        } else {
            retries.parse::<usize>().unwrap() + 1
        };
        assert_eq!(*attempts, expected, "{retries} {total}");
        assert_eq!(catalog.commits(), 1 + expected);
        settled(&catalog).await;
        assert_eq!(left_over(&catalog).await, 0);
    }
}

#[tokio::test]
async fn waits_grow_up_to_the_longest() {
    let policy = crate::transaction::RetryPolicy {
        retries: 4,
        min_wait: Duration::from_millis(100),
        max_wait: Duration::from_millis(500),
        total: Duration::from_secs(1),
    };
    for (n, ms) in [(1, 100), (2, 200), (3, 400), (4, 500), (5, 500), (60, 500)] {
        for random in [0, 1, 999, u64::MAX] {
            let wait = policy.wait(n, random);
            assert!(
                (ms..=ms + ms / 10).contains(&(wait.as_millis() as u64)),
                "{n}: {wait:?}"
            );
        }
    }
}

/// What an earlier change of the transaction added has other numbers on each try.
#[tokio::test]
async fn several_changes_are_tried_again_with_new_numbers() {
    for version in 1..=3 {
        for min in ["2", "100"] {
            let (catalog, t) = by_p(version, &[("commit.manifest.min-count-to-merge", min)]).await;
            catalog.script([
                other(&catalog, SnapshotChange::append(vec![data_in("o1", 0, 3)])),
                other(&catalog, SnapshotChange::append(vec![data_in("o2", 0, 3)])),
            ]);
            let (a, b) = (data_in("a", 0, 5), data_in("b", 0, 7));
            let done = Transaction::new(&t, ident())
                .add(SnapshotChange::append(vec![a.clone(), b]))
                .add(SnapshotChange::overwrite(vec![data_in("c", 0, 2)]).remove([a]))
                .add(SnapshotChange::append(vec![data_in("d", 0, 2)]))
                .commit(catalog.as_ref())
                .await
                .unwrap();
            assert_eq!(scanned(&done).await, ["b", "c", "d", "o1", "o2"]);
            settled(&catalog).await;
            assert_eq!(left_over(&catalog).await, 0);
        }
    }
}

/// The table becomes one of a later version between two tries.
#[tokio::test]
async fn an_upgrade_between_tries() {
    for (from, to) in [(1, 2), (2, 3), (1, 3)] {
        let (catalog, t) = by_p(from, &[("commit.manifest.min-count-to-merge", "2")]).await;
        let files: Vec<_> = (0..3).map(|n| data_in(&format!("f{n}"), n, 4)).collect();
        let t = commit(&catalog, &t, SnapshotChange::append(files.clone()))
            .await
            .unwrap();
        let t = commit(&catalog, &t, SnapshotChange::append(vec![data_in("g", 0, 4)]))
            .await
            .unwrap();
        catalog.script([
            other_updates(&catalog, vec![TableUpdate::UpgradeFormatVersion(to)]),
            other(&catalog, SnapshotChange::append(vec![data_in("o", 1, 3)])),
            other(&catalog, SnapshotChange::append(vec![data_in("o2", 1, 3)])),
        ]);
        let change = SnapshotChange::overwrite(vec![data_in("h", 1, 2)]).remove([files[1].clone()]);
        let done = commit(&catalog, &t, change).await.unwrap();
        assert_eq!(scanned(&done).await, ["f0", "f2", "g", "h", "o", "o2"]);
        settled(&catalog).await;
        assert_eq!(left_over(&catalog).await, 0);
    }
}

/// The table is of version 3 but nothing is numbered yet when it is read; then another commit numbers it.
#[tokio::test]
async fn rows_that_were_numbered_between_tries_keep_their_ids() {
    let (catalog, t) = by_p(2, &[("commit.manifest.min-count-to-merge", "3")]).await;
    let files: Vec<_> = (0..3).map(|n| data_in(&format!("f{n}"), n, 4)).collect();
    let t = commit(&catalog, &t, SnapshotChange::append(files.clone()))
        .await
        .unwrap();
    let tx = Transaction::new(&t, ident()).add_updates(vec![TableUpdate::UpgradeFormatVersion(3)]);
    let t = tx.commit(catalog.as_ref()).await.unwrap();
    catalog.script([other(&catalog, SnapshotChange::append(vec![data_in("o", 1, 3)]))]);
    let change = SnapshotChange::delete_files().remove([files[1].clone()]);
    let done = commit(&catalog, &t, change).await.unwrap();
    settled(&catalog).await;
    let other = done.metadata().snapshots()[1].clone();
    let numbered = super::checked::live(&done, &other).await;
    for (key, entry) in current(&done).await {
        assert_eq!(
            entry.data_file.first_row_id, numbered[&key].data_file.first_row_id,
            "{key:?}"
        );
    }
}

/// C6, X63, X64: whatever the answer, the statement happened once and its files are there.
#[tokio::test]
async fn lost_answers() {
    for tells in [true, false] {
        for (fault, retries) in [
            (Fault::ApplyThenFail, "4"),
            (Fault::ApplyThenFail, "0"),
            (Fault::ApplyThenConflict, "4"),
            (Fault::ApplyThenConflict, "0"),
        ] {
            for loads_fail in [0, 2] {
                let (catalog, t) = by_p(3, &[("commit.retry.num-retries", retries)]).await;
                let mut catalog = catalog.view();
                catalog.tells_location = tells;
                catalog.script([Answer::Faulty(fault)]);
                if fault == Fault::ApplyThenFail {
                    catalog.failing_loads.store(loads_fail, Ordering::SeqCst);
                }
                let result = commit(&catalog, &t, SnapshotChange::append(vec![data_in("a", 0, 5)])).await;
                let done = result.unwrap_or_else(|e| panic!("{fault:?} {retries}: {e}"));
                assert_eq!(scanned(&done).await, ["a"]);
                assert_eq!(settled(&catalog).await.metadata().snapshots().len(), 1);
            }
        }
    }
}

#[tokio::test]
async fn an_outcome_that_stays_unknown_deletes_nothing() {
    for fault in [Fault::ApplyThenFail, Fault::Unknown] {
        let (catalog, t) = by_p(2, &[]).await;
        catalog.script([Answer::Faulty(fault)]);
        catalog.failing_loads.store(100, Ordering::SeqCst);
        let error = commit(&catalog, &t, SnapshotChange::append(vec![data_in("a", 0, 5)]))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::CommitUnknown { .. }), "{error}");
        assert!(!error.nothing_was_committed());
        assert_eq!(catalog.shelf.deleted.lock().unwrap().len(), 0);
        settled(&catalog).await;
    }
}

/// Another commit that is where this one would be proves that this one is not.
#[tokio::test]
async fn a_commit_that_was_overtaken_is_tried_again() {
    let (catalog, t) = by_p(2, &[]).await;
    let first = other(&catalog, SnapshotChange::append(vec![data_in("o", 0, 3)]));
    catalog.script([Answer::Faulty(Fault::Unknown)]);
    let Answer::After(first) = first else { panic!() };
    first.await;
    let done = commit(&catalog, &t, SnapshotChange::append(vec![data_in("a", 0, 5)]))
        .await
        .unwrap();
    assert_eq!(scanned(&done).await, ["a", "o"]);
    assert_eq!(left_over(&catalog).await, 0);
    settled(&catalog).await;
}

#[tokio::test]
async fn a_definite_failure_leaves_nothing() {
    let (catalog, t) = by_p(2, &[]).await;
    let t = commit(&catalog, &t, SnapshotChange::append(vec![data_in("a", 0, 5)]))
        .await
        .unwrap();
    catalog.script([
        other(&catalog, SnapshotChange::append(vec![data_in("o", 0, 3)])),
        Answer::Faulty(Fault::Fail),
    ]);
    let change = SnapshotChange::overwrite(vec![data_in("b", 0, 5)]).remove([data_in("a", 0, 5)]);
    let error = commit(&catalog, &t, change).await.unwrap_err();
    assert!(error.nothing_was_committed());
    assert_eq!(scanned(&settled(&catalog).await).await, ["a", "o"]);
    assert_eq!(left_over(&catalog).await, 0);
}

async fn creating(catalog: &TestCatalog, rows: bool) -> Transaction {
    let staged = catalog
        .view()
        .stage_table(&ident(), creation(2, &[(P, "identity")], &[]))
        .await
        .unwrap();
    let tx = Transaction::create(&staged, catalog.storage());
    match rows {
        true => tx.add(SnapshotChange::append(vec![data_in("a", 0, 1)])),
        false => tx,
    }
}

/// A table that is made is made once, and what it names stays.
#[tokio::test]
async fn creating_a_table_whose_answer_is_lost() {
    for rows in [true, false] {
        for tells in [true, false] {
            for fault in [Fault::ApplyThenFail, Fault::ApplyThenConflict] {
                let mut catalog = TestCatalog::new();
                catalog.tells_location = tells;
                let tx = creating(&catalog, rows).await;
                catalog.script([Answer::Faulty(fault)]);
                let result = tx.commit(&catalog).await;
                assert!(
                    result.is_ok(),
                    "rows {rows}, location {tells}, {fault:?}: {result:?}"
                );
                settled(&catalog).await;
            }
        }
    }
}

#[tokio::test]
async fn creating_a_table_that_another_has_made() {
    for fault in [None, Some(Fault::Unknown)] {
        let catalog = TestCatalog::new();
        let tx = creating(&catalog, true).await;
        let view = catalog.view();
        view.create_table(&ident(), creation(2, &[], &[])).await.unwrap();
        catalog.script(fault.map(Answer::Faulty));
        let error = tx.commit(&catalog).await.unwrap_err();
        assert!(matches!(error, Error::TableExists { .. }), "{error}");
        settled(&catalog).await;
        assert_eq!(left_over(&catalog).await, 0);
    }
}

/// X67: replacing a table would lose what was committed since it was read.
#[tokio::test]
async fn replacing_a_table_that_moved_is_a_conflict() {
    for with_rows in [true, false] {
        for since in [true, false] {
            let (catalog, t) = by_p(2, &[]).await;
            let t = commit(&catalog, &t, SnapshotChange::append(vec![data_in("a", 0, 1)]))
                .await
                .unwrap();
            let mut tx = Transaction::replace(&t, ident(), creation(2, &[], &[])).unwrap();
            if with_rows {
                let spec_id = tx.table().metadata().default_spec().spec_id();
                tx = tx.add(SnapshotChange::append(vec![data("b", 1).of(spec_id, vec![])]));
            }
            if since {
                catalog.script([other(&catalog, SnapshotChange::append(vec![data_in("o", 0, 1)]))]);
            }
            let result: Result<Table> = tx.commit(catalog.as_ref()).await;
            assert_eq!(
                result.is_err(),
                since,
                "rows {with_rows}, since {since}: {result:?}"
            );
            if let Err(error) = result {
                assert!(matches!(error, Error::Conflict { .. }), "{error}");
                assert_eq!(scanned(&settled(&catalog).await).await, ["a", "o"]);
                assert_eq!(left_over(&catalog).await, 0);
            }
        }
    }
}

#[tokio::test]
async fn replacing_a_table_whose_answer_is_lost() {
    for fault in [Fault::ApplyThenFail, Fault::ApplyThenConflict] {
        let (catalog, t) = by_p(2, &[]).await;
        let tx = Transaction::replace(&t, ident(), creation(2, &[], &[])).unwrap();
        let spec_id = tx.table().metadata().default_spec().spec_id();
        let tx = tx.add(SnapshotChange::append(vec![data("b", 1).of(spec_id, vec![])]));
        catalog.script([Answer::Faulty(fault)]);
        let result = tx.commit(catalog.as_ref()).await;
        assert!(result.is_ok(), "{fault:?}: {:?}", result.err());
        settled(&catalog).await;
    }
}

/// C10
#[tokio::test]
async fn another_table_of_the_name_is_not_written_to() {
    let (catalog, t) = by_p(2, &[]).await;
    let view = catalog.view();
    let swap: BoxFuture<'static, ()> = async move {
        let ident: TableIdent = ident();
        view.drop_table(&ident, false).await.unwrap();
        view.create_table(&ident, creation(2, &[(P, "identity")], &[]))
            .await
            .unwrap();
    }
    .boxed();
    catalog.script([Answer::After(swap)]);
    let result = commit(&catalog, &t, SnapshotChange::append(vec![data_in("a", 0, 1)])).await;
    assert!(matches!(result, Err(Error::Conflict { .. })), "{result:?}");
    assert_eq!(left_over(&catalog).await, 0);
}

#[tokio::test]
async fn many_writers_at_once() {
    let (catalog, t) = by_p(
        3,
        &[
            ("commit.retry.num-retries", "100"),
            ("commit.manifest.min-count-to-merge", "4"),
        ],
    )
    .await;
    let writers = (0..8).map(|writer| {
        let (view, mut t) = (Arc::new(catalog.view()), t.clone());
        tokio::spawn(async move {
            for n in 0..5 {
                let change = SnapshotChange::append(vec![data_in(&format!("w{writer}-{n}"), n, 3)]);
                t = commit(&view, &t, change).await.unwrap();
            }
        })
    });
    for done in futures::future::join_all(writers).await {
        done.unwrap();
    }
    let t = settled(&catalog).await;
    assert_eq!(scanned(&t).await.len(), 40);
    assert_eq!(t.metadata().last_sequence_number(), 40);
    assert_eq!(left_over(&catalog).await, 0);
}

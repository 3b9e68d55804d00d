//! What each operation makes of the files of a table.

use drumlin_format::manifest::{DataFile, ManifestContent, ManifestStatus};
use drumlin_format::snapshot::Operation;
use drumlin_format::value::Value;

use super::catalog::TestCatalog;
use super::checked::{check, current, manifests, paths};
use super::tables::*;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::predicate::Predicate;
use crate::table::Table;
use crate::transaction::{SnapshotChange, Transaction};

/// Commits, checks the table and gives its data files.
pub async fn after(catalog: &TestCatalog, table: &mut Table, change: SnapshotChange) -> Vec<String> {
    *table = commit(catalog, table, change).await.unwrap();
    check(catalog, table).await;
    let files = paths(&current(table).await, true);
    assert_eq!(files, scanned(table).await);
    files
}

fn operation(table: &Table) -> Operation {
    table.snapshot().unwrap().summary.operation.clone()
}

fn note<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.snapshot().unwrap().summary.get(key)
}

/// Statuses of the entries of each manifest, in the order of the list.
pub async fn statuses(table: &Table) -> Vec<Vec<(String, ManifestStatus)>> {
    let all = manifests(table, table.snapshot().unwrap()).await;
    let of = |entries: Vec<_>| {
        let entries = entries.into_iter();
        entries
            .map(|e: drumlin_format::manifest::ManifestEntry| (e.data_file.file_path.to_string(), e.status))
            .collect()
    };
    all.into_iter().map(|(_, entries)| of(entries)).collect()
}

#[tokio::test]
async fn data_operations_in_all_versions() {
    for version in 1..=3 {
        let (catalog, mut t) = by_p(version, &[]).await;
        let (a, b, c) = (data_in("a", 0, 10), data_in("b", 1, 20), data_in("c", 0, 5));
        let append = SnapshotChange::append(vec![a.clone(), b.clone()]);
        assert_eq!(after(&catalog, &mut t, append).await, ["a", "b"]);
        assert_eq!(operation(&t), Operation::Append);
        let append = SnapshotChange::append(vec![c.clone()]).without_merge();
        assert_eq!(after(&catalog, &mut t, append).await, ["a", "b", "c"]);
        let delete = SnapshotChange::delete_files().remove_paths([path(&a)]);
        assert_eq!(after(&catalog, &mut t, delete).await, ["b", "c"]);
        assert_eq!(operation(&t), Operation::Delete);
        // C16: what survives is existing, what goes is deleted, and only that manifest was opened.
        use ManifestStatus::*;
        let expected = [
            vec![("c".to_string(), Added)],
            vec![("a".into(), Deleted), ("b".into(), Existing)],
        ];
        let mut found = statuses(&t).await;
        found.sort_by(|a, b| a[0].0.cmp(&b[0].0));
        let mut expected = expected.to_vec();
        expected.sort_by(|a, b| a[0].0.cmp(&b[0].0));
        assert_eq!(found, expected, "v{version}");
        let rows = SnapshotChange::delete_files().remove_rows(p_is(1));
        assert_eq!(after(&catalog, &mut t, rows).await, ["c"]);
        let part = SnapshotChange::delete_files().remove_rows(ids_below(3));
        let error = commit(&catalog, &t, part).await.unwrap_err();
        assert!(error.to_string().contains("some of the rows of `c`"), "{error}");
        let whole = SnapshotChange::overwrite(vec![data_in("d", 1, 3)]).remove_rows(ids_below(5));
        assert_eq!(after(&catalog, &mut t, whole).await, ["d"]);
        assert_eq!(operation(&t), Operation::Overwrite);
        let only_adds = SnapshotChange::overwrite(vec![data_in("e", 0, 3), data_in("e2", 0, 3)]);
        assert_eq!(after(&catalog, &mut t, only_adds).await, ["d", "e", "e2"]);
        assert_eq!(operation(&t), Operation::Append);
        let replace = SnapshotChange::replace_partitions(vec![data_in("f", 0, 2)]);
        assert_eq!(after(&catalog, &mut t, replace).await, ["d", "f"]);
        assert_eq!(operation(&t), Operation::Overwrite);
        // C28
        assert_eq!(note(&t, "replace-partitions"), Some("true"));
        let rewrite = SnapshotChange::rewrite_files(vec![data_in("f", 0, 2)], vec![data_in("g", 0, 2)]);
        assert_eq!(after(&catalog, &mut t, rewrite).await, ["d", "g"]);
        assert_eq!(operation(&t), Operation::Replace);
        let overwrite = SnapshotChange::overwrite(vec![data_in("h", 1, 1)]).remove([data_in("d", 1, 3)]);
        assert_eq!(after(&catalog, &mut t, overwrite).await, ["g", "h"]);
        let all = SnapshotChange::delete_files().remove_rows(Predicate::AlwaysTrue);
        assert_eq!(after(&catalog, &mut t, all).await, [""; 0]);
        // C17: those that only tell of deletions live one snapshot.
        let none = SnapshotChange::append(vec![]);
        assert_eq!(after(&catalog, &mut t, none).await, [""; 0]);
        assert_eq!(manifests(&t, t.snapshot().unwrap()).await.len(), 0);
        assert_eq!(t.metadata().snapshot_log().len(), t.metadata().snapshots().len());
    }
}

#[tokio::test]
async fn an_unpartitioned_table_is_replaced_as_a_whole() {
    for version in 1..=3 {
        let (catalog, mut t) = table(version, &[], &[]).await;
        let append = SnapshotChange::append(vec![data("a", 1), data("b", 1)]);
        after(&catalog, &mut t, append).await;
        if version > 1 {
            let delta = SnapshotChange::row_delta(vec![equality_deletes("e", 0, vec![], 1)]);
            after(&catalog, &mut t, delta).await;
        }
        let replace = SnapshotChange::replace_partitions(vec![data("c", 1)]);
        assert_eq!(after(&catalog, &mut t, replace).await, ["c"]);
        assert_eq!(current(&t).await.len(), 1, "the deletes go, too");
    }
}

#[tokio::test]
async fn merge_on_read_and_deletes_that_dangle() {
    for version in 2..=3 {
        let (catalog, mut t) = by_p(version, &[]).await;
        let (a, b) = (data_in("a", 0, 10), data_in("b", 1, 20));
        after(
            &catalog,
            &mut t,
            SnapshotChange::append(vec![a.clone(), b.clone()]),
        )
        .await;
        let (da, db) = (deletes_of(version, "da", &a, 2), deletes_of(version, "db", &b, 1));
        let delta = SnapshotChange::row_delta(vec![da.clone(), db.clone()]);
        after(&catalog, &mut t, delta).await;
        assert_eq!(operation(&t), Operation::Delete);
        assert_eq!(paths(&current(&t).await, false), ["da", "db"]);
        let delta = SnapshotChange::row_delta(vec![data_in("c", 0, 1), deletes_of(version, "da2", &a, 3)]);
        after(&catalog, &mut t, delta.remove([da.clone()])).await;
        assert_eq!(operation(&t), Operation::Overwrite);
        assert_eq!(paths(&current(&t).await, false), ["da2", "db"]);
        let added = SnapshotChange::row_delta(vec![data_in("c2", 0, 1)]);
        after(&catalog, &mut t, added).await;
        assert_eq!(operation(&t), Operation::Append);
        let eq = SnapshotChange::row_delta(vec![equality_deletes("e", 0, vec![Some(Value::Int(0))], 1)]);
        after(&catalog, &mut t, eq).await;
        // F125: the deletes of a file go with it.
        let delete = SnapshotChange::delete_files().remove([a.clone()]);
        after(&catalog, &mut t, delete).await;
        assert_eq!(paths(&current(&t).await, false), ["db", "e"]);
        assert_eq!(note(&t, "removed-delete-files"), Some("1"));
        // C19: nothing is left that is as old as they are.
        let files = [data_in("c", 0, 1), b, data_in("c2", 0, 1)];
        let rewrite = SnapshotChange::rewrite_files(files.to_vec(), vec![data_in("z", 0, 1)]);
        after(&catalog, &mut t, rewrite).await;
        assert_eq!(paths(&current(&t).await, false), [""; 0]);
    }
}

/// C29: with the number of what it replaces, newer equality deletes still apply.
#[tokio::test]
async fn rewritten_files_can_keep_their_sequence_number() {
    for version in 2..=3 {
        let (catalog, mut t) = by_p(version, &[]).await;
        let a = data_in("a", 0, 10);
        after(&catalog, &mut t, SnapshotChange::append(vec![a.clone()])).await;
        let eq = SnapshotChange::row_delta(vec![equality_deletes("e", 0, vec![Some(Value::Int(0))], 1)]);
        after(&catalog, &mut t, eq).await;
        let rewrite = SnapshotChange::rewrite_files(vec![a], vec![data_in("b", 0, 9)]);
        after(&catalog, &mut t, rewrite.with_data_sequence_number(1)).await;
        let all = current(&t).await;
        assert_eq!(paths(&all, false), ["e"]);
        let b = all.values().find(|e| &*e.data_file.file_path == "b").unwrap();
        assert_eq!((b.sequence_number, b.file_sequence_number), (1, 3));
        let plan = t.plan_scan(&Predicate::AlwaysTrue).await;
        // The deletes apply, so that the scan wants to read them.
        assert!(plan.map_or(true, |p| p.tasks[0].deletes().is_some()));
    }
}

#[tokio::test]
async fn what_a_version_does_not_have_is_refused() {
    let a = data_in("a", 0, 10);
    for (version, deletes) in [
        (1, deletes_of(2, "d", &a, 1)),
        (1, equality_deletes("d", 0, vec![Some(Value::Int(0))], 1)),
        (2, deletes_of(3, "d", &a, 1)),
        (3, deletes_of(2, "d", &a, 1)),
    ] {
        let (catalog, t) = by_p(version, &[]).await;
        let t = commit(&catalog, &t, SnapshotChange::append(vec![a.clone()]))
            .await
            .unwrap();
        let error = commit(&catalog, &t, SnapshotChange::row_delta(vec![deletes]))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Format(_)), "{error}");
        let files = catalog.shelf.written.lock().unwrap().len();
        assert_eq!(files, 2, "v{version}: one list, one manifest");
    }
}

/// Several changes in one commit: each builds on those before, and one swap makes all of them.
#[tokio::test]
async fn several_changes_are_one_commit() {
    for version in 1..=3 {
        let (catalog, mut t) = by_p(version, &[("commit.manifest.min-count-to-merge", "2")]).await;
        after(&catalog, &mut t, SnapshotChange::append(vec![data_in("a", 0, 1)])).await;
        let start = t.snapshot().unwrap().snapshot_id;
        let commits = catalog.commits();
        let log = t.metadata().snapshot_log().len();
        let done = Transaction::new(&t, ident())
            .add(SnapshotChange::append(vec![
                data_in("b", 0, 2),
                data_in("c", 0, 3),
            ]))
            .add(
                SnapshotChange::overwrite(vec![data_in("d", 0, 4)])
                    .remove([data_in("b", 0, 2), data_in("a", 0, 1)])
                    .read_at(Some(start))
                    .refuse_new_data()
                    .refuse_new_deletes(),
            )
            .commit(catalog.as_ref())
            .await
            .unwrap();
        check(&catalog, &done).await;
        assert_eq!(scanned(&done).await, ["c", "d"]);
        assert_eq!(catalog.commits(), commits + 1);
        assert_eq!(done.metadata().snapshots().len(), 3);
        assert_eq!(
            done.metadata().snapshot_log().len(),
            log + 1,
            "C37, F29: only the last is logged"
        );
    }
}

#[tokio::test]
async fn a_table_is_made_with_its_rows_and_replaced() {
    for version in 1..=3 {
        let catalog = TestCatalog::new();
        let staged = catalog
            .stage_table(&ident(), creation(version, &[(P, "identity")], &[]))
            .await
            .unwrap();
        let create = Transaction::create(&staged, catalog.storage());
        let t = create
            .add(SnapshotChange::append(vec![data_in("a", 0, 1)]))
            .commit(&catalog)
            .await
            .unwrap();
        check(&catalog, &t).await;
        assert_eq!(scanned(&t).await, ["a"]);
        let replace = Transaction::replace(&t, ident(), creation(version, &[], &[])).unwrap();
        let spec_id = replace.table().metadata().default_spec().spec_id();
        let b = data("b", 1).of(spec_id, vec![]);
        let done = replace
            .add(SnapshotChange::append(vec![b]))
            .commit(&catalog)
            .await
            .unwrap();
        check(&catalog, &done).await;
        assert_eq!(scanned(&done).await, ["b"]);
        assert_eq!(done.metadata().snapshots().len(), 2);
        assert_eq!(done.metadata().table_uuid(), t.metadata().table_uuid());
        assert_eq!(note(&done, "total-data-files"), Some("1"));
    }
}

/// C22
#[tokio::test]
async fn a_file_that_is_added_twice_is_listed_once() {
    let (catalog, mut t) = by_p(2, &[]).await;
    let twice: Vec<DataFile> = vec![data_in("a", 0, 1), data_in("a", 0, 1)];
    assert_eq!(
        after(&catalog, &mut t, SnapshotChange::append(twice)).await,
        ["a"]
    );
}

/// C25: what is to be removed and is not there.
#[tokio::test]
async fn removing_what_is_not_there_is_a_conflict() {
    let (catalog, t) = by_p(2, &[]).await;
    let t = commit(&catalog, &t, SnapshotChange::append(vec![data_in("a", 0, 1)]))
        .await
        .unwrap();
    let gone: [SnapshotChange; 3] = [
        SnapshotChange::delete_files().remove_paths(["x".into()]),
        SnapshotChange::overwrite(vec![]).remove([data_in("x", 0, 1)]),
        SnapshotChange::rewrite_files(vec![data_in("x", 5, 1)], vec![]),
    ];
    for change in gone {
        let result: Result<Table> = commit(&catalog, &t, change).await;
        assert!(matches!(result, Err(Error::Conflict { .. })), "{result:?}");
    }
    let t = catalog.load_table(&ident()).await.unwrap();
    check(&catalog, &t).await;
    assert_eq!(
        catalog.shelf.written.lock().unwrap().len(),
        2 + catalog.shelf.deleted.lock().unwrap().len()
    );
    let none = manifests(&t, t.snapshot().unwrap()).await;
    assert!(none.iter().all(|(m, _)| m.content == ManifestContent::Data));
}

//! Faults at each step of a commit: every request to the store and every answer of the catalog, one after the other.

use std::sync::Arc;
use std::time::Duration;

use drumlin_format::metadata::TableUpdate;

use super::catalog::TestCatalog;
use super::checked::check;
use super::store::Fault;
use super::tables::*;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::storage::Location;
use crate::table::Table;
use crate::transaction::{SnapshotChange, Transaction};

/// Longer than any commit here takes.
const HANGING: Duration = Duration::from_millis(150);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Statement {
    /// Two changes, on a table that another commit has changed since it was read.
    Late,
    /// Merge-on-read with merging of manifests.
    Delta,
    /// A table and its rows.
    Create,
    /// Rows in the place of all that is there.
    Replace,
    /// Metadata alone.
    Properties,
}

/// A catalog on which nothing went wrong yet, and the changes.
async fn prepared(statement: Statement) -> (Arc<TestCatalog>, Transaction) {
    let properties = [
        ("commit.manifest.min-count-to-merge", "2"),
        ("commit.status-check.num-retries", "2"),
    ];
    if statement == Statement::Create {
        let catalog = TestCatalog::new();
        let creation = creation(3, &[(P, "identity")], &properties);
        let staged = catalog.stage_table(&ident(), creation).await.unwrap();
        let view = catalog.view();
        let tx = Transaction::create(&staged, view.storage());
        return (
            Arc::new(view),
            tx.add(SnapshotChange::append(vec![data_in("new", 0, 1)])),
        );
    }
    let (catalog, t) = by_p(3, &properties).await;
    let files = vec![data_in("a", 0, 5), data_in("b", 1, 7)];
    let old = commit(&catalog, &t, SnapshotChange::append(files)).await.unwrap();
    let c = SnapshotChange::append(vec![data_in("c", 0, 2)]);
    let now = commit(&catalog, &old, c.without_merge()).await.unwrap();
    let view = catalog.view();
    let read = match statement {
        Statement::Late => old,
        _ => now,
    };
    let location = read.metadata_location().to_string();
    let read = Table::new("t", view.storage().clone(), location, Arc::clone(read.metadata()));
    let tx = Transaction::new(&read, ident());
    let tx = match statement {
        Statement::Late => tx
            .add(SnapshotChange::append(vec![data_in("first", 0, 1)]))
            .add(SnapshotChange::overwrite(vec![data_in("new", 1, 1)]).remove([data_in("b", 1, 7)])),
        Statement::Delta => {
            let deletes = deletes_of(3, "d", &data_in("a", 0, 5), 1);
            tx.add(SnapshotChange::row_delta(vec![data_in("new", 0, 1), deletes]))
        }
        Statement::Replace => {
            let tx = Transaction::replace(&read, ident(), creation(3, &[], &[])).unwrap();
            let spec_id = tx.table().metadata().default_spec().spec_id();
            tx.add(SnapshotChange::append(vec![data("new", 1).of(spec_id, vec![])]))
        }
        _ => tx.add_updates(vec![TableUpdate::SetProperties(
            [("new".to_string(), "1".to_string())].into(),
        )]),
    };
    (Arc::new(view), tx)
}

/// Whether the statement happened: all of it or nothing.
async fn happened(catalog: &TestCatalog, statement: Statement) -> bool {
    let Ok(t) = catalog.view().load_table(&ident()).await else {
        return false;
    };
    check(catalog, &t).await;
    let files = scanned(&t).await;
    let (old, new): (&[&str], &[&str]) = match statement {
        Statement::Late => (&["a", "b", "c"], &["a", "c", "first", "new"]),
        Statement::Delta => (&["a", "b", "c"], &["a", "b", "c", "new"]),
        Statement::Create => (&[], &["new"]),
        Statement::Replace => (&["a", "b", "c"], &["new"]),
        Statement::Properties => return t.metadata().property("new").is_some(),
    };
    assert!(files == old || files == new, "{statement:?}: {files:?}");
    files == new
}

/// The files in the store that no snapshot names.
async fn unnamed(catalog: &TestCatalog) -> Vec<String> {
    let mut named = std::collections::HashSet::new();
    if let Ok(t) = catalog.view().load_table(&ident()).await {
        for snapshot in t.metadata().snapshots() {
            for (manifest, _) in super::checked::manifests(&t, snapshot).await {
                named.insert(Location::parse(&manifest.manifest_path).unwrap().path.to_string());
            }
            if let drumlin_format::snapshot::ManifestListLocation::File(list) = &snapshot.manifest_list {
                named.insert(Location::parse(list).unwrap().path.to_string());
            }
        }
    }
    let written = catalog.shelf.written.lock().unwrap().clone();
    let deleted = catalog.shelf.deleted.lock().unwrap().clone();
    let left = written.difference(&deleted).filter(|f| !named.contains(*f));
    left.cloned().collect()
}

async fn fault_at(statement: Statement, n: usize, fault: Fault, tells_location: bool) {
    let (catalog, tx) = prepared(statement).await;
    let mut catalog = Arc::into_inner(catalog).unwrap();
    catalog.tells_location = tells_location;
    let before = catalog.shelf.deleted.lock().unwrap().len();
    // The transaction uses the storage of the view it was made of, whose steps are those of this catalog.
    catalog.steps.fail_at(catalog.steps.count() + n, fault);
    let at = catalog.steps.count() + n;
    let result = tokio::time::timeout(HANGING, tx.commit(&catalog)).await;
    let name = catalog.steps.names().get(at - 1).cloned().unwrap_or_default();
    let what = format!("{statement:?}, {fault:?} at step {n} ({name}), location {tells_location}");
    catalog.steps.heal();
    let is_new = happened(&catalog, statement).await;
    let deleted = catalog.shelf.deleted.lock().unwrap().len() - before;
    match result {
        Ok(Ok(_)) => {
            assert!(is_new, "{what}: it is said to have happened");
            if name != "delete" {
                assert_eq!(unnamed(&catalog).await, [""; 0], "{what}");
            }
        }
        Ok(Err(error @ Error::CommitUnknown { .. })) => {
            assert_eq!(deleted, 0, "{what}: {error}");
            assert!(!error.nothing_was_committed());
        }
        Ok(Err(error)) => {
            assert!(!is_new, "{what}: it is said to have failed: {error}");
            assert!(error.nothing_was_committed());
            if name != "delete" {
                assert_eq!(unnamed(&catalog).await, [""; 0], "{what}: {error}");
            }
        }
        // Dropped.
        Err(_) => assert!(
            matches!(fault, Fault::Hang | Fault::ApplyThenHang),
            "{what}: it hangs"
        ),
    }
    // Whoever looks before it is repeated applies it once.
    if !is_new && statement == Statement::Delta {
        let t = catalog.view().load_table(&ident()).await.unwrap();
        let deletes = deletes_of(3, "d", &data_in("a", 0, 5), 1);
        let again = SnapshotChange::row_delta(vec![data_in("new", 0, 1), deletes]);
        commit(&catalog, &t, again).await.unwrap();
        assert!(happened(&catalog, statement).await, "{what}: repeated");
    }
}

async fn faults_of(statement: Statement) {
    let (catalog, tx) = prepared(statement).await;
    let start = catalog.steps.count();
    tx.commit(catalog.as_ref()).await.unwrap();
    assert!(happened(&catalog, statement).await);
    let names = catalog.steps.names();
    let steps = &names[start..];
    let has = |name: &str| steps.iter().any(|s| s == name);
    assert!(
        has("commit") && (has("put") || statement == Statement::Properties),
        "{steps:?}"
    );
    assert!(
        statement != Statement::Late || (has("get") && has("load")),
        "{steps:?}"
    );
    for n in 1..=steps.len() {
        let mut faults = vec![
            Fault::Fail,
            Fault::Hang,
            Fault::ApplyThenFail,
            Fault::ApplyThenHang,
        ];
        if steps[n - 1] == "commit" {
            faults.extend([Fault::Unknown, Fault::ApplyThenConflict]);
        }
        for fault in faults {
            for tells_location in [true, false] {
                if tells_location || steps[n - 1] == "commit" {
                    fault_at(statement, n, fault, tells_location).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn faults_of_a_late_statement() {
    faults_of(Statement::Late).await;
}

#[tokio::test]
async fn faults_of_a_delta() {
    faults_of(Statement::Delta).await;
}

#[tokio::test]
async fn faults_of_a_creation() {
    faults_of(Statement::Create).await;
}

#[tokio::test]
async fn faults_of_a_replacement() {
    faults_of(Statement::Replace).await;
}

#[tokio::test]
async fn faults_of_metadata() {
    faults_of(Statement::Properties).await;
}

/// The answers of the catalog stay away for good after a commit that was sent.
#[tokio::test]
async fn a_catalog_that_goes_away() {
    for fault in [Fault::ApplyThenFail, Fault::Unknown] {
        for statement in [Statement::Delta, Statement::Create, Statement::Replace] {
            let (catalog, tx) = prepared(statement).await;
            let before = catalog.shelf.deleted.lock().unwrap().len();
            catalog.script([super::catalog::Answer::Faulty(fault)]);
            catalog
                .failing_loads
                .store(1_000, std::sync::atomic::Ordering::SeqCst);
            let error = tx.commit(catalog.as_ref()).await.unwrap_err();
            assert!(matches!(error, Error::CommitUnknown { .. }), "{error}");
            assert_eq!(catalog.shelf.deleted.lock().unwrap().len(), before);
            assert_eq!(happened(&catalog, statement).await, fault == Fault::ApplyThenFail);
        }
    }
}

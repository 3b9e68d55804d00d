//! A statement that writes, with every step of it failing, hanging, losing its answer, or killing the process.
//!
//! Whatever happens, readers see the table before the statement or after it, and every file that a snapshot names is there.

mod faults;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_catalog::{ObjectStoreCatalog, SqlCatalog, SqlCatalogOptions};
use drumlin_datafusion::{IcebergCatalogProvider, IcebergTableProvider};
use drumlin_table::catalog::Catalog;
use drumlin_table::storage::Storage;
use futures::StreamExt;
use object_store::local::LocalFileSystem;

use crate::session::{answer, extended, integers, rows};
use faults::{Counted, Fault, FaultyCatalog, FaultyStore, Steps};

/// What is made to go wrong, on a table `t (k, v)`.
struct Statement {
    name: &'static str,
    /// How the table is laid out, and what it says of itself.
    layout: &'static str,
    before: &'static [&'static str],
    sql: &'static str,
    /// Count and sum of the rows before it and after it.
    states: [[i64; 2]; 2],
}

/// Two files in two partitions, in the place of one that is there: manifests are rewritten, too.
const OVERWRITE: Statement = Statement {
    name: "overwrite",
    layout: "PARTITIONED BY (k) TBLPROPERTIES ('format-version' = '2'",
    before: &["INSERT INTO t VALUES (7, 1)"],
    sql: "INSERT OVERWRITE t VALUES (1, 10), (2, 20)",
    states: [[1, 1], [2, 30]],
};

/// Data files, and a deletion vector in the place of the one that is there.
const MERGE: Statement = Statement {
    name: "merge",
    layout: "TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read', \
             'write.merge.mode' = 'merge-on-read'",
    before: &[
        "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)",
        "DELETE FROM t WHERE k = 3",
    ],
    sql: "MERGE INTO t USING (VALUES (1, 100), (9, 900)) AS s (k, v) ON t.k = s.k \
          WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)",
    states: [[2, 30], [3, 1030]],
};

/// A data file in the place of another one.
const UPDATE: Statement = Statement {
    name: "update",
    layout: "TBLPROPERTIES ('format-version' = '2'",
    before: &["INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)"],
    sql: "UPDATE t SET v = v + 1 WHERE k < 3",
    states: [[3, 60], [3, 62]],
};

/// A file of position deletes.
const DELETE: Statement = Statement {
    name: "delete",
    layout: "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read'",
    before: &["INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)"],
    sql: "DELETE FROM t WHERE k = 2",
    states: [[3, 60], [2, 40]],
};

const STATEMENTS: [&Statement; 4] = [&OVERWRITE, &MERGE, &UPDATE, &DELETE];

/// The variables by which a child process is told what to do.
const CHILD: &str = "DRUMLIN_CRASH_CHILD";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pointer {
    Folder,
    Sqlite,
}

/// A session over a warehouse in a folder, all of whose steps are counted.
async fn session(folder: &Path, pointer: Pointer, steps: &Arc<Steps>) -> SessionContext {
    let storage = Storage::default();
    let files = Arc::new(LocalFileSystem::new_with_prefix(folder.join("files")).unwrap());
    let steps = Arc::clone(steps);
    let store = FaultyStore {
        files,
        steps: Arc::clone(&steps),
    };
    storage.register("s3://lake", Arc::new(store)).unwrap();
    let catalog: Arc<dyn Catalog> = match pointer {
        Pointer::Folder => Arc::new(ObjectStoreCatalog::new(storage.clone(), "s3://lake/warehouse")),
        Pointer::Sqlite => {
            let uri = format!("sqlite:{}", folder.join("catalog.db").display());
            let options = SqlCatalogOptions::new(uri, "s3://lake/warehouse");
            Arc::new(SqlCatalog::open(storage.clone(), options).await.unwrap())
        }
    };
    let catalog = FaultyCatalog { catalog, steps };
    // With several writers it is a matter of time which of them has rows, and so how many files and steps there are.
    let config = SessionConfig::new()
        .with_target_partitions(1)
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema("c", "s");
    let ctx = extended(&storage, config);
    ctx.register_catalog("c", Arc::new(IcebergCatalogProvider::new(Arc::new(catalog))));
    ctx
}

/// A warehouse with the table before the statement.
async fn prepare(folder: &Path, pointer: Pointer, statement: &Statement) {
    std::fs::create_dir_all(folder.join("files")).unwrap();
    let ctx = session(folder, pointer, &Steps::counted(Counted::All)).await;
    let layout = statement.layout;
    let table = format!(
        "CREATE TABLE t (k BIGINT, v BIGINT) {layout}, 'commit.status-check.min-wait-ms' = '1', \
         'commit.retry.min-wait-ms' = '1')"
    );
    rows(&ctx, "CREATE SCHEMA s").await;
    rows(&ctx, &table).await;
    for sql in statement.before {
        rows(&ctx, sql).await;
    }
}

/// All files below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => {
                found.insert(path);
            }
        }
    }
    found
}

/// Count and sum of the rows.
async fn state(ctx: &SessionContext) -> [i64; 2] {
    let rows = integers(ctx, "SELECT count(k), sum(v) FROM t").await;
    [rows[0][0], rows[0][1]]
}

/// Asserts that the table is whole: before the statement or after it, with all files of all its snapshots. Whether the
/// statement has happened.
async fn check(folder: &Path, pointer: Pointer, statement: &Statement, what: &str) -> bool {
    let ctx = session(folder, pointer, &Steps::counted(Counted::All)).await;
    let state = state(&ctx).await;
    let [before, after] = statement.states;
    assert!(state == before || state == after, "{what}: {state:?}");
    let provider = ctx.table_provider("t").await.unwrap();
    let table = provider
        .downcast_ref::<IcebergTableProvider>()
        .unwrap()
        .table()
        .clone();
    let snapshots = table.metadata().snapshots();
    let old = statement.before.len();
    let new = usize::from(state == after);
    assert_eq!(snapshots.len(), old + new, "{what}");
    for (snapshot, expected) in snapshots[old - 1..].iter().zip(statement.states) {
        let id = snapshot.snapshot_id;
        let old = integers(
            &ctx,
            &format!("SELECT count(k), sum(v) FROM t VERSION AS OF {id}"),
        )
        .await;
        assert_eq!(old, [expected.to_vec()], "{what}, snapshot {id}");
    }
    if state == before {
        // The statement can be made again, and then has happened once.
        rows(&ctx, statement.sql).await;
        let again = integers(&ctx, "SELECT count(k), sum(v) FROM t").await;
        assert_eq!(again, [after.to_vec()], "{what}, made again");
    }
    state == after
}

/// Runs the statement with a fault, giving it up where it hangs.
async fn run(ctx: &SessionContext, statement: &Statement, steps: &Steps) -> Option<Result<Vec<Vec<String>>>> {
    let gives_up = async {
        steps.one_hangs().await;
        // What does not wait for that step can come to its end.
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    tokio::select! {
        answer = answer(ctx, statement.sql) => Some(answer),
        () = gives_up => None,
    }
}

/// How many steps the statement takes.
async fn steps_of(pointer: Pointer, statement: &Statement, counted: Counted) -> usize {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), pointer, statement).await;
    let steps = Steps::counted(counted);
    let ctx = session(folder.path(), pointer, &steps).await;
    rows(&ctx, statement.sql).await;
    steps.taken()
}

/// How many statements, each in a folder of its own, run at a time.
const AT_ONCE: usize = 4;

/// Whether the statement happens with the fault.
async fn survives_fault(
    pointer: Pointer,
    statement: &Statement,
    counted: Counted,
    at: usize,
    fault: Fault,
) -> bool {
    let what = format!(
        "{}, {pointer:?}, {fault:?} at step {at} of {counted:?}",
        statement.name
    );
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), pointer, statement).await;
    let written = folder.path().join("files");
    let before = files(&written);
    let faulty = Steps::with_fault(counted, at, fault);
    let ctx = session(folder.path(), pointer, &faulty).await;
    let answer = run(&ctx, statement, &faulty).await;
    let unknown = |text: &String| text.contains("not known whether");
    let error = answer
        .as_ref()
        .and_then(|a| a.as_ref().err())
        .map(ToString::to_string);
    if error.as_ref().is_some_and(|text| !unknown(text)) {
        // Files are removed in a task of their own where a plan is dropped.
        for _ in 0..100 {
            if files(&written) == before {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let now = files(&written);
        let left: Vec<_> = now.difference(&before).collect();
        assert!(
            left.is_empty(),
            "{what}: {error:?}, and these files are left: {left:?}"
        );
    }
    let done = check(folder.path(), pointer, statement, &what).await;
    match error {
        None if answer.is_some() => assert!(done, "{what}: it was answered as done"),
        Some(text) if done => assert!(unknown(&text), "{what}: it happened, but: {text}"),
        _ => {}
    }
    done
}

/// `every`: at every step, not only at those that change something.
async fn survives_faults(pointer: Pointer, statement: &Statement, every: bool) {
    let mut jobs = Vec::new();
    for fault in [
        Fault::FailBefore,
        Fault::FailAfter,
        Fault::HangBefore,
        Fault::HangAfter,
    ] {
        let counted = match every || fault == Fault::FailBefore {
            true => Counted::All,
            false => Counted::Writes,
        };
        let steps = steps_of(pointer, statement, counted).await;
        assert!(steps > 3, "{steps}");
        jobs.extend((0..steps).map(|at| (counted, at, fault)));
    }
    let jobs = jobs
        .into_iter()
        .map(|(counted, at, fault)| survives_fault(pointer, statement, counted, at, fault));
    let happened: Vec<bool> = futures::stream::iter(jobs)
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    assert!(happened.contains(&true) && happened.contains(&false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_may_fail_in_a_folder() {
    survives_faults(Pointer::Folder, &OVERWRITE, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_may_fail_with_sqlite() {
    survives_faults(Pointer::Sqlite, &OVERWRITE, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_of_a_merge_may_fail() {
    survives_faults(Pointer::Folder, &MERGE, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_of_an_update_may_fail() {
    survives_faults(Pointer::Sqlite, &UPDATE, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_of_a_delete_may_fail() {
    survives_faults(Pointer::Folder, &DELETE, false).await;
}

/// The process that is killed; without the variable it is no test.
#[tokio::test]
async fn child() {
    let Ok(job) = std::env::var(CHILD) else {
        return;
    };
    let parts: Vec<&str> = job.split('\n').collect();
    let [folder, pointer, statement, counted, at, fault] = parts[..] else {
        panic!("{job}");
    };
    let pointer = match pointer {
        "folder" => Pointer::Folder,
        _ => Pointer::Sqlite,
    };
    let counted = match counted {
        "all" => Counted::All,
        _ => Counted::Writes,
    };
    let fault = match fault {
        "before" => Fault::DieBefore,
        _ => Fault::DieAfter,
    };
    let statement = STATEMENTS.into_iter().find(|s| s.name == statement).unwrap();
    let steps = Steps::with_fault(counted, at.parse().unwrap(), fault);
    let ctx = session(Path::new(folder), pointer, &steps).await;
    let _ = run(&ctx, statement, &steps).await;
}

/// `every`: at every step, not only at those that change something.
async fn survives_death(pointer: Pointer, statement: &Statement, every: bool) {
    let (counted, steps_name) = match every {
        true => (Counted::All, "all"),
        false => (Counted::Writes, "writes"),
    };
    let pointer_name = match pointer {
        Pointer::Folder => "folder",
        Pointer::Sqlite => "sqlite",
    };
    let name = statement.name;
    let steps = steps_of(pointer, statement, counted).await;
    let mut happened = [0, 0];
    for at in 0..steps {
        for when in ["before", "after"] {
            let what = format!("{name}, {pointer:?}, killed {when} step {at} of {steps}");
            let folder = tempfile::tempdir().unwrap();
            prepare(folder.path(), pointer, statement).await;
            let job = format!(
                "{}\n{pointer_name}\n{name}\n{steps_name}\n{at}\n{when}",
                folder.path().display()
            );
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "crash::child", "--nocapture"])
                .env(CHILD, job)
                .output()
                .unwrap()
                .status;
            assert!(!status.success(), "{what}: it was not killed");
            happened[usize::from(check(folder.path(), pointer, statement, &what).await)] += 1;
        }
    }
    assert!(happened.iter().all(|n| *n > 0), "{happened:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_may_be_killed_at_any_step_in_a_folder() {
    survives_death(Pointer::Folder, &OVERWRITE, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_may_be_killed_at_any_step_with_sqlite() {
    survives_death(Pointer::Sqlite, &OVERWRITE, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_may_be_killed_during_a_merge() {
    survives_death(Pointer::Sqlite, &MERGE, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_may_be_killed_during_an_update() {
    survives_death(Pointer::Folder, &UPDATE, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_may_be_killed_during_a_delete() {
    survives_death(Pointer::Sqlite, &DELETE, false).await;
}

//! A statement that writes, with every step of it failing, hanging, losing its answer, or killing the process.
//!
//! Whatever happens, readers see the table before the statement or after it, and every file that a snapshot names is there.

mod faults;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_catalog::{ObjectStoreCatalog, SqlCatalog, SqlCatalogOptions};
use drumlin_datafusion::{IcebergCatalogProvider, IcebergTableProvider};
use drumlin_table::catalog::Catalog;
use drumlin_table::storage::Storage;
use object_store::local::LocalFileSystem;

use crate::session::{answer, extended, integers, rows};
use faults::{Fault, FaultyCatalog, FaultyStore, Steps};

/// Two files in two partitions, in the place of one that is there: manifests are rewritten, too.
const STATEMENT: &str = "INSERT OVERWRITE t VALUES (1, 10), (2, 20)";

const BEFORE: [i64; 2] = [1, 1];
const AFTER: [i64; 2] = [2, 30];

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
    let config = SessionConfig::new()
        .with_target_partitions(2)
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema("c", "s");
    let ctx = extended(&storage, config);
    ctx.register_catalog("c", Arc::new(IcebergCatalogProvider::new(Arc::new(catalog))));
    ctx
}

/// A warehouse with the table before the statement.
async fn prepare(folder: &Path, pointer: Pointer) {
    std::fs::create_dir_all(folder.join("files")).unwrap();
    let ctx = session(folder, pointer, &Steps::counted()).await;
    for sql in [
        "CREATE SCHEMA s",
        "CREATE TABLE t (k BIGINT, v BIGINT) PARTITIONED BY (k) TBLPROPERTIES ('commit.status-check.min-wait-ms' = '1', \
         'commit.retry.min-wait-ms' = '1')",
        "INSERT INTO t VALUES (7, 1)",
    ] {
        rows(&ctx, sql).await;
    }
}

/// Count and sum of the rows.
async fn state(ctx: &SessionContext) -> [i64; 2] {
    let rows = integers(ctx, "SELECT count(k), sum(v) FROM t").await;
    [rows[0][0], rows[0][1]]
}

/// Asserts that the table is whole: before the statement or after it, with all files of all its snapshots. Whether the
/// statement has happened.
async fn check(folder: &Path, pointer: Pointer, what: &str) -> bool {
    let ctx = session(folder, pointer, &Steps::counted()).await;
    let state = state(&ctx).await;
    assert!(state == BEFORE || state == AFTER, "{what}: {state:?}");
    let provider = ctx.table_provider("t").await.unwrap();
    let table = provider
        .downcast_ref::<IcebergTableProvider>()
        .unwrap()
        .table()
        .clone();
    let snapshots = table.metadata().snapshots();
    let expected = [BEFORE, AFTER];
    assert_eq!(snapshots.len(), if state == AFTER { 2 } else { 1 }, "{what}");
    for (snapshot, expected) in snapshots.iter().zip(expected) {
        let id = snapshot.snapshot_id;
        let old = integers(
            &ctx,
            &format!("SELECT count(k), sum(v) FROM t VERSION AS OF {id}"),
        )
        .await;
        assert_eq!(old, [expected.to_vec()], "{what}, snapshot {id}");
    }
    if state == BEFORE {
        // The statement can be made again, and then has happened once.
        rows(&ctx, STATEMENT).await;
        let again = integers(&ctx, "SELECT count(k), sum(v) FROM t").await;
        assert_eq!(again, [AFTER.to_vec()], "{what}, made again");
    }
    state == AFTER
}

/// Runs the statement with a fault, giving it up where it hangs.
async fn run(ctx: &SessionContext) -> Option<Result<Vec<Vec<String>>>> {
    tokio::time::timeout(Duration::from_millis(700), answer(ctx, STATEMENT))
        .await
        .ok()
}

/// How many steps the statement takes.
async fn steps_of(pointer: Pointer) -> usize {
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path(), pointer).await;
    let steps = Steps::counted();
    let ctx = session(folder.path(), pointer, &steps).await;
    rows(&ctx, STATEMENT).await;
    steps.taken()
}

async fn survives_faults(pointer: Pointer) {
    let steps = steps_of(pointer).await;
    assert!(steps > 8, "{steps}");
    let mut happened = [0, 0];
    for at in 0..steps {
        for fault in [
            Fault::FailBefore,
            Fault::FailAfter,
            Fault::HangBefore,
            Fault::HangAfter,
        ] {
            let what = format!("{pointer:?}, {fault:?} at step {at} of {steps}");
            let folder = tempfile::tempdir().unwrap();
            prepare(folder.path(), pointer).await;
            let faulty = Steps::with_fault(at, fault);
            let ctx = session(folder.path(), pointer, &faulty).await;
            let answer = run(&ctx).await;
            let done = check(folder.path(), pointer, &what).await;
            happened[usize::from(done)] += 1;
            match answer {
                Some(Ok(_)) => assert!(done, "{what}: it was answered as done"),
                Some(Err(error)) if done => {
                    let text = error.to_string();
                    assert!(
                        text.contains("not known whether"),
                        "{what}: it happened, but: {text}"
                    );
                }
                _ => {}
            }
        }
    }
    assert!(happened.iter().all(|n| *n > 0), "{happened:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_may_fail_in_a_folder() {
    survives_faults(Pointer::Folder).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_step_may_fail_with_sqlite() {
    survives_faults(Pointer::Sqlite).await;
}

/// The process that is killed; without the variable it is no test.
#[tokio::test]
async fn child() {
    let Ok(job) = std::env::var(CHILD) else {
        return;
    };
    let parts: Vec<&str> = job.split('\n').collect();
    let [folder, pointer, at, fault] = parts[..] else {
        panic!("{job}");
    };
    let pointer = match pointer {
        "folder" => Pointer::Folder,
        _ => Pointer::Sqlite,
    };
    let fault = match fault {
        "before" => Fault::DieBefore,
        _ => Fault::DieAfter,
    };
    let steps = Steps::with_fault(at.parse().unwrap(), fault);
    let ctx = session(Path::new(folder), pointer, &steps).await;
    let _ = run(&ctx).await;
}

async fn survives_death(pointer: Pointer, name: &str) {
    let steps = steps_of(pointer).await;
    let mut happened = [0, 0];
    for at in 0..steps {
        for when in ["before", "after"] {
            let what = format!("{pointer:?}, killed {when} step {at} of {steps}");
            let folder = tempfile::tempdir().unwrap();
            prepare(folder.path(), pointer).await;
            let job = format!("{}\n{name}\n{at}\n{when}", folder.path().display());
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "crash::child", "--nocapture"])
                .env(CHILD, job)
                .output()
                .unwrap()
                .status;
            assert!(!status.success(), "{what}: it was not killed");
            happened[usize::from(check(folder.path(), pointer, &what).await)] += 1;
        }
    }
    assert!(happened.iter().all(|n| *n > 0), "{happened:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_may_be_killed_at_any_step_in_a_folder() {
    survives_death(Pointer::Folder, "folder").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_may_be_killed_at_any_step_with_sqlite() {
    survives_death(Pointer::Sqlite, "sqlite").await;
}

//! Several processes that commit to one table.

use std::process::{Command, Stdio};
use std::sync::Arc;

use drumlin_catalog::{ObjectStoreCatalog, SqlCatalog, SqlCatalogOptions};
use drumlin_table::catalog::{Catalog, CommitError};
use drumlin_table::storage::Storage;

use crate::backend::variable;
use crate::suite::{add_column, ident, make};

const PROCESSES: usize = 4;
const COMMITS: usize = 25;

/// What a process is told: the number of it, the warehouse, and the URI and name of the catalog in a database or nothing.
const WORK: [&str; 4] = [
    "DRUMLIN_WORKER",
    "DRUMLIN_WORKER_WAREHOUSE",
    "DRUMLIN_WORKER_URI",
    "DRUMLIN_WORKER_CATALOG",
];

async fn open(warehouse: &str, uri: &str, name: &str) -> Arc<dyn Catalog> {
    if uri.is_empty() {
        return Arc::new(ObjectStoreCatalog::new(Storage::default(), warehouse));
    }
    let mut options = SqlCatalogOptions::new(uri, warehouse);
    options.name = name.to_string();
    Arc::new(SqlCatalog::open(Storage::default(), options).await.unwrap())
}

/// Not a test of its own: what the processes of the others run.
#[tokio::test]
async fn worker() {
    let Ok(worker) = std::env::var(WORK[0]) else {
        return;
    };
    let of = |at: usize| std::env::var(WORK[at]).unwrap();
    let catalog = open(&of(1), &of(2), &of(3)).await;
    let t = ident(&["ns"], "t");
    for commit in 0..COMMITS {
        loop {
            let base = catalog.load_table(&t).await.unwrap();
            let (requirements, updates) = add_column(&base, &format!("w{worker}_{commit}"));
            match catalog.commit(&t, &requirements, &updates).await {
                Ok(_) => break,
                Err(CommitError::Conflict(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
}

/// Each commit adds a column that needs all columns before it: none is lost, and none is there twice.
async fn race(warehouse: &str, uri: &str) {
    let name = uuid::Uuid::new_v4().to_string();
    let catalog = open(warehouse, uri, &name).await;
    let t = ident(&["ns"], "t");
    make(&*catalog, &t).await;
    let processes: Vec<_> = (0..PROCESSES)
        .map(|process| {
            Command::new(std::env::current_exe().unwrap())
                .args(["processes::worker", "--exact", "--nocapture"])
                .env(WORK[0], process.to_string())
                .env(WORK[1], warehouse)
                .env(WORK[2], uri)
                .env(WORK[3], &name)
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let table = catalog.load_table(&t).await.unwrap();
    let fields = table.schema().fields();
    assert_eq!(fields.len(), PROCESSES * COMMITS + 1);
    for process in 0..PROCESSES {
        for commit in 0..COMMITS {
            let name = format!("w{process}_{commit}");
            assert_eq!(
                fields.iter().filter(|field| field.name == name).count(),
                1,
                "{name}"
            );
        }
    }
    assert_eq!(table.metadata().metadata_log().len(), PROCESSES * COMMITS);
}

#[tokio::test]
async fn on_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    race(&folder.path().join("w").display().to_string(), "").await;
}

#[tokio::test]
async fn on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let uri = format!("sqlite:{}", folder.path().join("catalog.db").display());
    race(&folder.path().join("w").display().to_string(), &uri).await;
}

#[tokio::test]
async fn on_postgres() {
    if let Some(uri) = variable("DRUMLIN_TEST_POSTGRES", "a PostgreSQL") {
        let folder = tempfile::tempdir().unwrap();
        race(&folder.path().join("w").display().to_string(), &uri).await;
    }
}

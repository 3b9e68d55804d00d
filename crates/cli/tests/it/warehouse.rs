//! Tables of a warehouse, and the tour of the README.

use std::fs;
use std::path::{Path, PathBuf};

use crate::drumlin::run;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn mount() -> String {
    let tables = repository().join("sql-tests/conformance/tables");
    format!("s3://conformance={}", tables.display())
}

#[test]
fn tables_of_the_warehouse_have_short_names() {
    let warehouse = tempfile::tempdir().unwrap();
    let from = repository().join("sql-tests/conformance/tables/refs/metadata");
    let newest = fs::read_dir(from)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(".metadata.json"))
        .max()
        .unwrap();
    for namespace in ["default", "sales/eu"] {
        let metadata = warehouse.path().join(namespace).join("orders/metadata");
        fs::create_dir_all(&metadata).unwrap();
        fs::copy(&newest, metadata.join("v1.metadata.json")).unwrap();
    }
    let uri = warehouse.path().to_str().unwrap();
    let sql =
        "SELECT count(*) AS n FROM orders VERSION AS OF 'v1'; SELECT count(*) AS n FROM \"sales.eu\".orders";
    let run = run(&[
        "-q",
        "--format",
        "csv",
        "--catalog",
        "folder",
        "--warehouse",
        uri,
        "--mount",
        &mount(),
        "-c",
        sql,
    ]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "n\n2\nn\n5\n"), "{run:?}");
}

#[test]
fn the_tour_writes_and_travels_back() {
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().join("warehouse");
    let tour = repository().join("examples/tour.sql");
    // Also when the tables are there already.
    for _ in 0..2 {
        let run = run(&[
            "--warehouse",
            warehouse.to_str().unwrap(),
            "-f",
            tour.to_str().unwrap(),
        ]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
        for part in [
            "|  3 | Edsger   |  7.00 |  5.60 |",
            "|  6 | Alan     | 20.00 |",
            "mode=delete copy-on-write, isolation=serializable, data files removed by metadata=2",
            "|    3 |     4 |",
            "IcebergCommitExec: table=shop.orders, branch=main, mode=append",
        ] {
            assert!(run.out.contains(part), "{part}: {}", run.out);
        }
    }
    assert!(warehouse.join("catalog.db").exists());
}

fn files_in(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| if path.is_dir() { files_in(&path) } else { 1 })
        .sum()
}

#[test]
fn a_purge_deletes_the_files_of_all_snapshots_and_a_drop_none() {
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().to_str().unwrap();
    let ask = |sql: &str| {
        let run = run(&["-q", "--warehouse", warehouse, "-c", sql]);
        assert_eq!(run.code, Some(0), "{sql}: {run:?}");
    };
    for table in ["dropped", "purged"] {
        ask(&format!(
            "CREATE TABLE {table} (k BIGINT, v BIGINT) PARTITIONED BY (k); INSERT INTO {table} VALUES (1, 1), (2, 2); \
             INSERT OVERWRITE {table} VALUES (1, 3); INSERT INTO {table} VALUES (4, 4)"
        ));
    }
    let files = |table: &str| files_in(&folder.path().join("default").join(table));
    let before = files("dropped");
    // Four data files, manifests, lists, and a metadata file for each commit.
    assert!(before > 12 && files("purged") == before, "{before}");
    ask("DROP TABLE dropped; DROP TABLE purged PURGE");
    assert_eq!((files("dropped"), files("purged")), (before, 0));
}

#[test]
fn files_are_read_by_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().join("warehouse");
    let file = folder.path().join("rows.parquet").display().to_string();
    let sql = format!(
        "COPY (VALUES (1, 'a'), (2, 'b')) TO '{file}'; CREATE TABLE t (id BIGINT, v VARCHAR); \
         INSERT INTO t SELECT * FROM '{file}'; SELECT sum(id) AS s, max(v) AS m FROM t; SELECT * FROM none.parquet"
    );
    let run = run(&[
        "-q",
        "--format",
        "csv",
        "--warehouse",
        warehouse.to_str().unwrap(),
        "-c",
        &sql,
    ]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.out.ends_with("s,m\n3,b\n"), "{run:?}");
    assert!(run.err.contains("none.parquet"), "{run:?}");
}

#[test]
fn a_session_that_writes_nothing_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().join("warehouse");
    let run = run(&["-q", "--warehouse", warehouse.to_str().unwrap(), "-c", "SELECT 1"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!warehouse.exists());
}

#[test]
fn tables_of_spark_show_what_the_example_says() {
    let tour = repository().join("examples/spark_tables.sql");
    let run = run(&["--mount", &mount(), "-f", tour.to_str().unwrap()]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    for part in [
        "manifests=40/50 pruned, files=199/200 pruned (190 by partition, 9 by bounds)",
        "PlaceholderRowExec",
        "| 100 | audit only |",
    ] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
}

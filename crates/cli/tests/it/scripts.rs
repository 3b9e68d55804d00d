//! Several statements, from arguments, files and standard input.

use std::fs;

use crate::drumlin::{data, run, run_with_input};

#[test]
fn statements_share_a_session_and_run_in_order() {
    // A new warehouse: what a statement has written the next one reads.
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().join("warehouse");
    let sql = "CREATE TABLE t (n INT) AS VALUES (1), (2); -- two rows\nSELECT sum(n) AS s FROM t; SELECT ';' AS c; \
               INSERT INTO t SELECT n + 10 FROM t; SELECT count(*) AS c, max(n) AS m FROM t";
    let warehouse = warehouse.to_str().unwrap();
    let run = run(&["-q", "--format", "csv", "--warehouse", warehouse, "-c", sql]);
    assert_eq!(
        (run.code, run.out.as_str()),
        (Some(0), "s\n3\nc\n;\ncount\n2\nc,m\n4,12\n"),
        "{run:?}"
    );
}

#[test]
fn arguments_may_be_repeated() {
    let run = run(&[
        "-q",
        "--format",
        "csv",
        "-c",
        "CREATE VIEW v AS SELECT 7 AS n",
        "-c",
        "SELECT * FROM v",
    ]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "n\n7\n"), "{run:?}");
}

#[test]
fn files_and_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sql");
    fs::write(&path, "\u{feff}SELECT 1 AS n;\r\n").unwrap();
    let path = path.to_str().unwrap();
    let run = run_with_input(&["-q", "--format", "csv", "-f", path, "-f", "-"], "SELECT 2 AS m");
    assert_eq!((run.code, run.out.as_str()), (Some(0), "n\n1\nm\n2\n"), "{run:?}");
    let run = run_with_input(&["-q", "--format", "csv"], "SELECT 3 AS n;");
    assert_eq!((run.code, run.out.as_str()), (Some(0), "n\n3\n"), "{run:?}");
}

#[test]
fn nothing_to_run_is_fine() {
    assert_eq!(data("csv", ""), "");
    assert_eq!(data("json", " ; -- nothing\n"), "");
}

#[test]
fn statements_without_columns_say_ok_only_in_words() {
    let set = "SET datafusion.execution.batch_size = 100";
    let run = run(&["-c", set]);
    assert!(run.out.starts_with("OK (0."), "{run:?}");
    assert_eq!(data("table", set), "");
    assert_eq!(data("arrow", set), "");
}

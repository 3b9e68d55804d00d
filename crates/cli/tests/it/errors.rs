//! What users see when something is wrong, and exit codes.

use std::fs;

use crate::drumlin::{Run, run};

fn failing(sql: &str) -> Run {
    let run = run(&["-q", "-c", sql]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{run:?}");
    run
}

#[test]
fn parse_errors_mark_the_place() {
    assert_eq!(
        failing("SELECT *\n  FROM t GROUP x").err,
        "error: Expected: end of statement, found: GROUP\n \
          --> -c:2:10 (statement 1)\n  |\n2 |   FROM t GROUP x\n  |          ^^^^^\n"
    );
    let unterminated = failing("SELECT 'abc").err;
    assert!(
        unterminated.contains("Unterminated string literal\n --> -c:1:8 (statement 1)"),
        "{unterminated}"
    );
    // The end of the text is a place too.
    let unfinished = failing("SELECT 1 +").err;
    assert!(
        unfinished.contains("found: EOF\n --> -c:1:11 (statement 1)"),
        "{unfinished}"
    );
}

#[test]
fn planning_errors_mark_the_place() {
    let column = failing("SELECT\n  nam FROM (VALUES (1)) AS t(name)").err;
    assert!(
        column.contains("--> -c:2:3 (statement 1)\n  |\n2 |   nam FROM"),
        "{column}"
    );
    assert!(column.contains("\n  |   ^^^\n"), "{column}");
    assert!(column.contains("t.name"), "{column}");
    let table = failing("SELECT * FROM nowhere").err;
    assert!(table.contains("nowhere") && table.contains("^^^^^^^"), "{table}");
}

#[test]
fn running_errors_name_the_statement() {
    let run = run(&[
        "-q",
        "--format",
        "csv",
        "-c",
        "SELECT 1 AS n;\nSELECT 1 / 0; SELECT 2",
    ]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), "n\n1\n"));
    assert!(run.err.contains("Divide by zero"), "{run:?}");
    assert!(run.err.contains("--> -c:2:1 (statement 2)"), "{run:?}");
}

#[test]
fn files_are_named_with_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.sql");
    fs::write(&path, "-- one\nSELECT 1;\n\n\tSELECT 2; SELECT nope;\n").unwrap();
    let name = path.to_str().unwrap();
    let run = run(&["-q", "-f", name]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.err.contains(&format!("--> {name}:4:19 (statement 3)")),
        "{run:?}"
    );
}

#[test]
fn wrong_usage_is_2() {
    for args in [
        &["--format", "xml"][..],
        &["-c", "SELECT 1", "-f", "x.sql"],
        &["--nope"],
        &["-f", "/does/not/exist.sql"],
    ] {
        let run = run(args);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{run:?}");
        assert!(run.err.starts_with("error: "), "{run:?}");
    }
}

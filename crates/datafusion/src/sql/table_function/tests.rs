//! Calls of `iceberg_scan` over metadata files without data.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::DFParser;
use drumlin_table::storage::Storage;
use tempfile::TempDir;

use super::open;
use crate::IcebergTableProvider;
use crate::sql::hidden_columns::tests::metadata;
use crate::sql::{IcebergStateBuilderExt, sql};

/// Tables `t (id, a)` and `u (id, b)` in a folder. `@` in texts stands for the folder.
fn warehouse() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "t/metadata/v1.metadata.json", &metadata("t", "a"));
    write(dir.path(), "u/metadata/v1.metadata.json", &metadata("u", "b"));
    write(
        dir.path(),
        "c/metadata/00000-x.metadata.json",
        &metadata("c", "c"),
    );
    dir
}

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn session(dialect: &str) -> SessionContext {
    let config = SessionConfig::new().set_str("datafusion.sql_parser.dialect", dialect);
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .with_iceberg()
        .build();
    SessionContext::new_with_state(state)
}

async fn columns(ctx: &SessionContext, dir: &TempDir, query: &str) -> Result<String, String> {
    let query = query.replace('@', dir.path().to_str().unwrap());
    let frame = sql(ctx, &query).await.map_err(|e| e.strip_backtrace())?;
    let names: Vec<String> = frame.schema().fields().iter().map(|f| f.name().clone()).collect();
    frame.into_optimized_plan().map_err(|e| e.strip_backtrace())?;
    Ok(names.join(" "))
}

#[tokio::test]
async fn calls_in_every_place() {
    let dir = warehouse();
    for ctx in [SessionContext::new(), session("postgresql"), session("mysql")] {
        for (query, expected) in [
            ("SELECT * FROM iceberg_scan('@/t')", "id a"),
            ("SELECT * FROM ICEBERG_SCAN('@/t/')", "id a"),
            (
                "SELECT * FROM iceberg_scan('@/t/metadata/v1.metadata.json')",
                "id a",
            ),
            ("SELECT iceberg_scan.a FROM iceberg_scan('@/t')", "a"),
            ("SELECT x.* FROM iceberg_scan('@/t') AS x", "id a"),
            ("SELECT * FROM iceberg_scan('@/t') AS x (k, v)", "k v"),
            (
                "SELECT * FROM iceberg_scan('@/t') x JOIN iceberg_scan('@/u') y USING (id)",
                "id a b",
            ),
            (
                "WITH c AS (SELECT * FROM iceberg_scan('@/t')) SELECT * FROM c, iceberg_scan('@/u') u",
                "id a id b",
            ),
            (
                "SELECT * FROM iceberg_scan('@/t') x, LATERAL iceberg_scan('@/u') AS y",
                "id a id b",
            ),
            (
                "SELECT * FROM iceberg_scan('@/t') WHERE id IN (SELECT id FROM iceberg_scan('@/u') u)",
                "id a",
            ),
            ("SELECT * FROM iceberg_scan('@/t', snapshot => 7)", "id a"),
            ("SELECT * FROM iceberg_scan('@/t', snapshot => '7') x", "id a"),
            ("SELECT * FROM iceberg_scan('@/t', ref => 'main')", "id a"),
            ("SELECT * FROM iceberg_scan('@/t', branch => 'main')", "id a"),
            (
                "SELECT * FROM iceberg_scan('@/t', timestamp => '2024-01-01')",
                "id a",
            ),
            (
                "SELECT * FROM iceberg_scan('@/t', timestamp => now() - INTERVAL '1' SECOND)",
                "id a",
            ),
            (
                "SELECT * FROM iceberg_scan('@/c', guess_newest_metadata => true)",
                "id c",
            ),
            (
                "SELECT * FROM iceberg_scan('@/t', 's3.endpoint' => 'http://x', metadata_columns => false)",
                "id a",
            ),
            (
                "SELECT * FROM iceberg_scan('@/t', METADATA_COLUMNS => true)",
                "id a _file _pos _spec_id _partition _row_id _last_updated_sequence_number",
            ),
            (
                "SELECT *, _file FROM iceberg_scan('@/t') ORDER BY _pos",
                "id a _file",
            ),
            (
                "SELECT *, x._file FROM iceberg_scan('@/t', snapshot => 7) x JOIN iceberg_scan('@/u') y ON x._pos = y._pos",
                "id a id b _file",
            ),
        ] {
            assert_eq!(
                columns(&ctx, &dir, query).await.as_deref(),
                Ok(expected),
                "{query}"
            );
        }
    }
}

#[tokio::test]
async fn errors() {
    let dir = warehouse();
    let ctx = session("generic");
    for (query, expected) in [
        ("SELECT * FROM iceberg_scan()", "takes the location"),
        ("SELECT * FROM iceberg_scan(42)", "takes the location"),
        ("SELECT * FROM iceberg_scan('@/none')", "no Iceberg table at"),
        ("SELECT * FROM iceberg_scan('@/c')", "guess_newest_metadata"),
        (
            "SELECT * FROM iceberg_scan('@/t', 7)",
            "expected an option as name => value, found `7`",
        ),
        (
            "SELECT * FROM iceberg_scan('@/t', snapshots => 7)",
            "unknown option `snapshots`; known are snapshot, ref",
        ),
        (
            "SELECT * FROM iceberg_scan('@/t', snapshot => 'x')",
            "snapshot => expects a snapshot id",
        ),
        ("SELECT * FROM iceberg_scan('@/t', snapshot => 8)", "8"),
        (
            "SELECT * FROM iceberg_scan('@/t', tag => 'main')",
            "`main` is a branch",
        ),
        (
            "SELECT * FROM iceberg_scan('@/t', tag => 7)",
            "expects a tag in quotes",
        ),
        ("SELECT * FROM iceberg_scan('@/t', timestamp => id)", "id"),
        (
            "SELECT * FROM iceberg_scan('@/t', metadata_columns => 'maybe')",
            "true or false",
        ),
        (
            "SELECT * FROM iceberg_scan('@/t', snapshot => 7, branch => 'main')",
            "second version beside snapshot 7",
        ),
        (
            "SELECT * FROM iceberg_scan('@/t', snapshot => 7, snapshot => 7)",
            "`snapshot` is there twice",
        ),
        (
            "SELECT * FROM iceberg_scan('@/t') VERSION AS OF 7",
            "table function",
        ),
        (
            "SELECT * FROM iceberg_scan('@/t') WITH ORDINALITY",
            "WITH ORDINALITY",
        ),
    ] {
        let found = columns(&ctx, &dir, query).await.unwrap_err();
        assert!(found.contains(expected), "{query}: {found}");
    }
    let secret = "SELECT * FROM iceberg_scan('@/t', 's3.secret-access-key' => abc123)";
    let found = columns(&ctx, &dir, secret).await.unwrap_err();
    assert!(
        found.contains("s3.secret-access-key") && !found.contains("abc123"),
        "{found}"
    );
}

/// The names of the scans in an optimized plan.
fn scans(frame: datafusion::prelude::DataFrame, dir: &TempDir) -> Vec<String> {
    let text = frame.into_optimized_plan().unwrap().display_indent().to_string();
    let text = text.replace(dir.path().to_str().unwrap(), "@");
    let names = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("TableScan: "));
    names
        .map(|name| name.split(" projection").next().unwrap().to_string())
        .collect()
}

#[tokio::test]
async fn two_scans_are_never_taken_for_one() {
    let dir = warehouse();
    let folder = dir.path().to_str().unwrap();
    let ctx = session("generic");
    let query = "SELECT (SELECT max(id) FROM iceberg_scan('@/t')) AS x, (SELECT max(id) FROM iceberg_scan('@/u')) AS y,
        (SELECT max(id) FROM iceberg_scan('@/t', snapshot => 7)) AS z,
        (SELECT max(id) FROM iceberg_scan('@/t', 's3.region' => 'x')) AS w";
    let mut found = scans(sql(&ctx, &query.replace('@', folder)).await.unwrap(), &dir);
    found.sort();
    assert_eq!(
        found,
        [
            "iceberg_scan('@/t')",
            "iceberg_scan('@/t') #2",
            "iceberg_scan('@/t') AS OF snapshot 7",
            "iceberg_scan('@/u')"
        ]
    );
    // The same for plain SQL, which knows no options.
    let query = "SELECT (SELECT max(id) FROM iceberg_scan('@/t')) AS x, (SELECT max(id) FROM iceberg_scan('@/u')) AS y";
    let found = scans(ctx.sql(&query.replace('@', folder)).await.unwrap(), &dir);
    assert_eq!(
        found,
        [
            "iceberg_scan('@/t') AS OF snapshot 7",
            "iceberg_scan('@/u') AS OF snapshot 7"
        ]
    );
    let query = "SELECT * FROM iceberg_scan('@/t', snapshot => 7)".replace('@', folder);
    let error = ctx.sql(&query).await.unwrap_err().strip_backtrace();
    assert!(error.contains("drumlin_datafusion::sql"), "{error}");
}

#[tokio::test]
async fn one_location_is_opened_once() {
    let dir = warehouse();
    let query =
        "SELECT * FROM iceberg_scan('@/t') x, iceberg_scan('@/t/', snapshot => 7) y, iceberg_scan('@/u') z"
            .replace('@', dir.path().to_str().unwrap());
    let mut statement = DFParser::parse_sql(&query).unwrap().pop_front().unwrap();
    let scans = open(&mut statement, &Storage::default(), &|_| unreachable!())
        .await
        .unwrap();
    let mut calls: Vec<_> = scans.into_iter().collect();
    calls.sort_by_key(|(location, _)| *location);
    let tables: Vec<_> = calls
        .iter()
        .map(|(_, scan)| {
            scan.provider
                .downcast_ref::<IcebergTableProvider>()
                .unwrap()
                .table()
        })
        .collect();
    let [x, y, z] = tables.as_slice() else {
        panic!("{tables:?}")
    };
    assert!(Arc::ptr_eq(x.metadata(), y.metadata()));
    assert!(!Arc::ptr_eq(x.metadata(), z.metadata()));
}

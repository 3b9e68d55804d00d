//! Statements over tables with versions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub(crate) mod fake;
mod rows_of_files;
mod sessions;

use std::sync::Arc;

use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider};
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

use self::fake::{FakeSchema, FakeTable, rows};
use super::{IcebergStateBuilderExt, sql};

/// Tables `t`, `u` (Iceberg), `plain` (not) and the catalog `c` with schema `s`, see [`FakeSchema`].
fn fill(ctx: SessionContext) -> (SessionContext, Arc<FakeSchema>) {
    ctx.register_table("t", Arc::new(FakeTable::new("current")))
        .unwrap();
    ctx.register_table("u", Arc::new(FakeTable::new("current u")))
        .unwrap();
    ctx.register_table("of", Arc::new(FakeTable::new("current of")))
        .unwrap();
    ctx.register_table("plain", rows("plain")).unwrap();
    let schema = Arc::new(FakeSchema::default());
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema("s", Arc::clone(&schema) as _).unwrap();
    ctx.register_catalog("c", Arc::new(catalog));
    (ctx, schema)
}

fn context(config: SessionConfig) -> SessionContext {
    fill(SessionContext::new_with_config(config)).0
}

fn installed(config: SessionConfig) -> SessionContext {
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .with_iceberg()
        .build();
    fill(SessionContext::new_with_state(state)).0
}

/// All values, `|` between columns and `;` between rows.
async fn answer(ctx: &SessionContext, text: &str) -> String {
    let batches = sql(ctx, text)
        .await
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .collect()
        .await
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut lines = vec![];
    for batch in &batches {
        let options = FormatOptions::default();
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let values: Vec<_> = columns
                .iter()
                .map(|column| column.value(row).to_string())
                .collect();
            lines.push(values.join("|"));
        }
    }
    lines.join(";")
}

async fn failure(ctx: &SessionContext, text: &str) -> String {
    match sql(ctx, text).await {
        Err(error) => error.strip_backtrace(),
        Ok(frame) => match frame.collect().await {
            Err(error) => error.strip_backtrace(),
            Ok(rows) => panic!("{text}: no error but {rows:?}"),
        },
    }
}

#[tokio::test]
async fn every_form_in_every_place() {
    let ctx = context(SessionConfig::new());
    let forms = [
        ("VERSION AS OF 7", "snapshot 7"),
        ("version as of 7", "snapshot 7"),
        ("VERSION AS OF -7", "snapshot -7"),
        ("VERSION AS OF '7'", "snapshot 7"),
        ("VERSION AS OF 'audit'", "branch or tag `audit`"),
        ("FOR VERSION AS OF 7", "snapshot 7"),
        ("FOR SYSTEM_VERSION AS OF 'Audit'", "branch or tag `Audit`"),
        ("SYSTEM_VERSION AS OF 7", "snapshot 7"),
        ("AT (VERSION => 7)", "snapshot 7"),
        ("AT(VERSION => 'audit')", "branch or tag `audit`"),
        ("at /* x */ ( branch => 'audit' )", "branch `audit`"),
        ("AT (TAG => 'v1')", "tag `v1`"),
        (
            "TIMESTAMP AS OF '2024-01-01 00:00:00'",
            "the time 1704067200000 ms",
        ),
        ("TIMESTAMP AS OF 1704067200", "the time 1704067200000 ms"),
        (
            "TIMESTAMP AS OF TIMESTAMP '2024-01-01 00:00:00.0019'",
            "the time 1704067200001 ms",
        ),
        (
            "TIMESTAMP AS OF DATE '2024-01-02' - INTERVAL '1 day'",
            "the time 1704067200000 ms",
        ),
        (
            "FOR TIMESTAMP AS OF CAST('2024-01-01' AS timestamp)",
            "the time 1704067200000 ms",
        ),
        (
            "FOR SYSTEM_TIME AS OF '2024-01-01T01:00:00+01:00'",
            "the time 1704067200000 ms",
        ),
        ("SYSTEM_TIME AS OF '2024-01-01'", "the time 1704067200000 ms"),
        (
            "AT (TIMESTAMP => to_timestamp(1704067201) - INTERVAL '1 second')",
            "the time 1704067200000 ms",
        ),
    ];
    for (form, label) in forms {
        let queries = [
            (format!("SELECT v FROM t {form}"), label.to_string()),
            (format!("SELECT v FROM t {form};"), label.to_string()),
            (format!("SELECT v FROM public.t {form}"), label.to_string()),
            (format!("SELECT v FROM c.s.t {form}"), label.to_string()),
            (format!("SELECT v FROM \"t\" {form}"), label.to_string()),
            (
                format!("SELECT t.v FROM t {form} WHERE t.id = 1 ORDER BY t.v"),
                label.to_string(),
            ),
            (
                format!("SELECT public.t.v FROM public.t {form}"),
                label.to_string(),
            ),
            (format!("SELECT x.v FROM t {form} AS x"), label.to_string()),
            (format!("SELECT x.v FROM t {form} x"), label.to_string()),
            (format!("SELECT x.v FROM t AS x {form}"), label.to_string()),
            (format!("SELECT x.v FROM t x {form}"), label.to_string()),
            (
                format!("SELECT x.v FROM public.t AS x {form} LIMIT 1"),
                label.to_string(),
            ),
            (
                format!("SELECT b FROM t AS x (a, b, c, d) {form}"),
                label.to_string(),
            ),
            (
                format!("SELECT b FROM t {form} x (a, b, c, d)"),
                label.to_string(),
            ),
            (format!("SELECT v FROM (t {form})"), label.to_string()),
            (
                format!("SELECT v FROM (SELECT * FROM t {form}) x"),
                label.to_string(),
            ),
            (
                format!("WITH w AS (SELECT * FROM t {form}) SELECT v FROM w"),
                label.to_string(),
            ),
            (
                format!("WITH t AS (SELECT * FROM t {form}) SELECT v FROM t"),
                label.to_string(),
            ),
            (format!("SELECT (SELECT v FROM t {form})"), label.to_string()),
            (format!("FROM t {form} SELECT v"), label.to_string()),
            (
                format!("SELECT a.v, b.v FROM t a JOIN t {form} b ON a.id = b.id"),
                format!("current|{label}"),
            ),
            (
                format!("SELECT a.v, b.v FROM t {form} AS a JOIN t b USING (id)"),
                format!("{label}|current"),
            ),
            (
                format!("SELECT a.v, b.v FROM t AS a {form} LEFT JOIN t AS b {form} USING (id)"),
                format!("{label}|{label}"),
            ),
            (
                format!("SELECT a.v, u.v FROM t {form} a, u"),
                format!("{label}|current u"),
            ),
            (
                format!("SELECT t.v, u.v FROM t, u {form}"),
                format!("current|{label}"),
            ),
            (
                format!("SELECT v FROM t WHERE id IN (SELECT id FROM u {form})"),
                "current".to_string(),
            ),
        ];
        for (query, expected) in queries {
            assert_eq!(answer(&ctx, &query).await, expected, "{query}");
        }
    }
}

#[tokio::test]
async fn selectors() {
    let ctx = context(SessionConfig::new());
    for (query, expected) in [
        ("SELECT v FROM t.branch_audit", "branch `audit`"),
        ("SELECT v FROM t.BRANCH_Audit", "branch `Audit`"),
        ("SELECT v FROM public.t.tag_v1", "tag `v1`"),
        ("SELECT v FROM c.s.t.snapshot_id_12", "snapshot 12"),
        (
            "SELECT v FROM datafusion.public.t.at_timestamp_1704067200123",
            "the time 1704067200123 ms",
        ),
        ("SELECT t.v, x.v FROM t, t.\"tag_a-b\" AS x", "current|tag `a-b`"),
        ("SELECT t.v FROM t.branch_x", "branch `x`"),
        // A table of that very name wins.
        ("SELECT v FROM c.s.branch_real", "branch_real load 2"),
        ("SELECT v FROM c.s.branch_real.tag_x", "tag `x`"),
    ] {
        assert_eq!(answer(&ctx, query).await, expected, "{query}");
    }
    for (query, expected) in [
        ("SELECT v FROM t.branch_a VERSION AS OF 1", "use one of them"),
        ("SELECT v FROM t.branch_a.tag_b", "two selectors"),
        ("SELECT v FROM public.t.branch_a.tag_b", "two selectors"),
        ("SELECT v FROM plain.tag_x", "`plain` is not one"),
        ("SELECT v FROM nothing.tag_x", "'nothing.tag_x' not found"),
        ("SELECT v FROM c.s.nothing.tag_x", "no table 'c.s.nothing'"),
        ("SELECT v FROM t.snapshot_id_x", "not found"),
        ("SELECT v FROM t.tag_", "not found"),
        ("SELECT v FROM t.snapshots", "not found"),
        ("SELECT v FROM c.s.t.snapshots", "too many parts"),
        (
            "WITH t AS (SELECT 1 AS v) SELECT v FROM t.tag_x",
            "common table expression",
        ),
        (
            "SELECT v FROM t.snapshot_id_404",
            "no snapshot 404; there are 1 and 2",
        ),
    ] {
        let message = failure(&ctx, query).await;
        assert!(message.contains(expected), "{query}: {message}");
    }
}

#[tokio::test]
async fn words_of_clauses_as_names() {
    let ctx = context(SessionConfig::new());
    for (query, expected) in [
        ("SELECT version AS of FROM t", "a version"),
        (
            "SELECT version AS of, timestamp AS of2 FROM t",
            "a version|a timestamp",
        ),
        ("SELECT t.version AS of FROM t", "a version"),
        ("SELECT DISTINCT version AS of FROM t", "a version"),
        (
            "SELECT (timestamp) AS of FROM t WHERE NOT version = timestamp",
            "a timestamp",
        ),
        (
            "SELECT version, timestamp FROM t version",
            "a version|a timestamp",
        ),
        ("SELECT version.v FROM t AS version", "current"),
        ("SELECT version.v FROM t version VERSION AS OF 1", "snapshot 1"),
        ("SELECT version.v FROM t AS version VERSION AS OF 1", "snapshot 1"),
        ("SELECT of.v FROM t VERSION AS OF 1 AS of", "snapshot 1"),
        ("SELECT v FROM of", "current of"),
        ("SELECT at.v FROM t at", "current"),
        ("SELECT b FROM t at (a, b, c, d)", "current"),
        ("SELECT 'x VERSION AS OF 1' FROM t", "x VERSION AS OF 1"),
        (
            "SELECT v AS \"t VERSION AS OF 1\" FROM t -- t VERSION AS OF 1",
            "current",
        ),
        ("SELECT v FROM t /* VERSION AS OF 1 */", "current"),
        ("WITH version AS (SELECT 1 AS of) SELECT of FROM version", "1"),
        (
            "SELECT TIMESTAMP '2024-01-01 00:00:00' AS of FROM t",
            "2024-01-01T00:00:00",
        ),
    ] {
        assert_eq!(answer(&ctx, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn refusals() {
    let ctx = context(SessionConfig::new());
    let mut wrong = vec![];
    for (query, expected) in [
        (
            "SELECT v FROM plain VERSION AS OF 1",
            "time travel is only possible on Iceberg tables; `plain` is not one",
        ),
        (
            "SELECT v FROM plain AT (TIMESTAMP => now())",
            "`plain` is not one",
        ),
        (
            "SELECT v FROM nothing VERSION AS OF 1",
            "'datafusion.public.nothing' not found",
        ),
        (
            "SELECT v FROM t VERSION AS OF 404",
            "no snapshot 404; there are 1 and 2",
        ),
        (
            "SELECT v FROM t VERSION AS OF audit",
            "or the name of a branch or tag in quotes, found audit at Line: 1, Column: 31",
        ),
        ("SELECT v FROM t VERSION AS OF -'1'", "takes a snapshot id"),
        ("SELECT v FROM t VERSION AS OF 1.5", "takes a snapshot id"),
        (
            "SELECT v FROM t VERSION AS OF 99999999999999999999",
            "takes a snapshot id",
        ),
        ("SELECT v FROM t VERSION AS OF $1", "takes a snapshot id"),
        ("SELECT v FROM t FOR VERSION AS OF", "found the end"),
        (
            "SELECT v FROM t FOR TIMESTAMP AS OF WHERE id = 1",
            "takes a timestamp",
        ),
        ("SELECT v FROM t TIMESTAMP AS OF NULL", "NULL"),
        (
            "SELECT v FROM t TIMESTAMP AS OF id",
            "cannot evaluate|No field named id",
        ),
        ("SELECT v FROM t TIMESTAMP AS OF (SELECT now())", ""),
        (
            "SELECT v FROM t TIMESTAMP AS OF random()",
            "seconds since the epoch|not constant",
        ),
        (
            "SELECT v FROM t TIMESTAMP AS OF 'yesterday'",
            "no timestamp to travel to",
        ),
        ("SELECT v FROM t TIMESTAMP AS OF true", "found Boolean"),
        ("SELECT v FROM t TIMESTAMP AS OF 1.5", "whole number of seconds"),
        (
            "SELECT v FROM t TIMESTAMP AS OF 9223372036854775807",
            "out of range",
        ),
        (
            "SELECT v FROM t AT (VERSION => 1, VERSION => 2)",
            "expected ) after the one argument",
        ),
        (
            "SELECT v FROM t AT (OFFSET => 1)",
            "AT (OFFSET => …) is not supported",
        ),
        (
            "SELECT v FROM t BEFORE (TIMESTAMP => now())",
            "BEFORE (…) is not supported",
        ),
        (
            "SELECT v FROM t AT (BRANCH => 1)",
            "the name of a branch in quotes",
        ),
        (
            "SELECT v FROM t VERSION AS OF 1 VERSION AS OF 2",
            "another time-travel clause",
        ),
        (
            "SELECT v FROM t VERSION AS OF 1 AS x VERSION AS OF 2",
            "must follow the name of a table",
        ),
        (
            "SELECT v FROM (SELECT * FROM t) x VERSION AS OF 1",
            "must follow the name of a table that is read, or its alias at Line: 1, Column: 35",
        ),
        (
            "SELECT v FROM generate_series(1, 2) g VERSION AS OF 1",
            "must follow",
        ),
        (
            "SELECT v FROM generate_series(1, 2) VERSION AS OF 1",
            "is a table function",
        ),
        (
            "SELECT v VERSION AS OF 1 FROM t",
            "must follow the name of a table",
        ),
        (
            "WITH w AS (SELECT * FROM t) SELECT * FROM w VERSION AS OF 1",
            "`w` is a common table expression",
        ),
        (
            "WITH t AS (SELECT * FROM u) SELECT * FROM t VERSION AS OF 1",
            "`t` is a common table expression",
        ),
        (
            "WITH a AS (SELECT * FROM u), b AS (SELECT * FROM A VERSION AS OF 1) SELECT * FROM b",
            "common table expression",
        ),
        ("SELECT v FROM t VERSION AS OF 1 WHERE", "Expected: an expression"),
        ("SELECT v\nFROM t VERSION AS OF 1 x y", "at Line: 2, Column: 26"),
        ("SELECT 1; SELECT 2", "expected one SQL statement, found 2"),
        (" -- nothing\n;", "no SQL statement"),
    ] {
        let message = failure(&ctx, query).await;
        if !expected.split('|').any(|part| message.contains(part)) {
            wrong.push(format!("{query}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn writes_are_refused_by_name() {
    for ctx in [context(SessionConfig::new()), installed(SessionConfig::new())] {
        for (query, expected) in [
            (
                "INSERT INTO t VALUES (1, 'a', 'b', 'c')",
                "INSERT INTO t: it is only read here",
            ),
            (
                "INSERT OVERWRITE t SELECT * FROM u",
                "INSERT OVERWRITE t: it is only read here",
            ),
            (
                "DELETE FROM t WHERE id IN (SELECT id FROM u)",
                "DELETE FROM t: it is only read here",
            ),
            ("DELETE FROM t WHERE 1 = 0", "DELETE FROM t: it is only read here"),
            (
                "UPDATE public.t SET v = 'x'",
                "UPDATE public.t: it is only read here",
            ),
            ("TRUNCATE TABLE t", "TRUNCATE t: it is only read here"),
            (
                "MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN DELETE",
                "MERGE INTO t: it is only read here",
            ),
            ("EXPLAIN DELETE FROM t", "DELETE FROM t: it is only read here"),
            (
                "DELETE FROM t VERSION AS OF 1",
                "cannot write to a version of `t`",
            ),
            ("DELETE FROM t.branch_x", "cannot write to a version of `t`"),
            (
                "UPDATE t VERSION AS OF 1 SET v = 'x'",
                "cannot write to a version of `t`",
            ),
            (
                "INSERT INTO t VERSION AS OF 1 VALUES (1)",
                "must follow the name of a table that is read",
            ),
            (
                "MERGE INTO t VERSION AS OF 1 USING u ON t.id = u.id WHEN MATCHED THEN DELETE",
                "cannot write to a version of `t`",
            ),
        ] {
            let message = failure(&ctx, query).await;
            assert!(message.contains(expected), "{query}: {message}");
        }
        answer(&ctx, "INSERT INTO plain SELECT * FROM t VERSION AS OF 1").await;
        assert_eq!(
            answer(&ctx, "SELECT v FROM plain ORDER BY v").await,
            "plain;snapshot 1"
        );
    }
    let ctx = installed(SessionConfig::new());
    let plain = ctx
        .sql("DELETE FROM t WHERE 1 = 0")
        .await
        .unwrap()
        .collect()
        .await
        .unwrap_err();
    assert!(plain.to_string().contains("it is only read here"), "{plain}");
}

#[tokio::test]
async fn two_versions_are_never_taken_for_one() {
    let ctx = context(SessionConfig::new());
    for (query, expected) in [
        (
            "SELECT (SELECT max(v) FROM t VERSION AS OF 1) = (SELECT max(v) FROM t VERSION AS OF 2)",
            "false",
        ),
        (
            "SELECT (SELECT max(v) FROM t VERSION AS OF 1) = (SELECT max(v) FROM t)",
            "false",
        ),
        (
            "SELECT (SELECT max(v) FROM t VERSION AS OF 1) AS a, (SELECT max(v) FROM t VERSION AS OF 2) AS b",
            "snapshot 1|snapshot 2",
        ),
        (
            "SELECT (SELECT max(v) FROM t x VERSION AS OF 1) || '/' || (SELECT max(v) FROM t x VERSION AS OF 2)",
            "snapshot 1/snapshot 2",
        ),
        (
            "SELECT v FROM t VERSION AS OF 1 UNION SELECT v FROM t VERSION AS OF 2 ORDER BY v",
            "snapshot 1;snapshot 2",
        ),
    ] {
        assert_eq!(answer(&ctx, query).await, expected, "{query}");
    }
}

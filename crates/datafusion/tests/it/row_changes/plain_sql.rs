//! Statements that change rows through DataFusion's own `ctx.sql`, in a session with the extension: the same as through
//! `iceberg_sql`, above all where DataFusion by itself would lose the predicate and change every row.

use datafusion::error::Result;
use datafusion::prelude::SessionContext;

use crate::session::{answer, cells, rows};
use crate::warehouse::Warehouse;

/// A statement about the table `{t}`, how many rows it changes, and the rows afterwards.
type Case = (&'static str, &'static str, &'static [[&'static str; 3]]);

const BEFORE: &[[&str; 3]] = &[
    ["1", "a", "10"],
    ["2", "a", "-"],
    ["3", "b", "30"],
    ["4", "-", "40"],
    ["-", "c", "50"],
];

const NOTHING: &[Case] = &[
    ("DELETE FROM {t} WHERE 1 = 0", "0", BEFORE),
    ("DELETE FROM {t} WHERE NULL", "0", BEFORE),
    ("DELETE FROM {t} WHERE n = NULL OR false", "0", BEFORE),
    ("DELETE FROM {t} WHERE id IN (SELECT k FROM empty)", "0", BEFORE),
    ("DELETE FROM {t} WHERE EXISTS (SELECT 1 FROM empty)", "0", BEFORE),
    ("DELETE FROM {t} WHERE id = (SELECT k FROM empty)", "0", BEFORE),
    (
        "DELETE FROM {t} WHERE id NOT IN (SELECT k FROM nulls)",
        "0",
        BEFORE,
    ),
    (
        "DELETE FROM {t} WHERE NOT EXISTS (SELECT 1 FROM one)",
        "0",
        BEFORE,
    ),
    ("UPDATE {t} SET n = 0 WHERE false", "0", BEFORE),
    ("UPDATE {t} SET n = 0 WHERE NULL", "0", BEFORE),
    (
        "UPDATE {t} SET n = 0 WHERE id IN (SELECT k FROM empty)",
        "0",
        BEFORE,
    ),
    (
        "UPDATE {t} SET n = 0 WHERE id NOT IN (SELECT k FROM nulls)",
        "0",
        BEFORE,
    ),
    (
        "MERGE INTO {t} AS t USING empty AS s ON t.id = s.k WHEN MATCHED THEN DELETE",
        "0",
        BEFORE,
    ),
    (
        "MERGE INTO {t} AS t USING twice AS s ON t.id = s.k WHEN MATCHED AND t.n > 1000 THEN DELETE",
        "0",
        BEFORE,
    ),
];

const SOME: &[Case] = &[
    (
        "DELETE FROM {t} WHERE id IN (SELECT k FROM one)",
        "1",
        &[
            ["1", "a", "10"],
            ["2", "a", "-"],
            ["4", "-", "40"],
            ["-", "c", "50"],
        ],
    ),
    (
        "DELETE FROM {t} WHERE id NOT IN (SELECT k FROM one)",
        "3",
        &[["3", "b", "30"], ["-", "c", "50"]],
    ),
    (
        "DELETE FROM {t} WHERE EXISTS (SELECT 1 FROM nulls WHERE nulls.k = {t}.id)",
        "1",
        &[
            ["2", "a", "-"],
            ["3", "b", "30"],
            ["4", "-", "40"],
            ["-", "c", "50"],
        ],
    ),
    (
        "DELETE FROM {t} WHERE NOT EXISTS (SELECT 1 FROM nulls WHERE nulls.k = {t}.id)",
        "4",
        &[["1", "a", "10"]],
    ),
    (
        "DELETE FROM {t} WHERE n = (SELECT max(n) FROM {t}) OR id = 1",
        "2",
        &[["2", "a", "-"], ["3", "b", "30"], ["4", "-", "40"]],
    ),
    (
        "DELETE FROM {t} WHERE NOT (n > 30)",
        "2",
        &[["2", "a", "-"], ["4", "-", "40"], ["-", "c", "50"]],
    ),
    ("DELETE FROM {t} WHERE EXISTS (SELECT 1 FROM one)", "5", &[]),
    ("DELETE FROM {t}", "5", &[]),
    ("TRUNCATE TABLE {t}", "5", &[]),
    (
        "UPDATE {t} SET n = id, p = 'x' WHERE id IN (SELECT k FROM twice) OR n > (SELECT avg(n) FROM {t})",
        "3",
        &[
            ["1", "x", "1"],
            ["2", "a", "-"],
            ["3", "b", "30"],
            ["4", "x", "4"],
            ["-", "x", "-"],
        ],
    ),
    (
        "UPDATE {t} SET n = (SELECT max(n) FROM {t}) + 1 WHERE p = 'a'",
        "2",
        &[
            ["1", "a", "51"],
            ["2", "a", "51"],
            ["3", "b", "30"],
            ["4", "-", "40"],
            ["-", "c", "50"],
        ],
    ),
    (
        "MERGE INTO {t} AS t USING nulls AS s ON t.id = s.k WHEN MATCHED THEN UPDATE SET n = 0 \
         WHEN NOT MATCHED THEN INSERT (id, p) VALUES (9, 'new') WHEN NOT MATCHED BY SOURCE AND t.id > 2 THEN DELETE",
        "4",
        &[
            ["1", "a", "0"],
            ["2", "a", "-"],
            ["9", "new", "-"],
            ["-", "c", "50"],
        ],
    ),
    (
        "MERGE INTO {t} AS t USING {t} AS s ON t.id = s.id WHEN MATCHED AND s.n < 20 THEN UPDATE SET n = s.n + 1 \
         WHEN MATCHED AND s.n < 40 THEN DELETE WHEN NOT MATCHED THEN INSERT (id, n) VALUES (7, s.n)",
        "3",
        &[
            ["1", "a", "11"],
            ["2", "a", "-"],
            ["4", "-", "40"],
            ["7", "-", "50"],
            ["-", "c", "50"],
        ],
    ),
];

/// Statements that must fail and change nothing.
const ERRORS: &[&str] = &[
    "MERGE INTO {t} AS t USING twice AS s ON t.id = s.k WHEN MATCHED THEN UPDATE SET n = 0",
    "MERGE INTO {t} AS t USING twice AS s ON t.id = s.k WHEN MATCHED AND t.n = 10 THEN DELETE",
    "UPDATE {t} SET n = 3000000000",
    "UPDATE {t} SET n = id * 2000000000",
    "UPDATE {t} SET nope = 1",
    "UPDATE {t} SET n = 1 WHERE nope = 1",
    "DELETE FROM {t} WHERE id = 1 LIMIT 1",
    "DELETE FROM {t} ORDER BY id LIMIT 1",
    "DELETE FROM {t} WHERE id = 1 RETURNING id",
    "UPDATE {t} SET n = 1 WHERE id = 1 RETURNING id",
    "DELETE FROM {t} WHERE id > (SELECT k FROM twice)",
];

/// What DataFusion does not plan, or not all of. It must be refused, never done in part.
const REFUSED: &[&str] = &[
    "DELETE FROM {t} USING one WHERE one.k = {t}.id",
    "UPDATE {t} SET n = one.k FROM one WHERE one.k = {t}.id",
    "MERGE INTO {t} AS t USING (SELECT k AS id, 'x' AS p, 1 AS n FROM one) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
    "DELETE FROM {t}.branch_main WHERE id = 1",
    "TRUNCATE TABLE {t} PARTITION (p = 'a')",
];

const MODES: [(u8, &str); 4] = [
    (2, "copy-on-write"),
    (2, "merge-on-read"),
    (3, "copy-on-write"),
    (3, "merge-on-read"),
];

async fn plain(ctx: &SessionContext, sql: &str) -> Result<Vec<Vec<String>>> {
    Ok(cells(&ctx.sql(sql).await?.collect().await?))
}

async fn sources(w: &Warehouse) {
    for (name, keys) in [
        ("one", "(3)"),
        ("nulls", "(1), (NULL)"),
        ("twice", "(1), (1)"),
        ("empty", ""),
    ] {
        rows(&w.ctx, &format!("CREATE TABLE {name} (k bigint)")).await;
        if !keys.is_empty() {
            rows(&w.ctx, &format!("INSERT INTO {name} VALUES {keys}")).await;
        }
    }
}

async fn table(w: &Warehouse, name: &str, (version, mode): (u8, &str)) {
    let modes = ["delete", "update", "merge"].map(|of| format!(", 'write.{of}.mode' = '{mode}'"));
    let create = format!(
        "CREATE TABLE {name} (id bigint, p string, n int) TBLPROPERTIES ('format-version' = '{version}'{})",
        modes.concat()
    );
    rows(&w.ctx, &create).await;
    for values in [
        "(1, 'a', 10), (2, 'a', NULL)",
        "(3, 'b', 30), (4, NULL, 40), (NULL, 'c', 50)",
    ] {
        rows(&w.ctx, &format!("INSERT INTO {name} VALUES {values}")).await;
    }
}

async fn content(w: &Warehouse, name: &str) -> Vec<Vec<String>> {
    let all = format!("SELECT id, p, n FROM {name} ORDER BY id NULLS LAST, p");
    rows(&w.ctx, &all).await
}

#[tokio::test]
async fn plain_statements_change_the_same_rows() {
    let w = Warehouse::new().await;
    sources(&w).await;
    for (m, mode) in MODES.into_iter().enumerate() {
        for (i, (sql, count, after)) in NOTHING.iter().chain(SOME).enumerate() {
            let (full, bare) = (format!("full_{m}_{i}"), format!("bare_{m}_{i}"));
            table(&w, &full, mode).await;
            table(&w, &bare, mode).await;
            let of = |name: &str| sql.replace("{t}", name);
            let told = rows(&w.ctx, &of(&full)).await;
            assert_eq!(told, [[*count]], "{sql} by iceberg_sql, {mode:?}");
            assert_eq!(content(&w, &full).await, *after, "{sql} by iceberg_sql, {mode:?}");
            let told = plain(&w.ctx, &of(&bare)).await;
            let told = told.unwrap_or_else(|e| panic!("{sql}, {mode:?}: {e}"));
            assert_eq!(told, [[*count]], "{sql} by sql, {mode:?}");
            assert_eq!(content(&w, &bare).await, *after, "{sql} by sql, {mode:?}");
        }
    }
}

#[tokio::test]
async fn plain_statements_fail_where_the_full_ones_do() {
    let w = Warehouse::new().await;
    sources(&w).await;
    for (m, mode) in MODES.into_iter().enumerate() {
        let name = format!("t_{m}");
        table(&w, &name, mode).await;
        for sql in ERRORS {
            let sql = sql.replace("{t}", &name);
            let full = answer(&w.ctx, &sql).await;
            let bare = plain(&w.ctx, &sql).await;
            assert!(full.is_err(), "{sql} by iceberg_sql, {mode:?}: {full:?}");
            assert!(bare.is_err(), "{sql} by sql, {mode:?}: {bare:?}");
            assert_eq!(content(&w, &name).await, BEFORE, "{sql}, {mode:?}");
        }
        assert_eq!(w.table(&name).await.metadata().snapshots().len(), 2);
    }
}

#[tokio::test]
async fn what_datafusion_does_not_plan_is_refused() {
    let w = Warehouse::new().await;
    sources(&w).await;
    table(&w, "t", MODES[0]).await;
    for sql in REFUSED {
        let bare = plain(&w.ctx, &sql.replace("{t}", "t")).await;
        assert!(bare.is_err(), "{sql}: {bare:?}");
        assert_eq!(content(&w, "t").await, BEFORE, "{sql}");
    }
}

//! Statements that make and drop tables and schemas.

use crate::session::{integers, refusal, rows, says};
use crate::warehouse::Warehouse;

#[tokio::test]
async fn a_table_has_what_its_clauses_say() {
    let w = Warehouse::new().await;
    rows(
        &w.ctx,
        "CREATE TABLE t (
            id bigint NOT NULL COMMENT 'the key',
            ts timestamp,
            point struct<x: double NOT NULL, y: double>,
            tags array<string>,
            \"Mixed Case\" decimal(9, 2),
            PRIMARY KEY (id) NOT ENFORCED
        )
        COMMENT 'a table' USING iceberg
        TBLPROPERTIES ('write.format.default' = 'parquet', commit.retry.num-retries = 7)
        PARTITIONED BY (day(ts), bucket(16, id), point.x)
        WRITE ORDERED BY id DESC NULLS LAST, \"Mixed Case\"",
    )
    .await;
    let table = w.table("t").await;
    let metadata = table.metadata();
    let schema = metadata.current_schema();
    let columns: Vec<String> = schema
        .fields()
        .iter()
        .map(|f| format!("{}:{}:{}", f.id, f.name, f.required))
        .collect();
    assert_eq!(
        columns,
        [
            "1:id:true",
            "2:ts:false",
            "3:point:false",
            "4:tags:false",
            "5:Mixed Case:false"
        ]
    );
    assert_eq!(schema.identifier_field_ids(), [1]);
    assert_eq!(schema.field_by_id(1).unwrap().doc.as_deref(), Some("the key"));
    assert!(schema.field_by_name("point.x").unwrap().required);
    let fields: Vec<String> = metadata
        .default_spec()
        .fields()
        .iter()
        .map(|f| format!("{} {}", f.name, f.transform))
        .collect();
    assert_eq!(fields, ["ts_day day", "id_bucket bucket[16]", "point.x identity"]);
    assert_eq!(metadata.default_sort_order().fields.len(), 2);
    assert_eq!(metadata.property("comment"), Some("a table"));
    assert_eq!(metadata.property("commit.retry.num-retries"), Some("7"));
    assert_eq!(metadata.property("write.distribution-mode"), Some("range"));
    assert_eq!(metadata.format_version(), 2);
}

#[tokio::test]
async fn defaults_are_values_of_version_3() {
    let w = Warehouse::new().await;
    rows(
        &w.ctx,
        "CREATE TABLE t (a int DEFAULT 1 + 1, b string DEFAULT 'x' NOT NULL, c decimal(9, 2) DEFAULT -1.10, \
         d date DEFAULT '2024-02-29', e timestamptz DEFAULT TIMESTAMP '2024-01-01 00:00:00', f boolean DEFAULT true, \
         g int DEFAULT NULL) WITH ('format-version' = 3)",
    )
    .await;
    let table = w.table("t").await;
    let with_default = table
        .schema()
        .fields()
        .iter()
        .filter(|f| f.write_default.is_some());
    assert_eq!(with_default.count(), 6);
    for (statement, part) in [
        ("CREATE TABLE u (a int DEFAULT 1)", "version 3"),
        (
            "CREATE TABLE u (a int DEFAULT 1.5) WITH ('format-version' = 3)",
            "DEFAULT 1.5 is no value of type int",
        ),
        (
            "CREATE TABLE u (a date DEFAULT now()) WITH ('format-version' = 3)",
            "another value each time",
        ),
        (
            "CREATE TABLE u (a int, b int DEFAULT a) WITH ('format-version' = 3)",
            "column `b`",
        ),
        (
            "CREATE TABLE u (a int NOT NULL DEFAULT NULL) WITH ('format-version' = 3)",
            "its default is null",
        ),
        (
            "CREATE TABLE u (a int[] DEFAULT 1) WITH ('format-version' = 3)",
            "primitive",
        ),
        ("CREATE TABLE u (a variant)", "needs format version 3"),
    ] {
        says(&refusal(&w.ctx, statement).await, &[part]);
    }
}

#[tokio::test]
async fn wrong_statements_are_refused_by_clause_and_place() {
    let w = Warehouse::new().await;
    for (statement, part) in [
        ("CREATE TABLE t (a int) USING parquet", "USING parquet"),
        ("CREATE TABLE t (a int) CLUSTERED BY (a)", "found `CLUSTERED`"),
        (
            "CREATE TABLE t (a int) PARTITIONED BY (day(a))",
            "day cannot be made of `a`",
        ),
        (
            "CREATE TABLE t (a int) PARTITIONED BY (b)",
            "there is no column `b`",
        ),
        (
            "CREATE TABLE t (a int) PARTITIONED BY (a, a)",
            "two partition fields `a`",
        ),
        (
            "CREATE TABLE t (a int) COMMENT 'x' COMMENT 'y'",
            "two clauses COMMENT",
        ),
        ("CREATE TABLE t (a int, A int)", "two columns `a`"),
        ("CREATE TABLE t", "the columns of the table"),
        ("CREATE TABLE t LIKE u", "found `LIKE`"),
        (
            "CREATE TABLE t (a int) WITH ('location' = 'x')",
            "LOCATION sets it",
        ),
        (
            "CREATE TABLE t (a int) WITH (format_version = 3)",
            "'format-version'",
        ),
        ("CREATE TABLE t (a int) WITH ('format-version' = 9)", "9"),
        (
            "CREATE TABLE t (a int) WITH ('a' = 'b', 'a' = 'c')",
            "given twice",
        ),
        (
            "CREATE OR REPLACE TABLE IF NOT EXISTS t (a int)",
            "exclude each other",
        ),
        ("REPLACE TABLE t (a int)", "there is no table `s.t`"),
        ("CREATE TABLE nope.t (a int)", "there is no schema `nope`"),
        (
            "CREATE TABLE t (a int, PRIMARY KEY (b) NOT ENFORCED)",
            "no column `b`",
        ),
        ("DROP TABLE t", "there is no table `s.t`"),
        ("DROP SCHEMA nope", "there is no schema `nope`"),
        ("DROP SCHEMA s CASCADE", "CASCADE"),
        ("CREATE SCHEMA s", "the schema `s` exists"),
        ("DROP TABLE IF EXISTS t, u", "one by one"),
    ] {
        says(&refusal(&w.ctx, statement).await, &[part]);
    }
    let message = refusal(&w.ctx, "CREATE TABLE t (\n  a int,\n  b quark\n)").await;
    says(&message, &["unknown type `quark`", "Line: 3, Column: 5"]);
}

#[tokio::test]
async fn tables_and_schemas_come_and_go() {
    let w = Warehouse::new().await;
    rows(&w.ctx, "CREATE SCHEMA IF NOT EXISTS s").await;
    rows(&w.ctx, "CREATE SCHEMA w.other").await;
    rows(&w.ctx, "CREATE TABLE w.other.t (a int)").await;
    rows(&w.ctx, "CREATE TABLE IF NOT EXISTS other.t (b int)").await;
    says(
        &refusal(&w.ctx, "CREATE TABLE other.t (b int)").await,
        &["exists"],
    );
    says(&refusal(&w.ctx, "DROP SCHEMA other").await, &["is not empty"]);
    assert_eq!(integers(&w.ctx, "SELECT count(a) FROM other.t").await, [[0]]);
    rows(&w.ctx, "DROP TABLE other.t").await;
    rows(&w.ctx, "DROP TABLE IF EXISTS other.t PURGE").await;
    refusal(&w.ctx, "SELECT * FROM other.t").await;
    rows(&w.ctx, "DROP SCHEMA other RESTRICT").await;
    rows(&w.ctx, "DROP SCHEMA IF EXISTS other").await;
    // Plain DataFusion neither makes nor drops tables of the warehouse.
    rows(&w.ctx, "CREATE TABLE t (a int)").await;
    for statement in [
        "CREATE TABLE u AS SELECT 1 AS a",
        "CREATE OR REPLACE TABLE t AS SELECT 1 AS a",
    ] {
        assert!(w.ctx.sql(statement).await.is_err(), "{statement}");
    }
    assert_eq!(integers(&w.ctx, "SELECT count(*) FROM t").await, [[0]]);
    // Tables of other catalogs are DataFusion's.
    let memory = std::sync::Arc::new(datafusion::catalog::MemoryCatalogProvider::new());
    let schema = std::sync::Arc::new(datafusion::catalog::MemorySchemaProvider::new());
    datafusion::catalog::CatalogProvider::register_schema(memory.as_ref(), "m", schema).unwrap();
    w.ctx.register_catalog("memory", memory);
    rows(&w.ctx, "CREATE TABLE memory.m.t AS SELECT 1 AS a").await;
    assert_eq!(integers(&w.ctx, "SELECT a FROM memory.m.t").await, [[1]]);
    rows(&w.ctx, "DROP TABLE memory.m.t").await;
}

#[tokio::test]
async fn a_table_of_a_query_is_there_with_its_rows_or_not_at_all() {
    let w = Warehouse::new().await;
    rows(
        &w.ctx,
        "CREATE TABLE t PARTITIONED BY (k) AS SELECT column1 AS id, column2 AS k, TIMESTAMP '2024-01-01 00:00:00' AS ts \
         FROM (VALUES (1, 'a'), (2, 'b'), (3, 'a'))",
    )
    .await;
    assert_eq!(
        integers(&w.ctx, "SELECT count(*), sum(id) FROM t WHERE k = 'a'").await,
        [[2, 4]]
    );
    assert_eq!(w.table("t").await.metadata().snapshots().len(), 1);
    // No rows is a table all the same.
    rows(&w.ctx, "CREATE TABLE none AS SELECT 1 AS a WHERE false").await;
    assert_eq!(integers(&w.ctx, "SELECT count(*) FROM none").await, [[0]]);
    // A query that fails leaves nothing.
    refusal(&w.ctx, "CREATE TABLE bad AS SELECT 1 / (id - 2) AS a FROM t").await;
    refusal(&w.ctx, "SELECT * FROM bad").await;
    assert!(w.data_files("bad").is_empty());
    refusal(&w.ctx, "CREATE TABLE bad AS SELECT 1 AS a, 2 AS a").await;
    refusal(&w.ctx, "CREATE TABLE bad AS DELETE FROM t").await;
    // IF NOT EXISTS does not run the query.
    rows(&w.ctx, "CREATE TABLE IF NOT EXISTS t AS SELECT 1 / 0 AS a").await;
    // Columns may be named and typed.
    rows(
        &w.ctx,
        "CREATE TABLE typed (a bigint NOT NULL, b decimal(5, 1)) AS SELECT 1, 2.5",
    )
    .await;
    assert_eq!(rows(&w.ctx, "SELECT a, b FROM typed").await, [["1", "2.5"]]);
}

#[tokio::test]
async fn a_replaced_table_keeps_its_history() {
    let w = Warehouse::new().await;
    rows(&w.ctx, "CREATE TABLE t AS SELECT 1 AS id, 'a' AS k").await;
    let before = w.table("t").await;
    let first = before.metadata().current_snapshot_id().unwrap();
    rows(
        &w.ctx,
        "CREATE OR REPLACE TABLE t AS SELECT k, id + 1 AS id, true AS more FROM t",
    )
    .await;
    let after = w.table("t").await;
    assert_eq!(after.metadata().table_uuid(), before.metadata().table_uuid());
    assert_eq!(
        after.schema().field_by_name("id").unwrap().id,
        before.schema().field_by_name("id").unwrap().id
    );
    assert_eq!(rows(&w.ctx, "SELECT * FROM t").await, [["a", "2", "true"]]);
    assert_eq!(
        rows(&w.ctx, &format!("SELECT * FROM t VERSION AS OF {first}")).await,
        [["1", "a"]]
    );
    rows(&w.ctx, "CREATE OR REPLACE TABLE t (x int)").await;
    assert_eq!(integers(&w.ctx, "SELECT count(x) FROM t").await, [[0]]);
    rows(&w.ctx, "CREATE OR REPLACE TABLE fresh AS SELECT 1 AS a").await;
    assert_eq!(integers(&w.ctx, "SELECT a FROM fresh").await, [[1]]);
}

#[tokio::test]
async fn the_default_schema_is_made_with_the_first_table_in_it() {
    let w = Warehouse::new().await;
    rows(&w.ctx, "DROP SCHEMA s").await;
    says(
        &refusal(&w.ctx, "CREATE TABLE other.t (a int)").await,
        &["no schema `other`"],
    );
    rows(&w.ctx, "CREATE TABLE t AS SELECT 1 AS a").await;
    assert_eq!(integers(&w.ctx, "SELECT a FROM w.s.t").await, [[1]]);
}

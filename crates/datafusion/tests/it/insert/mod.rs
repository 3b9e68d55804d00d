//! Rows that are inserted into tables of a catalog.

mod assignment;
mod overwrite;
mod plans;

use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::prelude::SessionConfig;

use crate::session::{integers, refusal, rows, says};
use crate::warehouse::Warehouse;

#[tokio::test]
async fn rows_are_inserted_and_counted() {
    let w = Warehouse::new().await;
    rows(
        &w.ctx,
        "CREATE TABLE t (id bigint NOT NULL, name string, price decimal(9, 2))",
    )
    .await;
    assert_eq!(
        integers(
            &w.ctx,
            "INSERT INTO t VALUES (1, 'a', 1.10), (2, NULL, -2), (3, 'c', NULL)"
        )
        .await,
        [[3]]
    );
    assert_eq!(
        integers(&w.ctx, "INSERT INTO t SELECT id + 10, name, price FROM t").await,
        [[3]]
    );
    assert_eq!(
        rows(&w.ctx, "SELECT * FROM t ORDER BY id LIMIT 4").await,
        [
            ["1", "a", "1.10"],
            ["2", "-", "-2.00"],
            ["3", "c", "-"],
            ["11", "a", "1.10"]
        ]
    );
    // Each statement is one snapshot; time travel goes back.
    let table = w.table("t").await;
    let first = table.metadata().snapshots()[0].snapshot_id;
    assert_eq!(table.metadata().snapshots().len(), 2);
    assert_eq!(
        integers(&w.ctx, &format!("SELECT count(*) FROM t VERSION AS OF {first}")).await,
        [[3]]
    );
    // No rows are no snapshot.
    assert_eq!(
        integers(&w.ctx, "INSERT INTO t SELECT * FROM t WHERE false").await,
        [[0]]
    );
    assert_eq!(w.table("t").await.metadata().snapshots().len(), 2);
}

#[tokio::test]
async fn columns_are_given_by_position_list_or_name() {
    let w = Warehouse::new().await;
    rows(
        &w.ctx,
        "CREATE TABLE t (a int, b string DEFAULT 'dflt', \"C\" date NOT NULL) WITH ('format-version' = 3)",
    )
    .await;
    rows(&w.ctx, "INSERT INTO t (\"C\", a) VALUES ('2024-02-29', 1)").await;
    rows(
        &w.ctx,
        "INSERT INTO t BY NAME SELECT DATE '2024-03-01' AS \"C\", 'x' AS b",
    )
    .await;
    rows(&w.ctx, "INSERT INTO t VALUES (2, DEFAULT, DATE '2024-03-02')").await;
    assert_eq!(
        rows(&w.ctx, "SELECT * FROM t ORDER BY \"C\"").await,
        [
            ["1", "dflt", "2024-02-29"],
            ["-", "x", "2024-03-01"],
            ["2", "dflt", "2024-03-02"]
        ]
    );
    for (statement, part) in [
        ("INSERT INTO t VALUES (1, 'x')", "has 2 values, expected 3"),
        (
            "INSERT INTO t SELECT 1, 'x'",
            "takes 3 columns (a, b, C), the query has 2",
        ),
        (
            "INSERT INTO t (a) VALUES (1)",
            "column `C` is NOT NULL and has no default",
        ),
        ("INSERT INTO t (a, nope) VALUES (1, 2)", "no column `nope`"),
        ("INSERT INTO t (a, a) VALUES (1, 2)", "`a` is listed twice"),
        (
            "INSERT INTO t (a, \"C\") SELECT 1",
            "2 columns are named, the query has 1",
        ),
        (
            "INSERT INTO t BY NAME SELECT 1 AS a, 2 AS nope",
            "no column `nope`",
        ),
        ("INSERT INTO t BY NAME SELECT 1 AS a", "column `C` is NOT NULL"),
        ("INSERT INTO t (a) BY NAME SELECT 1 AS a", "exclude each other"),
        ("INSERT INTO t VALUES (1, 'x', NULL)", "C"),
        ("INSERT INTO nope VALUES (1)", "nope"),
    ] {
        says(&refusal(&w.ctx, statement).await, &[part]);
    }
    assert_eq!(integers(&w.ctx, "SELECT count(*) FROM t").await, [[3]]);
    assert_eq!(w.data_files("t").len(), 3);
}

#[tokio::test]
async fn branches_are_written_apart() {
    let w = Warehouse::new().await;
    rows(&w.ctx, "CREATE TABLE t AS SELECT 1 AS id").await;
    let table = w.table("t").await;
    let head = table.metadata().current_snapshot_id().unwrap();
    let reference = |kind| drumlin_format::snapshot::SnapshotRef {
        snapshot_id: head,
        kind,
        max_ref_age_ms: None,
    };
    let set = |name: &str, kind| drumlin_format::metadata::TableUpdate::SetSnapshotRef {
        name: name.to_string(),
        snapshot_ref: reference(kind),
    };
    let branch = drumlin_format::snapshot::RefKind::Branch {
        min_snapshots_to_keep: None,
        max_snapshot_age_ms: None,
    };
    let namespace = drumlin_table::catalog::Namespace::new(["s"]).unwrap();
    let ident = drumlin_table::catalog::TableIdent::new(namespace, "t").unwrap();
    drumlin_table::transaction::Transaction::new(&table, ident)
        .add_updates(vec![
            set("audit", branch),
            set("v1", drumlin_format::snapshot::RefKind::Tag),
        ])
        .commit(w.catalog.as_ref())
        .await
        .unwrap();
    assert_eq!(
        integers(&w.ctx, "INSERT INTO t.branch_audit VALUES (2), (3)").await,
        [[2]]
    );
    assert_eq!(integers(&w.ctx, "SELECT count(*) FROM t").await, [[1]]);
    assert_eq!(
        integers(&w.ctx, "SELECT count(*) FROM t.branch_audit").await,
        [[3]]
    );
    rows(&w.ctx, "INSERT OVERWRITE t.branch_audit SELECT 9").await;
    assert_eq!(integers(&w.ctx, "SELECT id FROM t.branch_audit").await, [[9]]);
    assert_eq!(integers(&w.ctx, "SELECT id FROM t").await, [[1]]);
    for (statement, part) in [
        ("INSERT INTO t.branch_nope VALUES (1)", "no branch `nope`"),
        ("INSERT INTO t.branch_v1 VALUES (1)", "`v1` is a tag"),
        ("INSERT INTO t.tag_v1 VALUES (1)", "cannot be written to"),
        ("INSERT INTO t.snapshot_id_1 VALUES (1)", "cannot be written to"),
    ] {
        says(&refusal(&w.ctx, statement).await, &[part]);
    }
}

#[tokio::test]
async fn partitions_sort_orders_and_all_partition_transforms() {
    let w = Warehouse::with(SessionConfig::new().with_target_partitions(4)).await;
    rows(
        &w.ctx,
        "CREATE TABLE t (id bigint, s string, ts timestamp, n struct<x: int>) \
         PARTITIONED BY (bucket(4, id), truncate(1, s), month(ts), n.x) WRITE ORDERED BY s DESC, id",
    )
    .await;
    let generated = "SELECT value AS id, chr(CAST(97 + value % 3 AS bigint)) || CAST(value AS string) AS s, \
                     TIMESTAMP '2024-01-01 00:00:00' + CASE WHEN value % 2 = 0 THEN INTERVAL '40 days' ELSE INTERVAL '0 days' END AS ts, \
                     named_struct('x', CAST(value % 2 AS int)) AS n FROM generate_series(1, 1000)";
    assert_eq!(
        integers(&w.ctx, &format!("INSERT INTO t {generated}")).await,
        [[1000]]
    );
    assert_eq!(
        integers(&w.ctx, "SELECT count(*), sum(id), count(DISTINCT s) FROM t").await,
        [[1000, 500_500, 1000]]
    );
    // A partition is written by one writer: 4 buckets, 3 letters, 2 months (with the parity of x).
    assert_eq!(w.data_files("t").len(), 24);
    assert_eq!(
        integers(&w.ctx, "SELECT count(*) FROM t WHERE ts < TIMESTAMP '2024-02-01 00:00:00' AND s LIKE 'b%'").await,
        integers(&w.ctx, &format!("SELECT count(*) FROM ({generated}) WHERE ts < TIMESTAMP '2024-02-01 00:00:00' AND s LIKE 'b%'")).await
    );
}

#[tokio::test]
async fn plain_sessions_and_frames_write_too() {
    let w = Warehouse::new().await;
    rows(
        &w.ctx,
        "CREATE TABLE t (a int, b date DEFAULT '2020-01-01') WITH ('format-version' = 3)",
    )
    .await;
    let run = async |sql: &str| w.ctx.sql(sql).await?.collect().await;
    run("INSERT INTO t VALUES (1, '2024-01-01')").await.unwrap();
    run("INSERT INTO t (a) SELECT 2").await.unwrap();
    let frame = w.ctx.sql("SELECT 3 AS x, DATE '2024-01-03' AS y").await.unwrap();
    frame
        .write_table("t", DataFrameWriteOptions::new())
        .await
        .unwrap();
    assert_eq!(
        rows(&w.ctx, "SELECT * FROM t ORDER BY a").await,
        [["1", "2024-01-01"], ["2", "2020-01-01"], ["3", "2024-01-03"]]
    );
    for statement in [
        "INSERT INTO t VALUES (1.5, '2024-01-01')",
        "INSERT INTO t VALUES ('1', '2024-01-01')",
        "INSERT INTO t SELECT 3000000000, DATE '2024-01-01'",
        "INSERT INTO t VALUES (1, 'never')",
    ] {
        assert!(run(statement).await.is_err(), "{statement}");
    }
    let frame = w
        .ctx
        .sql("SELECT 1.5 AS x, DATE '2024-01-03' AS y")
        .await
        .unwrap();
    assert!(
        frame
            .write_table("t", DataFrameWriteOptions::new())
            .await
            .is_err()
    );
    let frame = w.ctx.sql("SELECT 4 AS x, DATE '2024-01-03' AS y").await.unwrap();
    let options = DataFrameWriteOptions::new().with_insert_operation(InsertOp::Overwrite);
    frame.write_table("t", options).await.unwrap();
    assert_eq!(integers(&w.ctx, "SELECT a FROM t").await, [[4]]);
}

#[tokio::test]
async fn a_statement_that_fails_leaves_no_files() {
    let w = Warehouse::with(SessionConfig::new().with_target_partitions(4)).await;
    rows(&w.ctx, "CREATE TABLE t (a bigint NOT NULL)").await;
    rows(&w.ctx, "INSERT INTO t VALUES (1)").await;
    for statement in [
        "INSERT INTO t SELECT 10 / (value - 90000) FROM generate_series(1, 100000)",
        "INSERT INTO t SELECT CASE WHEN value = 90000 THEN NULL ELSE value END FROM generate_series(1, 100000)",
        "INSERT OVERWRITE t SELECT 10 / (value - 90000) FROM generate_series(1, 100000)",
    ] {
        refusal(&w.ctx, statement).await;
    }
    // Cancelled: the stream is dropped before it has given anything.
    let frame = w
        .ctx
        .sql("INSERT INTO t SELECT value FROM generate_series(1, 10000000)")
        .await
        .unwrap();
    let mut stream = frame.execute_stream().await.unwrap();
    let first = tokio::time::timeout(
        std::time::Duration::from_millis(300),
        futures::StreamExt::next(&mut stream),
    );
    assert!(first.await.is_err());
    drop(stream);
    for _ in 0..100 {
        if w.data_files("t").len() == 1 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let files = w.data_files("t");
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(integers(&w.ctx, "SELECT a FROM t").await, [[1]]);
}

#[tokio::test]
async fn tables_without_a_catalog_are_only_read() {
    let w = Warehouse::new().await;
    rows(&w.ctx, "CREATE TABLE t AS SELECT 1 AS a").await;
    let location = w.table("t").await.metadata_location().to_string();
    let storage = drumlin_table::storage::Storage::default();
    let table = drumlin_table::Table::open(&storage, &location).await.unwrap();
    let provider = drumlin_datafusion::IcebergTableProvider::try_new(table).unwrap();
    w.ctx.register_table("x", std::sync::Arc::new(provider)).unwrap();
    says(
        &refusal(&w.ctx, "INSERT INTO x VALUES (1)").await,
        &["without its catalog"],
    );
    let plain = w.ctx.sql("INSERT INTO x VALUES (1)").await;
    let plain = match plain {
        Ok(frame) => frame.collect().await.map(|_| ()),
        Err(error) => Err(error),
    };
    says(&plain.unwrap_err().to_string(), &["without its catalog"]);
    for (statement, part) in [
        ("DELETE FROM x", "without its catalog"),
        (
            "DELETE FROM x WHERE a IN (SELECT a FROM t)",
            "without its catalog",
        ),
        ("UPDATE x SET a = 2", "without its catalog"),
        (
            "MERGE INTO x USING t ON x.a = t.a WHEN MATCHED THEN DELETE",
            "without its catalog",
        ),
        ("TRUNCATE TABLE x", "without its catalog"),
        ("REPLACE INTO t VALUES (1)", ""),
        (
            "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
            "no identifier fields",
        ),
    ] {
        says(&refusal(&w.ctx, statement).await, &[part]);
    }
    assert_eq!(integers(&w.ctx, "SELECT a FROM t").await, [[1]]);
}

//! `INSERT OVERWRITE`, static and dynamic.

use drumlin_datafusion::IcebergContextExt;

use crate::session::{integers, refusal, rows, says};
use crate::warehouse::Warehouse;

async fn partitioned() -> Warehouse {
    let w = Warehouse::new().await;
    rows(
        &w.ctx,
        "CREATE TABLE t (id int, k string, d date) PARTITIONED BY (k, d)",
    )
    .await;
    rows(
        &w.ctx,
        "INSERT INTO t VALUES (1, 'a', '2024-01-01'), (2, 'a', '2024-01-02'), (3, 'b', '2024-01-01'), (4, NULL, '2024-01-01')",
    )
    .await;
    w
}

const ALL: &str = "SELECT id FROM t ORDER BY id";

#[tokio::test]
async fn static_removes_what_the_clause_names() {
    let w = partitioned().await;
    let count = "INSERT OVERWRITE TABLE t PARTITION (k = 'a', d = '2024-01-01') SELECT 10";
    assert_eq!(integers(&w.ctx, count).await, [[1]]);
    assert_eq!(integers(&w.ctx, ALL).await, [[2], [3], [4], [10]]);
    rows(
        &w.ctx,
        "INSERT OVERWRITE t PARTITION (k = 'a', d) SELECT 11, DATE '2024-05-05'",
    )
    .await;
    assert_eq!(integers(&w.ctx, ALL).await, [[3], [4], [11]]);
    rows(
        &w.ctx,
        "INSERT OVERWRITE t PARTITION (k = NULL) VALUES (12, DATE '2024-05-05')",
    )
    .await;
    assert_eq!(integers(&w.ctx, ALL).await, [[3], [11], [12]]);
    // No rows: what the clause names is gone all the same.
    rows(
        &w.ctx,
        "INSERT OVERWRITE t PARTITION (k = 'a') SELECT 1, DATE '2024-01-01' WHERE false",
    )
    .await;
    assert_eq!(integers(&w.ctx, ALL).await, [[3], [12]]);
    // An append may give constants, too.
    rows(
        &w.ctx,
        "INSERT INTO t PARTITION (k = 'c', d = '2024-01-01') SELECT 13",
    )
    .await;
    assert_eq!(
        rows(&w.ctx, "SELECT k, d FROM t WHERE id = 13").await,
        [["c", "2024-01-01"]]
    );
    rows(&w.ctx, "INSERT OVERWRITE t SELECT id + 100, k, d FROM t").await;
    assert_eq!(integers(&w.ctx, ALL).await, [[103], [112], [113]]);
    rows(&w.ctx, "INSERT OVERWRITE t SELECT * FROM t WHERE false").await;
    assert_eq!(integers(&w.ctx, "SELECT count(*) FROM t").await, [[0]]);
    for (clause, part) in [
        ("id = 1", "not partitioned by `id`"),
        ("nope = 1", "no column `nope`"),
        ("k = 'a', k = 'b'", "twice"),
        ("k > 'a'", "column = constant"),
        ("d = 'never'", "no value of column `d`"),
        ("d = now()", "another value each time"),
    ] {
        let statement = format!("INSERT OVERWRITE t PARTITION ({clause}) SELECT 1, 'a', DATE '2024-01-01'");
        says(&refusal(&w.ctx, &statement).await, &[part]);
    }
}

#[tokio::test]
async fn dynamic_replaces_the_partitions_that_are_written() {
    let w = partitioned().await;
    rows(&w.ctx, "SET iceberg.partition_overwrite_mode = 'dynamic'").await;
    rows(
        &w.ctx,
        "INSERT OVERWRITE t VALUES (20, 'a', '2024-01-01'), (21, 'z', '2024-01-01')",
    )
    .await;
    assert_eq!(integers(&w.ctx, ALL).await, [[2], [3], [4], [20], [21]]);
    let before = w.table("t").await.metadata().snapshots().len();
    assert_eq!(
        integers(&w.ctx, "INSERT OVERWRITE t SELECT * FROM t WHERE false").await,
        [[0]]
    );
    assert_eq!(w.table("t").await.metadata().snapshots().len(), before);
    rows(&w.ctx, "SET iceberg.partition_overwrite_mode = 'sometimes'").await;
    says(
        &refusal(&w.ctx, "INSERT OVERWRITE t SELECT * FROM t").await,
        &["expected static or dynamic, found `sometimes`"],
    );
}

#[tokio::test]
async fn an_overwrite_that_reads_its_table_loses_no_commit() {
    let w = partitioned().await;
    let blind = w
        .ctx
        .iceberg_sql("INSERT OVERWRITE t VALUES (50, 'a', '2024-01-01')")
        .await
        .unwrap();
    let reading = w
        .ctx
        .iceberg_sql("INSERT OVERWRITE t SELECT id + 1, k, d FROM t")
        .await
        .unwrap();
    rows(&w.ctx, "INSERT INTO t VALUES (9, 'n', '2024-01-01')").await;
    let lost = reading.collect().await.unwrap_err().to_string();
    says(&lost, &["was changed by another commit"]);
    assert_eq!(integers(&w.ctx, ALL).await, [[1], [2], [3], [4], [9]]);
    // One that does not read it comes after whatever there is.
    blind.collect().await.unwrap();
    assert_eq!(integers(&w.ctx, ALL).await, [[50]]);
    assert_eq!(w.data_files("t").len(), 6);
}

//! What plans of writes show, and how often they run.

use datafusion::physical_plan::{collect, displayable};
use datafusion::prelude::SessionConfig;

use crate::session::{integers, rows, says};
use crate::warehouse::Warehouse;

async fn explained(w: &Warehouse, sql: &str) -> String {
    let all = rows(&w.ctx, &format!("EXPLAIN {sql}")).await;
    all.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn explain_shows_target_mode_and_distribution() {
    let w = Warehouse::with(SessionConfig::new().with_target_partitions(4)).await;
    rows(
        &w.ctx,
        "CREATE TABLE t (id bigint, k string) PARTITIONED BY (bucket(4, id), k)",
    )
    .await;
    let plan = explained(
        &w,
        "INSERT INTO t SELECT value, 'a' FROM generate_series(1, 100000)",
    )
    .await;
    says(
        &plan,
        &[
            "IcebergCommitExec: table=s.t, branch=main, mode=append",
            "CoalescePartitionsExec",
            "IcebergWriteExec: table=s.t, distribution=hash, partitioned by=[bucket[4](id), k@1]",
            "Hash([bucket[4](id), k@1], 4)",
        ],
    );
    let plan = explained(&w, "INSERT OVERWRITE t PARTITION (k = 'x') SELECT 1").await;
    says(&plan, &["mode=overwrite static [", "k"]);
    rows(
        &w.ctx,
        "CREATE TABLE sorted (id bigint, k string) WRITE ORDERED BY k DESC",
    )
    .await;
    let plan = explained(
        &w,
        "INSERT INTO sorted SELECT value, CAST(value % 7 AS string) FROM generate_series(1, 100000)",
    )
    .await;
    says(&plan, &["distribution=local order", "SortExec"]);
    // EXPLAIN writes nothing; EXPLAIN ANALYZE does.
    assert_eq!(integers(&w.ctx, "SELECT count(*) FROM t").await, [[0]]);
    rows(&w.ctx, "EXPLAIN ANALYZE INSERT INTO t VALUES (1, 'a')").await;
    assert_eq!(integers(&w.ctx, "SELECT count(*) FROM t").await, [[1]]);
}

#[tokio::test]
async fn a_plan_commits_once() {
    let w = Warehouse::new().await;
    rows(&w.ctx, "CREATE TABLE t (id bigint)").await;
    let frame = w.ctx.sql("INSERT INTO t VALUES (1)").await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    assert_eq!(
        plan.children().len(),
        1,
        "{}",
        displayable(plan.as_ref()).indent(false)
    );
    let context = w.ctx.task_ctx();
    assert!(plan.execute(1, std::sync::Arc::clone(&context)).is_err());
    collect(std::sync::Arc::clone(&plan), std::sync::Arc::clone(&context))
        .await
        .unwrap();
    let again = collect(plan, context).await.unwrap_err().to_string();
    says(&again, &["was run before"]);
    assert_eq!(integers(&w.ctx, "SELECT count(*) FROM t").await, [[1]]);
}

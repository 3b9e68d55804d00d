//! Sessions without the extension, where DataFusion's planner calls the table itself.

use std::sync::Arc;

use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_datafusion::IcebergCatalogProvider;

use crate::session::{cells, message, rows, says};
use crate::warehouse::Warehouse;

fn plain(w: &Warehouse) -> SessionContext {
    let config = SessionConfig::new()
        .with_default_catalog_and_schema("w", "s")
        .with_create_default_catalog_and_schema(false);
    let ctx = SessionContext::new_with_config(config);
    let provider = IcebergCatalogProvider::new(Arc::clone(&w.catalog));
    ctx.register_catalog("w", Arc::new(provider));
    ctx
}

async fn filled() -> (Warehouse, SessionContext) {
    let w = Warehouse::new().await;
    rows(&w.ctx, "CREATE TABLE t (id BIGINT NOT NULL, n BIGINT)").await;
    rows(&w.ctx, "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)").await;
    let ctx = plain(&w);
    (w, ctx)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_told_is_refused_and_changes_nothing() {
    let (w, ctx) = filled().await;
    for sql in [
        "DELETE FROM t",
        "DELETE FROM t WHERE id = 1",
        "DELETE FROM t WHERE 1 = 0",
        "DELETE FROM t WHERE id IN (SELECT id FROM t WHERE n > 100)",
        "DELETE FROM t WHERE n = 10 AND id IN (SELECT id FROM t WHERE n > 100)",
        "UPDATE t SET n = 0",
        "UPDATE t SET n = 0 WHERE id = 1",
    ] {
        let planned = async { ctx.sql(sql).await?.collect().await };
        let error = planned.await.expect_err(sql);
        says(
            &message(&error),
            &["with_iceberg", "w.s.t"].map(|part| part.trim_start_matches("w.")),
        );
    }
    assert_eq!(
        rows(&w.ctx, "SELECT count(*), sum(n) FROM t").await,
        [["3", "60"]]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_and_truncate_are_carried_out() {
    let (w, ctx) = filled().await;
    let merge = "MERGE INTO t AS a USING (SELECT column1 AS k, column2 AS v FROM (VALUES (2, 200), (4, 400))) AS s ON a.id = s.k \
                 WHEN MATCHED THEN UPDATE SET n = s.v + a.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.k, s.v) \
                 WHEN NOT MATCHED BY SOURCE AND a.n < 20 THEN DELETE";
    let count = ctx.sql(merge).await.unwrap().collect().await.unwrap();
    assert_eq!(cells(&count), [["3"]]);
    assert_eq!(
        rows(&w.ctx, "SELECT id, n FROM t ORDER BY id").await,
        [["2", "220"], ["3", "30"], ["4", "400"]]
    );
    let count = ctx
        .sql("TRUNCATE TABLE t")
        .await
        .unwrap()
        .collect()
        .await
        .unwrap();
    assert_eq!(cells(&count), [["3"]]);
    assert_eq!(rows(&w.ctx, "SELECT count(*) FROM t").await, [["0"]]);
}

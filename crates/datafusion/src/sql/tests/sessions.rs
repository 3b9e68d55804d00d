//! Loading, time zones, dialects, plain `SessionContext::sql`, other statements and texts of several.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider};
use datafusion::prelude::{SessionConfig, SessionContext};

use super::fake::FakeSchema;
use super::{answer, context, failure, installed};
use crate::sql::{IcebergContextExt, split_statements, sql_statement};

#[tokio::test]
async fn one_load_a_statement() {
    let config = SessionConfig::new().with_default_catalog_and_schema("c", "s");
    let ctx = SessionContext::new_with_config(config.with_create_default_catalog_and_schema(false));
    let (ctx, schema) = {
        let schema = Arc::new(FakeSchema::default());
        let catalog = MemoryCatalogProvider::new();
        catalog.register_schema("s", Arc::clone(&schema) as _).unwrap();
        ctx.register_catalog("c", Arc::new(catalog));
        (ctx, schema)
    };
    let query = "SELECT a.v, b.v, d.v, e.v FROM t a, s.t b, c.s.t AS d, \"c\".S.T e, t VERSION AS OF 1 f,
        t.tag_x g, s.t.tag_x h, c.s.t.tag_x i";
    assert_eq!(answer(&ctx, query).await, "t load 0|t load 0|t load 0|t load 0");
    assert_eq!(schema.loads.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn time_zone_of_the_session() {
    let mut config = SessionConfig::new();
    config.options_mut().execution.time_zone = Some("+02:00".to_string());
    let ctx = context(config);
    for (form, ms) in [
        ("TIMESTAMP AS OF '2024-01-01 02:00:00'", 1_704_067_200_000_i64),
        (
            "TIMESTAMP AS OF TIMESTAMP '2024-01-01 02:00:00'",
            1_704_067_200_000,
        ),
        ("TIMESTAMP AS OF '2024-01-01T00:00:00Z'", 1_704_067_200_000),
        ("TIMESTAMP AS OF DATE '2024-01-01'", 1_704_060_000_000),
        ("TIMESTAMP AS OF 1704067200", 1_704_067_200_000),
    ] {
        let query = format!("SELECT v FROM t {form}");
        assert_eq!(answer(&ctx, &query).await, format!("the time {ms} ms"), "{query}");
    }
}

#[tokio::test]
async fn now_is_the_same_throughout_a_statement() {
    let ctx = context(SessionConfig::new());
    let query = "SELECT a.v = b.v FROM t AT (TIMESTAMP => now() - INTERVAL '1 hour') a,
        t TIMESTAMP AS OF current_timestamp - INTERVAL '60 minutes' AS b";
    for _ in 0..20 {
        assert_eq!(answer(&ctx, query).await, "true");
    }
    let hour = answer(
        &ctx,
        "SELECT CAST(split_part(v, ' ', 3) AS BIGINT) FROM t AT (TIMESTAMP => now())",
    )
    .await;
    let elapsed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    assert!(
        elapsed.abs_diff(hour.parse::<u128>().unwrap()) < 60_000,
        "{hour} {elapsed}"
    );
}

#[tokio::test]
async fn every_dialect_understands_the_clauses() {
    for dialect in [
        "generic",
        "postgresql",
        "mysql",
        "duckdb",
        "databricks",
        "snowflake",
        "bigquery",
        "mssql",
        "hive",
        "ansi",
    ] {
        let ctx = context(SessionConfig::new().set_str("datafusion.sql_parser.dialect", dialect));
        for (query, expected) in [
            ("SELECT x.v FROM t FOR VERSION AS OF 7 AS x", "snapshot 7"),
            (
                "SELECT x.v FROM t AS x AT (TIMESTAMP => '2024-01-01')",
                "the time 1704067200000 ms",
            ),
            ("SELECT v FROM t.tag_x", "tag `x`"),
        ] {
            assert_eq!(answer(&ctx, query).await, expected, "{dialect}: {query}");
        }
    }
}

/// What plain `SessionContext::sql` does with the clauses: never the current rows once the extension is installed.
#[tokio::test]
async fn plain_sql() {
    let clauses = [
        "VERSION AS OF 7",
        "VERSION AS OF 'x'",
        "FOR VERSION AS OF 7",
        "FOR SYSTEM_VERSION AS OF 7",
        "TIMESTAMP AS OF '2024-01-01'",
        "FOR TIMESTAMP AS OF '2024-01-01'",
        "FOR SYSTEM_TIME AS OF '2024-01-01'",
        "AT (VERSION => 7)",
        "AT (TIMESTAMP => '2024-01-01')",
        "BEFORE (TIMESTAMP => '2024-01-01')",
    ];
    let ignoring = ["databricks", "snowflake", "bigquery", "mssql"];
    for dialect in [
        "generic",
        "ansi",
        "postgresql",
        "mysql",
        "hive",
        "sqlite",
        "snowflake",
        "redshift",
        "mssql",
        "clickhouse",
        "bigquery",
        "duckdb",
        "databricks",
    ] {
        let config = SessionConfig::new().set_str("datafusion.sql_parser.dialect", dialect);
        let bare = context(config.clone());
        let installed = installed(config);
        for clause in clauses {
            let text = format!("SELECT v FROM t {clause}");
            let without = bare.sql(&text).await.is_ok();
            assert!(
                !without || ignoring.contains(&dialect),
                "{dialect} ignores {clause}"
            );
            if let Ok(frame) = installed.sql(&text).await {
                let rows = format!("{:?}", frame.collect().await.unwrap());
                assert!(!rows.contains("current"), "{dialect}, {clause}: {rows}");
            }
        }
        assert!(bare.sql("SELECT v FROM t.tag_x").await.is_err());
    }
}

#[tokio::test]
async fn everything_else_still_works() {
    let ctx = context(SessionConfig::new().with_information_schema(true));
    ctx.iceberg_sql("SET datafusion.execution.batch_size = 100")
        .await
        .unwrap();
    ctx.iceberg_sql("CREATE VIEW w AS SELECT v FROM t VERSION AS OF 3")
        .await
        .unwrap();
    assert_eq!(answer(&ctx, "SELECT v FROM w").await, "snapshot 3");
    ctx.iceberg_sql("CREATE TABLE copy AS SELECT v FROM t.branch_b")
        .await
        .unwrap();
    assert_eq!(answer(&ctx, "SELECT v FROM copy").await, "branch `b`");
    assert!(answer(&ctx, "SHOW TABLES").await.contains("copy"));
    assert!(answer(&ctx, "DESCRIBE t").await.contains("version"));
    let plan = answer(&ctx, "EXPLAIN SELECT v FROM t VERSION AS OF 3").await;
    assert!(plan.contains("TableScan: t AS OF snapshot 3"), "{plan}");
    assert!(
        answer(&ctx, "EXPLAIN ANALYZE SELECT v FROM t AT (TAG => 'x')")
            .await
            .contains("metrics")
    );
    let message = failure(
        &ctx,
        "CREATE EXTERNAL TABLE e STORED AS ICEBERG LOCATION 'x' OPTIONS ('a' 'b')",
    )
    .await;
    assert!(message.contains("ICEBERG"), "{message}");
    let message = failure(&ctx, "SELECT * FROM w VERSION AS OF 1").await;
    assert!(message.contains("`w` is not one"), "{message}");
    let message = failure(&ctx, "COPY t VERSION AS OF 1 TO 'x.parquet'").await;
    assert!(message.contains("must follow"), "{message}");
}

#[tokio::test]
async fn statements_of_a_text() {
    let ctx = context(SessionConfig::new());
    let text = "-- first; not yet\nSELECT ';ä' ;;\n /* ; */ SELECT v\n  FROM t VERSION AS OF 1 ; SELECT 'ü' FROM nowhere -- end\n";
    let statements = split_statements(&ctx, text).unwrap();
    let found: Vec<_> = statements
        .iter()
        .map(|one| (one.text, one.line, one.column, one.terminated))
        .collect();
    assert_eq!(
        found,
        [
            ("SELECT ';ä'", 2, 1, true),
            ("SELECT v\n  FROM t VERSION AS OF 1", 3, 10, true),
            ("SELECT 'ü' FROM nowhere", 4, 28, false),
        ]
    );
    for one in &statements {
        assert_eq!(&text[one.span.clone()], one.text);
    }
    let batches = sql_statement(&ctx, &statements[1])
        .await
        .unwrap()
        .collect()
        .await
        .unwrap();
    assert_eq!(batches[0].num_rows(), 1);
    let broken = "SELECT 1;\nSELECT * FROM t WHERE )";
    let error = sql_statement(&ctx, &split_statements(&ctx, broken).unwrap()[1])
        .await
        .unwrap_err();
    assert!(error.to_string().contains("Line: 2, Column: 23"), "{error}");
    assert!(split_statements(&ctx, "SELECT 'no end").is_err());
    assert!(split_statements(&ctx, " \n-- nothing").unwrap().is_empty());
}

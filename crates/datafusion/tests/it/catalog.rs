//! Tables by name: warehouses as catalogs, external tables, views, and plain sessions without the extension.

use std::path::Path;
use std::sync::Arc;

use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_catalog::ObjectStoreCatalog;
use drumlin_datafusion::IcebergCatalogProvider;
use drumlin_table::storage::Storage;

use crate::conformance::{self, metadata_location};
use crate::session::{extended, integers, plan, refusal, register, rows, says};

/// A warehouse: `sales.orders` and `sales.eu.orders` (both with two rows), `hr` empty.
fn warehouse() -> (tempfile::TempDir, SessionContext) {
    let folder = tempfile::tempdir().unwrap();
    for table in ["sales/orders", "sales/eu/orders"] {
        version(&folder.path().join(table), 1, "refs", 1);
    }
    std::fs::create_dir_all(folder.path().join("hr")).unwrap();
    let ctx = session(folder.path());
    (folder, ctx)
}

/// Writes a version of a table: the metadata of this number of a table of the suite.
fn version(table: &Path, version: u32, of: &str, number: u32) {
    let metadata = table.join("metadata");
    std::fs::create_dir_all(&metadata).unwrap();
    let file = metadata.join(format!("v{version}.metadata.json"));
    std::fs::copy(conformance::metadata_file(of, number), file).unwrap();
    std::fs::write(metadata.join("version-hint.text"), version.to_string()).unwrap();
}

fn session(warehouse: &Path) -> SessionContext {
    let storage = conformance::storage();
    let ctx = extended(&storage, SessionConfig::new().with_information_schema(true));
    let catalog = ObjectStoreCatalog::new(storage, warehouse.to_str().unwrap());
    ctx.register_catalog("lake", Arc::new(IcebergCatalogProvider::new(Arc::new(catalog))));
    ctx
}

fn external() -> SessionContext {
    extended(&conformance::storage(), SessionConfig::new())
}

#[tokio::test]
async fn names_have_three_parts_and_nested_namespaces_a_dot() {
    let (_folder, ctx) = warehouse();
    for name in ["lake.sales.orders", "lake.\"sales.eu\".orders"] {
        assert_eq!(
            integers(&ctx, &format!("SELECT count(*), min(id), max(id) FROM {name}")).await,
            [[2, 1, 2]],
            "{name}"
        );
    }
    // Unquoted names are in lower case, quoted ones as they are.
    assert_eq!(
        integers(&ctx, "SELECT count(*) FROM LAKE.Sales.ORDERS").await,
        [[2]]
    );
    refusal(&ctx, "SELECT * FROM lake.\"Sales\".orders").await;
}

#[tokio::test]
async fn tables_are_listed() {
    let (_folder, ctx) = warehouse();
    let tables = rows(&ctx, "SHOW TABLES").await;
    for (schema, name) in [("sales", "orders"), ("sales.eu", "orders")] {
        let row = ["lake", schema, name, "BASE TABLE"].map(str::to_owned).to_vec();
        assert!(tables.contains(&row), "{tables:?}");
    }
    assert_eq!(
        rows(
            &ctx,
            "SELECT schema_name FROM information_schema.schemata WHERE catalog_name = 'lake' \
             AND schema_name <> 'information_schema' ORDER BY 1"
        )
        .await,
        [["hr"], ["sales"], ["sales.eu"]]
    );
    assert_eq!(
        rows(
            &ctx,
            "SELECT column_name, data_type, is_nullable, ordinal_position FROM information_schema.columns \
             WHERE table_catalog = 'lake' AND table_schema = 'sales.eu' ORDER BY ordinal_position"
        )
        .await,
        [["id", "Int32", "YES", "0"], ["v", "Utf8View", "YES", "1"]]
    );
    let described = [["id", "Int32", "YES"], ["v", "Utf8View", "YES"]];
    assert_eq!(rows(&ctx, "DESCRIBE lake.sales.orders").await, described);
    assert_eq!(rows(&ctx, "DESCRIBE lake.\"sales.eu\".orders").await, described);
    let columns = rows(&ctx, "SHOW COLUMNS FROM lake.sales.orders").await;
    assert_eq!(columns.len(), 2, "{columns:?}");
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let (_folder, ctx) = warehouse();
    for name in [
        "lake.sales.absent",
        "lake.absent.orders",
        "lake.hr.orders",
        "lake.sales.eu",
        "lake.sales.metadata",
        "lake.sales.\"..\"",
        "lake.sales.\"eu/orders\"",
        "lake.\"sales/eu\".orders",
        "lake.\"..\".orders",
        "lake.\"\".orders",
        "absent.sales.orders",
    ] {
        let message = refusal(&ctx, &format!("SELECT * FROM {name}")).await;
        says(&message, &["not found"]);
    }
    says(
        &refusal(&ctx, "SELECT * FROM lake.sales.absent").await,
        &["lake.sales.absent"],
    );
    says(
        &refusal(&ctx, "SELECT absent FROM lake.sales.orders").await,
        &["absent", "id"],
    );
}

#[tokio::test]
async fn a_table_that_cannot_be_read_says_why_and_hides_no_other() {
    let (folder, ctx) = warehouse();
    let broken = folder.path().join("sales/broken/metadata");
    std::fs::create_dir_all(&broken).unwrap();
    std::fs::write(broken.join("v1.metadata.json"), "{").unwrap();
    let message = refusal(&ctx, "SELECT * FROM lake.sales.broken").await;
    says(&message, &["sales/broken/metadata/v1.metadata.json"]);
    assert_eq!(
        integers(&ctx, "SELECT count(*) FROM lake.sales.orders").await,
        [[2]]
    );
    // A table of a catalog, whose newest metadata only that catalog knows.
    let catalogued = folder.path().join("sales/catalogued/metadata");
    std::fs::create_dir_all(&catalogued).unwrap();
    let name = conformance::metadata_file("refs", 1);
    std::fs::copy(&name, catalogued.join(name.file_name().unwrap())).unwrap();
    let message = refusal(&ctx, "SELECT * FROM lake.sales.catalogued").await;
    says(&message, &["guess_newest_metadata", "00001-"]);
}

#[tokio::test]
async fn each_statement_sees_the_newest_version() {
    let (folder, ctx) = warehouse();
    let orders = folder.path().join("sales/orders");
    let count = "SELECT count(*) FROM lake.sales.orders";
    assert_eq!(integers(&ctx, count).await, [[2]]);
    version(&orders, 2, "refs", 3);
    assert_eq!(integers(&ctx, count).await, [[3]]);
    // A later version has another column.
    version(&orders, 3, "refs", 11);
    assert_eq!(integers(&ctx, count).await, [[5]]);
    assert_eq!(
        integers(&ctx, "SELECT w FROM lake.sales.orders WHERE w IS NOT NULL").await,
        [[50]]
    );
    // New tables and namespaces are there at once, and go as they came.
    version(&folder.path().join("new/orders"), 1, "refs", 3);
    assert_eq!(
        integers(&ctx, "SELECT count(*) FROM lake.new.orders").await,
        [[3]]
    );
    std::fs::remove_dir_all(folder.path().join("new")).unwrap();
    says(
        &refusal(&ctx, "SELECT * FROM lake.new.orders").await,
        &["not found"],
    );
}

#[tokio::test]
async fn external_tables_take_a_version_and_hidden_columns() {
    let ctx = external();
    let location = metadata_location("refs", 11);
    let metadata = std::fs::read(conformance::metadata_file("refs", 11)).unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata).unwrap();
    let first = &metadata["snapshots"][0];
    let (id, ms) = (&first["snapshot-id"], &first["timestamp-ms"]);
    for (options, count) in [
        (String::new(), 5),
        (format!("OPTIONS (snapshot_id '{id}')"), 2),
        (format!("OPTIONS ('snapshot_id' {id})"), 2),
        (format!("OPTIONS (timestamp_ms '{ms}')"), 2),
        ("OPTIONS (tag 'v1')".into(), 2),
        ("OPTIONS (ref 'v1')".into(), 2),
        ("OPTIONS (ref 'audit')".into(), 3),
        ("OPTIONS (branch 'audit')".into(), 3),
        ("OPTIONS (branch 'main')".into(), 5),
        ("OPTIONS (guess_newest_metadata 'false')".into(), 5),
        ("OPTIONS (metadata_columns 'FALSE', tag 'v1')".into(), 2),
        ("OPTIONS (metadata_columns 'true')".into(), 5),
    ] {
        rows(
            &ctx,
            &format!("CREATE EXTERNAL TABLE t STORED AS ICEBERG LOCATION '{location}' {options}"),
        )
        .await;
        assert_eq!(
            integers(&ctx, "SELECT count(*) FROM t").await,
            [[count]],
            "{options}"
        );
        let hidden = options.contains("'true'");
        assert_eq!(ctx.sql("SELECT _pos FROM t").await.is_ok(), hidden, "{options}");
        rows(&ctx, "DROP TABLE t").await;
    }
    let guess = "OPTIONS (guess_newest_metadata true)";
    rows(
        &ctx,
        &format!("CREATE EXTERNAL TABLE t STORED AS ICEBERG LOCATION 's3://conformance/refs' {guess}"),
    )
    .await;
    assert_eq!(integers(&ctx, "SELECT count(*) FROM t").await, [[5]]);
}

#[tokio::test]
async fn external_tables_refuse_what_they_do_not_know() {
    let ctx = external();
    let location = metadata_location("refs", 11);
    for (options, parts) in [
        ("OPTIONS (snapshot_id 'abc')", vec!["snapshot_id", "abc"]),
        ("OPTIONS (snapshot_id '1')", vec!["1", "t"]),
        (
            "OPTIONS (timestamp_ms 'yesterday')",
            vec!["timestamp_ms", "yesterday"],
        ),
        ("OPTIONS (timestamp_ms '1')", vec!["t"]),
        ("OPTIONS (tag 'audit')", vec!["audit", "branch"]),
        ("OPTIONS (branch 'v1')", vec!["v1", "tag"]),
        ("OPTIONS (branch 'absent')", vec!["absent", "audit", "main"]),
        ("OPTIONS (tag 'v1', branch 'main')", vec!["version"]),
        (
            "OPTIONS (metadata_columns 'yes')",
            vec!["metadata_columns", "yes"],
        ),
        ("OPTIONS (snapshots '1')", vec!["snapshots", "snapshot_id"]),
        ("OPTIONS (format 'parquet')", vec!["format"]),
    ] {
        let sql = format!("CREATE EXTERNAL TABLE t STORED AS ICEBERG LOCATION '{location}' {options}");
        says(&refusal(&ctx, &sql).await, &parts);
    }
    for (sql, parts) in [
        (
            format!("CREATE EXTERNAL TABLE t (id INT) STORED AS ICEBERG LOCATION '{location}'"),
            ["t", "columns"],
        ),
        (
            format!("CREATE EXTERNAL TABLE t STORED AS ICEBERG PARTITIONED BY (id) LOCATION '{location}'"),
            ["t", "partition"],
        ),
        (
            "CREATE EXTERNAL TABLE t STORED AS ICEBERG LOCATION 's3://conformance/absent'".into(),
            ["s3://conformance/absent", "no metadata file"],
        ),
        (
            "CREATE EXTERNAL TABLE t STORED AS ICEBERG LOCATION 's3://conformance/refs'".into(),
            ["s3://conformance/refs", "guess_newest_metadata"],
        ),
        (
            "CREATE EXTERNAL TABLE t STORED AS ICEBERG LOCATION 'ftp://host/refs'".into(),
            ["ftp", "s3"],
        ),
        (
            "CREATE EXTERNAL TABLE t STORED AS ICEBERG LOCATION 's3://conformance/a/v1.metadata.json'".into(),
            ["s3://conformance/a/v1.metadata.json", "does not exist"],
        ),
    ] {
        says(&refusal(&ctx, &sql).await, &parts);
    }
    says(&refusal(&ctx, "SELECT * FROM t").await, &["not found"]);
}

#[tokio::test]
async fn external_tables_of_a_warehouse_catalog_live_in_the_session() {
    let (folder, ctx) = warehouse();
    let location = metadata_location("refs", 11);
    let create = |name: &str| format!("CREATE EXTERNAL TABLE {name} STORED AS ICEBERG LOCATION '{location}'");
    rows(&ctx, &create("lake.sales.extra")).await;
    assert_eq!(
        integers(
            &ctx,
            "SELECT count(*) FROM lake.sales.extra AS e JOIN lake.sales.orders USING (id)"
        )
        .await,
        [[2]]
    );
    assert!(!folder.path().join("sales/extra").exists());
    refusal(&ctx, &create("lake.sales.orders")).await;
    assert!(ctx.sql("DROP TABLE lake.sales.orders").await.is_err());
    rows(&ctx, "DROP TABLE lake.sales.extra").await;
    refusal(&ctx, "SELECT * FROM lake.sales.extra").await;
}

#[tokio::test]
async fn views_stand_over_tables() {
    let (_folder, ctx) = warehouse();
    rows(
        &ctx,
        "CREATE VIEW lake.sales.named AS SELECT id, upper(v) AS v FROM lake.sales.orders WHERE id > 1",
    )
    .await;
    rows(
        &ctx,
        "CREATE VIEW both AS SELECT * FROM lake.sales.named UNION ALL SELECT * FROM lake.\"sales.eu\".orders",
    )
    .await;
    assert_eq!(rows(&ctx, "SELECT * FROM lake.sales.named").await, [["2", "B"]]);
    assert_eq!(integers(&ctx, "SELECT count(*) FROM both").await, [[3]]);
    assert_eq!(
        rows(
            &ctx,
            "SELECT o.id, n.v FROM lake.sales.orders o LEFT JOIN lake.sales.named n USING (id) ORDER BY 1"
        )
        .await,
        [["1", "-"], ["2", "B"]]
    );
    rows(&ctx, "DROP VIEW lake.sales.named").await;
    refusal(&ctx, "SELECT * FROM lake.sales.named").await;
}

/// A session that knows nothing of Drumlin, and a table that was registered.
async fn plain(table: &str, number: u32) -> SessionContext {
    let storage: Storage = conformance::storage();
    let ctx = SessionContext::new();
    register(&ctx, &storage, "t", &metadata_location(table, number), false).await;
    ctx
}

async fn plain_integers(ctx: &SessionContext, sql: &str) -> Vec<Vec<String>> {
    let frame = ctx.sql(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    let answer = frame.collect().await;
    crate::session::cells(&answer.unwrap_or_else(|e| panic!("{sql}: {e}")))
}

#[tokio::test]
async fn a_plain_session_reads_a_registered_table() {
    let ctx = plain("v2_basic", 3).await;
    let by_scan = "SELECT count(*) FROM (SELECT id + 0 AS id FROM t) WHERE id IS NOT NULL";
    assert_eq!(plain_integers(&ctx, by_scan).await, [["120"]]);
    assert_eq!(plain_integers(&ctx, "SELECT count(*) FROM t").await, [["120"]]);
    assert_eq!(
        plain_integers(
            &ctx,
            "SELECT count(*) FROM t a JOIN t b ON a.id = b.id WHERE a.quantity IS NOT NULL"
        )
        .await,
        plain_integers(&ctx, "SELECT count(quantity) FROM t").await
    );
    let by_group = "SELECT sum(n) FROM (SELECT customer, count(*) AS n FROM t GROUP BY customer)";
    assert_eq!(plain_integers(&ctx, by_group).await, [["120"]]);
    let window = "SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY customer ORDER BY id) AS r FROM t) WHERE r = 1";
    assert_eq!(
        plain_integers(&ctx, window).await,
        plain_integers(&ctx, "SELECT count(DISTINCT customer) + count(DISTINCT customer IS NULL) FILTER (WHERE customer IS NULL) FROM t").await
    );
    assert_eq!(
        plain_integers(&ctx, "SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 3")
            .await
            .len(),
        2
    );
    // Without the extension, time travel is a syntax error and writes are refused.
    assert!(ctx.sql("SELECT * FROM t VERSION AS OF 1").await.is_err());
    assert!(
        ctx.sql("SELECT * FROM t FOR SYSTEM_TIME AS OF '2100-01-01'")
            .await
            .is_err()
    );
    for write in [
        "INSERT INTO t SELECT * FROM t",
        "DELETE FROM t",
        "DELETE FROM t WHERE id = 1",
        "DELETE FROM t WHERE id IN (SELECT id FROM t)",
        "UPDATE t SET id = 1",
        "TRUNCATE TABLE t",
    ] {
        let outcome = match ctx.sql(write).await {
            Ok(frame) => frame.collect().await.map(drop),
            Err(error) => Err(error),
        };
        assert!(outcome.is_err(), "{write}");
    }
    assert_eq!(plain_integers(&ctx, "SELECT count(*) FROM t").await, [["120"]]);
}

#[tokio::test]
async fn counts_and_extremes_come_from_metadata() {
    for (table, number) in [("v1_basic", 3), ("v2_basic", 3), ("v3_basic", 3)] {
        let ctx = plain(table, number).await;
        for (sql, by_scan) in [
            (
                "SELECT count(*) FROM t",
                "SELECT count(*) FROM (SELECT id + 0 AS x FROM t WHERE random() >= 0)",
            ),
            (
                "SELECT count(1) FROM t",
                "SELECT count(x) FROM (SELECT 1 AS x FROM t WHERE random() >= 0)",
            ),
            (
                "SELECT count(id) FROM t",
                "SELECT count(x) FROM (SELECT id + 0 AS x FROM t)",
            ),
            (
                "SELECT count(quantity) FROM t",
                "SELECT count(x) FROM (SELECT quantity + 0 AS x FROM t)",
            ),
            (
                "SELECT min(id), max(id) FROM t",
                "SELECT min(x), max(x) FROM (SELECT id + 0 AS x FROM t)",
            ),
            (
                "SELECT min(quantity), max(quantity), count(*) FROM t",
                "SELECT min(x), max(x), count(*) FROM (SELECT quantity + 0 AS x FROM t)",
            ),
        ] {
            let answer = plain_integers(&ctx, sql).await;
            assert_eq!(answer, plain_integers(&ctx, by_scan).await, "{table}: {sql}");
            let plan = plan(&ctx, sql).await;
            assert!(
                plan.contains("PlaceholderRowExec") && !plan.contains("DataSourceExec"),
                "{table}: {sql}: {plan}"
            );
        }
    }
}

#[tokio::test]
async fn what_metadata_cannot_prove_is_scanned() {
    let ctx = plain("v2_basic", 3).await;
    for (sql, by_scan) in [
        (
            "SELECT count(*) FROM t WHERE id < 50",
            "SELECT count(*) FROM (SELECT id + 0 AS x FROM t) WHERE x < 50",
        ),
        (
            "SELECT count(*) FROM t WHERE quantity IS NULL",
            "SELECT count(*) FROM (SELECT quantity + 0 AS x FROM t) WHERE x IS NULL",
        ),
        (
            "SELECT max(id) FROM t WHERE quantity IS NULL",
            "SELECT max(id) FROM (SELECT id, quantity + 0 AS x FROM t) WHERE x IS NULL",
        ),
        (
            "SELECT min(customer) FROM t",
            "SELECT min(x) FROM (SELECT concat(customer, '') AS x FROM t WHERE customer IS NOT NULL)",
        ),
        (
            "SELECT count(DISTINCT id) FROM t",
            "SELECT count(DISTINCT x) FROM (SELECT id + 0 AS x FROM t)",
        ),
        ("SELECT count(*) FROM (SELECT id FROM t LIMIT 7)", "SELECT 7"),
        ("SELECT count(*) FROM (SELECT id FROM t LIMIT 100)", "SELECT 100"),
        (
            "SELECT count(*) FROM (SELECT id FROM t WHERE id >= 60 LIMIT 100)",
            "SELECT count(*) FROM (SELECT id + 0 AS x FROM t) WHERE x >= 60",
        ),
        ("SELECT count(*) FROM (SELECT id FROM t OFFSET 100)", "SELECT 20"),
    ] {
        let answer = plain_integers(&ctx, sql).await;
        assert_eq!(answer, plain_integers(&ctx, by_scan).await, "{sql}");
    }
    let plan = plan(&ctx, "SELECT count(*) FROM t WHERE id < 50").await;
    assert!(plan.contains("DataSourceExec"), "{plan}");
    // A table without a snapshot has no rows.
    let empty = plain("refs", 0).await;
    assert_eq!(
        plain_integers(&empty, "SELECT count(*), max(id) FROM t").await,
        [["0", "-"]]
    );
    assert!(plain_integers(&empty, "SELECT * FROM t").await.is_empty());
}

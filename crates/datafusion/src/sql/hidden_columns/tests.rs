//! Planned statements over real tables without snapshots.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider};
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_format::metadata::TableMetadata;
use drumlin_table::Table;
use drumlin_table::storage::Storage;

use crate::IcebergTableProvider;
use crate::sql::sql;
use crate::sql::tests::fake::{FakeSchema, rows};

/// A table of version 3 with the columns `id` and `second`, partitioned by `id`, with an empty snapshot 7.
pub(crate) fn metadata(name: &str, second: &str) -> String {
    format!(
        r#"{{"format-version":3,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"memory://w/{name}",
        "last-sequence-number":1,"last-updated-ms":1700000000000,"last-column-id":2,"current-schema-id":0,"next-row-id":0,
        "schemas":[{{"type":"struct","schema-id":0,"fields":[{{"id":1,"name":"id","required":false,"type":"long"}},
        {{"id":2,"name":"{second}","required":false,"type":"string"}}]}}],
        "default-spec-id":0,"last-partition-id":1000,"default-sort-order-id":0,
        "partition-specs":[{{"spec-id":0,"fields":[{{"source-id":1,"field-id":1000,"name":"part","transform":"identity"}}]}}],
        "sort-orders":[{{"order-id":0,"fields":[]}}],"current-snapshot-id":7,
        "snapshots":[{{"snapshot-id":7,"sequence-number":1,"timestamp-ms":1700000000000,"first-row-id":0,"added-rows":0,
        "manifest-list":"memory://w/{name}/list.avro","summary":{{"operation":"append"}},"schema-id":0}}],
        "snapshot-log":[{{"snapshot-id":7,"timestamp-ms":1700000000000}}],
        "refs":{{"main":{{"snapshot-id":7,"type":"branch"}}}}}}"#
    )
}

fn table(name: &str, second: &str) -> IcebergTableProvider {
    let metadata = metadata(name, second);
    let metadata = TableMetadata::from_json_bytes(metadata.as_bytes()).unwrap();
    let location = format!("memory://w/{name}/v1.metadata.json");
    let table = Table::new(name, Storage::default(), location, Arc::new(metadata));
    IcebergTableProvider::try_new(table).unwrap()
}

/// `t (id, a)`, `u (id, b)`, `own (id, _file)`, and the ordinary `plain`.
fn context() -> SessionContext {
    let ctx = SessionContext::new_with_config(SessionConfig::new().with_information_schema(true));
    for (name, second) in [("t", "a"), ("u", "b"), ("own", "_file")] {
        ctx.register_table(name, Arc::new(table(name, second))).unwrap();
    }
    ctx.register_table("plain", rows("plain")).unwrap();
    ctx
}

/// The names of the columns of a query, after it has gone through the optimizer.
async fn columns(ctx: &SessionContext, query: &str) -> Result<String, String> {
    let frame = sql(ctx, query).await.map_err(|e| e.strip_backtrace())?;
    let names: Vec<String> = frame.schema().fields().iter().map(|f| f.name().clone()).collect();
    frame.into_optimized_plan().map_err(|e| e.strip_backtrace())?;
    Ok(names.join(" "))
}

async fn check(cases: &[(&str, &str)]) {
    let ctx = context();
    for (query, expected) in cases {
        let found = columns(&ctx, query).await;
        assert_eq!(found.as_deref(), Ok(*expected), "{query}");
    }
}

#[tokio::test]
async fn named_in_any_clause_and_never_listed() {
    check(&[
        ("SELECT * FROM t", "id a"),
        ("SELECT _file FROM t", "_file"),
        ("SELECT _FILE, \"_pos\", t._spec_id FROM t", "_file _pos _spec_id"),
        (
            "SELECT _row_id, _last_updated_sequence_number FROM t",
            "_row_id _last_updated_sequence_number",
        ),
        ("SELECT *, _file FROM t", "id a _file"),
        ("SELECT _file, * FROM t", "_file id a"),
        ("SELECT t.*, _file FROM t", "id a _file"),
        ("SELECT x.*, x._file AS f FROM t AS x", "id a f"),
        ("SELECT x.*, x._file FROM t AS x (k, v)", "k v _file"),
        ("SELECT *, _row_id, _file FROM t AS x (k, v)", "k v _row_id _file"),
        ("SELECT public.t._file FROM public.t", "_file"),
        ("SELECT * FROM t WHERE _file LIKE '%x'", "id a"),
        ("SELECT * FROM t ORDER BY _file, _pos DESC", "id a"),
        ("SELECT id FROM t ORDER BY t._pos", "id"),
        ("SELECT count(*) AS n FROM t GROUP BY _file", "n"),
        (
            "SELECT _file, count(*) AS n FROM t GROUP BY 1 HAVING max(_pos) > 3",
            "_file n",
        ),
        (
            "SELECT *, row_number() OVER (PARTITION BY _file ORDER BY _pos) AS n FROM t",
            "id a n",
        ),
        (
            "SELECT *, row_number() OVER w AS n FROM t WINDOW w AS (PARTITION BY _file)",
            "id a n",
        ),
        (
            "SELECT * FROM t QUALIFY row_number() OVER (ORDER BY _pos) = 1",
            "id a",
        ),
        ("SELECT DISTINCT ON (_file) * FROM t", "id a"),
        ("SELECT _partition FROM t", "_partition"),
        (
            "SELECT *, _partition.part AS p, t._partition.part AS q FROM t",
            "id a p q",
        ),
        ("SELECT * EXCLUDE (a), _file FROM t", "id _file"),
        ("SELECT * EXCEPT (a), _file FROM t", "id _file"),
        ("SELECT * REPLACE (_file AS a) FROM t", "id a"),
        ("SELECT t.* REPLACE (_file AS a) FROM t", "id a"),
        ("FROM t SELECT *, _file", "id a _file"),
    ])
    .await;
}

#[tokio::test]
async fn joins() {
    check(&[
        ("SELECT t.*, u._pos FROM t JOIN u ON t.id = u.id", "id a _pos"),
        ("SELECT *, t._file FROM t, u", "id a id b _file"),
        ("SELECT * FROM t JOIN u ON t._file = u._file", "id a id b"),
        (
            "SELECT * FROM t JOIN u ON t._file = u._file AND t._pos = u.id",
            "id a id b",
        ),
        (
            "SELECT *, t._file AS f FROM t JOIN u USING (id) WHERE u._file > ''",
            "id a b f",
        ),
        ("SELECT * FROM t JOIN u USING (_file)", "id a id b"),
        ("SELECT *, _file FROM t JOIN u USING (_file)", "id a id b _file"),
        ("SELECT u.*, t._file FROM t LEFT JOIN u USING (id)", "id b _file"),
        ("SELECT * FROM t LEFT SEMI JOIN u ON t._file = u._file", "id a"),
        (
            "SELECT x.*, y.* FROM t x JOIN t y ON x._file = y._file",
            "id a id a",
        ),
        (
            "SELECT *, _file FROM t JOIN plain p ON p.id = t.id",
            "id a id v version timestamp _file",
        ),
        (
            "SELECT * FROM plain, t, u WHERE t._pos = u._pos",
            "id v version timestamp id a id b",
        ),
        (
            "SELECT * FROM plain p JOIN (t JOIN u ON t._pos = u._pos) ON p.id = t.id",
            "id v version timestamp id a id b",
        ),
    ])
    .await;
}

#[tokio::test]
async fn subqueries() {
    check(&[
        ("SELECT * FROM (SELECT _file, id FROM t)", "_file id"),
        ("SELECT * FROM (SELECT *, _file FROM t) AS d", "id a _file"),
        ("SELECT d._file FROM (SELECT *, _file FROM t) AS d", "_file"),
        ("SELECT _file, u.* FROM (SELECT _file FROM t) AS d, u", "_file id b"),
        ("SELECT *, u._file AS f FROM (SELECT _file FROM t) AS d, u", "_file id b f"),
        ("SELECT d.*, u.* FROM (SELECT _file FROM t) AS d JOIN u ON d._file = u._file", "_file id b"),
        ("SELECT * FROM (SELECT *, _file FROM t) AS d JOIN u USING (_file)", "id a _file id b"),
        ("SELECT * FROM t WHERE EXISTS (SELECT 1 FROM plain WHERE plain.v = t._file)", "id a"),
        ("SELECT * FROM t WHERE EXISTS (SELECT * FROM plain WHERE v = _file)", "id a"),
        ("SELECT * FROM t WHERE id IN (SELECT _pos FROM u WHERE u._file = t._file)", "id a"),
        ("SELECT *, (SELECT max(u._pos) FROM u WHERE u._file = t._file) AS p FROM t", "id a p"),
        ("SELECT * FROM t WHERE EXISTS (SELECT 1 FROM (SELECT * FROM u WHERE u.b = t._file) AS d)", "id a"),
        ("SELECT * FROM t, LATERAL (SELECT * FROM plain WHERE v = t._file) AS l", "id a id v version timestamp"),
        ("WITH c AS (SELECT *, _file FROM t) SELECT * FROM c", "id a _file"),
        ("WITH c AS (SELECT *, _file FROM t), d AS (SELECT *, _pos FROM u) SELECT * FROM c JOIN d USING (id)",
            "id a _file b _pos"),
        ("WITH t AS (SELECT id, _file FROM t) SELECT *, _file AS f FROM t", "id _file f"),
        ("WITH RECURSIVE r AS (SELECT id, _file AS f FROM t UNION ALL SELECT u.id, u._file FROM r JOIN u ON r.id = u.id)
            SELECT *, f AS g FROM r", "id f g"),
        ("WITH RECURSIVE r AS (SELECT * FROM t WHERE _pos = 1 UNION ALL SELECT u.* FROM r JOIN u ON r.id = u._pos)
            SELECT * FROM r", "id a"),
        ("SELECT *, _file FROM t UNION ALL SELECT *, _file FROM u ORDER BY _file", "id a _file"),
        ("(SELECT * FROM t WHERE _pos = 1) UNION SELECT * FROM u WHERE _pos = 2", "id a"),
        ("SELECT (SELECT max(_pos) FROM t) AS x, (SELECT max(_pos) FROM u) AS y", "x y"),
    ])
    .await;
}

#[tokio::test]
async fn odd_places() {
    check(&[
        ("EXPLAIN SELECT *, _file FROM t", "plan_type plan"),
        (
            "SELECT * FROM t x JOIN t y ON x.id = y.id WHERE x._file = 'a'",
            "id a id a",
        ),
        ("SELECT * FROM t WHERE _file = (SELECT max(_file) FROM t)", "id a"),
        (
            "SELECT * FROM t WHERE _pos IN (SELECT _pos FROM t WHERE _file > '')",
            "id a",
        ),
        ("SELECT max(_pos) FILTER (WHERE _file = '') AS m FROM t", "m"),
        (
            "SELECT CASE WHEN _pos > 1 THEN CAST(_pos AS VARCHAR) ELSE a END AS c FROM t",
            "c",
        ),
        ("SELECT t.* EXCLUDE (a), _file FROM t", "id _file"),
        ("SELECT * FROM t ORDER BY (SELECT max(_pos) FROM u)", "id a"),
        ("SELECT _file, count(*) AS n FROM t GROUP BY ALL", "_file n"),
        (
            "SELECT _file, a, count(*) AS n FROM t GROUP BY GROUPING SETS ((_file), (a))",
            "_file a n",
        ),
        (
            "SELECT * FROM t, UNNEST([1, 2]) AS x (n) WHERE _pos = n",
            "id a n",
        ),
        (
            "SELECT * FROM (t JOIN u USING (id)) AS j WHERE j.a = ''",
            "id a id:1 b",
        ),
        ("SELECT *, _file FROM t LIMIT 3", "id a _file"),
        ("SELECT *, _pos FROM t WHERE a = '_file'", "id a _pos"),
        (
            "SELECT DISTINCT t.*, u.* FROM t, u WHERE t._partition.part = u._spec_id",
            "id a id b",
        ),
        (
            "SELECT * FROM t FULL JOIN u USING (id) WHERE t._file IS NULL OR u._file IS NULL",
            "id a b",
        ),
    ])
    .await;
}

#[tokio::test]
async fn identifiers_as_written() {
    let config = SessionConfig::new().set_bool("datafusion.sql_parser.enable_ident_normalization", false);
    let ctx = SessionContext::new_with_config(config);
    ctx.register_table("\"T\"", Arc::new(table("T", "a"))).unwrap();
    for (query, expected) in [
        ("SELECT *, _file FROM T", Ok("id a _file")),
        ("SELECT X.*, X._file FROM T X", Ok("id a _file")),
    ] {
        assert_eq!(
            columns(&ctx, query).await.as_deref(),
            expected.as_deref(),
            "{query}"
        );
    }
    assert!(columns(&ctx, "SELECT _FILE FROM T").await.is_err());
}

#[tokio::test]
async fn tables_are_loaded_once() {
    let schema = Arc::new(FakeSchema::default());
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema("s", Arc::clone(&schema) as _).unwrap();
    let ctx = SessionContext::new();
    ctx.register_catalog("c", Arc::new(catalog));
    let query =
        "SELECT *, (SELECT max(_file) FROM (SELECT v AS _file FROM c.s.t) e JOIN c.s.t y ON true) AS m
        FROM (SELECT v AS _file FROM c.s.t) d JOIN c.s.t x ON _file = x.v";
    let found = columns(&ctx, query).await;
    assert_eq!(found.as_deref(), Ok("_file id v version timestamp m"));
    assert_eq!(schema.loads.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn columns_that_can_be_seen_go_first() {
    check(&[
        ("SELECT *, _file AS f FROM own", "id _file f"),
        ("SELECT * FROM own WHERE _file = '' AND _pos = 1", "id _file"),
        ("SELECT *, _file AS f FROM t, own", "id a id _file f"),
        ("SELECT *, t._file AS f FROM t, own", "id a id _file f"),
        (
            "SELECT own.*, t.* FROM t JOIN own ON t._file = own._file",
            "id _file id a",
        ),
        ("SELECT id AS _pos, count(*) AS n FROM t GROUP BY _pos", "_pos n"),
        ("SELECT *, id AS _pos FROM t ORDER BY _pos", "id a _pos"),
        ("SELECT \"_file\" FROM (VALUES ('x')) AS v (_file)", "_file"),
        ("SELECT * FROM generate_series(1, 3) AS _file", "value"),
    ])
    .await;
}

#[tokio::test]
async fn versions_and_other_statements() {
    check(&[
        ("SELECT *, _file FROM t VERSION AS OF 7", "id a _file"),
        (
            "SELECT * FROM t FOR VERSION AS OF 'main' AS x WHERE x._pos = 1",
            "id a",
        ),
        (
            "SELECT *, x._file AS f FROM t.branch_main x JOIN t AT (VERSION => 7) y ON x._file = y._file",
            "id a id a f",
        ),
    ])
    .await;
    let ctx = context();
    for statement in [
        "CREATE VIEW v AS SELECT *, _file FROM t",
        "CREATE VIEW w AS SELECT * FROM t WHERE _pos = 1",
        "CREATE TABLE kept AS SELECT _partition.part AS p, _file FROM t WHERE false",
        "PREPARE p AS SELECT *, _file FROM t WHERE _pos = $1",
    ] {
        sql(&ctx, statement)
            .await
            .unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
    for (query, expected) in [
        ("SELECT * FROM v", "id a _file"),
        ("SELECT _file FROM v", "_file"),
        ("SELECT * FROM w", "id a"),
        ("SELECT * FROM kept", "p _file"),
    ] {
        assert_eq!(columns(&ctx, query).await.as_deref(), Ok(expected), "{query}");
    }
}

#[tokio::test]
async fn errors() {
    let ctx = context();
    for (query, expected) in [
        ("SELECT _file FROM plain", "No field named _file"),
        ("SELECT u._file FROM t", "u._file"),
        ("SELECT _deleted FROM t", "_deleted"),
        (
            "SELECT _file FROM t, u",
            "Ambiguous reference to unqualified field _file",
        ),
        ("SELECT \"_FILE\" FROM t", "_FILE"),
        ("SELECT t._file FROM t NATURAL JOIN u", "USING"),
        (
            "SELECT * EXCLUDE (a) FROM t JOIN u ON t._file = u._file",
            "several tables show the metadata column _file",
        ),
        ("SELECT *, _file FROM missing", "missing"),
        ("SELECT * FROM v", "'datafusion.public.v' not found"),
    ] {
        let found = columns(&ctx, query).await.unwrap_err();
        assert!(found.contains(expected), "{query}: {found}");
    }
}

/// Nothing of a metadata column is left where it is not needed.
#[tokio::test]
async fn plans_read_only_what_is_named() {
    let ctx = context();
    for (query, scans) in [
        ("SELECT * FROM t", "TableScan: t projection=[id, a]"),
        ("SELECT *, _file FROM t", "TableScan: t projection=[id, a, _file]"),
        (
            "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE _pos = t.id)",
            "TableScan: t projection=[id] | TableScan: u projection=[_pos]",
        ),
        (
            "SELECT id, b FROM t JOIN (SELECT b, _pos FROM u) AS d ON d._pos = t.id",
            "TableScan: t projection=[id] | TableScan: u projection=[b, _pos]",
        ),
    ] {
        let plan = sql(&ctx, query).await.unwrap().into_optimized_plan().unwrap();
        let text = plan.display_indent().to_string();
        let found: Vec<&str> = text
            .lines()
            .map(str::trim_start)
            .filter(|line| line.starts_with("TableScan"))
            .map(|line| line.split(", partial_filters").next().unwrap())
            .collect();
        assert_eq!(found.join(" | "), scans, "{query}\n{text}");
    }
}

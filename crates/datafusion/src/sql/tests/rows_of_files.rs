//! Rows of tables of the conformance suite, through metadata columns and `iceberg_scan`.

use std::path::Path;
use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use drumlin_table::storage::Storage;
use object_store::local::LocalFileSystem;

use super::answer;
use crate::sql::IcebergStateBuilderExt;

fn context() -> SessionContext {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sql-tests/conformance/tables");
    let storage = Storage::default();
    let store = LocalFileSystem::new_with_prefix(tables).unwrap();
    storage.register("s3://conformance", Arc::new(store)).unwrap();
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_iceberg_storage(storage)
        .build();
    SessionContext::new_with_state(state)
}

#[tokio::test]
async fn metadata_columns() {
    let ctx = context();
    let scan = "iceberg_scan('s3://conformance/part_identity_int', guess_newest_metadata => true)";
    for (query, expected) in [
        // Each row has a place of its own.
        (
            "SELECT count(*) - count(DISTINCT concat(_file, '#', CAST(_pos AS VARCHAR))) FROM {}",
            "0",
        ),
        (
            "SELECT count(*) FROM {} WHERE _partition.c IS DISTINCT FROM c",
            "0",
        ),
        (
            "SELECT count(*) FROM {} x JOIN {} y ON x._file = y._file AND x._pos = y._pos WHERE x.c IS DISTINCT FROM y.c",
            "0",
        ),
        ("SELECT DISTINCT _spec_id FROM {}", "0"),
        (
            "SELECT count(*) > 0 AND min(n) >= 1 FROM (SELECT _file, count(*) AS n FROM {} GROUP BY _file)",
            "true",
        ),
        (
            "SELECT count(*) FROM {} x WHERE NOT EXISTS (SELECT 1 FROM {} y WHERE y._file = x._file AND y._pos = 0)",
            "0",
        ),
    ] {
        assert_eq!(
            answer(&ctx, &query.replace("{}", scan)).await,
            expected,
            "{query}"
        );
    }
    let all = answer(&ctx, &format!("SELECT * FROM {scan} ORDER BY _file, _pos")).await;
    let with = answer(
        &ctx,
        &format!("SELECT *, _spec_id FROM {scan} ORDER BY _file, _pos"),
    )
    .await;
    let expected: Vec<String> = all.split(';').map(|row| format!("{row}|0")).collect();
    assert_eq!(with, expected.join(";"));
}

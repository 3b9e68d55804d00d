//! What statements that change rows read: whole files are dropped without being opened, a MERGE opens only files that can hold
//! one of its keys.

use crate::session::rows;
use crate::warehouse::Warehouse;

/// The months of a year, a file each.
async fn months(properties: &str) -> Warehouse {
    let w = Warehouse::new().await;
    let create = format!(
        "CREATE TABLE t (id BIGINT NOT NULL, at DATE, n BIGINT) PARTITIONED BY (month(at)) TBLPROPERTIES ({properties})"
    );
    rows(&w.ctx, &create).await;
    let fill = "INSERT INTO t SELECT v, DATE '2024-01-04' + CAST(v % 12 * 30 AS INT), v AS n FROM generate_series(1, 12000) AS g (v)";
    rows(&w.ctx, fill).await;
    w
}

/// The data files are gone: whatever opens one fails.
fn lose_files(w: &Warehouse, keep: impl Fn(&str) -> bool) {
    for file in w.data_files("t") {
        if !keep(file.to_str().unwrap()) {
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_a_delete_empties_are_not_opened() {
    for mode in ["copy-on-write", "merge-on-read"] {
        let w = months(&format!("'write.delete.mode' = '{mode}'")).await;
        lose_files(&w, |_| false);
        let deleted = rows(
            &w.ctx,
            "DELETE FROM t WHERE at >= '2024-03-01' AND at < '2024-05-01'",
        )
        .await;
        assert_eq!(deleted, [["2000"]]);
        assert_eq!(rows(&w.ctx, "SELECT count(*) FROM t").await, [["10000"]]);
        assert_eq!(rows(&w.ctx, "DELETE FROM t").await, [["10000"]]);
        let table = w.table("t").await;
        let summary = &table.snapshot().unwrap().summary;
        assert_eq!(summary.operation.to_string(), "delete");
        assert_eq!(summary.get("total-data-files"), Some("0"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_opens_only_files_that_can_hold_its_keys() {
    for mode in ["copy-on-write", "merge-on-read"] {
        let w = months(&format!("'format-version' = '3', 'write.merge.mode' = '{mode}'")).await;
        let files = w.data_files("t").len();
        lose_files(&w, |path| path.contains("at_month=2024-03"));
        assert_eq!((files > 10, w.data_files("t").len()), (true, 1));
        // Half of the rows of March, and as many new ones of that month.
        let source = "CREATE TABLE src AS SELECT CASE WHEN v % 24 = 2 THEN v ELSE v + 100000 END AS id, DATE '2024-03-04' AS at \
                      FROM generate_series(1, 12000) AS g (v) WHERE v % 12 = 2";
        rows(&w.ctx, source).await;
        let merge = "MERGE INTO t USING src AS s ON t.at = s.at AND t.id = s.id \
                     WHEN MATCHED THEN UPDATE SET n = 0 WHEN NOT MATCHED THEN INSERT (id, at, n) VALUES (s.id, s.at, 1)";
        assert_eq!(rows(&w.ctx, merge).await, [["1000"]]);
        let march = "SELECT count(*), sum(CASE WHEN n = 0 THEN 1 ELSE 0 END) FROM t WHERE at = '2024-03-04'";
        assert_eq!(rows(&w.ctx, march).await, [["1500", "500"]]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_on_write_rewrites_only_files_with_a_changed_row() {
    let w = months("'format-version' = '3'").await;
    let kept = "SELECT id, _row_id, _last_updated_sequence_number, _file FROM t WHERE id <> 38 ORDER BY id";
    let order = "SELECT id FROM t WHERE month(at) = 3 AND id <> 38 ORDER BY _file, _pos"
        .replace("month(at)", "date_part('month', at)");
    let (before, files) = (rows(&w.ctx, kept).await, w.data_files("t"));
    let order_before = rows(&w.ctx, &order).await;
    rows(&w.ctx, "UPDATE t SET n = -1 WHERE id = 38").await;
    let new: Vec<_> = w
        .data_files("t")
        .into_iter()
        .filter(|file| !files.contains(file))
        .collect();
    assert_eq!(new.len(), 2, "{new:?}");
    let after = rows(&w.ctx, kept).await;
    assert_eq!(before.len(), after.len());
    let mut moved = 0;
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before[..3], after[..3]);
        moved += usize::from(before[3] != after[3]);
    }
    // The other rows of the month.
    assert_eq!(moved, 999);
    // In the order in which they were.
    assert_eq!(rows(&w.ctx, &order).await, order_before);
}

//! Values arrive unchanged, or the statement fails.

use crate::session::{integers, refusal, rows, says};
use crate::warehouse::Warehouse;

#[tokio::test]
async fn values_arrive_unchanged_or_not_at_all() {
    let w = Warehouse::new().await;
    rows(
        &w.ctx,
        "CREATE TABLE t (i int, l bigint, d decimal(20, 2), f float, s string, dt date, ts timestamp, tz timestamptz, u uuid, \
         b binary, x fixed(2), st struct<a: int>, ar array<bigint>)",
    )
    .await;
    for (column, value, seen) in [
        ("i", "1", "1"),
        ("i", "2.0", "2"),
        ("l", "CAST(1.9 AS INT)", "1"),
        ("d", "123456789012345678.25", "123456789012345678.25"),
        ("d", "0.1", "0.10"),
        ("f", "0.1", "0.1"),
        ("s", "12", "12"),
        ("dt", "'2024-02-29'", "2024-02-29"),
        ("ts", "'2024-02-29 01:02:03.000001'", "2024-02-29T01:02:03.000001"),
        ("ts", "DATE '2024-02-29'", "2024-02-29T00:00:00"),
        ("ts", "TIMESTAMP '2024-02-29 00:00:00'", "2024-02-29T00:00:00"),
        ("tz", "TIMESTAMP '2024-02-29 00:00:00'", "2024-02-29T00:00:00Z"),
        (
            "u",
            "'f79c3e09-677c-4bbd-a479-3f349cb785e7'",
            "f79c3e09677c4bbda4793f349cb785e7",
        ),
        ("b", "X'00ff'", "00ff"),
        ("x", "X'00ff'", "00ff"),
        ("st", "named_struct('a', 7)", "{a: 7}"),
        ("ar", "[1, 2]", "[1, 2]"),
        ("ar", "NULL", "-"),
    ] {
        rows(&w.ctx, &format!("INSERT OVERWRITE t ({column}) VALUES ({value})")).await;
        assert_eq!(
            rows(&w.ctx, &format!("SELECT {column} FROM t")).await,
            [[seen]],
            "{column} {value}"
        );
        // A number with a point is a floating-point number in a SELECT, and has lost digits before it gets here.
        if value == "123456789012345678.25" {
            continue;
        }
        rows(&w.ctx, &format!("INSERT OVERWRITE t ({column}) SELECT {value}")).await;
        assert_eq!(integers(&w.ctx, "SELECT count(*) FROM t").await, [[1]]);
    }
    for (column, value, part) in [
        ("i", "3000000000", "3000000000"),
        ("i", "1.5", "1.5"),
        ("i", "'1'", "column `i` is of type int"),
        ("i", "true", "column `i` is of type int"),
        ("l", "18446744073709551615", "column `l`"),
        ("d", "1.005", "column `d`"),
        ("f", "1e300", "column `f`"),
        ("f", "16777217", "column `f`"),
        ("dt", "'2024-02-30'", "column `dt`"),
        ("dt", "TIMESTAMP '2024-02-29 01:00:00'", "column `dt`"),
        ("ts", "'2024-02-29 01:02:03.0000001'", "column `ts`"),
        ("u", "'nope'", "column `u`"),
        ("x", "X'00'", "column `x`"),
        ("st", "named_struct('a', 3000000000)", "column `st`"),
        ("st", "named_struct('a', 1, 'b', 2)", "column `st`"),
        ("ar", "[1.5]", "column `ar`"),
    ] {
        for query in [format!("VALUES ({value})"), format!("SELECT {value}")] {
            says(
                &refusal(&w.ctx, &format!("INSERT INTO t ({column}) {query}")).await,
                &[part],
            );
        }
    }
    assert_eq!(integers(&w.ctx, "SELECT count(*) FROM t").await, [[1]]);
    // The time of the statement is cut, not refused.
    rows(&w.ctx, "INSERT OVERWRITE t (ts, tz) VALUES (now(), now())").await;
    rows(&w.ctx, "INSERT INTO t (ts, tz) SELECT now(), now() AS n").await;
    let plain = w.ctx.sql("INSERT INTO t (ts) VALUES (now())").await.unwrap();
    plain.collect().await.unwrap();
    assert_eq!(integers(&w.ctx, "SELECT count(ts) FROM t").await, [[3]]);
}

#[tokio::test]
async fn parameters_and_prepared_statements() {
    let w = Warehouse::new().await;
    rows(&w.ctx, "CREATE TABLE t (a int, b string)").await;
    rows(&w.ctx, "PREPARE p AS INSERT INTO t VALUES ($1, $2)").await;
    for n in 1..=2 {
        rows(&w.ctx, &format!("EXECUTE p({n}, 'x')")).await;
    }
    assert_eq!(integers(&w.ctx, "SELECT count(*), sum(a) FROM t").await, [[2, 3]]);
}

#[tokio::test]
async fn the_types_of_one_column_may_differ_from_row_to_row() {
    let w = Warehouse::new().await;
    rows(&w.ctx, "CREATE TABLE t (d decimal(38, 2), s string)").await;
    rows(
        &w.ctx,
        "INSERT INTO t VALUES (1, 'a'), (99999999999999999999.25, 2), (1.5e3, NULL), (NULL, 1 + 1)",
    )
    .await;
    assert_eq!(
        rows(&w.ctx, "SELECT * FROM t ORDER BY d NULLS LAST").await,
        [
            ["1.00", "a"],
            ["1500.00", "-"],
            ["99999999999999999999.25", "2"],
            ["-", "2"]
        ]
    );
    says(
        &refusal(&w.ctx, "INSERT INTO t VALUES (1, 'a'), (2)").await,
        &["expected 2"],
    );
}

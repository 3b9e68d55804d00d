//! Statements that read more than they change, or less than it seems.
//!
//! Whether what happened is right is told by the same statements, run one after the other.

use super::lake::{Lake, Planned};
use super::operation::Mode::{self, CopyOnWrite, MergeOnRead};
use crate::session::rows;

/// When the second statement succeeds, and what it comes after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Under snapshot isolation only, without having seen what the first one has written: as if it had come before.
    Snapshot,
    /// Always, as if it had come before the first one.
    Before,
    Never,
}

use Outcome::{Before, Never, Snapshot};

struct Case {
    why: &'static str,
    first: &'static str,
    second: &'static str,
    /// With copy-on-write, with merge-on-read.
    outcomes: [Outcome; 2],
}

const CASES: [Case; 15] = [
    Case {
        why: "a row that comes from another partition is a new one",
        first: "UPDATE {t} SET cat = 'a' WHERE cat = 'b' AND n = 5",
        second: "DELETE FROM {t} WHERE cat = 'a' AND n = 5",
        outcomes: [Snapshot, Snapshot],
    },
    Case {
        why: "what a subquery has read counts: new rows",
        first: "INSERT INTO {t} VALUES (900, 'b', 900, 0)",
        second: "DELETE FROM {t} WHERE cat = 'a' AND n < (SELECT max(n) FROM {t} WHERE cat = 'b')",
        outcomes: [Snapshot, Snapshot],
    },
    Case {
        why: "what a subquery has read counts: deleted rows",
        first: "DELETE FROM {t} WHERE cat = 'b' AND n = 7",
        second: "DELETE FROM {t} WHERE cat = 'a' AND n < (SELECT max(n) FROM {t} WHERE cat = 'b')",
        outcomes: [Snapshot, Snapshot],
    },
    Case {
        why: "what a subquery has read counts: deleted rows, by an update of others",
        first: "DELETE FROM {t} WHERE cat = 'b' AND n = 7",
        second: "UPDATE {t} SET v = (SELECT max(n) FROM {t} WHERE cat = 'b') WHERE cat = 'a' AND n = 5",
        outcomes: [Snapshot, Snapshot],
    },
    Case {
        why: "what a subquery has read counts: files that were removed",
        first: "DELETE FROM {t} WHERE cat = 'a' AND n > 100",
        second: "DELETE FROM {t} WHERE cat = 'b' AND n = 5 AND (SELECT max(n) FROM {t} WHERE cat = 'a') = 104",
        outcomes: [Snapshot, Snapshot],
    },
    Case {
        why: "what a subquery has read counts, where all rows of a file are deleted, too",
        first: "DELETE FROM {t} WHERE cat = 'a' AND n > 100",
        second: "DELETE FROM {t} WHERE cat = 'b' AND (SELECT max(n) FROM {t} WHERE cat = 'a') = 104",
        outcomes: [Snapshot, Snapshot],
    },
    Case {
        why: "a source that is the target is read",
        first: "INSERT INTO {t} VALUES (900, 'b', 13, 0)",
        second: "MERGE INTO {t} AS t USING (SELECT n FROM {t} WHERE cat = 'b') AS s ON t.cat = 'a' AND t.n = s.n \
                 WHEN MATCHED THEN DELETE",
        outcomes: [Snapshot, Snapshot],
    },
    Case {
        why: "for rows without a match the condition of the join says nothing",
        first: "INSERT INTO {t} VALUES (900, 'b', 900, 0)",
        second: "MERGE INTO {t} AS t USING (VALUES (5)) AS s (n) ON t.cat = 'a' AND t.n = s.n \
                 WHEN NOT MATCHED BY SOURCE AND t.cat = 'b' THEN DELETE",
        outcomes: [Snapshot, Snapshot],
    },
    Case {
        why: "a match for which no clause holds keeps a row from being inserted",
        first: "DELETE FROM {t} WHERE cat = 'a' AND n = 6",
        second: "MERGE INTO {t} AS t USING (VALUES (901, 6), (902, 999)) AS s (id, n) ON t.cat = 'a' AND t.n = s.n \
                 WHEN MATCHED AND t.v > 100 THEN UPDATE SET v = 0 \
                 WHEN NOT MATCHED THEN INSERT (id, cat, n, v) VALUES (s.id, 'a', s.n, 1)",
        outcomes: [Snapshot, Never],
    },
    Case {
        why: "what matches nothing, whatever there is, has read nothing",
        first: "INSERT INTO {t} VALUES (900, 'a', 5, 0)",
        second: "MERGE INTO {t} AS t USING (VALUES (901, 5)) AS s (id, n) ON false \
                 WHEN NOT MATCHED THEN INSERT (id, cat, n, v) VALUES (s.id, 'a', s.n, 1)",
        outcomes: [Before, Before],
    },
    Case {
        why: "files that are removed as a whole were read, too",
        first: "INSERT INTO {t} VALUES (900, 'b', 900, 0)",
        second: "DELETE FROM {t} WHERE cat = 'b'",
        outcomes: [Snapshot, Snapshot],
    },
    Case {
        why: "a file that is to be removed as a whole has changed",
        first: "UPDATE {t} SET v = 1 WHERE cat = 'b' AND n = 5",
        second: "DELETE FROM {t} WHERE cat = 'b'",
        outcomes: [Never, Never],
    },
    Case {
        why: "what changes nothing is not in the way of anything",
        first: "INSERT INTO {t} VALUES (900, 'a', 3, 0)",
        second: "DELETE FROM {t} WHERE cat = 'a' AND n = 3",
        outcomes: [Before, Before],
    },
    Case {
        why: "an overwrite of one partition with the rows of another",
        first: "INSERT INTO {t} VALUES (900, 'b', 900, 0)",
        second: "INSERT OVERWRITE {t} PARTITION (cat = 'a') SELECT id + 100, n, v FROM {t} WHERE cat = 'b'",
        outcomes: [Never, Never],
    },
    Case {
        why: "an overwrite of one partition with the rows of another, from which rows were deleted",
        first: "DELETE FROM {t} WHERE cat = 'b' AND n = 7",
        second: "INSERT OVERWRITE {t} PARTITION (cat = 'a') SELECT id + 100, n, v FROM {t} WHERE cat = 'b'",
        outcomes: [Never, Never],
    },
];

fn properties(mode: Mode, level: &str) -> String {
    let mode = match mode {
        CopyOnWrite => "copy-on-write",
        MergeOnRead => "merge-on-read",
    };
    let of = |command| {
        format!(", 'write.{command}.mode' = '{mode}', 'write.{command}.isolation-level' = '{level}'")
    };
    ["delete", "update", "merge"].map(of).concat()
}

#[tokio::test]
async fn rows_that_were_read() {
    for version in [2, 3] {
        let lake = Lake::new(version).await;
        let mut n = 0;
        for case in CASES {
            for (mode, outcome) in [CopyOnWrite, MergeOnRead].into_iter().zip(case.outcomes) {
                for level in ["serializable", "snapshot"] {
                    n += 1;
                    let what = format!("v{version}, {mode:?}, {level}: {}", case.why);
                    let (name, other) = (format!("t{n}"), format!("other{n}"));
                    let on = |sql: &str, table: &str| sql.replace("{t}", table);
                    let properties = properties(mode, level);
                    lake.table_before(&name, &properties).await;
                    let second = Planned::Statement(Box::new(lake.plan(&on(case.second, &name)).await));
                    rows(&lake.ctx, &on(case.first, &name)).await;
                    if outcome == Never || (outcome == Snapshot && level == "serializable") {
                        let now = lake.rows(&name).await;
                        lake.conflicts(&what, &name, second).await;
                        assert_eq!(lake.rows(&name).await, now, "{what}");
                        continue;
                    }
                    let result = lake.run(second).await;
                    result.unwrap_or_else(|error| panic!("{what}: {error}"));
                    lake.table_before(&other, &properties).await;
                    rows(&lake.ctx, &on(case.second, &other)).await;
                    rows(&lake.ctx, &on(case.first, &other)).await;
                    assert_eq!(lake.rows(&name).await, lake.rows(&other).await, "{what}");
                }
            }
        }
    }
}

/// Position deletes of several statements can be for one file, however they are put together in files of their own.
#[tokio::test]
async fn deletes_of_rows_of_one_file_in_files_of_a_partition() {
    let lake = Lake::new(2).await;
    for (n, level) in ["serializable", "snapshot"].into_iter().enumerate() {
        let name = format!("t{n}");
        let properties = properties(MergeOnRead, level) + ", 'write.delete.granularity' = 'partition'";
        lake.table_before(&name, &properties).await;
        let frames = [
            lake.plan(&format!(
                "DELETE FROM {name} WHERE cat = 'a' AND n IN (1, 2, 101)"
            ))
            .await,
            lake.plan(&format!("DELETE FROM {name} WHERE cat = 'a' AND n IN (2, 5, 6)"))
                .await,
        ];
        for frame in frames {
            frame.collect().await.unwrap();
        }
        let left = rows(
            &lake.ctx,
            &format!("SELECT n FROM {name} WHERE cat = 'a' ORDER BY n"),
        )
        .await;
        let expected = ["0", "9", "10", "13", "102", "103", "104"].map(|n| vec![n.to_string()]);
        assert_eq!(left, expected, "{level}");
    }
}

#[tokio::test]
async fn branches_are_apart() {
    for (version, mode) in [(2, CopyOnWrite), (2, MergeOnRead), (3, MergeOnRead)] {
        let lake = Lake::new(version).await;
        lake.table_before("t", &properties(mode, "serializable")).await;
        rows(&lake.ctx, "ALTER TABLE t CREATE BRANCH x").await;
        let update = |on: &str| format!("UPDATE {on} SET v = v + 1 WHERE cat = 'a' AND n = 5");
        let on_branch = lake.plan(&update("t.branch_x")).await;
        let second = Planned::Statement(Box::new(lake.plan(&update("t.branch_x")).await));
        rows(&lake.ctx, &update("t")).await;
        on_branch.collect().await.unwrap();
        let what = format!("v{version}, {mode:?}");
        lake.conflicts(&what, "t", second).await;
        for of in ["t", "t.branch_x"] {
            let sum = rows(&lake.ctx, &format!("SELECT sum(v), count(*) FROM {of}")).await;
            assert_eq!(sum, [["1", "15"]], "{what}, {of}");
        }
    }
}

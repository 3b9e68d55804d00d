//! Which tokens are cut out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{TokenWithSpan, Tokenizer};
use proptest::prelude::*;

use super::{selector, take_clauses};
use crate::sql::version::TableVersion;

fn tokens(text: &str) -> Option<Vec<TokenWithSpan>> {
    Tokenizer::new(&GenericDialect {}, text)
        .tokenize_with_location()
        .ok()
}

/// The text without its clauses, and the clauses with the column of their table.
fn cut(text: &str) -> (String, Vec<(u64, String)>) {
    let (rest, clauses) = take_clauses(tokens(text).unwrap(), &GenericDialect {}, 50).unwrap();
    (
        rest.iter().map(|token| token.token.to_string()).collect(),
        clauses
            .iter()
            .map(|clause| (clause.table.column, clause.version.to_string()))
            .collect(),
    )
}

#[test]
fn clauses_leave_and_their_tables_are_known() {
    for (text, rest, clauses) in [
        ("FROM t VERSION AS OF 1", "FROM t ", vec![(6, "AT(VERSION => 1)")]),
        (
            "FROM a.b.t VERSION AS OF 'x' AS y",
            "FROM a.b.t  AS y",
            vec![(6, "AT(VERSION => 'x')")],
        ),
        (
            "FROM a.t AS y FOR SYSTEM_TIME AS OF now() JOIN u",
            "FROM a.t AS y  JOIN u",
            vec![(6, "AT(TIMESTAMP => now())")],
        ),
        (
            "FROM t y (a, b) VERSION AS OF 1 , u",
            "FROM t y (a, b)  , u",
            vec![(6, "AT(VERSION => 1)")],
        ),
        (
            "JOIN t VERSION AS OF 1 x ON (1) JOIN u AS y AT (TAG => 'a') USING (b)",
            "JOIN t  x ON (1) JOIN u AS y  USING (b)",
            vec![(6, "AT(VERSION => 1)"), (38, "AT(TAG => 'a')")],
        ),
        (
            "FROM t TIMESTAMP AS OF TIMESTAMP '2024-01-01' + INTERVAL '1' DAY x",
            "FROM t  x",
            vec![(6, "AT(TIMESTAMP => TIMESTAMP '2024-01-01' + INTERVAL '1' DAY)")],
        ),
        (
            "FROM t TIMESTAMP AS OF left('2024-01-01', 10)",
            "FROM t ",
            vec![(6, "AT(TIMESTAMP => left('2024-01-01', 10))")],
        ),
        (
            "FROM t version VERSION AS OF 1",
            "FROM t version ",
            vec![(6, "AT(VERSION => 1)")],
        ),
        (
            "FROM version VERSION AS OF 1",
            "FROM version ",
            vec![(6, "AT(VERSION => 1)")],
        ),
        ("(t VERSION AS OF 1)", "(t )", vec![(2, "AT(VERSION => 1)")]),
    ] {
        let (found, at) = cut(text);
        let at: Vec<_> = at
            .iter()
            .map(|(column, version)| (*column, version.as_str()))
            .collect();
        assert_eq!((found.as_str(), at), (rest, clauses), "{text}");
    }
}

#[test]
fn plain_sql_stays() {
    for text in [
        "SELECT version AS of FROM t",
        "SELECT NOT version AS of FROM t",
        "SELECT a, NOT timestamp AS of FROM t",
        "SELECT a AND version AS of, b OR timestamp AS of FROM t",
        "SELECT a version FROM t",
        "SELECT 'VERSION AS OF 1', \"VERSION\" AS of FROM t",
        "SELECT * FROM timestamp AS of (a, b)",
        "SELECT * FROM a, timestamp AS of (a, b)",
        "SELECT * FROM a JOIN version AS of USING (b)",
        "SELECT * FROM version AS of JOIN t ON 1 = 1",
        "SELECT at(version => 1), b, at(timestamp => 2) FROM t",
        "SELECT * FROM t at (a, b)",
        "SELECT a AT TIME ZONE 'UTC' FROM t",
        "SELECT * FROM t FOR UPDATE",
        "SELECT * FROM t \"VERSION\" -- VERSION AS OF 1",
        "CREATE TABLE version (timestamp timestamp)",
        "CREATE VIEW version AS SELECT 1",
    ] {
        let (rest, clauses) = cut(text);
        assert!(clauses.is_empty(), "{text}: {clauses:?}");
        assert_eq!(rest, text);
    }
}

#[test]
fn selectors_are_read() {
    for (part, expected) in [
        ("branch_x", Some(TableVersion::Branch("x".into()))),
        ("Tag_X_1", Some(TableVersion::Tag("X_1".into()))),
        ("snapshot_id_12", Some(TableVersion::Snapshot(12))),
        ("at_timestamp_12", Some(TableVersion::TimestampMs(12))),
        ("snapshot_id_-1", None),
        ("snapshot_id_99999999999999999999", None),
        ("branch_", None),
        ("branch", None),
        ("größe", None),
    ] {
        assert_eq!(selector(part), expected, "{part}");
    }
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "SELECT",
        "FROM",
        "t",
        "x",
        ".",
        ",",
        "(",
        ")",
        "AS",
        "OF",
        "VERSION",
        "TIMESTAMP",
        "SYSTEM_TIME",
        "FOR",
        "AT",
        "=>",
        "1",
        "-",
        "'a'",
        "\"q\"",
        "JOIN",
        "ON",
        "now()",
        "INTERVAL '1 hour'",
        "WHERE",
        ";",
        "/* c */",
        "BEFORE",
    ]);
    prop::collection::vec(word, 0..24).prop_map(|words| words.join(" "))
}

proptest! {
    /// Without `AS OF` and `=>` there is no clause, whatever the rest.
    #[test]
    fn text_without_clauses_is_unchanged(text in "[ a-zA-Z0-9_.,;()'\"=<>*+\n-]{0,200}") {
        if let Some(all) = tokens(&text)
            && !text.contains("=>")
            && !text.to_ascii_lowercase().contains("of")
        {
            let (rest, clauses) = take_clauses(all.clone(), &GenericDialect {}, 50).unwrap();
            prop_assert!(clauses.is_empty());
            prop_assert_eq!(rest, all);
        }
    }

    /// Any order of words: no panic; what remains are the same tokens in the same order, less what the clauses took.
    #[test]
    fn words_in_any_order(text in words()) {
        if let Some(all) = tokens(&text)
            && let Ok((rest, clauses)) = take_clauses(all.clone(), &GenericDialect {}, 50)
        {
            if clauses.is_empty() {
                prop_assert_eq!(rest, all);
            } else {
                let mut left = all.iter();
                prop_assert!(rest.iter().all(|token| left.any(|one| one == token)));
                prop_assert!(rest.len() < all.len());
            }
        }
    }
}

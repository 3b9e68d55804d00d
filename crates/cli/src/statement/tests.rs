#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn parts(text: &str) -> Vec<(String, u64, u64)> {
    split(text)
        .into_iter()
        .map(|s| (s.text, s.line, s.column))
        .collect()
}

fn part(text: &str, line: u64, column: u64) -> (String, u64, u64) {
    (text.to_owned(), line, column)
}

#[test]
fn statements_know_where_they_begin() {
    assert_eq!(
        parts("SELECT 1;  SELECT 2;\n\n  SELECT\n  3"),
        [
            part("SELECT 1", 1, 1),
            part("SELECT 2", 1, 12),
            part("SELECT\n  3", 3, 3),
        ]
    );
}

#[test]
fn semicolons_inside_literals_names_and_comments_do_not_split() {
    let text = "SELECT ';' AS \"a;b\" -- no; not here\n /* nor; here */ FROM t;";
    assert_eq!(parts(text), [part(text.trim_end_matches(';'), 1, 1)]);
    assert_eq!(parts("SELECT $$a;b$$; SELECT 'it''s;'").len(), 2);
}

#[test]
fn blank_statements_vanish() {
    assert_eq!(parts(""), []);
    assert_eq!(parts(" ;;\n; -- only a comment\n"), []);
}

#[test]
fn columns_count_characters_not_bytes() {
    assert_eq!(parts("SELECT 'äöü€';SELECT 2")[1], part("SELECT 2", 1, 15));
    assert_eq!(parts("SELECT 1;\r\nSELECT 2")[1], part("SELECT 2", 2, 1));
}

#[test]
fn an_unterminated_string_stays_in_the_last_statement() {
    assert_eq!(
        parts("SELECT 1;\nSELECT 'a; SELECT 2;"),
        [part("SELECT 1", 1, 1), part("SELECT 'a; SELECT 2;", 2, 1)]
    );
    assert_eq!(parts("/* open"), [part("/* open", 1, 1)]);
}

#[test]
fn completeness() {
    for complete in [
        "",
        "  \n",
        "SELECT 1;",
        "SELECT 1; \n",
        "SELECT 1; -- done",
        "SELECT ';';",
        "-- note",
    ] {
        assert!(is_complete(complete), "{complete:?}");
    }
    for open in [
        "SELECT 1",
        "SELECT 1; SELECT",
        "SELECT ';",
        "SELECT \"a;",
        "SELECT 1 -- ;",
        "SELECT 1 /* ;",
        "SELECT $$ ;",
    ] {
        assert!(!is_complete(open), "{open:?}");
    }
}

#[test]
fn literals_and_comments_are_recognised_at_the_end() {
    for inside in ["SELECT 'fr", "SELECT 1 -- fr", "SELECT /* fr"] {
        assert!(ends_in_literal(inside), "{inside:?}");
    }
    for outside in [
        "SELECT 'a' fr",
        "SELECT 1 -- a\n",
        "SELECT \"fr",
        "SELECT a fr",
        "",
    ] {
        assert!(!ends_in_literal(outside), "{outside:?}");
    }
}

#[test]
fn explain_is_recognised_after_comments() {
    let explain = |text: &str| split(text)[0].is_explain();
    assert!(explain("-- why\nexplain SELECT 1"));
    assert!(!explain("SELECT explain"));
}

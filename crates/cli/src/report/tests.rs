#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use datafusion::sql::sqlparser::parser::ParserError;

use super::*;

fn statement(text: &str, line: u64, column: u64) -> Statement {
    Statement {
        text: text.to_owned(),
        line,
        column,
    }
}

fn parse_error(text: &str) -> DataFusionError {
    DataFusionError::SQL(Box::new(ParserError::ParserError(text.to_owned())), None)
}

#[test]
fn the_place_counts_from_the_beginning_of_the_script() {
    let error = parse_error("Expected: an expression, found: FROM at Line: 1, Column: 8");
    let origin = Origin::File("a.sql".into());
    assert_eq!(
        report(&error, &statement("SELECT FROM t", 9, 12), 2, &origin),
        "error: Expected: an expression, found: FROM\n \
          --> a.sql:9:19 (statement 2)\n  |\n9 | SELECT FROM t\n  |        ^^^^"
    );
    // The second line of a statement begins at the margin.
    let error = parse_error("no at Line: 2, Column: 3");
    assert_eq!(
        report(&error, &statement("SELECT\n  ) t", 9, 12), 1, &Origin::Shell),
        "error: no\n  --> line 10, column 3\n   |\n10 |   ) t\n   |   ^"
    );
}

#[test]
fn without_a_place_the_statement_is_named() {
    let error = DataFusionError::Execution("it broke".to_owned());
    assert_eq!(
        report(&error, &statement("SELECT 1", 4, 2), 3, &Origin::Command),
        "error: it broke\n --> -c:4:2 (statement 3)"
    );
    assert_eq!(
        report(&error, &statement("SELECT 1", 4, 2), 3, &Origin::Shell),
        "error: it broke"
    );
}

#[test]
fn the_end_of_the_text_is_a_place() {
    let error = parse_error("Expected: an expression, found: EOF");
    assert_eq!(
        report(&error, &statement("SELECT\n1 +", 2, 5), 1, &Origin::Command),
        "error: Expected: an expression, found: EOF\n \
          --> -c:3:4 (statement 1)\n  |\n3 | 1 +\n  |    ^"
    );
}

#[test]
fn a_place_outside_the_text_is_not_shown() {
    let error = parse_error("no at Line: 7, Column: 3");
    let text = report(&error, &statement("SELECT 1", 1, 1), 1, &Origin::Command);
    assert!(!text.contains('^'), "{text}");
    let error = parse_error("no at Line: 99999999999999999999, Column: 3");
    assert!(report(&error, &statement("SELECT 1", 1, 1), 1, &Origin::Command).contains("99999"));
}

#[test]
fn marks_line_up_under_tabs_and_wide_characters() {
    let place = |column, end| Place {
        line: 1,
        column,
        end: Some((1, end)),
    };
    assert_eq!(mark("\tab cd", place(5, 7)), "\t   ^^");
    assert_eq!(mark("'日本' x", place(6, 7)), "       ^");
    assert_eq!(mark("ab", place(900, 901)), "  ^");
}

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn table(catalog: &str, schema: &str, table: &str) -> TableName {
    TableName {
        catalog: catalog.to_owned(),
        schema: schema.to_owned(),
        table: table.to_owned(),
    }
}

fn offered(text: &str) -> (usize, Vec<String>) {
    let tables = [
        table("drumlin", "default", "orders"),
        table("drumlin", "default", "Odd Name"),
        table("drumlin", "default", "order"),
        table("drumlin", "sales", "orders"),
        table("other", "default", "things"),
    ];
    let (start, pairs) = complete(text, || &tables);
    (start, pairs.into_iter().map(|p| p.replacement).collect())
}

fn words(text: &str) -> Vec<String> {
    offered(text).1
}

#[test]
fn keywords_follow_the_case_that_is_typed() {
    assert_eq!(words("sel"), ["select"]);
    assert_eq!(words("SEL"), ["SELECT"]);
    assert_eq!(offered("SELECT a FR"), (9, vec!["FROM".to_owned()]));
    assert_eq!(words("SELECT"), ["SELECT"]);
}

#[test]
fn after_from_only_tables_are_offered() {
    assert_eq!(words("SELECT * FROM o").len(), 4);
    assert_eq!(words("SELECT * FROM orders"), ["orders"]);
    assert_eq!(words("select *\nfrom sa"), ["sales.orders"]);
    assert_eq!(words("select * from sales.o"), ["sales.orders"]);
    assert_eq!(words("SELECT * FROM other.d"), ["other.default.things"]);
    assert_eq!(words("SELECT * FROM a JOIN sal"), ["sales.orders"]);
    assert_eq!(words("SELECT * FROM ").len(), 5);
}

#[test]
fn names_that_need_quotes_get_them() {
    assert_eq!(words("SELECT * FROM odd"), ["\"Odd Name\""]);
    assert_eq!(words("SELECT * FROM \"Odd"), ["\"Odd Name\""]);
    // A keyword as a name.
    assert!(words("SELECT * FROM order").contains(&"\"order\"".to_owned()));
}

#[test]
fn elsewhere_tables_follow_keywords() {
    assert_eq!(words("SELECT sal"), ["sales.orders"]);
    let or = words("SELECT or");
    assert_eq!(or[..2], ["or", "order"]);
    assert!(or.contains(&"orders".to_owned()));
    assert!(words("SELECT ").is_empty());
}

#[test]
fn nothing_in_strings_and_comments() {
    assert!(words("SELECT 'sel").is_empty());
    assert!(words("SELECT 1 -- sel").is_empty());
    assert!(words("/* sel").is_empty());
}

#[test]
fn commands_and_their_arguments() {
    assert_eq!(words("\\f"), ["\\format"]);
    assert_eq!(offered("\\format nd"), (8, vec!["ndjson".to_owned()]));
    assert_eq!(words("\\d sal"), ["sales.orders"]);
    assert_eq!(words("\\timing o"), ["on", "off"]);
    assert!(words("SELECT \\d").is_empty());
}

#[test]
fn tables_are_asked_for_only_when_needed() {
    let (_, pairs) = complete("\\for", || panic!("asked"));
    assert_eq!(pairs.len(), 1);
}

#[test]
fn keywords_are_sorted() {
    assert!(KEYWORDS.is_sorted());
}

//! What Tab offers: keywords, table names, and the shell's commands with their arguments.

use rustyline::completion::Pair;

use super::command;
use super::keywords::KEYWORDS;
use crate::output::Format;
use crate::session::{DEFAULT_CATALOG, DEFAULT_SCHEMA, TableName};
use crate::statement;

#[cfg(test)]
mod tests;

/// Words after which only a table makes sense.
const BEFORE_TABLE: [&str; 8] = [
    "FROM",
    "JOIN",
    "INTO",
    "UPDATE",
    "TABLE",
    "DESCRIBE",
    "OVERWRITE",
    "TRUNCATE",
];

/// The candidates for the word that ends at the end of `text`, and the byte offset where it begins. `tables` is asked
/// only if tables are wanted.
pub fn complete<'a>(text: &str, tables: impl FnOnce() -> &'a [TableName]) -> (usize, Vec<Pair>) {
    let start = text
        .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '\\' | '$' | '?')))
        .map_or(0, |at| {
            at + text
                .get(at..)
                .and_then(|t| t.chars().next())
                .map_or(1, char::len_utf8)
        });
    let (before, word) = text.split_at(start);
    if let Some(name) = before.trim_start().strip_prefix('\\') {
        let argument = match name.trim_end() {
            "d" => table_pairs(word, tables()),
            "format" => matching(word, Format::ALL.map(Format::name)),
            "timing" => matching(word, ["on", "off"]),
            _ => Vec::new(),
        };
        return (start, argument);
    }
    if word.starts_with('\\') {
        let first = before.trim().is_empty();
        return (
            start,
            if first {
                matching(word, command::NAMES)
            } else {
                Vec::new()
            },
        );
    }
    if statement::ends_in_literal(text) {
        return (start, Vec::new());
    }
    let mut pairs = Vec::new();
    if !wants_table(before) {
        // Nothing typed: every keyword is no help.
        if word.is_empty() {
            return (start, pairs);
        }
        pairs.extend(keyword_pairs(word));
    }
    pairs.extend(table_pairs(word, tables()));
    (start, pairs)
}

/// How a table is named from the defaults, in quotes where SQL needs them.
pub fn spelling(name: &TableName) -> String {
    let parts: &[&String] = if name.catalog != DEFAULT_CATALOG {
        &[&name.catalog, &name.schema, &name.table]
    } else if name.schema != DEFAULT_SCHEMA {
        &[&name.schema, &name.table]
    } else {
        &[&name.table]
    };
    let quoted: Vec<_> = parts.iter().map(|part| quoted(part)).collect();
    quoted.join(".")
}

fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let keyword = KEYWORDS.iter().any(|k| k.eq_ignore_ascii_case(name));
    if plain && !keyword {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

fn wants_table(before: &str) -> bool {
    before
        .split_whitespace()
        .next_back()
        .is_some_and(|last| BEFORE_TABLE.iter().any(|w| w.eq_ignore_ascii_case(last)))
}

/// Keywords that begin with `word`, in the case it is typed in.
fn keyword_pairs(word: &str) -> impl Iterator<Item = Pair> {
    let lower = word.chars().any(char::is_lowercase);
    let upper = word.to_uppercase();
    KEYWORDS
        .iter()
        .filter(move |keyword| keyword.starts_with(&upper))
        .map(move |keyword| {
            pair(if lower {
                keyword.to_lowercase()
            } else {
                (*keyword).to_owned()
            })
        })
}

fn table_pairs(word: &str, tables: &[TableName]) -> Vec<Pair> {
    let word = word.to_lowercase();
    tables
        .iter()
        .filter_map(|table| {
            let short = spelling(table);
            // The defaults may be spelled out.
            let full = format!("{}.{}", quoted(&table.schema), quoted(&table.table));
            [short, full].into_iter().find(|name| begins(name, &word))
        })
        .map(pair)
        .collect()
}

/// Whether `name` begins with `word`, typed with its quotes or without.
fn begins(name: &str, word: &str) -> bool {
    let name = name.to_lowercase();
    name.starts_with(word) || name.replace('"', "").starts_with(word)
}

fn matching<const N: usize>(word: &str, names: [&str; N]) -> Vec<Pair> {
    names
        .into_iter()
        .filter(|name| name.starts_with(word))
        .map(|name| pair(name.to_owned()))
        .collect()
}

fn pair(text: String) -> Pair {
    Pair {
        display: text.clone(),
        replacement: text,
    }
}

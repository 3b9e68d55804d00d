//! Telling the user what went wrong and where.

use std::fmt::{self, Write};
use std::path::PathBuf;

use datafusion::common::{Diagnostic, Span};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use unicode_width::UnicodeWidthStr;

use crate::statement::Statement;

#[cfg(test)]
mod tests;

/// Where statements come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// `-c`.
    Command,
    /// `-f FILE`.
    File(PathBuf),
    /// `-f -`, or standard input that is not a terminal.
    Stdin,
    /// Typed into the shell.
    Shell,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command => f.write_str("-c"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Stdin => f.write_str("stdin"),
            Self::Shell => f.write_str("input"),
        }
    }
}

/// A range in a statement's text: line and column in characters, from 1; the end is past the last character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    line: u64,
    column: u64,
    end: Option<(u64, u64)>,
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Self {
            line: span.start.line,
            column: span.start.column,
            end: Some((span.end.line, span.end.column)),
        }
    }
}

/// The report of `error`, which happened in `statement`, the `number`th (from 1) of `origin`. It names the place and
/// underlines it where the error tells:
///
/// ```text
/// error: column 'nme' not found
///  --> tour.sql:3:8 (statement 2)
///   |
/// 3 | SELECT nme FROM t
///   |        ^^^
///   = note: possible column t.name
/// ```
pub fn report(error: &DataFusionError, statement: &Statement, number: usize, origin: &Origin) -> String {
    // One statement may have several errors; each is told.
    let mut out = String::new();
    for error in error.iter() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&one(error, statement, number, origin));
    }
    out
}

fn one(error: &DataFusionError, statement: &Statement, number: usize, origin: &Origin) -> String {
    let (message, parsed) = headline(error);
    let diagnostic = error.diagnostic();
    let end = || message.ends_with("found: EOF").then(|| end(&statement.text));
    let place = parsed
        .or_else(|| diagnostic.and_then(|d| d.span).map(Place::from))
        .or_else(end);
    let mut out = format!("error: {message}");
    if place.is_some() || *origin != Origin::Shell {
        out.push_str(&pointer(statement, place, number, origin));
    }
    for line in diagnostic.into_iter().flat_map(|d| remarks(d, &message)) {
        let _ = write!(out, "\n  = {line}");
    }
    out
}

/// What the error says, without where, and the place if the text of the error told it.
fn headline(error: &DataFusionError) -> (String, Option<Place>) {
    match error {
        DataFusionError::Diagnostic(_, inner) => headline(inner),
        DataFusionError::Shared(inner) => headline(inner),
        DataFusionError::SQL(parser, _) => match parser.as_ref() {
            ParserError::ParserError(text) | ParserError::TokenizerError(text) => without_place(text),
            ParserError::RecursionLimitExceeded => ("the statement is nested too deeply".into(), None),
        },
        DataFusionError::External(inner) => (chain(inner.as_ref()), None),
        // Their prefix says more than the message alone.
        DataFusionError::Internal(_)
        | DataFusionError::NotImplemented(_)
        | DataFusionError::ResourcesExhausted(_)
        | DataFusionError::Context(..) => (error.strip_backtrace(), None),
        other => (other.message().into_owned(), None),
    }
}

/// The place after the last character of `text`.
fn end(text: &str) -> Place {
    let line = text.lines().count().max(1) as u64;
    let column = text.lines().last().map_or(0, |l| l.chars().count()) as u64 + 1;
    Place {
        line,
        column,
        end: None,
    }
}

/// `error` and its causes, each told once.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            let _ = write!(text, ": {said}");
        }
        next = cause.source();
    }
    text
}

/// Takes ` at Line: 1, Column: 8` off the end of a parser's message.
fn without_place(text: &str) -> (String, Option<Place>) {
    let place = || {
        let (message, place) = text.rsplit_once(" at Line: ")?;
        let (line, column) = place.split_once(", Column: ")?;
        let place = Place {
            line: line.parse().ok()?,
            column: column.parse().ok()?,
            end: None,
        };
        // The end of the text has no place; the parser says 0.
        Some((message.to_owned(), (place.line > 0).then_some(place)))
    };
    place().unwrap_or_else(|| (text.to_owned(), None))
}

/// The notes and helps of a diagnostic that the message does not say already.
fn remarks(diagnostic: &Diagnostic, message: &str) -> Vec<String> {
    let notes = diagnostic.notes.iter().map(|n| ("note", &n.message));
    let helps = diagnostic.helps.iter().map(|h| ("help", &h.message));
    notes
        .chain(helps)
        .filter(|(_, text)| {
            // "possible column t.name", say, if the message proposes it already.
            let subject = text.split_whitespace().next_back().unwrap_or(text);
            !message.contains(subject.trim_matches('\''))
        })
        .map(|(kind, text)| format!("{kind}: {text}"))
        .collect()
}

/// The lines that say where: the place in the script and, if it is known more closely than the statement, the text with
/// a mark below.
fn pointer(statement: &Statement, place: Option<Place>, number: usize, origin: &Origin) -> String {
    let source = place.and_then(|p| {
        let index = usize::try_from(p.line.checked_sub(1)?).ok()?;
        Some((p, statement.text.lines().nth(index)?))
    });
    let Some((place, text)) = source else {
        let Statement { line, column, .. } = statement;
        return format!("\n --> {origin}:{line}:{column} (statement {number})");
    };
    let before_first_line = if place.line == 1 { statement.column - 1 } else { 0 };
    let line = statement.line + place.line - 1;
    let column = place.column + before_first_line;
    let margin = " ".repeat(line.to_string().len());
    let location = match origin {
        Origin::Shell => format!("line {line}, column {column}"),
        _ => format!("{origin}:{line}:{column} (statement {number})"),
    };
    format!(
        "\n{margin}--> {location}\n{margin} |\n{line} | {text}\n{margin} | {}",
        mark(text, place)
    )
}

/// Carets below `place` in the line `text`.
fn mark(text: &str, place: Place) -> String {
    let start = usize::try_from(place.column.saturating_sub(1)).unwrap_or(usize::MAX);
    // Tabs stay, so that the mark lines up however wide the terminal shows them.
    let mut mark: String = text
        .chars()
        .take(start)
        .map(|c| match c {
            '\t' => "\t".to_owned(),
            c => " ".repeat(c.to_string().width()),
        })
        .collect();
    let rest: String = text.chars().skip(start).collect();
    let length = match place.end {
        Some((line, _)) if line > place.line => rest.chars().count(),
        Some((_, column)) => usize::try_from(column.saturating_sub(place.column)).unwrap_or(1),
        None => word_length(&rest),
    };
    let marked: String = rest.chars().take(length).collect();
    mark.push_str(&"^".repeat(marked.width().max(1)));
    mark
}

/// The length in characters of the word `text` begins with; 1 if it begins with a symbol.
fn word_length(text: &str) -> usize {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .count()
        .max(1)
}

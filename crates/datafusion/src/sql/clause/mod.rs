//! Time-travel clauses, taken out of the token stream before the SQL parser sees it.
//!
//! The parser knows few of the forms, and only in some dialects. Instead of teaching it, the clauses are cut out of
//! the tokens here and put back into the syntax tree by [`super::references`], which finds the table by the place of
//! its name in the text. What the parser reads is plain SQL in the dialect of the session, every remaining token still
//! knows its place in the user's text, and a clause may stand before or after the alias:
//!
//! ```text
//! FROM sales.orders AS o VERSION AS OF 'audit' JOIN …
//!      └────┬─────┘      └────────┬──────────┘
//!        belongs to           cut out
//! ```
//!
//! A clause that ends up at no table is an error, so cutting too much can never change what a statement means.
//! Cutting happens only where the same words could not be plain SQL: strings, comments and quoted identifiers are
//! single tokens and never looked into, and columns or aliases called `version`, `timestamp`, `of` or `at` stay.

mod forms;
mod scan;

#[cfg(test)]
mod tests;

use datafusion::error::Result;
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::tokenizer::{Location, TokenWithSpan};

pub(crate) use forms::{Requested, instant, integer, quoted, requested, selector, selector_clause};

/// A time-travel clause as written.
#[derive(Debug)]
pub(crate) struct Clause {
    /// Where the name of the table starts that the clause follows.
    pub(crate) table: Location,
    /// Where the clause itself starts.
    pub(crate) location: Location,
    /// Its leading words, for messages: `VERSION AS OF`, `AT`, …
    pub(crate) form: String,
    /// What it asks for, as `AT (…)`.
    pub(crate) version: ast::TableVersion,
}

/// Takes the time-travel clauses out of `tokens`: the rest of the tokens, untouched and in order, and the clauses.
///
/// # Errors
/// A clause whose operand is missing, of the wrong kind or not an expression, two clauses at one table, and
/// `BEFORE (…)` or an `AT (…)` with an unknown key.
pub(crate) fn take_clauses(
    tokens: Vec<TokenWithSpan>,
    dialect: &dyn Dialect,
    recursion_limit: usize,
) -> Result<(Vec<TokenWithSpan>, Vec<Clause>)> {
    scan::Scanner::new(tokens, dialect, recursion_limit).run()
}

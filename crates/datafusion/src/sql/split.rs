//! Cutting a text into statements.

use std::ops::Range;

use datafusion::common::plan_datafusion_err;
use datafusion::config::Dialect as DialectName;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::dialect::{Dialect, dialect_from_str};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

/// One statement of a text, with its place in it. Errors about it give lines and columns of the whole text.
#[derive(Debug, Clone)]
pub struct SqlStatement<'a> {
    /// The statement, without the semicolon, and without comments and white space around it.
    pub text: &'a str,
    /// Where it is in the whole text, in bytes.
    pub span: Range<usize>,
    /// The line of the whole text where it starts, from 1.
    pub line: u64,
    /// The column of that line where it starts, in characters, from 1.
    pub column: u64,
    /// Whether a semicolon ends it; only the last statement may lack one.
    pub terminated: bool,
    pub(crate) tokens: Vec<TokenWithSpan>,
}

/// Cuts `sql` at its semicolons; those in strings, quoted identifiers and comments do not count. Statements that are
/// empty or only comments are left out.
///
/// # Errors
/// Text that is no sequence of SQL tokens in the dialect of the session, such as a string without end.
pub fn split_statements<'a>(ctx: &SessionContext, sql: &'a str) -> Result<Vec<SqlStatement<'a>>> {
    split(&ctx.state(), sql)
}

pub(super) fn split<'a>(state: &SessionState, sql: &'a str) -> Result<Vec<SqlStatement<'a>>> {
    let dialect = dialect(state)?;
    let tokens = Tokenizer::new(dialect.as_ref(), sql)
        .tokenize_with_location()
        .map_err(ParserError::from)?;
    let lines = Lines::new(sql);
    let mut statements = vec![];
    let mut current: Vec<TokenWithSpan> = vec![];
    for token in tokens {
        if token.token == Token::SemiColon {
            let end = lines.offset(token.span.start);
            statements.extend(statement(sql, &lines, std::mem::take(&mut current), end, true));
        } else {
            current.push(token);
        }
    }
    statements.extend(statement(sql, &lines, current, sql.len(), false));
    Ok(statements)
}

fn statement<'a>(
    sql: &'a str,
    lines: &Lines<'_>,
    tokens: Vec<TokenWithSpan>,
    limit: usize,
    terminated: bool,
) -> Option<SqlStatement<'a>> {
    let significant = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_) | Token::EOF);
    let first = tokens.iter().find(significant)?.span.start;
    let last = tokens.iter().rposition(|token| significant(&token))?;
    // The end of a token is where the next one starts: spans say so for all but the last.
    let end = tokens
        .get(last + 1)
        .map_or(limit, |next| lines.offset(next.span.start))
        .min(limit);
    let start = lines.offset(first);
    let text = sql.get(start..end)?.trim_end();
    Some(SqlStatement {
        text,
        span: start..start + text.len(),
        line: first.line,
        column: first.column,
        terminated,
        tokens,
    })
}

/// The dialect that the session is configured with.
pub(super) fn dialect(state: &SessionState) -> Result<Box<dyn Dialect>> {
    let name = state.config().options().sql_parser.dialect;
    dialect_from_str(name).ok_or_else(|| {
        plan_datafusion_err!(
            "unsupported SQL dialect {name}; available are {}",
            DialectName::available()
        )
    })
}

/// Byte offsets of the lines of a text.
struct Lines<'a> {
    sql: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(sql: &'a str) -> Self {
        let starts = std::iter::once(0)
            .chain(sql.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self { sql, starts }
    }

    /// The byte offset of a place given by line and column (in characters), the end of the text if it is beyond.
    fn offset(&self, location: Location) -> usize {
        let line = usize::try_from(location.line)
            .ok()
            .and_then(|line| line.checked_sub(1));
        let column = usize::try_from(location.column)
            .ok()
            .and_then(|column| column.checked_sub(1));
        let (Some(start), Some(column)) = (line.and_then(|line| self.starts.get(line)), column) else {
            return self.sql.len();
        };
        let rest = self.sql.get(*start..).unwrap_or_default();
        start + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at)
    }
}

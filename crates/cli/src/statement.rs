//! Finding statements in text: where each begins and whether the last one has ended.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{
    Location, Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace,
};

#[cfg(test)]
mod tests;

/// One statement of a script, without its `;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The statement, from its first token or comment on.
    pub text: String,
    /// The line of the script it begins at, from 1.
    pub line: u64,
    /// The column, in characters, it begins at, from 1.
    pub column: u64,
}

impl Statement {
    /// Whether this is an `EXPLAIN`, whose result is a plan rather than rows.
    pub fn is_explain(&self) -> bool {
        let (tokens, _) = tokenize(&self.text);
        let first = tokens.iter().find(|t| !matches!(t.token, Token::Whitespace(_)));
        matches!(first.map(|t| &t.token), Some(Token::Word(w)) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case("explain"))
    }
}

/// The statements of `text`, split at `;` outside strings, quoted names and comments. What cannot be tokenized (an
/// unterminated string, say) is left in the last statement: running it reports the place.
pub fn split(text: &str) -> Vec<Statement> {
    let (tokens, _) = tokenize(text);
    let mut statements = Vec::new();
    let mut rest = Cursor::new(text);
    for token in tokens.iter().filter(|t| t.token == Token::SemiColon) {
        let mut begin = rest;
        rest.advance_to(token.span.start);
        let end = rest;
        rest.advance_to(token.span.end);
        statements.extend(statement(&mut begin, end.offset));
    }
    statements.extend(statement(&mut rest, text.len()));
    statements
}

/// Whether `text` can run as it is: it is blank, or its last statement is ended by `;`.
pub fn is_complete(text: &str) -> bool {
    let (tokens, error) = tokenize(text);
    if let Some(error) = error {
        // More text can close a string or a comment, but not mend an odd character.
        return !is_unterminated(&error) && text.trim_end().ends_with(';');
    }
    let last = tokens
        .iter()
        .rev()
        .find(|t| !matches!(t.token, Token::Whitespace(_)));
    last.is_none_or(|t| t.token == Token::SemiColon)
}

/// Whether the end of `text` is inside a string or a comment, where names and keywords mean nothing.
pub fn ends_in_literal(text: &str) -> bool {
    let (tokens, error) = tokenize(text);
    match (error, tokens.last().map(|t| &t.token)) {
        (Some(error), _) => is_unterminated(&error) && !error.message.starts_with("Expected close delimiter"),
        (None, Some(Token::Whitespace(Whitespace::SingleLineComment { .. }))) => !text.ends_with('\n'),
        (None, _) => false,
    }
}

fn tokenize(text: &str) -> (Vec<TokenWithSpan>, Option<TokenizerError>) {
    let mut tokens = Vec::new();
    let result = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location_into_buf(&mut tokens);
    (tokens, result.err())
}

fn is_unterminated(error: &TokenizerError) -> bool {
    ["Unterminated", "Unexpected EOF", "Expected close delimiter"]
        .iter()
        .any(|begin| error.message.starts_with(begin))
}

/// The statement between `begin` and the byte offset `end`, if it holds more than blanks and comments.
fn statement(begin: &mut Cursor<'_>, end: usize) -> Option<Statement> {
    begin.skip_blanks();
    let text = begin.text.get(begin.offset..end)?.trim_end();
    let (tokens, error) = tokenize(text);
    let blank = tokens.iter().all(|t| matches!(t.token, Token::Whitespace(_)));
    (!blank || error.is_some()).then(|| Statement {
        text: text.to_owned(),
        line: begin.line,
        column: begin.column,
    })
}

/// A place in a text that moves forward only, so that a whole script is walked once.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    text: &'a str,
    offset: usize,
    line: u64,
    column: u64,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            offset: 0,
            line: 1,
            column: 1,
        }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.offset..)?.chars().next()
    }

    fn step(&mut self, c: char) {
        self.offset += c.len_utf8();
        if c == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
    }

    fn advance_to(&mut self, place: Location) {
        while (self.line, self.column) < (place.line, place.column) {
            let Some(c) = self.peek() else { return };
            self.step(c);
        }
    }

    fn skip_blanks(&mut self) {
        while let Some(c) = self.peek().filter(|c| c.is_whitespace()) {
            self.step(c);
        }
    }
}

//! Walking over tokens.

use datafusion::common::DataFusionError;
use datafusion::error::Result;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Word};

/// A place in the tokens of a statement, without white space and comments.
#[derive(Debug, Clone)]
pub(super) struct Tokens {
    tokens: Vec<TokenWithSpan>,
    next: usize,
    /// The second `>` of a `>>` is still to come.
    half: bool,
    normalize: bool,
}

impl Tokens {
    /// `normalize`: identifiers without quotes are in lower case.
    pub(super) fn new(tokens: &[TokenWithSpan], normalize: bool) -> Self {
        let significant = |t: &&TokenWithSpan| !matches!(t.token, Token::Whitespace(_) | Token::EOF);
        Self {
            tokens: tokens.iter().filter(significant).cloned().collect(),
            next: 0,
            half: false,
            normalize,
        }
    }

    /// The token `ahead` places behind the next one.
    pub(super) fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens
            .get(self.next + ahead)
            .map_or(&Token::EOF, |t| &t.token)
    }

    pub(super) fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    /// Where the next token stands; behind the last one, where that does.
    pub(super) fn at(&self) -> Location {
        match self.tokens.get(self.next) {
            Some(token) => token.span.start,
            None => self.tokens.last().map_or(Location::empty(), |t| t.span.end),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.next >= self.tokens.len()
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    /// The tokens that are left.
    pub(super) fn rest(&mut self) -> Vec<TokenWithSpan> {
        let rest = self.tokens.split_off(self.next.min(self.tokens.len()));
        self.next = self.tokens.len();
        rest
    }

    /// Takes the token if it is the next.
    pub(super) fn take(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        if found {
            self.next += 1;
        }
        found
    }

    pub(super) fn expect(&mut self, token: &Token, of: &str) -> Result<()> {
        match self.take(token) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{token}` {of}"))),
        }
    }

    /// Takes a `>`, also the first half of a `>>`.
    pub(super) fn close_angle(&mut self, of: &str) -> Result<()> {
        if self.half {
            self.half = false;
            self.next += 1;
            return Ok(());
        }
        if *self.peek() == Token::ShiftRight {
            self.half = true;
            return Ok(());
        }
        self.expect(&Token::Gt, of)
    }

    /// Whether a word that is no quoted identifier stands `ahead` places behind the next token.
    pub(super) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        matches!(self.peek_at(ahead), Token::Word(Word { value, quote_style: None, .. }) if value.eq_ignore_ascii_case(word))
    }

    /// Takes these words if they are next.
    pub(super) fn words(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(i, w)| self.is_word_at(i, w));
        if found {
            self.next += words.len();
        }
        found
    }

    pub(super) fn word(&mut self, word: &str) -> bool {
        self.words(&[word])
    }

    pub(super) fn expect_words(&mut self, words: &[&str]) -> Result<()> {
        match self.words(words) {
            true => Ok(()),
            false => Err(self.expected(&words.join(" "))),
        }
    }

    /// An identifier in the case that the session gives it.
    pub(super) fn identifier(&mut self, what: &str) -> Result<Ident> {
        let at = self.at();
        match self.peek() {
            Token::Word(word) => {
                let value = match word.quote_style {
                    None if self.normalize => word.value.to_lowercase(),
                    _ => word.value.clone(),
                };
                let mut ident = Ident::new(value);
                ident.quote_style = word.quote_style;
                ident.span.start = at;
                ident.span.end = at;
                self.next += 1;
                Ok(ident)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Identifiers joined by dots.
    pub(super) fn name(&mut self, what: &str) -> Result<Vec<Ident>> {
        let mut parts = vec![self.identifier(what)?];
        while self.take(&Token::Period) {
            parts.push(self.identifier(what)?);
        }
        Ok(parts)
    }

    pub(super) fn string(&mut self, what: &str) -> Result<String> {
        match self.peek() {
            Token::SingleQuotedString(text) => {
                let text = text.clone();
                self.next += 1;
                Ok(text)
            }
            _ => Err(self.expected(&format!("a string in single quotes, {what}"))),
        }
    }

    /// A whole number without sign.
    pub(super) fn integer<N: std::str::FromStr>(&mut self, what: &str) -> Result<N> {
        let number = match self.peek() {
            Token::Number(text, _) => text.parse().ok(),
            _ => None,
        };
        match number {
            Some(number) => {
                self.next += 1;
                Ok(number)
            }
            None => Err(self.expected(what)),
        }
    }

    /// The tokens up to a `,` or `)` that belongs to none of the parentheses opened in them, or one of the words; the first
    /// is taken whatever it is.
    pub(super) fn expression(&mut self, ends: &[&str]) -> Vec<TokenWithSpan> {
        let (start, mut depth) = (self.next, 0usize);
        while !self.is_done() {
            let first = self.next == start;
            match self.peek() {
                Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
                Token::RParen | Token::RBracket | Token::RBrace => match depth.checked_sub(1) {
                    Some(less) => depth = less,
                    None => break,
                },
                Token::Comma if depth == 0 => break,
                _ if !first && depth == 0 && ends.iter().any(|end| self.is_word_at(0, end)) => break,
                _ => {}
            }
            self.next += 1;
        }
        self.tokens.get(start..self.next).unwrap_or_default().to_vec()
    }

    pub(super) fn expected(&self, what: &str) -> DataFusionError {
        let found = match self.peek() {
            Token::EOF => "the end of the statement".to_string(),
            token => format!("`{token}`"),
        };
        syntax(format!("expected {what}, found {found}"), self.at())
    }
}

/// An error about a place in the text.
pub(in crate::sql) fn syntax(message: String, at: Location) -> DataFusionError {
    ParserError::ParserError(format!("{message}{at}")).into()
}

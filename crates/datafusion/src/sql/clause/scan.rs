//! Finding the clauses in the tokens.

use std::collections::HashSet;

use datafusion::error::Result;
use datafusion::sql::sqlparser::ast::{Expr, TableVersion};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::keywords::{Keyword, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::{Clause, forms};

/// Words that can stand before a column, an alias or a table name without being a name themselves, besides those that
/// the parser reserves.
const NOT_A_NAME: &[Keyword] = &[
    Keyword::ALL,
    Keyword::AND,
    Keyword::APPLY,
    Keyword::AS,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::CASE,
    Keyword::COLLATE,
    Keyword::COPY,
    Keyword::DELETE,
    Keyword::DESC,
    Keyword::DESCRIBE,
    Keyword::DISTINCT,
    Keyword::DIV,
    Keyword::ELSE,
    Keyword::ESCAPE,
    Keyword::EXISTS,
    Keyword::ILIKE,
    Keyword::IN,
    Keyword::INTERVAL,
    Keyword::INTO,
    Keyword::IS,
    Keyword::LIKE,
    Keyword::MERGE,
    Keyword::NOT,
    Keyword::OR,
    Keyword::OVERWRITE,
    Keyword::PRIOR,
    Keyword::REGEXP,
    Keyword::RLIKE,
    Keyword::STRAIGHT_JOIN,
    Keyword::TABLE,
    Keyword::THEN,
    Keyword::TO,
    Keyword::TRUNCATE,
    Keyword::UPDATE,
    Keyword::VALUES,
    Keyword::WHEN,
    Keyword::XOR,
];

/// Words that follow a table reference and are in no expression outside of parentheses.
const AFTER_TABLE: &[Keyword] = &[
    Keyword::AS,
    Keyword::FROM,
    Keyword::GROUP,
    Keyword::JOIN,
    Keyword::LIMIT,
    Keyword::ON,
    Keyword::ORDER,
    Keyword::SELECT,
    Keyword::UNION,
    Keyword::USING,
    Keyword::WHERE,
];

enum Operand {
    Version,
    Timestamp,
    /// `( KEY => expr )`; the form is `AT` or `BEFORE`.
    Keyed,
}

struct Match {
    form: String,
    operand: Operand,
    /// Number of significant tokens of the leading words.
    words: usize,
    /// The words alone prove that a clause is meant, so a bad operand is an error and not plain SQL.
    certain: bool,
}

pub(super) struct Scanner<'d> {
    tokens: Vec<TokenWithSpan>,
    /// Places in `tokens` of everything that is not white space or a comment. "Position" below is a place in this list.
    significant: Vec<usize>,
    dialect: &'d dyn Dialect,
    recursion_limit: usize,
}

impl<'d> Scanner<'d> {
    pub(super) fn new(tokens: Vec<TokenWithSpan>, dialect: &'d dyn Dialect, recursion_limit: usize) -> Self {
        let significant = tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| !matches!(token.token, Token::Whitespace(_) | Token::EOF))
            .map(|(place, _)| place)
            .collect();
        Self {
            tokens,
            significant,
            dialect,
            recursion_limit,
        }
    }

    pub(super) fn run(self) -> Result<(Vec<TokenWithSpan>, Vec<Clause>)> {
        let mut clauses: Vec<Clause> = vec![];
        let mut tables = HashSet::new();
        // Ranges of `tokens`, in order, that belong to clauses.
        let mut cut: Vec<(usize, usize)> = vec![];
        let mut last_end = None;
        let mut at = 0;
        while at < self.significant.len() {
            let Some(found) = self.leading_words(at) else {
                at += 1;
                continue;
            };
            if last_end == Some(at) {
                return self.fail(
                    at,
                    format!(
                        "{} follows another time-travel clause of the same table",
                        found.form
                    ),
                );
            }
            let Some(table) = self.table_before(at).and_then(|position| self.location(position)) else {
                at += 1;
                continue;
            };
            let Some((version, end)) = self.operand(at, &found)? else {
                at += 1;
                continue;
            };
            if !tables.insert(table) {
                return self.fail(
                    at,
                    format!("{} is a second time-travel clause of the same table", found.form),
                );
            }
            let first = self.significant.get(at).copied().unwrap_or(self.tokens.len());
            let last = self.significant.get(end).copied().unwrap_or(self.tokens.len());
            clauses.push(Clause {
                table,
                location: self.location(at).unwrap_or(table),
                form: found.form,
                version,
            });
            // The white space that followed the clause stays, so that its neighbours stay apart.
            let last = self
                .significant
                .get(end.saturating_sub(1))
                .map_or(last, |place| place + 1);
            cut.push((first, last));
            last_end = Some(end);
            at = end;
        }
        if cut.is_empty() {
            return Ok((self.tokens, clauses));
        }
        let mut cut = cut.into_iter().peekable();
        let rest = self
            .tokens
            .into_iter()
            .enumerate()
            .filter(|(place, _)| {
                while cut.peek().is_some_and(|(_, end)| place >= end) {
                    cut.next();
                }
                cut.peek().is_none_or(|(start, _)| place < start)
            })
            .map(|(_, token)| token)
            .collect();
        Ok((rest, clauses))
    }

    /// The words that start a clause at `at`, if they do.
    fn leading_words(&self, at: usize) -> Option<Match> {
        let explicit = self.is_word(at, "FOR");
        let start = if explicit { at + 1 } else { at };
        let word = self.word(start)?;
        let as_of = || self.is_word(start + 1, "AS") && self.is_word(start + 2, "OF");
        let operand = match word.to_ascii_uppercase().as_str() {
            "VERSION" | "SYSTEM_VERSION" if as_of() => Operand::Version,
            "TIMESTAMP" | "SYSTEM_TIME" if as_of() => Operand::Timestamp,
            "AT" | "BEFORE"
                if !explicit
                    && self.is(start + 1, &Token::LParen)
                    && self.word(start + 2).is_some()
                    && self.is(start + 3, &Token::RArrow) =>
            {
                return Some(Match {
                    form: word.to_ascii_uppercase(),
                    operand: Operand::Keyed,
                    words: 1,
                    certain: true,
                });
            }
            _ => return None,
        };
        let prefix = if explicit { "FOR " } else { "" };
        Some(Match {
            form: format!("{prefix}{} AS OF", word.to_ascii_uppercase()),
            operand,
            words: start + 3 - at,
            certain: explicit,
        })
    }

    /// The operand of the clause at `at` and the position after it; none if this is plain SQL after all.
    fn operand(&self, at: usize, found: &Match) -> Result<Option<(TableVersion, usize)>> {
        let start = at + found.words;
        match found.operand {
            Operand::Keyed => self.keyed(start, &found.form).map(Some),
            // `SELECT a, version AS of FROM t`: `of` is an alias.
            _ if !self.starts_expression(start) && !found.certain => Ok(None),
            Operand::Version => {
                let sign = self.is(start, &Token::Minus) || self.is(start, &Token::Plus);
                let value = if sign { start + 1 } else { start };
                let literal = match self.token(value) {
                    Some(Token::Number(..)) => true,
                    Some(Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)) => !sign,
                    _ => false,
                };
                if !literal {
                    return self.fail(
                        start,
                        format!(
                            "{} takes a snapshot id or the name of a branch or tag in quotes, found {}",
                            found.form,
                            self.token(start).map_or("the end".to_string(), Token::to_string)
                        ),
                    );
                }
                let (expr, end) = self.expression(start, value + 1)?;
                Ok(Some((forms::at("VERSION", expr), end)))
            }
            Operand::Timestamp => {
                if !self.starts_expression(start) {
                    return self.fail(start, format!("{} takes a timestamp", found.form));
                }
                let (expr, end) = self.expression(start, self.end_of_group(start))?;
                Ok(Some((forms::at("TIMESTAMP", expr), end)))
            }
        }
    }

    /// `( KEY => expr )` from the opening parenthesis on.
    fn keyed(&self, open: usize, form: &str) -> Result<(TableVersion, usize)> {
        let key = self.word(open + 1).unwrap_or_default();
        if !forms::is_key(key) || !form.eq_ignore_ascii_case("AT") {
            return self.fail(open, forms::unknown_key(form, key));
        }
        let limit = self.end_of_group(open + 3);
        let (expr, end) = self.expression(open + 3, limit)?;
        if !self.is(end, &Token::RParen) {
            return self.fail(
                end,
                format!("expected ) after the one argument of AT ({key} => …)"),
            );
        }
        Ok((forms::at(&key.to_ascii_uppercase(), expr), end + 1))
    }

    /// Parses one expression from `start`, reading no further than `limit`; also the position after it.
    fn expression(&self, start: usize, limit: usize) -> Result<(Expr, usize)> {
        let Some(first) = self.significant.get(start).copied() else {
            return self.fail(start, "expected an expression, found the end".to_string());
        };
        let last = self.significant.get(limit).copied().unwrap_or(self.tokens.len());
        let tokens = self.tokens.get(first..last).unwrap_or_default().to_vec();
        let mut parser = Parser::new(self.dialect)
            .with_recursion_limit(self.recursion_limit)
            .with_tokens_with_locations(tokens);
        let expr = parser.parse_expr()?;
        let end = first + parser.index();
        Ok((expr, self.significant.partition_point(|place| *place < end)))
    }

    /// The position of the first token that an expression starting at `start` cannot include: the comma, semicolon or
    /// closing parenthesis that ends its group, a word that starts the next part of the query, or the end.
    fn end_of_group(&self, start: usize) -> usize {
        let mut depth = 0_usize;
        let mut at = start;
        while let Some(token) = self.token(at) {
            match token {
                Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
                Token::RParen | Token::RBracket | Token::RBrace if depth == 0 => return at,
                Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
                Token::Comma if depth == 0 => return at,
                Token::SemiColon => return at,
                Token::Word(word)
                    if depth == 0 && word.quote_style.is_none() && AFTER_TABLE.contains(&word.keyword) =>
                {
                    return at;
                }
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// The position where the name of the table starts whose reference ends before `at`:
    /// `t`, `c.s.t`, `t x`, `t AS x` or `t AS x (a, b)`. Words that cannot be a name end the search.
    fn table_before(&self, at: usize) -> Option<usize> {
        let mut end = at.checked_sub(1)?;
        if self.is(end, &Token::RParen) {
            end = self.opening(end)?.checked_sub(1)?;
        }
        let name = self.name_ending(end)?;
        if name != end {
            // A compound name is no alias.
            return Some(name);
        }
        let before = name.checked_sub(1)?;
        let before = if self.is_word(before, "AS") {
            before.checked_sub(1)?
        } else {
            before
        };
        Some(self.name_ending(before).unwrap_or(name))
    }

    /// The start of the possibly compound name whose last part is at `end`.
    fn name_ending(&self, end: usize) -> Option<usize> {
        let mut start = end;
        self.token(start)
            .filter(|token| matches!(token, Token::Word(_)))?;
        while let Some(part) = start.checked_sub(2)
            && self.is(part + 1, &Token::Period)
            && matches!(self.token(part), Some(Token::Word(_)))
        {
            start = part;
        }
        let simple = start == end;
        match self.token(start) {
            Some(Token::Word(word)) if simple && word.quote_style.is_none() => {
                let reserved = RESERVED_FOR_TABLE_ALIAS.contains(&word.keyword)
                    || RESERVED_FOR_COLUMN_ALIAS.contains(&word.keyword)
                    || NOT_A_NAME.contains(&word.keyword);
                (!reserved).then_some(start)
            }
            _ => Some(start),
        }
    }

    /// The position of the parenthesis that the one at `close` closes.
    fn opening(&self, close: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in (0..=close).rev() {
            match self.token(at)? {
                Token::RParen => depth += 1,
                Token::LParen => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                Token::SemiColon => return None,
                _ => {}
            }
        }
        None
    }

    /// Whether an expression can start at `at`: what follows an alias cannot.
    fn starts_expression(&self, at: usize) -> bool {
        match self.token(at) {
            Some(Token::Word(word)) if word.quote_style.is_none() => {
                word.keyword == Keyword::LEFT
                    || word.keyword == Keyword::RIGHT
                    || word.keyword == Keyword::ARRAY
                    || !(RESERVED_FOR_COLUMN_ALIAS.contains(&word.keyword)
                        || RESERVED_FOR_TABLE_ALIAS.contains(&word.keyword)
                        || word.keyword == Keyword::AS)
            }
            Some(
                Token::Comma
                | Token::RParen
                | Token::RBracket
                | Token::RBrace
                | Token::SemiColon
                | Token::Period
                | Token::VerticalBarRightAngleBracket
                | Token::EOF,
            )
            | None => false,
            Some(_) => true,
        }
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.significant
            .get(at)
            .and_then(|place| self.tokens.get(*place))
            .map(|token| &token.token)
    }

    fn location(&self, at: usize) -> Option<Location> {
        self.significant
            .get(at)
            .and_then(|place| self.tokens.get(*place))
            .map(|token| token.span.start)
    }

    fn is(&self, at: usize, token: &Token) -> bool {
        self.token(at) == Some(token)
    }

    /// The unquoted word at `at`.
    fn word(&self, at: usize) -> Option<&str> {
        match self.token(at) {
            Some(Token::Word(word)) if word.quote_style.is_none() => Some(&word.value),
            _ => None,
        }
    }

    fn is_word(&self, at: usize, expected: &str) -> bool {
        self.word(at)
            .is_some_and(|word| word.eq_ignore_ascii_case(expected))
    }

    /// A syntax error at the token at `at`, or at the last one if the text ends before.
    fn fail<T>(&self, at: usize, message: String) -> Result<T> {
        let location = self
            .location(at)
            .or_else(|| self.location(self.significant.len().checked_sub(1)?))
            .map_or(String::new(), |location| location.to_string());
        Err(ParserError::ParserError(format!("{message}{location}")).into())
    }
}

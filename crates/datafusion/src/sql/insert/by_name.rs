//! `INSERT INTO t BY NAME …`, which the parser does not know.

use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// The tokens without `BY NAME` behind the target of an INSERT, and where it stood.
pub(crate) fn take_by_name(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Option<Location>) {
    match position(&tokens) {
        Some((by, name)) => {
            let at = tokens.get(by).map(|token| token.span.start);
            tokens.remove(name);
            tokens.remove(by);
            (tokens, at)
        }
        None => (tokens, None),
    }
}

/// The places of both words.
fn position(tokens: &[TokenWithSpan]) -> Option<(usize, usize)> {
    let significant: Vec<(usize, &Token)> = tokens
        .iter()
        .enumerate()
        .filter(|(_, t)| !matches!(t.token, Token::Whitespace(_)))
        .map(|(i, t)| (i, &t.token))
        .collect();
    let token = |at: usize| significant.get(at).map(|(_, token)| *token);
    let is = |at: usize, word: &str| matches!(token(at), Some(Token::Word(w)) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word));
    let mut at = 0;
    if is(0, "EXPLAIN") {
        at = (0..significant.len()).find(|at| is(*at, "INSERT"))?;
    }
    if !is(at, "INSERT") {
        return None;
    }
    at += 1;
    while ["INTO", "OVERWRITE", "TABLE"].iter().any(|word| is(at, word)) {
        at += 1;
    }
    while matches!(token(at), Some(Token::Word(_))) {
        at += 1;
        if token(at) != Some(&Token::Period) {
            break;
        }
        at += 1;
    }
    if is(at, "PARTITION") && token(at + 1) == Some(&Token::LParen) {
        at = closed(&significant, at + 1)?;
    } else if token(at) == Some(&Token::LParen) {
        at = closed(&significant, at)?;
    }
    match is(at, "BY") && is(at + 1, "NAME") {
        true => Some((significant.get(at)?.0, significant.get(at + 1)?.0)),
        false => None,
    }
}

/// Behind the parenthesis that ends the one at this place.
fn closed(tokens: &[(usize, &Token)], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, (_, token)) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => return Some(i + 1),
            Token::RParen => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn taken(text: &str) -> Option<u64> {
        let tokens = Tokenizer::new(&GenericDialect {}, text)
            .tokenize_with_location()
            .unwrap();
        let before = tokens.len();
        let (after, at) = take_by_name(tokens);
        assert_eq!(after.len() + if at.is_some() { 2 } else { 0 }, before);
        at.map(|at| at.column)
    }

    #[test]
    fn the_words_are_found_behind_the_target_only() {
        assert_eq!(taken("INSERT INTO t BY NAME SELECT 1 AS a"), Some(15));
        assert_eq!(
            taken("insert overwrite table a.b.\"by\" by name select 1"),
            Some(33)
        );
        assert_eq!(taken("EXPLAIN ANALYZE INSERT INTO t BY NAME SELECT 1"), Some(31));
        assert_eq!(
            taken("INSERT OVERWRITE t PARTITION (a = (1)) BY NAME SELECT 1"),
            Some(40)
        );
        assert_eq!(taken("INSERT INTO t SELECT a FROM x ORDER BY name"), None);
        assert_eq!(taken("INSERT INTO by (name) SELECT 1"), None);
        assert_eq!(taken("SELECT a FROM t BY NAME"), None);
        assert_eq!(taken("INSERT INTO t (a) VALUES (1)"), None);
        assert_eq!(taken("INSERT"), None);
    }
}

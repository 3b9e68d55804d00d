//! `UPDATE SET *`, `INSERT *` and `WITH SCHEMA EVOLUTION` of MERGE, which the parser does not know.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of what stands for all columns. No identifier of a statement can be this one.
const ALL: &str = "\0all columns";

/// Whether a name is that of all columns.
pub(super) fn is_all(name: &ObjectName) -> bool {
    let is_all = |ident: &Ident| ident.value == ALL;
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(is_all))
}

/// The tokens with `UPDATE SET *` as an assignment of 0 to all columns, and `INSERT *` as an insert of 0 into
/// them. Nothing but a MERGE has such words.
pub(in crate::sql) fn take_stars(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let word = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_uppercase()),
        _ => None,
    };
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let significant = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
        let before: Vec<Option<String>> = match token.token {
            Token::Mul => written
                .iter()
                .rev()
                .filter(significant)
                .take(3)
                .map(word)
                .collect(),
            _ => vec![],
        };
        let before: Vec<&str> = before.iter().map(|word| word.as_deref().unwrap_or("")).collect();
        let all = Token::Word(Word {
            value: ALL.to_string(),
            quote_style: Some('"'),
            keyword: datafusion::sql::sqlparser::keywords::Keyword::NoKeyword,
        });
        let zero = Token::Number("0".to_string(), false);
        let instead = match before.as_slice() {
            ["SET", "UPDATE", "THEN"] => vec![all, Token::Eq, zero],
            ["INSERT", "THEN", ..] => vec![
                Token::LParen,
                all,
                Token::RParen,
                Token::make_keyword("VALUES"),
                Token::LParen,
                zero,
                Token::RParen,
            ],
            _ => vec![token.token.clone()],
        };
        written.extend(instead.into_iter().map(|instead| TokenWithSpan {
            token: instead,
            span: token.span,
        }));
    }
    written
}

/// The tokens without `WITH SCHEMA EVOLUTION` behind `MERGE`, and whether it stood there.
pub(in crate::sql) fn take_evolution(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, bool) {
    let words: Vec<(usize, String)> = tokens
        .iter()
        .enumerate()
        .filter_map(|(at, token)| match &token.token {
            Token::Word(word) if word.quote_style.is_none() => Some((at, word.value.to_ascii_uppercase())),
            _ => None,
        })
        .collect();
    let texts: Vec<&str> = words.iter().map(|(_, word)| word.as_str()).collect();
    let clause = ["MERGE", "WITH", "SCHEMA", "EVOLUTION", "INTO"];
    let Some(merge) = texts.windows(clause.len()).position(|window| window == clause) else {
        return (tokens, false);
    };
    for (at, _) in words.iter().skip(merge + 1).take(3).rev() {
        tokens.remove(*at);
    }
    (tokens, true)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use datafusion::sql::sqlparser::ast::{MergeAction, Statement};
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    use super::*;

    fn tokens(text: &str) -> Vec<TokenWithSpan> {
        let dialect = GenericDialect {};
        Tokenizer::new(&dialect, text).tokenize_with_location().unwrap()
    }

    #[test]
    fn stars_of_a_merge_become_what_the_parser_knows() {
        let text = "EXPLAIN MERGE INTO t USING (SELECT a * 2 AS a FROM s) ON t.a = s.a * 1 \
                    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN insert *";
        let taken = take_stars(tokens(text));
        let mut parser = Parser::new(&GenericDialect {}).with_tokens_with_locations(taken);
        let Statement::Explain { statement, .. } = parser.parse_statement().unwrap() else {
            panic!("an EXPLAIN");
        };
        let Statement::Merge(merge) = *statement else {
            panic!("a MERGE");
        };
        assert_eq!(merge.on.to_string(), "t.a = s.a * 1");
        assert!(merge.source.to_string().contains("a * 2"));
        let [update, insert] = merge.clauses.as_slice() else {
            panic!("two clauses");
        };
        assert!(matches!(&update.action, MergeAction::Update(update)
            if matches!(&update.assignments[0].target,
                datafusion::sql::sqlparser::ast::AssignmentTarget::ColumnName(name) if is_all(name))));
        assert!(matches!(&insert.action, MergeAction::Insert(insert) if is_all(&insert.columns[0])));
    }

    #[test]
    fn the_clause_of_new_columns_is_found_behind_merge_only() {
        let (taken, found) = take_evolution(tokens(
            "EXPLAIN MERGE WITH SCHEMA EVOLUTION INTO t USING s ON a = b",
        ));
        assert!(found);
        let text: String = taken.iter().map(|token| token.token.to_string()).collect();
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>().join(" "),
            "EXPLAIN MERGE INTO t USING s ON a = b"
        );
        assert!(!take_evolution(tokens("SELECT * FROM merge WITH schema evolution")).1);
    }

    #[test]
    fn other_statements_stay_as_they_are() {
        for text in [
            "SELECT * FROM t",
            "INSERT INTO t SELECT * FROM s",
            "UPDATE t SET a = b * 2",
            "SELECT insert.* FROM insert",
            "SELECT insert * 2, a AS insert, * FROM t",
        ] {
            assert_eq!(take_stars(tokens(text)), tokens(text));
        }
    }
}

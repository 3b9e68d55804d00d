//! Columns of `CREATE TABLE`.

use datafusion::error::Result;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use drumlin_format::types::NestedField;

use super::tokens::{Tokens, syntax};
use super::types::TypeReader;

/// What may follow the default of a column.
const AFTER_DEFAULT: [&str; 5] = ["NOT", "NULL", "COMMENT", "PRIMARY", "DEFAULT"];

/// A column, its default still as it was written.
#[derive(Debug)]
pub(super) struct ColumnDefinition {
    pub(super) field: NestedField,
    pub(super) default: Option<(Vec<TokenWithSpan>, Location)>,
    pub(super) at: Location,
}

/// The columns between parentheses, and those of the primary key.
pub(super) fn columns(tokens: &mut Tokens) -> Result<(Vec<ColumnDefinition>, Vec<Ident>)> {
    let (mut columns, mut key) = (Vec::<ColumnDefinition>::new(), Vec::new());
    let mut types = TypeReader::default();
    tokens.expect(&Token::LParen, "and the columns")?;
    loop {
        if tokens.is_word_at(0, "PRIMARY") && tokens.is_word_at(1, "KEY") {
            primary_key(tokens, &mut key)?;
        } else {
            refuse_constraint(tokens)?;
            let column = column(tokens, &mut types)?;
            let name = &column.field.name;
            if columns.iter().any(|other| other.field.name == *name) {
                return Err(syntax(format!("there are two columns `{name}`"), column.at));
            }
            columns.push(column);
        }
        if !tokens.take(&Token::Comma) {
            break;
        }
    }
    tokens.expect(&Token::RParen, "that ends the columns")?;
    Ok((columns, key))
}

fn column(tokens: &mut Tokens, types: &mut TypeReader) -> Result<ColumnDefinition> {
    let at = tokens.at();
    let name = tokens.identifier("the name of a column")?.value;
    let id = types.next_id();
    let mut field = NestedField::optional(id, name, types.read(tokens)?);
    let mut default = None;
    loop {
        if tokens.words(&["NOT", "NULL"]) {
            field.required = true;
        } else if tokens.word("NULL") {
            field.required = false;
        } else if tokens.word("COMMENT") {
            field.doc = Some(tokens.string("the comment of a column")?);
        } else if tokens.is_word_at(0, "DEFAULT") {
            let at = tokens.at();
            tokens.advance();
            let written = tokens.expression(&AFTER_DEFAULT);
            if written.is_empty() || default.is_some() {
                return Err(tokens.expected("one default of the column"));
            }
            default = Some((written, at));
        } else if matches!(tokens.peek(), Token::Comma | Token::RParen) {
            return Ok(ColumnDefinition { field, default, at });
        } else if tokens.is_word_at(0, "PRIMARY") {
            return Err(syntax(
                "name the key behind the columns: PRIMARY KEY (…) NOT ENFORCED".into(),
                tokens.at(),
            ));
        } else {
            return Err(tokens.expected("NOT NULL, COMMENT, DEFAULT, or the next column"));
        }
    }
}

/// `PRIMARY KEY (a, b) NOT ENFORCED`: the columns become identifier fields.
fn primary_key(tokens: &mut Tokens, key: &mut Vec<Ident>) -> Result<()> {
    let at = tokens.at();
    if !key.is_empty() {
        return Err(syntax("there are two primary keys".into(), at));
    }
    tokens.expect_words(&["PRIMARY", "KEY"])?;
    tokens.expect(&Token::LParen, "and the columns of the key")?;
    loop {
        key.push(tokens.identifier("a column of the key")?);
        if !tokens.take(&Token::Comma) {
            break;
        }
    }
    tokens.expect(&Token::RParen, "that ends the key")?;
    if !tokens.words(&["NOT", "ENFORCED"]) {
        return Err(syntax(
            "PRIMARY KEY: nothing keeps the rows of an Iceberg table unique; write NOT ENFORCED behind it to name the identifier \
             fields"
                .into(),
            at,
        ));
    }
    Ok(())
}

fn refuse_constraint(tokens: &Tokens) -> Result<()> {
    let constraints: [&[&str]; 4] = [&["CONSTRAINT"], &["FOREIGN", "KEY"], &["UNIQUE"], &["CHECK"]];
    for words in constraints {
        // The name of a column is followed by a type.
        let is_constraint = words
            .iter()
            .enumerate()
            .all(|(i, word)| tokens.is_word_at(i, word))
            && (words.len() > 1 || *tokens.peek_at(1) == Token::LParen || *words == ["CONSTRAINT"]);
        if is_constraint {
            let name = words.join(" ");
            return Err(syntax(
                format!("{name}: Iceberg tables have no such constraint"),
                tokens.at(),
            ));
        }
    }
    Ok(())
}

//! Statements and their clauses.

use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::Parser as ExpressionParser;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::columns::columns;
use super::target::{SchemaTarget, TableTarget};
use super::terms::{OrderTerm, Term};
use super::tokens::{Tokens, syntax};
use super::{CreateTable, Ddl, refs};

const DISTRIBUTION_MODE: &str = "write.distribution-mode";

/// The words for a namespace. `DATABASE` is not among them: it is a catalog to DataFusion.
const SCHEMA_WORDS: [&str; 2] = ["SCHEMA", "NAMESPACE"];

pub(super) struct Parser<'a> {
    pub(super) cursor: Tokens,
    pub(super) state: &'a SessionState,
}

impl Parser<'_> {
    /// The statement, if it is one on an Iceberg catalog.
    pub(super) fn statement(mut self) -> Result<Option<Ddl>> {
        let ddl = if self.cursor.words(&["CREATE", "TABLE"]) {
            self.create_table(false, false)?
        } else if self.cursor.words(&["CREATE", "OR", "REPLACE", "TABLE"]) {
            self.create_table(true, false)?
        } else if self.cursor.words(&["REPLACE", "TABLE"]) {
            self.create_table(true, true)?
        } else if self.cursor.words(&["DROP", "TABLE"]) {
            self.drop_table()?
        } else if self.cursor.words(&["ALTER", "TABLE"]) {
            self.alter_ref()?
        } else if self.verb_of_schema("CREATE") {
            self.create_schema()?
        } else if self.verb_of_schema("DROP") {
            self.drop_schema()?
        } else {
            None
        };
        if ddl.is_some() && !self.cursor.is_done() {
            return Err(self.cursor.expected("the end of the statement"));
        }
        Ok(ddl)
    }

    fn verb_of_schema(&mut self, verb: &str) -> bool {
        SCHEMA_WORDS.iter().any(|word| self.cursor.words(&[verb, word]))
    }

    /// The name and the table of it in an Iceberg catalog. What is no name is left to DataFusion's parser.
    fn table(&mut self) -> Result<Option<TableTarget>> {
        match self.cursor.name("the name of a table") {
            Ok(name) => TableTarget::find(&name, self.state),
            Err(_) => Ok(None),
        }
    }

    fn schema(&mut self) -> Result<Option<SchemaTarget>> {
        match self.cursor.name("the name of a schema") {
            Ok(name) => SchemaTarget::find(&name, self.state),
            Err(_) => Ok(None),
        }
    }

    fn create_table(&mut self, or_replace: bool, must_exist: bool) -> Result<Option<Ddl>> {
        let at = self.cursor.at();
        let if_not_exists = self.cursor.words(&["IF", "NOT", "EXISTS"]);
        let Some(table) = self.table()? else {
            return Ok(None);
        };
        if if_not_exists && or_replace {
            return Err(syntax("REPLACE and IF NOT EXISTS exclude each other".into(), at));
        }
        let mut create = CreateTable {
            table,
            or_replace,
            must_exist,
            if_not_exists,
            columns: None,
            primary_key: vec![],
            partition: vec![],
            order: vec![],
            location: None,
            properties: vec![],
            query: None,
        };
        if *self.cursor.peek() == Token::LParen {
            let (columns, key) = columns(&mut self.cursor)?;
            (create.columns, create.primary_key) = (Some(columns), key);
        }
        self.clauses(&mut create)?;
        if create.columns.is_none() && create.query.is_none() {
            return Err(self
                .cursor
                .expected("the columns of the table, or AS and a query"));
        }
        Ok(Some(Ddl::CreateTable(Box::new(create))))
    }

    /// The clauses behind the columns, each once and in any order; the query is last.
    fn clauses(&mut self, create: &mut CreateTable) -> Result<()> {
        let mut seen: Vec<&str> = Vec::new();
        while !self.cursor.is_done() {
            let at = self.cursor.at();
            let name = if self.cursor.word("USING") {
                let format = self.cursor.identifier("ICEBERG")?.value;
                if !format.eq_ignore_ascii_case("iceberg") {
                    return Err(syntax(
                        format!("USING {format}: an Iceberg catalog holds Iceberg tables only"),
                        at,
                    ));
                }
                "USING"
            } else if self.cursor.words(&["PARTITIONED", "BY"]) {
                create.partition = self.parenthesized("PARTITIONED BY", Term::parse)?;
                "PARTITIONED BY"
            } else if self.cursor.word("LOCATION") {
                create.location = Some(self.cursor.string("the location")?);
                "LOCATION"
            } else if self.cursor.word("COMMENT") {
                self.cursor.take(&Token::Eq);
                let comment = self.cursor.string("the comment")?;
                create.properties.push(("comment".to_string(), comment));
                "COMMENT"
            } else if self.cursor.word("TBLPROPERTIES") {
                self.properties("TBLPROPERTIES", &mut create.properties)?;
                "TBLPROPERTIES"
            } else if self.cursor.word("WITH") {
                self.properties("WITH", &mut create.properties)?;
                "WITH"
            } else if self.cursor.word("WRITE") {
                self.write_order(create)?;
                "WRITE"
            } else if self.cursor.word("AS") {
                create.query = Some(self.query()?);
                return Ok(());
            } else if self.cursor.is_word_at(0, "SELECT") || self.cursor.is_word_at(0, "VALUES") {
                return Err(self.cursor.expected("AS in front of the query"));
            } else {
                return Err(self.cursor.expected(
                    "USING, PARTITIONED BY, LOCATION, COMMENT, TBLPROPERTIES, WITH, WRITE ORDERED BY, or AS and a query",
                ));
            };
            if seen.contains(&name) {
                return Err(syntax(format!("there are two clauses {name}"), at));
            }
            seen.push(name);
        }
        Ok(())
    }

    fn query(&mut self) -> Result<Vec<TokenWithSpan>> {
        match self.cursor.is_done() {
            true => Err(self.cursor.expected("a query")),
            false => Ok(self.cursor.rest()),
        }
    }

    fn parenthesized<T>(&mut self, of: &str, one: impl Fn(&mut Tokens) -> Result<T>) -> Result<Vec<T>> {
        self.cursor.expect(&Token::LParen, &format!("behind {of}"))?;
        let mut all = vec![one(&mut self.cursor)?];
        while self.cursor.take(&Token::Comma) {
            all.push(one(&mut self.cursor)?);
        }
        self.cursor.expect(&Token::RParen, &format!("that ends {of}"))?;
        Ok(all)
    }

    /// `('k' = 'v', a.b = 1, …)`
    fn properties(&mut self, of: &str, properties: &mut Vec<(String, String)>) -> Result<()> {
        let found = self.parenthesized(of, property)?;
        for (key, value, at) in found {
            if properties.iter().any(|(other, _)| *other == key) {
                return Err(syntax(format!("the property `{key}` is given twice"), at));
            }
            properties.push((key, value));
        }
        Ok(())
    }

    /// `WRITE [DISTRIBUTED BY PARTITION] [[LOCALLY] ORDERED BY a DESC NULLS LAST, bucket(4, b)]`, `WRITE UNORDERED`
    fn write_order(&mut self, create: &mut CreateTable) -> Result<()> {
        if self.cursor.word("UNORDERED") {
            return Ok(());
        }
        let mode = |mode: &str| (DISTRIBUTION_MODE.to_string(), mode.to_string());
        let hash = self.cursor.words(&["DISTRIBUTED", "BY", "PARTITION"]);
        if hash {
            create.properties.push(mode("hash"));
        }
        let locally = self.cursor.word("LOCALLY");
        if self.cursor.words(&["ORDERED", "BY"]) {
            let parenthesized = self.cursor.take(&Token::LParen);
            create.order.push(OrderTerm::parse(&mut self.cursor)?);
            while self.cursor.take(&Token::Comma) {
                create.order.push(OrderTerm::parse(&mut self.cursor)?);
            }
            if parenthesized {
                self.cursor.expect(&Token::RParen, "that ends WRITE ORDERED BY")?;
            }
            if !hash && !locally {
                create.properties.push(mode("range"));
            }
            return Ok(());
        }
        match hash && !locally {
            true => Ok(()),
            false => Err(self.cursor.expected(
                "ORDERED BY, LOCALLY ORDERED BY, DISTRIBUTED BY PARTITION or UNORDERED behind WRITE",
            )),
        }
    }

    fn drop_table(&mut self) -> Result<Option<Ddl>> {
        let if_exists = self.cursor.words(&["IF", "EXISTS"]);
        let Some(table) = self.table()? else {
            return Ok(None);
        };
        if table.schema.is_registered(&table.ident.name) {
            return Ok(None);
        }
        let purge = self.cursor.word("PURGE");
        if *self.cursor.peek() == Token::Comma {
            return Err(self
                .cursor
                .expected("the end of the statement (tables are dropped one by one)"));
        }
        Ok(Some(Ddl::DropTable {
            table,
            if_exists,
            purge,
        }))
    }

    /// Branches and tags; what else `ALTER TABLE` says is DataFusion's.
    fn alter_ref(&mut self) -> Result<Option<Ddl>> {
        let Some(table) = self.table()? else {
            return Ok(None);
        };
        if !refs::is_next(&self.cursor) {
            return Ok(None);
        }
        Ok(Some(Ddl::AlterRef(refs::parse(&mut self.cursor, table)?)))
    }

    fn create_schema(&mut self) -> Result<Option<Ddl>> {
        let if_not_exists = self.cursor.words(&["IF", "NOT", "EXISTS"]);
        let Some(schema) = self.schema()? else {
            return Ok(None);
        };
        let mut properties = Vec::new();
        while !self.cursor.is_done() {
            if self.cursor.word("COMMENT") {
                let comment = self.cursor.string("the comment")?;
                properties.push(("comment".to_string(), comment));
            } else if self.cursor.word("LOCATION") {
                let location = self.cursor.string("the location")?;
                properties.push(("location".to_string(), location));
            } else if self.cursor.word("WITH") {
                if !self.cursor.word("DBPROPERTIES") {
                    self.cursor.word("PROPERTIES");
                }
                self.properties("WITH", &mut properties)?;
            } else {
                return Err(self.cursor.expected("COMMENT, LOCATION or WITH (…)"));
            }
        }
        Ok(Some(Ddl::CreateSchema {
            schema,
            if_not_exists,
            properties,
        }))
    }

    fn drop_schema(&mut self) -> Result<Option<Ddl>> {
        let if_exists = self.cursor.words(&["IF", "EXISTS"]);
        let Some(schema) = self.schema()? else {
            return Ok(None);
        };
        let at = self.cursor.at();
        if self.cursor.word("CASCADE") {
            return Err(syntax(
                "DROP SCHEMA … CASCADE is not supported: drop the tables first".into(),
                at,
            ));
        }
        self.cursor.word("RESTRICT");
        Ok(Some(Ddl::DropSchema { schema, if_exists }))
    }
}

/// `'k' = 'v'`; keys without quotes are in the case in which they are written, values may be numbers and booleans.
fn property(tokens: &mut Tokens) -> Result<(String, String, Location)> {
    let at = tokens.at();
    let mut key = String::new();
    loop {
        match tokens.peek() {
            Token::SingleQuotedString(part) | Token::DoubleQuotedString(part) => key.push_str(part),
            Token::Word(word) => key.push_str(&word.value),
            Token::Period => key.push('.'),
            Token::Minus => key.push('-'),
            Token::Number(part, _) => key.push_str(part),
            _ => break,
        }
        tokens.advance();
    }
    if key.is_empty() {
        return Err(tokens.expected("the name of a property"));
    }
    tokens.expect(&Token::Eq, &format!("and the value of the property `{key}`"))?;
    let negative = tokens.take(&Token::Minus);
    let value = match tokens.peek() {
        Token::Number(text, _) if negative => format!("-{text}"),
        Token::SingleQuotedString(text) | Token::Number(text, _) if !negative => text.clone(),
        Token::Word(word)
            if !negative
                && word.quote_style.is_none()
                && ["true", "false"].contains(&word.value.to_lowercase().as_str()) =>
        {
            word.value.to_lowercase()
        }
        _ => return Err(tokens.expected(&format!("the value of the property `{key}`"))),
    };
    tokens.advance();
    Ok((key, value, at))
}

/// The expression that tokens are.
pub(super) fn expression(
    tokens: Vec<TokenWithSpan>,
    dialect: &dyn Dialect,
) -> Result<datafusion::sql::sqlparser::ast::Expr> {
    let mut parser = ExpressionParser::new(dialect).with_tokens_with_locations(tokens);
    let expr = parser.parse_expr()?;
    match parser.peek_token().token {
        Token::EOF => Ok(expr),
        other => Err(syntax(
            format!("expected the end of the expression, found `{other}`"),
            parser.peek_token().span.start,
        )),
    }
}

/// The identifier as it was written, for messages.
pub(super) fn quoted(ident: &Ident) -> String {
    format!("`{}`", ident.value)
}

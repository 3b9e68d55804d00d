//! `CREATE TABLE`, `DROP TABLE`, `CREATE SCHEMA` and `DROP SCHEMA` on Iceberg catalogs, and branches and tags of tables.
//!
//! DataFusion's parser knows neither partition transforms nor sort orders, types of version 3 nor comments of columns.
//! So a statement that begins with one of these is looked at as tokens first: if the catalog that its name belongs to is
//! an Iceberg one, it is parsed here; everything else stays DataFusion's. `tokens` walks, `parse` and `columns` read
//! clauses, `types` types, `terms` partition and sort terms, `refs` branches and tags, `target` finds what names mean; `execute` does what was read.

mod columns;
mod execute;
mod parse;
mod refs;
mod target;
mod terms;
mod tokens;
mod types;

#[cfg(test)]
mod tests;

use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;

use super::SqlStatement;

pub(super) use execute::execute;
use target::{SchemaTarget, TableTarget};
pub(super) use tokens::syntax;

/// A statement that is run here.
#[derive(Debug)]
pub(super) enum Ddl {
    CreateTable(Box<CreateTable>),
    DropTable {
        table: TableTarget,
        if_exists: bool,
        purge: bool,
    },
    CreateSchema {
        schema: SchemaTarget,
        if_not_exists: bool,
        properties: Vec<(String, String)>,
    },
    DropSchema {
        schema: SchemaTarget,
        if_exists: bool,
    },
    AlterRef(refs::AlterRef),
}

/// `CREATE TABLE`, with what its clauses say.
#[derive(Debug)]
pub(super) struct CreateTable {
    table: TableTarget,
    or_replace: bool,
    /// `REPLACE TABLE`: the table must be there.
    must_exist: bool,
    if_not_exists: bool,
    /// `None`: those of the query.
    columns: Option<Vec<columns::ColumnDefinition>>,
    /// Columns of the primary key, which become identifier fields.
    primary_key: Vec<Ident>,
    partition: Vec<terms::Term>,
    order: Vec<terms::OrderTerm>,
    location: Option<String>,
    properties: Vec<(String, String)>,
    /// The tokens of the query behind `AS`.
    query: Option<Vec<TokenWithSpan>>,
}

/// The statement as one that is run here; `None`: it is DataFusion's.
///
/// # Errors
/// A clause that is not understood, by its name and place.
pub(super) fn parse(state: &SessionState, statement: &SqlStatement<'_>) -> Result<Option<Ddl>> {
    let cursor = tokens::Tokens::new(
        &statement.tokens,
        state.config().options().sql_parser.enable_ident_normalization,
    );
    parse::Parser { cursor, state }.statement()
}

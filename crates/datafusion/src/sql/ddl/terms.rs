//! Partition and sort terms: `c`, `day(ts)`, `bucket(16, id)`, `truncate(4, s)`.

use datafusion::error::Result;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::{Location, Token};
use drumlin_format::metadata::{UnboundPartitionField, UnboundPartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::sort::{NullOrder, SortDirection, SortField, SortOrder};
use drumlin_format::transform::Transform;

use super::tokens::{Tokens, syntax};

/// A column and what is made of it.
#[derive(Debug, Clone)]
pub(super) struct Term {
    transform: Transform,
    column: Vec<Ident>,
    at: Location,
}

/// A term, which way it sorts and where nulls stand.
#[derive(Debug, Clone)]
pub(super) struct OrderTerm {
    term: Term,
    direction: SortDirection,
    nulls: NullOrder,
}

impl Term {
    pub(super) fn parse(tokens: &mut Tokens) -> Result<Self> {
        let at = tokens.at();
        if *tokens.peek_at(1) != Token::LParen {
            let column = tokens.name("a column or a transform of one")?;
            return Ok(Self {
                transform: Transform::Identity,
                column,
                at,
            });
        }
        let function = tokens.identifier("a transform")?.value.to_lowercase();
        tokens.advance();
        let term = Self::arguments(&function, tokens, at)?;
        tokens.expect(&Token::RParen, &format!("that ends {function}(…)"))?;
        Ok(term)
    }

    fn arguments(function: &str, tokens: &mut Tokens, at: Location) -> Result<Self> {
        let transform = match function {
            "identity" => Transform::Identity,
            "year" | "years" => Transform::Year,
            "month" | "months" => Transform::Month,
            "day" | "days" | "date" => Transform::Day,
            "hour" | "hours" | "date_hour" => Transform::Hour,
            "void" => Transform::Void,
            "bucket" => Transform::Bucket(0),
            "truncate" => Transform::Truncate(0),
            unknown => {
                return Err(syntax(
                    format!(
                        "unknown transform `{unknown}`; known are identity, year, month, day, hour, bucket, truncate and void"
                    ),
                    at,
                ));
            }
        };
        let what = "the column of the transform";
        let width = |tokens: &mut Tokens| {
            let at = tokens.at();
            let width: u32 = tokens.integer(&format!("the number of {function}(n, column)"))?;
            match width {
                0 => Err(syntax(
                    format!("{function}(0, …): the number must be at least 1"),
                    at,
                )),
                width => Ok(width),
            }
        };
        let (transform, column) = match transform {
            Transform::Bucket(_) | Transform::Truncate(_) => {
                // Some write the column first.
                let (width, column) = if matches!(tokens.peek(), Token::Number(..)) {
                    let width = width(tokens)?;
                    tokens.expect(&Token::Comma, &format!("between the arguments of {function}"))?;
                    (width, tokens.name(what)?)
                } else {
                    let column = tokens.name(what)?;
                    tokens.expect(&Token::Comma, &format!("and a number as arguments of {function}"))?;
                    (width(tokens)?, column)
                };
                match transform {
                    Transform::Bucket(_) => (Transform::Bucket(width), column),
                    _ => (Transform::Truncate(width), column),
                }
            }
            transform => (transform, tokens.name(what)?),
        };
        Ok(Self {
            transform,
            column,
            at,
        })
    }

    fn full_name(&self) -> String {
        let parts: Vec<&str> = self.column.iter().map(|part| part.value.as_str()).collect();
        parts.join(".")
    }

    /// The id of the source column.
    fn source(&self, schema: &Schema) -> Result<i32> {
        let name = self.full_name();
        let Some(field) = schema.field_by_name(&name) else {
            let known: Vec<&str> = schema.fields().iter().map(|f| f.name.as_str()).collect();
            return Err(syntax(
                format!("there is no column `{name}`; there are {}", known.join(", ")),
                self.at,
            ));
        };
        if schema.is_repeated(field.id) {
            return Err(syntax(
                format!("`{name}` is inside of a list or map: a row has any number of its values"),
                self.at,
            ));
        }
        if self.transform.result_type_of(&field.field_type).is_none() {
            return Err(syntax(
                format!(
                    "{} cannot be made of `{name}`, which is of type {}",
                    self.transform, field.field_type
                ),
                self.at,
            ));
        }
        Ok(field.id)
    }

    /// The name of a partition field made by this term.
    fn field_name(&self) -> String {
        let name = self.full_name();
        match &self.transform {
            Transform::Bucket(_) => format!("{name}_bucket"),
            Transform::Truncate(_) => format!("{name}_trunc"),
            Transform::Year => format!("{name}_year"),
            Transform::Month => format!("{name}_month"),
            Transform::Day => format!("{name}_day"),
            Transform::Hour => format!("{name}_hour"),
            Transform::Void => format!("{name}_null"),
            Transform::Identity | Transform::Unknown(_) => name,
        }
    }
}

/// The spec of partition terms.
///
/// # Errors
/// Columns that do not exist or have the wrong type; two fields of one name, or one that has the name of a column.
pub(super) fn partition_spec(terms: &[Term], schema: &Schema) -> Result<UnboundPartitionSpec> {
    let mut fields: Vec<UnboundPartitionField> = Vec::new();
    for term in terms {
        let (source, name) = (term.source(schema)?, term.field_name());
        if fields.iter().any(|field| field.name == name) {
            return Err(syntax(
                format!("there are two partition fields `{name}`"),
                term.at,
            ));
        }
        if term.transform != Transform::Identity && schema.field_by_name(&name).is_some() {
            return Err(syntax(
                format!("the partition field `{name}` would have the name of a column"),
                term.at,
            ));
        }
        fields.push(UnboundPartitionField {
            source_ids: vec![source],
            field_id: None,
            name,
            transform: term.transform.clone(),
        });
    }
    Ok(UnboundPartitionSpec {
        spec_id: None,
        fields,
    })
}

impl OrderTerm {
    pub(super) fn parse(tokens: &mut Tokens) -> Result<Self> {
        let term = Term::parse(tokens)?;
        let direction = match tokens.word("DESC") {
            true => SortDirection::Descending,
            false => {
                tokens.word("ASC");
                SortDirection::Ascending
            }
        };
        let nulls = if tokens.word("NULLS") {
            if tokens.word("FIRST") {
                NullOrder::First
            } else if tokens.word("LAST") {
                NullOrder::Last
            } else {
                return Err(tokens.expected("FIRST or LAST"));
            }
        } else {
            match direction {
                SortDirection::Ascending => NullOrder::First,
                SortDirection::Descending => NullOrder::Last,
            }
        };
        Ok(Self {
            term,
            direction,
            nulls,
        })
    }
}

/// The sort order of terms.
///
/// # Errors
/// Columns that do not exist or have the wrong type.
pub(super) fn sort_order(terms: &[OrderTerm], schema: &Schema) -> Result<SortOrder> {
    if terms.is_empty() {
        return Ok(SortOrder::unsorted());
    }
    let field = |term: &OrderTerm| {
        Ok(SortField {
            source_ids: vec![term.term.source(schema)?],
            transform: term.term.transform.clone(),
            direction: term.direction,
            null_order: term.nulls,
        })
    };
    Ok(SortOrder {
        order_id: 1,
        fields: terms.iter().map(field).collect::<Result<_>>()?,
    })
}

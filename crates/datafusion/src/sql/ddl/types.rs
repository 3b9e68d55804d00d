//! Types of columns, by the names that Iceberg, Spark and DataFusion have for them.
//!
//! `timestamp` is without zone, as in SQL and in DataFusion; `timestamptz` and `timestamp with time zone` are instants.

use datafusion::error::Result;
use datafusion::sql::sqlparser::tokenizer::{Location, Token};
use drumlin_format::types::text::MAX_DECIMAL_PRECISION;
use drumlin_format::types::{EdgeAlgorithm, ListType, MapType, NestedField, PrimitiveType, StructType, Type};

use super::tokens::{Tokens, syntax};

/// How deep types may be nested.
const MAX_DEPTH: usize = 64;

/// Reads types, and gives an id to each field, list element, key and value in them.
#[derive(Debug, Default)]
pub(super) struct TypeReader {
    last_id: i32,
    depth: usize,
}

impl TypeReader {
    pub(super) fn next_id(&mut self) -> i32 {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn read(&mut self, tokens: &mut Tokens) -> Result<Type> {
        if self.depth >= MAX_DEPTH {
            return Err(syntax(
                format!("types may be nested {MAX_DEPTH} deep"),
                tokens.at(),
            ));
        }
        self.depth += 1;
        let mut of = self.named(tokens)?;
        while *tokens.peek() == Token::LBracket {
            tokens.advance();
            tokens.expect(&Token::RBracket, "of an array")?;
            of = ListType::new(self.next_id(), of, false).into();
        }
        self.depth -= 1;
        Ok(of)
    }

    fn named(&mut self, tokens: &mut Tokens) -> Result<Type> {
        use PrimitiveType as P;
        let at = tokens.at();
        let name = tokens.identifier("a type")?.value.to_lowercase();
        let primitive = match name.as_str() {
            "struct" | "row" => return self.fields(tokens),
            "array" | "list" => return self.list(tokens),
            "map" => return self.map(tokens),
            "boolean" | "bool" => P::Boolean,
            "int" | "integer" | "int4" | "smallint" | "int2" | "tinyint" => P::Int,
            "bigint" | "long" | "int8" => P::Long,
            "float" | "real" | "float4" => P::Float,
            "double" => {
                tokens.word("PRECISION");
                P::Double
            }
            "float8" => P::Double,
            "decimal" | "numeric" | "dec" => decimal(tokens)?,
            "date" => P::Date,
            "time" => {
                micros(&name, tokens)?;
                match zone(tokens)? {
                    Some(true) => {
                        return Err(syntax("times with a zone are not supported: use TIME".into(), at));
                    }
                    _ => P::Time,
                }
            }
            "timestamp" | "datetime" => {
                let nanos = precision(&name, tokens)?;
                match (nanos, zone(tokens)?.unwrap_or(false)) {
                    (false, false) => P::Timestamp,
                    (false, true) => P::Timestamptz,
                    (true, false) => P::TimestampNs,
                    (true, true) => P::TimestamptzNs,
                }
            }
            "timestamp_ntz" => match precision(&name, tokens)? {
                false => P::Timestamp,
                true => P::TimestampNs,
            },
            "timestamptz" | "timestamp_ltz" => match precision(&name, tokens)? {
                false => P::Timestamptz,
                true => P::TimestamptzNs,
            },
            "timestamp_ns" => P::TimestampNs,
            "timestamptz_ns" => P::TimestamptzNs,
            "string" | "text" => P::String,
            "varchar" | "char" | "character" | "nvarchar" => {
                tokens.word("VARYING");
                // Iceberg has strings of one kind; the length is not enforced, as in other engines.
                if tokens.take(&Token::LParen) {
                    tokens.integer::<u64>("a length")?;
                    tokens.expect(&Token::RParen, "behind the length")?;
                }
                P::String
            }
            "uuid" => P::Uuid,
            "binary" | "bytea" | "varbinary" | "blob" => P::Binary,
            "fixed" => fixed(tokens)?,
            "variant" => P::Variant,
            "geometry" => geometry(tokens)?,
            "geography" => geography(tokens)?,
            "unknown" | "void" => P::Unknown,
            unknown => {
                let known = "boolean, int, bigint, float, double, decimal(p, s), date, time, timestamp, timestamptz, \
                             timestamp_ns, timestamptz_ns, string, uuid, binary, fixed(n), struct<…>, array<…>, map<…>, \
                             variant, geometry, geography and unknown";
                return Err(syntax(format!("unknown type `{unknown}`; known are {known}"), at));
            }
        };
        Ok(primitive.into())
    }

    /// `struct<a: int, b string NOT NULL COMMENT '…'>`
    fn fields(&mut self, tokens: &mut Tokens) -> Result<Type> {
        let round = Self::open(tokens, "struct")?;
        let mut fields: Vec<NestedField> = Vec::new();
        loop {
            let at = tokens.at();
            let name = tokens.identifier("the name of a field")?.value;
            if fields.iter().any(|field| field.name == name) {
                return Err(syntax(format!("the struct has two fields `{name}`"), at));
            }
            tokens.take(&Token::Colon);
            let id = self.next_id();
            let mut field = NestedField::optional(id, name, self.read(tokens)?);
            field.required = not_null(tokens);
            if tokens.word("COMMENT") {
                field.doc = Some(tokens.string("the comment of a field")?);
            }
            fields.push(field);
            if !tokens.take(&Token::Comma) {
                break;
            }
        }
        Self::close(tokens, round, "struct")?;
        Ok(StructType::new(fields).into())
    }

    fn list(&mut self, tokens: &mut Tokens) -> Result<Type> {
        let round = Self::open(tokens, "array")?;
        let id = self.next_id();
        let element = self.read(tokens)?;
        let required = not_null(tokens);
        Self::close(tokens, round, "array")?;
        Ok(ListType::new(id, element, required).into())
    }

    fn map(&mut self, tokens: &mut Tokens) -> Result<Type> {
        let round = Self::open(tokens, "map")?;
        let (key_id, value_id) = (self.next_id(), self.next_id());
        let key = self.read(tokens)?;
        // Keys are never null.
        not_null(tokens);
        tokens.expect(&Token::Comma, "between the types of keys and values of a map")?;
        let value = self.read(tokens)?;
        let required = not_null(tokens);
        Self::close(tokens, round, "map")?;
        Ok(MapType::new(key_id, key, value_id, value, required).into())
    }

    /// Opens the parameters of a nested type: true for `(`, false for `<`.
    fn open(tokens: &mut Tokens, of: &str) -> Result<bool> {
        if tokens.take(&Token::LParen) {
            return Ok(true);
        }
        tokens.expect(&Token::Lt, &format!("behind {of}"))?;
        Ok(false)
    }

    fn close(tokens: &mut Tokens, round: bool, of: &str) -> Result<()> {
        let what = format!("that ends the {of}");
        match round {
            true => tokens.expect(&Token::RParen, &what),
            false => tokens.close_angle(&what),
        }
    }
}

/// Takes `NOT NULL` or `NULL`; whether null is forbidden.
fn not_null(tokens: &mut Tokens) -> bool {
    let required = tokens.words(&["NOT", "NULL"]);
    if !required {
        tokens.word("NULL");
    }
    required
}

fn decimal(tokens: &mut Tokens) -> Result<PrimitiveType> {
    let (mut precision, mut scale) = (MAX_DECIMAL_PRECISION, 10);
    let at = tokens.at();
    if tokens.take(&Token::LParen) {
        precision = tokens.integer("the number of digits of a decimal")?;
        scale = match tokens.take(&Token::Comma) {
            true => tokens.integer("the number of digits behind the point")?,
            false => 0,
        };
        tokens.expect(&Token::RParen, "that ends decimal(…)")?;
    }
    if !(1..=MAX_DECIMAL_PRECISION).contains(&precision) || scale > precision {
        return Err(syntax(
            format!(
                "decimal({precision}, {scale}): a decimal has 1 to {MAX_DECIMAL_PRECISION} digits, and at most as many behind \
                 the point"
            ),
            at,
        ));
    }
    Ok(PrimitiveType::Decimal { precision, scale })
}

/// `fixed(16)` and `fixed[16]`.
fn fixed(tokens: &mut Tokens) -> Result<PrimitiveType> {
    let close = match tokens.peek() {
        Token::LParen => Token::RParen,
        Token::LBracket => Token::RBracket,
        _ => return Err(tokens.expected("`(` and the number of bytes behind fixed")),
    };
    tokens.advance();
    let at = tokens.at();
    let length: u32 = tokens.integer("the number of bytes")?;
    tokens.expect(&close, "that ends fixed(…)")?;
    match i32::try_from(length) {
        Ok(1..) => Ok(PrimitiveType::Fixed(length)),
        _ => Err(syntax(format!("fixed({length}): the length is out of range"), at)),
    }
}

/// The digits of seconds of a time, of which there can be 6.
fn micros(name: &str, tokens: &mut Tokens) -> Result<()> {
    let at = tokens.at();
    match precision(name, tokens)? {
        false => Ok(()),
        true => Err(syntax(format!("{name}(9): times have microseconds"), at)),
    }
}

/// `(6)` or `(9)` behind a timestamp: whether it is nanoseconds.
fn precision(name: &str, tokens: &mut Tokens) -> Result<bool> {
    let at = tokens.at();
    if !tokens.take(&Token::LParen) {
        return Ok(false);
    }
    let digits: u8 = tokens.integer("6 or 9 digits of seconds")?;
    tokens.expect(&Token::RParen, &format!("that ends {name}(…)"))?;
    match digits {
        6 => Ok(false),
        9 => Ok(true),
        other => Err(syntax(
            format!("{name}({other}): there are 6 (microseconds) or 9 (nanoseconds) digits of seconds"),
            at,
        )),
    }
}

/// `WITH [LOCAL] TIME ZONE` and `WITHOUT TIME ZONE`; `None` if there is neither.
fn zone(tokens: &mut Tokens) -> Result<Option<bool>> {
    let is_clause = tokens.is_word_at(1, "TIME") || tokens.is_word_at(1, "LOCAL");
    if is_clause && tokens.word("WITH") {
        tokens.word("LOCAL");
        tokens.expect_words(&["TIME", "ZONE"])?;
        return Ok(Some(true));
    }
    if is_clause && tokens.word("WITHOUT") {
        tokens.expect_words(&["TIME", "ZONE"])?;
        return Ok(Some(false));
    }
    Ok(None)
}

/// The text of a parameter of `geometry` or `geography`: a string, or words and numbers joined by colons.
fn parameter(tokens: &mut Tokens, at: Location) -> Result<String> {
    let mut text = String::new();
    loop {
        match tokens.peek() {
            Token::SingleQuotedString(part) => text.push_str(part),
            Token::Word(word) => text.push_str(&word.value),
            Token::Number(part, _) => text.push_str(part),
            Token::Colon => text.push(':'),
            Token::Minus => text.push('-'),
            Token::Period => text.push('.'),
            _ if text.is_empty() => {
                return Err(syntax("expected a coordinate reference system".into(), at));
            }
            _ => return Ok(text),
        }
        tokens.advance();
    }
}

fn geometry(tokens: &mut Tokens) -> Result<PrimitiveType> {
    let mut crs = None;
    let at = tokens.at();
    if tokens.take(&Token::LParen) {
        crs = Some(parameter(tokens, at)?);
        tokens.expect(&Token::RParen, "that ends geometry(…)")?;
    }
    Ok(PrimitiveType::Geometry { crs })
}

fn geography(tokens: &mut Tokens) -> Result<PrimitiveType> {
    let (mut crs, mut algorithm) = (None, None);
    let at = tokens.at();
    if tokens.take(&Token::LParen) {
        crs = Some(parameter(tokens, at)?);
        if tokens.take(&Token::Comma) {
            let at = tokens.at();
            let name = parameter(tokens, at)?.to_lowercase();
            algorithm = Some(match name.as_str() {
                "spherical" => EdgeAlgorithm::Spherical,
                "vincenty" => EdgeAlgorithm::Vincenty,
                "thomas" => EdgeAlgorithm::Thomas,
                "andoyer" => EdgeAlgorithm::Andoyer,
                "karney" => EdgeAlgorithm::Karney,
                other => {
                    let known = "spherical, vincenty, thomas, andoyer and karney";
                    return Err(syntax(format!("unknown edges `{other}`; known are {known}"), at));
                }
            });
        }
        tokens.expect(&Token::RParen, "that ends geography(…)")?;
    }
    Ok(PrimitiveType::Geography { crs, algorithm })
}

//! Reading one field of a manifest or a manifest list, whatever Avro type its writer gave it.

use crate::avro::{Decoder, Kind, NodeId, Schema};
use crate::error::{Error, Result};

/// A field about to be read. Any field may be a union with null, in any order; int and long are the same.
pub(crate) struct FieldReader<'r, 'a> {
    pub schema: &'r Schema,
    pub decoder: &'r mut Decoder<'a>,
    pub node: NodeId,
}

impl<'a> FieldReader<'_, 'a> {
    fn enter(&mut self) -> Result<Option<NodeId>> {
        self.schema.enter(self.decoder, self.node)
    }

    #[inline]
    pub fn long(&mut self) -> Result<Option<i64>> {
        let Some(node) = self.enter()? else {
            return Ok(None);
        };
        match self.schema.kind(node) {
            Kind::Int | Kind::Long => self.decoder.long().map(Some),
            _ => Err(wrong_type(self.schema, node, "an int or long")),
        }
    }

    pub fn int(&mut self) -> Result<Option<i32>> {
        let narrow =
            |v| i32::try_from(v).map_err(|_| Error::invalid("value", format!("{v} is no 32-bit integer")));
        self.long()?.map(narrow).transpose()
    }

    pub fn boolean(&mut self) -> Result<Option<bool>> {
        let Some(node) = self.enter()? else {
            return Ok(None);
        };
        match self.schema.kind(node) {
            Kind::Boolean => self.decoder.boolean().map(Some),
            _ => Err(wrong_type(self.schema, node, "a boolean")),
        }
    }

    pub fn bytes(&mut self) -> Result<Option<&'a [u8]>> {
        let Some(node) = self.enter()? else {
            return Ok(None);
        };
        match self.schema.kind(node) {
            Kind::Bytes | Kind::String => self.decoder.bytes().map(Some),
            Kind::Fixed(size) => self.decoder.take(*size).map(Some),
            _ => Err(wrong_type(self.schema, node, "bytes")),
        }
    }

    pub fn string(&mut self) -> Result<Option<&'a str>> {
        let Some(node) = self.enter()? else {
            return Ok(None);
        };
        match self.schema.kind(node) {
            Kind::String | Kind::Bytes => self.decoder.string().map(Some),
            _ => Err(wrong_type(self.schema, node, "a string")),
        }
    }

    /// An array of ints or longs.
    pub fn longs(&mut self) -> Result<Option<Vec<i64>>> {
        let Some(node) = self.enter()? else {
            return Ok(None);
        };
        let Kind::Array(item) = self.schema.kind(node) else {
            return Err(wrong_type(self.schema, node, "an array"));
        };
        // Items take a byte each, or reading the first that takes none fails.
        let min_size = self.schema.min_size(*item).max(1);
        let mut values = Vec::new();
        loop {
            let count = self.decoder.block_count(min_size)?;
            if count == 0 {
                return Ok(Some(values));
            }
            values.reserve_exact(count);
            for _ in 0..count {
                let mut item = FieldReader {
                    schema: self.schema,
                    decoder: self.decoder,
                    node: *item,
                };
                values.push(item.long()?.required()?);
            }
        }
    }

    /// An array of ints.
    pub fn ints(&mut self) -> Result<Option<Vec<i32>>> {
        let narrow = |values: Vec<i64>| {
            values
                .into_iter()
                .map(i32::try_from)
                .collect::<Result<Vec<_>, _>>()
                .map_err(|_| Error::invalid("array", "it holds a number that is no 32-bit integer"))
        };
        self.longs()?.map(narrow).transpose()
    }
}

/// A value that must not be null.
pub(crate) trait Required<T> {
    /// The value, or an error if it is null.
    fn required(self) -> Result<T>;
}

impl<T> Required<T> for Option<T> {
    #[inline]
    fn required(self) -> Result<T> {
        self.ok_or_else(|| Error::invalid("value", "it is null, but required"))
    }
}

/// The error for a field whose Avro type does not fit.
#[cold]
pub(crate) fn wrong_type(schema: &Schema, found: NodeId, expected: &str) -> Error {
    let found = match schema.kind(found) {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Int => "int",
        Kind::Long => "long",
        Kind::Float => "float",
        Kind::Double => "double",
        Kind::Bytes => "bytes",
        Kind::String => "string",
        Kind::Fixed(_) => "fixed",
        Kind::Enum(_) => "enum",
        Kind::Array(_) => "array",
        Kind::Map(_) => "map",
        Kind::Record(_) => "record",
        Kind::Union(_) => "union",
    };
    Error::invalid("Avro type", format!("expected {expected}, found {found}"))
}

/// Says where an error was found.
#[cold]
pub(crate) fn at(error: Error, place: impl FnOnce() -> String) -> Error {
    match error {
        Error::Invalid { what, reason } if what == "value" => Error::Invalid {
            what: place(),
            reason,
        },
        Error::Invalid { what, reason } => Error::Invalid {
            what: place(),
            reason: format!("{what}: {reason}"),
        },
        other => other,
    }
}

/// Sizes, offsets and sequence numbers.
pub(crate) fn not_negative(value: i64) -> Result<i64> {
    if value < 0 {
        return Err(Error::invalid("value", format!("{value} is negative")));
    }
    Ok(value)
}

/// Refuses key metadata: nothing here can decrypt what it belongs to (§ Table encryption).
pub(crate) fn refuse_encryption(key_metadata: Option<&[u8]>, of: &str) -> Result<()> {
    match key_metadata {
        None | Some([]) => Ok(()),
        Some(_) => Err(Error::unsupported(format!(
            "encrypted tables: an entry of a {of} has key_metadata"
        ))),
    }
}

/// After its last record a block holds nothing more.
pub(crate) fn expect_end(decoder: &Decoder<'_>) -> Result<()> {
    match decoder.remaining() {
        0 => Ok(()),
        rest => Err(Error::invalid(
            "Avro block",
            format!("{rest} bytes follow its last record"),
        )),
    }
}

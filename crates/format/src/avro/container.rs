//! The object container: header and blocks.

use std::collections::HashMap;

use super::{Codec, Decoder, Schema};
use crate::error::{Error, Result};

pub(super) const MAGIC: &[u8] = b"Obj\x01";
const SYNC_SIZE: usize = 16;

/// An Avro file: its header, and where its blocks start.
#[derive(Debug, Clone)]
pub struct Container<'a> {
    bytes: &'a [u8],
    metadata: HashMap<&'a str, &'a [u8]>,
    schema: Schema,
    codec: Codec,
    sync: &'a [u8],
    first_block: usize,
}

/// What stands before the data of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHead {
    /// How many records the block holds.
    pub count: usize,
    /// The bytes of the head itself.
    pub length: usize,
    /// The bytes of the compressed records that follow it.
    pub data_length: usize,
}

impl BlockHead {
    /// No head is longer, in bytes.
    pub const MAX_LENGTH: usize = 20;

    /// Reads the head at the start of `bytes`.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut decoder = Decoder::new(bytes);
        let mut size = |what: &str| {
            let size = decoder.long()?;
            usize::try_from(size).map_err(|_| Error::invalid("Avro block", format!("{size} is no {what}")))
        };
        Ok(Self {
            count: size("number of records")?,
            data_length: size("size of a block")?,
            length: decoder.position(),
        })
    }

    /// The bytes of the block with its head and the sync marker after it.
    pub fn block_length(&self) -> usize {
        self.length
            .saturating_add(self.data_length)
            .saturating_add(SYNC_SIZE)
    }

    /// The data of the block that `block`, all its bytes, holds. `sync` is the marker of the file.
    pub fn data<'b>(&self, block: &'b [u8], sync: &[u8]) -> Result<&'b [u8]> {
        let mut decoder = Decoder::new(block);
        decoder.take(self.length)?;
        let data = decoder.take(self.data_length)?;
        if decoder.take(SYNC_SIZE)? != sync {
            return Err(Error::invalid("Avro block", "there is no sync marker after it"));
        }
        Ok(data)
    }
}

/// A block as it is stored. Blocks can be decoded in any order and in parallel.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// How many records it holds.
    pub count: usize,
    /// Its compressed records.
    pub data: &'a [u8],
}

impl<'a> Container<'a> {
    /// Reads the header of a file.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        let mut decoder = Decoder::new(bytes);
        if decoder.take(MAGIC.len()).ok() != Some(MAGIC) {
            return Err(foreign(bytes));
        }
        let mut metadata = HashMap::new();
        loop {
            let count = decoder.block_count(2)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                let key = decoder.string()?;
                metadata.insert(key, decoder.bytes()?);
            }
        }
        let sync = decoder.take(SYNC_SIZE)?;
        let text = |key| text(&metadata, key);
        let schema =
            text("avro.schema")?.ok_or_else(|| Error::invalid("Avro header", "`avro.schema` is missing"))?;
        let codec = text("avro.codec")?.unwrap_or("null");
        Ok(Self {
            schema: Schema::parse(schema)?,
            codec: Codec::from_name(codec)?,
            bytes,
            metadata,
            sync,
            first_block: decoder.position(),
        })
    }

    /// The schema that the records were written with.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// How the blocks are compressed.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The marker between blocks.
    pub fn sync(&self) -> &'a [u8] {
        self.sync
    }

    /// Where the first block starts, in bytes.
    pub fn first_block(&self) -> usize {
        self.first_block
    }

    /// The text under a key of the header, `None` if there is no such key.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>> {
        text(&self.metadata, key)
    }

    /// The blocks in order.
    pub fn blocks(&self) -> Result<Vec<Block<'a>>> {
        let mut rest = self.bytes.get(self.first_block..).unwrap_or_default();
        let mut blocks = Vec::new();
        while !rest.is_empty() {
            let head = BlockHead::read(rest)?;
            let data = head.data(rest, self.sync)?;
            blocks.push(Block {
                count: head.count,
                data,
            });
            rest = rest.get(head.block_length()..).unwrap_or_default();
        }
        Ok(blocks)
    }
}

fn text<'a>(metadata: &HashMap<&'a str, &'a [u8]>, key: &str) -> Result<Option<&'a str>> {
    let of = |bytes| {
        std::str::from_utf8(bytes)
            .map_err(|_| Error::invalid("Avro header", format!("the value of `{key}` is no UTF-8")))
    };
    metadata.get(key).copied().map(of).transpose()
}

fn foreign(bytes: &[u8]) -> Error {
    match bytes.get(..4) {
        Some(b"PAR1") => Error::unsupported("manifests in Parquet, a draft of format version 4"),
        Some(b"AGS1") => Error::unsupported("encrypted tables: this Avro file is encrypted (AES-GCM stream)"),
        _ => Error::invalid(
            "Avro file",
            "expected the bytes `Obj` 01 at the start; the file is truncated or of another kind",
        ),
    }
}

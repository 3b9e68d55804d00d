//! Writing object container files.
//!
//! The header keeps the schema's JSON as it is given: other readers look for `field-id`, `element-id`, the logical type
//! `map` on arrays and `adjust-to-utc`, none of which a general Avro library is bound to keep.

use std::io::Write;

use super::Codec;
use super::container::MAGIC;
use crate::error::{Error, Result};

/// A block is written once it holds so many bytes, before compression.
const BLOCK_SIZE: usize = 64_000;

/// Values in Avro's binary encoding, one after another.
#[derive(Debug, Clone, Default)]
pub struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    /// An int or long; also the branch of a union and the count of an array.
    pub fn long(&mut self, value: i64) {
        let mut rest = (value << 1 ^ value >> 63).cast_unsigned();
        while rest > 0x7f {
            self.bytes.push(rest.to_le_bytes()[0] | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest.to_le_bytes()[0]);
    }

    /// A boolean.
    pub fn boolean(&mut self, value: bool) {
        self.bytes.push(value.into());
    }

    /// A number of items or bytes.
    pub fn size(&mut self, size: usize) {
        // No allocation is larger than an i64 can say.
        self.long(i64::try_from(size).unwrap_or(i64::MAX));
    }

    /// Bytes, or a string, with their length before them.
    pub fn bytes(&mut self, value: &[u8]) {
        self.size(value.len());
        self.raw(value);
    }

    /// Bytes as they are: a fixed, a float, a double.
    pub fn raw(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
    }

    /// A value of a union of null and something, in this order.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        match value {
            None => self.long(0),
            Some(value) => {
                self.long(1);
                write(self, value);
            }
        }
    }

    /// An array in one block.
    pub fn array<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        let count = items.len();
        if count > 0 {
            self.size(count);
            for item in items {
                write(self, item);
            }
        }
        self.size(0);
    }

    /// What was written.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets what was written.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// Writes an Avro file into memory.
#[derive(Debug)]
pub struct ContainerWriter {
    file: Encoder,
    block: Encoder,
    block_count: usize,
    codec: Codec,
    sync: [u8; 16],
}

impl ContainerWriter {
    /// A file without records. `schema` is the JSON of the schema, `metadata` what else the header has.
    pub fn new(schema: &str, codec: Codec, metadata: &[(&str, String)]) -> Self {
        let mut file = Encoder::default();
        file.raw(MAGIC);
        let avro = [("avro.schema", schema), ("avro.codec", codec.name())];
        let all: Vec<_> = metadata
            .iter()
            .map(|(k, v)| (*k, v.as_str()))
            .chain(avro)
            .collect();
        file.array(all.into_iter(), |e, (key, value)| {
            e.bytes(key.as_bytes());
            e.bytes(value.as_bytes());
        });
        let sync = uuid::Uuid::new_v4().into_bytes();
        file.raw(&sync);
        Self {
            file,
            block: Encoder::default(),
            block_count: 0,
            codec,
            sync,
        }
    }

    /// Adds a record, already encoded.
    pub fn record(&mut self, record: &[u8]) -> Result<()> {
        self.block.raw(record);
        self.block_count += 1;
        if self.block.as_slice().len() >= BLOCK_SIZE {
            self.end_block()?;
        }
        Ok(())
    }

    /// How many bytes were written so far; what the current block will be compressed to is guessed.
    pub fn size_estimate(&self) -> usize {
        self.file.as_slice().len() + self.block.as_slice().len() / 4
    }

    /// The bytes of the file.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.end_block()?;
        Ok(self.file.bytes)
    }

    fn end_block(&mut self) -> Result<()> {
        if self.block_count > 0 {
            let data = self.codec.deflate(self.block.as_slice())?;
            self.file.size(self.block_count);
            self.file.bytes(&data);
            self.file.raw(&self.sync);
            self.block.clear();
            self.block_count = 0;
        }
        Ok(())
    }
}

impl Codec {
    /// Its name in `avro.codec`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Deflate => "deflate",
            Self::Snappy => "snappy",
            Self::Zstandard => "zstandard",
        }
    }

    /// Compresses a block.
    fn deflate(self, data: &[u8]) -> Result<Vec<u8>> {
        let failed = |e: String| Error::invalid(format!("{} block of an Avro file", self.name()), e);
        match self {
            Self::Null => Ok(data.to_vec()),
            Self::Deflate => {
                let mut encoder =
                    flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(data).map_err(|e| failed(e.to_string()))?;
                encoder.finish().map_err(|e| failed(e.to_string()))
            }
            Self::Snappy => {
                let mut compressed = snap::raw::Encoder::new()
                    .compress_vec(data)
                    .map_err(|e| failed(e.to_string()))?;
                compressed.extend_from_slice(&crc32fast::hash(data).to_be_bytes());
                Ok(compressed)
            }
            Self::Zstandard => zstd::bulk::compress(data, 3).map_err(|e| failed(e.to_string())),
        }
    }
}

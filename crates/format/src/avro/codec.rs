//! Compression of blocks.

use std::io::Read;

use crate::error::{Error, Result};

/// How the blocks of a file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    Null,
    /// Deflate without a header, which Iceberg calls gzip.
    Deflate,
    /// Snappy, followed by the CRC-32 of the data.
    Snappy,
    /// Zstandard frames.
    Zstandard,
}

/// A block that inflates to more than this is refused.
const MAX_INFLATED: usize = 1 << 30;

/// Whatever its input, a block may inflate to so much.
const ALWAYS_ALLOWED: usize = 1 << 24;

/// Deflate cannot do better than about 1032 to 1; of the others nothing sensible does.
const MAX_RATIO: usize = 1100;

/// Larger windows than 32 MiB are refused: a frame asks for its window before its data is seen.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;

impl Codec {
    /// The codec with this name in `avro.codec`.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "null" | "" => Ok(Self::Null),
            "deflate" => Ok(Self::Deflate),
            "snappy" => Ok(Self::Snappy),
            "zstandard" => Ok(Self::Zstandard),
            other => Err(Error::unsupported(format!(
                "the Avro codec `{other}`; null, deflate, snappy and zstandard are read"
            ))),
        }
    }

    /// Inflates a block into `buffer`, whose former content is dropped, and returns what is to be decoded.
    pub fn inflate<'a>(self, data: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        buffer.clear();
        let limit = data
            .len()
            .saturating_mul(MAX_RATIO)
            .clamp(ALWAYS_ALLOWED, MAX_INFLATED);
        match self {
            Self::Null => return Ok(data),
            Self::Deflate => inflate_deflate(data, buffer, limit)?,
            Self::Snappy => inflate_snappy(data, buffer, limit)?,
            Self::Zstandard => inflate_zstandard(data, buffer, limit)?,
        }
        Ok(buffer)
    }
}

fn corrupt(codec: &str, reason: impl ToString) -> Error {
    Error::invalid(format!("{codec} block of an Avro file"), reason.to_string())
}

fn too_large(codec: &str, limit: usize) -> Error {
    corrupt(codec, format!("it inflates to more than {limit} bytes"))
}

fn inflate_deflate(data: &[u8], buffer: &mut Vec<u8>, limit: usize) -> Result<()> {
    use flate2::{Decompress, FlushDecompress, Status};
    let mut inflater = Decompress::new(false);
    buffer.reserve(data.len().saturating_mul(4).clamp(256, limit));
    loop {
        let before = inflater.total_in();
        let done = usize::try_from(before).unwrap_or(usize::MAX);
        let rest = data.get(done..).unwrap_or_default();
        let length = buffer.len();
        let status = inflater
            .decompress_vec(rest, buffer, FlushDecompress::None)
            .map_err(|e| corrupt("deflate", e))?;
        if buffer.len() > limit {
            return Err(too_large("deflate", limit));
        }
        if status == Status::StreamEnd {
            return Ok(());
        }
        if buffer.len() == buffer.capacity() {
            buffer.reserve(buffer.len());
        } else if inflater.total_in() == before && buffer.len() == length {
            return Err(corrupt("deflate", "it ends in the middle of the stream"));
        }
    }
}

fn inflate_snappy(data: &[u8], buffer: &mut Vec<u8>, limit: usize) -> Result<()> {
    let (data, crc) = data
        .len()
        .checked_sub(4)
        .and_then(|length| data.split_at_checked(length))
        .ok_or_else(|| corrupt("snappy", "it is shorter than its checksum"))?;
    let length = snap::raw::decompress_len(data).map_err(|e| corrupt("snappy", e))?;
    // Snappy's best case is 64 bytes for three.
    if length > limit || length / 64 > data.len() {
        return Err(too_large("snappy", limit));
    }
    buffer.resize(length, 0);
    let written = snap::raw::Decoder::new()
        .decompress(data, buffer)
        .map_err(|e| corrupt("snappy", e))?;
    buffer.truncate(written);
    if crc32fast::hash(buffer).to_be_bytes() != crc {
        return Err(corrupt("snappy", "its checksum is wrong"));
    }
    Ok(())
}

fn inflate_zstandard(data: &[u8], buffer: &mut Vec<u8>, limit: usize) -> Result<()> {
    let read = |buffer: &mut Vec<u8>| {
        let mut inflater = zstd::stream::read::Decoder::with_buffer(data)?;
        inflater.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        inflater.take(limit.saturating_add(1)).read_to_end(buffer)
    };
    read(buffer).map_err(|e| corrupt("zstandard", e))?;
    if buffer.len() > limit {
        return Err(too_large("zstandard", limit));
    }
    Ok(())
}

//! Puffin files (Puffin spec): blobs, and a footer that says what they are.
//!
//! Deletion vectors and table statistics are kept so. A reader fetches the end of the file, learns from
//! [`footer_size`] how long the footer is, reads it with [`read_footer`] and fetches the blobs it wants.

mod footer;
mod write;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::{Error, Result};

pub use footer::{FOOTER_TRAILER_SIZE, footer_size, read_footer};
pub use write::PuffinWriter;

/// The bytes at both ends of the file and before the footer.
pub const MAGIC: [u8; 4] = *b"PFA1";

/// Blobs and footers that inflate to more bytes are refused.
const MAX_INFLATED: u64 = 1 << 30;

/// What a footer says (Puffin spec § FileMetadata).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PuffinMetadata {
    /// The blobs, in the order of the file.
    pub blobs: Vec<BlobMetadata>,
    /// Free text about the file, such as `created-by`.
    pub properties: BTreeMap<String, String>,
}

/// A blob (Puffin spec § BlobMetadata).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobMetadata {
    /// What it is, such as `deletion-vector-v1` or `apache-datasketches-theta-v1`.
    pub blob_type: String,
    /// The fields it was computed for, by field id.
    pub fields: Vec<i32>,
    /// The snapshot it was computed from; -1 for deletion vectors.
    pub snapshot_id: i64,
    /// The sequence number of that snapshot; -1 for deletion vectors.
    pub sequence_number: i64,
    /// Where it starts, in bytes.
    pub offset: u64,
    /// How long it is as stored, in bytes.
    pub length: u64,
    /// How it is compressed.
    pub compression: BlobCompression,
    /// Free text about the blob.
    pub properties: BTreeMap<String, String>,
}

/// How a blob is compressed (Puffin spec § Compression codecs).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BlobCompression {
    /// Not at all.
    #[default]
    None,
    /// A single LZ4 frame.
    Lz4,
    /// A single Zstandard frame.
    Zstd,
    /// One that is not known here; the blob cannot be read.
    Other(String),
}

impl BlobMetadata {
    /// The content of the blob, of the bytes it is stored as.
    pub fn decompress(&self, stored: &[u8]) -> Result<Vec<u8>> {
        let what = || format!("Puffin blob {}", self.blob_type);
        if u64::try_from(stored.len()) != Ok(self.length) {
            return Err(Error::invalid(
                what(),
                format!(
                    "the footer gives it {} bytes, there are {}",
                    self.length,
                    stored.len()
                ),
            ));
        }
        match &self.compression {
            BlobCompression::None => Ok(stored.to_vec()),
            BlobCompression::Lz4 => inflate_lz4(stored, &what()),
            BlobCompression::Zstd => inflate_zstd(stored, &what()),
            BlobCompression::Other(codec) => Err(Error::unsupported(format!(
                "the compression `{codec}` of a {}; lz4 and zstd are read",
                what()
            ))),
        }
    }
}

fn inflate_lz4(stored: &[u8], what: &str) -> Result<Vec<u8>> {
    read_limited(lz4_flex::frame::FrameDecoder::new(stored), what)
}

fn inflate_zstd(stored: &[u8], what: &str) -> Result<Vec<u8>> {
    let corrupt = |e: std::io::Error| Error::invalid(what, e.to_string());
    let mut inflater = zstd::stream::read::Decoder::with_buffer(stored).map_err(corrupt)?;
    inflater.window_log_max(25).map_err(corrupt)?;
    read_limited(inflater, what)
}

fn read_limited(inflater: impl Read, what: &str) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    inflater
        .take(MAX_INFLATED + 1)
        .read_to_end(&mut content)
        .map_err(|e| Error::invalid(what, e.to_string()))?;
    if u64::try_from(content.len()).is_ok_and(|size| size <= MAX_INFLATED) {
        Ok(content)
    } else {
        Err(Error::invalid(
            what,
            format!("it inflates to more than {MAX_INFLATED} bytes"),
        ))
    }
}

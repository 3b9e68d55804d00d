//! Writing Puffin files.

use std::io::Write;

use super::footer::write_footer;
use super::{BlobCompression, BlobMetadata, MAGIC, PuffinMetadata};
use crate::error::{Error, Result};

/// Puts blobs into a Puffin file, in memory.
#[derive(Debug)]
pub struct PuffinWriter {
    bytes: Vec<u8>,
    metadata: PuffinMetadata,
}

impl Default for PuffinWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl PuffinWriter {
    /// A file without blobs.
    pub fn new() -> Self {
        Self {
            bytes: MAGIC.to_vec(),
            metadata: PuffinMetadata::default(),
        }
    }

    /// Says something about the whole file, such as `created-by`.
    pub fn set_property(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.metadata.properties.insert(name.into(), value.into());
    }

    /// Adds a blob, compressed as `blob` says. Its offset and length are set here; what is stored is returned, for the
    /// manifest.
    pub fn add(&mut self, blob: BlobMetadata, content: &[u8]) -> Result<BlobMetadata> {
        let stored = match &blob.compression {
            BlobCompression::None => content.to_vec(),
            BlobCompression::Lz4 => deflate_lz4(content)?,
            BlobCompression::Zstd => deflate_zstd(content)?,
            BlobCompression::Other(codec) => {
                return Err(Error::unsupported(format!(
                    "writing Puffin blobs compressed by `{codec}`"
                )));
            }
        };
        let size = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
        let blob = BlobMetadata {
            offset: size(self.bytes.len()),
            length: size(stored.len()),
            ..blob
        };
        self.bytes.extend_from_slice(&stored);
        self.metadata.blobs.push(blob.clone());
        Ok(blob)
    }

    /// The bytes of the file and what its footer says.
    pub fn finish(mut self) -> Result<(Vec<u8>, PuffinMetadata)> {
        self.bytes.extend(write_footer(&self.metadata)?);
        Ok((self.bytes, self.metadata))
    }
}

fn failed(e: impl ToString) -> Error {
    Error::invalid("Puffin blob", e.to_string())
}

/// One frame that names the size of its content, as the specification asks for.
fn deflate_lz4(content: &[u8]) -> Result<Vec<u8>> {
    let info = lz4_flex::frame::FrameInfo::new().content_size(u64::try_from(content.len()).ok());
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(content).map_err(failed)?;
    encoder.finish().map_err(failed)
}

/// One frame that names the size of its content, as the specification asks for.
fn deflate_zstd(content: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::compress(content, 3).map_err(failed)
}

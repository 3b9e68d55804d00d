//! Compression of metadata files.

use std::io::Write;

use drumlin_format::metadata::TableMetadata;
use drumlin_table::{Error, Result};
use flate2::Compression;
use flate2::write::GzEncoder;

/// The table property that names the codec of metadata files; none where it is not set.
pub const METADATA_CODEC: &str = "write.metadata.compression-codec";

/// How metadata files are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// JSON as it is.
    None,
    /// JSON in gzip.
    Gzip,
}

impl Codec {
    /// The codec that a table asks for.
    ///
    /// # Errors
    /// [`Error::Property`] for one that metadata files cannot have.
    pub fn of(metadata: &TableMetadata) -> Result<Self> {
        let value = metadata.property(METADATA_CODEC).unwrap_or("none");
        match value.to_ascii_lowercase().as_str() {
            "none" => Ok(Self::None),
            "gzip" => Ok(Self::Gzip),
            _ => Err(Error::Property {
                key: METADATA_CODEC.to_string(),
                value: value.to_string(),
                expected: "none or gzip".to_string(),
            }),
        }
    }

    /// How the names of files end, after a dot.
    pub fn ending(self) -> &'static str {
        match self {
            Self::None => "metadata.json",
            Self::Gzip => "gz.metadata.json",
        }
    }

    /// The bytes of a file with this text.
    ///
    /// # Errors
    /// [`Error::Format`] if it cannot be compressed.
    pub fn encode(self, json: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Self::None => Ok(json),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                let bytes = encoder.write_all(&json).and_then(|()| encoder.finish());
                bytes.map_err(|e| Error::Format(drumlin_format::Error::invalid("gzip stream", e.to_string())))
            }
        }
    }
}

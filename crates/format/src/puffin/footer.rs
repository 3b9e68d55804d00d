//! The footer: magic, JSON, its size, flags, magic.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BlobCompression, BlobMetadata, MAGIC, PuffinMetadata, inflate_lz4};
use crate::error::{Error, Result};

/// The size of what follows the JSON, in bytes: its size, the flags and the magic. They end the file.
pub const FOOTER_TRAILER_SIZE: u64 = 12;

/// Flag: the JSON is an LZ4 frame.
const COMPRESSED: u32 = 1;

fn invalid(reason: impl Into<String>) -> Error {
    Error::invalid("Puffin footer", reason)
}

/// The size of the whole footer in bytes, given the last 12 bytes of the file ([`FOOTER_TRAILER_SIZE`]) and the file's
/// size.
pub fn footer_size(trailer: &[u8], file_size: u64) -> Result<u64> {
    let size = u64::from(Trailer::read(trailer)?.payload_size) + FOOTER_TRAILER_SIZE + 4;
    // The file starts with a magic of its own.
    if size + 4 > file_size {
        return Err(invalid(format!("it has {size} bytes, the file only {file_size}")));
    }
    Ok(size)
}

/// Reads a footer, given the bytes from its magic to the end of the file, or the whole file.
///
/// Flags that are not known here are refused.
pub fn read_footer(bytes: &[u8]) -> Result<PuffinMetadata> {
    let (rest, trailer) = bytes
        .len()
        .checked_sub(12)
        .and_then(|at| bytes.split_at_checked(at))
        .ok_or_else(|| invalid("it is truncated"))?;
    let trailer = Trailer::read(trailer)?;
    let (rest, payload) = usize::try_from(trailer.payload_size)
        .ok()
        .and_then(|size| rest.len().checked_sub(size))
        .and_then(|at| rest.split_at_checked(at))
        .ok_or_else(|| invalid(format!("its JSON of {} bytes is truncated", trailer.payload_size)))?;
    if !rest.ends_with(&MAGIC) {
        return Err(invalid("expected the bytes `PFA1` before the JSON"));
    }
    let inflated;
    let json = if trailer.compressed {
        inflated = inflate_lz4(payload, "Puffin footer")?;
        inflated.as_slice()
    } else {
        payload
    };
    let footer: FooterJson = serde_json::from_slice(json).map_err(|e| invalid(e.to_string()))?;
    footer.try_into()
}

/// The footer's bytes, uncompressed.
pub(super) fn write_footer(metadata: &PuffinMetadata) -> Result<Vec<u8>> {
    let json = FooterJson {
        blobs: metadata.blobs.iter().map(BlobJson::from).collect(),
        properties: Some(metadata.properties.clone()).filter(|p| !p.is_empty()),
    };
    let json = serde_json::to_vec(&json).map_err(|e| invalid(e.to_string()))?;
    let size = i32::try_from(json.len()).map_err(|_| invalid("it has more than 2 GiB"))?;
    Ok([
        MAGIC.as_slice(),
        &json,
        &size.to_le_bytes(),
        &0u32.to_le_bytes(),
        &MAGIC,
    ]
    .concat())
}

struct Trailer {
    payload_size: u32,
    compressed: bool,
}

impl Trailer {
    fn read(bytes: &[u8]) -> Result<Self> {
        let (size, rest) = bytes
            .split_first_chunk::<4>()
            .ok_or_else(|| invalid("it is truncated"))?;
        let (flags, magic) = rest
            .split_first_chunk::<4>()
            .ok_or_else(|| invalid("it is truncated"))?;
        if magic != MAGIC {
            return Err(invalid("expected the bytes `PFA1` at the end of the file"));
        }
        let flags = u32::from_le_bytes(*flags);
        if flags & !COMPRESSED != 0 {
            return Err(Error::unsupported(format!(
                "the flags {flags:#x} of a Puffin footer"
            )));
        }
        let size = i32::from_le_bytes(*size);
        Ok(Self {
            payload_size: u32::try_from(size).map_err(|_| invalid(format!("{size} is no size")))?,
            compressed: flags & COMPRESSED != 0,
        })
    }
}

#[derive(Serialize, Deserialize)]
struct FooterJson {
    blobs: Vec<BlobJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    properties: Option<BTreeMap<String, String>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct BlobJson {
    #[serde(rename = "type")]
    blob_type: String,
    fields: Vec<i32>,
    snapshot_id: i64,
    sequence_number: i64,
    offset: i64,
    length: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compression_codec: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    properties: Option<BTreeMap<String, String>>,
}

impl TryFrom<FooterJson> for PuffinMetadata {
    type Error = Error;

    fn try_from(footer: FooterJson) -> Result<Self> {
        Ok(Self {
            blobs: footer
                .blobs
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_>>()?,
            properties: footer.properties.unwrap_or_default(),
        })
    }
}

impl TryFrom<BlobJson> for BlobMetadata {
    type Error = Error;

    fn try_from(blob: BlobJson) -> Result<Self> {
        let size = |name: &str, value: i64| {
            u64::try_from(value).map_err(|_| invalid(format!("{name} {value} of a blob is negative")))
        };
        Ok(Self {
            offset: size("offset", blob.offset)?,
            length: size("length", blob.length)?,
            compression: match blob.compression_codec.as_deref() {
                None => BlobCompression::None,
                Some("lz4") => BlobCompression::Lz4,
                Some("zstd") => BlobCompression::Zstd,
                Some(other) => BlobCompression::Other(other.to_owned()),
            },
            blob_type: blob.blob_type,
            fields: blob.fields,
            snapshot_id: blob.snapshot_id,
            sequence_number: blob.sequence_number,
            properties: blob.properties.unwrap_or_default(),
        })
    }
}

impl From<&BlobMetadata> for BlobJson {
    fn from(blob: &BlobMetadata) -> Self {
        Self {
            blob_type: blob.blob_type.clone(),
            fields: blob.fields.clone(),
            snapshot_id: blob.snapshot_id,
            sequence_number: blob.sequence_number,
            offset: i64::try_from(blob.offset).unwrap_or(i64::MAX),
            length: i64::try_from(blob.length).unwrap_or(i64::MAX),
            compression_codec: match &blob.compression {
                BlobCompression::None => None,
                BlobCompression::Lz4 => Some("lz4".into()),
                BlobCompression::Zstd => Some("zstd".into()),
                BlobCompression::Other(codec) => Some(codec.clone()),
            },
            properties: Some(blob.properties.clone()).filter(|p| !p.is_empty()),
        }
    }
}

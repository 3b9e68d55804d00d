//! The blob `deletion-vector-v1`: length, magic, bitmaps by the high 32 bits of positions, checksum.

use roaring::{RoaringBitmap, RoaringTreemap};

use super::DeletionVector;
use crate::error::{Error, Result};

/// The type of the blob in its Puffin file.
pub const DELETION_VECTOR_BLOB_TYPE: &str = "deletion-vector-v1";

/// The longest blob, in bytes: 2 GiB, as its length is an `int` to other readers.
pub const MAX_DELETION_VECTOR_SIZE: u64 = 0x7fff_ffff;

const MAGIC: [u8; 4] = [0xd1, 0xd3, 0x39, 0x64];
const LENGTH_SIZE: usize = 4;
const CRC_SIZE: usize = 4;

/// A key and the head of an empty bitmap.
const MIN_BITMAP_SIZE: usize = 12;

fn invalid(reason: impl Into<String>) -> Error {
    Error::invalid("deletion vector", reason)
}

impl DeletionVector {
    /// Reads a blob: exactly the bytes that the manifest's `content_offset` and `content_size_in_bytes` or the Puffin
    /// footer name. Length, magic and checksum must be right.
    pub fn from_blob(blob: &[u8]) -> Result<Self> {
        let (length, rest) = blob
            .split_first_chunk::<LENGTH_SIZE>()
            .ok_or_else(|| invalid("it is shorter than its length field"))?;
        let (content, crc) = rest
            .split_last_chunk::<CRC_SIZE>()
            .ok_or_else(|| invalid("it is shorter than its checksum"))?;
        let length = u32::from_be_bytes(*length);
        if usize::try_from(length) != Ok(content.len()) {
            return Err(invalid(format!(
                "it says that it has {length} bytes, there are {}",
                content.len()
            )));
        }
        let bitmaps = content
            .strip_prefix(&MAGIC)
            .ok_or_else(|| invalid("expected the bytes d1 d3 39 64 before the bitmap"))?;
        if crc32fast::hash(content) != u32::from_be_bytes(*crc) {
            return Err(invalid("its checksum is wrong"));
        }
        Ok(Self {
            positions: read_bitmaps(bitmaps)?,
        })
    }

    /// The blob. Bitmaps are run-length encoded where that is shorter.
    pub fn to_blob(&self) -> Result<Vec<u8>> {
        let mut positions = self.positions.clone();
        positions.optimize();
        let size = MAGIC.len() + positions.serialized_size();
        let length = u32::try_from(size)
            .ok()
            .filter(|length| u64::from(*length) <= MAX_DELETION_VECTOR_SIZE)
            .ok_or_else(|| invalid(format!("{size} bytes are more than one can have")))?;
        let mut blob = Vec::with_capacity(LENGTH_SIZE + size + CRC_SIZE);
        blob.extend_from_slice(&length.to_be_bytes());
        blob.extend_from_slice(&MAGIC);
        positions
            .serialize_into(&mut blob)
            .map_err(|e| invalid(e.to_string()))?;
        let crc = crc32fast::hash(blob.get(LENGTH_SIZE..).unwrap_or_default());
        blob.extend_from_slice(&crc.to_be_bytes());
        Ok(blob)
    }
}

/// Keys ascend; gaps and empty bitmaps are allowed.
fn read_bitmaps(bytes: &[u8]) -> Result<RoaringTreemap> {
    let (count, mut rest) = bytes
        .split_first_chunk::<8>()
        .ok_or_else(|| invalid("it ends in the number of its bitmaps"))?;
    let count = u64::from_le_bytes(*count);
    if usize::try_from(count).is_ok_and(|count| count <= rest.len() / MIN_BITMAP_SIZE) {
        let mut bitmaps = Vec::new();
        let mut last = None;
        for _ in 0..count {
            let (key, bitmap) = rest
                .split_first_chunk::<4>()
                .ok_or_else(|| invalid("it ends in a key"))?;
            let key = u32::from_le_bytes(*key);
            if last >= Some(key) {
                return Err(invalid(format!("the key {key} does not ascend")));
            }
            if key > u32::MAX >> 1 {
                return Err(invalid(format!(
                    "the key {key} makes positions of more than 63 bits"
                )));
            }
            last = Some(key);
            rest = bitmap;
            let bitmap = RoaringBitmap::deserialize_from(&mut rest)
                .map_err(|e| invalid(format!("the bitmap of the key {key}: {e}")))?;
            bitmaps.push((key, bitmap));
        }
        if !rest.is_empty() {
            return Err(invalid(format!("{} bytes follow its bitmaps", rest.len())));
        }
        return Ok(bitmaps.into_iter().filter(|(_, b)| !b.is_empty()).collect());
    }
    Err(invalid(format!(
        "{count} bitmaps are announced in {} bytes",
        rest.len()
    )))
}

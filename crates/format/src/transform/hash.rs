//! The hash of the bucket transform (§ Appendix B: 32-bit Hash Requirements).

use crate::value::Value;
use crate::value::bytes::decimal_to_bytes;

/// MurmurHash3, x86 variant of 32 bits, seed 0.
pub fn murmur3_x86_32(bytes: &[u8]) -> u32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let scramble = |block: u32| block.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = 0u32;
    for block in blocks {
        hash ^= scramble(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !tail.is_empty() {
        let last = tail.iter().rev().fold(0u32, |acc, b| acc << 8 | u32::from(*b));
        hash ^= scramble(last);
    }
    // The algorithm mixes in the length modulo 2^32.
    #[allow(clippy::cast_possible_truncation)]
    let length = bytes.len() as u32;
    hash ^= length;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// The hash of a value; timestamps are in µs here. Int and date hash like the long of the same number, so that a
/// promotion keeps the bucket. `None` for types that have no hash for buckets: boolean, float, double, nested.
pub fn hash_value(value: &Value) -> Option<i32> {
    let hash = match value {
        Value::Int(v) => murmur3_x86_32(&i64::from(*v).to_le_bytes()),
        Value::Long(v) => murmur3_x86_32(&v.to_le_bytes()),
        Value::Decimal(v) => murmur3_x86_32(&decimal_to_bytes(*v)),
        Value::String(v) => murmur3_x86_32(v.as_bytes()),
        Value::Bytes(v) => murmur3_x86_32(v),
        Value::Boolean(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Struct(_)
        | Value::List(_)
        | Value::Map(_) => return None,
    };
    Some(hash.cast_signed())
}

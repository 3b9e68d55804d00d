//! Partition values as text in the paths of data files. Such paths are for people and for partition discovery by
//! other tools; what counts is the tuple in the manifest.

use super::{PartitionSpec, PartitionTuple};
use crate::transform::Transform;
use crate::transform::calendar::civil_from_days;
use crate::types::PrimitiveType;
use crate::value::Value;
use crate::value::text::to_text;

impl Transform {
    /// A partition value for people: `2024`, `2024-02`, `2024-02-10` and `2024-02-10-13` for date parts, base64 for
    /// bytes, `null` for null. `result` is the type of the value ([`Transform::result_type`]).
    pub fn to_human_text(&self, value: Option<&Value>, result: &PrimitiveType) -> String {
        let Some(value) = value else {
            return "null".into();
        };
        match (self, value) {
            (Self::Year, Value::Int(v)) => format!("{:04}", i64::from(*v) + 1970),
            (Self::Month, Value::Int(v)) => {
                let (year, month) = (v.div_euclid(12), v.rem_euclid(12) + 1);
                format!("{:04}-{month:02}", i64::from(year) + 1970)
            }
            (Self::Day, Value::Int(v)) => day(i64::from(*v)),
            (Self::Hour, Value::Int(v)) => {
                format!("{}-{:02}", day(i64::from(v.div_euclid(24))), v.rem_euclid(24))
            }
            (_, Value::Bytes(bytes)) if *result != PrimitiveType::Uuid => base64(bytes),
            _ => to_text(value, result),
        }
    }
}

impl PartitionSpec {
    /// The folder of a partition below the data folder, `name=value/name=value`, both parts URL-encoded; empty for the
    /// unpartitioned spec. `results` are the types of the tuple, in the order of the spec.
    pub fn partition_path(&self, tuple: &PartitionTuple, results: &[PrimitiveType]) -> String {
        let segments = self
            .fields()
            .iter()
            .zip(tuple)
            .zip(results)
            .map(|((field, value), result)| {
                let text = field.transform.to_human_text(value.as_ref(), result);
                format!("{}={}", url_encoded(&field.name), url_encoded(&text))
            });
        segments.collect::<Vec<_>>().join("/")
    }
}

fn day(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// As HTML forms are: letters, digits and `.-*_` as they are, space as `+`, all other bytes as `%XX`.
fn url_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => {
                encoded.push(char::from(byte))
            }
            b' ' => encoded.push('+'),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

/// The standard alphabet, padded.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let symbol = ALPHABET.get((bits >> (18 - 6 * digit) & 63) as usize);
            match symbol {
                Some(s) if digit as usize <= chunk.len() => encoded.push(char::from(*s)),
                _ => encoded.push('='),
            }
        }
    }
    encoded
}

//! The end of an ORC file: what its types say of themselves.
//!
//! The messages are Protocol Buffers. Only the few fields that are needed are looked at; the rest is for the reader.

use std::collections::HashMap;
use std::io::Read;

use bytes::Bytes;
use orc_rust::compression::{Compression, Decompressor};
use orc_rust::reader::metadata::read_metadata;

use crate::data_file::bytes::FileBytes;
use crate::error::Result;

/// The first request for the end of the file, in bytes.
const FIRST_TAIL: u64 = 64 << 10;

/// A footer that inflates to more than this is refused.
const MAX_FOOTER: u64 = 64 << 20;

/// How deep types may nest.
const MAX_DEPTH: usize = 64;

/// The length of a compressed chunk has 23 bits, and nothing in it is larger when it is inflated.
const MAX_CHUNK: u64 = 1 << 23;

/// Wire types of Protocol Buffers.
const VARINT: u64 = 0;
const BYTES: u64 = 2;

/// The postscript's fields.
mod postscript {
    pub const FOOTER_LENGTH: u64 = 1;
    pub const COMPRESSION: u64 = 2;
    pub const COMPRESSION_BLOCK_SIZE: u64 = 3;
    pub const METADATA_LENGTH: u64 = 5;
}

/// The end of the file.
pub struct Tail {
    /// Metadata, footer and postscript, at least.
    pub bytes: Bytes,
    /// The footer, as it is stored.
    footer: Bytes,
    /// The kind of compression and the size of its chunks, as the postscript says.
    compression: (u64, u64),
}

/// A type of the file. Its place among the types is the number of the column.
#[derive(Debug, Clone, Default)]
pub struct OrcType {
    /// The types inside, all of them further back.
    subtypes: Vec<u64>,
    attributes: HashMap<String, String>,
}

impl OrcType {
    /// An attribute.
    pub fn attribute(&self, key: &str) -> Option<&str> {
        self.attributes.get(key).map(String::as_str)
    }
}

/// Reads metadata, footer and postscript.
pub async fn read_tail(bytes: &FileBytes) -> Result<Tail> {
    let size = bytes.size();
    let mut start = size.saturating_sub(FIRST_TAIL);
    let mut tail = bytes.read(start..size).await?;
    let no_orc = || bytes.unreadable("it is no ORC file: there is no postscript at its end");
    let length = u64::from(*tail.last().ok_or_else(no_orc)?);
    let postscript = from_end(&tail, 1, length).ok_or_else(no_orc)?;
    if !postscript.ends_with(b"ORC") {
        return Err(no_orc());
    }
    let mut numbers = HashMap::new();
    for field in Message(&postscript) {
        let (number, value) = field.map_err(|e| bytes.unreadable(e))?;
        if let Value::Number(value) = value {
            numbers.insert(number, value);
        }
    }
    let number = |field| numbers.get(&field).copied();
    let missing = || bytes.unreadable("its postscript does not say how long the footer is");
    let footer_length = number(postscript::FOOTER_LENGTH).ok_or_else(missing)?;
    let metadata_length = number(postscript::METADATA_LENGTH).unwrap_or(0);
    let chunk = number(postscript::COMPRESSION_BLOCK_SIZE).unwrap_or(256 << 10);
    if chunk > MAX_CHUNK {
        return Err(bytes.unreadable(format!("its compressed chunks are said to have {chunk} bytes")));
    }
    let end = footer_length
        .checked_add(metadata_length)
        .and_then(|l| l.checked_add(length + 1))
        .filter(|l| *l <= size)
        .ok_or_else(|| bytes.unreadable("its footer is said to be longer than the file"))?;
    if end > size - start {
        start = size - end;
        tail = bytes.read(start..size).await?;
    }
    let footer = from_end(&tail, length + 1, footer_length).ok_or_else(missing)?;
    Ok(Tail {
        bytes: tail,
        footer,
        compression: (number(postscript::COMPRESSION).unwrap_or(0), chunk),
    })
}

/// So many bytes, which end so many before the end.
fn from_end(bytes: &Bytes, before_end: u64, length: u64) -> Option<Bytes> {
    let end = bytes.len().checked_sub(usize::try_from(before_end).ok()?)?;
    let start = end.checked_sub(usize::try_from(length).ok()?)?;
    Some(bytes.slice(start..end))
}

/// The types of the file.
pub fn types(bytes: &FileBytes, tail: &Tail) -> Result<Vec<OrcType>> {
    let compression = compression(tail.compression).map_err(|e| bytes.unreadable(e))?;
    let mut footer = Vec::new();
    Decompressor::new(tail.footer.clone(), compression, vec![])
        .take(MAX_FOOTER + 1)
        .read_to_end(&mut footer)
        .map_err(|e| bytes.unreadable(e))?;
    if u64::try_from(footer.len()).is_ok_and(|l| l > MAX_FOOTER) {
        return Err(bytes.unreadable(format!("its footer has more than {MAX_FOOTER} bytes")));
    }
    let types = types_of_footer(&footer).map_err(|e| bytes.unreadable(e))?;
    check_tree(&types).map_err(|e| bytes.unreadable(e))?;
    Ok(types)
}

/// The compression as the ORC reader holds it. There is no way to make one but reading a file: so one without columns
/// is read, which has this compression.
fn compression((kind, chunk): (u64, u64)) -> std::result::Result<Option<Compression>, String> {
    if kind == 0 {
        return Ok(None);
    }
    // A footer with one type, a struct, in a chunk that is not compressed.
    let mut file = vec![(4 << 1) | 1, 0, 0, 0x22, 2, 0x08, 12];
    let footer_length = file.len();
    let mut postscript = vec![0x08];
    put_varint(&mut postscript, u64::try_from(footer_length).unwrap_or(u64::MAX));
    postscript.push(0x10);
    put_varint(&mut postscript, kind);
    postscript.push(0x18);
    put_varint(&mut postscript, chunk);
    postscript.extend([0x28, 0]);
    let length = u8::try_from(postscript.len()).map_err(|e| e.to_string())?;
    file.extend(postscript);
    file.push(length);
    let metadata = read_metadata(&mut Bytes::from(file)).map_err(|e| e.to_string())?;
    match metadata.compression() {
        Some(compression) => Ok(Some(compression)),
        None => Err(format!("its compression {kind} is not known")),
    }
}

pub(super) fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or(0);
        value >>= 7;
        to.push(if value == 0 { low } else { low | 0x80 });
        if value == 0 {
            return;
        }
    }
}

fn types_of_footer(footer: &[u8]) -> std::result::Result<Vec<OrcType>, String> {
    const TYPES: u64 = 4;
    const SUBTYPES: u64 = 2;
    const ATTRIBUTES: u64 = 7;
    let mut types = Vec::new();
    for field in Message(footer) {
        let (TYPES, Value::Bytes(of_type)) = field? else {
            continue;
        };
        let mut found = OrcType::default();
        for field in Message(of_type) {
            match field? {
                (SUBTYPES, Value::Number(one)) => found.subtypes.push(one),
                (SUBTYPES, Value::Bytes(mut packed)) => {
                    while !packed.is_empty() {
                        found.subtypes.push(varint(&mut packed)?);
                    }
                }
                (ATTRIBUTES, Value::Bytes(pair)) => {
                    let (mut key, mut text) = (String::new(), String::new());
                    for field in Message(pair) {
                        match field? {
                            (1, Value::Bytes(v)) => key = String::from_utf8_lossy(v).into_owned(),
                            (2, Value::Bytes(v)) => text = String::from_utf8_lossy(v).into_owned(),
                            _ => {}
                        }
                    }
                    found.attributes.insert(key, text);
                }
                _ => {}
            }
        }
        types.push(found);
    }
    Ok(types)
}

/// Refuses types that contain themselves or nest too deep: the reader would follow them to the end of its stack.
fn check_tree(types: &[OrcType]) -> std::result::Result<(), String> {
    let mut depths: Vec<Option<usize>> = vec![None; types.len()];
    if let Some(root) = depths.first_mut() {
        *root = Some(0);
    }
    for (place, of_type) in types.iter().enumerate() {
        let depth = depths.get(place).copied().flatten();
        let depth = depth.ok_or_else(|| format!("its type {place} is inside of no other"))?;
        if depth > MAX_DEPTH {
            return Err("its types nest too deep".to_string());
        }
        for subtype in &of_type.subtypes {
            let inside = usize::try_from(*subtype).ok().filter(|s| *s > place);
            match inside.and_then(|s| depths.get_mut(s)) {
                Some(unset @ None) => *unset = Some(depth + 1),
                _ => return Err(format!("its type {place} cannot contain the type {subtype}")),
            }
        }
    }
    Ok(())
}

/// The fields of a message in their order.
pub(super) struct Message<'a>(pub(super) &'a [u8]);

/// The value of a field.
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A number of fixed size: none of them is needed.
    Other,
}

impl<'a> Iterator for Message<'a> {
    type Item = std::result::Result<(u64, Value<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Message<'a> {
    fn field(&mut self) -> std::result::Result<(u64, Value<'a>), String> {
        let tag = varint(&mut self.0)?;
        let value = match tag & 7 {
            VARINT => Value::Number(varint(&mut self.0)?),
            BYTES => {
                let length = varint(&mut self.0)?;
                Value::Bytes(self.take(length)?)
            }
            1 => self.take(8).map(|_| Value::Other)?,
            5 => self.take(4).map(|_| Value::Other)?,
            other => return Err(format!("its footer has a field of the wire type {other}")),
        };
        Ok((tag >> 3, value))
    }

    fn take(&mut self, length: u64) -> std::result::Result<&'a [u8], String> {
        let split = usize::try_from(length)
            .ok()
            .and_then(|l| self.0.split_at_checked(l));
        let (taken, rest) = split.ok_or("its footer ends in the middle of a field")?;
        self.0 = rest;
        Ok(taken)
    }
}

fn varint(bytes: &mut &[u8]) -> std::result::Result<u64, String> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes
            .split_first()
            .ok_or("its footer ends in the middle of a number")?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("its footer has a number of more than 64 bits".to_string())
}

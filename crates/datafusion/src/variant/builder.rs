//! Writing values: what putting shredded ones together needs.

use datafusion::common::{Result, exec_err};

/// A field of an object that is being written.
pub struct ObjectField<'a> {
    /// Its name.
    pub name: &'a str,
    /// The place of the name in the metadata.
    pub id: usize,
    /// Its value.
    pub value: Vec<u8>,
}

/// Appends a primitive: its type, as the specification numbers them, and its bytes.
pub fn write_primitive(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(kind << 2);
    out.extend_from_slice(bytes);
}

/// Appends a string, in its short form where it has one.
///
/// # Errors
/// It has 4 GiB or more.
pub fn write_string(text: &str, out: &mut Vec<u8>) -> Result<()> {
    match u8::try_from(text.len()) {
        Ok(length) if length < 64 => {
            out.push(length << 2 | 1);
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }
        _ => write_sized(16, text.as_bytes(), out),
    }
}

/// Appends a string or binary with its length.
///
/// # Errors
/// It has 4 GiB or more.
pub fn write_sized(kind: u8, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    write_primitive(kind, &count(bytes.len())?, out);
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends an object.
///
/// # Errors
/// It has 4 GiB or more.
pub fn write_object(mut fields: Vec<ObjectField<'_>>, out: &mut Vec<u8>) -> Result<()> {
    fields.sort_by_key(|f| f.name);
    let total: usize = fields.iter().map(|f| f.value.len()).sum();
    let (large, length) = length(fields.len())?;
    let id_width = width(fields.iter().map(|f| f.id).max().unwrap_or(0))?;
    let offset_width = width(total)?;
    let [id_bits, offset_bits] = [id_width, offset_width].map(bits);
    out.push((large << 4 | id_bits << 2 | offset_bits) << 2 | 2);
    out.extend_from_slice(&length);
    for field in &fields {
        write_integer(field.id, id_width, out);
    }
    write_offsets(fields.iter().map(|f| f.value.len()), offset_width, out);
    for field in &fields {
        out.extend_from_slice(&field.value);
    }
    Ok(())
}

/// Appends an array of elements that are written one after the other, of these lengths.
///
/// # Errors
/// It has 4 GiB or more.
pub fn write_array(lengths: &[usize], values: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let (large, length) = length(lengths.len())?;
    let offset_width = width(values.len())?;
    out.push((large << 2 | bits(offset_width)) << 2 | 3);
    out.extend_from_slice(&length);
    write_offsets(lengths.iter().copied(), offset_width, out);
    out.extend_from_slice(values);
    Ok(())
}

/// The number of elements, and whether it takes four bytes.
fn length(elements: usize) -> Result<(u8, Vec<u8>)> {
    match u8::try_from(elements) {
        Ok(length) => Ok((0, vec![length])),
        Err(_) => Ok((1, count(elements)?.to_vec())),
    }
}

fn count(value: usize) -> Result<[u8; 4]> {
    match u32::try_from(value) {
        Ok(value) => Ok(value.to_le_bytes()),
        Err(_) => exec_err!("a value in a variant is too large: {value}"),
    }
}

/// The bytes that the integer takes, 1 to 4.
fn width(value: usize) -> Result<usize> {
    let used = count(value)?.iter().rposition(|byte| *byte != 0);
    Ok(used.map_or(1, |last| last + 1))
}

/// A width as headers tell it.
fn bits(width: usize) -> u8 {
    match width {
        1 => 0,
        2 => 1,
        3 => 2,
        _ => 3,
    }
}

fn write_integer(value: usize, width: usize, out: &mut Vec<u8>) {
    out.extend(value.to_le_bytes().iter().take(width));
}

/// The offsets of values of these lengths, and the end of the last one.
fn write_offsets(lengths: impl Iterator<Item = usize>, width: usize, out: &mut Vec<u8>) {
    let mut offset = 0;
    write_integer(offset, width, out);
    for length in lengths {
        offset += length;
        write_integer(offset, width, out);
    }
}

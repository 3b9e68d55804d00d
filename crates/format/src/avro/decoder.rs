//! Primitive values of Avro's binary encoding.

use crate::error::{Error, Result};

/// A position in undecoded Avro data. Every read is checked against the end.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    position: usize,
}

#[cold]
fn truncated() -> Error {
    Error::invalid("Avro data", "it ends in the middle of a value")
}

impl<'a> Decoder<'a> {
    /// Starts at the first of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// The offset of the next byte.
    pub fn position(&self) -> usize {
        self.position
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// The bytes already read from `start` on.
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.position).unwrap_or_default()
    }

    /// One byte.
    pub fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.position).ok_or_else(truncated)?;
        self.position += 1;
        Ok(byte)
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.position.checked_add(count).ok_or_else(truncated)?;
        let taken = self.bytes.get(self.position..end).ok_or_else(truncated)?;
        self.position = end;
        Ok(taken)
    }

    /// An int or long: both are zigzag varints.
    #[inline]
    pub fn long(&mut self) -> Result<i64> {
        let first = self.byte()?;
        let mut value = u64::from(first & 0x7f);
        if first & 0x80 != 0 {
            value |= self.varint_rest()?;
        }
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// The bytes of a varint after its first.
    fn varint_rest(&mut self) -> Result<u64> {
        let mut value = 0;
        let mut shift = 7;
        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Error::invalid("Avro data", "a number has more than 64 bits"));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
            if shift > 63 {
                return Err(Error::invalid("Avro data", "a number has more than 10 bytes"));
            }
        }
    }

    /// A long that must fit 32 bits.
    pub fn int(&mut self) -> Result<i32> {
        let value = self.long()?;
        i32::try_from(value).map_err(|_| Error::invalid("Avro data", format!("{value} is no 32-bit integer")))
    }

    /// A boolean.
    pub fn boolean(&mut self) -> Result<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::invalid(
                "Avro data",
                format!("the byte {other} is no boolean"),
            )),
        }
    }

    /// A float.
    pub fn float(&mut self) -> Result<f32> {
        let bytes = self.take(4)?.try_into().map_err(|_| truncated())?;
        Ok(f32::from_le_bytes(bytes))
    }

    /// A double.
    pub fn double(&mut self) -> Result<f64> {
        let bytes = self.take(8)?.try_into().map_err(|_| truncated())?;
        Ok(f64::from_le_bytes(bytes))
    }

    /// Bytes or the bytes of a string, with their length before them.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.long()?;
        let length = usize::try_from(length)
            .map_err(|_| Error::invalid("Avro data", format!("{length} is no length")))?;
        self.take(length)
    }

    /// A string.
    pub fn string(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|e| Error::invalid("Avro string", e.to_string()))
    }

    /// The head of the next block of an array or map: how many items it has, 0 at the end. Items that take
    /// `min_item_size` bytes or more must fit what is left.
    pub fn block_count(&mut self, min_item_size: usize) -> Result<usize> {
        let mut count = self.long()?;
        if count < 0 {
            count = count.checked_neg().unwrap_or(i64::MAX);
            // The size in bytes serves to step over the block; the items say where it ends too.
            self.long()?;
        }
        let too_many = || {
            let reason = format!("{count} items are announced in {} bytes", self.remaining());
            Error::invalid("Avro array", reason)
        };
        let count_fits = usize::try_from(count).map_err(|_| too_many())?;
        if count_fits > self.remaining() / min_item_size.max(1) {
            return Err(too_many());
        }
        Ok(count_fits)
    }
}

//! The bytes of a variant.
//!
//! Integers are little-endian. A metadata dictionary is a header, the number of names, the offsets of the names, the
//! names. A value is a header, whose two lowest bits tell whether it is a primitive, a short string, an object or an
//! array, and what belongs to it; objects name their fields by place in the dictionary.
//!
//! The order of names is not relied upon: writers in Java order them by UTF-16 units, the specification by bytes.

use datafusion::common::{Result, exec_err};
use parquet_variant::{EMPTY_VARIANT_METADATA, Variant};

/// Objects and arrays inside each other beyond this depth are refused: walking them takes stack. The reader of JSON has
/// the same bound.
pub const MAX_DEPTH: usize = 128;

/// The metadata without names.
pub const EMPTY_METADATA: &[u8] = &[1, 0, 0];

/// The value null.
pub const NULL: &[u8] = &[0];

/// The dictionary of field names.
#[derive(Debug, Clone, Copy)]
pub struct Metadata<'a> {
    bytes: &'a [u8],
    offsets: Integers<'a>,
    names: &'a [u8],
    sorted: bool,
}

impl<'a> Metadata<'a> {
    /// Reads a dictionary and checks all of it.
    ///
    /// # Errors
    /// It is of another version than 1, cut, or its names are not UTF-8.
    pub fn try_new(bytes: &'a [u8]) -> Result<Self> {
        let Some((&header, rest)) = bytes.split_first() else {
            return exec_err!("the metadata of a variant is empty");
        };
        if header & 0x0f != 1 {
            return exec_err!(
                "the metadata of a variant is of version {}; 1 is known",
                header & 0x0f
            );
        }
        let width = usize::from(header >> 6) + 1;
        let parts = integer(rest, width).and_then(|(count, rest)| {
            let (offsets, names) = Integers::take(rest, count.checked_add(1)?, width)?;
            Some((offsets, names))
        });
        let Some((offsets, names)) = parts else {
            return exec_err!("the metadata of a variant is cut: it has {} bytes", bytes.len());
        };
        let read = Self {
            bytes,
            offsets,
            names,
            sorted: header & 0x10 != 0,
        };
        for id in 0..read.len() {
            if read.name(id).is_none() {
                return exec_err!(
                    "the metadata of a variant holds no field name {id} in its {} bytes",
                    bytes.len()
                );
            }
        }
        Ok(read)
    }

    /// The dictionary as it is stored.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The name at this place.
    pub fn name(&self, id: usize) -> Option<&'a str> {
        let range = self.offsets.get(id)?..self.offsets.get(id.checked_add(1)?)?;
        std::str::from_utf8(self.names.get(range)?).ok()
    }

    /// The place of a name.
    pub fn id_of(&self, name: &str) -> Option<usize> {
        if self.sorted {
            let (mut low, mut high) = (0, self.len());
            while low < high {
                let middle = low + (high - low) / 2;
                match self.name(middle)?.cmp(name) {
                    std::cmp::Ordering::Less => low = middle + 1,
                    std::cmp::Ordering::Equal => return Some(middle),
                    std::cmp::Ordering::Greater => high = middle,
                }
            }
        }
        // Not sorted, or not as it says.
        (0..self.len()).find(|id| self.name(*id) == Some(name))
    }
}

/// A value, its own bytes without what follows.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// Null, a boolean, number, date, time, string, binary or UUID.
    Primitive(&'a [u8]),
    /// Fields by name.
    Object(Object<'a>),
    /// Values in order.
    Array(Array<'a>),
}

/// The fields of an object.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    bytes: &'a [u8],
    ids: Integers<'a>,
    offsets: Integers<'a>,
    values: &'a [u8],
}

/// The elements of an array.
#[derive(Debug, Clone, Copy)]
pub struct Array<'a> {
    bytes: &'a [u8],
    offsets: Integers<'a>,
    values: &'a [u8],
}

impl<'a> Value<'a> {
    /// Reads the value at the start of the bytes. What is inside of it is not looked at yet.
    ///
    /// # Errors
    /// It is cut, or of a type that is not known.
    pub fn try_new(bytes: &'a [u8]) -> Result<Self> {
        let Some((&header, rest)) = bytes.split_first() else {
            return exec_err!("a variant has no value");
        };
        let kind = header >> 2;
        let read = match header & 0b11 {
            0 => match primitive_size(kind, rest) {
                Some(size) => bytes.get(..1 + size).map(Self::Primitive),
                None => {
                    return exec_err!(
                        "a variant holds a value of the type {kind}, which is not known or cut"
                    );
                }
            },
            1 => bytes.get(..1 + usize::from(kind)).map(Self::Primitive),
            2 => Object::take(bytes, kind, rest).map(Self::Object),
            _ => Array::take(bytes, kind, rest).map(Self::Array),
        };
        match read {
            Some(read) => Ok(read),
            None => exec_err!(
                "a value in a variant is cut: {} bytes are left of it",
                bytes.len()
            ),
        }
    }

    /// Reads the value at the start of the bytes, which stands at this depth inside of others, and checks all of it.
    ///
    /// # Errors
    /// It is damaged, or deeper than [`MAX_DEPTH`].
    pub fn checked(bytes: &'a [u8], metadata: &Metadata<'_>, depth: usize) -> Result<Self> {
        let value = Self::try_new(bytes)?;
        if depth >= MAX_DEPTH {
            return exec_err!("a variant holds more than {MAX_DEPTH} objects and arrays inside each other");
        }
        match &value {
            Self::Primitive(bytes) => {
                primitive(bytes)?;
            }
            Self::Object(object) => {
                let mut left = object.values.len();
                for place in 0..object.len() {
                    if object.name(place, metadata).is_none() {
                        return exec_err!("a field of an object in a variant has no name in its metadata");
                    }
                    let inner = Self::checked(object.value(place)?, metadata, depth + 1)?;
                    left = without(left, inner)?;
                }
            }
            Self::Array(array) => {
                let mut left = array.values.len();
                for place in 0..array.len() {
                    let inner = Self::checked(array.value(place)?, metadata, depth + 1)?;
                    left = without(left, inner)?;
                }
            }
        }
        Ok(value)
    }

    /// The bytes of the value.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Primitive(bytes) => bytes,
            Self::Object(object) => object.bytes,
            Self::Array(array) => array.bytes,
        }
    }
}

impl<'a> Object<'a> {
    fn take(bytes: &'a [u8], kind: u8, rest: &'a [u8]) -> Option<Self> {
        let (id_width, width) = (usize::from(kind >> 2 & 0b11) + 1, usize::from(kind & 0b11) + 1);
        let (count, rest) = integer(rest, if kind & 0b1_0000 == 0 { 1 } else { 4 })?;
        let (ids, rest) = Integers::take(rest, count, id_width)?;
        let (offsets, rest) = Integers::take(rest, count.checked_add(1)?, width)?;
        let values = rest.get(..offsets.get(count)?)?;
        Some(Self {
            bytes: bytes.get(..bytes.len() - rest.len() + values.len())?,
            ids,
            offsets,
            values,
        })
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The name of the field at this place.
    pub fn name<'m>(&self, place: usize, metadata: &Metadata<'m>) -> Option<&'m str> {
        metadata.name(self.ids.get(place)?)
    }

    /// The place of the field's name in the metadata.
    pub fn id(&self, place: usize) -> Option<usize> {
        self.ids.get(place)
    }

    /// The bytes that the value of the field at this place starts with.
    ///
    /// # Errors
    /// They are not inside of the object.
    pub fn value(&self, place: usize) -> Result<&'a [u8]> {
        // Values need not be in the order of their fields: where one ends it says itself.
        match self.offsets.get(place).and_then(|from| self.values.get(from..)) {
            Some(bytes) => Ok(bytes),
            None => exec_err!("field {place} of an object in a variant is not inside of it"),
        }
    }

    /// The value of the field of this name.
    ///
    /// # Errors
    /// The value is damaged.
    pub fn field(&self, name: &str, metadata: &Metadata<'_>) -> Result<Option<Value<'a>>> {
        let place = (0..self.len()).find(|place| self.name(*place, metadata) == Some(name));
        place.map(|place| Value::try_new(self.value(place)?)).transpose()
    }
}

impl<'a> Array<'a> {
    fn take(bytes: &'a [u8], kind: u8, rest: &'a [u8]) -> Option<Self> {
        let width = usize::from(kind & 0b11) + 1;
        let (count, rest) = integer(rest, if kind & 0b100 == 0 { 1 } else { 4 })?;
        let (offsets, rest) = Integers::take(rest, count.checked_add(1)?, width)?;
        let values = rest.get(..offsets.get(count)?)?;
        Some(Self {
            bytes: bytes.get(..bytes.len() - rest.len() + values.len())?,
            offsets,
            values,
        })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The bytes that the element at this place starts with.
    ///
    /// # Errors
    /// They are not inside of the array.
    pub fn value(&self, place: usize) -> Result<&'a [u8]> {
        match self.offsets.get(place).and_then(|from| self.values.get(from..)) {
            Some(bytes) => Ok(bytes),
            None => exec_err!("element {place} of an array in a variant is not inside of it"),
        }
    }

    /// The element at this place.
    ///
    /// # Errors
    /// The value is damaged.
    pub fn element(&self, place: usize) -> Result<Option<Value<'a>>> {
        (place < self.len())
            .then(|| Value::try_new(self.value(place)?))
            .transpose()
    }
}

/// The bytes that are left for the other values beside this one. Values in the same place, each of which holds such
/// values again, would be read as often as there are ways to them.
fn without(left: usize, value: Value<'_>) -> Result<usize> {
    match left.checked_sub(value.bytes().len()) {
        Some(left) => Ok(left),
        None => exec_err!("values of an object or array in a variant overlap"),
    }
}

/// A value that is neither object nor array.
///
/// # Errors
/// It is damaged: a string that is not UTF-8, a date beyond all calendars.
pub fn primitive(bytes: &[u8]) -> Result<Variant<'_, '_>> {
    Ok(Variant::try_new_with_metadata(
        EMPTY_VARIANT_METADATA.clone(),
        bytes,
    )?)
}

/// The bytes after the header of a primitive of this type.
fn primitive_size(kind: u8, rest: &[u8]) -> Option<usize> {
    Some(match kind {
        0..=2 => 0,
        3 => 1,
        4 => 2,
        5 | 11 | 14 => 4,
        6 | 7 | 12 | 13 | 17..=19 => 8,
        8 => 1 + 4,
        9 => 1 + 8,
        10 => 1 + 16,
        15 | 16 => integer(rest, 4)?.0.checked_add(4)?,
        20 => 16,
        _ => return None,
    })
}

/// Integers of one width.
#[derive(Debug, Clone, Copy)]
struct Integers<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl<'a> Integers<'a> {
    /// So many integers, and what follows.
    fn take(bytes: &'a [u8], count: usize, width: usize) -> Option<(Self, &'a [u8])> {
        let (bytes, rest) = bytes.split_at_checked(count.checked_mul(width)?)?;
        Some((Self { bytes, width }, rest))
    }

    fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    fn get(&self, place: usize) -> Option<usize> {
        let bytes = self.bytes.get(place.checked_mul(self.width)?..)?;
        Some(integer(bytes, self.width)?.0)
    }
}

/// The integer of at most 4 bytes at the start, and what follows.
fn integer(bytes: &[u8], width: usize) -> Option<(usize, &[u8])> {
    let (bytes, rest) = bytes.split_at_checked(width)?;
    let value = bytes.iter().rev().try_fold(0u32, |value, byte| {
        Some(value.checked_mul(256)? | u32::from(*byte))
    })?;
    Some((usize::try_from(value).ok()?, rest))
}

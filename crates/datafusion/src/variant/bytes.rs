//! Arrays of bytes, whichever way Arrow holds them.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, LargeBinaryArray, StructArray,
};

/// An array of bytes.
#[derive(Debug, Clone, Copy)]
pub enum Bytes<'a> {
    /// With 32-bit offsets.
    Plain(&'a BinaryArray),
    /// With 64-bit offsets.
    Large(&'a LargeBinaryArray),
    /// As views.
    View(&'a BinaryViewArray),
}

impl<'a> Bytes<'a> {
    /// The array, if it is one of bytes.
    pub fn of(array: &'a ArrayRef) -> Option<Self> {
        let plain = array.as_binary_opt::<i32>().map(Self::Plain);
        plain
            .or_else(|| array.as_binary_opt::<i64>().map(Self::Large))
            .or_else(|| array.as_binary_view_opt().map(Self::View))
    }

    /// The field of this name of a struct, if it is one of bytes.
    pub fn field(array: &'a StructArray, name: &str) -> Option<Self> {
        Self::of(array.column_by_name(name)?)
    }

    /// The bytes in this row; `None` if it is null.
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Plain(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Self::View(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }
}

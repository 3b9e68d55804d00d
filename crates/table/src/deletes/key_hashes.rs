//! Hashes of keys, and the filter in front of the keys of equality deletes.

use ahash::RandomState;
use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{ArrowNativeType, ArrowPrimitiveType, DataType};
use arrow::downcast_primitive_array;

/// Bits of the filter for each key, at least: one row in 60 that is not deleted passes it, or fewer.
pub(super) const FILTER_BITS_PER_KEY: usize = 16;

/// The words of the smallest and of the largest filter, which has 32 MiB.
const FILTER_WORDS: (usize, usize) = (16, 1 << 22);

/// An odd number with no pattern in its bits.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Two bits in one word for each key.
#[derive(Debug, Default)]
pub(super) struct KeyFilter {
    /// A power of two of words.
    words: Vec<u64>,
    /// How many bits of a hash are not part of the word's place.
    shift: u32,
}

impl KeyFilter {
    /// A filter that these hashes pass.
    pub(super) fn of(hashes: impl ExactSizeIterator<Item = u64>) -> Self {
        let words = hashes.len().saturating_mul(FILTER_BITS_PER_KEY) / 64;
        let words = words.clamp(FILTER_WORDS.0, FILTER_WORDS.1).next_power_of_two();
        let mut filter = Self {
            words: vec![0; words],
            shift: 64 - words.trailing_zeros(),
        };
        for hash in hashes {
            let (place, bits) = filter.place(hash);
            if let Some(word) = filter.words.get_mut(place) {
                *word |= bits;
            }
        }
        filter
    }

    /// The word of a hash and its bits in it. The high bits of a product depend on all bits of its factors.
    fn place(&self, hash: u64) -> (usize, u64) {
        let word = usize::try_from(hash >> self.shift).unwrap_or(usize::MAX);
        (word, 1 << (hash >> 36 & 63) | 1 << (hash >> 30 & 63))
    }

    /// The rows whose hashes pass.
    pub(super) fn passing(&self, hashes: &[u64]) -> Vec<u32> {
        let mut passing = vec![0; hashes.len()];
        let mut count = 0;
        for (row, hash) in (0u32..).zip(hashes) {
            let (place, bits) = self.place(*hash);
            let passes = self.words.get(place).is_some_and(|word| word & bits == bits);
            // Written whether it passes or not: no branch that would be guessed wrong.
            if let Some(slot) = passing.get_mut(count) {
                *slot = row;
            }
            count += usize::from(passes);
        }
        passing.truncate(count);
        passing
    }
}

/// Hashes of rows that the filter takes, cheap ones of numbers.
#[derive(Debug)]
pub(super) struct RowHashes {
    state: RandomState,
    first: u64,
    null: u64,
}

impl RowHashes {
    pub(super) fn new(state: &RandomState) -> Self {
        Self {
            state: state.clone(),
            first: state.hash_one(0u64),
            null: state.hash_one(u64::MAX),
        }
    }

    /// A hash of each row. Equal rows have equal hashes.
    pub(super) fn of_rows(&self, columns: &[ArrayRef]) -> Vec<u64> {
        let mut hashes = vec![self.first; columns.first().map_or(0, |c| c.len())];
        for column in columns {
            self.add(column, &mut hashes);
        }
        hashes
    }

    /// The hash of a row with one integer in it.
    pub(super) fn of_integer(&self, value: Option<i64>) -> u64 {
        let value = value.map_or(self.null, i64::cast_unsigned);
        combined(self.first, value)
    }

    fn add(&self, column: &ArrayRef, hashes: &mut [u64]) {
        let column: &dyn Array = column.as_ref();
        let mut each = |hash_of: &dyn Fn(usize) -> u64| {
            for (row, hash) in hashes.iter_mut().enumerate() {
                let value = if column.is_null(row) {
                    self.null
                } else {
                    hash_of(row)
                };
                *hash = combined(*hash, value);
            }
        };
        downcast_primitive_array! {
            column => self.add_primitive(column, hashes),
            DataType::Boolean => {
                let values = column.as_boolean();
                each(&|row| u64::from(values.value(row)));
            }
            DataType::Utf8View => {
                let values = column.as_string_view();
                each(&|row| self.state.hash_one(values.value(row).as_bytes()));
            }
            DataType::BinaryView => {
                let values = column.as_binary_view();
                each(&|row| self.state.hash_one(values.value(row)));
            }
            DataType::Utf8 => {
                let values = column.as_string::<i32>();
                each(&|row| self.state.hash_one(values.value(row).as_bytes()));
            }
            DataType::Binary => {
                let values = column.as_binary::<i32>();
                each(&|row| self.state.hash_one(values.value(row)));
            }
            DataType::FixedSizeBinary(_) => {
                let values = column.as_fixed_size_binary();
                each(&|row| self.state.hash_one(values.value(row)));
            }
            // A column of nothing but nulls: equal in all rows.
            _ => {}
        }
    }

    fn add_primitive<T: ArrowPrimitiveType>(&self, values: &PrimitiveArray<T>, hashes: &mut [u64]) {
        let number = |value: &T::Native| u64::try_from(value.as_usize()).unwrap_or(0);
        match values.nulls() {
            None => {
                for (hash, value) in hashes.iter_mut().zip(values.values()) {
                    *hash = combined(*hash, number(value));
                }
            }
            Some(nulls) => {
                for ((hash, value), valid) in hashes.iter_mut().zip(values.values()).zip(nulls) {
                    *hash = combined(*hash, if valid { number(value) } else { self.null });
                }
            }
        }
    }
}

fn combined(before: u64, value: u64) -> u64 {
    (before.rotate_left(23) ^ value).wrapping_mul(FACTOR)
}

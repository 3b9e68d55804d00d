//! The values that equality deletes delete, to be looked up by rows of data files.

use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{Array, ArrayRef, AsArray, BooleanBufferBuilder, PrimitiveArray, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::take;
use arrow::datatypes::{ArrowNativeType, ArrowPrimitiveType, DataType};
use arrow::downcast_primitive_array;
use arrow::row::{RowConverter, SortField};
use hashbrown::HashTable;

use super::key_columns::KeyColumn;
use crate::error::{Error, Result};

/// Bits of the filter for each key: one probe lets through one row in 32 that is not deleted.
const FILTER_BITS_PER_KEY: usize = 32;

/// The largest filter: 2^28 bits, 32 MiB.
const MAX_FILTER_BITS: usize = 1 << 28;

/// What a key takes beside its bytes: end, hash and sequence number, its place in the table and its bits in the filter.
const KEY_BYTES: usize = 8 + 8 + 8 + 10 + FILTER_BITS_PER_KEY / 8;

/// What a string of a key is taken to be long, in bytes.
const LONG_VALUE_BYTES: usize = 32;

/// The values of the key columns that are deleted, each with the highest sequence number that deletes it: a row is
/// deleted if its data sequence number is below. Null is a value, equal to itself.
///
/// Rows are looked up by a hash of their columns in a small bit filter first. Few pass it: only these are brought into
/// the form in which they can be compared.
#[derive(Debug)]
pub struct KeySet {
    columns: Arc<[KeyColumn]>,
    converter: RowConverter,
    state: RandomState,
    /// The keys one after the other, in the row format of Arrow.
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
    hashes: Vec<u64>,
    sequence_numbers: Vec<i64>,
    /// Indexes of keys.
    table: HashTable<u32>,
    filter: Vec<u64>,
}

impl KeySet {
    /// An empty set of values of these columns.
    pub(super) fn new(columns: Arc<[KeyColumn]>) -> Result<Self> {
        let sort_fields = columns.iter().map(|c| SortField::new(c.data_type().clone()));
        let converter = RowConverter::new(sort_fields.collect()).map_err(stopped)?;
        Ok(Self {
            columns,
            converter,
            state: RandomState::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            hashes: Vec::new(),
            sequence_numbers: Vec::new(),
            table: HashTable::new(),
            filter: Vec::new(),
        })
    }

    /// About how much memory a key takes, in bytes.
    pub(super) fn estimated_key_memory(columns: &[KeyColumn]) -> u64 {
        let width = |c: &KeyColumn| 1 + c.data_type().primitive_width().unwrap_or(LONG_VALUE_BYTES);
        let bytes = columns.iter().map(width).sum::<usize>() + KEY_BYTES;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The columns whose values are looked up.
    pub fn columns(&self) -> &Arc<[KeyColumn]> {
        &self.columns
    }

    /// How many different values are deleted.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The memory it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + self.len() * KEY_BYTES
    }

    /// Adds the rows of a delete file, given by their key columns.
    pub(super) fn insert(&mut self, values: &[ArrayRef], sequence_number: i64) -> Result<()> {
        let rows = self.converter.convert_columns(values).map_err(stopped)?;
        let mut hashes = Vec::new();
        hash_rows(&self.state, values, &mut hashes);
        for (row, hash) in rows.iter().zip(hashes) {
            let (bytes, ends) = (&self.bytes, &self.ends);
            let found = self
                .table
                .find(hash, |key| key_of(bytes, ends, *key) == row.as_ref());
            match found.and_then(|key| self.sequence_numbers.get_mut(index(*key))) {
                Some(highest) => *highest = sequence_number.max(*highest),
                None => {
                    let key = u32::try_from(self.ends.len()).map_err(|_| {
                        Error::Unsupported("more than 4,294,967,295 different equality deletes".to_string())
                    })?;
                    self.bytes.extend_from_slice(row.as_ref());
                    self.ends.push(self.bytes.len());
                    self.hashes.push(hash);
                    self.sequence_numbers.push(sequence_number);
                    let hashes = &self.hashes;
                    let hash_of = |key: &u32| hashes.get(index(*key)).copied().unwrap_or(0);
                    self.table.insert_unique(hash, key, hash_of);
                }
            }
        }
        Ok(())
    }

    /// Makes the set ready for lookups.
    pub(super) fn finish(mut self) -> Self {
        let bits = self.len().saturating_mul(FILTER_BITS_PER_KEY);
        let bits = bits.clamp(1 << 10, MAX_FILTER_BITS).next_power_of_two();
        self.filter = vec![0; bits / 64];
        for hash in &self.hashes {
            let (word, bit) = place(*hash, bits);
            if let Some(word) = self.filter.get_mut(word) {
                *word |= bit;
            }
        }
        self
    }

    /// Which rows of a data file with this data sequence number are left, given by their key columns; `None` if all
    /// are.
    ///
    /// # Errors
    /// The arrays are not of the types of the key columns.
    pub fn kept(&self, values: &[ArrayRef], sequence_number: i64) -> Result<Option<BooleanBuffer>> {
        let rows = values.first().map_or(0, |v| v.len());
        let mut hashes = Vec::with_capacity(rows);
        hash_rows(&self.state, values, &mut hashes);
        let bits = self.filter.len() * 64;
        let mut candidates: Vec<u32> = Vec::new();
        for (row, hash) in (0u32..).zip(&hashes) {
            let (word, bit) = place(*hash, bits);
            if self.filter.get(word).is_some_and(|w| w & bit != 0) {
                candidates.push(row);
            }
        }
        if candidates.is_empty() {
            return Ok(None);
        }
        let candidates = UInt32Array::from(candidates);
        let taken = values.iter().map(|v| take(v, &candidates, None));
        let taken = taken.collect::<Result<Vec<_>, _>>().map_err(stopped)?;
        let compared = self.converter.convert_columns(&taken).map_err(stopped)?;
        let mut kept = BooleanBufferBuilder::new(rows);
        kept.append_n(rows, true);
        let mut deleted = false;
        for (row, value) in candidates.values().iter().zip(compared.iter()) {
            let row = index(*row);
            let hash = hashes.get(row).copied().unwrap_or(0);
            let is_value = |key: &u32| key_of(&self.bytes, &self.ends, *key) == value.as_ref();
            let highest = self.table.find(hash, is_value);
            let highest = highest.and_then(|key| self.sequence_numbers.get(index(*key)));
            if highest.is_some_and(|highest| sequence_number < *highest) {
                kept.set_bit(row, false);
                deleted = true;
            }
        }
        Ok(deleted.then(|| kept.finish()))
    }
}

fn index(key: u32) -> usize {
    usize::try_from(key).unwrap_or(usize::MAX)
}

fn key_of<'a>(bytes: &'a [u8], ends: &[usize], key: u32) -> &'a [u8] {
    let key = index(key);
    let start = key.checked_sub(1).and_then(|before| ends.get(before)).copied();
    let end = ends.get(key).copied().unwrap_or(0);
    bytes.get(start.unwrap_or(0)..end).unwrap_or_default()
}

/// The word and the bit of a hash in a filter of so many bits, a power of two. The table takes the other bits.
fn place(hash: u64, bits: usize) -> (usize, u64) {
    let high = usize::try_from(hash >> 20).unwrap_or(usize::MAX) & bits.wrapping_sub(1);
    (high / 64, 1 << (high % 64))
}

/// A hash of each row. Equal rows have equal hashes.
fn hash_rows(state: &RandomState, columns: &[ArrayRef], hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.resize(columns.first().map_or(0, |c| c.len()), 0);
    for column in columns {
        hash_column(state, column, hashes);
    }
}

fn hash_column(state: &RandomState, column: &ArrayRef, hashes: &mut [u64]) {
    let column: &dyn Array = column.as_ref();
    let null = state.hash_one(u64::MAX);
    let mut each = |hash_of: &dyn Fn(usize) -> u64| {
        for (row, hash) in hashes.iter_mut().enumerate() {
            let value = if column.is_null(row) { null } else { hash_of(row) };
            *hash = combined(*hash, value);
        }
    };
    downcast_primitive_array! {
        column => hash_primitive(state, column, null, hashes),
        DataType::Boolean => {
            let values = column.as_boolean();
            each(&|row| state.hash_one(values.value(row)));
        }
        DataType::Utf8View => {
            let values = column.as_string_view();
            each(&|row| state.hash_one(values.value(row).as_bytes()));
        }
        DataType::BinaryView => {
            let values = column.as_binary_view();
            each(&|row| state.hash_one(values.value(row)));
        }
        DataType::Utf8 => {
            let values = column.as_string::<i32>();
            each(&|row| state.hash_one(values.value(row).as_bytes()));
        }
        DataType::Binary => {
            let values = column.as_binary::<i32>();
            each(&|row| state.hash_one(values.value(row)));
        }
        DataType::FixedSizeBinary(_) => {
            let values = column.as_fixed_size_binary();
            each(&|row| state.hash_one(values.value(row)));
        }
        // A column of nothing but nulls: equal in all rows.
        _ => {}
    }
}

fn hash_primitive<T: ArrowPrimitiveType>(
    state: &RandomState,
    values: &PrimitiveArray<T>,
    null: u64,
    hashes: &mut [u64],
) {
    let hash_of = |value: &T::Native| state.hash_one(value.as_usize());
    match values.nulls() {
        None => {
            for (hash, value) in hashes.iter_mut().zip(values.values()) {
                *hash = combined(*hash, hash_of(value));
            }
        }
        Some(nulls) => {
            for ((hash, value), valid) in hashes.iter_mut().zip(values.values()).zip(nulls) {
                *hash = combined(*hash, if valid { hash_of(value) } else { null });
            }
        }
    }
}

fn combined(before: u64, value: u64) -> u64 {
    before.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value
}

fn stopped(error: arrow::error::ArrowError) -> Error {
    Error::Stopped(format!("equality deletes: {error}"))
}

//! The values that equality deletes delete, to be looked up by rows of data files.

use std::sync::Arc;

use ahash::RandomState;
use arrow::array::{Array, ArrayRef, BooleanBufferBuilder, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::take;
use arrow::row::{RowConverter, SortField};
use hashbrown::HashTable;

use super::integer_keys::{self, IntegerKeys};
use super::key_columns::KeyColumn;
use super::key_hashes::{FILTER_BITS_PER_KEY, KeyFilter, RowHashes};
use crate::error::{Error, Result};

/// What a key takes beside its bytes: end, hash and sequence number, its place in the table and its bits in the filter.
const KEY_BYTES: usize = 8 + 8 + 8 + 10 + FILTER_BITS_PER_KEY / 4;

/// What a string of a key is taken to be long, in bytes.
const LONG_VALUE_BYTES: usize = 32;

/// The values of the key columns that are deleted, each with the highest sequence number that deletes it: a row is
/// deleted if its data sequence number is below. Null is a value, equal to itself.
///
/// Rows are looked up by a hash of their columns in a small bit filter first. Few pass it: only these are compared with the
/// keys, a single integer as it is, anything else in the row format of Arrow.
#[derive(Debug)]
pub struct KeySet {
    columns: Arc<[KeyColumn]>,
    hashes: RowHashes,
    keys: Keys,
    filter: KeyFilter,
}

#[derive(Debug)]
enum Keys {
    Integers(IntegerKeys),
    Rows(RowKeys),
}

impl KeySet {
    /// An empty set of values of these columns.
    pub(super) fn new(columns: Arc<[KeyColumn]>) -> Result<Self> {
        let state = RandomState::new();
        let hashes = RowHashes::new(&state);
        let keys = match columns.as_ref() {
            [column] if IntegerKeys::may_hold(column.data_type()) => Keys::Integers(IntegerKeys::new(state)),
            _ => Keys::Rows(RowKeys::new(&columns, state)?),
        };
        Ok(Self {
            columns,
            hashes,
            keys,
            filter: KeyFilter::default(),
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
        match &self.keys {
            Keys::Integers(keys) => keys.len(),
            Keys::Rows(keys) => keys.ends.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        let bytes = match &self.keys {
            // As estimated.
            Keys::Integers(keys) => keys.len() * 9,
            Keys::Rows(keys) => keys.bytes.len(),
        };
        bytes + self.len() * KEY_BYTES
    }

    /// Adds the rows of a delete file, given by their key columns.
    pub(super) fn insert(&mut self, values: &[ArrayRef], sequence_number: i64) -> Result<()> {
        match (&mut self.keys, values) {
            (Keys::Integers(keys), [values]) => {
                integer_keys::for_each(values, 0..values.len(), |_, key| {
                    keys.insert(key, sequence_number)
                });
                Ok(())
            }
            (Keys::Rows(keys), values) => keys.insert(values, &self.hashes, sequence_number),
            _ => Err(unexpected()),
        }
    }

    /// Makes the set ready for lookups.
    pub(super) fn finish(mut self) -> Self {
        self.filter = match &mut self.keys {
            Keys::Integers(keys) => {
                let hashes: Vec<u64> = keys.iter().map(|key| self.hashes.of_integer(key)).collect();
                KeyFilter::of(hashes.into_iter())
            }
            Keys::Rows(keys) => KeyFilter::of(std::mem::take(&mut keys.hashes).into_iter()),
        };
        self
    }

    /// Which rows of a data file with this data sequence number are left, given by their key columns; `None` if all
    /// are.
    ///
    /// # Errors
    /// The arrays are not of the types of the key columns.
    pub fn kept(&self, values: &[ArrayRef], sequence_number: i64) -> Result<Option<BooleanBuffer>> {
        let candidates = self.filter.passing(&self.hashes.of_rows(values));
        if candidates.is_empty() {
            return Ok(None);
        }
        let rows = values.first().map_or(0, |v| v.len());
        let mut kept: Option<BooleanBufferBuilder> = None;
        let mut is = |row: usize, highest: Option<i64>| {
            if highest.is_some_and(|highest| sequence_number < highest) {
                let kept = kept.get_or_insert_with(|| {
                    let mut all = BooleanBufferBuilder::new(rows);
                    all.append_n(rows, true);
                    all
                });
                kept.set_bit(row, false);
            }
        };
        match (&self.keys, values) {
            (Keys::Integers(keys), [values]) => {
                let candidates = candidates.into_iter().map(index);
                integer_keys::for_each(values, candidates, |row, key| is(row, keys.highest(key)));
            }
            (Keys::Rows(keys), values) => keys.look_up(values, candidates, is)?,
            _ => return Err(unexpected()),
        }
        Ok(kept.map(|mut kept| kept.finish()))
    }
}

/// Keys in the row format of Arrow.
#[derive(Debug)]
struct RowKeys {
    converter: RowConverter,
    state: RandomState,
    /// The keys one after the other.
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
    /// For the filter, until it is made.
    hashes: Vec<u64>,
    sequence_numbers: Vec<i64>,
    /// Indexes of keys.
    table: HashTable<u32>,
}

impl RowKeys {
    fn new(columns: &[KeyColumn], state: RandomState) -> Result<Self> {
        let sort_fields = columns.iter().map(|c| SortField::new(c.data_type().clone()));
        Ok(Self {
            converter: RowConverter::new(sort_fields.collect()).map_err(stopped)?,
            state,
            bytes: Vec::new(),
            ends: Vec::new(),
            hashes: Vec::new(),
            sequence_numbers: Vec::new(),
            table: HashTable::new(),
        })
    }

    fn insert(&mut self, values: &[ArrayRef], hashes: &RowHashes, sequence_number: i64) -> Result<()> {
        let rows = self.converter.convert_columns(values).map_err(stopped)?;
        for (row, filter_hash) in rows.iter().zip(hashes.of_rows(values)) {
            let hash = self.state.hash_one(row.as_ref());
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
                    self.hashes.push(filter_hash);
                    self.sequence_numbers.push(sequence_number);
                    let (bytes, ends, state) = (&self.bytes, &self.ends, &self.state);
                    let hash_of = |key: &u32| state.hash_one(key_of(bytes, ends, *key));
                    self.table.insert_unique(hash, key, hash_of);
                }
            }
        }
        Ok(())
    }

    /// Calls `found` with these rows and the highest sequence numbers that delete them.
    fn look_up(
        &self,
        values: &[ArrayRef],
        rows: Vec<u32>,
        mut found: impl FnMut(usize, Option<i64>),
    ) -> Result<()> {
        let rows = UInt32Array::from(rows);
        let taken = values.iter().map(|v| take(v, &rows, None));
        let taken = taken.collect::<Result<Vec<_>, _>>().map_err(stopped)?;
        let compared = self.converter.convert_columns(&taken).map_err(stopped)?;
        for (row, value) in rows.values().iter().zip(compared.iter()) {
            let is_value = |key: &u32| key_of(&self.bytes, &self.ends, *key) == value.as_ref();
            let key = self.table.find(self.state.hash_one(value.as_ref()), is_value);
            let highest = key.and_then(|key| self.sequence_numbers.get(index(*key)));
            found(index(*row), highest.copied());
        }
        Ok(())
    }
}

fn unexpected() -> Error {
    Error::Stopped("equality deletes: there are too many key columns".to_string())
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

fn stopped(error: arrow::error::ArrowError) -> Error {
    Error::Stopped(format!("equality deletes: {error}"))
}

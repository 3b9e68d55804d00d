//! Keys of one column of integers, dates or times.

use ahash::RandomState;
use arrow::array::{Array, ArrayRef, PrimitiveArray};
use arrow::datatypes::{ArrowNativeType, ArrowPrimitiveType, DataType};
use arrow::downcast_primitive_array;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Integers, and perhaps null, each with the highest sequence number that deletes it.
#[derive(Debug)]
pub(super) struct IntegerKeys {
    state: RandomState,
    keys: HashTable<(i64, i64)>,
    null: Option<i64>,
}

impl IntegerKeys {
    /// Whether keys of this type are integers of at most 64 bits inside.
    pub(super) fn may_hold(data_type: &DataType) -> bool {
        use DataType as D;
        matches!(
            data_type,
            D::Int32 | D::Int64 | D::Date32 | D::Time64(_) | D::Timestamp(..)
        )
    }

    pub(super) fn new(state: RandomState) -> Self {
        Self {
            state,
            keys: HashTable::new(),
            null: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len() + usize::from(self.null.is_some())
    }

    /// The keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<i64>> + '_ {
        let null = self.null.map(|_| None);
        self.keys.iter().map(|(key, _)| Some(*key)).chain(null)
    }

    pub(super) fn insert(&mut self, key: Option<i64>, sequence_number: i64) {
        let Some(key) = key else {
            self.null = self.null.max(Some(sequence_number));
            return;
        };
        let state = &self.state;
        let hash_of = |(key, _): &(i64, i64)| state.hash_one(key);
        match self.keys.entry(state.hash_one(key), |(k, _)| *k == key, hash_of) {
            Entry::Occupied(mut entry) => {
                let (_, highest) = entry.get_mut();
                *highest = sequence_number.max(*highest);
            }
            Entry::Vacant(entry) => {
                entry.insert((key, sequence_number));
            }
        }
    }

    /// The highest sequence number that deletes a key.
    pub(super) fn highest(&self, key: Option<i64>) -> Option<i64> {
        let Some(key) = key else {
            return self.null;
        };
        let found = self.keys.find(self.state.hash_one(key), |(k, _)| *k == key);
        found.map(|(_, highest)| *highest)
    }
}

/// Calls `each` with these rows of an array and their values.
pub(super) fn for_each(
    array: &ArrayRef,
    rows: impl Iterator<Item = usize>,
    mut each: impl FnMut(usize, Option<i64>),
) {
    let array: &dyn Array = array.as_ref();
    downcast_primitive_array! {
        array => for_each_of(array, rows, &mut each),
        // The set is of another type.
        _ => {}
    }
}

fn for_each_of<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    rows: impl Iterator<Item = usize>,
    each: &mut impl FnMut(usize, Option<i64>),
) {
    for row in rows {
        let value = if array.is_null(row) {
            None
        } else {
            array.values().get(row).and_then(|value| value.to_i64())
        };
        each(row, value);
    }
}

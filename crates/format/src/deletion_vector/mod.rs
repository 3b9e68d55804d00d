//! Deletion vectors (§ Deletion Vectors, Puffin spec § deletion-vector-v1): the deleted positions of one data file.

mod blob;

#[cfg(test)]
mod tests;

use roaring::RoaringTreemap;

use crate::error::{Error, Result};

pub use blob::{DELETION_VECTOR_BLOB_TYPE, MAX_DELETION_VECTOR_SIZE};

/// The highest position a row can have: positions fit 63 bits.
pub const MAX_POSITION: u64 = u64::MAX >> 1;

/// A set of deleted positions, counted from 0 over the whole data file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeletionVector {
    positions: RoaringTreemap,
}

impl DeletionVector {
    /// Nothing deleted.
    pub fn new() -> Self {
        Self::default()
    }

    /// Deletes a position; false if it was deleted before. Positions above [`MAX_POSITION`] are refused.
    pub fn insert(&mut self, position: u64) -> Result<bool> {
        if position > MAX_POSITION {
            return Err(Error::invalid(
                "position of a deleted row",
                format!("{position} does not fit 63 bits"),
            ));
        }
        Ok(self.positions.insert(position))
    }

    /// Deletes all of these positions, in any order; ascending ones fastest.
    ///
    /// # Errors
    /// One is above [`MAX_POSITION`]. Those before it are deleted.
    pub fn insert_all(&mut self, positions: &[u64]) -> Result<()> {
        for position in positions {
            if *position > MAX_POSITION || self.positions.try_push(*position).is_err() {
                self.insert(*position)?;
            }
        }
        Ok(())
    }

    /// About how much memory it takes, in bytes.
    pub fn memory(&self) -> usize {
        self.positions.serialized_size()
    }

    /// Deletes all positions of another vector.
    pub fn merge(&mut self, other: &Self) {
        self.positions |= &other.positions;
    }

    /// The lowest position that both vectors delete.
    pub fn first_common(&self, other: &Self) -> Option<u64> {
        if self.positions.is_disjoint(&other.positions) {
            return None;
        }
        (&self.positions & &other.positions).min()
    }

    /// Whether a position is deleted.
    pub fn contains(&self, position: u64) -> bool {
        self.positions.contains(position)
    }

    /// How many positions are deleted: the cardinality, which is also the record count of the vector in its manifest.
    pub fn len(&self) -> u64 {
        self.positions.len()
    }

    /// Whether nothing is deleted.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The highest deleted position.
    pub fn max(&self) -> Option<u64> {
        self.positions.max()
    }

    /// How many of the positions from `start` up to, not including, `end` are deleted.
    pub fn count_in(&self, start: u64, end: u64) -> u64 {
        self.positions.range_cardinality(start..end)
    }

    /// The deleted positions, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.positions.iter()
    }

    /// The deleted positions from `start` on, ascending.
    pub fn iter_from(&self, start: u64) -> impl Iterator<Item = u64> + '_ {
        let mut positions = self.positions.iter();
        positions.advance_to(start);
        positions
    }
}

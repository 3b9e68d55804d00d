//! What looks like chance and is the same in every run.

use std::collections::BinaryHeap;

use crate::Result;

/// A number that looks like chance (the finalizer of SplitMix64): real metadata does not compress to nothing either.
pub fn scattered(number: i64) -> i64 {
    let mut z = number
        .cast_unsigned()
        .wrapping_add(1)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)).cast_signed()
}

/// The numbers from 0 up to, not including, `count` in an order that depends on `seed`.
pub fn shuffled(count: i32, seed: i64) -> Result<Vec<i32>> {
    let mut numbers: Vec<i32> = (0..count).collect();
    let start = scattered(seed);
    for place in (1..numbers.len()).rev() {
        let place = i64::try_from(place)?;
        let other = scattered(start.wrapping_add(place)).rem_euclid(place + 1);
        numbers.swap(usize::try_from(place)?, usize::try_from(other)?);
    }
    Ok(numbers)
}

/// So many of the items that are offered, each as likely as any other, without holding the rest.
pub struct Sample<T> {
    size: usize,
    kept: BinaryHeap<(i64, T)>,
}

impl<T: Ord> Sample<T> {
    /// A sample of this size.
    pub fn new(size: usize) -> Self {
        Self {
            size,
            kept: BinaryHeap::new(),
        }
    }

    /// Offers the item of this number; no two items have the same one.
    pub fn offer(&mut self, number: i64, item: T) {
        self.kept.push((scattered(number), item));
        if self.kept.len() > self.size {
            self.kept.pop();
        }
    }

    /// The items, sorted; fewer where fewer were offered.
    pub fn items(self) -> Vec<T> {
        let mut items: Vec<T> = self.kept.into_iter().map(|(_, item)| item).collect();
        items.sort();
        items
    }
}

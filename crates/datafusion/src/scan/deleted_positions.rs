//! Rows of a data file that are deleted by position.

use std::ops::Range;

use datafusion::arrow::array::BooleanBufferBuilder;
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::parquet::arrow::arrow_reader::RowSelection;
use drumlin_format::deletion_vector::DeletionVector;

/// Deleted rows one after the other that the Parquet reader is told to skip, as a part of a batch: what a part of a
/// selection costs it, reading and taking out some dozens of rows costs too.
const LONG_PART_OF_BATCH: usize = 64;

/// How the deleted rows of a Parquet file are left out.
#[derive(Debug)]
pub enum LeftOut {
    /// All rows of the file are deleted.
    Everything,
    /// The reader skips some rows, and others are taken out of what it read.
    Rows {
        /// The rows that are read, if not all.
        selection: Option<ParquetRowSelection>,
        /// Whether there are deleted rows among them.
        filtered: bool,
    },
}

impl LeftOut {
    /// For a file of so many rows, read in batches of so many.
    ///
    /// Long runs of deleted rows are skipped by the reader, so that their pages are not read. Short ones are, too, if
    /// they are few. Many of them are taken out of the batches.
    pub fn of(deleted: &DeletionVector, rows: usize, batch_size: usize) -> Self {
        let mut runs = runs(deleted, rows);
        let long = (batch_size / LONG_PART_OF_BATCH).max(1);
        if matches!(runs.as_slice(), [all] if all.len() == rows) {
            return Self::Everything;
        }
        let short = runs.iter().filter(|run| run.len() < long).count();
        // Taking rows out copies whole batches, which pays if there are several in each.
        let filtered = short.saturating_mul(long * 2) > rows;
        if filtered {
            runs.retain(|run| run.len() >= long);
        }
        let selection = (!runs.is_empty()).then(|| {
            let starts = std::iter::once(0).chain(runs.iter().map(|run| run.end));
            let ends = runs.iter().map(|run| run.start).chain(std::iter::once(rows));
            let left = starts.zip(ends).map(|(start, end)| start..end);
            let left = left.filter(|left| !left.is_empty());
            // The selection must have as many rows as the file. If its manifest lies, the reader says so.
            ParquetRowSelection::new(RowSelection::from_consecutive_ranges(left, rows))
        });
        Self::Rows { selection, filtered }
    }
}

/// The deleted rows of a file of so many rows.
fn runs(deleted: &DeletionVector, rows: usize) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for position in deleted.iter() {
        let Some(position) = usize::try_from(position).ok().filter(|p| *p < rows) else {
            break;
        };
        match runs.last_mut() {
            Some(run) if run.end == position => run.end += 1,
            _ => runs.push(position..position + 1),
        }
    }
    runs
}

/// Which of the rows from `start` to `end` are not deleted; `None` if all are not.
pub fn left_in(deleted: &DeletionVector, start: u64, end: u64) -> Option<BooleanBuffer> {
    let mut positions = deleted.iter_from(start).take_while(|p| *p < end).peekable();
    positions.peek()?;
    let rows = usize::try_from(end - start).ok()?;
    let mut left = BooleanBufferBuilder::new(rows);
    left.append_n(rows, true);
    for place in positions.filter_map(|p| usize::try_from(p - start).ok()) {
        left.set_bit(place, false);
    }
    Some(left.finish())
}

/// Which of the rows at these positions are not deleted; `None` if all are not.
pub fn left_of(deleted: &DeletionVector, positions: &[i64]) -> Option<BooleanBuffer> {
    let first = *positions.first()?;
    // Compared without leaving the loop early, which is faster.
    let differs = (first..).zip(positions).fold(0, |all, (a, b)| all | (a ^ *b));
    if differs == 0
        && let Ok(start) = u64::try_from(first)
    {
        let rows = u64::try_from(positions.len()).unwrap_or(u64::MAX);
        return left_in(deleted, start, start.saturating_add(rows));
    }
    // Filters and pruned pages leave gaps, and row groups may come in any order: within one, positions ascend.
    let mut before = i64::MAX;
    let mut ahead = None;
    let mut from_here = deleted.iter_from(0);
    let is_left = positions.iter().map(|position| {
        let at = u64::try_from(*position).unwrap_or(0);
        if *position < before {
            from_here = deleted.iter_from(at);
            ahead = from_here.next();
        }
        before = *position;
        while ahead.is_some_and(|ahead| ahead < at) {
            ahead = from_here.next();
        }
        ahead != Some(at)
    });
    let left: BooleanBuffer = is_left.collect();
    (left.count_set_bits() < positions.len()).then_some(left)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn vector(positions: impl IntoIterator<Item = u64>) -> DeletionVector {
        let mut vector = DeletionVector::new();
        for position in positions {
            vector.insert(position).unwrap();
        }
        vector
    }

    fn skipped(of: &LeftOut) -> (Option<usize>, bool) {
        match of {
            LeftOut::Everything => panic!("nothing is left"),
            LeftOut::Rows { selection, filtered } => {
                let selection = selection.as_ref().map(|s| s.selection().skipped_row_count());
                (selection, *filtered)
            }
        }
    }

    #[test]
    fn few_runs_and_long_ones_are_skipped() {
        let scattered = || (0..100_000).step_by(100);
        let few = vector([5, 70_000, 200_000]);
        assert_eq!(skipped(&LeftOut::of(&few, 100_000, 8192)), (Some(2), false));
        let many = vector(scattered());
        assert_eq!(skipped(&LeftOut::of(&many, 100_000, 8192)), (None, true));
        let both = vector(scattered().chain(50_000..60_000));
        // The run ends with 60,000, which is one of the scattered ones.
        assert_eq!(skipped(&LeftOut::of(&both, 100_000, 8192)), (Some(10_001), true));
        let all = vector(0..10);
        assert!(matches!(LeftOut::of(&all, 10, 8192), LeftOut::Everything));
        assert!(matches!(LeftOut::of(&all, 9, 8192), LeftOut::Everything));
        assert_eq!(skipped(&LeftOut::of(&all, 11, 8192)), (None, true));
        assert_eq!(skipped(&LeftOut::of(&all, 11, 64)), (Some(10), false));
    }

    #[test]
    fn rows_are_found_by_position() {
        let deleted = vector([0, 3, 4, 9, 200_000]);
        let left = |positions: &[i64]| left_of(&deleted, positions).map(|l| l.iter().collect::<Vec<_>>());
        assert_eq!(left(&[]), None);
        assert_eq!(left(&[1, 2]), None);
        assert_eq!(left(&[2, 3, 4, 5]), Some(vec![true, false, false, true]));
        // With gaps, and row groups in another order.
        assert_eq!(left(&[1, 4, 5, 9]), Some(vec![true, false, true, false]));
        assert_eq!(left(&[8, 9, 0, 1, 3, 4, 5]), {
            Some(vec![true, false, false, true, false, false, true])
        });
        assert_eq!(left(&[1, 5, 6]), None);
        assert_eq!(left(&[200_000, 9, 10]), Some(vec![false, false, true]));
    }
}

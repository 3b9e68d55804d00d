//! Rows of all partitions in any order.
//!
//! Batches wait until there are enough rows, then the rows of each partition are put together and written: with many
//! partitions each of them would otherwise get a few rows a batch, and the cost of a write is mostly by column.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use arrow::compute::interleave_record_batch;

use super::open_files::{OpenFiles, Partition};
use super::partition::{Partitioner, Runs};
use crate::error::Result;

/// Rows that wait at most.
const MAX_WAITING_ROWS: usize = 64 * 1024;

/// Bytes of memory that wait at most.
const MAX_WAITING_BYTES: usize = 32 << 20;

/// Rows that wait to be put together by partition.
#[derive(Default)]
pub struct FanOut {
    waiting: Vec<(RecordBatch, Runs)>,
    rows: usize,
    bytes: usize,
}

/// The rows of one partition among those that wait.
struct Group {
    /// Batch and run of its first row.
    first: (usize, usize),
    /// Batch and row.
    rows: Vec<(usize, usize)>,
    /// Whether they stand together in one batch.
    is_run: bool,
}

impl FanOut {
    /// Takes rows with the columns of the files, and writes what waits if that is enough.
    pub async fn write(
        &mut self,
        batch: RecordBatch,
        runs: Runs,
        partitioner: &Partitioner,
        files: &mut OpenFiles,
    ) -> Result<()> {
        let bytes = batch.get_array_memory_size();
        let held = files.reserve(bytes);
        if held {
            self.bytes += bytes;
        }
        self.rows += batch.num_rows();
        self.waiting.push((batch, runs));
        match !held || self.rows >= MAX_WAITING_ROWS || self.bytes >= MAX_WAITING_BYTES {
            true => self.flush(partitioner, files).await,
            false => Ok(()),
        }
    }

    /// Writes what waits.
    pub async fn flush(&mut self, partitioner: &Partitioner, files: &mut OpenFiles) -> Result<()> {
        let Self { waiting, bytes, .. } = std::mem::take(self);
        files.release(bytes);
        let batches: Vec<&RecordBatch> = waiting.iter().map(|(batch, _)| batch).collect();
        for group in groups(&waiting) {
            let (batch, run) = group.first;
            let Some((rows, runs)) = waiting.get(batch) else {
                continue;
            };
            let Some(range) = runs.ranges().get(run) else {
                continue;
            };
            let tuple = partitioner.tuple(runs, range.start);
            let partition = Partition {
                spec_id: partitioner.spec_id(),
                key: runs.key(run),
                path: partitioner.path(&tuple),
                tuple,
            };
            if group.is_run {
                let rows = rows.slice(range.start, group.rows.len());
                files.write(&partition, &rows).await?;
                continue;
            }
            let rows = interleave_record_batch(&batches, &group.rows);
            let rows = rows.map_err(|e| drumlin_format::Error::invalid("batch of rows", e.to_string()))?;
            files.write(&partition, &rows).await?;
        }
        Ok(())
    }
}

/// The rows that wait by partition, partitions in the order in which they came.
fn groups(waiting: &[(RecordBatch, Runs)]) -> Vec<Group> {
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (batch, (_, runs)) in waiting.iter().enumerate() {
        for (run, range) in runs.ranges().iter().enumerate() {
            let rows = range.clone().map(|row| (batch, row));
            let place = *places.entry(runs.key(run)).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => {
                    group.rows.extend(rows);
                    group.is_run = false;
                }
                None => groups.push(Group {
                    first: (batch, run),
                    rows: rows.collect(),
                    is_run: true,
                }),
            }
        }
    }
    groups
}

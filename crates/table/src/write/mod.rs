//! Writing data and delete files of a table (§ Data Files, § Delete Formats, § Appendix A: Parquet).
//!
//! ```text
//! batches ─► check columns, nulls ─► runs of one partition ─► open file of the partition ─► row groups ─► parts of an upload
//!                                                                   │ target size, end, cap, memory
//!                                                                   ▼
//!                                                             DataFile: footer → metrics, split offsets
//! ```
//!
//! [`TableFileWriter`] takes batches with the columns of the table and gives [`DataFile`](drumlin_format::manifest::DataFile)s
//! for a commit. Files are not part of the table before that; a writer that is aborted, that fails or that is dropped takes
//! its files with it. Names are never used twice (a random part each writer), so that nothing is overwritten.
//!
//! | module | holds |
//! |---|---|
//! | `writer` | [`TableFileWriter`]: from batches to files |
//! | `open_files` | the files of a writer that are open: rolling, the cap, memory; `complete_files` those that are not any more |
//! | `fan_out` | rows of all partitions in any order |
//! | [`delete_files`] | [`write_deletes`]: deletion vectors and position delete files |
//! | `data_file_writer` | one file, `upload` its bytes on their way |
//! | `dictionary` | which columns of a file have a dictionary |
//! | [`options`] | [`WriteOptions`]: the table's properties, checked |
//! | `location` | [`LocationProvider`]: where files go |
//! | `partition` | [`partition_columns`], and which rows of a batch are of one partition |
//! | `columns` | columns of a batch: checks, and their form in the file |
//! | [`row_lineage`] | the columns of the row lineage |
//! | `shape` | the schema of files in Arrow and Parquet |
//! | `metrics` | metrics of a file |
//!
//! # Memory
//!
//! A file is never held as a whole. What a writer holds at most is
//!
//! ```text
//! min(L, F × (G + P))  +  G + P × C  +  B
//! ```
//!
//! - `F`: open files: 1 for [`Arrangement::Clustered`], the cap ([`WriteOptions::with_max_open_files`]) for
//!   [`Arrangement::FanOut`];
//! - `G`: a row group in progress (`write.parquet.row-group-size-bytes`), and one more while it is closed;
//! - `P`: a part of an upload, 8 MiB (more for files above 80 GB), `C` = 4 of them on their way;
//! - `B`: with fan-out rows that wait to be sorted by partition, 64 Ki rows or 32 MiB, whichever is first;
//! - `L`: the limit of the writer ([`WriteOptions::with_memory_limit_bytes`]), four row groups and at least
//!   512 MiB unless said otherwise.
//!
//! The first and the last term are accounted to the [`MemoryAccount`](crate::memory::MemoryAccount). When that or `L` is
//! at its end, the row group of the largest file is closed before it is full, or the file is if there is nothing to gain by
//! that; only when no file holds anything more is there an error.

mod columns;
mod complete_files;
mod data_file_writer;
pub mod delete_files;
mod dictionary;
mod fan_out;
mod location;
mod metrics;
mod open_files;
pub mod options;
mod partition;
pub mod row_lineage;
mod shape;
mod upload;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use delete_files::{DeletedRows, write_deletes};
pub use location::LocationProvider;
pub use options::{DeleteGranularity, DeleteWriteOptions, WriteOptions};
pub use partition::partition_columns;
pub use writer::TableFileWriter;

/// Whether the rows of a partition come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// The rows of each partition follow one another in the input of the writer: one file is open at a time. A
    /// partition that comes back is an error that names it.
    Clustered,
    /// Rows of all partitions in any order. Beyond the cap of open files the one with the most bytes is closed.
    FanOut,
}

/// What was written so far, shared with whoever shows it. Clones count together.
#[derive(Debug, Default, Clone)]
pub struct WriteProgress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    rows: AtomicU64,
    bytes: AtomicU64,
    files: AtomicU64,
}

impl WriteProgress {
    /// Rows, or deletes of rows, that were given to files.
    pub fn rows(&self) -> u64 {
        self.0.rows.load(Ordering::Relaxed)
    }

    /// Bytes of files, encoded.
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Files that are complete.
    pub fn files(&self) -> u64 {
        self.0.files.load(Ordering::Relaxed)
    }

    fn add(&self, rows: u64, bytes: u64, files: u64) {
        self.0.rows.fetch_add(rows, Ordering::Relaxed);
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.0.files.fetch_add(files, Ordering::Relaxed);
    }
}

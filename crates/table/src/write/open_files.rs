//! The open files of a writer: when they are closed, and their memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::RecordBatch;
use drumlin_format::manifest::DataFile;
use drumlin_format::partition::PartitionTuple;

use super::WriteProgress;
use super::complete_files::CompleteFiles;
use super::data_file_writer::{DataFileWriter, FileKind};
use super::location::FileNames;
use super::partition::PartitionKey;
use crate::error::{Error, Result};
use crate::memory::MemoryAccount;
use crate::storage::Storage;

/// The most rows that are encoded before the size of the file is looked at again.
const MAX_SLICE_ROWS: usize = 8 * 1024;

/// The same in bytes of memory, as far as they can be told.
const MAX_SLICE_BYTES: u64 = 16 << 20;

/// The fewest rows that a batch is cut into.
const MIN_SLICE_ROWS: u64 = 64;

/// The open and the closed files of a writer. What is left of them when it is dropped is removed.
pub struct OpenFiles {
    kind: Arc<FileKind>,
    storage: Storage,
    names: Arc<FileNames>,
    progress: Arc<WriteProgress>,
    open: HashMap<PartitionKey, OpenFile>,
    complete: CompleteFiles,
    max_open: usize,
    memory: Reservation,
}

struct OpenFile {
    file: DataFileWriter,
    /// The bytes that are accounted for it.
    accounted: usize,
}

/// What the open files of a writer may take.
pub struct OpenLimits {
    /// How many there may be; at least 1.
    pub files: usize,
    /// Their memory, in bytes.
    pub memory_bytes: usize,
}

/// A partition that rows are written to.
pub struct Partition<'a> {
    /// Its spec.
    pub spec_id: i32,
    /// What tells it from others.
    pub key: &'a [u8],
    /// Its values.
    pub tuple: PartitionTuple,
    /// Its folder.
    pub path: String,
}

/// Bytes that were taken from an account, up to a limit, and are given back at the latest when this is dropped.
struct Reservation {
    account: Arc<dyn MemoryAccount>,
    taken: usize,
    limit: usize,
}

impl Reservation {
    fn grow(&mut self, bytes: usize) -> Result<()> {
        let taken = self.taken.saturating_add(bytes);
        if taken > self.limit {
            return Err(Error::NoMemory(format!(
                "the open data files of a writer need {taken} bytes, of {} that they may take",
                self.limit
            )));
        }
        self.account.grow(bytes)?;
        self.taken = taken;
        Ok(())
    }

    fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.taken);
        self.account.shrink(bytes);
        self.taken -= bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.shrink(self.taken);
    }
}

impl OpenFiles {
    /// No files yet.
    pub fn new(
        kind: Arc<FileKind>,
        storage: &Storage,
        names: Arc<FileNames>,
        limits: OpenLimits,
        account: Arc<dyn MemoryAccount>,
        progress: Arc<WriteProgress>,
    ) -> Self {
        Self {
            kind,
            storage: storage.clone(),
            names,
            progress,
            open: HashMap::new(),
            complete: CompleteFiles::new(storage),
            max_open: limits.files,
            memory: Reservation {
                account,
                taken: 0,
                limit: limits.memory_bytes,
            },
        }
    }

    /// What the files have in common.
    pub fn kind(&self) -> &FileKind {
        &self.kind
    }

    /// Writes rows with the columns of the files to the file of a partition, which is opened if it is not, and closed
    /// where it has its size.
    pub async fn write(&mut self, partition: &Partition<'_>, batch: &RecordBatch) -> Result<()> {
        let target = self.kind.target_bytes;
        let mut start = 0;
        while start < batch.num_rows() {
            let left = batch.slice(start, batch.num_rows() - start);
            let file = self.opened(partition, &left).await?;
            let rows = slice_rows(file, batch, target).min(batch.num_rows() - start);
            file.write(&batch.slice(start, rows)).await?;
            start += rows;
            let full = file.size() >= target;
            match full {
                true => self.close(partition.key).await?,
                false => self.account(partition.key).await?,
            }
        }
        Ok(())
    }

    async fn opened(
        &mut self,
        partition: &Partition<'_>,
        first_rows: &RecordBatch,
    ) -> Result<&mut DataFileWriter> {
        if !self.open.contains_key(partition.key) && self.open.len() >= self.max_open {
            self.close_largest(DataFileWriter::size).await?;
        }
        match self.open.entry(partition.key.into()) {
            Entry::Occupied(open) => Ok(&mut open.into_mut().file),
            Entry::Vacant(place) => {
                let file = DataFileWriter::new(
                    Arc::clone(&self.kind),
                    &self.storage,
                    self.names.next(&partition.path),
                    partition,
                    Arc::clone(&self.progress),
                    first_rows,
                )?;
                Ok(&mut place.insert(OpenFile { file, accounted: 0 }).file)
            }
        }
    }

    /// Closes the file of a partition, if there is one.
    pub async fn close(&mut self, key: &[u8]) -> Result<()> {
        let Some(open) = self.open.remove(key) else {
            return Ok(());
        };
        let storage = self.storage.clone();
        let closing = async move { Ok(vec![open.file.close(&storage).await?]) };
        let closed = self.complete.add(closing).await;
        self.memory.shrink(open.accounted);
        closed
    }

    /// Gives out the files that were closed. Those that are open stay so.
    pub fn take_closed(&mut self) -> Vec<DataFile> {
        self.complete.take()
    }

    /// Closes all files and gives them out.
    pub async fn finish(&mut self) -> Result<Vec<DataFile>> {
        let mut keys: Vec<(String, PartitionKey)> = Vec::with_capacity(self.open.len());
        keys.extend(
            self.open
                .iter()
                .map(|(key, open)| (open.file.location().to_string(), key.clone())),
        );
        keys.sort_unstable();
        for (_, key) in keys {
            self.close(&key).await?;
        }
        Ok(self.complete.take())
    }

    /// Removes all files, those that are closed too, as far as the store lets us.
    pub async fn abort(&mut self) {
        let open: Vec<_> = self.open.drain().map(|(_, open)| open.file).collect();
        self.memory.shrink(self.memory.taken);
        abort(&self.storage, open).await;
        self.complete.remove().await;
    }

    async fn close_largest<S: Ord>(&mut self, size: impl Fn(&DataFileWriter) -> S) -> Result<()> {
        let largest = self.open.iter().max_by_key(|(_, open)| size(&open.file));
        match largest.map(|(key, _)| key.clone()) {
            Some(key) => self.close(&key).await,
            None => Ok(()),
        }
    }

    /// Brings the account up to date for a file that was written to. If there is no memory for it, files are made
    /// smaller.
    async fn account(&mut self, key: &[u8]) -> Result<()> {
        // The file may be closed by what makes room.
        while let Some(open) = self.open.get_mut(key) {
            let now = open.file.memory();
            let Some(more) = now.checked_sub(open.accounted).filter(|more| *more > 0) else {
                self.memory.shrink(open.accounted - now);
                open.accounted = now;
                return Ok(());
            };
            match self.memory.grow(more) {
                Ok(()) => {
                    open.accounted = now;
                    return Ok(());
                }
                Err(e) => {
                    if !self.make_room().await? {
                        return Err(e);
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the row group of the file that holds the most memory, or the file where its row group is smaller than a part
    /// of the upload, in which it would only wait. False if no file holds anything.
    async fn make_room(&mut self) -> Result<bool> {
        let largest = self.open.iter_mut().max_by_key(|(_, open)| open.file.memory());
        let Some((key, open)) = largest.filter(|(_, open)| open.file.memory() > 0) else {
            return Ok(false);
        };
        if open.file.row_group_memory() <= open.file.part_bytes() {
            let key = key.clone();
            self.close(&key).await?;
            return Ok(true);
        }
        open.file.flush().await?;
        let now = open.file.memory();
        self.memory.shrink(open.accounted.saturating_sub(now));
        open.accounted = open.accounted.min(now);
        Ok(true)
    }

    /// Accounts bytes of rows that wait. False if there is no memory for them.
    pub fn reserve(&mut self, bytes: usize) -> bool {
        self.memory.grow(bytes).is_ok()
    }

    /// Gives back what was reserved.
    pub fn release(&mut self, bytes: usize) {
        self.memory.shrink(bytes);
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        if self.open.is_empty() {
            return;
        }
        // A query that is cancelled drops its writers without a word.
        let open: Vec<_> = self.open.drain().map(|(_, open)| open.file).collect();
        let storage = self.storage.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { abort(&storage, open).await });
        }
    }
}

async fn abort(storage: &Storage, open: Vec<DataFileWriter>) {
    for file in open {
        file.abort(storage).await;
    }
}

/// How many rows of a batch to encode before the size of the file is looked at: few enough that the file does not
/// become much larger than it is to be.
fn slice_rows(file: &DataFileWriter, batch: &RecordBatch, target: u64) -> usize {
    let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let in_memory = number(batch.get_array_memory_size()) / number(batch.num_rows()).max(1);
    let by_memory = MAX_SLICE_BYTES.min(target) / in_memory.max(1);
    let rows = match file.rows() {
        0 => by_memory,
        written => {
            let encoded = (file.size() / written).max(1);
            by_memory.min(target.saturating_sub(file.size()) / encoded)
        }
    };
    let rows = usize::try_from(rows.max(MIN_SLICE_ROWS)).unwrap_or(MAX_SLICE_ROWS);
    rows.min(MAX_SLICE_ROWS)
}

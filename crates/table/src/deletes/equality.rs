//! The equality deletes of one set of columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use drumlin_format::manifest::DataFile;
use futures::{StreamExt, TryStreamExt};
use tokio::sync::OnceCell;

use super::MemoryAccount;
use super::cache::Decoded;
use super::delete_file::{DeleteFile, invalid, open};
use super::key_columns::{KeyColumn, with_nulls};
use super::key_set::KeySet;
use crate::error::{Error, Result};
use crate::table::Table;
use crate::tasks::AbortOnDrop;

/// Rows of an equality delete file that are decoded at once.
const BATCH_ROWS: usize = 8192;

/// Equality delete files that are read at once.
const CONCURRENT_FILES: usize = 16;

/// The equality delete files of one partition, or of the whole table, that compare the same columns. Their values are
/// loaded once for all data files of a scan.
#[derive(Debug)]
pub struct EqualityDeletes {
    columns: Arc<[KeyColumn]>,
    global: bool,
    files: Vec<Arc<DeleteFile>>,
    keys: OnceCell<Arc<KeySet>>,
}

impl EqualityDeletes {
    pub(super) fn new(columns: Arc<[KeyColumn]>, global: bool, files: Vec<Arc<DeleteFile>>) -> Self {
        Self {
            columns,
            global,
            files,
            keys: OnceCell::new(),
        }
    }

    /// The columns that are compared, by ascending field id.
    pub fn columns(&self) -> &Arc<[KeyColumn]> {
        &self.columns
    }

    /// Whether they apply to all partitions; if not, to the one of their files.
    pub fn is_global(&self) -> bool {
        self.global
    }

    /// About how much memory the values take, in bytes, as far as manifests tell.
    pub fn estimated_memory(&self) -> u64 {
        let rows = self.files.iter().filter_map(|f| f.record_count());
        let rows = rows.fold(0u64, u64::saturating_add);
        rows.saturating_mul(KeySet::estimated_key_memory(&self.columns))
    }

    /// The delete files that apply to a data file of the scan.
    pub fn files(&self) -> &[Arc<DeleteFile>] {
        &self.files
    }

    /// The values that are deleted.
    ///
    /// # Errors
    /// A delete file is gone or damaged or lacks a column, or there is no memory for it.
    pub async fn keys(&self, table: &Table, memory: &dyn MemoryAccount) -> Result<&Arc<KeySet>> {
        self.keys.get_or_try_init(|| self.load(table, memory)).await
    }

    async fn load(&self, table: &Table, memory: &dyn MemoryAccount) -> Result<Arc<KeySet>> {
        let mut set = KeySet::new(Arc::clone(&self.columns))?;
        let mut accounted = 0;
        let mut decoded = futures::stream::iter(self.files.iter().cloned())
            .map(|file| {
                let (table, columns) = (table.clone(), Arc::clone(&self.columns));
                let number = file.sequence_number();
                let task = AbortOnDrop(tokio::spawn(
                    async move { keys_of(&file, &columns, &table).await },
                ));
                async move { Ok::<_, Error>((number, task.joined().await?)) }
            })
            .buffer_unordered(CONCURRENT_FILES);
        while let Some((sequence_number, batches)) = decoded.try_next().await? {
            for batch in batches.iter() {
                set.insert(batch, sequence_number)?;
                let memory_now = set.memory();
                memory.grow(memory_now.saturating_sub(accounted))?;
                accounted = memory_now;
            }
        }
        Ok(Arc::new(set.finish()))
    }
}

/// The key columns of a delete file, in batches.
async fn keys_of(
    file: &DeleteFile,
    columns: &Arc<[KeyColumn]>,
    table: &Table,
) -> Result<Arc<[Vec<ArrayRef>]>> {
    let named = columns
        .iter()
        .map(|c| format!("{}:{}", c.field_id(), c.data_type()));
    let key = file.key(table, named.collect::<Vec<_>>().join(",").into());
    let load = async {
        let batches = read_keys(file.data_file(), columns, table).await?;
        Ok(Decoded::Keys(batches.into()))
    };
    match table.storage().delete_cache().get_or_load(&key, load).await? {
        Decoded::Keys(batches) => Ok(batches),
        Decoded::Positions(_) => Err(Error::Stopped(format!(
            "the keys of `{}` were not decoded",
            file.data_file().file_path
        ))),
    }
}

async fn read_keys(file: &DataFile, columns: &[KeyColumn], table: &Table) -> Result<Vec<Vec<ArrayRef>>> {
    let needed = |e: Error| e.needed_for(table.files_needed_for());
    let opened = open(file, table).await?;
    let find = |column: &KeyColumn| {
        column.find_in(opened.schema().fields()).ok_or_else(|| {
            invalid(
                file,
                format!(
                    "it deletes by the column `{}` (field id {}), which it does not hold",
                    column.column().name,
                    column.field_id()
                ),
            )
        })
    };
    let paths = columns.iter().map(find).collect::<Result<Vec<_>>>()?;
    let mut roots: Vec<usize> = paths.iter().filter_map(|path| path.first().copied()).collect();
    roots.sort_unstable();
    roots.dedup();
    let mut batches = opened.read(&roots, BATCH_ROWS);
    let mut keys = Vec::new();
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(needed)?;
        let root_of = |path: &[usize]| {
            let root = roots.iter().position(|root| path.first() == Some(root));
            root.and_then(|root| batch.columns().get(root))
                .ok_or_else(|| invalid(file, "a column was not read"))
        };
        let values = paths.iter().zip(columns);
        let values = values.map(|(path, column)| values_at(file, root_of(path)?, path, column));
        keys.push(values.collect::<Result<Vec<_>>>()?);
    }
    Ok(keys)
}

/// The values at a path below a column of the file, in the type of the key column.
fn values_at(file: &DataFile, root: &ArrayRef, path: &[usize], column: &KeyColumn) -> Result<ArrayRef> {
    let mut values = Arc::clone(root);
    let mut nulls: Option<NullBuffer> = None;
    for place in path.iter().skip(1) {
        let Some(inner) = values.as_struct_opt() else {
            return Err(invalid(file, format!("`{}` is no struct", column.column().name)));
        };
        nulls = NullBuffer::union(nulls.as_ref(), inner.nulls());
        let Some(next) = inner.columns().get(*place).cloned() else {
            return Err(invalid(
                file,
                format!("`{}` has no field {place}", column.column().name),
            ));
        };
        values = next;
    }
    let values = with_nulls(&values, nulls.as_ref())?;
    let (found, wanted) = (values.data_type(), column.data_type());
    let failed = |reason: String| {
        let (name, id) = (&column.column().name, column.field_id());
        let what =
            format!("its column `{name}` (field id {id}) of the type {found} cannot be read as {wanted}");
        invalid(file, format!("{what}{reason}"))
    };
    if !may_hold(found, wanted) {
        return Err(failed(String::new()));
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(&values, wanted, &options).map_err(|e| failed(format!(": {e}")))
}

/// Whether a file may hold values of the type `wanted` as `found`: before a promotion, or in another layout. Arrow casts
/// more than that: `true` and `'1'` are not the key 1.
fn may_hold(found: &DataType, wanted: &DataType) -> bool {
    use DataType as D;
    if found == wanted || matches!(found, D::Null) {
        return true;
    }
    let is_text = |of: &D| matches!(of, D::Utf8 | D::LargeUtf8 | D::Utf8View);
    let is_binary = |of: &D| {
        matches!(
            of,
            D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_)
        )
    };
    match wanted {
        _ if is_text(wanted) || is_binary(wanted) => is_text(found) || is_binary(found),
        D::Timestamp(..) => matches!(found, D::Timestamp(..) | D::Date32),
        D::Time32(_) | D::Time64(_) => matches!(found, D::Time32(_) | D::Time64(_)),
        _ if wanted.is_integer() => found.is_integer(),
        _ if wanted.is_floating() => found.is_floating(),
        _ if wanted.is_decimal() => found.is_decimal(),
        _ => false,
    }
}

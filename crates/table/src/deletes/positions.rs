//! Deletion vectors and position delete files as sets of positions.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, Schema};
use drumlin_format::deletion_vector::{DeletionVector, MAX_DELETION_VECTOR_SIZE};
use drumlin_format::manifest::{DataFile, FileFormat};
use futures::StreamExt;
use object_store::ObjectStoreExt;

use super::delete_file::{invalid, open, size_of};
use crate::arrow::field_id;
use crate::cache::Memory;
use crate::error::{Error, Result};
use crate::table::Table;

/// `file_path` of position delete files, whose bounds tell which data files they name.
pub(crate) const FILE_PATH_ID: i32 = 2_147_483_546;

/// `pos` of position delete files.
pub(crate) const POS_ID: i32 = 2_147_483_545;

/// Rows of a position delete file that are decoded at once.
const BATCH_ROWS: usize = 8192;

/// Deleted positions by data file, whose paths are compared as they are written (§ Position Delete Files).
#[derive(Debug, Default)]
pub struct PositionDeletes {
    files: HashMap<Arc<str>, Arc<DeletionVector>>,
    memory: u64,
}

impl PositionDeletes {
    fn new(files: HashMap<Arc<str>, DeletionVector>) -> Self {
        let bytes = |path: &Arc<str>, vector: &DeletionVector| path.len() + vector.memory() + 96;
        let memory: usize = files.iter().map(|(p, v)| bytes(p, v)).sum();
        Self {
            files: files.into_iter().map(|(p, v)| (p, Arc::new(v))).collect(),
            memory: u64::try_from(memory).unwrap_or(u64::MAX),
        }
    }

    /// The positions of the data file at this path.
    pub fn of(&self, path: &str) -> Option<Arc<DeletionVector>> {
        self.files.get(path).cloned()
    }
}

impl Memory for PositionDeletes {
    fn bytes(&self) -> u64 {
        self.memory
    }
}

/// Reads a deletion vector or a position delete file.
pub async fn load(file: &DataFile, table: &Table) -> Result<PositionDeletes> {
    match file.file_format {
        FileFormat::Puffin => load_vector(file, table).await,
        _ => load_file(file, table).await,
    }
}

/// Reads a deletion vector: the bytes that the manifest names, not the footer of its file.
async fn load_vector(file: &DataFile, table: &Table) -> Result<PositionDeletes> {
    let Some(referenced) = &file.referenced_data_file else {
        return Err(invalid(file, "a deletion vector that names no data file"));
    };
    let range = file.content_offset.zip(file.content_size_in_bytes);
    let range = range.and_then(|(offset, length)| {
        let (offset, length) = (u64::try_from(offset).ok()?, u64::try_from(length).ok()?);
        let end = offset.checked_add(length)?;
        (length <= MAX_DELETION_VECTOR_SIZE && end <= size_of(file).ok()?).then_some(offset..end)
    });
    let Some(range) = range else {
        return Err(invalid(
            file,
            format!(
                "the deletion vector of `{referenced}` has the offset {} and the size {} in a file of {} bytes",
                or_none(file.content_offset),
                or_none(file.content_size_in_bytes),
                file.file_size_in_bytes
            ),
        ));
    };
    let (store, path) = table.storage().resolve(&file.file_path)?;
    let blob = store.get_range(&path, range).await;
    let blob = blob.map_err(|e| Error::store(&file.file_path, e).needed_for(table.files_needed_for()))?;
    let of = || format!("deletion vector of `{referenced}` in `{}`", file.file_path);
    let vector = DeletionVector::from_blob(&blob).map_err(|e| e.in_file(of()))?;
    if u64::try_from(file.record_count).is_ok_and(|count| count != vector.len()) {
        return Err(invalid(
            file,
            format!(
                "the deletion vector of `{referenced}` deletes {} rows, its manifest says {}",
                vector.len(),
                file.record_count
            ),
        ));
    }
    let files = HashMap::from([(Arc::clone(referenced), vector)]);
    Ok(PositionDeletes::new(files))
}

fn or_none(number: Option<i64>) -> String {
    number.map_or_else(|| "none".to_string(), |n| n.to_string())
}

/// Reads a position delete file. Its rows should be sorted by path and position; those of some writers are not.
async fn load_file(file: &DataFile, table: &Table) -> Result<PositionDeletes> {
    let needed = |e: Error| e.needed_for(table.files_needed_for());
    let opened = open(file, table).await?;
    let columns = [
        column(file, opened.schema(), FILE_PATH_ID, "file_path")?,
        column(file, opened.schema(), POS_ID, "pos")?,
    ];
    let mut batches = opened.read(&columns, BATCH_ROWS);
    let mut files: HashMap<Arc<str>, DeletionVector> = HashMap::new();
    let mut run = Vec::with_capacity(BATCH_ROWS);
    while let Some(batch) = batches.next().await {
        let batch = batch.map_err(needed)?;
        let [paths, positions] = batch.columns() else {
            return Err(invalid(file, "it was read without path and position"));
        };
        let paths = typed(file, paths, &DataType::Utf8View, "file_path")?;
        let positions = typed(file, positions, &DataType::Int64, "pos")?;
        let paths = paths.as_string_view();
        let mut path: Option<&str> = None;
        for (row, position) in positions.as_primitive::<Int64Type>().values().iter().enumerate() {
            let Ok(position) = u64::try_from(*position) else {
                return Err(invalid(file, format!("it deletes the position {position}")));
            };
            let next = paths.value(row);
            if path != Some(next) {
                add(&mut files, path, &mut run)?;
                path = Some(next);
            }
            run.push(position);
        }
        add(&mut files, path, &mut run)?;
    }
    Ok(PositionDeletes::new(files))
}

/// Adds a run of positions of one data file.
fn add(files: &mut HashMap<Arc<str>, DeletionVector>, path: Option<&str>, run: &mut Vec<u64>) -> Result<()> {
    if let Some(path) = path {
        match files.get_mut(path) {
            Some(vector) => vector.insert_all(run)?,
            None => {
                let mut vector = DeletionVector::new();
                vector.insert_all(run)?;
                files.insert(path.into(), vector);
            }
        }
    }
    run.clear();
    Ok(())
}

/// The place of a column, by its id; by its name in files without ids.
fn column(file: &DataFile, schema: &Schema, id: i32, name: &str) -> Result<usize> {
    let fields = schema.fields();
    let by_id = fields.iter().position(|f| field_id(f) == Some(id));
    let by_name = || {
        fields
            .iter()
            .position(|f| field_id(f).is_none() && f.name() == name)
    };
    by_id
        .or_else(by_name)
        .ok_or_else(|| invalid(file, format!("it has no column `{name}` (field id {id})")))
}

fn typed(file: &DataFile, array: &ArrayRef, wanted: &DataType, name: &str) -> Result<ArrayRef> {
    if array.null_count() > 0 {
        return Err(invalid(file, format!("its column `{name}` holds nulls")));
    }
    let found = array.data_type();
    let fits = match wanted {
        DataType::Int64 => matches!(found, DataType::Int64 | DataType::Int32),
        _ => matches!(found, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    };
    if !fits {
        return Err(invalid(
            file,
            format!("its column `{name}` is of the type {found}, expected {wanted}"),
        ));
    }
    cast(array, wanted).map_err(|e| invalid(file, format!("its column `{name}`: {e}")))
}

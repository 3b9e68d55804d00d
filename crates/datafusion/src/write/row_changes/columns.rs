//! The columns of rows that are changed, and the places that are collected from them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Int32Array, RecordBatch, new_null_array,
};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int32Type, Int64Type, Schema};
use datafusion::common::{DataFusionError, Result, internal_err};
use drumlin_format::deletion_vector::DeletionVector;
use drumlin_table::memory::MemoryAccount;

use crate::error::external;
use crate::metadata_columns::LAST_UPDATED_SEQUENCE_NUMBER;

/// What happens to a row, by the numbers of the column of actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// It goes.
    Delete = 0,
    /// It goes, and a new one comes in its place.
    Update = 1,
    /// It is new.
    Insert = 2,
}

/// Where things are in a batch of changed rows:
///
/// | columns | |
/// |---|---|
/// | those of the table | the new row, if there is one; left out where no statement writes any |
/// | action | [`Action`] as Int32 |
/// | file, position | where the old row is, if there is one |
/// | row id | of the old row (version 3); left out where no row is written |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChangeColumns {
    /// How many columns of the table there are.
    pub(crate) table_columns: usize,
    /// Whether there is a row id.
    pub(crate) row_id: bool,
    /// Whether a row that is changed twice is an error.
    pub(crate) unique: bool,
}

/// What a writer has taken out of data files: positions by the place of the file.
pub(crate) type Places = HashMap<i32, DeletionVector>;

/// The error of a row that is changed twice, before somebody has looked up which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Twice {
    pub(crate) file: i32,
    pub(crate) position: u64,
}

impl fmt::Display for Twice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the row {} of the file {} of the scan is changed twice",
            self.position, self.file
        )
    }
}

impl std::error::Error for Twice {}

impl Twice {
    /// The row, if the error is one of these.
    pub(crate) fn of(error: &DataFusionError) -> Option<Self> {
        match error.find_root() {
            DataFusionError::External(root) => root.downcast_ref::<Self>().copied(),
            _ => None,
        }
    }
}

impl From<Twice> for DataFusionError {
    fn from(twice: Twice) -> Self {
        Self::External(Box::new(twice))
    }
}

/// What came of a batch.
pub(crate) struct Taken {
    /// The columns of the table, and the lineage of rows.
    pub(crate) new_rows: Option<RecordBatch>,
    /// How many rows are new and in the place of none.
    pub(crate) inserted: u64,
}

impl ChangeColumns {
    /// Takes a batch apart: notes the places of old rows, gives the new ones.
    pub(crate) fn take(
        &self,
        batch: &RecordBatch,
        places: &mut Places,
        memory: &dyn MemoryAccount,
    ) -> Result<Taken> {
        let column = |place: usize| batch.columns().get(self.table_columns + place);
        let (Some(actions), Some(files), Some(positions)) = (
            column(0).and_then(|c| c.as_primitive_opt::<Int32Type>()),
            column(1).and_then(|c| c.as_primitive_opt::<Int32Type>()),
            column(2).and_then(|c| c.as_primitive_opt::<Int64Type>()),
        ) else {
            return internal_err!("expected changed rows, found {}", batch.schema());
        };
        let mut written = Vec::with_capacity(batch.num_rows());
        let (mut inserted, mut noted) = (0u64, 0usize);
        for row in 0..batch.num_rows() {
            let action = actions.value(row);
            written.push(action != Action::Delete as i32);
            if action == Action::Insert as i32 {
                inserted += 1;
                continue;
            }
            if files.is_null(row) || positions.is_null(row) {
                return internal_err!("a row that is changed is nowhere");
            }
            let (file, Ok(position)) = (files.value(row), u64::try_from(positions.value(row))) else {
                return internal_err!("a row that is changed has a position below 0");
            };
            let vector = places.entry(file).or_default();
            let is_new = vector.insert(position).map_err(|e| external(e.into()))?;
            if !is_new && self.unique {
                return Err(Twice { file, position }.into());
            }
            noted += usize::from(is_new);
        }
        // In a bitmap, two bytes each where they are many, more where they are few.
        memory.grow(noted.saturating_mul(4)).map_err(external)?;
        let new_rows = match self.table_columns {
            0 => None,
            _ => self.new_rows(batch, written)?,
        };
        Ok(Taken { new_rows, inserted })
    }

    fn new_rows(&self, batch: &RecordBatch, written: Vec<bool>) -> Result<Option<RecordBatch>> {
        let batch = match written.iter().all(|written| *written) {
            true => batch.clone(),
            false => filter_record_batch(batch, &BooleanArray::from(written))?,
        };
        if batch.num_rows() == 0 {
            return Ok(None);
        }
        let columns: Vec<usize> = (0..self.table_columns).collect();
        if !self.row_id {
            return Ok(Some(batch.project(&columns)?));
        }
        // Rows keep their ids. Their last change is this one, which is what a null says.
        let row_id = self.table_columns + 3;
        let with_id: Vec<usize> = columns.into_iter().chain([row_id]).collect();
        let rows = batch.project(&with_id)?;
        let mut fields: Vec<FieldRef> = rows.schema().fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(
            LAST_UPDATED_SEQUENCE_NUMBER,
            DataType::Int64,
            true,
        )));
        let mut arrays = rows.columns().to_vec();
        arrays.push(new_null_array(&DataType::Int64, rows.num_rows()));
        Ok(Some(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?))
    }
}

/// Places as two columns: the file, and its positions as the blob of a deletion vector.
pub(crate) fn encoded(places: &Places) -> Result<(ArrayRef, ArrayRef)> {
    let mut files: Vec<_> = places.iter().collect();
    files.sort_unstable_by_key(|(file, _)| **file);
    let blobs = files
        .iter()
        .map(|(_, positions)| positions.to_blob())
        .collect::<drumlin_format::Result<Vec<_>>>()
        .map_err(|e| external(e.into()))?;
    let blobs: Vec<&[u8]> = blobs.iter().map(Vec::as_slice).collect();
    let files: Int32Array = files.iter().map(|(file, _)| **file).collect();
    Ok((Arc::new(files), Arc::new(BinaryArray::from(blobs))))
}

/// Adds the places that [`encoded`] has made columns of.
///
/// # Errors
/// [`Twice`] if a row is in both, where none may be.
pub(crate) fn add_encoded(
    places: &mut Places,
    files: &ArrayRef,
    blobs: &ArrayRef,
    unique: bool,
) -> Result<()> {
    let (Some(files), Some(blobs)) = (
        files.as_primitive_opt::<Int32Type>(),
        blobs.as_binary_opt::<i32>(),
    ) else {
        return internal_err!("expected places of rows");
    };
    for (file, blob) in files.iter().zip(blobs.iter()) {
        let (Some(file), Some(blob)) = (file, blob) else {
            continue;
        };
        let more = DeletionVector::from_blob(blob).map_err(|e| external(e.into()))?;
        let known = places.entry(file).or_default();
        if unique && let Some(position) = known.first_common(&more) {
            return Err(Twice { file, position }.into());
        }
        known.merge(&more);
    }
    Ok(())
}

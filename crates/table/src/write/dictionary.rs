//! Dictionaries, where they pay.
//!
//! The Parquet writer gives a dictionary up only when it has outgrown its limit. In a file of some 100,000 rows it never does,
//! and columns of which nearly every value is another one (ids, prices, comments) are hashed value by value for a dictionary
//! that makes the file larger. So the first rows of a file are looked at: where more than half of the values of a column are
//! distinct it has no dictionary in this file, unless a property asks for one.

use std::collections::HashSet;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::row::{RowConverter, SortField};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::options::ParquetSettings;
use super::shape::FileShape;

/// Of so many rows the distinct values are counted.
const SAMPLE: usize = 1024;

/// Fewer rows tell nothing.
const LEAST: usize = 256;

/// The columns that no property speaks of: the place of each among the columns of a file, and its path.
#[derive(Debug)]
pub struct Dictionaries {
    open: Vec<(usize, ColumnPath)>,
}

impl Dictionaries {
    pub fn new(shape: &FileShape, settings: &ParquetSettings) -> Self {
        let mut open = Vec::new();
        for (place, field) in shape.arrow.fields().iter().enumerate() {
            let path = ColumnPath::new(vec![field.name().clone()]);
            // Columns without fields of their own have a leaf of their name.
            let leaf = shape.leaves.iter().find(|leaf| leaf.path == path);
            if leaf.is_some_and(|leaf| !settings.says_of_dictionary(leaf.field_id)) {
                open.push((place, path));
            }
        }
        Self { open }
    }

    /// The properties of a file whose first rows these are.
    pub fn properties(&self, of_all: &WriterProperties, first_rows: &RecordBatch) -> WriterProperties {
        let rows = first_rows.num_rows().min(SAMPLE);
        let without = |(place, _): &&(usize, ColumnPath)| {
            let column = first_rows.columns().get(*place);
            column.is_some_and(|column| mostly_distinct(&column.slice(0, rows)))
        };
        let mut builder = of_all.clone().into_builder();
        for (_, path) in self.open.iter().filter(without) {
            builder = builder.set_column_dictionary_enabled(path.clone(), false);
        }
        builder.build()
    }
}

/// Whether more than half of the values are distinct.
fn mostly_distinct(sample: &ArrayRef) -> bool {
    let values = sample.len() - sample.null_count();
    if values < LEAST {
        return false;
    }
    let rows = RowConverter::new(vec![SortField::new(sample.data_type().clone())])
        .and_then(|converter| converter.convert_columns(std::slice::from_ref(sample)));
    let Ok(rows) = rows else {
        return false;
    };
    let distinct: HashSet<&[u8]> = rows.iter().map(|row| row.data()).collect();
    distinct.len() * 2 > values
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    #[test]
    fn values_that_hardly_repeat_have_no_dictionary() {
        let column = |of: &dyn Fn(i64) -> Option<i64>| -> ArrayRef {
            Arc::new((0..1000).map(of).collect::<Int64Array>())
        };
        assert!(mostly_distinct(&column(&Some)));
        assert!(!mostly_distinct(&column(&|i| Some(i / 3))));
        assert!(!mostly_distinct(&column(&|_| Some(7))));
        // Nulls are no values.
        assert!(mostly_distinct(&column(&|i| Some(i).filter(|_| i % 2 == 0))));
        assert!(!mostly_distinct(&column(&|i| Some(i).filter(|_| i < 100))));
        let text: StringArray = (0..1000).map(|i| Some(format!("row {i}"))).collect();
        assert!(mostly_distinct(&(Arc::new(text) as ArrayRef)));
    }
}

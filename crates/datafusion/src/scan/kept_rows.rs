//! Rows taken out of batches that nobody else holds.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, downcast_primitive,
};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use datafusion::arrow::compute::{FilterBuilder, FilterPredicate};
use datafusion::common::Result;

/// Which rows of a batch are kept.
pub struct KeptRows {
    rows: usize,
    left: usize,
    /// Runs of rows that are kept, if most are.
    runs: Option<Vec<(usize, usize)>>,
    predicate: FilterPredicate,
}

impl KeptRows {
    /// The rows that are set.
    pub fn new(kept: BooleanBuffer) -> Self {
        let (rows, left) = (kept.len(), kept.count_set_bits());
        let runs = (left > rows / 4 * 3).then(|| kept.set_slices().collect());
        Self {
            rows,
            left,
            runs,
            predicate: FilterBuilder::new(&BooleanArray::new(kept, None))
                .optimize()
                .build(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.left
    }

    /// The array without the others. Values of fixed width that nobody else holds move within their memory: that is
    /// faster than to copy them elsewhere.
    ///
    /// # Errors
    /// The array is of a type that Arrow cannot filter.
    pub fn of(&self, array: ArrayRef) -> Result<ArrayRef> {
        macro_rules! moved {
            ($t:ty) => {
                self.moved::<$t>(array)
            };
        }
        if self.runs.is_none() || array.len() != self.rows {
            return Ok(self.predicate.filter(&array)?);
        }
        downcast_primitive! {
            array.data_type() => (moved),
            _ => Ok(self.predicate.filter(&array)?),
        }
    }

    /// Moves values of fixed width.
    fn moved<T: ArrowPrimitiveType>(&self, array: ArrayRef) -> Result<ArrayRef> {
        let Some(values) = array.as_primitive_opt::<T>().cloned() else {
            return Ok(self.predicate.filter(&array)?);
        };
        // Now the values have one holder less.
        drop(array);
        let (data_type, values, nulls) = values.into_parts();
        let values = match (values.into_inner().into_vec::<T::Native>(), &self.runs) {
            (Ok(mut values), Some(runs)) => {
                let mut end = 0;
                for (from, to) in runs {
                    values.copy_within(*from..*to, end);
                    end += to - from;
                }
                values.truncate(end);
                ScalarBuffer::from(values)
            }
            (shared, _) => {
                let values = shared.map_or_else(ScalarBuffer::from, ScalarBuffer::from);
                let array = PrimitiveArray::<T>::new(values, nulls).with_data_type(data_type);
                return Ok(self.predicate.filter(&array)?);
            }
        };
        let nulls = nulls.map(|nulls| self.nulls(&nulls)).transpose()?;
        Ok(Arc::new(
            PrimitiveArray::<T>::new(values, nulls).with_data_type(data_type),
        ))
    }

    fn nulls(&self, nulls: &NullBuffer) -> Result<NullBuffer> {
        let valid = self
            .predicate
            .filter(&BooleanArray::new(nulls.inner().clone(), None))?;
        Ok(NullBuffer::new(valid.as_boolean().values().clone()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use datafusion::arrow::array::{Decimal128Array, Int32Array, StringViewArray};
    use datafusion::arrow::compute::filter;

    use super::*;

    #[test]
    fn rows_are_kept_as_arrow_keeps_them() {
        let ints = || Int32Array::from_iter((0..100).map(|v| (v % 7 != 0).then_some(v)));
        let decimals = Decimal128Array::from_iter_values(0..100);
        let decimals = decimals.with_precision_and_scale(15, 2).unwrap();
        let texts = StringViewArray::from_iter_values((0..100).map(|v| format!("the number {v} as text")));
        for every in [2, 3, 10, 60] {
            let kept = BooleanBuffer::collect_bool(100, |row| row % every != 1);
            let rows = KeptRows::new(kept.clone());
            let mask = BooleanArray::new(kept, None);
            let shared: ArrayRef = Arc::new(ints());
            let arrays: [ArrayRef; 5] = [
                Arc::new(ints()),
                Arc::clone(&shared),
                Arc::new(ints().slice(0, 100)),
                Arc::new(decimals.clone()),
                Arc::new(texts.clone()),
            ];
            for array in arrays {
                let expected = filter(&array, &mask).unwrap();
                assert_eq!(expected.len(), rows.count());
                assert_eq!(&rows.of(array).unwrap(), &expected);
            }
            assert_eq!(shared.as_ref(), &ints());
        }
    }
}

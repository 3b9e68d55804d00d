//! Metrics of a data file: from its footer, and NaNs counted while it was written (§ Manifests, notes on metrics).
//!
//! | what | for which columns |
//! |---|---|
//! | sizes | all but those of the row lineage, of which there is nothing |
//! | counts of values and nulls | all outside of lists and maps whose mode has counts: inside, they would not count rows |
//! | counts of NaNs | those of them that are float or double |
//! | bounds | primitive columns outside of lists and maps whose mode has bounds; not variant, geometry, geography |

use std::cmp::Ordering;
use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{ArrowPrimitiveType, Float32Type, Float64Type};
use arrow_schema::{DataType, Fields};
use drumlin_format::manifest::{ColumnMetrics, ColumnMetricsBuilder};
use drumlin_format::metrics::{MetricsMode, truncate_lower, truncate_upper};
use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value;
use drumlin_format::value::bytes::{decimal_from_bytes, to_bytes};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;

use super::row_lineage::is_row_lineage;
use super::shape::{FileShape, Leaf};
use crate::arrow::field_id;

/// Counts NaNs by field id, outside of lists and maps.
#[derive(Debug, Default)]
pub struct NanCounts(BTreeMap<i32, i64>);

impl NanCounts {
    /// Counts those of a batch with the columns of the file.
    pub fn add(&mut self, batch: &RecordBatch) {
        self.add_columns(batch.schema_ref().fields(), batch.columns(), None);
    }

    fn add_columns(&mut self, fields: &Fields, columns: &[ArrayRef], outer: Option<&NullBuffer>) {
        for (field, column) in fields.iter().zip(columns) {
            let nan = match field.data_type() {
                DataType::Float32 => count_nan(column.as_primitive::<Float32Type>(), outer, f32::is_nan),
                DataType::Float64 => count_nan(column.as_primitive::<Float64Type>(), outer, f64::is_nan),
                DataType::Struct(inner) => {
                    let nulls = NullBuffer::union(outer, column.nulls());
                    self.add_columns(inner, column.as_struct().columns(), nulls.as_ref());
                    continue;
                }
                _ => continue,
            };
            if let Some(id) = field_id(field) {
                *self.0.entry(id).or_default() += nan;
            }
        }
    }
}

fn count_nan<T: ArrowPrimitiveType>(
    column: &PrimitiveArray<T>,
    outer: Option<&NullBuffer>,
    is_nan: impl Fn(T::Native) -> bool,
) -> i64 {
    let nulls = NullBuffer::union(outer, column.nulls());
    let values = column.values().iter().enumerate();
    let nan = match nulls.filter(|n| n.null_count() > 0) {
        None => values.filter(|(_, v)| is_nan(**v)).count(),
        Some(nulls) => values.filter(|(i, v)| is_nan(**v) && nulls.is_valid(*i)).count(),
    };
    i64::try_from(nan).unwrap_or(i64::MAX)
}

/// The metrics of a file. `modes` has the mode of each leaf of the shape.
pub fn file_metrics(
    footer: &ParquetMetaData,
    shape: &FileShape,
    modes: &[MetricsMode],
    nans: &NanCounts,
) -> ColumnMetrics {
    let mut metrics = ColumnMetricsBuilder::default();
    for (place, (leaf, mode)) in shape.leaves.iter().zip(modes).enumerate() {
        if is_row_lineage(leaf.field_id) {
            continue;
        }
        let chunks = footer
            .row_groups()
            .iter()
            .filter_map(|group| group.columns().get(place));
        let chunks: Vec<&ColumnChunkMetaData> = chunks.collect();
        let sizes = metrics.column_sizes.get_or_insert_default();
        // A variant has two leaves.
        *sizes.entry(leaf.field_id).or_default() += chunks.iter().map(|c| c.compressed_size()).sum::<i64>();
        if leaf.repeated || !mode.has_counts() {
            continue;
        }
        let values = chunks.iter().map(|c| c.num_values()).sum();
        metrics
            .value_counts
            .get_or_insert_default()
            .insert(leaf.field_id, values);
        if let Some(nulls) = chunks.iter().map(|c| null_count(c)).sum::<Option<i64>>() {
            metrics
                .null_value_counts
                .get_or_insert_default()
                .insert(leaf.field_id, nulls);
        }
        if leaf.primitive.is_floating() {
            let nan = nans.0.get(&leaf.field_id).copied().unwrap_or(0);
            metrics
                .nan_value_counts
                .get_or_insert_default()
                .insert(leaf.field_id, nan);
        }
        if mode.has_bounds()
            && let Some((lower, upper)) = bounds(&chunks, leaf)
        {
            let (lower, upper) = match mode.bound_length() {
                Some(length) => (truncate_lower(lower, length), truncate_upper(upper, length)),
                None => (lower, Some(upper)),
            };
            if let Some(lower) = to_bytes(&lower) {
                metrics
                    .lower_bounds
                    .get_or_insert_default()
                    .insert(leaf.field_id, lower);
            }
            if let Some(upper) = upper.and_then(|upper| to_bytes(&upper)) {
                metrics
                    .upper_bounds
                    .get_or_insert_default()
                    .insert(leaf.field_id, upper);
            }
        }
    }
    metrics.build()
}

fn null_count(chunk: &ColumnChunkMetaData) -> Option<i64> {
    i64::try_from(chunk.statistics()?.null_count_opt()?).ok()
}

/// The bounds over all row groups; `None` if a row group with values does not say them, or if there are no values.
fn bounds(chunks: &[&ColumnChunkMetaData], leaf: &Leaf) -> Option<(Value, Value)> {
    let mut bounds: Option<(Value, Value)> = None;
    for chunk in chunks {
        let statistics = chunk.statistics()?;
        let Some((min, max)) = min_max(statistics, &leaf.primitive) else {
            let only_nulls = null_count(chunk) == Some(chunk.num_values());
            // Where statistics of numbers are there without bounds, all of them are null or NaN.
            let only_nans = leaf.primitive.is_floating() && statistics.null_count_opt().is_some();
            if only_nulls || only_nans {
                continue;
            }
            return None;
        };
        bounds = Some(match bounds {
            None => (min, max),
            Some((lower, upper)) => (
                if order(&min, &lower)?.is_lt() { min } else { lower },
                if order(&max, &upper)?.is_gt() { max } else { upper },
            ),
        });
    }
    bounds.map(|(lower, upper)| (zero(lower, true), zero(upper, false)))
}

/// The order of bounds, with -0.0 below 0.0.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => Some(a.total_cmp(b)),
        (Value::Double(a), Value::Double(b)) => Some(a.total_cmp(b)),
        _ => a.compare(b),
    }
}

/// A bound of zero covers both zeros.
fn zero(bound: Value, lower: bool) -> Value {
    match bound {
        Value::Float(0.0) => Value::Float(if lower { -0.0 } else { 0.0 }),
        Value::Double(0.0) => Value::Double(if lower { -0.0 } else { 0.0 }),
        other => other,
    }
}

/// The bounds of one row group as values of the type; `None` if they are not there or hold NaN.
fn min_max(statistics: &Statistics, of: &PrimitiveType) -> Option<(Value, Value)> {
    use PrimitiveType as P;
    let of_int = |v: i32| match of {
        P::Int | P::Date => Some(Value::Int(v)),
        P::Decimal { .. } => Some(Value::Decimal(v.into())),
        _ => None,
    };
    let of_long = |v: i64| match of {
        P::Long | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
            Some(Value::Long(v))
        }
        P::Decimal { .. } => Some(Value::Decimal(v.into())),
        _ => None,
    };
    let of_bytes = |bytes: &[u8]| match of {
        P::String => std::str::from_utf8(bytes)
            .ok()
            .map(|text| Value::String(text.to_owned())),
        P::Binary | P::Uuid | P::Fixed(_) => Some(Value::Bytes(bytes.to_vec())),
        P::Decimal { .. } => decimal_from_bytes(bytes).map(Value::Decimal),
        _ => None,
    };
    let (min, max) = match statistics {
        Statistics::Boolean(s) => (Value::Boolean(*s.min_opt()?), Value::Boolean(*s.max_opt()?)),
        Statistics::Int32(s) => (of_int(*s.min_opt()?)?, of_int(*s.max_opt()?)?),
        Statistics::Int64(s) => (of_long(*s.min_opt()?)?, of_long(*s.max_opt()?)?),
        Statistics::Float(s) => (Value::Float(*s.min_opt()?), Value::Float(*s.max_opt()?)),
        Statistics::Double(s) => (Value::Double(*s.min_opt()?), Value::Double(*s.max_opt()?)),
        Statistics::ByteArray(s) => (of_bytes(s.min_opt()?.data())?, of_bytes(s.max_opt()?.data())?),
        Statistics::FixedLenByteArray(s) => (of_bytes(s.min_opt()?.data())?, of_bytes(s.max_opt()?.data())?),
        Statistics::Int96(_) => return None,
    };
    (!min.is_nan() && !max.is_nan()).then_some((min, max))
}

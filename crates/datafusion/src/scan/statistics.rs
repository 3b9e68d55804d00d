//! What manifest entries tell the optimizer about a file.
//!
//! Exact is only what is proven. Bounds of numbers, dates and times are exact when there are any: they are never cut.
//! Bounds of strings and bytes may be cut, those of floats say nothing of NaN and of the sign of zero: these are
//! estimates. Of a file with deletes the bounds and nulls may be those of deleted rows, and are estimates; how many rows
//! are left is exact where a deletion vector tells.

use std::cmp::Ordering;
use std::collections::HashMap;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use drumlin_format::manifest::DataFile;
use drumlin_format::schema::Schema as IcebergSchema;
use drumlin_format::types::{NestedField, PrimitiveType, Type};
use drumlin_format::value::Value;
use drumlin_format::value::bytes::from_bytes;
use drumlin_table::arrow::field_id;
use drumlin_table::scan::FileTask;

use crate::projection::adapter::FileColumns;
use crate::scalar::to_scalar;

/// The memory of a value of a string or binary column, beside long texts.
const VIEW_BYTES: usize = 16;

/// The statistics of a file for the columns of a scan, in their order.
pub fn of_file(
    task: &FileTask,
    columns: &FileColumns,
    scanned: &Schema,
    schema: &IcebergSchema,
) -> Statistics {
    let file = task.data_file();
    let num_rows = live_rows(task);
    let rows = num_rows.get_value().copied();
    let is_exact = num_rows.is_exact().unwrap_or(false);
    let metrics = Metrics::of(file);
    let column = |field: &Field| {
        let Some(id) = field_id(field) else {
            return ColumnStatistics::new_unknown();
        };
        if let Some(constant) = columns.constants.get(&id) {
            let constant = of_constant(constant, rows);
            return if is_exact { constant } else { constant.to_inexact() };
        }
        match schema.field_by_id(id) {
            Some(column) => {
                let column = of_column(&metrics, column, field.data_type(), rows);
                match task.deletes() {
                    None => column,
                    Some(_) => column.to_inexact(),
                }
            }
            None => ColumnStatistics::new_unknown(),
        }
    };
    Statistics {
        num_rows,
        // The file's size is that of all its columns, compressed. Beside the sizes of other inputs, which are those of
        // the columns they produce in memory, it would mislead the choice of join sides.
        total_byte_size: Precision::Absent,
        column_statistics: scanned.fields().iter().map(|f| column(f)).collect(),
    }
}

/// The number of rows of all files and nothing else, for scans of too many columns of too many files.
pub fn of_rows(tasks: &[FileTask], scanned: &Schema) -> Statistics {
    let rows = tasks.iter().map(live_rows);
    Statistics {
        num_rows: rows.fold(Precision::Exact(0), |sum, rows| sum.add(&rows)),
        ..Statistics::new_unknown(scanned)
    }
}

/// The rows of a file that are not deleted.
fn live_rows(task: &FileTask) -> Precision<usize> {
    let rows = |rows: u64| usize::try_from(rows).ok();
    match task.live_rows().and_then(rows) {
        Some(rows) => Precision::Exact(rows),
        None => match u64::try_from(task.data_file().record_count).ok().and_then(rows) {
            Some(rows) => Precision::Inexact(rows),
            None => Precision::Absent,
        },
    }
}

/// The metrics of a file, each map of the manifest walked through once.
struct Metrics<'a> {
    nulls: HashMap<i32, i64>,
    lower: HashMap<i32, &'a [u8]>,
    upper: HashMap<i32, &'a [u8]>,
}

impl<'a> Metrics<'a> {
    fn of(file: &'a DataFile) -> Self {
        let metrics = &file.column_metrics;
        Self {
            nulls: metrics.null_value_counts().into_iter().flatten().collect(),
            lower: metrics.lower_bounds().into_iter().flatten().collect(),
            upper: metrics.upper_bounds().into_iter().flatten().collect(),
        }
    }
}

fn of_constant(constant: &ScalarValue, rows: Option<usize>) -> ColumnStatistics {
    if constant.is_null() {
        return ColumnStatistics {
            null_count: rows.map_or(Precision::Absent, Precision::Exact),
            ..ColumnStatistics::new_unknown()
        };
    }
    if constant.data_type().is_nested() {
        return ColumnStatistics::new_unknown();
    }
    ColumnStatistics {
        null_count: Precision::Exact(0),
        min_value: Precision::Exact(constant.clone()),
        max_value: Precision::Exact(constant.clone()),
        byte_size: byte_size(&constant.data_type(), rows),
        ..ColumnStatistics::new_unknown()
    }
}

fn of_column(
    metrics: &Metrics<'_>,
    column: &NestedField,
    data_type: &DataType,
    rows: Option<usize>,
) -> ColumnStatistics {
    let primitive = match &column.field_type {
        // What writers count of a variant, and of what is shredded of it, is told nowhere.
        Type::Primitive(PrimitiveType::Variant) | Type::Struct(_) | Type::List(_) | Type::Map(_) => {
            return ColumnStatistics::new_unknown();
        }
        Type::Primitive(primitive) => primitive,
    };
    let nulls = metrics
        .nulls
        .get(&column.id)
        .and_then(|n| usize::try_from(*n).ok())
        .filter(|n| rows.is_some_and(|rows| *n <= rows));
    let decoded = |bytes: Option<&&[u8]>| {
        let value = from_bytes(bytes?, primitive).ok()?;
        (!value.is_nan()).then_some(value)
    };
    let (mut lower, mut upper) = (
        decoded(metrics.lower.get(&column.id)),
        decoded(metrics.upper.get(&column.id)),
    );
    if let (Some(low), Some(high)) = (&lower, &upper)
        && low.compare(high) == Some(Ordering::Greater)
    {
        // Bounds that contradict each other say nothing.
        (lower, upper) = (None, None);
    }
    let bound = |value: Option<Value>| {
        let scalar = value.and_then(|v| to_scalar(Some(&v), &column.field_type, true).ok());
        match scalar {
            Some(scalar) if scalar.data_type() != *data_type => Precision::Absent,
            Some(scalar) if is_exact(data_type) => Precision::Exact(scalar),
            Some(scalar) => Precision::Inexact(scalar),
            None => Precision::Absent,
        }
    };
    ColumnStatistics {
        null_count: nulls.map_or(Precision::Absent, Precision::Exact),
        min_value: bound(lower),
        max_value: bound(upper),
        byte_size: byte_size(data_type, rows),
        ..ColumnStatistics::new_unknown()
    }
}

/// The memory of a column: known where all values take the same. A view takes 16 bytes, and its text besides where
/// that is longer than 12: how much that is, manifests do not say.
fn byte_size(data_type: &DataType, rows: Option<usize>) -> Precision<usize> {
    let bytes = |width| rows.and_then(|rows| rows.checked_mul(width));
    match (data_type.primitive_width(), data_type) {
        (Some(width), _) => bytes(width).map_or(Precision::Absent, Precision::Exact),
        (None, DataType::Utf8View | DataType::BinaryView) => {
            bytes(VIEW_BYTES).map_or(Precision::Absent, Precision::Inexact)
        }
        _ => Precision::Absent,
    }
}

/// Whether bounds of this type are the least and greatest values themselves.
fn is_exact(data_type: &DataType) -> bool {
    match data_type {
        DataType::Boolean | DataType::Date32 | DataType::Time64(_) | DataType::Timestamp(_, _) => true,
        DataType::Decimal128(_, _) => true,
        other => other.is_integer(),
    }
}

//! Canonical text of dates, times and timestamps.

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::types::{
    Date32Type, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, TimeUnit};

use super::text;
use crate::conformance::column_type::ColumnType;

/// The texts of an array, or nothing if its type does not fit the declared one; or the first value out of range.
pub(super) fn values(array: &ArrayRef, of: &ColumnType) -> Option<Result<Vec<String>, String>> {
    let ticks = ticks(array)?;
    let write: Box<dyn Fn(i128) -> Option<String>> = match (of, array.data_type()) {
        (ColumnType::Date, DataType::Date32) => Box::new(|days| text::date(i64::try_from(days).ok()?)),
        (ColumnType::Time, DataType::Time64(unit)) => {
            let nanos = nanos_in(unit);
            Box::new(move |ticks| text::time_of_day(ticks * nanos))
        }
        (
            ColumnType::Timestamp {
                zoned,
                nanos: declared_nanos,
            },
            DataType::Timestamp(unit, zone),
        ) => {
            // The zone only names how an engine would print it; the ticks are in UTC whatever it is.
            if *zoned != zone.is_some() {
                return None;
            }
            let (nanos, zoned, digits) = (nanos_in(unit), *zoned, if *declared_nanos { 9 } else { 6 });
            Box::new(move |ticks| text::timestamp(ticks * nanos, digits, zoned))
        }
        _ => return None,
    };
    let write = |tick: Option<i64>| match tick {
        None => Ok(text::NULL.to_owned()),
        Some(tick) => match write(i128::from(tick)) {
            Some(text) => Ok(text::quoted(&text)),
            None => Err(tick.to_string()),
        },
    };
    Some(ticks.into_iter().map(write).collect())
}

fn nanos_in(unit: &TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// The raw numbers of the array, in the unit of its type.
fn ticks(array: &ArrayRef) -> Option<Vec<Option<i64>>> {
    macro_rules! raw {
        ($of:ty) => {
            array
                .as_primitive_opt::<$of>()?
                .iter()
                .map(|value| value.map(i64::from))
                .collect()
        };
    }
    Some(match array.data_type() {
        DataType::Date32 => raw!(Date32Type),
        DataType::Time64(TimeUnit::Microsecond) => raw!(Time64MicrosecondType),
        DataType::Time64(TimeUnit::Nanosecond) => raw!(Time64NanosecondType),
        DataType::Timestamp(TimeUnit::Second, _) => raw!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => raw!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => raw!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => raw!(TimestampNanosecondType),
        _ => return None,
    })
}

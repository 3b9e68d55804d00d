//! ORC types in Arrow's terms.
//!
//! | ORC | with attribute | Arrow |
//! |---|---|---|
//! | boolean, byte, short, int, long, float, double, date, decimal | | the same |
//! | long | `iceberg.long-type` = `TIME` | `Time64(µs)` |
//! | string, varchar, char | | `Utf8` |
//! | binary | | `Binary` |
//! | binary | `iceberg.binary-type` = `UUID`, `FIXED` | `FixedSizeBinary` |
//! | timestamp, timestamp_instant | | `Timestamp(µs)`, the second with zone `UTC` |
//! | timestamp, timestamp_instant | `iceberg.timestamp-unit` = `NANOS` | `Timestamp(ns)` |
//! | struct, list, map, union | | `Struct`, `List`, `Map`, `Union` |

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, TimestampMicrosecondArray};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, Decimal128Type};
use arrow::error::ArrowError;
use arrow_schema::{DataType as Arrow, Field, FieldRef, Fields, TimeUnit};
use orc_rust::ArrowSchemaOptions;
use orc_rust::schema::{DataType as Orc, NamedColumn};

use super::footer::OrcType;
use crate::arrow::{FIELD_ID_KEY, UTC};

/// Timestamps as the reader gives them where they may be finer than a microsecond: in nanoseconds, all that ORC can
/// hold. It refuses to cut them itself, and nanoseconds in 64 bits end in the year 2262.
const NANOSECONDS: Arrow = Arrow::Decimal128(DECIMAL128_MAX_PRECISION, 9);

/// A column of a file.
#[derive(Debug, Clone)]
pub struct ColumnType {
    /// Its number in the file.
    pub index: usize,
    /// What comes out.
    pub field: FieldRef,
    /// What the reader is asked for.
    pub decoded: FieldRef,
}

/// The types of a top-level column.
pub fn column(column: &NamedColumn, types: &[OrcType]) -> Result<ColumnType, String> {
    let stored = column.data_type();
    let field = field(column.name(), stored, types, true, false)?;
    let decoded = match stored {
        Orc::Timestamp { column_index } | Orc::TimestampWithLocalTimezone { column_index }
            if attribute(types, *column_index, "iceberg.timestamp-unit").is_none() =>
        {
            Arc::new(field.as_ref().clone().with_data_type(NANOSECONDS))
        }
        _ => self::field(column.name(), stored, types, true, true)?,
    };
    Ok(ColumnType {
        index: stored.column_index(),
        field,
        decoded,
    })
}

fn attribute<'t>(types: &'t [OrcType], index: usize, key: &str) -> Option<&'t str> {
    types.get(index)?.attribute(key)
}

/// A field of a column: as the reader makes it (`decoded`), or as it comes out.
fn field(
    name: &str,
    stored: &Orc,
    types: &[OrcType],
    nullable: bool,
    decoded: bool,
) -> Result<FieldRef, String> {
    let data_type =
        data_type(stored, types, decoded).map_err(|reason| format!("column `{name}`: {reason}"))?;
    let id = attribute(types, stored.column_index(), "iceberg.id");
    let id = id.map(|id| (FIELD_ID_KEY.to_string(), id.to_string()));
    Ok(Arc::new(
        Field::new(name, data_type, nullable).with_metadata(id.into_iter().collect()),
    ))
}

fn data_type(stored: &Orc, types: &[OrcType], decoded: bool) -> Result<Arrow, String> {
    let says = |key| attribute(types, stored.column_index(), key);
    let unit = match says("iceberg.timestamp-unit") {
        Some("NANOS") => TimeUnit::Nanosecond,
        _ => TimeUnit::Microsecond,
    };
    Ok(match stored {
        Orc::Long { .. } if !decoded && says("iceberg.long-type") == Some("TIME") => {
            Arrow::Time64(TimeUnit::Microsecond)
        }
        Orc::Binary { .. } if !decoded => match says("iceberg.binary-type") {
            Some("UUID") => Arrow::FixedSizeBinary(16),
            Some("FIXED") => {
                let length = says("iceberg.length").unwrap_or_default();
                let parsed = length.parse().ok().filter(|l: &i32| *l >= 0);
                Arrow::FixedSizeBinary(
                    parsed.ok_or_else(|| format!("a fixed has `{length}` for its length"))?,
                )
            }
            _ => Arrow::Binary,
        },
        Orc::Timestamp { .. } => Arrow::Timestamp(unit, None),
        Orc::TimestampWithLocalTimezone { .. } => Arrow::Timestamp(unit, Some(UTC.into())),
        Orc::Decimal { precision, scale, .. } => match (u8::try_from(*precision), i8::try_from(*scale)) {
            (Ok(p), Ok(s)) if (1..=DECIMAL128_MAX_PRECISION).contains(&p) => Arrow::Decimal128(p, s),
            _ => return Err(format!("decimal({precision}, {scale}) has too many digits")),
        },
        Orc::Struct { children, .. } => {
            let children = children
                .iter()
                .map(|c| field(c.name(), c.data_type(), types, true, decoded));
            Arrow::Struct(children.collect::<Result<_, _>>()?)
        }
        Orc::List { child, .. } => Arrow::List(field("element", child, types, true, decoded)?),
        Orc::Map { key, value, .. } => {
            let entries = Fields::from(vec![
                field("key", key, types, false, decoded)?,
                field("value", value, types, true, decoded)?,
            ]);
            // The reader gives the entries this name, whatever it is asked for.
            let entries = Field::new("entries", Arrow::Struct(entries), false);
            Arrow::Map(Arc::new(entries), false)
        }
        other => other.to_arrow_data_type_with_options(ArrowSchemaOptions::new()),
    })
}

/// An array of the reader as the type that comes out.
pub fn finished(
    array: &ArrayRef,
    to: &Arrow,
    cast: &dyn Fn(&ArrayRef, &Arrow) -> Result<ArrayRef, ArrowError>,
) -> Result<ArrayRef, ArrowError> {
    match (array.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (from, Arrow::Timestamp(TimeUnit::Microsecond, zone)) if *from == NANOSECONDS => {
            // Cut towards the past, as all who read ORC into microseconds do.
            let microseconds = array
                .as_primitive::<Decimal128Type>()
                .try_unary::<_, arrow::datatypes::TimestampMicrosecondType, ArrowError>(
                |nanoseconds| {
                    i64::try_from(nanoseconds.div_euclid(1000))
                        .map_err(|_| ArrowError::CastError(format!("{nanoseconds} ns is no timestamp")))
                },
            )?;
            let microseconds: TimestampMicrosecondArray = microseconds.with_timezone_opt(zone.clone());
            Ok(Arc::new(microseconds))
        }
        (_, to) => cast(array, to),
    }
}

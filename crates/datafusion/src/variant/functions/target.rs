//! The types that `variant_get` knows, by their names in Spark's SQL.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result, plan_err};
use drumlin_table::arrow::{EXTENSION_NAME_KEY, UTC, UUID_EXTENSION};

use super::super::variant_field;

/// What a value is taken as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A variant.
    Variant,
    /// Text: a string as it is, anything else as JSON.
    Text,
    /// A value of this type.
    Typed(DataType),
}

impl Target {
    /// The type of this name, in any case.
    ///
    /// # Errors
    /// It is not known.
    pub fn named(name: &str) -> Result<Self> {
        let lower = name.trim().to_ascii_lowercase();
        let of = match lower.as_str() {
            "variant" => return Ok(Self::Variant),
            "string" | "varchar" | "text" => return Ok(Self::Text),
            "boolean" => DataType::Boolean,
            "tinyint" | "byte" => DataType::Int8,
            "smallint" | "short" => DataType::Int16,
            "int" | "integer" => DataType::Int32,
            "bigint" | "long" => DataType::Int64,
            "float" | "real" => DataType::Float32,
            "double" => DataType::Float64,
            "decimal" => DataType::Decimal128(10, 0),
            "date" => DataType::Date32,
            "time" => DataType::Time64(TimeUnit::Microsecond),
            "timestamp" | "timestamptz" => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            "timestamp_ntz" => DataType::Timestamp(TimeUnit::Microsecond, None),
            "timestamp_ns" => DataType::Timestamp(TimeUnit::Nanosecond, None),
            "timestamptz_ns" => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
            "binary" => DataType::Binary,
            "uuid" => DataType::FixedSizeBinary(16),
            other => match decimal(other) {
                Some(decimal) => decimal,
                None => {
                    return plan_err!(
                        "variant_get knows no type `{name}`; it knows variant, string, boolean, tinyint, smallint, int, \
                         bigint, float, double, decimal(p, s), date, time, timestamp, timestamp_ntz, timestamp_ns, \
                         timestamptz_ns, binary, uuid"
                    );
                }
            },
        };
        Ok(Self::Typed(of))
    }

    /// The field of a result of this type.
    pub fn field(&self, name: &str) -> FieldRef {
        let typed = |of: &DataType| Field::new(name, of.clone(), true);
        match self {
            Self::Variant => variant_field(name),
            Self::Text => Arc::new(typed(&DataType::Utf8)),
            Self::Typed(of @ DataType::FixedSizeBinary(_)) => {
                let uuid = [(EXTENSION_NAME_KEY.to_string(), UUID_EXTENSION.to_string())];
                Arc::new(typed(of).with_metadata(uuid.into()))
            }
            Self::Typed(of) => Arc::new(typed(of)),
        }
    }
}

/// `decimal(9)`, `decimal(9, 2)`.
fn decimal(name: &str) -> Option<DataType> {
    let arguments = name.strip_prefix("decimal")?.trim_start();
    let arguments = arguments.strip_prefix('(')?.strip_suffix(')')?;
    let (precision, scale) = arguments.split_once(',').unwrap_or((arguments, "0"));
    let (precision, scale): (u8, i8) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    let fits = (1..=38).contains(&precision) && u8::try_from(scale).is_ok_and(|s| s <= precision);
    fits.then_some(DataType::Decimal128(precision, scale))
}

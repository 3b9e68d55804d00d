//! Values of the model, in SQL and compared.

use std::cmp::Ordering;

use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value as StoredValue;
use drumlin_format::value::text::to_text;

use crate::random::Random;

/// Microseconds of an hour.
pub const HOUR: i64 = 3_600_000_000;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    Int,
    Long,
    Text,
    Double,
    Date,
    Stamp,
}

/// A value that is not null.
#[derive(Debug, Clone)]
pub enum Value {
    /// Of the types [`Of::Int`] and [`Of::Long`].
    Int(i64),
    Text(String),
    Double(f64),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01.
    Stamp(i64),
}

/// A value or null.
pub type Cell = Option<Value>;

/// The cells of a row, in the order of the columns.
pub type Row = Vec<Cell>;

/// A column of a table or of a source.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub of: Of,
    /// What a row gets that does not say.
    pub default: Cell,
}

impl Column {
    pub fn new(name: &str, of: Of) -> Self {
        Self {
            name: name.to_string(),
            of,
            default: None,
        }
    }
}

impl Of {
    /// As `CREATE TABLE` and `CAST` name it.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Int => "INT",
            Self::Long => "BIGINT",
            Self::Text => "VARCHAR",
            Self::Double => "DOUBLE",
            Self::Date => "DATE",
            Self::Stamp => "TIMESTAMP",
        }
    }

    /// The type of the table.
    pub fn primitive(self) -> PrimitiveType {
        match self {
            Self::Int => PrimitiveType::Int,
            Self::Long => PrimitiveType::Long,
            Self::Text => PrimitiveType::String,
            Self::Double => PrimitiveType::Double,
            Self::Date => PrimitiveType::Date,
            Self::Stamp => PrimitiveType::Timestamp,
        }
    }

    /// Whether values of both are compared as they are.
    pub fn is_like(self, other: Self) -> bool {
        self == other || (self.is_integer() && other.is_integer())
    }

    pub fn is_integer(self) -> bool {
        matches!(self, Self::Int | Self::Long)
    }

    /// One of few values, so that conditions and keys meet them, or null.
    pub fn random(self, nulls: u64, random: &mut Random) -> Cell {
        (!random.percent(nulls)).then(|| self.random_value(random))
    }

    pub fn random_value(self, random: &mut Random) -> Value {
        match self {
            Self::Int | Self::Long => Value::Int(random.between(-2, 12)),
            Self::Text => {
                let texts = [
                    "",
                    "a",
                    "ab",
                    "abc",
                    "b",
                    "é",
                    "it's",
                    "a long text that no view holds inline",
                ];
                Value::Text((*random.pick(&texts)).to_string())
            }
            Self::Double if random.percent(4) => Value::Double(f64::NAN),
            Self::Double => {
                let halves = i32::try_from(random.between(-3, 12)).unwrap();
                Value::Double(f64::from(halves) / 2.0)
            }
            Self::Date => Value::Date(days(random)),
            Self::Stamp => {
                let hour = i64::from(days(random)) * 24 + random.between(0, 23);
                Value::Stamp(hour * HOUR + random.between(0, 1) * 1_500_001)
            }
        }
    }
}

/// A few days in a few months, some of them before 1970.
fn days(random: &mut Random) -> i32 {
    let month = *random.pick(&[-40, 19_720, 19_720, 19_750, 19_781, 20_090]);
    month + i32::try_from(random.between(0, 3)).unwrap()
}

impl Value {
    /// A literal of this value and type.
    pub fn sql(&self, of: Of) -> String {
        let text = match self {
            Self::Int(value) => return value.to_string(),
            Self::Text(value) => return format!("'{}'", value.replace('\'', "''")),
            Self::Double(value) if value.is_nan() => return "CAST('NaN' AS DOUBLE)".to_string(),
            Self::Double(value) => return format!("{value:?}"),
            Self::Date(value) => to_text(&StoredValue::Int(*value), &of.primitive()),
            Self::Stamp(value) => to_text(&StoredValue::Long(*value), &of.primitive()),
        };
        format!("{} '{text}'", of.sql())
    }

    /// As the column of a table stores it.
    pub fn stored(&self, of: Of) -> StoredValue {
        match (self, of) {
            (Self::Int(value), Of::Int) => StoredValue::Int(i32::try_from(*value).unwrap()),
            (Self::Int(value), _) | (Self::Stamp(value), _) => StoredValue::Long(*value),
            (Self::Text(value), _) => StoredValue::String(value.clone()),
            (Self::Double(value), _) => StoredValue::Double(*value),
            (Self::Date(value), _) => StoredValue::Int(*value),
        }
    }

    /// The order of SQL: NaN is equal to itself and above all numbers.
    ///
    /// # Panics
    /// The values are of different types.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) | (Self::Stamp(a), Self::Stamp(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Double(a), Self::Double(b)) => a.total_cmp(b),
            (Self::Date(a), Self::Date(b)) => a.cmp(b),
            _ => panic!("{self:?} and {other:?} are not compared"),
        }
    }

    /// # Panics
    /// It is no integer.
    pub fn integer(&self) -> i64 {
        match self {
            Self::Int(value) => *value,
            other => panic!("{other:?} is no integer"),
        }
    }
}

/// Within one column.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }
}

/// A literal, or NULL with its type.
pub fn typed_literal(cell: &Cell, of: Of) -> String {
    match cell {
        Some(value) => value.sql(of),
        None => format!("CAST(NULL AS {})", of.sql()),
    }
}

/// A literal, or NULL.
pub fn literal(cell: &Cell, of: Of) -> String {
    cell.as_ref()
        .map_or_else(|| "NULL".to_string(), |value| value.sql(of))
}

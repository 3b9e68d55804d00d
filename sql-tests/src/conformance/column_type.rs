//! Types of the columns of an answer, as `manifest.json` spells them.

use std::fmt;

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;

/// The Iceberg type of a column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnType {
    /// `boolean`
    Boolean,
    /// `int`: 32 bits
    Int,
    /// `long`: 64 bits
    Long,
    /// `float`: 32 bits
    Float,
    /// `double`: 64 bits
    Double,
    /// `decimal(precision,scale)`
    Decimal {
        /// Decimal digits in total.
        precision: u8,
        /// Decimal digits after the point.
        scale: i8,
    },
    /// `date`
    Date,
    /// `time`: microseconds of a day
    Time,
    /// `timestamp`, `timestamptz`, and both with `_ns`
    Timestamp {
        /// An instant rather than a wall clock reading.
        zoned: bool,
        /// Nanoseconds rather than microseconds.
        nanos: bool,
    },
    /// `string`
    String,
    /// `uuid`
    Uuid,
    /// `fixed[length]`
    Fixed(i32),
    /// `binary`
    Binary,
    /// `unknown`: always null
    Unknown,
    /// `variant`
    Variant,
    /// Fields in order, each with its name.
    Struct(Vec<(String, ColumnType)>),
    /// The type of the elements.
    List(Box<ColumnType>),
    /// The types of keys and values.
    Map(Box<ColumnType>, Box<ColumnType>),
}

impl ColumnType {
    /// Reads a type from its JSON form: a string for primitives, an object otherwise.
    pub fn from_json(json: &Value) -> Result<Self, String> {
        match json {
            Value::String(name) => Self::primitive(name),
            Value::Object(_) => Self::nested(json),
            _ => Err(format!("a type is a string or an object, not {json}")),
        }
    }

    fn primitive(name: &str) -> Result<Self, String> {
        let unknown = || format!("unknown column type {name:?}");
        Ok(match name {
            "boolean" => Self::Boolean,
            "int" => Self::Int,
            "long" => Self::Long,
            "float" => Self::Float,
            "double" => Self::Double,
            "date" => Self::Date,
            "time" => Self::Time,
            "string" => Self::String,
            "uuid" => Self::Uuid,
            "binary" => Self::Binary,
            "unknown" => Self::Unknown,
            "variant" => Self::Variant,
            "timestamp" => Self::timestamp(false, false),
            "timestamptz" => Self::timestamp(true, false),
            "timestamp_ns" => Self::timestamp(false, true),
            "timestamptz_ns" => Self::timestamp(true, true),
            _ => {
                if let Some(length) = argument(name, "fixed[", ']') {
                    Self::Fixed(length.parse().map_err(|_| unknown())?)
                } else if let Some((precision, scale)) =
                    argument(name, "decimal(", ')').and_then(|both| both.split_once(','))
                {
                    Self::Decimal {
                        precision: precision.trim().parse().map_err(|_| unknown())?,
                        scale: scale.trim().parse().map_err(|_| unknown())?,
                    }
                } else {
                    return Err(unknown());
                }
            }
        })
    }

    fn timestamp(zoned: bool, nanos: bool) -> Self {
        Self::Timestamp { zoned, nanos }
    }

    fn nested(json: &Value) -> Result<Self, String> {
        let part = |name: &str| {
            let part = json.get(name);
            part.ok_or_else(|| format!("type {json} has no {name:?}"))
        };
        let kind = part("type")?;
        match kind.as_str() {
            Some("struct") => {
                let fields = part("fields")?.as_array();
                let fields = fields.ok_or_else(|| format!("fields of {json} are no array"))?;
                let fields = fields.iter().map(|field| {
                    let name = field.get("name").and_then(Value::as_str);
                    let name = name.ok_or_else(|| format!("a field of {json} has no name"))?;
                    let of = field.get("type").unwrap_or(&Value::Null);
                    Ok((name.to_owned(), Self::from_json(of)?))
                });
                fields.collect::<Result<_, String>>().map(Self::Struct)
            }
            Some("list") => Ok(Self::List(Box::new(Self::from_json(part("element")?)?))),
            Some("map") => Ok(Self::Map(
                Box::new(Self::from_json(part("key")?)?),
                Box::new(Self::from_json(part("value")?)?),
            )),
            _ => Err(format!("unknown nested type {kind}")),
        }
    }
}

/// What stands between `before` and the last character, if `text` has that shape.
fn argument<'a>(text: &'a str, before: &str, last: char) -> Option<&'a str> {
    text.strip_prefix(before)?.strip_suffix(last)
}

impl<'de> Deserialize<'de> for ColumnType {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::from_json(&Value::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("boolean"),
            Self::Int => f.write_str("int"),
            Self::Long => f.write_str("long"),
            Self::Float => f.write_str("float"),
            Self::Double => f.write_str("double"),
            Self::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            Self::Date => f.write_str("date"),
            Self::Time => f.write_str("time"),
            Self::Timestamp { zoned, nanos } => {
                f.write_str(if *zoned { "timestamptz" } else { "timestamp" })?;
                f.write_str(if *nanos { "_ns" } else { "" })
            }
            Self::String => f.write_str("string"),
            Self::Uuid => f.write_str("uuid"),
            Self::Fixed(length) => write!(f, "fixed[{length}]"),
            Self::Binary => f.write_str("binary"),
            Self::Unknown => f.write_str("unknown"),
            Self::Variant => f.write_str("variant"),
            Self::Struct(fields) => {
                f.write_str("struct<")?;
                for (index, (name, of)) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{name}: {of}")?;
                }
                f.write_str(">")
            }
            Self::List(element) => write!(f, "list<{element}>"),
            Self::Map(key, value) => write!(f, "map<{key}, {value}>"),
        }
    }
}

//! The text form of primitive types, as it stands in schema JSON (§ Appendix C).

use std::fmt;
use std::str::FromStr;

use super::{EdgeAlgorithm, PrimitiveType};
use crate::error::Error;

/// Digits that a decimal may have (§ Primitive Types).
pub const MAX_DECIMAL_PRECISION: u8 = 38;

impl fmt::Display for PrimitiveType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("boolean"),
            Self::Int => f.write_str("int"),
            Self::Long => f.write_str("long"),
            Self::Float => f.write_str("float"),
            Self::Double => f.write_str("double"),
            Self::Decimal { precision, scale } => write!(f, "decimal({precision}, {scale})"),
            Self::Date => f.write_str("date"),
            Self::Time => f.write_str("time"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Timestamptz => f.write_str("timestamptz"),
            Self::TimestampNs => f.write_str("timestamp_ns"),
            Self::TimestamptzNs => f.write_str("timestamptz_ns"),
            Self::String => f.write_str("string"),
            Self::Uuid => f.write_str("uuid"),
            Self::Fixed(n) => write!(f, "fixed[{n}]"),
            Self::Binary => f.write_str("binary"),
            Self::Unknown => f.write_str("unknown"),
            Self::Variant => f.write_str("variant"),
            Self::Geometry { crs: None } => f.write_str("geometry"),
            Self::Geometry { crs: Some(crs) } => write!(f, "geometry({crs})"),
            Self::Geography {
                crs: None,
                algorithm: None,
            } => f.write_str("geography"),
            Self::Geography { crs, algorithm: None } => {
                write!(f, "geography({})", crs.as_deref().unwrap_or(DEFAULT_CRS))
            }
            Self::Geography {
                crs,
                algorithm: Some(a),
            } => {
                write!(f, "geography({}, {a})", crs.as_deref().unwrap_or(DEFAULT_CRS))
            }
        }
    }
}

/// The coordinate reference system of geometries and geographies that name none.
pub const DEFAULT_CRS: &str = "OGC:CRS84";

impl fmt::Display for EdgeAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spherical => "spherical",
            Self::Vincenty => "vincenty",
            Self::Thomas => "thomas",
            Self::Andoyer => "andoyer",
            Self::Karney => "karney",
        })
    }
}

impl FromStr for EdgeAlgorithm {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self, Error> {
        Ok(match s.to_ascii_lowercase().as_str() {
            "spherical" => Self::Spherical,
            "vincenty" => Self::Vincenty,
            "thomas" => Self::Thomas,
            "andoyer" => Self::Andoyer,
            "karney" => Self::Karney,
            _ => {
                return Err(Error::invalid(
                    "edge algorithm",
                    format!("expected spherical, vincenty, thomas, andoyer or karney, found `{s}`"),
                ));
            }
        })
    }
}

impl FromStr for PrimitiveType {
    type Err = Error;

    /// Reads the names of the specification, with or without spaces inside the parentheses.
    fn from_str(s: &str) -> Result<Self, Error> {
        let (name, arguments) = split_arguments(s)?;
        let plain = |t: Self| match arguments {
            None => Ok(t),
            Some(_) => Err(bad(s, "this type takes no arguments")),
        };
        match name.to_ascii_lowercase().as_str() {
            "boolean" => plain(Self::Boolean),
            "int" => plain(Self::Int),
            "long" => plain(Self::Long),
            "float" => plain(Self::Float),
            "double" => plain(Self::Double),
            "date" => plain(Self::Date),
            "time" => plain(Self::Time),
            "timestamp" => plain(Self::Timestamp),
            "timestamptz" => plain(Self::Timestamptz),
            "timestamp_ns" => plain(Self::TimestampNs),
            "timestamptz_ns" => plain(Self::TimestamptzNs),
            "string" => plain(Self::String),
            "uuid" => plain(Self::Uuid),
            "binary" => plain(Self::Binary),
            "unknown" => plain(Self::Unknown),
            "variant" => plain(Self::Variant),
            "fixed" => {
                let length = arguments
                    .and_then(|a| a.trim().parse::<u32>().ok())
                    .filter(|n| i32::try_from(*n).is_ok())
                    .ok_or_else(|| bad(s, "expected fixed[<length>]"))?;
                Ok(Self::Fixed(length))
            }
            "decimal" => parse_decimal(s, arguments),
            "geometry" => Ok(Self::Geometry {
                crs: arguments.and_then(parse_crs),
            }),
            "geography" => {
                let Some(arguments) = arguments else {
                    return Ok(Self::Geography {
                        crs: None,
                        algorithm: None,
                    });
                };
                let (crs, algorithm) = match arguments.rsplit_once(',') {
                    None => (arguments, None),
                    Some((crs, algorithm)) => (crs, Some(algorithm.trim().parse()?)),
                };
                Ok(Self::Geography {
                    crs: parse_crs(crs),
                    algorithm,
                })
            }
            _ => Err(Error::unsupported(format!(
                "the type `{s}`; the types of format versions 1 to 3 are supported"
            ))),
        }
    }
}

/// `name`, `name(arguments)` or `name[arguments]`.
fn split_arguments(s: &str) -> Result<(&str, Option<&str>), Error> {
    let s = s.trim();
    let Some(open) = s.find(['(', '[']) else {
        return Ok((s, None));
    };
    let (name, rest) = s.split_at(open);
    let inner = if rest.starts_with('(') {
        rest.strip_prefix('(').and_then(|r| r.strip_suffix(')'))
    } else {
        rest.strip_prefix('[').and_then(|r| r.strip_suffix(']'))
    };
    match inner {
        Some(inner) => Ok((name.trim_end(), Some(inner))),
        None => Err(bad(s, "the closing bracket is missing")),
    }
}

fn parse_decimal(text: &str, arguments: Option<&str>) -> Result<PrimitiveType, Error> {
    let parsed = arguments
        .and_then(|a| a.split_once(','))
        .and_then(|(p, s)| Some((p.trim().parse::<u8>().ok()?, s.trim().parse::<u8>().ok()?)));
    match parsed {
        Some((precision, scale))
            if (1..=MAX_DECIMAL_PRECISION).contains(&precision) && scale <= precision =>
        {
            Ok(PrimitiveType::Decimal { precision, scale })
        }
        _ => Err(bad(
            text,
            "expected decimal(<precision 1 to 38>, <scale 0 to precision>)",
        )),
    }
}

fn parse_crs(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty() && text != DEFAULT_CRS).then(|| text.to_string())
}

fn bad(text: &str, reason: &str) -> Error {
    Error::invalid(format!("type `{text}`"), reason)
}

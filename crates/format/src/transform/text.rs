//! The text form of transforms in specs and sort orders.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use super::Transform;

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identity => f.write_str("identity"),
            Self::Bucket(n) => write!(f, "bucket[{n}]"),
            Self::Truncate(w) => write!(f, "truncate[{w}]"),
            Self::Year => f.write_str("year"),
            Self::Month => f.write_str("month"),
            Self::Day => f.write_str("day"),
            Self::Hour => f.write_str("hour"),
            Self::Void => f.write_str("void"),
            Self::Unknown(text) => f.write_str(text),
        }
    }
}

impl FromStr for Transform {
    type Err = Infallible;

    /// Reads a transform; text that names none becomes [`Transform::Unknown`] (§ Partition Specs: readers must
    /// tolerate unknown transforms).
    fn from_str(s: &str) -> Result<Self, Infallible> {
        let lower = s.trim().to_ascii_lowercase();
        Ok(match lower.as_str() {
            "identity" => Self::Identity,
            "year" => Self::Year,
            "month" => Self::Month,
            "day" => Self::Day,
            "hour" => Self::Hour,
            "void" => Self::Void,
            other => {
                let with_width = |name: &str| {
                    let width = other.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?;
                    width
                        .trim()
                        .parse::<u32>()
                        .ok()
                        .filter(|w| (1..=i32::MAX.unsigned_abs()).contains(w))
                };
                if let Some(n) = with_width("bucket") {
                    Self::Bucket(n)
                } else if let Some(w) = with_width("truncate") {
                    Self::Truncate(w)
                } else {
                    Self::Unknown(s.to_string())
                }
            }
        })
    }
}

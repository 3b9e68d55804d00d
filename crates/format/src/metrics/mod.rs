//! Which metrics of a column are kept (§ Manifests, table property `write.metadata.metrics`), and how long bounds are
//! cut.

mod truncate;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

pub use truncate::{truncate_lower, truncate_upper};

/// What is kept of a column's metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsMode {
    /// Nothing.
    None,
    /// Counts of values, nulls and NaNs.
    Counts,
    /// Counts, and bounds cut to so many characters or bytes.
    Truncate(usize),
    /// Counts and whole bounds.
    Full,
}

impl MetricsMode {
    /// The mode of columns that no property names: bounds of 16 characters or bytes.
    pub const DEFAULT: Self = Self::Truncate(16);

    /// Whether counts are kept.
    pub fn has_counts(self) -> bool {
        self != Self::None
    }

    /// Whether bounds are kept.
    pub fn has_bounds(self) -> bool {
        matches!(self, Self::Truncate(_) | Self::Full)
    }

    /// How long bounds may be, in characters or bytes; `None` is as long as they are.
    pub fn bound_length(self) -> Option<usize> {
        match self {
            Self::Truncate(length) => Some(length),
            _ => None,
        }
    }
}

impl FromStr for MetricsMode {
    type Err = Error;

    /// Reads `none`, `counts`, `truncate(16)` or `full`, in any case.
    fn from_str(text: &str) -> Result<Self> {
        let lower = text.trim().to_ascii_lowercase();
        match lower.as_str() {
            "none" => return Ok(Self::None),
            "counts" => return Ok(Self::Counts),
            "full" => return Ok(Self::Full),
            _ => {}
        }
        let length = lower
            .strip_prefix("truncate(")
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|length| length.trim().parse().ok());
        match length {
            Some(length) if length > 0 => Ok(Self::Truncate(length)),
            _ => Err(Error::invalid(
                "metrics mode",
                format!("expected none, counts, truncate(length above 0) or full, found `{text}`"),
            )),
        }
    }
}

impl fmt::Display for MetricsMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Counts => f.write_str("counts"),
            Self::Truncate(length) => write!(f, "truncate({length})"),
            Self::Full => f.write_str("full"),
        }
    }
}

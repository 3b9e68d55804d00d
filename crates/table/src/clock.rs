//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, in ms since 1970-01-01 UTC.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

//! Canonical text of single values.

use std::fmt::Write;

use chrono::{DateTime, NaiveDate, SecondsFormat};

/// The text of null.
pub const NULL: &str = "null";

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i128 = 86_400;

/// A JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The hyphenated form of a UUID; the bytes are its 16, most significant first.
pub fn uuid(bytes: &[u8]) -> String {
    let mut text = hex(bytes);
    for hyphen in [20, 16, 12, 8] {
        if hyphen < text.len() {
            text.insert(hyphen, '-');
        }
    }
    text
}

/// A double: the shortest digits that parse back to the same bits.
pub fn double(value: f64) -> String {
    special(value).unwrap_or_else(|| laid_out(&format!("{value:e}")))
}

/// A float: the first of its roundings to 1, 2, … 9 digits that parses back to the same bits.
pub fn float(value: f32) -> String {
    let wide = f64::from(value);
    special(wide).unwrap_or_else(|| {
        let rounded = |digits: usize| format!("{wide:.*e}", digits - 1);
        let same = |text: &String| {
            text.parse::<f32>()
                .is_ok_and(|back| back.to_bits() == value.to_bits())
        };
        let shortest = (1..9).map(rounded).find(same).unwrap_or_else(|| rounded(9));
        laid_out(&shortest)
    })
}

fn special(value: f64) -> Option<String> {
    let text = match value {
        _ if value.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => return None,
    };
    Some(text.to_owned())
}

/// `d.ddde±x` as Python lays it out: positional from 0.0001 up to 16 digits before the point, otherwise with an
/// exponent of at least two digits.
fn laid_out(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    if !(-4..16).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let direction = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{direction}{:02}", exponent.abs());
    }
    match usize::try_from(exponent) {
        Ok(exponent) => {
            let whole = exponent + 1;
            let digits = format!("{digits:0<whole$}");
            let (whole, fraction) = digits.split_at(whole);
            let fraction = if fraction.is_empty() { "0" } else { fraction };
            format!("{sign}{whole}.{fraction}")
        }
        Err(_) => {
            let zeros = "0".repeat(usize::try_from(-1 - exponent).unwrap_or(0));
            format!("{sign}0.{zeros}{digits}")
        }
    }
}

/// A date, from days since 1970-01-01; nothing outside the years 1 to 9999.
pub fn date(days: i64) -> Option<String> {
    let epoch = NaiveDate::from_ymd_opt(1970, 1, 1)?;
    let date = epoch.checked_add_signed(chrono::TimeDelta::try_days(days)?)?;
    let text = date.format("%Y-%m-%d").to_string();
    (text.len() == 10).then_some(text)
}

/// A time of day with six fraction digits, from nanoseconds since midnight; nothing if it is finer than that.
pub fn time_of_day(nanos: i128) -> Option<String> {
    if !(0..SECONDS_PER_DAY * NANOS_PER_SECOND).contains(&nanos) {
        return None;
    }
    timestamp(nanos, 6, false)?
        .split_once('T')
        .map(|(_, time)| time.to_owned())
}

/// A timestamp with six or nine fraction digits, from nanoseconds since 1970; nothing if it is finer than that or
/// outside the years 1 to 9999.
pub fn timestamp(nanos: i128, digits: u8, zoned: bool) -> Option<String> {
    let seconds = i64::try_from(nanos.div_euclid(NANOS_PER_SECOND)).ok()?;
    let rest = u32::try_from(nanos.rem_euclid(NANOS_PER_SECOND)).ok()?;
    let moment = DateTime::from_timestamp(seconds, rest)?;
    date(seconds.div_euclid(86_400))?;
    let text = match digits {
        9 => moment.to_rfc3339_opts(SecondsFormat::Nanos, false),
        _ if rest.is_multiple_of(1000) => moment.to_rfc3339_opts(SecondsFormat::Micros, false),
        _ => return None,
    };
    Some(match zoned {
        true => text,
        false => text.strip_suffix("+00:00")?.to_owned(),
    })
}

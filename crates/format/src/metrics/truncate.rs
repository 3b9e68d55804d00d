//! Cutting bounds. A cut bound is still a bound, but no value of the column.

use crate::value::Value;

/// Cuts a lower bound to `length` characters (strings) or bytes (binary, fixed). Other values stay.
pub fn truncate_lower(value: Value, length: usize) -> Value {
    match value {
        Value::String(text) => Value::String(text.chars().take(length).collect()),
        Value::Bytes(mut bytes) => {
            bytes.truncate(length);
            Value::Bytes(bytes)
        }
        other => other,
    }
}

/// Cuts an upper bound to `length` characters (strings) or bytes (binary, fixed) and counts the last one up that can
/// be, so that it stays above. `None` if none can be: then there is no upper bound. Values that are short enough, and
/// other values, stay.
pub fn truncate_upper(value: Value, length: usize) -> Option<Value> {
    match value {
        Value::String(text) => {
            let mut kept: Vec<char> = text.chars().take(length).collect();
            if text.chars().nth(length).is_none() {
                return Some(Value::String(text));
            }
            while let Some(last) = kept.pop() {
                if let Some(next) = next_char(last) {
                    kept.push(next);
                    return Some(Value::String(kept.into_iter().collect()));
                }
            }
            None
        }
        Value::Bytes(mut bytes) => {
            if bytes.len() <= length {
                return Some(Value::Bytes(bytes));
            }
            bytes.truncate(length);
            while let Some(last) = bytes.pop() {
                if let Some(next) = last.checked_add(1) {
                    bytes.push(next);
                    return Some(Value::Bytes(bytes));
                }
            }
            None
        }
        other => Some(other),
    }
}

/// The next code point, past the surrogates, which are no characters.
fn next_char(c: char) -> Option<char> {
    match c {
        '\u{d7ff}' => Some('\u{e000}'),
        c => char::from_u32(u32::from(c).checked_add(1)?),
    }
}

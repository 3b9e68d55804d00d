//! Table properties by name, checked.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The properties of a table, and what is to be said about them.
pub(crate) struct Properties<'a> {
    properties: &'a BTreeMap<String, String>,
    /// See [`WriteOptions::notes`](crate::write::WriteOptions::notes).
    pub notes: Vec<String>,
}

impl<'a> Properties<'a> {
    /// These properties.
    pub fn new(properties: &'a BTreeMap<String, String>) -> Self {
        Self {
            properties,
            notes: Vec::new(),
        }
    }

    /// A property as it stands.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.properties.get(key).map(String::as_str)
    }

    /// The error of a property.
    pub fn wrong(key: &str, value: &str, expected: impl Display) -> Error {
        Error::Property {
            key: key.to_string(),
            value: value.to_string(),
            expected: expected.to_string(),
        }
    }

    /// A property read by `FromStr`; `null` counts as not set.
    pub fn parsed<T: FromStr>(&self, key: &str, expected: &str) -> Result<Option<T>> {
        let Some(text) = self.text(key).filter(|text| *text != "null") else {
            return Ok(None);
        };
        let value = text.trim().parse();
        value.map(Some).map_err(|_| Self::wrong(key, text, expected))
    }

    /// `true` or `false`, in any case.
    pub fn boolean(&self, key: &str, default: bool) -> Result<bool> {
        Ok(self
            .text(key)
            .map(|text| boolean(key, text))
            .transpose()?
            .unwrap_or(default))
    }

    /// A number.
    pub fn number<T: FromStr>(&self, key: &str, default: T, what: &str) -> Result<T> {
        let Some(text) = self.text(key) else {
            return Ok(default);
        };
        let wrong = |_| Self::wrong(key, text, format!("a number of {what}"));
        text.trim().parse().map_err(wrong)
    }

    /// A number above 0.
    pub fn positive<T: FromStr + PartialOrd + From<u8>>(
        &self,
        key: &str,
        default: T,
        what: &str,
    ) -> Result<T> {
        let expected = format!("a number of {what} above 0");
        let value = self.parsed::<T>(key, &expected)?.unwrap_or(default);
        match value > T::from(0) {
            true => Ok(value),
            false => Err(Self::wrong(key, self.text(key).unwrap_or_default(), expected)),
        }
    }

    /// One of some words, in any case.
    pub fn one_of<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        let known = words
            .iter()
            .find(|(word, _)| word.eq_ignore_ascii_case(text.trim()));
        let expected = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        known
            .map(|(_, value)| Some(*value))
            .ok_or_else(|| Self::wrong(key, text, format!("one of {}", expected())))
    }

    /// The properties whose key starts with `prefix`: the whole key, the name of the column behind it, the value.
    pub fn by_column(&self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str, &'a str)> {
        let from = self.properties.range(prefix.to_string()..);
        from.map_while(move |(key, value)| Some((key.as_str(), key.strip_prefix(prefix)?, value.as_str())))
    }
}

/// `true` or `false`, in any case.
pub(crate) fn boolean(key: &str, text: &str) -> Result<bool> {
    match text.trim() {
        t if t.eq_ignore_ascii_case("true") => Ok(true),
        t if t.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(Properties::wrong(key, text, "true or false")),
    }
}

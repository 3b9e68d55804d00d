//! What a commit did (§ Optional Snapshot Summary Fields).

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde::{Deserialize, de};

/// What a snapshot changed in its table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Only data files were added.
    Append,
    /// Files were replaced without a change of the table's rows.
    Replace,
    /// Rows were added and removed.
    Overwrite,
    /// Only rows were removed.
    Delete,
    /// An operation that the specification does not name.
    Other(String),
}

/// The operation of a snapshot and the figures its writer noted.
///
/// A table can hold thousands of snapshots with some twenty notes each, of which hardly any is ever looked at, so
/// the texts of all notes are kept in one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What the commit did. Where it is missing, it counts as overwrite, of which nothing can be assumed.
    pub operation: Operation,
    /// Key, value, key, value and so on.
    text: String,
    /// Where each key and each value ends in `text`.
    ends: Vec<usize>,
}

impl Summary {
    /// The key that holds the operation.
    pub const OPERATION: &'static str = "operation";

    /// A summary without notes.
    pub fn new(operation: Operation) -> Self {
        Self {
            operation,
            text: String::new(),
            ends: Vec::new(),
        }
    }

    /// A summary with these notes, for example `added-data-files`; `operation` is not among them.
    pub fn with_notes<K: AsRef<str>, V: AsRef<str>>(
        operation: Operation,
        notes: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let mut summary = Self::new(operation);
        for (key, value) in notes {
            if key.as_ref() != Self::OPERATION {
                summary.push(key.as_ref());
                summary.push(value.as_ref());
            }
        }
        summary
    }

    /// The note under this key. Notes are the writer's word, not facts to compute with.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    /// All notes in order, without the operation.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        let mut piece = move |end: &usize| {
            let piece = self.text.get(start..*end).unwrap_or_default();
            start = *end;
            piece
        };
        self.ends.chunks_exact(2).filter_map(move |ends| match ends {
            [key, value] => Some((piece(key), piece(value))),
            _ => None,
        })
    }

    fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.ends.push(self.text.len());
    }
}

impl<'de> Deserialize<'de> for Summary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SummaryVisitor)
    }
}

struct SummaryVisitor;

impl<'de> Visitor<'de> for SummaryVisitor {
    type Value = Summary;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Summary, A::Error> {
        let mut summary = Summary::new(Operation::Overwrite);
        loop {
            let start = summary.text.len();
            if map.next_key_seed(AppendTo(&mut summary.text))?.is_none() {
                break;
            }
            if summary.text.get(start..) == Some(Summary::OPERATION) {
                summary.text.truncate(start);
                summary.operation = Operation::from_name(&map.next_value::<String>()?);
            } else {
                summary.ends.push(summary.text.len());
                map.next_value_seed(AppendTo(&mut summary.text))?;
                summary.ends.push(summary.text.len());
            }
        }
        summary.text.shrink_to_fit();
        summary.ends.shrink_to_fit();
        Ok(summary)
    }
}

/// Reads a string to the end of another.
struct AppendTo<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for AppendTo<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for AppendTo<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.ends.len() / 2 + 1))?;
        map.serialize_entry(Self::OPERATION, self.operation.as_str())?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Operation {
    /// The operation of this name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "append" => Self::Append,
            "replace" => Self::Replace,
            "overwrite" => Self::Overwrite,
            "delete" => Self::Delete,
            other => Self::Other(other.to_string()),
        }
    }

    /// Its name in the summary.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Append => "append",
            Self::Replace => "replace",
            Self::Overwrite => "overwrite",
            Self::Delete => "delete",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

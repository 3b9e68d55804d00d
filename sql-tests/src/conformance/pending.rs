//! The checked-in list of what is not expected to pass yet, each entry with its reason.
//!
//! One entry a line: the name, blanks, the reason. Lines that start with `#` are comments.

use std::collections::BTreeMap;
use std::path::Path;

use super::manifest::{Case, Plan, SuiteError, read_text};

/// File name of the list, in the folder of this package.
pub const FILE: &str = "conformance-pending.txt";

const HEADING: &str = "\
# Cases and pruning checks that do not pass yet, each with the reason. An entry that passes fails the run:
# remove it then. `cargo test -p drumlin-sql-tests --test conformance -- --write-pending` writes this file
# from what fails, keeping the reasons.
";

/// Names that are not expected to pass, with reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending(BTreeMap<String, String>);

impl Pending {
    /// Reads the list.
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        let malformed = |reason: String| SuiteError::Malformed {
            path: path.to_owned(),
            reason,
        };
        let mut entries = BTreeMap::new();
        for line in read_text(path)?.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = line.split_once(char::is_whitespace);
            let (name, reason) = entry.ok_or_else(|| malformed(format!("{line} has no reason")))?;
            if entries
                .insert(name.to_owned(), reason.trim().to_owned())
                .is_some()
            {
                return Err(malformed(format!("{name} is listed twice")));
            }
        }
        Ok(Self(entries))
    }

    /// The list of these names and reasons.
    pub fn from_entries(entries: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(entries.into_iter().collect())
    }

    /// Why `name` is not expected to pass, if it is listed.
    pub fn reason(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Every name listed.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The text of the list.
    pub fn to_text(&self) -> String {
        let width = self.0.keys().map(|name| name.chars().count()).max().unwrap_or(0);
        let lines = self
            .0
            .iter()
            .map(|(name, reason)| format!("{name:<width$}  {reason}\n"));
        HEADING.to_owned() + &lines.collect::<String>()
    }
}

/// The reason to list a case that fails, by what it exercises; `why` where nothing better is known.
pub fn case_reason(case: &Case, why: &str) -> String {
    use super::manifest::Scan;
    match &case.scan {
        Scan::MetadataTable(name) => format!("metadata table {name}"),
        Scan::AppendBetween(..) => "incremental append scan".to_owned(),
        Scan::Changelog(..) => "changelog scan".to_owned(),
        _ => feature_reason(&case.features).unwrap_or_else(|| one_line(why)),
    }
}

/// The reason to list a pruning check that fails.
pub fn plan_reason(plan: &Plan, features: &[String], why: &str) -> String {
    match plan.total_files {
        0 => one_line(why),
        _ => feature_reason(features).unwrap_or_else(|| one_line(why)),
    }
}

fn feature_reason(features: &[String]) -> Option<String> {
    let reasons = [
        ("variant", "variant columns"),
        ("deletion-vectors", "deletion vectors"),
        ("equality-deletes", "equality deletes"),
        ("position-deletes", "position deletes"),
        ("orc", "ORC data files"),
        ("avro", "Avro data files"),
    ];
    let named = reasons
        .iter()
        .find(|(feature, _)| features.iter().any(|has| has == feature));
    named.map(|(_, reason)| (*reason).to_owned())
}

fn one_line(why: &str) -> String {
    why.lines().next().unwrap_or("fails").chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let list = Pending::from_entries([
            ("b/case".to_owned(), "because of this".to_owned()),
            ("a/longer_case".to_owned(), "and that".to_owned()),
        ]);
        let path = std::env::temp_dir().join(format!("drumlin-pending-{}.txt", std::process::id()));
        std::fs::write(&path, list.to_text()).unwrap();
        let read = Pending::read(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read.unwrap(), list);
    }
}

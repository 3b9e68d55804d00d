//! `conformance/manifest.json`: the tables, the cases and the pruning checks.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::column_type::ColumnType;

/// Why the suite cannot be read; a defect of the checkout rather than of Drumlin.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file is missing or unreadable.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file does not have the form that `conformance/README.md` describes.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads a text file of the suite.
pub(super) fn read_text(path: &Path) -> Result<String, SuiteError> {
    std::fs::read_to_string(path).map_err(|source| SuiteError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

/// Everything that `manifest.json` lists, with the folder it was read from.
#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    /// Every table.
    pub tables: Vec<Table>,
    /// Every question.
    pub cases: Vec<Case>,
    /// Every pruning check.
    pub plans: Vec<Plan>,
    /// The folder that holds `manifest.json`.
    #[serde(skip)]
    pub root: PathBuf,
}

/// A table of the suite.
#[derive(Debug, Clone, Deserialize)]
pub struct Table {
    /// Its name, which is also its folder under `tables/`.
    pub name: String,
    /// Key of the newest metadata file in the bucket.
    pub metadata: String,
}

/// A question: a relation `t` and a query over it.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// The table.
    pub table: String,
    /// The name of the case, unique within the table.
    pub case: String,
    /// Key of the metadata file to open.
    pub metadata: String,
    /// What the relation `t` is.
    pub scan: Scan,
    /// What the case exercises.
    pub features: Vec<String>,
    /// File with the query, relative to the suite.
    pub sql: String,
    /// Whether rows or an error are right.
    pub expect: Expect,
    /// File with the answer, where rows are expected.
    pub answer: Option<String>,
    /// Names and types of the columns of the answer.
    #[serde(default)]
    pub columns: Vec<Column>,
}

/// A column of an answer.
#[derive(Debug, Clone, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its Iceberg type.
    #[serde(rename = "type")]
    pub of: ColumnType,
}

/// What a correct reader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// It answers.
    Rows,
    /// It fails.
    Error,
}

/// A pruning check: the files that planning keeps for a predicate.
#[derive(Debug, Clone, Deserialize)]
pub struct Plan {
    /// The table.
    pub table: String,
    /// The name of the check; the rows that match are those of the case `where_<plan>`.
    pub plan: String,
    /// The predicate as SQL.
    pub predicate: String,
    /// Key of the metadata file to open.
    pub metadata: String,
    /// What is scanned.
    pub scan: Scan,
    /// How many data files are live.
    pub total_files: usize,
    /// How many data files Iceberg's own planning keeps.
    pub surviving_files: usize,
    /// How many data files hold matching rows.
    pub matching_files: usize,
    /// Keys of the data files that Iceberg's own planning keeps.
    pub surviving: Vec<String>,
    /// How many delete files Iceberg's own planning attaches to them.
    pub delete_files: usize,
}

/// What the relation of a case or check is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "ScanFields")]
pub enum Scan {
    /// The current state.
    Current,
    /// The table as of a snapshot, with the schema of that snapshot.
    Snapshot(i64),
    /// The table as of a tag, with the schema of that snapshot.
    Tag(String),
    /// The head of a branch, with the table's current schema.
    Branch(String),
    /// The snapshot that was current at this time (milliseconds since 1970) by the snapshot log.
    Timestamp(i64),
    /// The metadata table of that name.
    MetadataTable(String),
    /// The rows that append snapshots added after the first snapshot up to the second.
    AppendBetween(i64, i64),
    /// The changes after the first snapshot up to the second.
    Changelog(i64, i64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScanFields {
    snapshot_id: Option<i64>,
    tag: Option<String>,
    branch: Option<String>,
    timestamp_ms: Option<i64>,
    metadata_table: Option<String>,
    append_between: Option<Range>,
    changelog: Option<Range>,
}

#[derive(Deserialize)]
struct Range {
    from_exclusive: i64,
    to_inclusive: i64,
}

impl From<ScanFields> for Scan {
    fn from(fields: ScanFields) -> Self {
        let snapshot = fields.snapshot_id.map(Self::Snapshot);
        let appends = |range: Range| Self::AppendBetween(range.from_exclusive, range.to_inclusive);
        let changes = |range: Range| Self::Changelog(range.from_exclusive, range.to_inclusive);
        snapshot
            .or(fields.tag.map(Self::Tag))
            .or(fields.branch.map(Self::Branch))
            .or(fields.timestamp_ms.map(Self::Timestamp))
            .or(fields.metadata_table.map(Self::MetadataTable))
            .or(fields.append_between.map(appends))
            .or(fields.changelog.map(changes))
            .unwrap_or(Self::Current)
    }
}

impl Manifest {
    /// Reads `manifest.json` in the folder `root`.
    pub fn read(root: impl Into<PathBuf>) -> Result<Self, SuiteError> {
        let root = root.into();
        let path = root.join("manifest.json");
        let text = read_text(&path)?;
        match serde_json::from_str::<Self>(&text) {
            Ok(manifest) => Ok(Self { root, ..manifest }),
            Err(error) => Err(SuiteError::Malformed {
                path,
                reason: error.to_string(),
            }),
        }
    }

    /// The suite that this repository holds.
    pub fn shipped() -> Result<Self, SuiteError> {
        Self::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance"))
    }

    /// The folder that is the root of the bucket `conformance`.
    pub fn bucket(&self) -> PathBuf {
        self.root.join("tables")
    }

    /// The case of that name.
    pub fn case(&self, table: &str, case: &str) -> Option<&Case> {
        self.cases
            .iter()
            .find(|found| found.table == table && found.case == case)
    }
}

impl Case {
    /// `table/case`, by which the case is listed, selected and reported.
    pub fn name(&self) -> String {
        format!("{}/{}", self.table, self.case)
    }

    /// The query, read from its file.
    pub fn query(&self, root: &Path) -> Result<String, SuiteError> {
        read_text(&root.join(&self.sql))
    }

    /// The lines of the answer, one canonical row each; none where an error is expected.
    pub fn answer_lines(&self, root: &Path) -> Result<Vec<String>, SuiteError> {
        match &self.answer {
            None => Ok(Vec::new()),
            Some(answer) => Ok(read_text(&root.join(answer))?
                .split('\n')
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect()),
        }
    }
}

impl Plan {
    /// `table/plan:name`, by which the check is listed, selected and reported.
    pub fn name(&self) -> String {
        format!("{}/plan:{}", self.table, self.plan)
    }
}

//! What is compared.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::iceberg_table::TableWriter;
use drumlin_format::manifest::DataFile;
use drumlin_format::schema::Schema;

/// Sides that answer the same queries.
#[derive(Debug)]
pub struct Scenario {
    /// What it is about, for its heading.
    pub title: String,
    /// The table's name in the queries.
    pub table: &'static str,
    /// Who answers; the first is what the others are compared with.
    pub sides: Vec<Side>,
    /// The queries; the first reads the whole table.
    pub queries: Vec<Query>,
    /// The highest ratio to the first side that is aimed at.
    pub aim: Option<f64>,
}

/// A table that answers.
#[derive(Debug)]
pub struct Side {
    /// Its name in the tables of figures.
    pub name: &'static str,
    /// Where it is.
    pub folder: PathBuf,
    /// The rows it must have.
    pub expected: Expected,
}

/// The rows that a table must have, as DataFusion finds them without Iceberg.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Folders of Parquet files, by the names of their tables.
    pub files: Vec<(&'static str, PathBuf)>,
    /// The query over these tables that gives the rows.
    pub rows: &'static str,
}

/// A query.
#[derive(Debug, Clone, Copy)]
pub struct Query {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub sql: &'static str,
    /// How results are compared.
    pub check: Check,
    /// Whether its ratios mean something: where one side reads no file they do not.
    pub has_ratio: bool,
}

/// How results are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Row by row.
    Rows,
    /// By the number of rows and the sum of their hashes.
    Fingerprint,
}

impl Query {
    /// A query of many rows.
    pub const fn scan(name: &'static str, sql: &'static str) -> Self {
        Self {
            name,
            sql,
            check: Check::Fingerprint,
            has_ratio: true,
        }
    }

    /// A query of few rows.
    pub const fn few(name: &'static str, sql: &'static str) -> Self {
        Self {
            name,
            sql,
            check: Check::Rows,
            has_ratio: true,
        }
    }

    /// A query that metadata may answer.
    pub const fn count(sql: &'static str) -> Self {
        Self {
            name: "COUNT(*)",
            sql,
            check: Check::Rows,
            has_ratio: false,
        }
    }
}

/// Writes an Iceberg table of one commit that adds data files and, if there are any, one that adds delete files.
pub fn write_table(
    format_version: u8,
    folder: &Path,
    schema: &Schema,
    data: &[DataFile],
    deletes: &[DataFile],
) -> Result<()> {
    let mut table = TableWriter::create(format_version, folder, schema.clone(), None)?;
    table.add_manifest(data)?;
    table.commit()?;
    if !deletes.is_empty() {
        table.add_manifest(deletes)?;
        table.commit()?;
    }
    table.finish()
}

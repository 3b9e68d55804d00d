//! Statements that change rows of a table, on tables of TPC-H.
//!
//! | module | holds |
//! |---|---|
//! | [`scenario`] | statements, the tables they run on, and the rows that must be left |
//! | [`sources`] | the rows that are merged |
//! | [`base`] | the tables before a statement, made once and restored after each |
//! | [`mod@run`] | processes, checks and times of a scenario |
//! | [`report`] | its table of figures |

pub mod base;
pub mod report;
pub mod run;
pub mod scenario;
pub mod sources;

use std::path::PathBuf;

use tokio::runtime::Runtime;

pub use base::Base;
pub use run::{measure, run};
pub use scenario::{Scenario, scenarios};
pub use sources::Sources;

use crate::Result;
use crate::tpch::Layout;

/// How statements are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// How often each side runs, after once that is not among the times.
    pub rounds: usize,
    /// `target_partitions` of all sessions.
    pub partitions: usize,
    /// The scale factor of TPC-H.
    pub scale_factor: f64,
    /// Where tables are kept.
    pub cache: PathBuf,
    /// Whether the plan of each statement is printed.
    pub explain: bool,
}

impl Options {
    /// The Parquet files of the tables.
    pub fn layout(&self) -> Layout {
        Layout::new(&self.cache, self.scale_factor)
    }

    /// Where what is made of them is kept.
    pub fn folder(&self) -> PathBuf {
        self.layout().folder().join("changes")
    }
}

/// Makes what is missing of the files that all scenarios need.
pub fn prepare(options: &Options, runtime: &Runtime) -> Result<()> {
    let tables: Vec<_> = crate::tpch::tables::TABLES
        .into_iter()
        .filter(|t| matches!(t.name, "lineitem" | "orders"))
        .collect();
    options.layout().prepare_plain(&tables, options.partitions)?;
    Sources::new(options).prepare(options, runtime)
}

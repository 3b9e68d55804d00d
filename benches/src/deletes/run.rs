//! Sessions, checks and times of a scenario.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use drumlin_datafusion::IcebergTableProvider;
use drumlin_table::Table;
use drumlin_table::storage::Storage;

use super::report;
use super::scenario::{Check, Expected, Query, Scenario, Side};
use crate::Result;
use crate::iceberg_table::text;
use crate::measure::{self, Cost, Stopwatch};
use crate::result_rows::{Fingerprint, ResultRows, read};

/// How queries are run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How often each side answers each query.
    pub rounds: usize,
    /// `target_partitions` of all sessions.
    pub partitions: usize,
    /// `pushdown_filters` of all sessions.
    pub pushdown: bool,
    /// Whether `EXPLAIN ANALYZE` of each query on each side is printed.
    pub analyze: bool,
}

/// What one answer took.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    /// From the text of the query to its physical plan.
    pub planning: Duration,
    /// From the text of the query to its last row.
    pub whole: Cost,
}

/// The answers of a side to a query, a round each.
#[derive(Debug)]
pub struct Answers {
    /// The side, by its place in the scenario.
    pub side: usize,
    /// The query.
    pub query: Query,
    /// The rounds.
    pub rounds: Vec<Taken>,
}

/// The full scans of a side in sessions that know nothing of the table: the first of each, and the one after it.
#[derive(Debug, Default)]
pub struct NewSessions {
    /// With what has to be loaded.
    pub first: Vec<Taken>,
    /// Without.
    pub second: Vec<Taken>,
    /// The most memory that the first scan took in a process of its own, in bytes.
    pub peak_memory: u64,
}

/// Checks and measures a scenario, and prints its figures.
pub async fn run(scenario: &Scenario, options: &Options) -> Result<()> {
    println!("\n### {}\n", scenario.title);
    let mut sessions = Vec::new();
    for side in &scenario.sides {
        sessions.push(open(scenario.table, &side.folder, options).await?);
    }
    let mut answers = Vec::new();
    for query in &scenario.queries {
        let rows = check(scenario, query, &sessions, options).await?;
        answers.extend(rounds(query, &rows, &sessions, options).await?);
        eprintln!("{}: all sides have the rows they must have", query.name);
    }
    report::answers(scenario, &answers);
    if let Some(scan) = scenario.queries.first() {
        let new_sessions = in_new_sessions(scenario, scan, options).await?;
        report::new_sessions(scenario, scan, &new_sessions);
    }
    Ok(())
}

/// The most memory that a query takes in a session that knows nothing of the table, in bytes beyond what the process has
/// before it. Meant for a process that did nothing else.
pub async fn peak_memory(table: &str, folder: &Path, sql: &str, options: &Options) -> Result<u64> {
    let ctx = open(table, folder, options).await?;
    let before = measure::resident_memory()?;
    measure::forget_peak_memory()?;
    timed(&ctx, sql).await?;
    Ok(measure::peak_memory()?.saturating_sub(before))
}

fn session(options: &Options) -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(options.partitions);
    config.options_mut().execution.parquet.pushdown_filters = options.pushdown;
    config.options_mut().explain.show_statistics = options.analyze;
    SessionContext::new_with_config(config)
}

/// A session with an Iceberg table, and a storage of its own: nothing is cached.
async fn open(table: &str, folder: &Path, options: &Options) -> Result<SessionContext> {
    let ctx = session(options);
    let opened = Table::open(&Storage::default(), &text(folder)?).await?;
    let provider = IcebergTableProvider::try_new(opened.with_name(table))?;
    ctx.register_table(table, Arc::new(provider))?;
    Ok(ctx)
}

/// A session in which the table has the rows that are expected, without Iceberg.
async fn open_expected(table: &str, expected: &Expected, options: &Options) -> Result<SessionContext> {
    let ctx = session(options);
    for (name, folder) in &expected.files {
        ctx.register_parquet(*name, text(folder)?, ParquetReadOptions::default())
            .await?;
    }
    let rows = ctx.sql(expected.rows).await?;
    ctx.register_table(table, rows.into_view())?;
    Ok(ctx)
}

/// A result, as far as it is compared.
enum Checked {
    Rows(ResultRows),
    Fingerprint(Fingerprint),
}

impl Checked {
    async fn of(ctx: &SessionContext, query: &Query) -> Result<Self> {
        Ok(match query.check {
            Check::Rows => Self::Rows(ResultRows::of(&ctx.sql(query.sql).await?.collect().await?)?),
            Check::Fingerprint => {
                let plan = ctx.sql(query.sql).await?.create_physical_plan().await?;
                Self::Fingerprint(read(plan, ctx.task_ctx(), Fingerprint::add).await?)
            }
        })
    }

    fn difference(&self, other: &Self) -> Option<String> {
        match (self, other) {
            (Self::Rows(a), Self::Rows(b)) => a.difference(b),
            (Self::Fingerprint(a), Self::Fingerprint(b)) if a == b => None,
            (Self::Fingerprint(a), Self::Fingerprint(b)) if a.rows == b.rows => {
                Some(format!("{} rows, but not the same", a.rows))
            }
            (Self::Fingerprint(a), Self::Fingerprint(b)) => {
                Some(format!("{} rows against {}", a.rows, b.rows))
            }
            _ => Some("results of different kinds".to_string()),
        }
    }

    fn rows(&self) -> Result<u64> {
        Ok(match self {
            Self::Rows(rows) => u64::try_from(rows.len())?,
            Self::Fingerprint(fingerprint) => fingerprint.rows,
        })
    }
}

/// Compares what each side answers with what it must answer; returns how many rows each result has.
async fn check(
    scenario: &Scenario,
    query: &Query,
    sessions: &[SessionContext],
    options: &Options,
) -> Result<Vec<u64>> {
    let mut known: Vec<(&Expected, Checked)> = Vec::new();
    let mut rows = Vec::new();
    for (side, ctx) in scenario.sides.iter().zip(sessions) {
        let answer = Checked::of(ctx, query).await?;
        if !known.iter().any(|(e, _)| *e == &side.expected) {
            let ctx = open_expected(scenario.table, &side.expected, options).await?;
            known.push((&side.expected, Checked::of(&ctx, query).await?));
        }
        let expected = known.iter().find(|(e, _)| *e == &side.expected);
        if let Some(difference) = expected.and_then(|(_, e)| e.difference(&answer)) {
            let (query, side) = (query.name, side.name);
            return Err(format!("{query}: {side} answers wrongly: {difference}").into());
        }
        rows.push(answer.rows()?);
        if options.analyze {
            let analyzed = ctx.sql(&format!("EXPLAIN ANALYZE {}", query.sql)).await?;
            let analyzed = pretty_format_batches(&analyzed.collect().await?)?.to_string();
            println!("{}, {}:\n\n```\n{analyzed}\n```\n", query.name, side.name);
        }
    }
    Ok(rows)
}

/// The places of the sides in a round: every other one backwards, so that no side always follows the same one.
fn order(sides: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sides).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// The times of all sides, in turns. Their results must have as many rows as those that were checked.
async fn rounds(
    query: &Query,
    rows: &[u64],
    sessions: &[SessionContext],
    options: &Options,
) -> Result<Vec<Answers>> {
    let answers = |side| Answers {
        side,
        query: *query,
        rounds: Vec::new(),
    };
    let mut all: Vec<Answers> = (0..sessions.len()).map(answers).collect();
    for round in 0..options.rounds {
        for side in order(sessions.len(), round) {
            let (Some(ctx), Some(answers)) = (sessions.get(side), all.get_mut(side)) else {
                continue;
            };
            let (taken, seen) = timed(ctx, query.sql).await?;
            if rows.get(side) != Some(&seen) {
                return Err(format!("{}: {seen} rows, other than before", query.name).into());
            }
            answers.rounds.push(taken);
        }
    }
    Ok(all)
}

async fn in_new_sessions(scenario: &Scenario, scan: &Query, options: &Options) -> Result<Vec<NewSessions>> {
    let mut all = Vec::new();
    for side in &scenario.sides {
        all.push(NewSessions {
            peak_memory: peak_memory_of(scenario, side, scan, options)?,
            ..NewSessions::default()
        });
    }
    for round in 0..options.rounds {
        for place in order(all.len(), round) {
            let (Some(side), Some(taken)) = (scenario.sides.get(place), all.get_mut(place)) else {
                continue;
            };
            let ctx = open(scenario.table, &side.folder, options).await?;
            taken.first.push(timed(&ctx, scan.sql).await?.0);
            taken.second.push(timed(&ctx, scan.sql).await?.0);
        }
    }
    Ok(all)
}

/// Starts a process that prints its [`peak_memory`].
fn peak_memory_of(scenario: &Scenario, side: &Side, query: &Query, options: &Options) -> Result<u64> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg("--peak-of")
        .arg(&side.folder)
        .args(["--table", scenario.table, "--sql", query.sql])
        .args(["--partitions", &options.partitions.to_string()]);
    if options.pushdown {
        command.arg("--pushdown");
    }
    let output = command.output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the process that measures memory failed: {error}").into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Runs a query and counts its rows, batch by batch.
async fn timed(ctx: &SessionContext, sql: &str) -> Result<(Taken, u64)> {
    let stopwatch = Stopwatch::start()?;
    let start = Instant::now();
    let plan = ctx.sql(sql).await?.create_physical_plan().await?;
    let planning = start.elapsed();
    let rows = read(plan, ctx.task_ctx(), Fingerprint::count).await?.rows;
    let whole = stopwatch.stop()?;
    Ok((Taken { planning, whole }, rows))
}

//! Processes, checks and times of a scenario.

use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionContext;
use drumlin_datafusion::IcebergContextExt;
use tokio::runtime::Runtime;

use super::base::{Base, Files, Written};
use super::scenario::{Mode, Runs, Scenario, Side};
use super::sources::{Sources, plain_session};
use super::{Options, report};
use crate::Result;
use crate::measure::{self, Cost, Stopwatch};
use crate::result_rows::{Fingerprint, read};
use crate::warehouse::{self, Pointers};

/// What a process of its own says of the one statement that it ran.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taken {
    /// Rows of the query, or those that the statement says it has changed.
    pub rows: u64,
    /// From the text of the statement to its end.
    pub cost: Cost,
    /// The most memory in bytes beyond what the process had before.
    pub peak_memory: u64,
    /// The bytes that it read from files.
    pub bytes_read: u64,
}

/// The rounds of a side.
#[derive(Debug, Default)]
pub struct Answers {
    /// In a process that did nothing before.
    pub cold: Taken,
    /// In processes that ran the query before that finds the rows.
    pub warm: Vec<Taken>,
    /// What the statement left.
    pub written: Written,
}

/// What must be so after the statement.
struct Expected {
    rows: Fingerprint,
    changed: u64,
}

/// Checks and measures a scenario, and prints its figures.
pub fn run(scenario: &Scenario, options: &Options, runtime: &Runtime) -> Result<()> {
    println!("\n## {}\n", scenario.title);
    let expected = runtime.block_on(expected(scenario, options))?;
    let mut files: Vec<(Base, Files)> = Vec::new();
    for side in &scenario.sides {
        if !files.iter().any(|(base, _)| *base == side.base) {
            files.push((side.base, side.base.prepare(options, runtime)?));
        }
    }
    let mut answers: Vec<Answers> = scenario.sides.iter().map(|_| Answers::default()).collect();
    for round in 0..=options.rounds {
        let mut order: Vec<_> = scenario.sides.iter().zip(&mut answers).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for (side, answers) in order {
            let base = files.iter().find(|(base, _)| *base == side.base);
            let (base, files) = base.ok_or("a side without its table")?;
            let taken = match side.runs {
                Runs::Find => in_process(scenario, side, round > 0, options)?,
                Runs::Statement(mode) => {
                    runtime.block_on(base.set(options, &mode.properties()))?;
                    let before = Files::in_folder(&base.warehouse(options))?;
                    if options.explain && round == 0 {
                        runtime.block_on(explain(scenario, side, options))?;
                    }
                    if let Some(only) = scenario.only.filter(|_| round == 0) {
                        base.hide_all_but(only, options)?;
                    }
                    let taken = in_process(scenario, side, round > 0, options);
                    base.show(options)?;
                    let taken = taken?;
                    answers.written = base.written(options, &before.all)?;
                    runtime.block_on(check(scenario, side, &taken, &expected, options))?;
                    base.restore(options, files)?;
                    taken
                }
            };
            let (name, wall) = (side.name, measure::ms(taken.cost.wall));
            eprintln!("round {round}, {name}: {} rows in {wall:.0} ms", taken.rows);
            match round {
                0 => answers.cold = taken,
                _ => answers.warm.push(taken),
            }
        }
    }
    report::answers(scenario, &answers);
    if let (Some(only), Some(side)) = (scenario.only, scenario.sides.first()) {
        report::partition(only, &side.base.data(options))?;
    }
    Ok(())
}

impl Mode {
    /// The properties of tables that take changes so.
    fn properties(self) -> [(&'static str, &'static str); 3] {
        let mode = match self {
            Self::MergeOnRead => "merge-on-read",
            Self::CopyOnWrite => "copy-on-write",
        };
        ["write.delete.mode", "write.update.mode", "write.merge.mode"].map(|property| (property, mode))
    }
}

async fn open(base: &Base, options: &Options) -> Result<SessionContext> {
    let warehouse = base.warehouse(options);
    let ctx = warehouse::session(&warehouse, Pointers::Folder, options.partitions)
        .await?
        .0;
    Sources::new(options).register(&ctx).await?;
    Ok(ctx)
}

async fn fingerprint(ctx: &SessionContext, sql: &str) -> Result<Fingerprint> {
    let plan = ctx.iceberg_sql(sql).await?.create_physical_plan().await?;
    read(plan, ctx.task_ctx(), Fingerprint::add).await
}

/// The rows after the statement, as DataFusion's own tables have them.
async fn expected(scenario: &Scenario, options: &Options) -> Result<Expected> {
    let ctx = plain_session(options).await?;
    Sources::new(options).register(&ctx).await?;
    Ok(Expected {
        rows: fingerprint(&ctx, &scenario.after).await?,
        changed: warehouse::run(&ctx, &scenario.changed).await?,
    })
}

/// Compares the table and what the statement said with what must be so.
async fn check(
    scenario: &Scenario,
    side: &Side,
    taken: &Taken,
    expected: &Expected,
    options: &Options,
) -> Result<()> {
    let wrong = |what: String| Err(format!("{}, {}: {what}", scenario.title, side.name).into());
    if taken.rows != expected.changed {
        let (said, changed) = (taken.rows, expected.changed);
        return wrong(format!("it says that {said} rows changed, not {changed}"));
    }
    let ctx = open(&side.base, options).await?;
    let table = side.base.name();
    let rows = fingerprint(&ctx, &format!("SELECT * FROM {table}")).await?;
    if rows != expected.rows {
        let (found, wanted) = (rows.rows, expected.rows.rows);
        return wrong(format!(
            "the table has {found} rows and must have {wanted}, or others"
        ));
    }
    if side.base.version >= 3 {
        let ids = format!("SELECT count(DISTINCT _row_id) FROM {table}");
        let ids = warehouse::run(&ctx, &ids).await?;
        if ids != rows.rows {
            return wrong(format!("{} rows have {ids} ids", rows.rows));
        }
    }
    Ok(())
}

async fn explain(scenario: &Scenario, side: &Side, options: &Options) -> Result<()> {
    let ctx = open(&side.base, options).await?;
    let plan = ctx
        .iceberg_sql(&format!("EXPLAIN {}", scenario.statement))
        .await?;
    let plan = pretty_format_batches(&plan.collect().await?)?.to_string();
    println!("{}:\n\n```\n{plan}\n```\n", side.name);
    Ok(())
}

/// Runs a side in this process, which must have done nothing before. The figures go to the standard output, for the process
/// that asked.
pub async fn measure(scenario: &Scenario, side: &str, warm: bool, options: &Options) -> Result<()> {
    let side = scenario.sides.iter().find(|s| s.name == side);
    let side = side.ok_or("there is no such side")?;
    let ctx = open(&side.base, options).await?;
    if warm {
        count(&ctx, &scenario.find).await?;
    }
    measure::forget_peak_memory()?;
    let (memory, bytes) = (measure::resident_memory()?, measure::bytes_read()?);
    let stopwatch = Stopwatch::start()?;
    let rows = match side.runs {
        Runs::Find => count(&ctx, &scenario.find).await?,
        Runs::Statement(_) => warehouse::run(&ctx, &scenario.statement).await?,
    };
    let cost = stopwatch.stop()?;
    println!(
        "{rows} {} {} {} {}",
        cost.wall.as_nanos(),
        cost.cpu.as_nanos(),
        measure::peak_memory()?.saturating_sub(memory),
        measure::bytes_read()?.saturating_sub(bytes)
    );
    Ok(())
}

/// Reads all rows of a query, batch by batch.
async fn count(ctx: &SessionContext, sql: &str) -> Result<u64> {
    let plan = ctx.iceberg_sql(sql).await?.create_physical_plan().await?;
    Ok(read(plan, ctx.task_ctx(), Fingerprint::count).await?.rows)
}

/// Starts a process that runs a side.
fn in_process(scenario: &Scenario, side: &Side, warm: bool, options: &Options) -> Result<Taken> {
    let kind = scenario.kind.to_possible_value();
    let kind = kind.ok_or("a scenario without a name")?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(options.scale_factor.to_string())
        .args(["--only", kind.get_name(), "--measure", side.name])
        .args(["--partitions", &options.partitions.to_string(), "--cache"])
        .arg(&options.cache);
    if warm {
        command.arg("--warm");
    }
    let output = command.output()?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}, {}: {error}", scenario.title, side.name).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<u64> = text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let [rows, wall, cpu, peak_memory, bytes_read] = numbers.as_slice() else {
        return Err(format!("{}, {}: it said {text:?}", scenario.title, side.name).into());
    };
    Ok(Taken {
        rows: *rows,
        cost: Cost {
            wall: Duration::from_nanos(*wall),
            cpu: Duration::from_nanos(*cpu),
        },
        peak_memory: *peak_memory,
        bytes_read: *bytes_read,
    })
}

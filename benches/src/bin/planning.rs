//! What planning a scan costs: a table of 100,000 files in 500 manifests, and one of 1,001 snapshots.
//!
//! The tables have metadata only. Each figure comes from a process of its own, so that memory is that of one planning
//! and not of the writing before it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_benches::Result;
use drumlin_benches::iceberg_table::{snapshot_id, text};
use drumlin_benches::measure::{self, Cost, Stopwatch, best, median, ms};
use drumlin_benches::synthetic_table::{self, FIRST_DAY, ID, TS};
use drumlin_datafusion::IcebergTableProvider;
use drumlin_format::value::Value;
use drumlin_format::value::bytes::MICROS_PER_DAY;
use drumlin_table::predicate::{FieldRef, Predicate};
use drumlin_table::scan::ScanPlan;
use drumlin_table::storage::Storage;
use drumlin_table::{Table, TableVersion};

/// What planning a scan costs.
#[derive(Debug, Parser)]
struct Arguments {
    /// Data files of the table.
    #[arg(long, default_value_t = 100_000)]
    files: i32,
    /// Manifests of the table, one a day.
    #[arg(long, default_value_t = 500)]
    manifests: i32,
    /// Snapshots of the other table.
    #[arg(long, default_value_t = 1_001)]
    snapshots: i32,
    /// How often each figure is taken.
    #[arg(long, default_value_t = 11)]
    runs: usize,
    /// Where the tables are written.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Take one figure from tables that are there already.
    #[arg(long, hide = true)]
    figure: Option<Figure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Figure {
    /// Opening the table: the metadata file alone.
    Open,
    AllCold,
    AllWarm,
    DayCold,
    DayWarm,
    IdCold,
    IdWarm,
    /// The physical plan of a query over all files, with warm manifests.
    SqlAll,
    /// The physical plan of a query over a day, with warm manifests.
    SqlDay,
    /// Opening the other table at its tenth snapshot.
    Snapshot,
    /// The same, and planning a scan of it.
    SnapshotScan,
}

/// The figures and what they are called.
const FIGURES: [(Figure, &str); 11] = [
    (Figure::Open, "open the table"),
    (Figure::AllCold, "no predicate, cold"),
    (Figure::AllWarm, "no predicate, warm"),
    (Figure::DayCold, "one day, cold"),
    (Figure::DayWarm, "one day, warm"),
    (Figure::IdCold, "one id, cold"),
    (Figure::IdWarm, "one id, warm"),
    (Figure::SqlAll, "physical plan of SQL, no predicate, warm"),
    (Figure::SqlDay, "physical plan of SQL, one day, warm"),
    (Figure::Snapshot, "open at snapshot 10 of many"),
    (Figure::SnapshotScan, "open at snapshot 10 of many and plan"),
];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = arguments.folder.clone();
    let folder = folder.unwrap_or_else(|| std::env::temp_dir().join("drumlin-benches/planning"));
    let (files, snapshots) = (folder.join("files"), folder.join("snapshots"));
    if let Some(figure) = arguments.figure {
        let runtime = measure::runtime(std::thread::available_parallelism().map_or(2, usize::from))?;
        return runtime.block_on(take(figure, &arguments, &files, &snapshots));
    }
    measure::print_conditions();
    if arguments.manifests < 1 || arguments.files % arguments.manifests != 0 {
        return Err("the files must divide evenly over the manifests".into());
    }
    synthetic_table::write_many_files(&files, arguments.manifests, arguments.files / arguments.manifests)?;
    synthetic_table::write_many_snapshots(&snapshots, arguments.snapshots)?;
    println!(
        "{} files in {} manifests of {:.1} MB together; {} snapshots; {} runs each\n",
        arguments.files,
        arguments.manifests,
        size_of_folder(&files.join("metadata"))? as f64 / 1e6,
        arguments.snapshots,
        arguments.runs
    );
    println!(
        "| | CPU ms: best | median | wall ms: best | median | files | peak memory of the first, MB | bytes a file of the table |"
    );
    println!("|:--|--:|--:|--:|--:|--:|--:|--:|");
    for (figure, name) in FIGURES {
        let value = figure.to_possible_value().ok_or("a figure has no name")?;
        let status = Command::new(std::env::current_exe()?)
            .args(std::env::args_os().skip(1))
            .args(["--figure", value.get_name()])
            .status()?;
        if !status.success() {
            return Err(format!("`{name}` failed").into());
        }
    }
    println!("\nload average at the end: {}", measure::load_average());
    Ok(())
}

/// Takes one figure and prints its line.
async fn take(figure: Figure, arguments: &Arguments, files: &Path, snapshots: &Path) -> Result<()> {
    let (files, snapshots) = (text(files)?, text(snapshots)?);
    let mut costs: Vec<Cost> = Vec::new();
    let mut planned = None;
    let mut memory = None;
    let shared = Table::open(&Storage::default(), &files).await?;
    let warm = matches!(
        figure,
        Figure::AllWarm | Figure::DayWarm | Figure::IdWarm | Figure::SqlAll | Figure::SqlDay
    );
    if warm {
        shared.plan_scan(&Predicate::AlwaysTrue).await?;
    }
    let ctx = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    ctx.register_table("events", Arc::new(IcebergTableProvider::try_new(shared.clone())?))?;
    for _ in 0..arguments.runs {
        let before = measure::resident_memory()?;
        let table = match warm {
            true => shared.clone(),
            false => Table::open(&Storage::default(), &files).await?,
        };
        let predicate = predicate(figure, &table, arguments.manifests)?;
        let stopwatch = Stopwatch::start()?;
        let plan: Option<ScanPlan> = match figure {
            Figure::Open => {
                Table::open(&Storage::default(), &files).await?;
                None
            }
            Figure::SqlAll | Figure::SqlDay => {
                let day = FIRST_DAY + arguments.manifests / 2;
                let filter = match figure {
                    Figure::SqlDay => format!(
                        "WHERE ts >= to_timestamp_seconds({}) AND ts < to_timestamp_seconds({})",
                        i64::from(day) * 86_400,
                        i64::from(day + 1) * 86_400
                    ),
                    _ => String::new(),
                };
                let query = ctx
                    .sql(&format!(
                        "SELECT name, sum(id) FROM events {filter} GROUP BY name"
                    ))
                    .await?;
                query.create_physical_plan().await?;
                None
            }
            Figure::Snapshot | Figure::SnapshotScan => {
                let table = Table::open(&Storage::default(), &snapshots).await?;
                let table = table.at_version(&TableVersion::Snapshot(snapshot_id(10)))?;
                match figure {
                    Figure::SnapshotScan => Some(table.plan_scan(&predicate).await?),
                    _ => None,
                }
            }
            _ => Some(table.plan_scan(&predicate).await?),
        };
        costs.push(stopwatch.stop()?);
        // Later runs find the memory of earlier ones, so that only the first tells how much was needed.
        if memory.is_none() {
            memory = Some(measure::peak_memory()?.saturating_sub(before));
        }
        if let Some(plan) = plan {
            planned = plan.summary.files_kept();
        }
    }
    let name = FIGURES
        .iter()
        .find(|(f, _)| *f == figure)
        .map_or("", |(_, name)| name);
    let memory = memory.unwrap_or_default();
    let a_file = memory / u64::try_from(arguments.files.max(1))?;
    println!(
        "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {} | {:.1} | {} |",
        ms(best(costs.iter().map(|c| c.cpu))),
        ms(median(costs.iter().map(|c| c.cpu))),
        ms(best(costs.iter().map(|c| c.wall))),
        ms(median(costs.iter().map(|c| c.wall))),
        planned.map_or(String::new(), |p| p.to_string()),
        memory as f64 / 1e6,
        if figure == Figure::AllCold {
            a_file.to_string()
        } else {
            String::new()
        }
    );
    Ok(())
}

/// What the scan of a figure keeps.
fn predicate(figure: Figure, table: &Table, days: i32) -> Result<Predicate> {
    let field = |id| FieldRef::new(table.schema(), id);
    Ok(match figure {
        Figure::DayCold | Figure::DayWarm => {
            let start = i64::from(FIRST_DAY + days / 2) * MICROS_PER_DAY;
            let from = Predicate::ge(field(TS)?, Value::Long(start));
            from.and(Predicate::lt(field(TS)?, Value::Long(start + MICROS_PER_DAY)))
        }
        Figure::IdCold | Figure::IdWarm => {
            Predicate::eq(field(ID)?, Value::Long(synthetic_table::first_id(7) + 5))
        }
        _ => Predicate::AlwaysTrue,
    })
}

/// The bytes of the files in a folder.
fn size_of_folder(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for file in std::fs::read_dir(folder)? {
        bytes += file?.metadata()?.len();
    }
    Ok(bytes)
}

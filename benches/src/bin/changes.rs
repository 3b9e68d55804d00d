//! DELETE, UPDATE and MERGE on lineitem and orders, each against the query that finds the rows. The rows that are left are
//! compared with those that DataFusion's own tables say must be left.

use std::path::PathBuf;

use clap::Parser;
use drumlin_benches::changes::scenario::Kind;
use drumlin_benches::changes::{self, Options, scenarios};
use drumlin_benches::{Result, measure};

/// Statements that change rows.
#[derive(Debug, Parser)]
struct Arguments {
    /// The scale factor of TPC-H: 1 is a gigabyte of text.
    #[arg(default_value_t = 1.0)]
    scale_factor: f64,
    /// How often each side runs, after once in a process that did nothing before.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only these.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Only these sides, besides the query that finds the rows, such as `MoR v3`.
    #[arg(long, value_delimiter = ',')]
    sides: Vec<String>,
    /// Where tables are kept from run to run; by default in the folder for temporary files.
    #[arg(long)]
    cache: Option<PathBuf>,
    /// `target_partitions` of all sessions, and threads.
    #[arg(long, default_value_t = 2)]
    partitions: usize,
    /// Print the plan of each statement.
    #[arg(long)]
    explain: bool,
    /// Run this side once and print its figures.
    #[arg(long, hide = true)]
    measure: Option<String>,
    /// Find the rows before.
    #[arg(long, hide = true)]
    warm: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let cache = arguments.cache.clone();
    let cache = cache.unwrap_or_else(|| std::env::temp_dir().join("drumlin-benches"));
    let options = Options {
        rounds: arguments.rounds,
        partitions: arguments.partitions,
        scale_factor: arguments.scale_factor,
        cache: std::path::absolute(cache)?,
        explain: arguments.explain,
    };
    let runtime = measure::runtime(arguments.partitions)?;
    let mut scenarios = scenarios(&arguments.only);
    if let (Some(side), [scenario]) = (&arguments.measure, scenarios.as_slice()) {
        return runtime.block_on(changes::measure(scenario, side, arguments.warm, &options));
    }
    measure::print_conditions();
    changes::prepare(&options, &runtime)?;
    for scenario in &mut scenarios {
        let asked_for = |name: &str| arguments.sides.is_empty() || arguments.sides.iter().any(|s| s == name);
        let first = scenario.sides.first().map_or("", |s| s.name);
        scenario.sides.retain(|s| s.name == first || asked_for(s.name));
        changes::run(scenario, &options, &runtime)?;
    }
    println!("\nload average at the end: {}", measure::load_average());
    Ok(())
}

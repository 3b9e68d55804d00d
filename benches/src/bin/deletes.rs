//! Tables with delete files against clean tables, in one interleaved run. All results are compared with those of
//! DataFusion's own Parquet tables.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use drumlin_benches::deletes::chain::{self, Chain};
use drumlin_benches::deletes::run::peak_memory;
use drumlin_benches::deletes::{Options, Scenario, lineitem, positions, run};
use drumlin_benches::tpch::Layout;
use drumlin_benches::{Result, measure};

/// Tables with delete files against clean tables.
#[derive(Debug, Parser)]
struct Arguments {
    /// The scale factor of TPC-H: 1 is a gigabyte of text.
    #[arg(default_value_t = 1.0)]
    scale_factor: f64,
    /// How often each side answers each query, after one warm-up.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Only these scenarios.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Only these sides, besides the first of each scenario.
    #[arg(long, value_delimiter = ',')]
    sides: Vec<String>,
    /// Only these queries, by name, such as `full scan`.
    #[arg(long, value_delimiter = ',')]
    queries: Vec<String>,
    /// Equality deletes of the scenario `equality`.
    #[arg(long, default_value_t = 10_000)]
    keys: usize,
    /// Commits of the chains.
    #[arg(long, value_delimiter = ',', default_values_t = [500])]
    chain: Vec<i32>,
    /// Rows that each commit of a chain writes.
    #[arg(long, default_value_t = 10_000)]
    chain_rows: i64,
    /// How many keys each commit of a chain deletes.
    #[arg(long, default_value_t = 1_000)]
    chain_keys: i64,
    /// Data files of the scenario `positions`: 200,000 rows each, of which 50,000 are deleted.
    #[arg(long, default_value_t = 200)]
    position_files: i32,
    /// Where tables are kept from run to run; by default in the folder for temporary files.
    #[arg(long)]
    cache: Option<PathBuf>,
    /// `target_partitions` of all sessions, and threads.
    #[arg(long, default_value_t = 2)]
    partitions: usize,
    /// Turns `pushdown_filters` on.
    #[arg(long)]
    pushdown: bool,
    /// Also print EXPLAIN ANALYZE of each query on each side, with statistics.
    #[arg(long)]
    analyze: bool,
    /// Print the peak memory of one query over the table in this folder.
    #[arg(long, hide = true, requires_all = ["table", "sql"])]
    peak_of: Option<PathBuf>,
    /// The table's name in the query.
    #[arg(long, hide = true)]
    table: Option<String>,
    /// The query.
    #[arg(long, hide = true)]
    sql: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// lineitem, 1 % of the rows deleted through deletion vectors and through position delete files.
    Dv,
    /// lineitem, with one equality delete file.
    Equality,
    /// Data files and equality delete files in turns.
    Chain,
    /// 10 million deleted positions.
    Positions,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let options = Options {
        rounds: arguments.rounds,
        partitions: arguments.partitions,
        pushdown: arguments.pushdown,
        analyze: arguments.analyze,
    };
    let runtime = measure::runtime(arguments.partitions)?;
    if let (Some(folder), Some(table), Some(sql)) = (&arguments.peak_of, &arguments.table, &arguments.sql) {
        println!("{}", runtime.block_on(peak_memory(table, folder, sql, &options))?);
        return Ok(());
    }
    measure::print_conditions();
    println!(
        "{} partitions, pushdown_filters {}, {} rounds",
        arguments.partitions,
        if arguments.pushdown { "on" } else { "off" },
        arguments.rounds
    );
    for kind in Kind::value_variants() {
        if arguments.only.is_empty() || arguments.only.contains(kind) {
            for mut scenario in scenarios(*kind, &arguments)? {
                choose(&mut scenario, &arguments);
                runtime.block_on(run(&scenario, &options))?;
            }
        }
    }
    println!("\nload average at the end: {}", measure::load_average());
    Ok(())
}

/// Writes the tables that are missing.
fn scenarios(kind: Kind, arguments: &Arguments) -> Result<Vec<Scenario>> {
    let cache = arguments.cache.clone();
    let cache = cache.unwrap_or_else(|| std::env::temp_dir().join("drumlin-benches"));
    let cache = std::path::absolute(cache)?;
    let layout = Layout::new(&cache, arguments.scale_factor);
    let threads = arguments.partitions;
    Ok(match kind {
        Kind::Dv => vec![lineitem::positions(&layout, threads)?],
        Kind::Equality => vec![lineitem::equality(&layout, threads, arguments.keys)?],
        Kind::Chain => {
            let of_length = |commits: &i32| {
                let chain = Chain {
                    commits: *commits,
                    rows: arguments.chain_rows,
                    keys: arguments.chain_keys,
                };
                chain::scenario(&cache, chain, threads)
            };
            arguments.chain.iter().map(of_length).collect::<Result<_>>()?
        }
        Kind::Positions => vec![positions::scenario(&cache, arguments.position_files, threads)?],
    })
}

/// Leaves out what was not asked for.
fn choose(scenario: &mut Scenario, arguments: &Arguments) {
    if let Some(first) = scenario.sides.first().map(|s| s.name) {
        let asked_for = |name: &str| arguments.sides.is_empty() || arguments.sides.iter().any(|s| s == name);
        scenario.sides.retain(|s| s.name == first || asked_for(s.name));
    }
    let names = &arguments.queries;
    scenario
        .queries
        .retain(|q| names.is_empty() || names.iter().any(|n| n == q.name));
}

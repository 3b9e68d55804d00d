//! TPC-H on Iceberg tables against plain Parquet files, in one interleaved run.
//!
//! Four sides answer the same queries: DataFusion's own Parquet tables over files in the order of the primary key
//! (the limit), Iceberg tables over the same files, and both once more with lineitem in one file a month of
//! `l_shipdate`, which the Iceberg table is partitioned by. All results are compared.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use drumlin_benches::iceberg_table::text;
use drumlin_benches::measure::{self, Cost, Stopwatch, best, geometric_mean, median, ms};
use drumlin_benches::result_rows::ResultRows;
use drumlin_benches::tpch::tables::{LINEITEM, TABLES};
use drumlin_benches::tpch::{Layout, queries};
use drumlin_benches::{Result, tpch};
use drumlin_datafusion::IcebergTableProvider;
use drumlin_table::Table;
use drumlin_table::storage::Storage;

/// TPC-H on Iceberg tables against plain Parquet files.
#[derive(Debug, Parser)]
struct Arguments {
    /// The scale factor: 1 is a gigabyte of text.
    #[arg(default_value_t = 1.0)]
    scale_factor: f64,
    /// How often each side answers each query, after one warm-up.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Only these queries, by number.
    #[arg(long, value_delimiter = ',')]
    queries: Vec<usize>,
    /// Where tables are kept from run to run; by default in the folder for temporary files.
    #[arg(long)]
    cache: Option<PathBuf>,
    /// `target_partitions` of all sessions, and threads.
    #[arg(long, default_value_t = 2)]
    partitions: usize,
    /// Also print EXPLAIN ANALYZE of each query on each side, with statistics.
    #[arg(long)]
    analyze: bool,
}

/// Who answers queries.
struct Side {
    name: &'static str,
    ctx: SessionContext,
}

const PLAIN: usize = 0;
const ICEBERG: usize = 1;
const PLAIN_BY_MONTH: usize = 2;
const ICEBERG_BY_MONTH: usize = 3;

/// What one query cost, by side and round.
struct Measured {
    query: usize,
    costs: [Vec<Cost>; 4],
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    measure::print_conditions();
    let cache = arguments.cache.clone();
    let cache = cache.unwrap_or_else(|| std::env::temp_dir().join("drumlin-benches"));
    let layout = Layout::new(&cache, arguments.scale_factor);
    layout.prepare(arguments.partitions)?;
    measure::runtime(arguments.partitions)?.block_on(run(&arguments, &layout))
}

async fn run(arguments: &Arguments, layout: &Layout) -> Result<()> {
    let sides = sides(arguments, layout).await?;
    let mut measured = Vec::new();
    for (query, sql) in tpch::queries::chosen(&arguments.queries) {
        let mut first: Option<ResultRows> = None;
        for side in &sides {
            let rows = ResultRows::of(&answer(side, sql).await?)?;
            let difference = first.as_ref().and_then(|f| f.difference(&rows));
            if let Some(difference) = difference {
                return Err(format!("query {query}: {} answers otherwise: {difference}", side.name).into());
            }
            if arguments.analyze {
                let analyzed = answer(side, &format!("EXPLAIN ANALYZE {sql}")).await?;
                println!(
                    "query {query}, {}:\n{}",
                    side.name,
                    pretty_format_batches(&analyzed)?
                );
            }
            first.get_or_insert(rows);
        }
        let mut costs: [Vec<Cost>; 4] = Default::default();
        for round in 0..arguments.rounds {
            // Every other round backwards, so that no side always follows the same one.
            let mut order: Vec<_> = sides.iter().zip(&mut costs).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for (side, costs) in order {
                let stopwatch = Stopwatch::start()?;
                answer(side, sql).await?;
                costs.push(stopwatch.stop()?);
            }
        }
        let rows = first.map_or(0, |f| f.len());
        let bests = costs
            .iter()
            .map(|c| format!("{:8.1}", ms(best(c.iter().map(|c| c.wall)))));
        let bests = bests.collect::<Vec<_>>().join(" ");
        eprintln!("query {query:2}: {rows:5} rows, the same on all sides; best ms: {bests}");
        measured.push(Measured { query, costs });
    }
    if measured.len() == queries::QUERIES.len() {
        println!("all 22 queries gave the same rows on all sides");
    }
    println!("load average at the end: {}", measure::load_average());
    compare(&measured, &sides, PLAIN, ICEBERG)?;
    compare(&measured, &sides, PLAIN, ICEBERG_BY_MONTH)?;
    compare(&measured, &sides, PLAIN_BY_MONTH, ICEBERG_BY_MONTH)
}

async fn sides(arguments: &Arguments, layout: &Layout) -> Result<Vec<Side>> {
    let names = ["plain", "iceberg", "plain by month", "iceberg by month"];
    let mut sides = Vec::new();
    for (place, name) in names.into_iter().enumerate() {
        let mut config = SessionConfig::new().with_target_partitions(arguments.partitions);
        config.options_mut().explain.show_statistics = arguments.analyze;
        let ctx = SessionContext::new_with_config(config);
        let storage = Storage::default();
        let by_month = [PLAIN_BY_MONTH, ICEBERG_BY_MONTH].contains(&place);
        for table in TABLES {
            let by_month = by_month && table.name == LINEITEM.name;
            if [PLAIN, PLAIN_BY_MONTH].contains(&place) {
                let folder = match by_month {
                    true => layout.by_month(),
                    false => layout.plain(table.name),
                };
                ctx.register_parquet(table.name, text(&folder)?, ParquetReadOptions::default())
                    .await?;
            } else {
                let folder = match by_month {
                    true => layout.iceberg_by_month(),
                    false => layout.iceberg(table.name),
                };
                let opened = Table::open(&storage, &text(&folder)?).await?;
                let provider = IcebergTableProvider::try_new(opened.with_name(table.name))?;
                ctx.register_table(table.name, Arc::new(provider))?;
            }
        }
        sides.push(Side { name, ctx });
    }
    Ok(sides)
}

async fn answer(side: &Side, sql: &str) -> Result<Vec<RecordBatch>> {
    Ok(side.ctx.sql(sql).await?.collect().await?)
}

/// Prints the times of two sides and their ratios.
fn compare(measured: &[Measured], sides: &[Side], base: usize, other: usize) -> Result<()> {
    let name = |side: usize| sides.get(side).map_or("", |s| s.name);
    println!(
        "\n{} against {} (ms of wall time; the last ratio is of processor time)\n",
        name(other),
        name(base)
    );
    println!(
        "| query | {0}: best | median | {1}: best | median | ratio of bests | of medians | of CPU |",
        name(base),
        name(other)
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut ratios: [Vec<f64>; 3] = Default::default();
    let mut numbers = Vec::new();
    for one in measured {
        let (Some(base), Some(other)) = (one.costs.get(base), one.costs.get(other)) else {
            continue;
        };
        let wall = |costs: &[Cost], of: fn(Vec<Duration>) -> Duration| {
            ms(of(costs.iter().map(|c| c.wall).collect()))
        };
        let cpu = |costs: &[Cost]| ms(best(costs.iter().map(|c| c.cpu)));
        let (b, o) = (wall(base, best), wall(other, best));
        let (bm, om) = (wall(base, median), wall(other, median));
        let of_query = [o / b, om / bm, cpu(other) / cpu(base)];
        let [rb, rm, rc] = of_query;
        println!(
            "| {} | {b:.1} | {bm:.1} | {o:.1} | {om:.1} | {rb:.3} | {rm:.3} | {rc:.3} |",
            one.query
        );
        for (all, ratio) in ratios.iter_mut().zip(of_query) {
            all.push(ratio);
        }
        numbers.push(one.query);
    }
    let means = ratios.each_ref().map(|r| format!("{:.3}", geometric_mean(r)));
    println!("| geometric mean | | | | | {} |", means.join(" | "));
    let highest = ratios.each_ref().map(|r| {
        let highest = r.iter().zip(&numbers).max_by(|a, b| a.0.total_cmp(b.0));
        highest.map_or(String::new(), |(ratio, query)| {
            format!("{ratio:.3} (query {query})")
        })
    });
    println!("| highest | | | | | {} |", highest.join(" | "));
    Ok(())
}

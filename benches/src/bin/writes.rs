//! Writing: `INSERT INTO … SELECT` against DataFusion's own `COPY … TO`, in one interleaved run, and many small commits.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use datafusion::prelude::ParquetReadOptions;
use drumlin_benches::Result;
use drumlin_benches::iceberg_table::text;
use drumlin_benches::measure::{self, Cost, Stopwatch, best, median, ms};
use drumlin_benches::tpch::Layout;
use drumlin_benches::tpch::tables::LINEITEM;
use drumlin_benches::warehouse::{Pointers, run, session};
use drumlin_datafusion::IcebergContextExt;

/// Writing Iceberg tables.
#[derive(Debug, Parser)]
struct Arguments {
    /// The scale factor of TPC-H: 1 is a gigabyte of text.
    #[arg(default_value_t = 1.0)]
    scale_factor: f64,
    /// How often each side writes lineitem.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Small commits, of one row each.
    #[arg(long, default_value_t = 1_000)]
    commits: usize,
    /// Only these.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Kind>,
    /// Where lineitem is kept from run to run; by default in the folder for temporary files.
    #[arg(long)]
    cache: Option<PathBuf>,
    /// `target_partitions` of all sessions, and threads.
    #[arg(long, default_value_t = 2)]
    partitions: usize,
    /// Print the plan of each side.
    #[arg(long)]
    explain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// lineitem as one table.
    Insert,
    /// Commits of one row, with the pointer in SQLite and in a folder.
    Commits,
}

/// The properties that make both sides compress alike.
const CODEC: &str = "'write.parquet.compression-codec' = 'zstd', 'write.parquet.compression-level' = '3'";

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    measure::print_conditions();
    let runtime = measure::runtime(arguments.partitions)?;
    for kind in Kind::value_variants() {
        if arguments.only.is_empty() || arguments.only.contains(kind) {
            match kind {
                Kind::Insert => insert(&arguments, &runtime)?,
                Kind::Commits => runtime.block_on(commits(&arguments))?,
            }
        }
    }
    println!("\nload average at the end: {}", measure::load_average());
    Ok(())
}

/// One way to write lineitem.
struct Side {
    name: &'static str,
    /// How the place is prepared, before the clock starts.
    prepare: Option<String>,
    statement: String,
}

/// Each side in a folder of its own that is made anew each time.
fn insert(arguments: &Arguments, runtime: &tokio::runtime::Runtime) -> Result<()> {
    let cache = arguments.cache.clone();
    let cache = std::path::absolute(cache.unwrap_or_else(|| std::env::temp_dir().join("drumlin-benches")))?;
    let layout = Layout::new(&cache, arguments.scale_factor);
    layout.prepare_plain(&[LINEITEM], arguments.partitions)?;
    let source = layout.plain(LINEITEM.name);
    let written = cache.join("written");
    let columns = "(l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT, l_quantity DECIMAL(15, 2), \
                   l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag VARCHAR, \
                   l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR, \
                   l_shipmode VARCHAR, l_comment VARCHAR)";
    let sides = [
        Side {
            name: "COPY",
            prepare: None,
            statement: format!(
                "COPY (SELECT * FROM lineitem) TO '{}/copy/' STORED AS PARQUET OPTIONS (compression 'zstd(3)')",
                text(&written)?
            ),
        },
        Side {
            name: "INSERT",
            prepare: Some(format!("CREATE TABLE lake.s.t {columns} TBLPROPERTIES ({CODEC})")),
            statement: "INSERT INTO lake.s.t SELECT * FROM lineitem".to_string(),
        },
        Side {
            name: "INSERT by month",
            prepare: Some(format!(
                "CREATE TABLE lake.s.t {columns} PARTITIONED BY (month(l_shipdate)) TBLPROPERTIES ({CODEC})"
            )),
            statement: "INSERT INTO lake.s.t SELECT * FROM lineitem".to_string(),
        },
    ];
    let mut costs: Vec<(Vec<Cost>, u64, u64)> = sides.iter().map(|_| Default::default()).collect();
    for round in 0..arguments.rounds {
        let mut order: Vec<_> = sides.iter().zip(&mut costs).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for (side, (costs, rows, peak)) in order {
            if written.exists() {
                std::fs::remove_dir_all(&written)?;
            }
            std::fs::create_dir_all(&written)?;
            let ctx = runtime
                .block_on(session(&written, Pointers::Sqlite, arguments.partitions))?
                .0;
            runtime.block_on(async {
                run(&ctx, "CREATE SCHEMA lake.s").await?;
                let options = ParquetReadOptions::default();
                ctx.register_parquet("lineitem", text(&source)?, options).await?;
                if let Some(prepare) = &side.prepare {
                    run(&ctx, prepare).await?;
                }
                if arguments.explain && round == 0 {
                    let plan = ctx.iceberg_sql(&format!("EXPLAIN {}", side.statement)).await?;
                    plan.show().await?;
                }
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            })?;
            measure::forget_peak_memory()?;
            let before = measure::resident_memory()?;
            let stopwatch = Stopwatch::start()?;
            *rows = runtime.block_on(run(&ctx, &side.statement))?;
            let cost = stopwatch.stop()?;
            *peak = (*peak).max(measure::peak_memory()?.saturating_sub(before));
            eprintln!(
                "round {round}, {}: {rows} rows in {:.0} ms",
                side.name,
                ms(cost.wall)
            );
            costs.push(cost);
        }
    }
    std::fs::remove_dir_all(&written)?;
    println!("\n## lineitem, written\n");
    println!(
        "| side | rows | best ms | median ms | CPU ms | ratio of bests | ratio of medians | ratio of CPU | peak MB above the start |"
    );
    println!("|:--|--:|--:|--:|--:|--:|--:|--:|--:|");
    let figures = |costs: &[Cost]| {
        let walls = || costs.iter().map(|c| c.wall);
        let cpu = best(costs.iter().map(|c| c.cpu));
        (ms(best(walls())), ms(median(walls())), ms(cpu))
    };
    let base = costs.first().map(|(c, ..)| figures(c)).unwrap_or_default();
    for (side, (costs, rows, peak)) in sides.iter().zip(&costs) {
        let of = figures(costs);
        println!(
            "| {} | {rows} | {:.0} | {:.0} | {:.0} | {:.3} | {:.3} | {:.3} | {:.0} |",
            side.name,
            of.0,
            of.1,
            of.2,
            of.0 / base.0,
            of.1 / base.1,
            of.2 / base.2,
            *peak as f64 / 1e6
        );
    }
    Ok(())
}

/// Commits of one row, one after the other.
async fn commits(arguments: &Arguments) -> Result<()> {
    println!("\n## {} commits of one row\n", arguments.commits);
    println!("| pointer | median ms of the first tenth | of the fifth | of the last | all | slowest |");
    println!("|:--|--:|--:|--:|--:|--:|");
    for (name, pointers) in [
        ("SQLite", Pointers::Sqlite),
        ("folder on local disk", Pointers::Folder),
    ] {
        let warehouse = std::env::temp_dir().join(format!("drumlin-commits-{}", std::process::id()));
        std::fs::create_dir_all(&warehouse)?;
        let ctx = session(&warehouse, pointers, arguments.partitions).await?.0;
        run(&ctx, "CREATE SCHEMA lake.s").await?;
        run(&ctx, "CREATE TABLE lake.s.t (id BIGINT, v VARCHAR)").await?;
        let mut times: Vec<Duration> = Vec::with_capacity(arguments.commits);
        for i in 0..arguments.commits {
            let start = Instant::now();
            run(&ctx, &format!("INSERT INTO lake.s.t VALUES ({i}, 'row {i}')")).await?;
            times.push(start.elapsed());
        }
        let rows = run(&ctx, "SELECT count(id) FROM lake.s.t").await?;
        if rows != u64::try_from(arguments.commits)? {
            return Err(format!("{rows} rows after {} commits", arguments.commits).into());
        }
        let tenth = (times.len() / 10).max(1);
        let part = |n: usize| ms(median(times.iter().skip(n * tenth).take(tenth).copied()));
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} |",
            part(0),
            part(4),
            part(9),
            ms(median(times.iter().copied())),
            ms(times.iter().copied().max().unwrap_or_default())
        );
        std::fs::remove_dir_all(&warehouse)?;
    }
    Ok(())
}

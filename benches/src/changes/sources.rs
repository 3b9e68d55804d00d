//! The rows that are merged into tables, and keys of rows that are deleted: Parquet files that are made once.

use std::path::PathBuf;

use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use tokio::runtime::Runtime;

use super::Options;
use crate::Result;
use crate::cached;
use crate::iceberg_table::text;

/// Rows of the larger sources at scale factor 1.
const ROWS: f64 = 100_000.0;

/// The first day of the month of `source_month`, and that of the one after it.
pub const MONTH: (&str, &str) = ("1995-03-01", "1995-04-01");

/// The files of the sources, each with a table of its name in sessions.
#[derive(Debug)]
pub struct Sources {
    folder: PathBuf,
}

/// The sources by their names, and what they hold.
///
/// Every other row of a source of MERGE has the key of a row of the table and other values, the others have keys that
/// are not there: order keys of TPC-H leave out 24 of 32 numbers, so that they are new and lie between the others.
fn queries(scale_factor: f64) -> [(&'static str, String); 4] {
    let rows = ROWS * scale_factor;
    let changed = |key: &str, amount: &str, precision: u8, numbered: String| {
        format!(
            "SELECT * EXCEPT (n) REPLACE (CASE WHEN n % 2 = 0 THEN {key} ELSE {key} + 8 END AS {key}, \
             CAST({amount} + 1 AS DECIMAL({precision}, 2)) AS {amount}) FROM ({numbered}) WHERE n <= {rows:.0}"
        )
    };
    let lineitem = |rows: &str| {
        format!(
            "SELECT *, row_number() OVER (ORDER BY l_orderkey, l_linenumber) AS n FROM lineitem WHERE {rows}"
        )
    };
    let (first, next) = MONTH;
    [
        (
            "source_lineitem",
            changed(
                "l_orderkey",
                "l_quantity",
                15,
                lineitem("(l_orderkey * 31 + l_linenumber * 17) % 59 = 7"),
            ),
        ),
        (
            "source_month",
            changed(
                "l_orderkey",
                "l_quantity",
                15,
                lineitem(&format!(
                    "l_shipdate >= DATE '{first}' AND l_shipdate < DATE '{next}'"
                )),
            ),
        ),
        (
            "source_orders",
            changed(
                "o_orderkey",
                "o_totalprice",
                15,
                "SELECT *, row_number() OVER (ORDER BY o_orderkey) AS n FROM orders WHERE o_orderkey % 15 = 7".into(),
            ),
        ),
        (
            "keys",
            "SELECT o_orderkey FROM orders WHERE (o_orderkey * 31) % 100 = 7".to_string(),
        ),
    ]
}

impl Sources {
    /// The files, not looked at yet.
    pub fn new(options: &Options) -> Self {
        Self {
            folder: options.folder().join("sources"),
        }
    }

    /// Writes the files if they are missing, or other ones than this program writes. The plain tables must be there.
    pub fn prepare(&self, options: &Options, runtime: &Runtime) -> Result<()> {
        let queries = queries(options.scale_factor);
        let texts: Vec<&str> = queries.iter().map(|(_, query)| query.as_str()).collect();
        let about = texts.join("\n");
        let write = || {
            runtime.block_on(self.write(options, &queries))?;
            Ok(about.clone())
        };
        if cached::once(&self.folder, write)? != about {
            std::fs::remove_dir_all(&self.folder)?;
            cached::once(&self.folder, write)?;
        }
        Ok(())
    }

    async fn write(&self, options: &Options, queries: &[(&str, String)]) -> Result<()> {
        let ctx = plain_session(options).await?;
        for (name, query) in queries {
            let file = text(&self.folder.join(format!("{name}.parquet")))?;
            let copy = format!("COPY ({query}) TO '{file}' STORED AS PARQUET");
            ctx.sql(&copy).await?.collect().await?;
        }
        Ok(())
    }

    /// Makes the tables of a session.
    pub async fn register(&self, ctx: &SessionContext) -> Result<()> {
        for name in ["source_lineitem", "source_month", "source_orders", "keys"] {
            let file = text(&self.folder.join(format!("{name}.parquet")))?;
            ctx.register_parquet(name, file, ParquetReadOptions::default())
                .await?;
        }
        Ok(())
    }
}

/// A session with DataFusion's own tables alone: `lineitem` and `orders`.
pub async fn plain_session(options: &Options) -> Result<SessionContext> {
    let config = SessionConfig::new().with_target_partitions(options.partitions);
    let ctx = SessionContext::new_with_config(config);
    for name in ["lineitem", "orders"] {
        let files = text(&options.layout().plain(name))?;
        ctx.register_parquet(name, files, ParquetReadOptions::default())
            .await?;
    }
    Ok(ctx)
}

//! Queries on the Iceberg table and on the same rows in memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_datafusion::IcebergTableProvider;

use super::predicate::{Column, Condition};
use super::table::Generated;
use super::value::literal;
use crate::random::Random;

/// Files of scans and how many of them were pruned; and row groups of the files that were not.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pruned {
    pub files: u64,
    pub by_partition: u64,
    pub by_bounds: u64,
    pub row_groups: usize,
    pub row_groups_by_statistics: usize,
}

/// A query around a condition: text before and after it.
#[derive(Debug, Clone)]
pub struct Shape {
    before: String,
    after: String,
}

impl Shape {
    pub fn plain() -> Self {
        Self {
            before: "SELECT row FROM t WHERE".to_string(),
            after: String::new(),
        }
    }

    /// All columns of all rows.
    pub fn everything() -> Self {
        Self {
            before: "SELECT * FROM t WHERE".to_string(),
            after: String::new(),
        }
    }

    /// Plain filters mostly; else those that make DataFusion prune more by itself: TOP-K, joins, aggregates.
    pub fn random(columns: &[Column], random: &mut Random) -> Self {
        let column = random.pick(columns);
        let (before, after) = match random.below(12) {
            0 => {
                let direction = random.pick(&["ASC", "DESC"]);
                let nulls = random.pick(&["FIRST", "LAST"]);
                let limit = 1 + random.below(6);
                let order = format!(
                    "ORDER BY {} {direction} NULLS {nulls}, row LIMIT {limit}",
                    column.sql
                );
                ("SELECT row FROM t WHERE".to_string(), order)
            }
            1 => ("SELECT count(*) FROM t WHERE".to_string(), String::new()),
            2 => ("SELECT * FROM t WHERE".to_string(), String::new()),
            3 => {
                let c = &column.sql;
                (
                    format!("SELECT min({c}), max({c}), count({c}), count(*) FROM t WHERE"),
                    String::new(),
                )
            }
            4 => {
                let values: Vec<_> = (0..3)
                    .map(|_| format!("({})", literal(&column.of, random)))
                    .collect();
                let keys = format!("(VALUES {}) AS v(k)", values.join(", "));
                (
                    format!("SELECT row FROM t JOIN {keys} ON t.{} = v.k WHERE", column.sql),
                    String::new(),
                )
            }
            _ => return Self::plain(),
        };
        Self { before, after }
    }

    pub fn sql(&self, condition: &Condition) -> String {
        format!("{} {condition} {}", self.before, self.after)
            .trim_end()
            .to_string()
    }
}

/// A session over the Iceberg table.
pub struct Reader {
    pub settings: String,
    context: SessionContext,
}

impl Reader {
    pub fn random(table: &Generated, random: &mut Random) -> Self {
        let settings = [
            ("execution.target_partitions", format!("{}", 1 + random.below(4))),
            (
                "execution.batch_size",
                (*random.pick(&["2", "7", "64", "8192"])).to_string(),
            ),
            (
                "execution.parquet.pushdown_filters",
                random.percent(50).to_string(),
            ),
            (
                "execution.parquet.reorder_filters",
                random.percent(50).to_string(),
            ),
            (
                "optimizer.repartition_file_min_size",
                (*random.pick(&["0", "10485760"])).to_string(),
            ),
        ];
        Self::new(table, &settings)
    }

    /// A session in which only files are pruned, nothing inside them.
    pub fn of_files_only(table: &Generated) -> Self {
        let off = || "false".to_string();
        let settings = [
            ("execution.parquet.pruning", off()),
            ("execution.parquet.enable_page_index", off()),
            ("execution.parquet.bloom_filter_on_read", off()),
            ("execution.parquet.pushdown_filters", off()),
            ("optimizer.enable_dynamic_filter_pushdown", off()),
        ];
        Self::new(table, &settings)
    }

    fn new(table: &Generated, settings: &[(&str, String)]) -> Self {
        let mut config = SessionConfig::new();
        for (key, value) in settings {
            config = config.set_str(&format!("datafusion.{key}"), value);
        }
        let context = SessionContext::new_with_config(config);
        let provider = IcebergTableProvider::try_new(table.table.clone()).unwrap();
        context.register_table("t", Arc::new(provider)).unwrap();
        let settings: Vec<_> = settings
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        Self {
            settings: settings.join(" "),
            context,
        }
    }

    pub async fn answer(&self, sql: &str, pruned: &mut Pruned) -> Result<Vec<String>, String> {
        answer(&self.context, sql, Some(pruned)).await
    }

    /// The lines of the plan that scan the table.
    pub async fn scans(&self, sql: &str) -> String {
        let plan = match self.context.sql(sql).await {
            Ok(query) => query.create_physical_plan().await,
            Err(e) => return e.to_string(),
        };
        match plan {
            Ok(plan) => {
                let text = displayable(plan.as_ref()).indent(false).to_string();
                let scans = text.lines().filter(|l| l.contains("DataSourceExec"));
                scans.map(|l| cut(l.trim(), 2000)).collect::<Vec<_>>().join("\n")
            }
            Err(e) => e.to_string(),
        }
    }
}

/// The rows in memory.
pub struct Expected {
    context: SessionContext,
}

impl Expected {
    pub fn new(table: &Generated) -> Self {
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
        let memory = MemTable::try_new(table.rows.schema(), vec![vec![table.rows.clone()]]).unwrap();
        context.register_table("t", Arc::new(memory)).unwrap();
        Self { context }
    }

    pub async fn answer(&self, sql: &str) -> Result<Vec<String>, String> {
        answer(&self.context, sql, None).await
    }
}

async fn answer(
    context: &SessionContext,
    sql: &str,
    pruned: Option<&mut Pruned>,
) -> Result<Vec<String>, String> {
    let failed = |e: datafusion::error::DataFusionError| cut(&e.to_string(), 600);
    let plan = context.sql(sql).await.map_err(failed)?;
    let plan = plan.create_physical_plan().await.map_err(failed)?;
    let batches = collect(Arc::clone(&plan), context.task_ctx())
        .await
        .map_err(failed)?;
    if let Some(pruned) = pruned {
        pruned.add_files(&displayable(plan.as_ref()).indent(false).to_string());
        pruned.add_row_groups(&plan);
    }
    let mut rows: Vec<String> = batches.iter().flat_map(rows).collect();
    rows.sort();
    Ok(rows)
}

impl Pruned {
    /// Adds the figures that the scans of a plan show.
    fn add_files(&mut self, plan: &str) {
        for scan in plan.split("files=").skip(1) {
            let numbers: Vec<u64> = scan
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|n| n.parse().ok())
                .take(4)
                .collect();
            if let ([_, total, by_partition, by_bounds], true) =
                (numbers.as_slice(), scan.contains(" pruned ("))
            {
                self.files += total;
                self.by_partition += by_partition;
                self.by_bounds += by_bounds;
            }
        }
    }

    /// Adds what the scans of a plan that has run counted.
    fn add_row_groups(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        for metric in plan.metrics().iter().flat_map(MetricsSet::iter) {
            if let MetricValue::PruningMetrics {
                name,
                pruning_metrics,
            } = metric.value()
                && name == "row_groups_pruned_statistics"
            {
                self.row_groups += pruning_metrics.pruned() + pruning_metrics.matched();
                self.row_groups_by_statistics += pruning_metrics.pruned();
            }
        }
        plan.children()
            .into_iter()
            .for_each(|child| self.add_row_groups(child));
    }

    pub fn merge(&mut self, other: Self) {
        self.row_groups += other.row_groups;
        self.row_groups_by_statistics += other.row_groups_by_statistics;
        self.files += other.files;
        self.by_partition += other.by_partition;
        self.by_bounds += other.by_bounds;
    }
}

fn rows(batch: &RecordBatch) -> Vec<String> {
    let value = |column: &datafusion::arrow::array::ArrayRef, row| {
        format!("{:?}", ScalarValue::try_from_array(column, row).unwrap())
    };
    (0..batch.num_rows())
        .map(|row| {
            let values: Vec<_> = batch.columns().iter().map(|c| value(c, row)).collect();
            values.join(" | ")
        })
        .collect()
}

pub fn cut(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}

/// How two answers differ: what is missing, and what is too much.
pub fn difference(expected: &[String], found: &[String]) -> String {
    let (wanted, got): (BTreeSet<_>, BTreeSet<_>) = (expected.iter().collect(), found.iter().collect());
    let some = |rows: Vec<&&String>| {
        let texts: Vec<_> = rows.iter().take(5).map(|r| cut(r, 300)).collect();
        format!("{} rows [{}]", rows.len(), texts.join("; "))
    };
    format!(
        "expected {} rows, found {}; missing {}, too much {}",
        expected.len(),
        found.len(),
        some(wanted.difference(&got).collect()),
        some(got.difference(&wanted).collect())
    )
}

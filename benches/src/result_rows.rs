//! Comparing results of queries: the same rows, in whatever order.

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, Float64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, execute_stream_partitioned};
use futures::StreamExt;
use tokio::task::JoinSet;

use crate::Result;

/// How far two floating-point numbers may be apart, relative to the greater: sums depend on the order of their terms.
const TOLERANCE: f64 = 1e-9;

/// A value of a result.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Text(String),
    Number(f64),
}

/// The rows of a result, sorted.
#[derive(Debug, Clone)]
pub struct ResultRows(Vec<Vec<Cell>>);

impl ResultRows {
    /// The rows of all batches.
    pub fn of(batches: &[RecordBatch]) -> Result<Self> {
        let options = FormatOptions::default().with_null("NULL");
        let mut rows = Vec::new();
        for batch in batches {
            let mut columns = Vec::new();
            for column in batch.columns() {
                columns.push(match column.data_type() {
                    DataType::Float64 => (Some(column.as_primitive::<Float64Type>()), None),
                    _ => (None, Some(ArrayFormatter::try_new(column.as_ref(), &options)?)),
                });
            }
            for row in 0..batch.num_rows() {
                let cell = |column: &(Option<&Float64Array>, Option<ArrayFormatter<'_>>)| match column {
                    (Some(numbers), _) if numbers.is_valid(row) => Cell::Number(numbers.value(row)),
                    (_, Some(formatter)) => Cell::Text(formatter.value(row).to_string()),
                    _ => Cell::Text("NULL".to_string()),
                };
                rows.push(columns.iter().map(cell).collect::<Vec<_>>());
            }
        }
        rows.sort_by(|a, b| order(a, b));
        Ok(Self(rows))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is different, if anything is.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.len() != other.len() {
            return Some(format!("{} rows against {}", self.len(), other.len()));
        }
        let same = |(a, b): (&Cell, &Cell)| match (a, b) {
            (Cell::Number(a), Cell::Number(b)) => (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()) || a == b,
            (a, b) => a == b,
        };
        let mut pairs = self.0.iter().zip(&other.0);
        pairs
            .find(|(a, b)| a.len() != b.len() || !a.iter().zip(b.iter()).all(same))
            .map(|(a, b)| format!("{a:?} against {b:?}"))
    }
}

/// What all rows of a result come down to, whatever their order: for results too large to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint {
    /// How many rows there are.
    pub rows: u64,
    /// The sum of their hashes.
    hashes: u64,
}

impl Fingerprint {
    /// Takes in the rows of a batch.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut hashes = vec![0; batch.num_rows()];
        create_hashes(batch.columns(), &RandomState::with_seed(0), &mut hashes)?;
        self.rows += u64::try_from(hashes.len())?;
        self.hashes = hashes.into_iter().fold(self.hashes, u64::wrapping_add);
        Ok(())
    }

    /// Takes in the number of rows of a batch alone, which costs nothing.
    pub fn count(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += u64::try_from(batch.num_rows())?;
        Ok(())
    }

    /// Takes in the rows of another part of the result.
    pub fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.hashes = self.hashes.wrapping_add(other.hashes);
    }
}

/// Reads all rows of a plan, batch by batch, each partition in a task of its own.
pub async fn read(
    plan: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    add: fn(&mut Fingerprint, &RecordBatch) -> Result<()>,
) -> Result<Fingerprint> {
    let mut tasks: JoinSet<Result<Fingerprint>> = JoinSet::new();
    for mut stream in execute_stream_partitioned(plan, task)? {
        tasks.spawn(async move {
            let mut seen = Fingerprint::default();
            while let Some(batch) = stream.next().await {
                add(&mut seen, &batch?)?;
            }
            Ok(seen)
        });
    }
    let mut seen = Fingerprint::default();
    while let Some(of_partition) = tasks.join_next().await {
        seen.merge(of_partition??);
    }
    Ok(seen)
}

/// By the texts first, so that numbers which are a little apart do not change the order.
fn order(a: &[Cell], b: &[Cell]) -> Ordering {
    fn texts(row: &[Cell]) -> impl Iterator<Item = &str> {
        row.iter().filter_map(|c| match c {
            Cell::Text(text) => Some(text.as_str()),
            Cell::Number(_) => None,
        })
    }
    fn numbers(row: &[Cell]) -> impl Iterator<Item = f64> {
        row.iter().filter_map(|c| match c {
            Cell::Number(number) => Some(*number),
            Cell::Text(_) => None,
        })
    }
    let by_numbers = || {
        let pairs = numbers(a).zip(numbers(b));
        pairs
            .map(|(a, b)| a.total_cmp(&b))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    texts(a).cmp(texts(b)).then_with(by_numbers)
}

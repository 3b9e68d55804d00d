//! Rows of data files that are deleted.
//!
//! Deletes are loaded when a file is opened. Deleted positions become a row selection of the Parquet reader where they are
//! few or come in long runs: it never decodes the rows, and all else that it does (row filters, page pruning, limits,
//! splits of files) stays as it is. Other positions, and rows that equality deletes delete, are taken out of the batches
//! that were read ([`row_filter`](super::row_filter)): the position and the key columns are read for that and left out
//! after.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, FieldRef, Schema};
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use drumlin_table::Table;
use drumlin_table::arrow::column_to_arrow;
use drumlin_table::deletes::{DeletedPositions, FileDeletes, KeyColumn, KeySet, MemoryAccount};
use drumlin_table::scan::ScanPlan;

use super::row_filter::{DeletedRows, RowFilter};
use crate::error::external;
use crate::projection::adapter::FileColumns;

/// What a scan needs to leave deleted rows out.
#[derive(Debug)]
pub struct ScanDeletes {
    table: Table,
    memory: PoolAccount,
    /// The key columns of all equality deletes, each once.
    keys: Vec<KeyColumn>,
    removed: Removed,
}

/// Rows that were left out, by what deleted them.
#[derive(Debug, Default)]
struct Removed {
    by_vectors: Count,
    by_positions: Count,
    by_keys: Count,
}

/// Memory that is taken from the pool of the session and given back with the plan.
#[derive(Debug)]
pub(crate) struct PoolAccount(MemoryReservation);

impl PoolAccount {
    pub(crate) fn new(reservation: MemoryReservation) -> Self {
        Self(reservation)
    }
}

impl MemoryAccount for PoolAccount {
    fn grow(&self, bytes: usize) -> drumlin_table::Result<()> {
        let taken = self.0.try_grow(bytes);
        taken.map_err(|e| drumlin_table::Error::NoMemory(e.to_string()))
    }

    fn shrink(&self, bytes: usize) {
        // More than was taken is nothing to give back.
        let _ = self.0.try_shrink(bytes);
    }
}

impl ScanDeletes {
    /// The deletes of a plan.
    pub fn new(plan: &ScanPlan, table: &Table, runtime: &RuntimeEnv) -> Self {
        let mut keys: Vec<KeyColumn> = Vec::new();
        for equality in plan.equality_deletes() {
            for column in equality.columns().iter() {
                if !keys.contains(column) {
                    keys.push(column.clone());
                }
            }
        }
        let consumer = MemoryConsumer::new(format!("deletes of {}", table.name()));
        Self {
            table: table.clone(),
            memory: PoolAccount(consumer.register(&runtime.memory_pool)),
            keys,
            removed: Removed::default(),
        }
    }

    /// The table that is scanned.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The columns that hold the keys, for the schema of the scan.
    pub fn key_fields(&self) -> Vec<FieldRef> {
        self.keys.iter().map(key_field).collect()
    }

    /// Counts rows among these metrics from now on.
    pub fn report(&mut self, metrics: &ExecutionPlanMetricsSet) {
        let counter = |name: &'static str| MetricBuilder::new(metrics).global_counter(name);
        self.removed = Removed {
            by_vectors: counter("rows_removed_by_deletion_vectors"),
            by_positions: counter("rows_removed_by_position_deletes"),
            by_keys: counter("rows_removed_by_equality_deletes"),
        };
    }

    /// The positions of a file that are deleted. They are counted by the piece of the file that holds its first byte.
    pub async fn positions(
        &self,
        file: &FileColumns,
        deletes: &FileDeletes,
        range: Option<Range<i64>>,
    ) -> Result<Option<DeletedPositions>> {
        let deleted = deletes.deleted_positions(&file.path, &self.table, &self.memory);
        let deleted = deleted.await.map_err(external)?;
        if let Some(deleted) = &deleted
            && range.is_none_or(|range| range.start == 0)
        {
            let rows = u64::try_from(file.record_count).unwrap_or(0);
            let counter = match deleted.by_vector {
                true => &self.removed.by_vectors,
                false => &self.removed.by_positions,
            };
            counter.add(usize::try_from(deleted.positions.count_in(0, rows)).unwrap_or(0));
        }
        Ok(deleted)
    }

    /// The values of equality deletes that may delete rows of a file.
    pub async fn key_sets(&self, deletes: &FileDeletes) -> Result<Vec<Arc<KeySet>>> {
        let mut sets = Vec::with_capacity(deletes.equality_deletes().len());
        for equality in deletes.equality_deletes() {
            let keys = equality.keys(&self.table, &self.memory).await;
            sets.push(Arc::clone(keys.map_err(external)?));
        }
        sets.retain(|set| !set.is_empty());
        Ok(sets)
    }

    /// What leaves out the rows of a file that are deleted, in place of a plain `projection` of the columns of `schema`;
    /// see [`RowFilter::try_new`].
    pub fn row_filter(
        &self,
        deleted: DeletedRows,
        sequence_number: i64,
        projection: &ProjectionExprs,
        wanted: Option<Arc<dyn PhysicalExpr>>,
        schema: &Schema,
    ) -> Result<RowFilter> {
        let removed = self.removed.by_keys.clone();
        RowFilter::try_new(deleted, sequence_number, projection, wanted, schema, removed)
    }
}

/// The column of a scan that holds a key. Its name is not that of the table, where another column may have it by now.
pub fn key_field(column: &KeyColumn) -> FieldRef {
    let field: Field = column_to_arrow(column.column()).as_ref().clone();
    Arc::new(field.with_name(key_name(column)))
}

/// A name that no column of a table has.
pub(super) fn key_name(column: &KeyColumn) -> String {
    format!("\u{1}key {}", column.field_id())
}

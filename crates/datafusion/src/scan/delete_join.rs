//! Equality deletes that are too many to be held in memory: an anti join with the delete files, which can spill.
//!
//! ```text
//! ProjectionExec                        the columns that were asked for
//!   SortMergeJoinExec: LeftAnti         keys and partition equal, sequence number of the row below that of the delete
//!     DataSourceExec                    data files, with keys, partition and sequence number
//!     DataSourceExec                    delete files, with the same
//! ```
//!
//! It is planned where the keys would take more than half of the memory pool, as far as manifests tell.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::stats::Precision;
use datafusion::common::{JoinSide, JoinType, NullEquality, Result, ScalarValue, Statistics};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::SortMergeJoinExec;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::projection::ProjectionExec;
use drumlin_table::arrow::FIELD_ID_KEY;
use drumlin_table::deletes::{DeleteFile, KeyColumn, scope_of};
use drumlin_table::scan::{FileTask, ScanPlan};

use super::builder::{ScanBuilder, balanced};
use super::deleted_rows::{ScanDeletes, key_field};
use super::source::IcebergSource;
use crate::error::external;
use crate::projection::adapter::{FileColumns, TableColumns};
use crate::table_provider::marked;

/// The field id, of this scan alone, of the sequence number of a row or a delete.
pub const SEQUENCE_NUMBER_ID: i32 = -1;

/// The field id, of this scan alone, of the partition of a row or a delete, as bytes.
pub const SCOPE_ID: i32 = -2;

/// The joins of a scan.
pub struct KeyJoins {
    joins: Vec<KeyJoin>,
}

/// The equality deletes of some columns: all that are for partitions, or all that are for the whole table.
struct KeyJoin {
    columns: Arc<[KeyColumn]>,
    global: bool,
    files: Vec<Arc<DeleteFile>>,
}

impl ScanBuilder<'_> {
    /// The joins that a plan needs, if its keys do not fit into memory. Keys inside of structs are always held there.
    pub(super) fn key_joins(&self, plan: &ScanPlan) -> Option<KeyJoins> {
        let MemoryLimit::Finite(limit) = self.runtime.memory_pool.memory_limit() else {
            return None;
        };
        let groups = plan.equality_deletes();
        let memory = groups.iter().map(|g| g.estimated_memory());
        let memory = memory.fold(0u64, u64::saturating_add);
        let nested = groups
            .iter()
            .flat_map(|g| g.columns().iter())
            .any(KeyColumn::is_nested);
        if nested || usize::try_from(memory).is_ok_and(|memory| memory <= limit / 2) {
            return None;
        }
        let mut joins: Vec<KeyJoin> = Vec::new();
        for group in groups {
            let same = |j: &&mut KeyJoin| j.global == group.is_global() && j.columns == *group.columns();
            match joins.iter_mut().find(same) {
                Some(join) => join.files.extend(group.files().iter().cloned()),
                None => joins.push(KeyJoin {
                    columns: Arc::clone(group.columns()),
                    global: group.is_global(),
                    files: group.files().to_vec(),
                }),
            }
        }
        Some(KeyJoins { joins })
    }
}

impl KeyJoins {
    /// The scan of a plan, joined.
    pub fn build(&self, scan: &ScanBuilder<'_>, plan: &ScanPlan) -> Result<Arc<dyn ExecutionPlan>> {
        let mut columns = scan.projection.clone();
        let outputs = columns.len();
        for key in self.joins.iter().flat_map(|j| j.columns.iter()) {
            let field = key_field(key);
            if !columns.contains(&field) {
                columns.push(field);
            }
        }
        columns.extend([sequence_number(), scope()]);
        let tasks = plan.tasks.iter().map(FileTask::without_equality_deletes);
        let data = ScanPlan {
            tasks: tasks.collect(),
            summary: plan.summary.clone(),
        };
        let mut rows = scan.scan(&data, &columns, None)?;
        for join in &self.joins {
            rows = join.over(rows, scan)?;
        }
        let schema = rows.schema();
        let output = |(place, field): (usize, &FieldRef)| {
            ProjectionExpr::new(Arc::new(Column::new(field.name(), place)), field.name().clone())
        };
        let outputs = schema.fields().iter().take(outputs).enumerate().map(output);
        Ok(Arc::new(ProjectionExec::try_new(outputs, rows)?))
    }
}

impl KeyJoin {
    fn over(&self, rows: Arc<dyn ExecutionPlan>, scan: &ScanBuilder<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let deletes = self.delete_files(scan)?;
        let (left, right) = (rows.schema(), deletes.schema());
        let mut names: Vec<_> = self.columns.iter().map(|c| key_field(c).name().clone()).collect();
        if !self.global {
            names.push(scope().name().clone());
        }
        let column = |schema: &Schema, name: &str| -> Result<Arc<dyn PhysicalExpr>> {
            Ok(Arc::new(Column::new_with_schema(name, schema)?))
        };
        let on = names.iter().map(|n| Ok((column(&left, n)?, column(&right, n)?)));
        let on = on.collect::<Result<Vec<_>>>()?;
        let number = sequence_number();
        let side = |schema: &Schema, side| {
            let index = schema.index_of(number.name())?;
            Ok::<_, datafusion::error::DataFusionError>(ColumnIndex { index, side })
        };
        let sides = vec![side(&left, JoinSide::Left)?, side(&right, JoinSide::Right)?];
        let older: Arc<dyn PhysicalExpr> = Arc::new(BinaryExpr::new(
            Arc::new(Column::new("of row", 0)),
            Operator::Lt,
            Arc::new(Column::new("of delete", 1)),
        ));
        let numbers = ["of row", "of delete"].map(|n| Field::new(n, DataType::Int64, true));
        let filter = JoinFilter::new(older, sides, Arc::new(Schema::new(numbers.to_vec())));
        let order = vec![SortOptions::default(); on.len()];
        Ok(Arc::new(SortMergeJoinExec::try_new(
            rows,
            deletes,
            on,
            Some(filter),
            JoinType::LeftAnti,
            order,
            NullEquality::NullEqualsNull,
        )?))
    }

    /// The scan of the delete files: keys, sequence number and partition.
    fn delete_files(&self, scan: &ScanBuilder<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let mut fields: Vec<FieldRef> = self.columns.iter().map(key_field).collect();
        fields.extend([sequence_number(), scope()]);
        let schema = TableSchema::builder(Arc::new(marked(fields))).build();
        let columns = TableColumns {
            must_be_stored: true,
            ..TableColumns::default()
        };
        let mut files = Vec::with_capacity(self.files.len());
        for delete in &self.files {
            let file = delete.data_file();
            let columns = FileColumns {
                path: file.file_path.to_string(),
                format: file.file_format.clone(),
                constants: HashMap::from([
                    (SEQUENCE_NUMBER_ID, ScalarValue::from(delete.sequence_number())),
                    (SCOPE_ID, ScalarValue::Binary(Some(scope_of(file)))),
                ]),
                first_row_id: None,
                sequence_number: delete.sequence_number(),
                record_count: file.record_count,
                deletes: None,
            };
            let size = delete.size().map_err(external)?;
            files.push(scan.partitioned(file, size, Arc::new(columns))?);
        }
        let rows = self.files.iter().map(|f| f.record_count());
        let rows = rows
            .sum::<Option<u64>>()
            .and_then(|rows| usize::try_from(rows).ok());
        let mut totals = Statistics::new_unknown(schema.table_schema());
        totals.num_rows = rows.map_or(Precision::Absent, Precision::Inexact);
        let description = format!(
            "equality deletes of table={}, files={}",
            scan.table.name(),
            self.files.len()
        );
        let none = ScanPlan::default();
        let deletes = ScanDeletes::new(&none, scan.table, scan.runtime);
        let parquet = scan.parquet_source(schema);
        let source = IcebergSource::try_new(parquet, Arc::new(columns), deletes, description)?;
        let groups = balanced(files, scan.config.target_partitions());
        scan.plan_of(Arc::new(source), groups, totals, None)
    }
}

fn sequence_number() -> FieldRef {
    own_field("sequence number", SEQUENCE_NUMBER_ID, DataType::Int64)
}

fn scope() -> FieldRef {
    own_field("partition", SCOPE_ID, DataType::Binary)
}

/// A column of this scan alone, under a name that no column of a table has.
fn own_field(name: &str, id: i32, data_type: DataType) -> FieldRef {
    let id = HashMap::from([(FIELD_ID_KEY.to_string(), id.to_string())]);
    Arc::new(Field::new(format!("\u{1}{name}"), data_type, true).with_metadata(id))
}

//! The scan of a table whose rows are changed.
//!
//! It has columns that tell where a row is, beside those that a query could name, and it tells whoever changes the rows what
//! was read: the files, and the predicate that they were planned by.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::catalog::Session;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result, plan_err};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_plan::ExecutionPlan;
use drumlin_table::Table;
use drumlin_table::arrow::{FIELD_ID_KEY, schema_to_arrow};
use drumlin_table::memory::UnlimitedMemory;
use drumlin_table::predicate::{FilePredicate, Predicate};
use drumlin_table::scan::{FileTask, ScanPlan};
use futures::{StreamExt, TryStreamExt};

use crate::error::external;
use crate::filter::to_exact_predicate;
use crate::metadata_columns::{POS_ID, ROW_ID_ID};
use crate::scan::source::IcebergSource;

/// Which data file a row is in: its place among the tasks of [`ScannedTarget`].
pub(crate) const FILE: &str = "drumlin$file";

/// Where it is in that file, counted from 0.
pub(crate) const POS: &str = "drumlin$pos";

/// Its id (version 3).
pub(crate) const ROW_ID: &str = "drumlin$row_id";

/// The field id, of such scans alone, of [`FILE`].
pub(crate) const FILE_ID: i32 = -3;

/// Data files whose delete files are read at once.
const CONCURRENT_COUNTS: usize = 16;

/// The rows that a statement changes, as a provider plans them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangedRows {
    /// The condition of a DELETE that nothing but the row decides.
    pub(crate) deleted: Option<Expr>,
}

/// What the scan of a table whose rows are changed reads.
#[derive(Debug)]
pub(crate) struct ScannedTarget {
    /// The data files that are read.
    pub(crate) tasks: Vec<FileTask>,
    /// Data files that are not read, since all of their rows are deleted, and how many these are.
    pub(crate) emptied: Vec<(FileTask, u64)>,
    /// Keeps every row that was read.
    pub(crate) predicate: Predicate,
}

/// The columns that tell where a row is, of types that no schema has.
///
/// # Errors
/// A column of the table has such a name.
pub(crate) fn place_columns(table: &Table) -> Result<Vec<FieldRef>> {
    let column = |name: &str, id: i32, data_type, nullable| -> FieldRef {
        let id = HashMap::from([(FIELD_ID_KEY.to_string(), id.to_string())]);
        Arc::new(Field::new(name, data_type, nullable).with_metadata(id))
    };
    let mut columns = vec![
        column(FILE, FILE_ID, DataType::Int32, false),
        column(POS, POS_ID, DataType::Int64, false),
    ];
    if table.metadata().format_version() >= 3 {
        columns.push(column(ROW_ID, ROW_ID_ID, DataType::Int64, true));
    }
    for column in &columns {
        if table.schema().as_struct().field_by_name(column.name()).is_some() {
            return plan_err!(
                "table `{}`: rows cannot be changed in a table with a column called `{}`: rename it",
                table.name(),
                column.name()
            );
        }
    }
    Ok(columns)
}

impl ChangedRows {
    /// Takes the data files out of a plan that need not be read, since the statement deletes all of their rows.
    pub(crate) async fn scanned(
        &self,
        plan: &mut ScanPlan,
        table: &Table,
        predicate: Predicate,
        session: &dyn Session,
    ) -> Result<Arc<ScannedTarget>> {
        let mut tasks = std::mem::take(&mut plan.tasks);
        let mut emptied = Vec::new();
        if let Some(deleted) = self.exactly_deleted(table, session)? {
            let deleted = FilePredicate::new(deleted, table.metadata());
            let of_all = |task: &FileTask| deleted.are_all_of(task.data_file());
            let (candidates, others) = tasks.into_iter().partition(of_all);
            tasks = others;
            // How many rows are deleted is part of the answer.
            let uncounted;
            (emptied, uncounted) = counted(candidates, table).await?;
            tasks.extend(uncounted);
        }
        plan.tasks = tasks.clone();
        Ok(Arc::new(ScannedTarget {
            tasks,
            emptied,
            predicate,
        }))
    }

    /// The condition as a predicate that says the same of every row, if there is one.
    fn exactly_deleted(&self, table: &Table, session: &dyn Session) -> Result<Option<Predicate>> {
        let Some(condition) = &self.deleted else {
            return Ok(None);
        };
        let condition = without_qualifiers(condition.clone())?;
        let schema = Arc::new(DFSchema::try_from(schema_to_arrow(table.schema()))?);
        let context = SimplifyContext::builder()
            .with_schema(Arc::clone(&schema))
            .with_config_options(Arc::new(session.config_options().clone()))
            .build();
        let simplifier = ExprSimplifier::new(context);
        // What cannot be typed by itself, as a subquery, is no predicate.
        let Ok(condition) = simplifier
            .coerce(condition, &schema)
            .and_then(|condition| simplifier.simplify(condition))
        else {
            return Ok(None);
        };
        Ok(to_exact_predicate(&condition, table.schema()))
    }
}

/// Files whose rows can be counted without reading them, with their numbers; and the others.
pub(super) async fn counted(
    tasks: Vec<FileTask>,
    table: &Table,
) -> Result<(Vec<(FileTask, u64)>, Vec<FileTask>)> {
    let counts = tasks.into_iter().map(|task| async move {
        let rows = task
            .count_live_rows(table, &UnlimitedMemory)
            .await
            .map_err(external)?;
        Ok::<_, DataFusionError>((task, rows))
    });
    let counts: Vec<_> = futures::stream::iter(counts)
        .buffered(CONCURRENT_COUNTS)
        .try_collect()
        .await?;
    let (mut counted, mut others) = (Vec::new(), Vec::new());
    for (task, rows) in counts {
        match rows {
            Some(rows) => counted.push((task, rows)),
            None => others.push(task),
        }
    }
    Ok((counted, others))
}

fn without_qualifiers(expr: Expr) -> Result<Expr> {
    use datafusion::common::Column;
    use datafusion::common::tree_node::Transformed;
    let bare = expr.transform(|expr| match expr {
        Expr::Column(column) if column.relation.is_some() => Ok(Transformed::yes(Expr::Column(
            Column::new_unqualified(column.name),
        ))),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(bare.data)
}

/// What the scan of the changed table in a plan reads; `None` if the optimizer has found that no row can be changed.
pub(crate) fn scanned_target(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<ScannedTarget>>> {
    let mut found = None;
    plan.apply(|node| {
        let scan = node.downcast_ref::<DataSourceExec>();
        let scan = scan.and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        let source = scan.and_then(|scan| scan.file_source().downcast_ref::<IcebergSource>());
        if let Some(target) = source.and_then(|source| source.target()) {
            found = Some(Arc::clone(target));
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

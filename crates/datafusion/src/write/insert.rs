//! A query and a target become one plan.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result, ScalarValue, TableReference, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{
    Cast, DmlStatement, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection, Values, WriteOp,
    lit,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::{TypeCoercion, TypeCoercionRewriter};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use drumlin_format::types::NestedField;
use drumlin_table::predicate::Predicate;
use drumlin_table::write::{WriteOptions, WriteProgress};

use super::assignment::{is_assigned, literal, stored};
use super::commit::{IcebergCommitExec, Work};
use super::files::WrittenFiles;
use super::layout::Layout;
use super::options::PartitionOverwriteMode;
use super::target::{WriteMode, WriteTarget};
use super::writers::IcebergWriteExec;
use crate::IcebergTableProvider;
use crate::error::external;
use crate::scalar::to_scalar;

/// Where the value of a column comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given {
    /// This column of the query.
    Column(usize),
    /// The same for all rows, in the type of the column.
    Constant(ScalarValue),
    /// Nowhere: its default.
    Default,
}

/// By position: each column of the table, in order, that is not given a constant.
///
/// # Errors
/// The query has another number of columns.
pub(crate) fn given_columns(
    constants: &[Option<ScalarValue>],
    columns: &[NestedField],
    found: usize,
    table: &str,
) -> Result<Vec<Given>> {
    let expected: Vec<&str> = columns
        .iter()
        .zip(constants)
        .filter(|(_, constant)| constant.is_none())
        .map(|(column, _)| column.name.as_str())
        .collect();
    if expected.len() != found {
        return plan_err!(
            "table `{table}` takes {} columns ({}), the query has {found}",
            expected.len(),
            expected.join(", ")
        );
    }
    let mut next = 0..found;
    let given = constants.iter().map(|constant| match constant {
        Some(value) => Given::Constant(value.clone()),
        None => next.next().map_or(Given::Default, Given::Column),
    });
    Ok(given.collect())
}

/// What a row that leaves the column out holds.
///
/// # Errors
/// The column must be given.
pub(crate) fn default_value(column: &NestedField, table: &str) -> Result<ScalarValue> {
    if column.required && column.write_default.is_none() {
        return plan_err!(
            "table `{table}`: column `{}` is NOT NULL and has no default: give it a value",
            column.name
        );
    }
    to_scalar(column.write_default.as_ref(), &column.field_type, true)
}

/// The plan that inserts the rows of a query.
///
/// # Errors
/// A value that may not be stored in its column; a column that must be given.
pub(crate) fn insert_plan(
    query: LogicalPlan,
    given: &[Given],
    provider: IcebergTableProvider,
    name: TableReference,
    op: InsertOp,
    config: &ConfigOptions,
) -> Result<LogicalPlan> {
    let table = provider.table().clone();
    let columns = table.schema().fields();
    // Before it, the type of a CASE is that of its first branch.
    let query = TypeCoercion::new().analyze(query, config)?;
    let mut exprs = Vec::with_capacity(columns.len());
    for (column, given) in columns.iter().zip(given) {
        let value = match given {
            Given::Column(index) => assigned(&query, *index, column, table.name(), config)?,
            Given::Constant(value) => lit(value.clone()),
            Given::Default => lit(default_value(column, table.name())?),
        };
        exprs.push(value.alias(&column.name));
    }
    let input = LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(query))?);
    Ok(LogicalPlan::Dml(DmlStatement::new(
        name,
        provider_as_source(Arc::new(provider)),
        WriteOp::Insert(op),
        Arc::new(input),
    )))
}

fn zone(config: &ConfigOptions) -> &str {
    config.execution.time_zone.as_deref().unwrap_or("+00:00")
}

/// The value of a column of a plan as one of a column of the table.
fn assigned(
    plan: &LogicalPlan,
    index: usize,
    column: &NestedField,
    table: &str,
    config: &ConfigOptions,
) -> Result<Expr> {
    let (qualifier, field) = plan.schema().qualified_field(index);
    let of_plan = Expr::Column(Column::from((qualifier, field)));
    if let LogicalPlan::Projection(projection) = plan
        && let Some(expr) = projection.expr.get(index)
        && let Expr::Literal(value, _) = without_alias(expr)
        && let Some(value) = literal(value, column, zone(config))
    {
        return Ok(lit(value));
    }
    let behind = match plan {
        LogicalPlan::Projection(projection) => projection.expr.get(index),
        _ => None,
    };
    store_now(behind, of_plan, field.data_type(), column, table)
}

/// An expression over rows as a value of a column of the table.
///
/// # Errors
/// No value of its type may be stored in the column.
pub(crate) fn assign(
    value: Expr,
    rows: &DFSchema,
    column: &NestedField,
    table: &str,
    config: &ConfigOptions,
) -> Result<Expr> {
    if let Expr::Literal(scalar, _) = without_alias(&value)
        && let Some(scalar) = literal(scalar, column, zone(config))
    {
        return Ok(lit(scalar));
    }
    let value = value.rewrite(&mut TypeCoercionRewriter::new(rows)).data()?;
    let from = value.get_type(rows)?;
    store_now(Some(&value.clone()), value, &from, column, table)
}

/// [`stored`], but of the time of the statement, which has nanoseconds, what the column has no place for is cut. `behind` is the
/// expression that gives the value.
fn store_now(
    behind: Option<&Expr>,
    value: Expr,
    from: &DataType,
    column: &NestedField,
    table: &str,
) -> Result<Expr> {
    let is_now =
        matches!(behind.map(without_alias), Some(Expr::ScalarFunction(call)) if call.func.name() == "now");
    match from {
        DataType::Timestamp(_, zone) if is_now => {
            let micros = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            stored(
                Expr::Cast(Cast::new(Box::new(value), micros.clone())),
                &micros,
                column,
                table,
            )
        }
        _ => stored(value, from, column, table),
    }
}

fn without_alias(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => without_alias(&alias.expr),
        other => other,
    }
}

/// The rows of VALUES in the types of columns: each value by itself.
///
/// # Errors
/// A value that may not be stored in its column.
pub(crate) fn store_values(
    rows: Vec<Vec<Expr>>,
    columns: &[&NestedField],
    table: &str,
    config: &ConfigOptions,
) -> Result<LogicalPlan> {
    let empty = DFSchema::empty();
    let mut stored_rows = Vec::with_capacity(rows.len());
    for row in rows {
        if row.len() != columns.len() {
            return plan_err!(
                "table `{table}`: a row of VALUES has {} values, expected {}",
                row.len(),
                columns.len()
            );
        }
        let mut stored_row = Vec::with_capacity(row.len());
        for (value, column) in row.into_iter().zip(columns) {
            stored_row.push(assign(value, &empty, column, table, config)?);
        }
        stored_rows.push(stored_row);
    }
    LogicalPlanBuilder::values(stored_rows)?.build()
}

/// The input of an INSERT that DataFusion has planned, or of `DataFrame::write_table`, with DataFusion's silent casts
/// replaced.
///
/// # Errors
/// As [`insert_plan`].
pub(crate) fn store_plan(
    input: &LogicalPlan,
    provider: &IcebergTableProvider,
    config: &ConfigOptions,
) -> Result<LogicalPlan> {
    let table = provider.table();
    let columns = table.schema().fields();
    if let LogicalPlan::Projection(projection) = input
        && projection.expr.len() == columns.len()
    {
        let named = projection
            .expr
            .iter()
            .zip(columns)
            .all(|(expr, column)| matches!(expr, Expr::Alias(alias) if alias.name == column.name));
        if named && projection.expr.iter().any(is_assigned) {
            return Ok(input.clone());
        }
        if named {
            return replaced_casts(projection, columns, table.name(), config);
        }
    }
    let found = input.schema().fields().len();
    let given = given_columns(&vec![None; columns.len()], columns, found, table.name())?;
    let mut exprs = Vec::with_capacity(columns.len());
    for (column, given) in columns.iter().zip(given) {
        if let Given::Column(index) = given {
            exprs.push(assigned(input, index, column, table.name(), config)?.alias(&column.name));
        }
    }
    Ok(LogicalPlan::Projection(Projection::try_new(
        exprs,
        Arc::new(input.clone()),
    )?))
}

/// The projection that DataFusion's planner puts on top of the query of an INSERT, with its casts replaced; also those in
/// VALUES below.
fn replaced_casts(
    projection: &Projection,
    columns: &[NestedField],
    table: &str,
    config: &ConfigOptions,
) -> Result<LogicalPlan> {
    let mut below = projection.input.as_ref().clone();
    if let LogicalPlan::Values(values) = &below {
        below = replaced_values(values, projection, columns, table, config)?;
    }
    let mut exprs = Vec::with_capacity(columns.len());
    for (expr, column) in projection.expr.iter().zip(columns) {
        let inner = match without_alias(expr) {
            Expr::Cast(Cast { expr, .. }) => expr.as_ref(),
            other => other,
        };
        let value = match inner {
            Expr::Column(inner) => {
                let index = below.schema().index_of_column(inner)?;
                assigned(&below, index, column, table, config)?
            }
            other => assign(other.clone(), below.schema(), column, table, config)?,
        };
        exprs.push(value.alias(&column.name));
    }
    Ok(LogicalPlan::Projection(Projection::try_new(
        exprs,
        Arc::new(below),
    )?))
}

fn replaced_values(
    values: &Values,
    projection: &Projection,
    columns: &[NestedField],
    table: &str,
    config: &ConfigOptions,
) -> Result<LogicalPlan> {
    // Which column of the table each column of VALUES goes to.
    let mut targets: Vec<Option<&NestedField>> = vec![None; values.schema.fields().len()];
    for (expr, column) in projection.expr.iter().zip(columns) {
        let inner = match without_alias(expr) {
            Expr::Cast(Cast { expr, .. }) => expr.as_ref(),
            other => other,
        };
        if let Expr::Column(inner) = inner
            && let Some(target) = targets.get_mut(values.schema.index_of_column(inner)?)
        {
            *target = Some(column);
        }
    }
    let Some(targets) = targets.into_iter().collect::<Option<Vec<_>>>() else {
        return Ok(LogicalPlan::Values(values.clone()));
    };
    // Parameters have no type yet but that of the cast.
    let has_parameters = values.values.iter().flatten().any(|value| {
        value
            .exists(|part| Ok(matches!(part, Expr::Placeholder(_))))
            .unwrap_or(true)
    });
    if has_parameters {
        return Ok(LogicalPlan::Values(values.clone()));
    }
    let uncast = |expr: &Expr| match expr {
        Expr::Cast(Cast { expr, .. }) => expr.as_ref().clone(),
        other => other.clone(),
    };
    let rows = values.values.iter().map(|row| row.iter().map(uncast).collect());
    store_values(rows.collect(), &targets, table, config)
}

/// The physical plan that writes the rows of `input` and commits them.
///
/// # Errors
/// Rows of other types than the table has; a property of the table that cannot be followed.
pub(crate) fn insert_exec(
    session: &dyn Session,
    provider: &IcebergTableProvider,
    target: &WriteTarget,
    input: Arc<dyn ExecutionPlan>,
    op: InsertOp,
) -> Result<Arc<dyn ExecutionPlan>> {
    let table = provider.table();
    let mode = match (op, &target.mode) {
        (InsertOp::Append, None) => WriteMode::Append,
        (InsertOp::Append | InsertOp::Overwrite, Some(mode)) => mode.clone(),
        (InsertOp::Overwrite, None) => match PartitionOverwriteMode::of(session.config_options())? {
            PartitionOverwriteMode::Static => WriteMode::OverwriteRows(Predicate::AlwaysTrue),
            PartitionOverwriteMode::Dynamic => WriteMode::OverwritePartitions,
        },
        (InsertOp::Replace, _) => {
            return plan_err!(
                "REPLACE INTO {}: Iceberg tables have no keys to replace rows by",
                table.name()
            );
        }
    };
    let schema = provider.table_schema();
    let found = input.schema();
    let same = found.fields().len() == schema.fields().len();
    for (found, wanted) in found.fields().iter().zip(schema.fields()) {
        if !same || !found.data_type().equals_datatype(wanted.data_type()) {
            return plan_err!(
                "table `{}`: column `{}` is of type {}, the rows have {}; install the session extension \
                 (with_iceberg), which casts them",
                table.name(),
                wanted.name(),
                wanted.data_type(),
                found.data_type()
            );
        }
    }
    let options = WriteOptions::of(table.metadata()).map_err(external)?;
    let layout = Layout::of(table, options.distribution_mode())?;
    let files = Arc::new(WrittenFiles::new(table.storage().clone()));
    let write = IcebergWriteExec::new(input, table.clone(), options, layout, Arc::clone(&files));
    let write = match session.config().get_extension::<WriteProgress>() {
        Some(progress) => write.with_progress(progress),
        None => write,
    };
    let one = CoalescePartitionsExec::new(Arc::new(write));
    Ok(Arc::new(IcebergCommitExec::new(
        Arc::new(one),
        table.clone(),
        target.clone(),
        Work::Insert(mode),
        files,
    )))
}

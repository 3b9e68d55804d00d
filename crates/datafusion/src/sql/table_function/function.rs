//! `iceberg_scan('location')` for `SessionContext::sql`.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{DFSchema, plan_err};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::sql::sqlparser::ast::{FunctionArg, FunctionArgExpr};
use drumlin_table::Table;

use super::{NAME, referenced};
use crate::IcebergTableProvider;
use crate::catalog::wait_for;
use crate::error::external;
use crate::session::storage_of;
use crate::sql::relation_planner::Referenced;

/// Opens the table at a location while the caller waits.
#[derive(Debug)]
pub(in crate::sql) struct IcebergScanFunction;

impl TableFunctionImpl for IcebergScanFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let location = match args.exprs() {
            [Expr::Literal(value, _)] => value.try_as_str().flatten(),
            _ => None,
        };
        let Some(location) = location else {
            return plan_err!(
                "{NAME} takes the location of a table in quotes; options are understood by drumlin_datafusion::sql"
            );
        };
        let storage = storage_of(args.session().config());
        let table = wait_for(async { Table::open(&storage, location).await.map_err(external) })?;
        Ok(Arc::new(IcebergTableProvider::try_new(table)?))
    }
}

/// Plans a call outside of `drumlin_datafusion::sql`. DataFusion's planner gives all calls one name, and takes scans of
/// one name for one.
pub(in crate::sql) fn call_function(
    args: &[FunctionArg],
    context: &mut dyn RelationPlannerContext,
) -> Result<Referenced> {
    let mut exprs = vec![];
    for arg in args {
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg else {
            return plan_err!("{NAME}: options are understood by drumlin_datafusion::sql only");
        };
        exprs.push(context.sql_to_expr(expr.clone(), &DFSchema::empty())?);
    }
    let source = context
        .context_provider()
        .get_table_function_source(NAME, exprs)?;
    let provider = source_as_provider(&source)?;
    let name = match provider.downcast_ref::<IcebergTableProvider>().map(|p| p.table()) {
        Some(table) => match table.snapshot() {
            Some(snapshot) => format!(
                "{NAME}('{}') AS OF snapshot {}",
                table.name(),
                snapshot.snapshot_id
            ),
            None => format!("{NAME}('{}')", table.name()),
        },
        None => NAME.to_string(),
    };
    Ok(referenced(name, provider))
}

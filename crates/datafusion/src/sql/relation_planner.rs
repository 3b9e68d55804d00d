//! Plans table references that carry a version. DataFusion's own planner drops the version and reads the current rows.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{DFSchema, TableReference, plan_datafusion_err, plan_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::TableFactor;

use super::clause::{Requested, requested};
use super::timestamp;
use super::version::{TableVersion, as_versioned};

/// Claims every table reference with a version: Iceberg tables are pinned at it, all others are refused.
#[derive(Debug, Default)]
pub struct TimeTravelPlanner;

impl RelationPlanner for TimeTravelPlanner {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        match relation {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version: Some(version),
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                if args.is_some() {
                    return plan_err!("time travel needs a table name; {name}(…) is a table function");
                }
                if !with_hints.is_empty()
                    || with_ordinality
                    || !partitions.is_empty()
                    || json_path.is_some()
                    || sample.is_some()
                    || !index_hints.is_empty()
                {
                    return plan_err!(
                        "{name}: hints, WITH ORDINALITY, PARTITION, JSON paths and samples cannot be combined with time travel"
                    );
                }
                let (version, selector) = requested(&version)?;
                let reference = context.object_name_to_table_reference(name)?;
                let version = match version {
                    Requested::Version(version) => version,
                    // Only for syntax trees that did not come through `sql`, which computes instants once a statement.
                    Requested::Timestamp(expr) => {
                        let expr = context.sql_to_expr(*expr, &DFSchema::empty())?;
                        let options = Arc::new(context.context_provider().options().clone());
                        let context = SimplifyContext::builder()
                            .with_config_options(options)
                            .with_current_time()
                            .build();
                        TableVersion::TimestampMs(timestamp::milliseconds(expr, context)?)
                    }
                };
                let source = context
                    .context_provider()
                    .get_table_source(reference.clone())
                    .map_err(|error| {
                        if selector {
                            selector_not_found(&reference, &version)
                        } else {
                            error
                        }
                    })?;
                let provider = source_as_provider(&source).map_err(|_| not_iceberg(&reference))?;
                let table = as_versioned(provider.as_ref()).ok_or_else(|| not_iceberg(&reference))?;
                let pinned = table.at_version(&version)?;
                let plan = scan(reference, &version, pinned)?;
                Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
                    plan, alias,
                ))))
            }
            other => Ok(RelationPlanning::Original(Box::new(other))),
        }
    }
}

/// A scan of `pinned` that is seen under the table's plain name.
///
/// The scan itself carries the version in its name: DataFusion compares scans by name and columns only, and would take
/// the same expression over two versions of a table (say, two scalar subqueries) for one and the same.
fn scan(
    reference: TableReference,
    version: &TableVersion,
    pinned: Arc<dyn TableProvider>,
) -> Result<LogicalPlan> {
    let table = format!("{} AS OF {version}", reference.table());
    let versioned = match &reference {
        TableReference::Bare { .. } => TableReference::bare(table),
        TableReference::Partial { schema, .. } => TableReference::partial(schema.as_ref(), table),
        TableReference::Full { catalog, schema, .. } => {
            TableReference::full(catalog.as_ref(), schema.as_ref(), table)
        }
    };
    LogicalPlanBuilder::scan(versioned, provider_as_source(pinned), None)?
        .alias(reference)?
        .build()
}

fn not_iceberg(reference: &TableReference) -> DataFusionError {
    plan_datafusion_err!("time travel is only possible on Iceberg tables; `{reference}` is not one")
}

fn selector_not_found(reference: &TableReference, version: &TableVersion) -> DataFusionError {
    let selector = match version {
        TableVersion::Branch(name) => format!("branch_{name}"),
        TableVersion::Tag(name) | TableVersion::Reference(name) => format!("tag_{name}"),
        TableVersion::Snapshot(id) => format!("snapshot_id_{id}"),
        TableVersion::TimestampMs(ms) => format!("at_timestamp_{ms}"),
    };
    plan_datafusion_err!(
        "table '{reference}.{selector}' not found, and no table '{reference}' to select {version} of"
    )
}

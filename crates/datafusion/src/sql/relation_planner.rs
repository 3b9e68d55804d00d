//! Plans table references that carry a version. DataFusion's own planner drops the version and reads the current rows.

use std::collections::{BTreeMap, BTreeSet};
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
use datafusion::sql::sqlparser::ast::{ObjectName, TableFactor};

use super::clause::{Requested, requested};
use super::table_function::{self, call_function};
use super::timestamp;
use super::version::{TableVersion, as_versioned};
use crate::IcebergTableProvider;

/// Claims every table reference with a version: Iceberg tables are pinned at it, all others are refused. Calls of
/// `iceberg_scan` are claimed, too, so that each is planned under a name of its own.
#[derive(Debug, Default)]
pub struct TimeTravelPlanner;

impl RelationPlanner for TimeTravelPlanner {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let (table, alias) = match &relation {
            TableFactor::Table {
                alias,
                version: Some(_),
                ..
            } => (referenced(&relation, context)?, alias),
            TableFactor::Table { alias, .. } | TableFactor::Function { alias, .. } => {
                match table_function::call(&relation) {
                    Some((name, args)) => {
                        refuse_modifiers(name, &relation, "a table function")?;
                        (Some(call_function(args, context)?), alias)
                    }
                    None => (None, alias),
                }
            }
            _ => (None, &None),
        };
        Ok(match table {
            Some(table) => {
                let (plan, _) = table.scan(&BTreeSet::new())?;
                RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias.clone())))
            }
            None => RelationPlanning::Original(Box::new(relation)),
        })
    }
}

/// An Iceberg table as a FROM clause refers to it.
#[derive(Debug, Clone)]
pub(super) struct Referenced {
    /// What its columns are qualified with unless it has an alias.
    pub(super) reference: TableReference,
    /// The name of the scan, if it has to be another.
    ///
    /// DataFusion compares scans by name and columns only, and would take the same expression over two versions of a
    /// table (say, two scalar subqueries) for one and the same.
    pub(super) scan: Option<TableReference>,
    /// The table, pinned at its version.
    pub(super) provider: Arc<dyn TableProvider>,
}

/// The Iceberg table that `factor` means, pinned at the version it asks for. `None`: it asks for none, and is no
/// Iceberg table.
///
/// # Errors
/// A version of what is no Iceberg table, or combined with what cannot be planned here; a version that does not exist.
pub(super) fn referenced(
    factor: &TableFactor,
    context: &mut dyn RelationPlannerContext,
) -> Result<Option<Referenced>> {
    let TableFactor::Table {
        name, args, version, ..
    } = factor
    else {
        return Ok(None);
    };
    let with_version = version.is_some();
    let reference = context.object_name_to_table_reference(name.clone())?;
    let (version, selector) = match version {
        Some(_) if args.is_some() => {
            return plan_err!("time travel needs a table name; {name}(…) is a table function");
        }
        Some(version) => {
            let (requested, selector) = requested(version)?;
            (Some(resolved(requested, context)?), selector)
        }
        None => (None, false),
    };
    let source = match context.context_provider().get_table_source(reference.clone()) {
        Ok(source) => source,
        Err(error) => {
            return match &version {
                Some(version) if selector => Err(selector_not_found(&reference, version)),
                Some(_) => Err(error),
                None => Ok(None),
            };
        }
    };
    let provider = source_as_provider(&source).ok();
    let Some((provider, table)) = provider
        .as_ref()
        .and_then(|p| Some((p, as_versioned(p.as_ref())?)))
    else {
        return if with_version {
            Err(not_iceberg(&reference))
        } else {
            Ok(None)
        };
    };
    let what = if with_version {
        "time travel"
    } else {
        "metadata columns"
    };
    refuse_modifiers(name, factor, what)?;
    Ok(Some(match version {
        Some(version) => Referenced {
            provider: table.at_version(&version)?,
            scan: Some(renamed(
                &reference,
                format!("{} AS OF {version}", reference.table()),
            )),
            reference,
        },
        None => Referenced {
            provider: Arc::clone(provider),
            scan: None,
            reference,
        },
    }))
}

/// Refuses what would be ignored when a table is planned here.
pub(super) fn refuse_modifiers(name: &ObjectName, factor: &TableFactor, what: &str) -> Result<()> {
    let any = match factor {
        TableFactor::Table {
            with_hints,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
            ..
        } => {
            !with_hints.is_empty()
                || *with_ordinality
                || !partitions.is_empty()
                || json_path.is_some()
                || sample.is_some()
                || !index_hints.is_empty()
        }
        TableFactor::Function { with_ordinality, .. } => *with_ordinality,
        _ => false,
    };
    if any {
        return plan_err!(
            "{name}: hints, WITH ORDINALITY, PARTITION, JSON paths and samples cannot be combined with {what}"
        );
    }
    Ok(())
}

fn resolved(requested: Requested, context: &mut dyn RelationPlannerContext) -> Result<TableVersion> {
    match requested {
        Requested::Version(version) => Ok(version),
        // Only for syntax trees that did not come through `sql`, which computes instants once a statement.
        Requested::Timestamp(expr) => {
            let expr = context.sql_to_expr(*expr, &DFSchema::empty())?;
            let options = Arc::new(context.context_provider().options().clone());
            let context = SimplifyContext::builder()
                .with_config_options(options)
                .with_current_time()
                .build();
            Ok(TableVersion::TimestampMs(timestamp::milliseconds(expr, context)?))
        }
    }
}

/// The same catalog and schema with another table.
fn renamed(reference: &TableReference, table: String) -> TableReference {
    match reference {
        TableReference::Bare { .. } => TableReference::bare(table),
        TableReference::Partial { schema, .. } => TableReference::partial(schema.as_ref(), table),
        TableReference::Full { catalog, schema, .. } => {
            TableReference::full(catalog.as_ref(), schema.as_ref(), table)
        }
    }
}

impl Referenced {
    /// A scan that is seen under the name of the table. It has the columns of the table, and of `metadata_columns`
    /// those that the table has and that none of its own columns hides; the second value tells which these are, in order.
    pub(super) fn scan(&self, metadata_columns: &BTreeSet<String>) -> Result<(LogicalPlan, Vec<String>)> {
        let own = self.provider.schema();
        let all = match as_versioned(self.provider.as_ref()) {
            Some(table) if !metadata_columns.is_empty() => table.with_metadata_columns()?,
            _ => Arc::clone(&self.provider),
        };
        let schema = all.schema();
        let shown: BTreeMap<usize, String> = schema
            .fields()
            .iter()
            .enumerate()
            .skip(own.fields().len())
            .filter(|(_, field)| metadata_columns.contains(field.name()))
            .map(|(i, field)| (i, field.name().clone()))
            .collect();
        let (provider, projection) = if shown.is_empty() {
            (Arc::clone(&self.provider), None)
        } else {
            let columns = (0..own.fields().len()).chain(shown.keys().copied());
            (all, Some(columns.collect()))
        };
        let name = self.scan.as_ref().unwrap_or(&self.reference);
        let mut plan = LogicalPlanBuilder::scan(name.clone(), provider_as_source(provider), projection)?;
        if self.scan.is_some() {
            plan = plan.alias(self.reference.clone())?;
        }
        Ok((plan.build()?, shown.into_values().collect()))
    }
}

impl Referenced {
    /// A scan whose rows are to be changed: [`scan`](Self::scan) with the places of rows besides.
    pub(super) fn scan_of_changes(
        &self,
        metadata_columns: &BTreeSet<String>,
    ) -> Result<(LogicalPlan, Vec<String>)> {
        let Some(table) = self.provider.downcast_ref::<IcebergTableProvider>() else {
            return plan_err!("`{}` is no Iceberg table", self.reference);
        };
        let own = table.schema().fields().len();
        let all = table.with_metadata_columns();
        let shown: BTreeMap<usize, String> = (all.schema().fields().iter().enumerate().skip(own))
            .filter(|(_, field)| metadata_columns.contains(field.name()))
            .map(|(i, field)| (i, field.name().clone()))
            .collect();
        let places = all.schema().fields().len();
        let all = all.changing_rows()?;
        let columns = (0..own)
            .chain(shown.keys().copied())
            .chain(places..all.schema().fields().len());
        let source = provider_as_source(Arc::new(all.clone()));
        let plan = LogicalPlanBuilder::scan(self.reference.clone(), source, Some(columns.collect()))?;
        Ok((plan.build()?, shown.into_values().collect()))
    }
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

//! The table that a statement writes to.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::{TableReference, plan_err};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::ObjectName;
use drumlin_format::snapshot::{MAIN_BRANCH, RefKind};
use drumlin_table::{Table, TableVersion};

use super::clause::selector;
use crate::IcebergTableProvider;

/// An Iceberg table, and the branch that is written to.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) provider: IcebergTableProvider,
    /// Its name, without that of the branch.
    pub(super) name: ObjectName,
    pub(super) reference: TableReference,
}

impl Target {
    /// The table of this name, or its branch for `t.branch_x` where no table has the full name; `None` if it is no Iceberg
    /// table.
    ///
    /// # Errors
    /// A branch that is not there; a tag or snapshot; a table that is only read.
    pub(super) async fn find(verb: &str, name: &ObjectName, state: &SessionState) -> Result<Option<Self>> {
        let mut name = name.clone();
        let mut version = None;
        let mut provider = load(&name, state).await?;
        if provider.is_none()
            && let Some(selected) = last(&name).and_then(|last| selector(&last))
            && name.0.len() > 1
        {
            name.0.pop();
            provider = load(&name, state).await?;
            version = Some(selected);
        }
        let Some(provider) = provider.as_deref().and_then(provider_of) else {
            return Ok(None);
        };
        let branch = match version {
            None => None,
            Some(TableVersion::Branch(branch)) => Some(branch),
            Some(other) => {
                return plan_err!("{verb} {name}: {other} cannot be written to, only branches can");
            }
        };
        let provider = match branch {
            Some(branch) => {
                check_branch(&branch, provider.table())?;
                provider.on_branch(branch)?
            }
            None => provider.clone(),
        };
        if let Some(why) = provider.why_read_only() {
            return plan_err!("{verb} {name}: {why}");
        }
        let normalize = state.config_options().sql_parser.enable_ident_normalization;
        let reference = object_name_to_table_reference(name.clone(), normalize)?;
        Ok(Some(Self {
            provider,
            name,
            reference,
        }))
    }
}

/// The Iceberg table behind a provider.
pub(crate) fn provider_of(provider: &dyn TableProvider) -> Option<&IcebergTableProvider> {
    provider.downcast_ref::<IcebergTableProvider>()
}

fn last(name: &ObjectName) -> Option<String> {
    Some(name.0.last()?.as_ident()?.value.clone())
}

async fn load(name: &ObjectName, state: &SessionState) -> Result<Option<Arc<dyn TableProvider>>> {
    if name.0.len() > 3 {
        return Ok(None);
    }
    let normalize = state.config_options().sql_parser.enable_ident_normalization;
    let reference = object_name_to_table_reference(name.clone(), normalize)?;
    let table = reference.table().to_string();
    match state.schema_for_ref(reference) {
        Ok(schema) => schema.table(&table).await,
        Err(_) => Ok(None),
    }
}

fn check_branch(branch: &str, table: &Table) -> Result<()> {
    let refs = table.metadata().refs();
    match refs.get(branch).map(|snapshot_ref| snapshot_ref.kind) {
        Some(RefKind::Branch { .. }) => Ok(()),
        None if branch == MAIN_BRANCH => Ok(()),
        Some(RefKind::Tag) => plan_err!(
            "table `{}`: `{branch}` is a tag, which stays where it is; branches can be written to",
            table.name()
        ),
        None => {
            let branches = refs
                .iter()
                .filter(|(_, of)| matches!(of.kind, RefKind::Branch { .. }))
                .map(|(name, _)| name.as_str());
            let branches: Vec<&str> = branches.collect();
            plan_err!(
                "table `{}` has no branch `{branch}`; its branches are: {}",
                table.name(),
                branches.join(", ")
            )
        }
    }
}

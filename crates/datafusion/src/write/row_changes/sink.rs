//! Where the plan of a statement that changes rows ends.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use drumlin_table::row_changes::RowChangeProperties;
use drumlin_table::write::{WriteOptions, WriteProgress};

use super::columns::ChangeColumns;
use super::commit::ChangeCommit;
use super::scan::scanned_target;
use crate::IcebergTableProvider;
use crate::error::external;
use crate::table_provider::READ_ONLY;
use crate::write::commit::{IcebergCommitExec, Work};
use crate::write::files::WrittenFiles;
use crate::write::layout::Layout;
use crate::write::writers::IcebergWriteExec;

/// Takes changed rows, in the [`ChangeColumns`]: to DataFusion's planner a table that they are inserted into, since that is
/// the one hook which hands over a plan.
#[derive(Debug)]
pub(crate) struct ChangeSink {
    pub(crate) provider: IcebergTableProvider,
    pub(crate) schema: SchemaRef,
    pub(crate) columns: ChangeColumns,
    pub(crate) properties: RowChangeProperties,
    /// Whether the statement reads the table elsewhere, too.
    pub(crate) reads_elsewhere: bool,
    pub(crate) key: Vec<String>,
}

#[async_trait]
impl TableProvider for ChangeSink {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan_err!("changes of rows cannot be read")
    }

    async fn insert_into(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = self.provider.table();
        let Some(target) = self.provider.write_target() else {
            return plan_err!("{} {}: {READ_ONLY}", self.properties.statement, table.name());
        };
        let mut options = WriteOptions::of(table.metadata()).map_err(external)?;
        if self.columns.row_id {
            options = options.with_row_lineage();
        }
        let layout = match self.columns.table_columns {
            0 => Layout::none(),
            _ => {
                let mode = self.properties.distribution_mode;
                Layout::of(table, mode.or(options.distribution_mode()))?
            }
        };
        let commit = ChangeCommit {
            properties: self.properties,
            columns: self.columns,
            scanned: scanned_target(&input)?,
            reads_elsewhere: self.reads_elsewhere,
            table_columns: Arc::clone(self.provider.columns()),
            key: self.key.clone(),
        };
        let files = Arc::new(WrittenFiles::new(table.storage().clone()));
        let progress = session
            .config()
            .get_extension::<WriteProgress>()
            .unwrap_or_default();
        let write = IcebergWriteExec::new(input, table.clone(), options, layout, Arc::clone(&files))
            .with_progress(progress)
            .with_changes(self.columns);
        let one = CoalescePartitionsExec::new(Arc::new(write));
        Ok(Arc::new(IcebergCommitExec::new(
            Arc::new(one),
            table.clone(),
            target.clone(),
            Work::Changes(Arc::new(commit)),
            files,
        )))
    }
}

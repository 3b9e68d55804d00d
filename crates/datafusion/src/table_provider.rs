//! A pinned table as DataFusion sees it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{FieldRef, Fields, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, not_impl_err, plan_datafusion_err};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use drumlin_table::arrow::schema_to_arrow;
use drumlin_table::{Table, TableVersion};

use crate::error::external;
use crate::filter::to_predicate;
use crate::metadata_columns::metadata_columns;
use crate::projection::adapter::TableColumns;
use crate::scan::builder::ScanBuilder;
use crate::write::WriteTarget;

/// A schema with a mark in its metadata, so that the columns of a table are never equal to the schema of a data file:
/// there DataFusion would leave out what makes the columns of the table from those of the file.
pub(crate) fn marked(fields: impl Into<Fields>) -> Schema {
    let mark = ("iceberg.columns-of".to_string(), "table".to_string());
    Schema::new_with_metadata(fields, [mark].into())
}

/// An Iceberg table, pinned at one snapshot, for DataFusion to query.
///
/// The schema is that of the pinned [`Table`]; [`with_metadata_columns`](Self::with_metadata_columns) adds `_file`,
/// `_pos` and the others.
#[derive(Debug, Clone)]
pub struct IcebergTableProvider {
    table: Table,
    schema: SchemaRef,
    columns: Arc<TableColumns>,
    metadata_columns: bool,
    target: Option<WriteTarget>,
}

impl IcebergTableProvider {
    /// A provider of the table at the snapshot it is pinned at.
    ///
    /// # Errors
    /// The name mapping of the table cannot be read, or a default value has a type that is not supported.
    pub fn try_new(table: Table) -> Result<Self> {
        let columns = TableColumns::of(&table)?;
        Ok(Self {
            schema: Arc::new(marked(schema_to_arrow(table.schema()).fields)),
            columns: Arc::new(columns),
            table,
            metadata_columns: false,
            target: None,
        })
    }

    /// The same, which may be written to.
    #[must_use]
    pub fn with_write_target(self, target: WriteTarget) -> Self {
        Self {
            target: Some(target),
            ..self
        }
    }

    /// The same with the metadata columns in its schema, behind the table's own. A column of the table hides the
    /// metadata column of its name.
    #[must_use]
    pub fn with_metadata_columns(&self) -> Self {
        let mut fields: Vec<FieldRef> = schema_to_arrow(self.table.schema())
            .fields()
            .iter()
            .cloned()
            .collect();
        for column in metadata_columns(&self.table) {
            if !fields.iter().any(|f| f.name() == column.name()) {
                fields.push(column);
            }
        }
        Self {
            schema: Arc::new(marked(fields)),
            metadata_columns: true,
            ..self.clone()
        }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The table at another version, read from the metadata that is already here.
    pub fn at_version(&self, version: &TableVersion) -> Result<Self> {
        let pinned = Self::try_new(self.table.at_version(version).map_err(external)?)?;
        Ok(if self.metadata_columns {
            pinned.with_metadata_columns()
        } else {
            pinned
        })
    }
}

#[async_trait]
impl TableProvider for IcebergTableProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // All of them help to prune, none of them is applied to each row by the scan for sure.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let fields = self.schema.fields();
        let projection = match projection {
            None => fields.iter().cloned().collect(),
            Some(indices) => indices
                .iter()
                .map(|i| {
                    let field = fields.get(*i).cloned();
                    field.ok_or_else(|| {
                        plan_datafusion_err!("table `{}` has no column {i}", self.table.name())
                    })
                })
                .collect::<Result<Vec<_>>>()?,
        };
        let predicate = to_predicate(filters, self.table.schema());
        let plan = self.table.plan_scan(&predicate).await.map_err(external)?;
        let builder = ScanBuilder {
            session,
            table: &self.table,
            columns: &self.columns,
            projection,
            // Rows that a filter takes away must not count.
            limit: limit.filter(|_| filters.is_empty()),
        };
        builder.build(plan)
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        not_impl_err!(
            "writing to Iceberg tables: `{}` can only be read",
            self.table.name()
        )
    }
}

impl fmt::Display for IcebergTableProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.table.name())
    }
}

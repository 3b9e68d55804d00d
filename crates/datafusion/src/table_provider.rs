//! A pinned table as DataFusion sees it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{FieldRef, Fields, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchemaRef, Result, plan_datafusion_err, plan_err};
use datafusion::logical_expr::dml::{InsertOp, MergeIntoClause};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType, lit};
use datafusion::physical_plan::ExecutionPlan;
use drumlin_format::snapshot::MAIN_BRANCH;
use drumlin_table::arrow::schema_to_arrow;
use drumlin_table::{Table, TableVersion};

use crate::error::external;
use crate::filter::to_predicate;
use crate::metadata_columns::metadata_columns;
use crate::projection::adapter::TableColumns;
use crate::scalar::to_scalar;
use crate::scan::builder::ScanBuilder;
use crate::sql::merge_exec;
use crate::write::{ChangedRows, Making, WriteMode, WriteTarget, insert_exec, place_columns, truncate_exec};

/// Why tables that have no [`WriteTarget`] are only read.
pub(crate) const READ_ONLY: &str = "it is only read here: it was opened without its catalog, which alone knows the current \
                                    state, or at a version; write to the table of a catalog";

/// Why a table does not change its rows by itself.
const NO_EXTENSION: &str = "the session has no rule that plans statements which change rows: install the session extension \
                            (SessionStateBuilder::with_iceberg), or run them by iceberg_sql";

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
    /// Set where the rows of its scan are to be changed.
    changed_rows: Option<ChangedRows>,
    /// What writers store in columns that are left out, where that is not null.
    defaults: Arc<HashMap<String, Expr>>,
}

impl IcebergTableProvider {
    /// A provider of the table at the snapshot it is pinned at.
    ///
    /// # Errors
    /// The name mapping of the table cannot be read, or a default value has a type that is not supported.
    pub fn try_new(table: Table) -> Result<Self> {
        let columns = TableColumns::of(&table)?;
        let mut defaults = HashMap::new();
        for field in table.schema().fields() {
            if field.write_default.is_some() {
                let value = to_scalar(field.write_default.as_ref(), &field.field_type, true)?;
                defaults.insert(field.name.clone(), lit(value));
            }
        }
        Ok(Self {
            schema: Arc::new(marked(schema_to_arrow(table.schema()).fields)),
            columns: Arc::new(columns),
            table,
            metadata_columns: false,
            target: None,
            changed_rows: None,
            defaults: Arc::new(defaults),
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

    /// The same, whose scan is of rows that are to be changed: it tells their places in columns behind all others, and what
    /// it has read to whoever changes them.
    ///
    /// # Errors
    /// A column of the table has the name of such a column.
    pub(crate) fn changing_rows(&self) -> Result<Self> {
        let mut fields: Vec<FieldRef> = self.schema.fields().iter().cloned().collect();
        fields.extend(place_columns(&self.table)?);
        Ok(Self {
            schema: Arc::new(marked(fields)),
            changed_rows: Some(ChangedRows::default()),
            ..self.clone()
        })
    }

    /// The same table with more columns, which the commit of what is written makes.
    ///
    /// # Errors
    /// The table has such columns already; a type that is not supported.
    pub(crate) fn with_new_columns(&self, columns: &drumlin_format::schema::Schema) -> Result<Self> {
        let (table, updates) = self.table.with_new_columns(columns).map_err(external)?;
        let extended = Making::Extend(self.table.clone(), Arc::new(updates));
        Ok(Self {
            target: self.target.clone().map(|target| target.making(extended)),
            ..Self::try_new(table)?
        })
    }

    /// Which rows are changed, if any are to be.
    pub(crate) fn changed_rows(&self) -> Option<&ChangedRows> {
        self.changed_rows.as_ref()
    }

    /// The same with more known of the rows that are changed.
    pub(crate) fn with_changed_rows(&self, changed_rows: ChangedRows) -> Self {
        Self {
            changed_rows: Some(changed_rows),
            ..self.clone()
        }
    }

    /// Where it may be written to.
    pub(crate) fn write_target(&self) -> Option<&WriteTarget> {
        self.target.as_ref()
    }

    /// Defaults and name mapping.
    pub(crate) fn columns(&self) -> &Arc<TableColumns> {
        &self.columns
    }

    /// The head of a branch, which is written to.
    ///
    /// # Errors
    /// There is no such branch.
    pub(crate) fn on_branch(&self, branch: String) -> Result<Self> {
        let target = self.target.clone();
        // A branch `main` of a table without snapshots is not there yet.
        let version = TableVersion::Branch(branch.clone());
        let pinned = match self.table.snapshot().is_none() && branch == MAIN_BRANCH {
            true => self.clone(),
            false => self.at_version(&version)?,
        };
        Ok(Self {
            target: target.map(|target| target.on_branch(Some(branch))),
            ..pinned
        })
    }

    /// The same with what happens to the rows of the table when others are inserted.
    pub(crate) fn with_mode(&self, mode: Option<WriteMode>) -> Self {
        let target = self.target.clone();
        Self {
            target: target.map(|target| target.with_mode(mode)),
            ..self.clone()
        }
    }

    /// The same, into which a query is inserted that reads it.
    pub(crate) fn reading_itself(&self) -> Self {
        let mut written = self.clone();
        if let Some(target) = &mut written.target {
            target.reads_itself = true;
        }
        written
    }

    /// Why nothing can be inserted into it; `None` if rows can.
    pub(crate) fn why_read_only(&self) -> Option<&'static str> {
        match &self.target {
            None => Some(READ_ONLY),
            Some(_) if self.metadata_columns => {
                Some("its metadata columns are shown, which are not columns that could be written")
            }
            Some(_) => None,
        }
    }

    /// The columns without metadata columns.
    pub(crate) fn table_schema(&self) -> SchemaRef {
        Arc::new(schema_to_arrow(self.table.schema()))
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
        let mut plan = self.table.plan_scan(&predicate).await.map_err(external)?;
        let target = match &self.changed_rows {
            Some(rows) => Some(rows.scanned(&mut plan, &self.table, predicate, session).await?),
            None => None,
        };
        let builder = ScanBuilder {
            config: session.config(),
            runtime: session.runtime_env(),
            table: &self.table,
            columns: &self.columns,
            projection,
            // Rows that a filter takes away must not count.
            limit: limit.filter(|_| filters.is_empty()),
            target,
        };
        builder.build(plan)
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.defaults.get(column)
    }

    /// Writes the rows of `input`, which has the columns of the table in order and in their types, and commits them once.
    async fn insert_into(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (&self.target, self.why_read_only()) {
            (Some(target), None) => insert_exec(session, self, target, input, op),
            (_, why) => plan_err!("INSERT INTO {}: {}", self.table.name(), why.unwrap_or(READ_ONLY)),
        }
    }

    /// Refused: from here it cannot be told what is to be deleted. DataFusion's optimizer has moved `IN (SELECT …)` and the
    /// like to where no filter says it any more.
    async fn delete_from(&self, _: &dyn Session, _: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        plan_err!("DELETE FROM {}: {NO_EXTENSION}", self.table.name())
    }

    /// Refused, as [`delete_from`](Self::delete_from).
    async fn update(
        &self,
        _: &dyn Session,
        _: Vec<(String, Expr)>,
        _: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan_err!("UPDATE {}: {NO_EXTENSION}", self.table.name())
    }

    /// Merges the rows of a plan in one commit.
    async fn merge_into(
        &self,
        session: &dyn Session,
        source: Arc<dyn ExecutionPlan>,
        merge_schema: DFSchemaRef,
        on: Expr,
        clauses: Vec<MergeIntoClause>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match self.why_read_only() {
            None => merge_exec(session, self, source, &merge_schema, &on, &clauses).await,
            Some(why) => plan_err!("MERGE INTO {}: {why}", self.table.name()),
        }
    }

    /// Removes all rows in one commit.
    async fn truncate(&self, _: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        match (&self.target, self.why_read_only()) {
            (Some(target), None) => truncate_exec(&self.table, target).await,
            (_, why) => plan_err!("TRUNCATE {}: {}", self.table.name(), why.unwrap_or(READ_ONLY)),
        }
    }
}

impl fmt::Display for IcebergTableProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.table.name())
    }
}

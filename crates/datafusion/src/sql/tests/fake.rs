//! A table whose rows tell which version was read, and a schema that counts loads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::common::plan_err;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::sql::version::{TableVersion, VersionedTable};

/// Columns `id` 1, `v` the version that was read, and two with names that are words of clauses.
pub(crate) fn rows(label: &str) -> Arc<MemTable> {
    let text = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
        ("v", text(label)),
        ("version", text("a version")),
        ("timestamp", text("a timestamp")),
    ])
    .unwrap();
    Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap())
}

#[derive(Debug, Clone)]
pub(crate) struct FakeTable(Arc<MemTable>);

impl FakeTable {
    pub(crate) fn new(label: &str) -> Self {
        Self(rows(label))
    }
}

#[async_trait]
impl TableProvider for FakeTable {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.scan(state, projection, filters, limit).await
    }
}

impl VersionedTable for FakeTable {
    fn at_version(&self, version: &TableVersion) -> Result<Arc<dyn TableProvider>> {
        match version {
            TableVersion::Snapshot(404) => plan_err!("no snapshot 404; there are 1 and 2"),
            version => Ok(Arc::new(FakeTable::new(&version.to_string()))),
        }
    }

    fn with_metadata_columns(&self) -> Result<Arc<dyn TableProvider>> {
        Ok(Arc::new(self.clone()))
    }
}

/// A schema with Iceberg tables `t`, `u` and one with the odd name `branch_real`, each loaded anew every time and
/// labelled with the number of the load.
#[derive(Debug, Default)]
pub(crate) struct FakeSchema {
    pub(crate) loads: AtomicUsize,
}

#[async_trait]
impl SchemaProvider for FakeSchema {
    fn table_names(&self) -> Vec<String> {
        vec!["t".into(), "u".into(), "branch_real".into()]
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !self.table_exist(name) {
            return Ok(None);
        }
        let load = self.loads.fetch_add(1, Ordering::SeqCst);
        Ok(Some(Arc::new(FakeTable::new(&format!("{name} load {load}")))))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.table_names().iter().any(|table| table == name)
    }
}

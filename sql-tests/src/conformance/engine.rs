//! Drumlin as the suites ask it: with `cases/lake.rs`, the only file of this package that knows its API.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_catalog::ObjectStoreCatalog;
use drumlin_datafusion::IcebergTableProvider;
use drumlin_datafusion::catalog::IcebergCatalogProvider;
use drumlin_datafusion::projection::adapter::FileColumns;
use drumlin_datafusion::sql::{IcebergContextExt, IcebergStateBuilderExt};
use drumlin_table::catalog::Catalog;
use drumlin_table::storage::{Storage, StoreOptions};
use drumlin_table::{OpenOptions, Table, TableVersion};
use object_store::local::LocalFileSystem;

use super::manifest::{Case, Manifest, Plan, Scan};

/// The bucket that all paths of the suite's tables name.
const BUCKET: &str = "s3://conformance";

/// Hidden columns that queries of the suite name.
const HIDDEN: [&str; 2] = ["_row_id", "_last_updated_sequence_number"];

/// What the bucket `conformance` is in the paths of scans.
const ROUTED: &str = "s3/conformance/";

/// Why a question was not answered.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Drumlin cannot do this yet. Never counts as the error that a case expects.
    #[error("not there yet: {0}")]
    Missing(String),
    /// Opening the table failed.
    #[error("opening {what}: {source}")]
    Open {
        /// The metadata file or folder.
        what: String,
        /// What Drumlin says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Planning or running the query failed.
    #[error(transparent)]
    Query(#[from] DataFusionError),
}

/// Drumlin over the bucket `conformance`.
#[derive(Debug, Clone)]
pub struct Engine {
    storage: Storage,
    /// The folder above the bucket, as a warehouse: its namespace `tables` holds the suite's tables.
    warehouse: String,
}

impl Engine {
    /// The engine whose bucket `conformance` is the folder of tables of a suite.
    pub fn new(manifest: &Manifest) -> Result<Self, EngineError> {
        let bucket = manifest.bucket();
        let open = |source: Box<dyn std::error::Error + Send + Sync>| EngineError::Open {
            what: bucket.display().to_string(),
            source,
        };
        let store = LocalFileSystem::new_with_prefix(&bucket).map_err(|error| open(error.into()))?;
        let storage = Storage::new(StoreOptions::default());
        storage
            .register(BUCKET, Arc::new(store))
            .map_err(|error| open(error.into()))?;
        Ok(Self {
            storage,
            warehouse: manifest.root.display().to_string(),
        })
    }

    /// A fresh session that finds `s3://conformance/` and takes the full syntax. The suite's tables are there as
    /// `warehouse.tables.<name>` too.
    ///
    /// String literals compared with `timestamptz` columns carry their offset, so the time zone of the session is UTC.
    pub fn session(&self) -> Result<SessionContext, EngineError> {
        let config = SessionConfig::new()
            .with_information_schema(true)
            .set_str("datafusion.execution.time_zone", "+00:00");
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_default_features()
            .with_iceberg_storage(self.storage.clone())
            .build();
        let context = SessionContext::new_with_state(state);
        // The suite's tables were written under a catalog that is not here, and have no version hints.
        let guess = OpenOptions {
            guess_newest_metadata: true,
        };
        let warehouse =
            ObjectStoreCatalog::new(self.storage.clone(), &self.warehouse).with_open_options(guess);
        context.register_catalog(
            "warehouse",
            Arc::new(IcebergCatalogProvider::new(Arc::new(warehouse))),
        );
        Ok(context)
    }

    /// The same with a catalog `lake`.
    pub fn session_with(&self, lake: Arc<dyn Catalog>) -> Result<SessionContext, EngineError> {
        let context = self.session()?;
        context.register_catalog("lake", Arc::new(IcebergCatalogProvider::new(lake)));
        Ok(context)
    }

    /// Where its sessions find files.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Runs one SQL statement of the full syntax.
    pub async fn sql(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>, EngineError> {
        Ok(context.iceberg_sql(sql).await?.collect().await?)
    }

    /// Answers a case.
    pub async fn run(&self, case: &Case, sql: &str) -> Result<Vec<RecordBatch>, EngineError> {
        let context = self.session()?;
        self.open(&context, &case.metadata, &case.scan, sql).await?;
        Self::sql(&context, sql).await
    }

    /// Answers a case by plain DataFusion, which knows of Iceberg no more than this table.
    pub async fn run_plain(&self, case: &Case, sql: &str) -> Result<Vec<RecordBatch>, EngineError> {
        let utc = SessionConfig::new().set_str("datafusion.execution.time_zone", "+00:00");
        let context = SessionContext::new_with_config(utc);
        self.open(&context, &case.metadata, &case.scan, sql).await?;
        Ok(context.sql(sql).await?.collect().await?)
    }

    /// What the scan of a pruning check reads.
    pub async fn planned_files(&self, plan: &Plan) -> Result<Planned, EngineError> {
        let query = format!("SELECT * FROM t WHERE {}", plan.predicate);
        let context = self.session()?;
        self.open(&context, &plan.metadata, &plan.scan, &query).await?;
        let physical = context.iceberg_sql(&query).await?.create_physical_plan().await?;
        let mut planned = Planned::default();
        planned.add(&physical);
        Ok(planned)
    }

    /// Registers the scan of a table as `t`. The hidden columns are there only where `sql` names one.
    async fn open(
        &self,
        context: &SessionContext,
        metadata: &str,
        scan: &Scan,
        sql: &str,
    ) -> Result<(), EngineError> {
        let version = match scan {
            Scan::Current => None,
            Scan::Snapshot(id) => Some(TableVersion::Snapshot(*id)),
            Scan::Tag(name) => Some(TableVersion::Tag(name.clone())),
            Scan::Branch(name) => Some(TableVersion::Branch(name.clone())),
            Scan::Timestamp(milliseconds) => Some(TableVersion::TimestampMs(*milliseconds)),
            Scan::MetadataTable(_) | Scan::AppendBetween(..) | Scan::Changelog(..) => {
                return Err(EngineError::Missing(format!("scan {scan:?}")));
            }
        };
        let location = format!("{BUCKET}/{metadata}");
        let open = |error: drumlin_table::Error| EngineError::Open {
            what: location.clone(),
            source: error.into(),
        };
        let mut table = Table::open(&self.storage, &location).await.map_err(open)?;
        if let Some(version) = version {
            table = table.at_version(&version).map_err(open)?;
        }
        let mut provider = IcebergTableProvider::try_new(table)?;
        if HIDDEN.iter().any(|column| sql.contains(column)) {
            provider = provider.with_metadata_columns();
        }
        context.register_table("t", Arc::new(provider))?;
        Ok(())
    }
}

/// What a scan reads.
#[derive(Debug, Default)]
pub struct Planned {
    /// Keys of its data files; one that is split by byte ranges counts once.
    pub files: BTreeSet<String>,
    /// Locations of the delete files that apply to them. Deletion vectors share files.
    pub delete_files: BTreeSet<String>,
}

impl Planned {
    /// Adds the files of every file scan of a plan.
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        let config = plan
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        let groups = config.map(|config| config.file_groups.as_slice());
        for file in groups.unwrap_or_default().iter().flat_map(|group| group.iter()) {
            let path = file.object_meta.location.as_ref();
            self.files
                .insert(path.strip_prefix(ROUTED).unwrap_or(path).to_owned());
            let columns = file.extension::<Arc<FileColumns>>();
            let Some(deletes) = columns.and_then(|columns| columns.deletes.as_ref()) else {
                continue;
            };
            let keys = deletes.equality_deletes().iter().flat_map(|group| group.files());
            let all = deletes.deletion_vector().into_iter();
            for delete in all.chain(deletes.position_deletes()).chain(keys) {
                self.delete_files.insert(delete.data_file().file_path.to_string());
            }
        }
        for child in plan.children() {
            self.add(child);
        }
    }
}

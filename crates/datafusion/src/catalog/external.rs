//! `CREATE EXTERNAL TABLE … STORED AS ICEBERG`.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::CreateExternalTable;
use drumlin_table::storage::Storage;
use drumlin_table::{OpenOptions, Table, TableVersion};

use crate::IcebergTableProvider;
use crate::error::external;

/// DataFusion puts this in front of option names without a dot.
const FORMAT_PREFIX: &str = "format.";

/// Makes tables of `CREATE EXTERNAL TABLE t STORED AS ICEBERG LOCATION '…' [OPTIONS (…)]`.
///
/// The location is that of a table or of one of its metadata files. The table stays at the snapshot that is current
/// when it is created here, or at the one that an option names:
///
/// | option | meaning |
/// |---|---|
/// | `snapshot_id` | the snapshot with this id |
/// | `branch`, `tag`, `ref` | a branch, a tag, either of both |
/// | `timestamp_ms` | the snapshot that was current at this time, in ms since 1970-01-01T00:00 UTC |
/// | `metadata_columns` | `true`: `_file`, `_pos` and the others are among the columns |
/// | `guess_newest_metadata` | `true`: see [`OpenOptions::guess_newest_metadata`] |
/// | names with a dot: `s3.endpoint`, … | options of the store, see [`drumlin_table::storage::StoreOptions`] |
#[derive(Debug, Clone)]
pub struct IcebergTableFactory {
    storage: Storage,
}

impl IcebergTableFactory {
    /// What stands behind `STORED AS`.
    pub const FILE_TYPE: &str = "ICEBERG";

    /// A factory whose tables are read from this storage, unless their options name a store of their own.
    pub fn new(storage: Storage) -> Self {
        Self { storage }
    }
}

/// The options of a statement, sorted out.
#[derive(Debug, Default)]
struct Options {
    open: OpenOptions,
    version: Option<TableVersion>,
    metadata_columns: bool,
    store: BTreeMap<String, String>,
}

#[async_trait]
impl TableProviderFactory for IcebergTableFactory {
    async fn create(&self, _: &dyn Session, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        if !command.schema.fields().is_empty() {
            return plan_err!(
                "{}: an Iceberg table has its own columns, leave them out",
                command.name
            );
        }
        if !command.table_partition_cols.is_empty() || !command.order_exprs.is_empty() {
            return plan_err!(
                "{}: an Iceberg table has its own partitions and order, leave them out",
                command.name
            );
        }
        let options = Options::parse(command)?;
        let storage = match options.store.is_empty() {
            true => self.storage.clone(),
            false => self.storage.with_options(options.store).map_err(external)?,
        };
        let [location] = command.locations.as_slice() else {
            return plan_err!(
                "{}: expected one location, found {}",
                command.name,
                command.locations.len()
            );
        };
        let table = Table::open_with(&storage, location, &options.open)
            .await
            .map_err(external)?;
        let mut provider = IcebergTableProvider::try_new(table.with_name(command.name.to_string()))?;
        if let Some(version) = &options.version {
            provider = provider.at_version(version)?;
        }
        if options.metadata_columns {
            provider = provider.with_metadata_columns();
        }
        Ok(Arc::new(provider))
    }
}

impl Options {
    fn parse(command: &CreateExternalTable) -> Result<Self> {
        let mut options = Self::default();
        for (key, value) in &command.options {
            let name = key.strip_prefix(FORMAT_PREFIX).unwrap_or(key);
            let wrong = |expected: &str| {
                plan_err!(
                    "{}: option `{name}`: expected {expected}, found `{value}`",
                    command.name
                )
            };
            let mut version = None;
            match name {
                "snapshot_id" => match value.parse() {
                    Ok(id) => version = Some(TableVersion::Snapshot(id)),
                    Err(_) => return wrong("a snapshot id"),
                },
                "timestamp_ms" => match value.parse() {
                    Ok(ms) => version = Some(TableVersion::TimestampMs(ms)),
                    Err(_) => return wrong("milliseconds since 1970"),
                },
                "branch" => version = Some(TableVersion::Branch(value.clone())),
                "tag" => version = Some(TableVersion::Tag(value.clone())),
                "ref" => version = Some(TableVersion::Reference(value.clone())),
                "metadata_columns" | "guess_newest_metadata" => {
                    let Ok(on) = value.to_ascii_lowercase().parse() else {
                        return wrong("true or false");
                    };
                    match name {
                        "metadata_columns" => options.metadata_columns = on,
                        _ => options.open.guess_newest_metadata = on,
                    }
                }
                store if store.contains('.') => {
                    options.store.insert(store.to_string(), value.clone());
                }
                unknown => {
                    return plan_err!(
                        "{}: unknown option `{unknown}`; known are snapshot_id, branch, tag, ref, timestamp_ms, \
                         metadata_columns, guess_newest_metadata, and options of the store such as s3.endpoint",
                        command.name
                    );
                }
            }
            if let Some(version) = version
                && options.version.replace(version).is_some()
            {
                return plan_err!("{}: two options name a version, expected one", command.name);
            }
        }
        Ok(options)
    }
}

//! Tables that share their data files, and what statements do to them.

use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use drumlin_catalog::ObjectStoreCatalog;
use drumlin_datafusion::{IcebergCatalogProvider, IcebergContextExt};
use drumlin_format::manifest::DataFile;
use drumlin_format::metadata::TableUpdate;
use drumlin_table::catalog::{Catalog, Namespace, TableIdent};
use drumlin_table::predicate::Predicate;
use drumlin_table::storage::Storage;
use drumlin_table::transaction::{SnapshotChange, Transaction};
use drumlin_table::{Error, Table};
use futures::TryStreamExt;
use object_store::ObjectStore;
use object_store::memory::InMemory;

use super::operation::{FILES, Op, Place, base};
use crate::session::{extended, rows};

/// A warehouse in memory, with the data files of the tables before both statements.
pub struct Lake {
    store: Arc<InMemory>,
    storage: Storage,
    pub catalog: Arc<dyn Catalog>,
    pub ctx: SessionContext,
    /// A session in which `INSERT OVERWRITE` is dynamic.
    dynamic: SessionContext,
    pub version: u8,
    files: Vec<DataFile>,
    /// Files with the same rows.
    copies: Vec<DataFile>,
}

const COLUMNS: &str = "(id BIGINT NOT NULL, cat STRING, n BIGINT, v BIGINT) PARTITIONED BY (cat)";

impl Lake {
    pub async fn new(version: u8) -> Self {
        let store = Arc::new(InMemory::new());
        let storage = Storage::default();
        let files: Arc<dyn ObjectStore> = Arc::clone(&store) as _;
        storage.register("s3://lake", files).unwrap();
        let catalog: Arc<dyn Catalog> =
            Arc::new(ObjectStoreCatalog::new(storage.clone(), "s3://lake/warehouse"));
        let session = || {
            let config = SessionConfig::new()
                .with_target_partitions(1)
                .with_create_default_catalog_and_schema(false)
                .with_default_catalog_and_schema("c", "s");
            let ctx = extended(&storage, config);
            let provider = IcebergCatalogProvider::new(Arc::clone(&catalog));
            ctx.register_catalog("c", Arc::new(provider));
            ctx
        };
        let (ctx, dynamic) = (session(), session());
        rows(&ctx, "CREATE SCHEMA s").await;
        rows(&dynamic, "SET iceberg.partition_overwrite_mode = 'dynamic'").await;
        let mut lake = Self {
            store,
            storage,
            catalog,
            ctx,
            dynamic,
            version,
            files: Vec::new(),
            copies: Vec::new(),
        };
        lake.write_files().await;
        lake
    }

    /// Data files belong to no table: all tables of the test share them.
    async fn write_files(&mut self) {
        self.create("files", "").await;
        let known = base();
        for (file, (_, numbers)) in FILES.iter().enumerate() {
            let of_file = known.iter().filter(|r| r.id / 10 == file as i64);
            let values = of_file.map(|r| format!("({}, '{}', {}, {})", r.id, r.cat, r.n, r.v));
            let values = values.collect::<Vec<_>>().join(", ");
            rows(&self.ctx, &format!("INSERT INTO files VALUES {values}")).await;
            let tasks = self.table("files").await;
            let tasks = tasks.plan_scan(&Predicate::AlwaysTrue).await.unwrap().tasks;
            let is_new = |f: &&DataFile| self.files.iter().all(|known| known.file_path != f.file_path);
            let mut new = tasks.iter().map(|task| task.data_file()).filter(is_new);
            let mut added = new.next().unwrap().clone();
            assert_eq!((added.record_count, new.next()), (numbers.len() as i64, None));
            added.first_row_id = None;
            let path = format!("s3://lake/copies/{file}.parquet");
            let bytes = self.storage.read(&added.file_path).await.unwrap();
            self.storage.write(&path, bytes).await.unwrap();
            let mut copy = added.clone();
            copy.file_path = path.into();
            self.files.push(added);
            self.copies.push(copy);
        }
    }

    pub async fn create(&self, name: &str, properties: &str) {
        let version = self.version;
        let sql = format!(
            "CREATE TABLE {name} {COLUMNS} TBLPROPERTIES ('format-version' = '{version}'{properties})"
        );
        rows(&self.ctx, &sql).await;
    }

    /// A table with the rows before both statements.
    pub async fn table_before(&self, name: &str, properties: &str) -> Table {
        self.create(name, properties).await;
        let change = SnapshotChange::append(self.files.clone());
        self.commit(name, change).await
    }

    pub async fn table(&self, name: &str) -> Table {
        self.catalog.load_table(&ident(name)).await.unwrap()
    }

    pub async fn commit(&self, name: &str, change: SnapshotChange) -> Table {
        let transaction = Transaction::new(&self.table(name).await, ident(name)).add(change);
        transaction.commit(self.catalog.as_ref()).await.unwrap()
    }

    pub async fn set(&self, name: &str, key: String, value: &str) {
        let update = TableUpdate::SetProperties([(key, value.to_string())].into());
        let transaction = Transaction::new(&self.table(name).await, ident(name)).add_updates(vec![update]);
        transaction.commit(self.catalog.as_ref()).await.unwrap();
    }

    /// A statement, planned on the table as it is now.
    pub async fn plan(&self, sql: &str) -> DataFrame {
        let frame = self.ctx.iceberg_sql(sql).await;
        frame.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The same of an operation.
    pub async fn plan_op(&self, op: Op, name: &str, place: Place, by: i64) -> Planned {
        if op == Op::Rewrite {
            let at = FILES.iter().position(|(cat, numbers)| {
                let (of, some) = op.about(place);
                *cat == of && some.iter().all(|n| numbers.contains(n))
            });
            let (file, copy) = (&self.files[at.unwrap()], &self.copies[at.unwrap()]);
            let change = SnapshotChange::rewrite_files(vec![file.clone()], vec![copy.clone()])
                .with_data_sequence_number(1);
            let transaction = Transaction::new(&self.table(name).await, ident(name)).add(change);
            return Planned::Transaction(Box::new(transaction));
        }
        let ctx = match op {
            Op::OverwritePartition => &self.dynamic,
            _ => &self.ctx,
        };
        let sql = op.sql(name, place, by);
        let frame = ctx.iceberg_sql(&sql).await;
        Planned::Statement(Box::new(frame.unwrap_or_else(|error| panic!("{sql}: {error}"))))
    }

    pub async fn run(&self, planned: Planned) -> Result<(), DataFusionError> {
        match planned {
            Planned::Statement(frame) => frame.collect().await.map(|_| ()),
            Planned::Transaction(transaction) => {
                let done = transaction.commit(self.catalog.as_ref()).await;
                done.map(|_| ())
                    .map_err(|e| DataFusionError::External(Box::new(e)))
            }
        }
    }

    /// The rows of a table: `id`, `cat`, `n`, `v`.
    pub async fn rows(&self, name: &str) -> Vec<(i64, String, i64, i64)> {
        let found = rows(&self.ctx, &format!("SELECT id, cat, n, v FROM {name}")).await;
        let number = |text: &String| text.parse::<i64>().unwrap();
        let row = |r: &Vec<String>| (number(&r[0]), r[1].clone(), number(&r[2]), number(&r[3]));
        let mut found: Vec<_> = found.iter().map(row).collect();
        found.sort();
        found
    }

    /// All files in the folder of a table.
    pub async fn files_of(&self, name: &str) -> Vec<String> {
        let folder = object_store::path::Path::from(format!("warehouse/s/{name}"));
        let found: Vec<_> = self.store.list(Some(&folder)).try_collect().await.unwrap();
        assert!(!found.is_empty());
        let mut names: Vec<String> = found.into_iter().map(|meta| meta.location.to_string()).collect();
        names.sort();
        names
    }

    /// Asserts that a statement fails as a conflict, and leaves nothing in the folder of its table.
    pub async fn conflicts(&self, what: &str, name: &str, planned: Planned) {
        let files = self.files_of(name).await;
        match self.run(planned).await {
            Ok(()) => panic!(
                "{what}: it succeeded, and now there are {:?}",
                self.rows(name).await
            ),
            Err(error) => assert!(is_conflict(&error), "{what}: {error}"),
        }
        assert_eq!(self.files_of(name).await, files, "{what}");
    }
}

/// What is going to run.
pub enum Planned {
    Statement(Box<DataFrame>),
    Transaction(Box<Transaction>),
}

pub fn ident(name: &str) -> TableIdent {
    TableIdent::new(Namespace::new(["s"]).unwrap(), name).unwrap()
}

pub fn is_conflict(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::External(inner) => {
            matches!(inner.downcast_ref::<Error>(), Some(Error::Conflict { .. }))
        }
        _ => false,
    }
}

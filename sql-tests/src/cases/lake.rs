//! The catalog `lake` of a file, and what files ask of it that SQL has no word for.

use std::path::Path;
use std::sync::Arc;

use drumlin_catalog::ObjectStoreCatalog;
use drumlin_format::metadata::{LAST_ADDED, TableUpdate, UnboundPartitionField, UnboundPartitionSpec};
use drumlin_format::transform::Transform;
use drumlin_table::catalog::{Catalog, Namespace, TableIdent};
use drumlin_table::storage::Storage;
use drumlin_table::transaction::Transaction;
use drumlin_table::{Error, Table};
use sqllogictest::DefaultColumnType;

use crate::conformance::engine::EngineError;

/// A statement that the runner answers, about a table of `lake` as `schema.table`.
pub(super) enum Request<'a> {
    /// `evolve s.t`: in variants with an evolved spec, new rows are partitioned by the column `p` from now on; nothing in others.
    Evolve(&'a str),
    /// `snapshots s.t`: how many snapshots the table has (`I`).
    Snapshots(&'a str),
    /// `last snapshot s.t`: the operation of the current snapshot, and how many data files and delete files it added (`TII`).
    LastSnapshot(&'a str),
}

impl<'a> Request<'a> {
    /// The request that a statement is, if it is none of SQL.
    pub fn of(statement: &'a str) -> Option<Self> {
        let words: Vec<_> = statement.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["evolve", table] => Some(Self::Evolve(table)),
            ["snapshots", table] => Some(Self::Snapshots(table)),
            ["last", "snapshot", table] => Some(Self::LastSnapshot(table)),
            _ => None,
        }
    }
}

/// A warehouse folder.
pub(super) struct Lake {
    catalog: Arc<dyn Catalog>,
    evolves: bool,
}

impl Lake {
    /// The warehouse in a folder; whether its tables get another spec.
    pub fn new(storage: Storage, folder: &Path, evolves: bool) -> Self {
        Self {
            catalog: Arc::new(ObjectStoreCatalog::new(storage, folder.display().to_string())),
            evolves,
        }
    }

    /// The catalog itself.
    pub fn catalog(&self) -> Arc<dyn Catalog> {
        Arc::clone(&self.catalog)
    }

    /// Does what is asked. The answer is a row with its types, without columns if there is nothing to say.
    pub async fn answer(
        &self,
        request: &Request<'_>,
    ) -> Result<(Vec<DefaultColumnType>, Vec<String>), EngineError> {
        let (Request::Evolve(name) | Request::Snapshots(name) | Request::LastSnapshot(name)) = *request;
        let open = |source: Error| EngineError::Open {
            what: name.to_owned(),
            source: source.into(),
        };
        let (schema, table) = name.split_once('.').unwrap_or(("", name));
        let ident = Namespace::new([schema]).and_then(|schema| TableIdent::new(schema, table));
        let ident = ident.map_err(open)?;
        let table = self.catalog.load_table(&ident).await.map_err(open)?;
        Ok(match request {
            Request::Evolve(_) => {
                if self.evolves {
                    self.evolve(&table, ident).await.map_err(open)?;
                }
                (Vec::new(), Vec::new())
            }
            Request::Snapshots(_) => {
                let count = table.metadata().snapshots().len();
                (vec![DefaultColumnType::Integer], vec![count.to_string()])
            }
            Request::LastSnapshot(_) => {
                let Some(snapshot) = table.metadata().current_snapshot() else {
                    return Ok((Vec::new(), Vec::new()));
                };
                let note = |key| snapshot.summary.get(key).unwrap_or("0").to_owned();
                let types = vec![
                    DefaultColumnType::Text,
                    DefaultColumnType::Integer,
                    DefaultColumnType::Integer,
                ];
                let row = vec![
                    snapshot.summary.operation.to_string(),
                    note("added-data-files"),
                    note("added-delete-files"),
                ];
                (types, row)
            }
        })
    }

    async fn evolve(&self, table: &Table, ident: TableIdent) -> Result<(), Error> {
        let schema = table.metadata().current_schema();
        let p = schema.field_by_name("p").map(|field| field.id);
        let field = |id| UnboundPartitionField {
            source_ids: vec![id],
            field_id: None,
            name: "p".to_owned(),
            transform: Transform::Identity,
        };
        let spec = UnboundPartitionSpec {
            spec_id: None,
            fields: p.map(field).into_iter().collect(),
        };
        let updates = vec![
            TableUpdate::AddSpec(spec),
            TableUpdate::SetDefaultSpec(LAST_ADDED),
        ];
        let change = Transaction::new(table, ident).add_updates(updates);
        change.commit(self.catalog.as_ref()).await?;
        Ok(())
    }
}

//! What every catalog does.

mod commits;
mod namespaces;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use drumlin_format::metadata::{LAST_ADDED, TableRequirement, TableUpdate};
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};
use drumlin_table::catalog::{
    Catalog, CommitError, Namespace, PageRequest, TableCreation, TableIdent, all_namespaces, all_tables,
};
use drumlin_table::{Error, Result, Table};

use crate::backend::Fixture;

/// Runs each case on a catalog, if there is one.
macro_rules! cases {
    ($backend:ident: $($group:ident::$case:ident),* $(,)?) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(fixture) = crate::backend::$backend().await {
                        super::$group::$case(&fixture).await;
                    }
                }
            )*
        }
    };
}

macro_rules! suite {
    ($($backend:ident)*) => {
        $(cases!($backend:
            namespaces::namespaces_are_made_listed_and_dropped,
            namespaces::namespaces_have_properties_or_say_that_they_have_none,
            tables::tables_are_made_loaded_listed_and_dropped,
            tables::lists_come_in_pages,
            tables::tables_are_renamed,
            tables::tables_are_registered,
            commits::a_commit_is_seen_by_all,
            commits::requirements_are_checked_on_the_newest_state,
            commits::updates_that_do_not_fit_change_nothing,
            commits::metadata_is_compressed_as_the_table_asks,
            commits::old_metadata_files_go_as_the_table_asks,
            namespaces::odd_names_are_names,
            namespaces::names_that_lead_elsewhere_are_refused,
            namespaces::what_is_not_there_is_said_so,
        );)*
    };
}

suite!(memory disk s3 sqlite embedded postgres);

pub fn namespace(levels: &[&str]) -> Namespace {
    Namespace::new(levels.iter().copied()).unwrap()
}

pub fn ident(levels: &[&str], name: &str) -> TableIdent {
    TableIdent::new(namespace(levels), name).unwrap()
}

pub fn creation() -> TableCreation {
    let id = NestedField::required(1, "id", PrimitiveType::Long);
    TableCreation::new(Schema::new(0, vec![id], vec![]).unwrap())
}

pub fn properties(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect()
}

pub fn set(key: &str, value: &str) -> TableUpdate {
    TableUpdate::SetProperties(properties(&[(key, value)]))
}

/// A commit of one property, worked out anew as often as others are first.
pub async fn set_property(catalog: &dyn Catalog, table: &TableIdent, key: &str, value: &str) -> Table {
    loop {
        match catalog.commit(table, &[], &[set(key, value)]).await {
            Ok(table) => return table,
            Err(CommitError::Conflict(_)) => tokio::task::yield_now().await,
            Err(other) => panic!("{other}"),
        }
    }
}

/// The updates and requirements of one more column, which only one of several can add.
pub fn add_column(table: &Table, name: &str) -> (Vec<TableRequirement>, Vec<TableUpdate>) {
    let metadata = table.metadata();
    let id = metadata.last_column_id() + 1;
    let mut fields = metadata.current_schema().fields().to_vec();
    fields.push(NestedField::optional(id, name, PrimitiveType::Int));
    let schema = Schema::new(0, fields, vec![]).unwrap();
    let updates = vec![
        TableUpdate::AddSchema(Arc::new(schema)),
        TableUpdate::SetCurrentSchema(LAST_ADDED),
    ];
    (
        TableRequirement::for_updates(Some(metadata.as_ref()), &updates),
        updates,
    )
}

pub async fn make(catalog: &dyn Catalog, table: &TableIdent) -> Table {
    if !catalog.namespace_exists(&table.namespace).await.unwrap() {
        catalog
            .create_namespace(&table.namespace, &BTreeMap::new())
            .await
            .unwrap();
    }
    catalog.create_table(table, creation()).await.unwrap()
}

fn is<T: std::fmt::Debug>(answer: Result<T>, expected: impl Fn(&Error) -> bool) {
    match answer {
        Err(error) if expected(&error) => {}
        other => panic!("{other:?}"),
    }
}

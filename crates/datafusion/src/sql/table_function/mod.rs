//! `iceberg_scan('location' [, option => value …])` in a FROM clause; [`super`] lists the options.
//!
//! DataFusion's planner knows no named arguments here and plans synchronously, while opening a table waits for the
//! store. So the tables are opened before planning, each location once a statement, and the planner finds them by the
//! place of the call in the text.

mod function;
mod options;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, FunctionArg, ObjectName, TableFactor, VisitorMut};
use datafusion::sql::sqlparser::tokenizer::Location;
use drumlin_table::storage::{Storage, StoreOptions};
use drumlin_table::{OpenOptions, Table};
use futures::future::try_join_all;

pub(super) use function::{IcebergScanFunction, call_function};

use self::options::Call;
use super::references::{or_break, walk};
use super::relation_planner::Referenced;
use super::table_location;
use crate::IcebergTableProvider;
use crate::error::external;

/// The name of the function.
pub(super) const NAME: &str = "iceberg_scan";

/// The tables that the calls in a statement read, by the place of the call.
pub(super) type Scans = HashMap<Location, Referenced>;

/// Whether a function in a FROM clause is this one.
pub(super) fn is_scan(function: &ObjectName) -> bool {
    match function.0.as_slice() {
        [part] => part.as_ident().is_some_and(|ident| match ident.quote_style {
            Some(_) => ident.value == NAME,
            None => ident.value.eq_ignore_ascii_case(NAME),
        }),
        _ => false,
    }
}

/// The name and arguments of a call of this function.
pub(super) fn call(factor: &TableFactor) -> Option<(&ObjectName, &[FunctionArg])> {
    let (name, args) = match factor {
        TableFactor::Table {
            name,
            args: Some(args),
            ..
        } => (name, args.args.as_slice()),
        TableFactor::Function { name, args, .. } => (name, args.as_slice()),
        _ => return None,
    };
    is_scan(name).then_some((name, args))
}

/// Opens the tables of all calls in `statement`. `milliseconds` computes instants.
///
/// # Errors
/// Options that are unknown or do not fit; tables that cannot be opened, versions they do not have.
pub(super) async fn open(
    statement: &mut Statement,
    storage: &Storage,
    milliseconds: &(dyn Fn(ast::Expr) -> Result<i64> + Sync),
) -> Result<Scans> {
    let mut collect = Collect {
        calls: vec![],
        milliseconds,
    };
    walk(statement, &mut collect)?;
    let calls = collect.calls;
    let mut sources: Vec<&Source> = calls.iter().map(|(_, call)| &call.source).collect();
    sources.sort();
    sources.dedup();
    let opened = try_join_all(sources.iter().map(|source| source.open(storage))).await?;
    let tables: HashMap<&Source, Table> = sources.into_iter().zip(opened).collect();

    let mut names: HashMap<String, Vec<&Source>> = HashMap::new();
    let mut scans = Scans::new();
    for (location, call) in &calls {
        let Some(table) = tables.get(&call.source) else {
            continue;
        };
        let mut provider = IcebergTableProvider::try_new(table.clone())?;
        let mut name = format!("{NAME}('{}')", call.source.location);
        if let Some(version) = &call.version {
            provider = provider.at_version(version)?;
            name = format!("{name} AS OF {version}");
        }
        if call.metadata_columns {
            provider = provider.with_metadata_columns();
        }
        // The same location with other options may be another table.
        let same_name = names.entry(name.clone()).or_default();
        let number = same_name.iter().position(|source| **source == call.source);
        let number = number.unwrap_or_else(|| {
            same_name.push(&call.source);
            same_name.len() - 1
        });
        if number > 0 {
            name = format!("{name} #{}", number + 1);
        }
        scans.insert(*location, referenced(name, Arc::new(provider)));
    }
    Ok(scans)
}

/// A scan of this name, seen under the name of the function.
pub(super) fn referenced(name: String, provider: Arc<dyn TableProvider>) -> Referenced {
    Referenced {
        reference: TableReference::bare(NAME),
        scan: Some(TableReference::bare(name)),
        provider,
    }
}

/// What a call opens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Source {
    /// The location of a table or of a metadata file.
    location: String,
    guess_newest_metadata: bool,
    store: StoreOptions,
}

impl Source {
    async fn open(&self, storage: &Storage) -> Result<Table> {
        let storage = match self.store.is_empty() {
            true => storage.clone(),
            false => storage.with_options(self.store.clone()).map_err(external)?,
        };
        let options = OpenOptions {
            guess_newest_metadata: self.guess_newest_metadata,
        };
        Table::open_with(&storage, &self.location, &options)
            .await
            .map_err(external)
    }
}

struct Collect<'a> {
    calls: Vec<(Location, Call)>,
    milliseconds: &'a (dyn Fn(ast::Expr) -> Result<i64> + Sync),
}

impl VisitorMut for Collect<'_> {
    type Break = DataFusionError;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        if let Some((name, args)) = call(factor)
            && let Some(location) = table_location(name)
        {
            let parsed = Call::parse(args, self.milliseconds);
            return or_break(parsed.map(|call| self.calls.push((location, call))));
        }
        ControlFlow::Continue(())
    }
}

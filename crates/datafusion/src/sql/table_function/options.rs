//! The arguments of `iceberg_scan`.

use datafusion::common::{plan_datafusion_err, plan_err};
use datafusion::error::Result;
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, Ident, Value};
use drumlin_table::TableVersion;
use drumlin_table::storage::StoreOptions;

use super::{NAME, Source};
use crate::sql::clause::{integer, quoted};

const KNOWN: &str = "snapshot, ref, branch, tag, timestamp, metadata_columns, guess_newest_metadata, and options of the \
                     store in quotes such as 's3.endpoint'";

/// A call, sorted out.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) source: Source,
    pub(super) version: Option<TableVersion>,
    pub(super) metadata_columns: bool,
}

impl Call {
    pub(super) fn parse(args: &[FunctionArg], milliseconds: &dyn Fn(Expr) -> Result<i64>) -> Result<Self> {
        let mut args = args.iter();
        let location = match args.next() {
            Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))) => quoted(expr),
            _ => None,
        };
        let Some(location) = location else {
            return plan_err!("{NAME} takes the location of a table in quotes first, then options: {KNOWN}");
        };
        let mut call = Call {
            source: Source {
                location: location.trim_end_matches('/').to_string(),
                guess_newest_metadata: false,
                store: StoreOptions::new(),
            },
            version: None,
            metadata_columns: false,
        };
        let mut seen = vec![];
        for arg in args {
            let Some((name, value)) = named(arg) else {
                return plan_err!(
                    "{NAME}: expected an option as name => value, found `{arg}`; known are {KNOWN}"
                );
            };
            if seen.contains(&name) {
                return plan_err!("{NAME}: option `{name}` is there twice");
            }
            call.set(&name, value, milliseconds)?;
            seen.push(name);
        }
        Ok(call)
    }

    fn set(&mut self, name: &str, value: &Expr, milliseconds: &dyn Fn(Expr) -> Result<i64>) -> Result<()> {
        let wrong =
            |expected: &str| plan_datafusion_err!("{NAME}: {name} => expects {expected}, found {value}");
        let text = || quoted(value).map(str::to_string);
        let flag = || match value {
            Expr::Value(literal) => match &literal.value {
                Value::Boolean(on) => Some(*on),
                _ => quoted(value)?.to_ascii_lowercase().parse().ok(),
            },
            _ => None,
        };
        let version = match name {
            "snapshot" => {
                let id = integer(value).or_else(|| quoted(value)?.trim().parse().ok());
                TableVersion::Snapshot(id.ok_or_else(|| wrong("a snapshot id (a 64-bit integer)"))?)
            }
            "ref" => TableVersion::Reference(text().ok_or_else(|| wrong("a branch or tag in quotes"))?),
            "branch" => TableVersion::Branch(text().ok_or_else(|| wrong("a branch in quotes"))?),
            "tag" => TableVersion::Tag(text().ok_or_else(|| wrong("a tag in quotes"))?),
            "timestamp" => TableVersion::TimestampMs(milliseconds(value.clone())?),
            "metadata_columns" => {
                self.metadata_columns = flag().ok_or_else(|| wrong("true or false"))?;
                return Ok(());
            }
            "guess_newest_metadata" => {
                self.source.guess_newest_metadata = flag().ok_or_else(|| wrong("true or false"))?;
                return Ok(());
            }
            store if store.contains('.') => {
                // Not the value: it may be a secret.
                let value = text().or_else(|| Some(flag()?.to_string()));
                let value = value
                    .ok_or_else(|| plan_datafusion_err!("{NAME}: {name} => expects a text in quotes"))?;
                self.source.store.insert(store.to_string(), value);
                return Ok(());
            }
            unknown => return plan_err!("{NAME}: unknown option `{unknown}`; known are {KNOWN}"),
        };
        match self.version.replace(version) {
            None => Ok(()),
            Some(first) => plan_err!("{NAME}: {name} => is a second version beside {first}; use one of them"),
        }
    }
}

/// The name, in lower case unless quoted, and the value of a named argument.
fn named(arg: &FunctionArg) -> Option<(String, &Expr)> {
    let plain = |ident: &Ident| match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    };
    match arg {
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(value),
            ..
        } => Some((plain(name), value)),
        FunctionArg::ExprNamed {
            name: Expr::Identifier(name),
            arg: FunctionArgExpr::Expr(value),
            ..
        } => Some((plain(name), value)),
        FunctionArg::ExprNamed {
            name,
            arg: FunctionArgExpr::Expr(value),
            ..
        } => Some((quoted(name)?.to_string(), value)),
        _ => None,
    }
}

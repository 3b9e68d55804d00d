//! The one shape that every way of asking for a version takes in the syntax tree, `AT (KEY => …)`, and how it is read.

use datafusion::common::plan_datafusion_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::sqlparser::ast::{
    self, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, UnaryOperator, Value,
};

use crate::sql::version::TableVersion;

/// Marks a version that came from a selector such as `t.branch_x`, for the message when `t` does not exist.
const SELECTOR: &str = "SELECTOR";

/// What a version clause asks for.
#[derive(Debug)]
pub(crate) enum Requested {
    /// A version that is known as it stands.
    Version(TableVersion),
    /// The version at an instant that has to be computed.
    Timestamp(Box<Expr>),
}

/// `AT (key => value)` as a syntax tree.
pub(super) fn at(key: &str, value: Expr) -> ast::TableVersion {
    function("AT", key, value)
}

/// `AT (TIMESTAMP_MS => ms)`: an instant that has been computed, in milliseconds since the epoch.
pub(crate) fn instant(ms: i64) -> ast::TableVersion {
    at("TIMESTAMP_MS", number(ms))
}

/// The version that the last part of a table name selects, if it is a selector: `branch_x`, `tag_x`,
/// `snapshot_id_123` or `at_timestamp_<milliseconds since the epoch>`. The name of the branch or tag keeps its case.
pub(crate) fn selector(part: &str) -> Option<TableVersion> {
    let after = |prefix: &str| {
        let (head, tail) = part.split_at_checked(prefix.len())?;
        (head.eq_ignore_ascii_case(prefix) && !tail.is_empty()).then_some(tail)
    };
    let digits = |tail: &str| {
        tail.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| tail.parse::<i64>().ok())
            .flatten()
    };
    if let Some(name) = after("branch_") {
        Some(TableVersion::Branch(name.to_string()))
    } else if let Some(name) = after("tag_") {
        Some(TableVersion::Tag(name.to_string()))
    } else if let Some(id) = after("snapshot_id_") {
        digits(id).map(TableVersion::Snapshot)
    } else if let Some(ms) = after("at_timestamp_") {
        digits(ms).map(TableVersion::TimestampMs)
    } else {
        None
    }
}

/// A selector as a syntax tree.
pub(crate) fn selector_clause(version: &TableVersion) -> ast::TableVersion {
    let (key, value) = match version {
        TableVersion::Snapshot(id) => ("VERSION", number(*id)),
        TableVersion::Reference(name) => ("VERSION", string(name)),
        TableVersion::Branch(name) => ("BRANCH", string(name)),
        TableVersion::Tag(name) => ("TAG", string(name)),
        TableVersion::TimestampMs(ms) => ("TIMESTAMP_MS", number(*ms)),
    };
    function(SELECTOR, key, value)
}

/// Reads a version clause of the syntax tree, whether put there by this module or parsed by a dialect that knows
/// some of the forms. The flag says that it came from a selector in the table's name.
///
/// # Errors
/// Names the form that is not supported or the value that does not fit its key.
pub(crate) fn requested(version: &ast::TableVersion) -> Result<(Requested, bool)> {
    match version {
        ast::TableVersion::VersionAsOf(value) => Ok((
            Requested::Version(version_literal(value, "VERSION AS OF")?),
            false,
        )),
        ast::TableVersion::TimestampAsOf(expr) | ast::TableVersion::ForSystemTimeAsOf(expr) => {
            Ok((Requested::Timestamp(Box::new(expr.clone())), false))
        }
        ast::TableVersion::Function(Expr::Function(call)) => {
            let name = call.name.to_string();
            let selector = name == SELECTOR;
            if !selector && !name.eq_ignore_ascii_case("AT") {
                return Err(unsupported_form(&name));
            }
            let (key, value) = argument(call).ok_or_else(|| {
                plan_datafusion_err!("{name} takes one named argument, {KEYS}; found {call}")
            })?;
            Ok((keyed(key, value)?, selector))
        }
        other => Err(unsupported_form(&other.to_string())),
    }
}

const KEYS: &str = "VERSION => a snapshot id or a quoted branch or tag, TIMESTAMP => a timestamp, BRANCH => or TAG => a quoted name";

/// Whether `AT (key => …)` is one of ours.
pub(super) fn is_key(key: &str) -> bool {
    ["VERSION", "TIMESTAMP", "BRANCH", "TAG", "TIMESTAMP_MS"]
        .iter()
        .any(|k| key.eq_ignore_ascii_case(k))
}

pub(super) fn unknown_key(form: &str, key: &str) -> String {
    if form.eq_ignore_ascii_case("AT") {
        format!("AT ({key} => …) is not supported; expected {KEYS}")
    } else {
        format!("{form} (…) is not supported for time travel; use AT with {KEYS}")
    }
}

fn unsupported_form(form: &str) -> DataFusionError {
    plan_datafusion_err!(
        "{form} is not supported for time travel; use VERSION AS OF, TIMESTAMP AS OF or AT with {KEYS}"
    )
}

fn keyed(key: &str, value: &Expr) -> Result<Requested> {
    let form = format!("AT ({key} => …)");
    if key.eq_ignore_ascii_case("VERSION") {
        version_literal(value, &form).map(Requested::Version)
    } else if key.eq_ignore_ascii_case("TIMESTAMP") {
        Ok(Requested::Timestamp(Box::new(value.clone())))
    } else if key.eq_ignore_ascii_case("TIMESTAMP_MS") {
        integer(value)
            .map(|ms| Requested::Version(TableVersion::TimestampMs(ms)))
            .ok_or_else(|| plan_datafusion_err!("{form} takes milliseconds since the epoch, found {value}"))
    } else if key.eq_ignore_ascii_case("BRANCH") {
        quoted(value)
            .map(|name| Requested::Version(TableVersion::Branch(name.to_string())))
            .ok_or_else(|| plan_datafusion_err!("{form} takes the name of a branch in quotes, found {value}"))
    } else if key.eq_ignore_ascii_case("TAG") {
        quoted(value)
            .map(|name| Requested::Version(TableVersion::Tag(name.to_string())))
            .ok_or_else(|| plan_datafusion_err!("{form} takes the name of a tag in quotes, found {value}"))
    } else {
        Err(plan_datafusion_err!("{}", unknown_key("AT", key)))
    }
}

/// A snapshot id or a reference. A string that reads as a number is a snapshot id, never a branch or tag.
fn version_literal(value: &Expr, form: &str) -> Result<TableVersion> {
    if let Some(id) = integer(value) {
        return Ok(TableVersion::Snapshot(id));
    }
    match quoted(value) {
        Some(text) => Ok(match text.trim().parse::<i64>() {
            Ok(id) => TableVersion::Snapshot(id),
            Err(_) => TableVersion::Reference(text.to_string()),
        }),
        None => Err(plan_datafusion_err!(
            "{form} takes a snapshot id (a 64-bit integer) or the name of a branch or tag in quotes, found {value}"
        )),
    }
}

fn argument(call: &Function) -> Option<(&str, &Expr)> {
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    match list.args.as_slice() {
        [
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(value),
                ..
            },
        ] => Some((name.value.as_str(), value)),
        [
            FunctionArg::ExprNamed {
                name: Expr::Identifier(name),
                arg: FunctionArgExpr::Expr(value),
                ..
            },
        ] => Some((name.value.as_str(), value)),
        _ => None,
    }
}

/// A 64-bit integer literal, with or without sign.
pub(crate) fn integer(value: &Expr) -> Option<i64> {
    let (negative, value) = match value {
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => (true, expr.as_ref()),
        Expr::UnaryOp {
            op: UnaryOperator::Plus,
            expr,
        } => (false, expr.as_ref()),
        other => (false, other),
    };
    let Expr::Value(value) = value else {
        return None;
    };
    let Value::Number(digits, _) = &value.value else {
        return None;
    };
    // With the sign in front, so that the smallest id can be read as well.
    if negative {
        format!("-{digits}").parse().ok()
    } else {
        digits.parse().ok()
    }
}

/// The text of a string literal.
pub(crate) fn quoted(value: &Expr) -> Option<&str> {
    let Expr::Value(value) = value else {
        return None;
    };
    match &value.value {
        Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text),
        _ => None,
    }
}

fn number(value: i64) -> Expr {
    Expr::Value(Value::Number(value.to_string(), false).into())
}

fn string(value: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.to_string()).into())
}

fn function(name: &str, key: &str, value: Expr) -> ast::TableVersion {
    ast::TableVersion::Function(Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Named {
                name: Ident::new(key),
                arg: FunctionArgExpr::Expr(value),
                operator: FunctionArgOperator::RightArrow,
            }],
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    }))
}

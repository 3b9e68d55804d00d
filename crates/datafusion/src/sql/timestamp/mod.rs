//! The instant that a time-travel clause names.

#[cfg(test)]
mod tests;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, ScalarValue, plan_datafusion_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

/// Evaluates the operand of `TIMESTAMP AS OF` and its like: milliseconds since the epoch, rounded down.
///
/// - A string, a date or a timestamp without time zone is meant in the session's time zone
///   (`datafusion.execution.time_zone`, UTC if there is none); a string may name another one.
/// - A number is in **seconds** since the epoch, as Spark has it.
/// - `now()` is the start of the statement as `context` has it.
///
/// # Errors
/// The expression is not constant, is NULL, or is not of one of these types; a string that is no timestamp; an instant
/// out of the range of 64-bit milliseconds.
pub(crate) fn milliseconds(expr: Expr, context: SimplifyContext) -> Result<i64> {
    let time_zone = context
        .config_options()
        .execution
        .time_zone
        .clone()
        .unwrap_or_else(|| "+00:00".to_string());
    let written = expr.to_string();
    let simplifier = ExprSimplifier::new(context);
    let value = simplifier
        .coerce(expr, &DFSchema::empty())
        .and_then(|expr| simplifier.simplify(expr))
        .map_err(|error| error.context(format!("cannot evaluate the timestamp {written}")))?;
    let Expr::Literal(value, _) = value else {
        return plan_err!("time travel takes a constant timestamp, but {written} is not constant");
    };
    instant(&value, &time_zone)
        .map_err(|error| error.context(format!("{written} is no timestamp to travel to")))
}

fn instant(value: &ScalarValue, time_zone: &str) -> Result<i64> {
    if value.is_null() {
        return plan_err!("the timestamp is NULL");
    }
    let zoned = |unit| DataType::Timestamp(unit, Some(time_zone.into()));
    match value {
        ScalarValue::TimestampSecond(Some(s), Some(_)) => seconds(*s),
        ScalarValue::TimestampMillisecond(Some(ms), Some(_)) => Ok(*ms),
        ScalarValue::TimestampMicrosecond(Some(us), Some(_)) => Ok(us.div_euclid(1_000)),
        ScalarValue::TimestampNanosecond(Some(ns), Some(_)) => Ok(ns.div_euclid(1_000_000)),
        // A wall-clock time: casting to a time zone reads it in that zone.
        ScalarValue::TimestampSecond(..)
        | ScalarValue::TimestampMillisecond(..)
        | ScalarValue::TimestampMicrosecond(..)
        | ScalarValue::TimestampNanosecond(..) => {
            let DataType::Timestamp(unit, None) = value.data_type() else {
                return plan_err!("unexpected type {}", value.data_type());
            };
            instant(&value.cast_to(&zoned(unit))?, time_zone)
        }
        ScalarValue::Utf8(_) | ScalarValue::Utf8View(_) | ScalarValue::LargeUtf8(_) => {
            let value = value.cast_to(&zoned(TimeUnit::Microsecond)).map_err(|error| {
                plan_datafusion_err!("cannot read it as a timestamp in time zone {time_zone}: {error}")
            })?;
            instant(&value, time_zone)
        }
        ScalarValue::Date32(_) | ScalarValue::Date64(_) => instant(
            &value.cast_to(&DataType::Timestamp(TimeUnit::Millisecond, None))?,
            time_zone,
        ),
        ScalarValue::Int8(_)
        | ScalarValue::Int16(_)
        | ScalarValue::Int32(_)
        | ScalarValue::Int64(_)
        | ScalarValue::UInt8(_)
        | ScalarValue::UInt16(_)
        | ScalarValue::UInt32(_)
        | ScalarValue::UInt64(_) => match value.cast_to(&DataType::Int64)? {
            ScalarValue::Int64(Some(s)) => seconds(s),
            other => plan_err!("unexpected value {other}"),
        },
        other => plan_err!(
            "expected a timestamp, a date, a string or a whole number of seconds since the epoch, found {}",
            other.data_type()
        ),
    }
}

fn seconds(s: i64) -> Result<i64> {
    s.checked_mul(1_000).ok_or_else(|| {
        plan_datafusion_err!(
            "{s} seconds since the epoch is out of range (a number is in seconds, not milliseconds)"
        )
    })
}

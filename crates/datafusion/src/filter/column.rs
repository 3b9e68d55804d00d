//! Which column an expression is, and the casts around it that keep order.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};
use drumlin_table::predicate::FieldRef;

/// The name of the function that reads a field of a struct: `s['x']`, `s.x`.
const GET_FIELD: &str = "get_field";

/// How the values that a condition compares come from those of the column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// The values themselves.
    Same,
    /// Each is the value of the column times this: a cast to a finer unit.
    Times(i64),
    /// Each is the value of the column divided by this, rounded down: a cast to a coarser unit.
    DividedBy(i64),
}

/// The column that the expression is, without casts. Of variants metadata proves nothing: what writers count of them
/// is told nowhere.
pub fn plain(expr: &Expr, schema: &Schema) -> Option<FieldRef> {
    let column = FieldRef::new(schema, field(expr, schema)?.id).ok()?;
    (*column.primitive() != PrimitiveType::Variant).then_some(column)
}

/// The column that the expression is, perhaps under a cast that keeps order and loses nothing but what the scale
/// says.
pub fn scaled(expr: &Expr, schema: &Schema) -> Option<(FieldRef, Scale)> {
    match expr {
        Expr::Alias(alias) => scaled(&alias.expr, schema),
        Expr::Cast(cast) => {
            let column = plain(&cast.expr, schema)?;
            let scale = scale_of(column.primitive(), cast.field.data_type())?;
            Some((column, scale))
        }
        other => Some((plain(other, schema)?, Scale::Same)),
    }
}

fn field<'a>(expr: &Expr, schema: &'a Schema) -> Option<&'a NestedField> {
    match expr {
        Expr::Alias(alias) => field(&alias.expr, schema),
        Expr::Column(column) => schema.as_struct().field_by_name(&column.name),
        Expr::ScalarFunction(function) if function.name() == GET_FIELD => {
            let (source, keys) = function.args.split_first()?;
            let mut found = field(source, schema)?;
            for key in keys {
                let Expr::Literal(
                    ScalarValue::Utf8(Some(key))
                    | ScalarValue::Utf8View(Some(key))
                    | ScalarValue::LargeUtf8(Some(key)),
                    _,
                ) = key
                else {
                    return None;
                };
                found = found.field_type.as_struct()?.field_by_name(key)?;
            }
            Some(found)
        }
        _ => None,
    }
}

/// The scale of a cast of a column; `None` for casts that lose values, change the order or depend on a zone.
fn scale_of(from: &PrimitiveType, to: &DataType) -> Option<Scale> {
    use PrimitiveType as P;
    match (from, to) {
        (P::Int, DataType::Int32 | DataType::Int64)
        | (P::Long, DataType::Int64)
        | (P::Float, DataType::Float32 | DataType::Float64)
        | (P::Double, DataType::Float64)
        | (P::Date, DataType::Date32)
        | (P::String, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        | (P::Binary, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => Some(Scale::Same),
        (P::Date | P::Timestamp | P::TimestampNs, DataType::Timestamp(unit, None))
        | (P::Timestamptz | P::TimestamptzNs, DataType::Timestamp(unit, Some(_))) => {
            // Casts to a coarser unit round towards 1970, which is not floor for times before it.
            let (stored, wanted) = (units_per_day(from)?, per_day(*unit));
            (wanted >= stored).then(|| match wanted / stored {
                1 => Scale::Same,
                finer => Scale::Times(finer),
            })
        }
        // All instants are of the zone UTC here, so that the day of one needs no zone either.
        (P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs, DataType::Date32) => {
            Some(Scale::DividedBy(units_per_day(from)?))
        }
        _ => None,
    }
}

fn units_per_day(of: &PrimitiveType) -> Option<i64> {
    use PrimitiveType as P;
    match of {
        P::Date => Some(1),
        P::Timestamp | P::Timestamptz => Some(per_day(TimeUnit::Microsecond)),
        P::TimestampNs | P::TimestamptzNs => Some(per_day(TimeUnit::Nanosecond)),
        _ => None,
    }
}

fn per_day(unit: TimeUnit) -> i64 {
    let second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    86_400 * second
}

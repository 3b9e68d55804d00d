//! Rows: their values at any depth, as a later schema reads them, and the partition they belong to.

use std::collections::BTreeMap;

use drumlin_format::partition::{PartitionField, PartitionSpec, PartitionTuple};
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType, Type};
use drumlin_format::value::Value;
use drumlin_format::value::bytes::MICROS_PER_DAY;

use crate::array::of_field;

/// A row: values of columns by field id. A column that is left out is null.
pub type Row = BTreeMap<i32, Option<Value>>;

/// The value at the end of a path of field ids from the column down. It is null where a struct around it is.
///
/// # Panics
/// A field on the way is no struct.
pub fn value_at(row: &Row, path: &[i32]) -> Option<Value> {
    let (column, inner) = path.split_first()?;
    let mut value = row.get(column)?.clone()?;
    for id in inner {
        value = of_field(&value, *id)?.clone();
    }
    Some(value)
}

/// A row of a file as a later schema of the table reads it (§ Column Projection).
///
/// # Panics
/// A column changed its type to one that it cannot be promoted to.
pub fn read_as(row: &Row, from: &Schema, to: &Schema) -> Row {
    let value = |f: &NestedField| match from.field_by_id(f.id) {
        Some(_) => row.get(&f.id).and_then(Option::as_ref).map(|v| read_value(v, f)),
        None => f.initial_default.clone(),
    };
    to.fields().iter().map(|f| (f.id, value(f))).collect()
}

fn read_value(value: &Value, to: &NestedField) -> Value {
    let (Value::Struct(stored), Type::Struct(fields)) = (value, &to.field_type) else {
        return promoted(value, &to.field_type).expect("a type that values can be promoted to");
    };
    let inner = |f: &NestedField| match stored.iter().find(|(id, _)| *id == f.id) {
        Some((_, value)) => (f.id, value.as_ref().map(|v| read_value(v, f))),
        None => (f.id, f.initial_default.clone()),
    };
    Value::Struct(fields.fields().iter().map(inner).collect())
}

/// The value after a promotion (§ Schema Evolution), `None` for nested types.
pub fn promoted(value: &Value, to: &Type) -> Option<Value> {
    use PrimitiveType as P;
    let Type::Primitive(to) = to else { return None };
    Some(match (value, to) {
        (Value::Int(v), P::Long) => Value::Long(i64::from(*v)),
        (Value::Int(v), P::Timestamp) => Value::Long(i64::from(*v) * MICROS_PER_DAY),
        (Value::Int(v), P::TimestampNs) => Value::Long(i64::from(*v) * MICROS_PER_DAY * 1000),
        (Value::Float(v), P::Double) => Value::Double(f64::from(*v)),
        (same, _) => same.clone(),
    })
}

/// The partition of a row; `None` where a value of it is out of range.
///
/// # Panics
/// The spec has a source that is no primitive column or field, or several.
pub fn partition_of(row: &Row, schema: &Schema, spec: &PartitionSpec) -> Option<PartitionTuple> {
    let value = |field: &PartitionField| {
        let source = field.source_id().expect("one source");
        let Some(source) = schema.field_by_id(source) else {
            // Only void fields outlive their column.
            return Some(None);
        };
        let of = source.field_type.as_primitive().expect("a primitive source");
        let value = value_at(row, &schema.path_to(source.id));
        let value = field.transform.apply(value.as_ref(), of).ok()?;
        // The lower multiple of the least decimals has a digit more.
        match (&value, of) {
            (Some(Value::Decimal(v)), PrimitiveType::Decimal { precision, .. }) => {
                (v.unsigned_abs() < 10u128.pow(u32::from(*precision))).then_some(value)
            }
            _ => Some(value),
        }
    };
    spec.fields().iter().map(value).collect()
}

//! Metrics of rows, as manifests hold them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use drumlin_format::manifest::ColumnMetricsBuilder;
use drumlin_format::metrics::{truncate_lower, truncate_upper};
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, Type};
use drumlin_format::value::Value;
use drumlin_format::value::bytes::to_bytes;

use crate::Row;
use crate::array::of_field;

/// All metrics of the primitive columns and fields of structs, by their values alone; bounds of strings and bytes are
/// cut to `bound_length` characters or bytes. The maps are there to be thinned out by tests.
///
/// Bounds leave NaN out and of two zeros take the lower one below and the upper one above (§ Manifests, notes on
/// bounds).
///
/// # Panics
/// A value is not of the type of its column.
pub fn of_rows(rows: &[Row], schema: &Schema, bound_length: usize) -> ColumnMetricsBuilder {
    let mut metrics = ColumnMetricsBuilder {
        column_sizes: Some(BTreeMap::new()),
        value_counts: Some(BTreeMap::new()),
        null_value_counts: Some(BTreeMap::new()),
        nan_value_counts: Some(BTreeMap::new()),
        lower_bounds: Some(BTreeMap::new()),
        upper_bounds: Some(BTreeMap::new()),
    };
    for field in schema.fields() {
        let values = rows
            .iter()
            .map(|r| r.get(&field.id).and_then(Option::as_ref))
            .collect();
        add(&mut metrics, field, values, bound_length);
    }
    metrics
}

fn add(metrics: &mut ColumnMetricsBuilder, field: &NestedField, values: Vec<Option<&Value>>, length: usize) {
    let primitive = match &field.field_type {
        Type::Primitive(primitive) => primitive,
        Type::Struct(inner) => {
            for field in inner.fields() {
                let values = values
                    .iter()
                    .map(|v| v.and_then(|v| of_field(v, field.id)))
                    .collect();
                add(metrics, field, values, length);
            }
            return;
        }
        _ => return,
    };
    let count = |n: usize| i64::try_from(n).expect("a count");
    let put = |map: &mut Option<BTreeMap<i32, i64>>, n| {
        map.get_or_insert_default().insert(field.id, count(n));
    };
    put(&mut metrics.value_counts, values.len());
    let present: Vec<&Value> = values.iter().flatten().copied().collect();
    put(&mut metrics.null_value_counts, values.len() - present.len());
    if primitive.is_floating() {
        let nan = present.iter().filter(|v| v.is_nan()).count();
        put(&mut metrics.nan_value_counts, nan);
    }
    let numbers = || present.iter().filter(|v| !v.is_nan()).copied().cloned();
    let lower = numbers().min_by(order).map(|v| truncate_lower(v, length));
    let upper = numbers().max_by(order).and_then(|v| truncate_upper(v, length));
    for (map, bound) in [
        (&mut metrics.lower_bounds, lower),
        (&mut metrics.upper_bounds, upper),
    ] {
        if let Some(bytes) = bound.and_then(|v| to_bytes(&v)) {
            map.get_or_insert_default().insert(field.id, bytes);
        }
    }
}

/// The order of values without NaN, -0.0 before 0.0.
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.total_cmp(b),
        (Value::Double(a), Value::Double(b)) => a.total_cmp(b),
        _ => a.compare(b).expect("values of one primitive type"),
    }
}

//! Metrics against those that are worked out row by row.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use drumlin_format::manifest::{ColumnMetricsBuilder, DataFile};
use drumlin_format::metrics::{MetricsMode, truncate_lower, truncate_upper};
use drumlin_format::schema::Schema;
use drumlin_format::sort::{NullOrder, SortDirection, SortField, SortOrder};
use drumlin_format::transform::Transform;
use drumlin_format::types::{NestedField, PrimitiveType as P, StructType, Type};
use drumlin_format::value::Value;
use drumlin_format::value::bytes::to_bytes;
use proptest::prelude::*;

use super::rows::{Random, Row, batch};
use super::{Arrangement, every_type, options, table, write, write_with};

/// Metrics but for sizes.
fn expected(schema: &Schema, rows: &[Row], mode: impl Fn(i32) -> MetricsMode) -> ColumnMetricsBuilder {
    let mut metrics = ColumnMetricsBuilder::default();
    for (place, field) in schema.fields().iter().enumerate() {
        let values = rows.iter().map(|row| row[place].clone()).collect();
        add(&mut metrics, field, values, &mode);
    }
    metrics
}

fn add(
    metrics: &mut ColumnMetricsBuilder,
    field: &NestedField,
    values: Vec<Option<Value>>,
    mode: &impl Fn(i32) -> MetricsMode,
) {
    let of = match &field.field_type {
        Type::Struct(of) => {
            for inner in of.fields() {
                let part = |value: &Option<Value>| match value {
                    Some(Value::Struct(parts)) => parts.iter().find(|(id, _)| *id == inner.id)?.1.clone(),
                    _ => None,
                };
                add(metrics, inner, values.iter().map(part).collect(), mode);
            }
            return;
        }
        Type::Primitive(P::Unknown) | Type::List(_) | Type::Map(_) => return,
        Type::Primitive(of) => of,
    };
    let mode = mode(field.id);
    if !mode.has_counts() {
        return;
    }
    let count = |n: usize| i64::try_from(n).unwrap();
    let present: Vec<&Value> = values.iter().flatten().collect();
    let put =
        |map: &mut Option<BTreeMap<i32, i64>>, n| map.get_or_insert_default().insert(field.id, count(n));
    put(&mut metrics.value_counts, values.len());
    put(&mut metrics.null_value_counts, values.len() - present.len());
    if of.is_floating() {
        put(
            &mut metrics.nan_value_counts,
            present.iter().filter(|v| v.is_nan()).count(),
        );
    }
    let bounded = !matches!(of, P::Variant | P::Geometry { .. } | P::Geography { .. });
    if !bounded || !mode.has_bounds() {
        return;
    }
    let order = |a: &&Value, b: &&Value| -> Ordering { a.compare(b).unwrap() };
    let numbers = || present.iter().copied().filter(|v| !v.is_nan());
    let zero = |v: &Value, zero: f64| match v {
        Value::Float(v) if *v == 0.0 => Value::Float(zero as f32),
        Value::Double(v) if *v == 0.0 => Value::Double(zero),
        v => v.clone(),
    };
    let length = mode.bound_length().unwrap_or(usize::MAX);
    if let Some(lower) = numbers().min_by(order) {
        let lower = to_bytes(&truncate_lower(zero(lower, -0.0), length)).unwrap();
        metrics
            .lower_bounds
            .get_or_insert_default()
            .insert(field.id, lower);
    }
    if let Some(upper) = numbers()
        .max_by(order)
        .and_then(|v| truncate_upper(zero(v, 0.0), length))
    {
        let upper = to_bytes(&upper).unwrap();
        metrics
            .upper_bounds
            .get_or_insert_default()
            .insert(field.id, upper);
    }
}

fn found(file: &DataFile) -> ColumnMetricsBuilder {
    let metrics = &file.column_metrics;
    let bounds = |id: i32, bytes: &[u8]| (id, bytes.to_vec());
    ColumnMetricsBuilder {
        column_sizes: None,
        value_counts: metrics.value_counts().map(Iterator::collect),
        null_value_counts: metrics.null_value_counts().map(Iterator::collect),
        nan_value_counts: metrics.nan_value_counts().map(Iterator::collect),
        lower_bounds: metrics
            .lower_bounds()
            .map(|b| b.map(|(id, b)| bounds(id, b)).collect()),
        upper_bounds: metrics
            .upper_bounds()
            .map(|b| b.map(|(id, b)| bounds(id, b)).collect()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn metrics_are_those_of_the_rows(
        seed in any::<u64>(),
        rows in 1_usize..120,
        nulls in prop_oneof![Just(0), Just(15), Just(95), Just(100)],
        mode in prop_oneof![Just("full"), Just("truncate(16)"), Just("truncate(1)"), Just("counts"), Just("none")],
        row_group_bytes in prop_oneof![Just(2_000), Just(1 << 27)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let table = table(every_type::schema().fields().to_vec())
                .with("write.metadata.metrics.default", mode)
                .with("write.parquet.row-group-size-bytes", row_group_bytes)
                .with("write.metadata.metrics.column.string", "truncate(3)")
                .with("write.metadata.metrics.column.struct.s", "full")
                .build();
            let schema = table.metadata().current_schema();
            let rows = Random(seed).rows(schema, rows, nulls);
            let batches: Vec<_> = rows.chunks(25).map(|rows| batch(schema, rows)).collect();
            let files = write(&table, Arrangement::Clustered, &batches).await.unwrap();
            let expected = expected(schema, &rows, |id| match schema.name_of(id).unwrap() {
                "string" => MetricsMode::Truncate(3),
                "struct.s" => MetricsMode::Full,
                _ => mode.parse().unwrap(),
            });
            assert_eq!(found(&files[0]), expected);
            // Sizes are known of all leaves, those of lists and maps too.
            let leaves = files[0].column_metrics.column_sizes().unwrap().count();
            assert_eq!(leaves, 24 + 3 + 2 + 1 + 2);
            let splits = files[0].split_offsets.clone().unwrap();
            assert_eq!(splits[0], 4);
            assert!(splits.is_sorted() && *splits.last().unwrap() < files[0].file_size_in_bytes);
        });
    }
}

#[test]
fn bounds_over_row_groups_are_bounds_of_all() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let table = table(vec![
            NestedField::optional(1, "d", P::Double),
            NestedField::optional(2, "s", P::String),
        ])
        .with("write.parquet.row-group-size-bytes", 1)
        .build();
        let schema = table.metadata().current_schema();
        let row = |d: Option<f64>, s: Option<&str>| -> Row {
            vec![d.map(Value::Double), s.map(|s| Value::String(s.into()))]
        };
        // Row groups of nothing but NaN, and of nothing but nulls.
        let groups = [
            vec![row(Some(f64::NAN), None); 70],
            vec![row(Some(0.0), Some("m")); 70],
            vec![row(None, Some("x")); 70],
            vec![row(Some(-5.5), Some("b")); 70],
        ];
        let batches: Vec<_> = groups.iter().map(|rows| batch(schema, rows)).collect();
        let files = write(&table, Arrangement::Clustered, &batches).await.unwrap();
        assert!(files[0].split_offsets.as_ref().unwrap().len() >= 4);
        let rows: Vec<Row> = groups.concat();
        assert_eq!(
            found(&files[0]),
            expected(schema, &rows, |_| MetricsMode::DEFAULT)
        );
    });
}

#[tokio::test]
async fn wide_tables_keep_metrics_of_their_first_columns() {
    let mut fields = vec![NestedField::optional(
        1000,
        "st",
        StructType::new(vec![NestedField::optional(1001, "inside", P::Int)]),
    )];
    fields.extend((1..=4).map(|i| NestedField::optional(i, format!("c{i}"), P::Int)));
    let mut wide = table(fields).with("write.metadata.metrics.max-inferred-column-defaults", 3);
    wide.sort = SortOrder {
        order_id: 1,
        fields: vec![SortField {
            source_ids: vec![4],
            transform: Transform::Identity,
            direction: SortDirection::Ascending,
            null_order: NullOrder::First,
        }],
    };
    let table = wide.build();
    let schema = table.metadata().current_schema();
    let rows = Random(5).rows(schema, 10, 0);
    let options = options(&table).sorted_by(1);
    let files = write_with(&table, options, Arrangement::Clustered, &[batch(schema, &rows)])
        .await
        .unwrap();
    let bounded: Vec<&str> = files[0]
        .column_metrics
        .lower_bounds()
        .unwrap()
        .map(|(id, _)| schema.name_of(id).unwrap())
        .collect();
    // Three by the property, and the column of the sort order.
    assert_eq!(bounded, ["c1", "c2", "c3", "c4"]);
    assert_eq!(files[0].sort_order_id, Some(1));
}

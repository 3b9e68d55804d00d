//! Partition values against those of single values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use drumlin_format::partition::{PartitionField, PartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::transform::Transform;
use drumlin_format::types::{NestedField, PrimitiveType as P, StructType, Type};
use drumlin_format::value::Value;

use super::rows::{Random, array, batch, value_of};
use crate::arrow::{struct_to_arrow, type_to_arrow};
use crate::write::partition_columns;

const TYPES: [P; 18] = [
    P::Boolean,
    P::Int,
    P::Long,
    P::Float,
    P::Double,
    P::Decimal {
        precision: 9,
        scale: 2,
    },
    P::Decimal {
        precision: 38,
        scale: 0,
    },
    P::Date,
    P::Time,
    P::Timestamp,
    P::Timestamptz,
    P::TimestampNs,
    P::TimestamptzNs,
    P::String,
    P::Uuid,
    P::Fixed(7),
    P::Binary,
    P::Unknown,
];

fn transforms() -> Vec<Transform> {
    vec![
        Transform::Identity,
        Transform::Bucket(1),
        Transform::Bucket(16),
        Transform::Bucket(1_000_003),
        Transform::Truncate(1),
        Transform::Truncate(10),
        Transform::Truncate(u32::MAX),
        Transform::Year,
        Transform::Month,
        Transform::Day,
        Transform::Hour,
        Transform::Void,
    ]
}

fn spec(transform: &Transform, source: i32) -> PartitionSpec {
    let field = PartitionField {
        source_ids: vec![source],
        field_id: 1000,
        name: "p".into(),
        transform: transform.clone(),
    };
    PartitionSpec::new(0, vec![field])
}

#[test]
fn columns_are_transformed_as_values_are() {
    let mut compared = 0;
    for of in TYPES {
        let schema = Schema::new(0, vec![NestedField::optional(1, "c", of.clone())], vec![]).unwrap();
        let mut random = Random(11);
        let rows = random.rows(&schema, 400, 10);
        for transform in transforms() {
            let spec = spec(&transform, 1);
            let Some(result) = transform.result_type(&of) else {
                let error = partition_columns(&schema, &spec, &batch(&schema, &rows)).unwrap_err();
                assert!(
                    error.to_string().contains("cannot take the column `c`"),
                    "{error}"
                );
                continue;
            };
            // A value whose result is out of range is an error; it takes the batch with it, so each is tried alone too.
            let (good, bad): (Vec<_>, Vec<_>) = rows
                .iter()
                .cloned()
                .partition(|row| transform.apply(row[0].as_ref(), &of).is_ok());
            for row in bad.iter().take(5) {
                let error = partition_columns(&schema, &spec, &batch(&schema, std::slice::from_ref(row)));
                let error = error.unwrap_err().to_string();
                assert!(error.contains("out of range") && error.contains("`c`"), "{error}");
            }
            let columns = partition_columns(&schema, &spec, &batch(&schema, &good)).unwrap();
            assert_eq!(
                columns[0].data_type(),
                &type_to_arrow(&result.clone().into(), true)
            );
            for (place, row) in good.iter().enumerate() {
                let expected = transform.apply(row[0].as_ref(), &of).unwrap();
                let found = value_of(&columns[0], place, &Type::Primitive(result.clone()));
                assert_eq!(
                    format!("{found:?}"),
                    format!("{expected:?}"),
                    "{transform} of {:?} ({of})",
                    row[0]
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 20_000, "{compared}");
}

#[test]
fn known_dates_and_hashes() {
    let schema = Schema::new(
        0,
        vec![
            NestedField::optional(1, "t", P::Timestamp),
            NestedField::optional(2, "s", P::String),
        ],
        vec![],
    );
    let schema = schema.unwrap();
    let row = |t: i64, s: &str| vec![Some(Value::Long(t)), Some(Value::String(s.into()))];
    let batch = batch(
        &schema,
        &[row(-1, "iceberg"), row(1_510_871_468_000_001, "iceberg")],
    );
    for (transform, source, expected) in [
        (Transform::Hour, 1, [-1, 419_686]),
        (Transform::Month, 1, [-1, 574]),
        (Transform::Year, 1, [-1, 47]),
        (Transform::Bucket(1 << 30), 2, [1_210_000_089 % (1 << 30); 2]),
    ] {
        let columns = partition_columns(&schema, &spec(&transform, source), &batch).unwrap();
        for (row, expected) in expected.into_iter().enumerate() {
            let found = value_of(&columns[0], row, &P::Int.into());
            assert_eq!(found, Some(Value::Int(expected)), "{transform}");
        }
    }
}

#[test]
fn fields_of_null_structs_are_null() {
    let inner = StructType::new(vec![NestedField::optional(2, "x", P::String)]);
    let arrow = struct_to_arrow(&inner);
    let schema = Schema::new(0, vec![NestedField::optional(1, "s", inner)], vec![]).unwrap();
    let text = |s: &str| Some(Value::String(s.into()));
    let values = array(&P::String.into(), &[text("a"), text("b"), None], false);
    let nulls = NullBuffer::from(vec![true, false, true]);
    let column: ArrayRef = Arc::new(StructArray::new(arrow, vec![values], Some(nulls)));
    let field = Field::new("s", column.data_type().clone(), true);
    let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(vec![field])), vec![column]).unwrap();
    let columns = partition_columns(&schema, &spec(&Transform::Identity, 2), &batch).unwrap();
    let found: Vec<_> = (0..3)
        .map(|row| value_of(&columns[0], row, &P::String.into()))
        .collect();
    assert_eq!(found, [text("a"), None, None]);
}

#[test]
fn unknown_transforms_are_refused_and_void_needs_no_column() {
    let schema = Schema::new(0, vec![NestedField::optional(1, "c", P::Int)], vec![]).unwrap();
    let batch = batch(&schema, &[vec![Some(Value::Int(1))]]);
    let error = partition_columns(&schema, &spec(&Transform::Unknown("zorder[3]".into()), 1), &batch);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("zorder[3]") && error.contains("`p`"), "{error}");
    let error = partition_columns(&schema, &spec(&Transform::Identity, 9), &batch).unwrap_err();
    assert!(error.to_string().contains("field 9"), "{error}");
    let columns = partition_columns(&schema, &spec(&Transform::Void, 9), &batch).unwrap();
    assert_eq!((columns[0].len(), columns[0].data_type()), (1, &DataType::Null));
}

#[test]
fn other_string_types_are_taken() {
    let schema = Schema::new(0, vec![NestedField::optional(1, "c", P::String)], vec![]).unwrap();
    let plain = batch(&schema, &[vec![Some(Value::String("iceberg".into()))]]);
    for other in [DataType::Utf8, DataType::LargeUtf8] {
        let column = cast(plain.column(0), &other).unwrap();
        let field = Field::new("c", other, true);
        let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(vec![field])), vec![column]).unwrap();
        let spec = spec(&Transform::Bucket(16), 1);
        let buckets = partition_columns(&schema, &spec, &batch).unwrap();
        assert_eq!(
            value_of(&buckets[0], 0, &P::Int.into()),
            Some(Value::Int(1_210_000_089 % 16))
        );
    }
}

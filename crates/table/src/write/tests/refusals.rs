//! Rows and tables that are refused, and schemas made of Arrow's.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema as ArrowSchema, TimeUnit};
use drumlin_format::schema::Schema;
use drumlin_format::transform::Transform;
use drumlin_format::types::{ListType, MapType, NestedField, PrimitiveType as P, StructType, Type};
use drumlin_format::value::Value;

use super::rows::{Random, batch, rows_of, text};
use super::{Arrangement, files_there, options, read, table, write, writer};
use crate::arrow::{schema_from_arrow, schema_to_arrow};
use crate::error::Error;
use crate::memory::UnlimitedMemory;
use crate::write::{TableFileWriter, WriteProgress};

/// A batch of one column, without field ids or nullability of the table.
fn of_column(column: ArrayRef) -> RecordBatch {
    let field = Field::new("other", column.data_type().clone(), true);
    RecordBatch::try_new(Arc::new(ArrowSchema::new(vec![field])), vec![column]).unwrap()
}

async fn refused(fields: Vec<NestedField>, batch: RecordBatch) -> String {
    let table = table(fields).build();
    let error = write(&table, Arrangement::Clustered, &[batch]).await.unwrap_err();
    assert!(matches!(error, Error::Row { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("`db.t`"), "{text}");
    text
}

#[tokio::test]
async fn nulls_in_required_columns_name_column_and_row() {
    let column = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, None]));
    let text = refused(vec![NestedField::required(1, "id", P::Int)], of_column(column)).await;
    assert!(text.contains("`id`") && text.contains("row 2 "), "{text}");
}

fn ints(values: Vec<Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}

fn structs(nulls: Vec<bool>, values: ArrayRef) -> ArrayRef {
    let fields = Fields::from(vec![Field::new("x", DataType::Int32, true)]);
    Arc::new(StructArray::new(
        fields,
        vec![values],
        Some(NullBuffer::from(nulls)),
    ))
}

fn lists(lengths: &[usize], nulls: Vec<bool>, values: ArrayRef) -> ArrayRef {
    let element = Arc::new(Field::new("item", values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(
        element,
        offsets,
        values,
        Some(NullBuffer::from(nulls)),
    ))
}

#[tokio::test]
async fn nulls_in_required_fields_of_structs_count_where_the_struct_is_there() {
    let inner = StructType::new(vec![NestedField::required(2, "x", P::Int)]);
    let fields = || vec![NestedField::optional(1, "s", inner.clone())];
    let column = structs(vec![true, false, true], ints(vec![Some(1), None, None]));
    let text = refused(fields(), of_column(column)).await;
    assert!(text.contains("`s.x`") && text.contains("row 2 "), "{text}");
    // Under a null struct there is nothing.
    let table = table(fields()).build();
    let column = structs(vec![true, false], ints(vec![Some(1), None]));
    let files = write(&table, Arrangement::Clustered, &[of_column(column)])
        .await
        .unwrap();
    assert_eq!(files[0].column_metrics.null_value_count(2), Some(1));
    let rows = rows_of(table.metadata().current_schema(), &read(&table, &files[0]).await);
    assert_eq!(text_of(&rows), "[Some(Struct([(2, Some(Int(1)))]))];[None]");
}

fn text_of(rows: &[super::rows::Row]) -> String {
    text(rows).join(";")
}

#[tokio::test]
async fn nulls_in_lists_name_the_row_of_the_list() {
    let inner = StructType::new(vec![NestedField::required(3, "x", P::Int)]);
    let fields = || {
        vec![NestedField::optional(
            1,
            "l",
            ListType::new(2, inner.clone(), true),
        )]
    };
    // Rows: [1], null (with an element that nobody sees), [], [2, null].
    let values = structs(vec![true; 4], ints(vec![Some(1), None, Some(2), None]));
    let column = lists(&[1, 1, 0, 2], vec![true, false, true, true], values);
    let text = refused(fields(), of_column(Arc::clone(&column))).await;
    assert!(
        text.contains("`l.element.x`") && text.contains("row 3 "),
        "{text}"
    );
    // A slice counts from its own start.
    let text = refused(fields(), of_column(column.slice(2, 2))).await;
    assert!(text.contains("row 1 "), "{text}");
    // Without the last row all is well.
    let table = table(fields()).build();
    write(&table, Arrangement::Clustered, &[of_column(column.slice(0, 3))])
        .await
        .unwrap();
    let values = structs(vec![true, false], ints(vec![Some(1), Some(1)]));
    let text = refused(fields(), of_column(lists(&[2], vec![true], values))).await;
    assert!(text.contains("`l.element`") && text.contains("row 0 "), "{text}");
}

#[tokio::test]
async fn other_types_and_numbers_of_columns_are_refused() {
    let columns = || vec![NestedField::optional(1, "id", P::Int)];
    let column = Arc::new(Int64Array::from(vec![1]));
    let text = refused(columns(), of_column(column.clone())).await;
    assert!(
        text.contains("`id` expects int") && text.contains("Int64"),
        "{text}"
    );
    let two = RecordBatch::try_from_iter([("a", column.clone() as ArrayRef), ("b", column)]).unwrap();
    let text = refused(columns(), two).await;
    assert!(text.contains("expected 1 columns, found 2"), "{text}");
}

#[test]
fn tables_without_stored_columns_are_refused() {
    let nothing = StructType::new(vec![NestedField::optional(3, "n", P::Unknown)]);
    for (fields, name) in [
        (
            vec![NestedField::optional(1, "u", P::Unknown)],
            "without a column",
        ),
        (
            vec![
                NestedField::required(1, "a", P::Int),
                NestedField::optional(2, "s", nothing),
            ],
            "`s`",
        ),
        (
            vec![
                NestedField::required(1, "a", P::Int),
                NestedField::optional(2, "l", ListType::new(3, P::Unknown, false)),
            ],
            "`l`",
        ),
    ] {
        let table = table(fields).build();
        let progress = Arc::new(WriteProgress::default());
        let options = options(&table);
        let writer = TableFileWriter::new(
            &table,
            options,
            Arrangement::FanOut,
            Arc::new(UnlimitedMemory),
            progress,
        );
        let error = writer.unwrap_err();
        assert!(
            matches!(&error, Error::Unsupported(reason) if reason.contains(name)),
            "{error}"
        );
    }
}

#[test]
fn specs_and_orders_of_no_table_are_refused() {
    let table = table(vec![NestedField::required(1, "a", P::Int)]).build();
    for options in [options(&table).with_spec_id(7), options(&table).sorted_by(7)] {
        let progress = Arc::new(WriteProgress::default());
        let writer = TableFileWriter::new(
            &table,
            options,
            Arrangement::FanOut,
            Arc::new(UnlimitedMemory),
            progress,
        );
        assert!(writer.unwrap_err().to_string().contains(" 7:"));
    }
}

#[tokio::test]
async fn errors_of_the_store_name_the_file() {
    // A file stands where the data folder should be.
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("data");
    std::fs::write(&blocked, "").unwrap();
    let table = table(vec![NestedField::required(1, "a", P::Int)])
        .with("write.data.path", blocked.to_str().unwrap())
        .build();
    let schema = table.metadata().current_schema();
    let mut writer = writer(&table, options(&table), Arrangement::Clustered);
    writer
        .write(&batch(schema, &Random(1).rows(schema, 10, 0)))
        .await
        .unwrap();
    let error = writer.finish().await.unwrap_err();
    assert!(matches!(error, Error::Store { .. }), "{error:?}");
    assert!(error.to_string().contains("00000-00000-"), "{error}");
}

#[tokio::test]
async fn a_writer_that_failed_gives_no_files() {
    let columns = vec![NestedField::required(1, "a", P::Int)];
    let table = table(columns).by(1, "a", Transform::Identity).build();
    let schema = table.metadata().current_schema();
    let mut writer = writer(&table, options(&table), Arrangement::Clustered);
    let row = |a| vec![Some(Value::Int(a))];
    writer.write(&batch(schema, &[row(1)])).await.unwrap();
    writer.write(&batch(schema, &[row(2), row(1)])).await.unwrap_err();
    let error = writer.write(&batch(schema, &[row(3)])).await.unwrap_err();
    assert!(error.to_string().contains("can only be aborted"), "{error}");
    writer.finish().await.unwrap_err();
    assert_eq!(files_there(&table).await, [""; 0]);
}

#[test]
fn schemas_of_arrow_keep_what_iceberg_has() {
    let schema = super::every_type::schema();
    let back = schema_from_arrow(&schema_to_arrow(&schema)).unwrap();
    let names = |schema: &Schema| {
        let mut fields: Vec<_> = schema
            .field_ids()
            .map(|id| {
                let field = schema.field_by_id(id).unwrap();
                (
                    schema.name_of(id).unwrap().to_string(),
                    field.required,
                    field.field_type.to_string(),
                )
            })
            .collect();
        fields.sort();
        fields
    };
    assert_eq!(names(&back), names(&schema));
    // Level by level.
    assert_eq!(back.field_by_name("map").unwrap().id, 29);
    assert_eq!(back.field_by_name("struct.f").unwrap().id, 30);
    assert_eq!(back.field_by_name("map.key").unwrap().id, 39);
    assert!(back.check_format_version(2).is_err());
}

#[test]
fn schemas_of_arrow_widen_to_the_types_of_iceberg() {
    let item = |of| Arc::new(Field::new("item", of, false));
    let entry = Fields::from(vec![
        Field::new("keys", DataType::Utf8, false),
        Field::new("values", DataType::Int8, true),
    ]);
    let int = Type::Primitive(P::Int);
    for (arrow, expected) in [
        (DataType::Int8, int.clone()),
        (DataType::UInt16, int),
        (DataType::UInt32, P::Long.into()),
        (DataType::Float16, P::Float.into()),
        (DataType::LargeUtf8, P::String.into()),
        (DataType::LargeBinary, P::Binary.into()),
        (DataType::Date64, P::Date.into()),
        (DataType::Time32(TimeUnit::Second), P::Time.into()),
        (DataType::Timestamp(TimeUnit::Second, None), P::Timestamp.into()),
        (
            DataType::Timestamp(TimeUnit::Millisecond, Some("+02:00".into())),
            P::Timestamptz.into(),
        ),
        (
            DataType::Timestamp(TimeUnit::Nanosecond, None),
            P::TimestampNs.into(),
        ),
        (
            DataType::Decimal256(38, 3),
            P::Decimal {
                precision: 38,
                scale: 3,
            }
            .into(),
        ),
        (DataType::Null, P::Unknown.into()),
        (
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            P::String.into(),
        ),
        (
            DataType::LargeList(item(DataType::Int16)),
            ListType::new(2, P::Int, true).into(),
        ),
        (
            DataType::FixedSizeList(item(DataType::Utf8), 3),
            ListType::new(2, P::String, true).into(),
        ),
        (
            DataType::Map(
                Arc::new(Field::new("entries", DataType::Struct(entry), false)),
                false,
            ),
            MapType::new(2, P::String, 3, P::Int, false).into(),
        ),
    ] {
        let schema = schema_from_arrow(&ArrowSchema::new(vec![Field::new("c", arrow, true)])).unwrap();
        assert_eq!(schema.fields(), [NestedField::optional(1, "c", expected)]);
    }
}

#[test]
fn schemas_of_arrow_refuse_by_name_what_iceberg_lacks() {
    for (arrow, part) in [
        (DataType::UInt64, "cast it to BIGINT"),
        (DataType::Interval(IntervalUnit::DayTime), "cast it"),
        (DataType::Duration(TimeUnit::Second), "cast it"),
        (DataType::Decimal256(50, 2), "38 digits"),
        (DataType::Decimal128(9, -2), "negative scale"),
        (DataType::Time64(TimeUnit::Nanosecond), "microseconds"),
    ] {
        let inner = Fields::from(vec![Field::new("x", arrow.clone(), true)]);
        let schema = ArrowSchema::new(vec![Field::new("s", DataType::Struct(inner), true)]);
        let error = schema_from_arrow(&schema).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)));
        let text = error.to_string();
        assert!(text.contains("`s.x`") && text.contains(part), "{text}");
    }
}

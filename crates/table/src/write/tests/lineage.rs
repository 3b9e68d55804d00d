//! Files that carry the lineage of their rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use drumlin_format::transform::Transform;
use drumlin_format::types::{NestedField, PrimitiveType as P};
use drumlin_format::value::Value;

use super::rows::{Random, batch, rows_of, text};
use super::{Arrangement, every_type, footer, options, read, table, write, write_with};
use crate::arrow::field_id;
use crate::error::Error;
use crate::memory::UnlimitedMemory;
use crate::table::Table;
use crate::write::row_lineage::{LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID};
use crate::write::{TableFileWriter, WriteOptions, WriteProgress};

type Lineage = (Option<i64>, Option<i64>);

/// The batch with the two columns behind it, under whatever names.
fn with_lineage(batch: &RecordBatch, lineage: &[Lineage]) -> RecordBatch {
    let ids: Int64Array = lineage.iter().map(|(id, _)| *id).collect();
    let numbers: Int64Array = lineage.iter().map(|(_, number)| *number).collect();
    let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new("r", DataType::Int64, true)));
    fields.push(Arc::new(Field::new("s", DataType::Int64, true)));
    let mut columns = batch.columns().to_vec();
    columns.extend([Arc::new(ids) as ArrayRef, Arc::new(numbers) as ArrayRef]);
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).unwrap()
}

/// The names of the two columns in a file, and what they hold.
fn lineage_of(batch: &RecordBatch) -> (Vec<String>, Vec<Lineage>) {
    let column = |id| {
        let schema = batch.schema();
        let place = schema.fields().iter().position(|f| field_id(f) == Some(id));
        let place = place.unwrap();
        assert!(schema.field(place).is_nullable());
        let values: Vec<Option<i64>> = batch.column(place).as_primitive::<Int64Type>().iter().collect();
        (schema.field(place).name().clone(), values)
    };
    let (id, ids) = column(ROW_ID);
    let (number, numbers) = column(LAST_UPDATED_SEQUENCE_NUMBER);
    (vec![id, number], ids.into_iter().zip(numbers).collect())
}

fn lineage(rows: usize) -> Vec<Lineage> {
    let mut random = Random(11);
    let row = |_| match random.below(4) {
        0 => (None, None),
        1 => (Some(i64::try_from(random.below(1 << 40)).unwrap()), None),
        _ => (Some(i64::try_from(random.below(1000)).unwrap()), Some(7)),
    };
    (0..rows).map(row).collect()
}

#[tokio::test]
async fn lineage_is_stored_behind_all_types() {
    let schema = every_type::schema();
    let rows = Random(5).rows(&schema, 700, 20);
    let batch = batch(&schema, &rows);
    let lineage = lineage(rows.len());
    let table = table(schema.fields().to_vec()).build();
    let carrying = options(&table).with_row_lineage();
    let with = [with_lineage(&batch, &lineage)];
    let files = write_with(&table, carrying, Arrangement::Clustered, &with)
        .await
        .unwrap();
    let [file] = files.as_slice() else {
        panic!("{files:?}")
    };
    let back = read(&table, file).await;
    assert_eq!(text(&rows_of(&schema, &back)), text(&rows));
    let (names, stored) = lineage_of(&back);
    assert_eq!(names, ["_row_id", "_last_updated_sequence_number"]);
    assert_eq!(stored, lineage);
    // The manifest says of the columns of the table what it says without lineage, and of the others nothing.
    let without = write(&table, Arrangement::Clustered, &[batch]).await.unwrap();
    assert_eq!(file.column_metrics, without[0].column_metrics);
    assert_eq!(file.record_count, without[0].record_count);
}

#[tokio::test]
async fn partitions_and_lineage_do_not_mix() {
    let fields = vec![
        NestedField::optional(1, "id", P::Long),
        NestedField::optional(2, "v", P::String),
    ];
    for arrangement in [Arrangement::FanOut, Arrangement::Clustered] {
        let table = table(fields.clone())
            .by(1, "p", Transform::Bucket(3))
            .with("write.metadata.metrics.max-inferred-column-defaults", 2)
            .build();
        let ids: Int64Array = (0..500).map(|i| Some(i / 100)).collect();
        let values: StringViewArray = (0..500).map(|i| Some(format!("v{i}"))).collect();
        let schema = crate::arrow::schema_to_arrow(table.schema());
        let columns: Vec<ArrayRef> = vec![Arc::new(ids), Arc::new(values)];
        let rows = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
        let all: Vec<Lineage> = (0..500).map(|i| (Some(i), Some(i % 3))).collect();
        // Runs of one partition each, so that both arrangements take them.
        let mut order: Vec<usize> = (0..5).collect();
        let bucket = |id: usize| {
            let id = Value::Long(i64::try_from(id).unwrap());
            format!("{:?}", Transform::Bucket(3).apply(Some(&id), &P::Long))
        };
        order.sort_by_key(|id| bucket(*id));
        let batches: Vec<RecordBatch> = order
            .iter()
            .map(|id| with_lineage(&rows.slice(id * 100, 100), &all[id * 100..(id + 1) * 100]))
            .collect();
        let options = options(&table).with_row_lineage();
        let files = write_with(&table, options, arrangement, &batches).await.unwrap();
        assert!(files.len() > 1, "{files:?}");
        let mut found = 0;
        for file in &files {
            let back = read(&table, file).await;
            let values = back.column_by_name("v").unwrap();
            let (_, stored) = lineage_of(&back);
            for (row, lineage) in stored.iter().enumerate() {
                let number = lineage.0.unwrap();
                let value = super::rows::value_of(values, row, &P::String.into());
                let expected = Value::String(format!("v{number}"));
                assert_eq!(value, Some(expected));
                assert_eq!(lineage.1, Some(number % 3));
                found += 1;
            }
            let metrics = &file.column_metrics;
            for id in [1, 2] {
                assert!(metrics.lower_bound(id).is_some(), "{metrics:?}");
            }
            for id in [ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER] {
                assert!(metrics.lower_bound(id).is_none() && metrics.value_count(id).is_none());
            }
            let names = footer(&table, file).await;
            let columns = names.file_metadata().schema_descr().num_columns();
            assert_eq!(columns, 4);
        }
        assert_eq!(found, 500);
    }
}

#[tokio::test]
async fn columns_of_the_same_names_are_other_columns() {
    let fields = vec![
        NestedField::optional(1, "_row_id", P::String),
        NestedField::required(2, "_last_updated_sequence_number", P::Int),
        NestedField::optional(3, "_row_id_", P::Int),
    ];
    let table = table(fields).build();
    let names: StringViewArray = [Some("a"), None].into_iter().collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(names),
        Arc::new(Int32Array::from(vec![1, 2])),
        Arc::new(Int32Array::from(vec![None, Some(3)])),
    ];
    let schema = crate::arrow::schema_to_arrow(table.schema());
    let rows = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    let lineage = [(Some(40), Some(4)), (Some(41), None)];
    let batches = [with_lineage(&rows, &lineage)];
    let options = options(&table).with_row_lineage();
    let files = write_with(&table, options, Arrangement::Clustered, &batches)
        .await
        .unwrap();
    let back = read(&table, &files[0]).await;
    let (names, stored) = lineage_of(&back);
    assert_eq!(names, ["_row_id__", "_last_updated_sequence_number_"]);
    assert_eq!(stored, lineage);
    let place = |id| {
        back.schema()
            .fields()
            .iter()
            .position(|f| field_id(f) == Some(id))
    };
    assert_eq!([1, 2, 3].map(place), [Some(0), Some(1), Some(2)]);
}

fn writer(table: &Table, options: WriteOptions) -> Result<TableFileWriter, Error> {
    let progress = Arc::new(WriteProgress::default());
    let memory = Arc::new(UnlimitedMemory);
    TableFileWriter::new(table, options, Arrangement::Clustered, memory, progress)
}

#[tokio::test]
async fn lineage_is_refused_where_it_cannot_be() {
    let fields = || vec![NestedField::optional(1, "id", P::Long)];
    let old = table(fields()).with("format-version", 2).build();
    let error = writer(&old, options(&old).with_row_lineage()).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("`db.t`") && text.contains("version 2"), "{text}");

    let table = table(fields()).build();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let int: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    for columns in [
        vec![("id", Arc::clone(&ids))],
        vec![("id", Arc::clone(&ids)), ("r", Arc::clone(&ids)), ("s", int)],
    ] {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = writer(&table, options(&table).with_row_lineage()).unwrap();
        let error = writer.write(&batch).await.unwrap_err();
        assert!(matches!(error, Error::Row { .. }), "{error:?}");
        writer.abort().await;
    }
    let three = RecordBatch::try_from_iter([("id", Arc::clone(&ids)), ("r", Arc::clone(&ids)), ("s", ids)]);
    let mut writer = writer(&table, options(&table)).unwrap();
    assert!(writer.write(&three.unwrap()).await.is_err());
    writer.abort().await;
}

//! Columns by field id, and columns that the scan makes: over row groups, splits, filters and limits.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Int32Array, Int64Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema as ArrowSchema};
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_table::arrow::schema_to_arrow;
use serde_json::json;

use crate::session::{extended, integers, register, rows};
use crate::written::{FIRST_ROW_ID, METADATA, Written};

/// The ways to read that must not change any answer.
pub fn configs() -> Vec<SessionConfig> {
    let mut all = Vec::new();
    for partitions in [1, 8] {
        for pushdown in [false, true] {
            for batch in [8192, 100] {
                let mut config = SessionConfig::new()
                    .with_target_partitions(partitions)
                    .with_batch_size(batch)
                    .with_repartition_file_min_size(0);
                config.options_mut().execution.parquet.pushdown_filters = pushdown;
                config.options_mut().execution.parquet.reorder_filters = pushdown;
                all.push(config);
            }
        }
    }
    all
}

/// What of a configuration is tried.
pub fn shown(config: &SessionConfig) -> String {
    let options = config.options();
    format!(
        "{} partitions, pushdown {}, batches of {:?}",
        options.execution.target_partitions,
        options.execution.parquet.pushdown_filters,
        options.execution.batch_size
    )
}

/// The fields of a type.
fn fields_of(of: &DataType) -> Fields {
    match of {
        DataType::Struct(fields) => fields.clone(),
        DataType::List(element) => Fields::from(vec![Arc::clone(element)]),
        DataType::Map(entries, _) => fields_of(entries.data_type()),
        other => panic!("{other} has no fields"),
    }
}

fn structs(of: &Field, columns: Vec<ArrayRef>) -> ArrayRef {
    Arc::new(StructArray::new(fields_of(of.data_type()), columns, None))
}

fn list(of: &Field, lengths: &[usize], elements: ArrayRef) -> ArrayRef {
    let element = Arc::clone(&fields_of(of.data_type())[0]);
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(element, offsets, elements, None))
}

fn map(of: &Field, lengths: &[usize], keys: ArrayRef, values: ArrayRef) -> ArrayRef {
    let DataType::Map(entries, _) = of.data_type() else {
        panic!("{of} is no map")
    };
    let stored = StructArray::new(fields_of(entries.data_type()), vec![keys, values], None);
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(MapArray::new(Arc::clone(entries), offsets, stored, None, false))
}

fn ints(values: impl IntoIterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

fn longs(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Two rows as the old schema has them, and two as the new one has them.
fn nested() -> Written {
    let old = json!({"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "id", "required": false, "type": "int"},
        {"id": 2, "name": "l", "required": false, "type": {"type": "list", "element-id": 3, "element-required": false,
            "element": {"type": "struct", "fields": [
                {"id": 4, "name": "a", "required": false, "type": "int"},
                {"id": 5, "name": "b", "required": false, "type": "string"}]}}},
        {"id": 6, "name": "m", "required": false, "type": {"type": "map", "key-id": 7, "key": "string",
            "value-id": 8, "value-required": false, "value": {"type": "struct", "fields": [
                {"id": 9, "name": "x", "required": false, "type": "int"},
                {"id": 10, "name": "y", "required": false, "type": "int"}]}}},
        {"id": 11, "name": "s", "required": false, "type": {"type": "struct", "fields": [
            {"id": 12, "name": "p", "required": false, "type": "int"},
            {"id": 13, "name": "q", "required": false, "type": {"type": "struct", "fields": [
                {"id": 14, "name": "r", "required": false, "type": "int"}]}}]}}
    ]});
    // In the list: b renamed and first, a promoted, c new. In the map: x dropped and its name taken by another, y
    // renamed, z new. In the struct: q first, its r renamed to p's old name, p renamed, t new.
    let new = json!({"type": "struct", "schema-id": 1, "fields": [
        {"id": 11, "name": "s", "required": false, "type": {"type": "struct", "fields": [
            {"id": 13, "name": "q", "required": false, "type": {"type": "struct", "fields": [
                {"id": 17, "name": "r", "required": false, "type": "int"},
                {"id": 14, "name": "p", "required": false, "type": "long"}]}},
            {"id": 12, "name": "pp", "required": false, "type": "int"},
            {"id": 18, "name": "t", "required": false, "type": {"type": "list", "element-id": 19,
                "element-required": false, "element": "int"}}]}},
        {"id": 1, "name": "id", "required": false, "type": "int"},
        {"id": 6, "name": "m", "required": false, "type": {"type": "map", "key-id": 7, "key": "string",
            "value-id": 8, "value-required": false, "value": {"type": "struct", "fields": [
                {"id": 15, "name": "x", "required": false, "type": "string"},
                {"id": 10, "name": "yy", "required": false, "type": "int"}]}}},
        {"id": 2, "name": "list", "required": false, "type": {"type": "list", "element-id": 3, "element-required": false,
            "element": {"type": "struct", "fields": [
                {"id": 5, "name": "bb", "required": false, "type": "string"},
                {"id": 16, "name": "c", "required": false, "type": "int"},
                {"id": 4, "name": "a", "required": false, "type": "long"}]}}}
    ]});
    let mut table = Written::new(2, vec![old, new]);
    let schema = Arc::new(as_stored(&schema_to_arrow(&table.schema(0))));
    let field = |name: &str| schema.field_with_name(name).unwrap().clone();
    let (l, m, s) = (field("l"), field("m"), field("s"));
    let (element, value) = (
        fields_of(l.data_type())[0].clone(),
        fields_of(m.data_type())[1].clone(),
    );
    let q = fields_of(s.data_type())[1].clone();
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        vec![
            ints([1, 2]),
            list(
                &l,
                &[2, 1],
                structs(&element, vec![ints([10, 11, 20]), texts(["b10", "b11", "b20"])]),
            ),
            map(
                &m,
                &[1, 2],
                texts(["k", "k", "k2"]),
                structs(&value, vec![ints([100, 200, 201]), ints([110, 210, 211])]),
            ),
            structs(
                &s,
                vec![ints([1000, 2000]), structs(&q, vec![ints([1001, 2001])])],
            ),
        ],
    )
    .unwrap();
    table.add(&batch, 1024);
    let schema = Arc::new(as_stored(&schema_to_arrow(&table.schema(1))));
    let field = |name: &str| schema.field_with_name(name).unwrap().clone();
    let (l, m, s) = (field("list"), field("m"), field("s"));
    let (element, value) = (
        fields_of(l.data_type())[0].clone(),
        fields_of(m.data_type())[1].clone(),
    );
    let (q, t) = (
        fields_of(s.data_type())[0].clone(),
        fields_of(s.data_type())[2].clone(),
    );
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        vec![
            structs(
                &s,
                vec![
                    structs(&q, vec![ints([3002, 4002]), longs([3001, 4001])]),
                    ints([3000, 4000]),
                    list(&t, &[2, 0], ints([3, 33])),
                ],
            ),
            ints([3, 4]),
            map(
                &m,
                &[1, 1],
                texts(["k", "k"]),
                structs(&value, vec![texts(["x300", "x400"]), ints([310, 410])]),
            ),
            list(
                &l,
                &[1, 0],
                structs(&element, vec![texts(["b30"]), ints([31]), longs([30])]),
            ),
        ],
    )
    .unwrap();
    table.add(&batch, 1024);
    table
}

/// Columns of strings as a writer has them: not as views.
fn as_stored(schema: &ArrowSchema) -> ArrowSchema {
    let field = |field: &FieldRef| match field.data_type() {
        DataType::Utf8View => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8)),
        _ => Arc::clone(field),
    };
    ArrowSchema::new(schema.fields().iter().map(field).collect::<Fields>())
}

#[tokio::test]
async fn nested_fields_are_found_by_id_with_and_without_pushdown() {
    let storage = nested().write().await;
    for config in configs() {
        let ctx = extended(&storage, config.clone());
        register(&ctx, &storage, "t", METADATA, false).await;
        let check = async |sql: &str, expected: &[&[&str]]| {
            assert_eq!(rows(&ctx, sql).await, expected, "{sql}: {}", shown(&config));
        };
        check(
            "SELECT id, list[1]['bb'], list[1]['c'], list[1]['a'], list[2]['a'] FROM t ORDER BY id",
            &[
                &["1", "b10", "-", "10", "11"],
                &["2", "b20", "-", "20", "-"],
                &["3", "b30", "31", "30", "-"],
                &["4", "-", "-", "-", "-"],
            ],
        )
        .await;
        check(
            "SELECT id, m['k']['x'], m['k']['yy'], m['k2']['yy'] FROM t ORDER BY id",
            &[
                &["1", "-", "110", "-"],
                &["2", "-", "210", "211"],
                &["3", "x300", "310", "-"],
                &["4", "x400", "410", "-"],
            ],
        )
        .await;
        check(
            "SELECT id, s['pp'], s['q']['p'], s['q']['r'], s['t'] FROM t ORDER BY id",
            &[
                &["1", "1000", "1001", "-", "-"],
                &["2", "2000", "2001", "-", "-"],
                &["3", "3000", "3001", "3002", "[3, 33]"],
                &["4", "4000", "4001", "4002", "[]"],
            ],
        )
        .await;
        // In filters, alone and with columns that may be pushed down.
        for (predicate, expected) in [
            ("s['pp'] > 1500", vec![2, 3, 4]),
            ("s['pp'] > 1500 AND id < 4", vec![2, 3]),
            ("s['q']['p'] = 3001", vec![3]),
            ("s['q']['r'] IS NULL", vec![1, 2]),
            ("s['q']['r'] IS NULL AND id = 2", vec![2]),
            ("s['t'] IS NULL", vec![1, 2]),
            ("list[1]['bb'] = 'b20' OR id = 4", vec![2, 4]),
            ("list[1]['a'] >= 20", vec![2, 3]),
            ("list[1]['c'] IS NOT NULL", vec![3]),
            ("m['k']['yy'] = 110", vec![1]),
            ("m['k']['x'] IS NULL", vec![1, 2]),
            ("m['k']['x'] = 'x400' AND s['pp'] = 4000", vec![4]),
            ("array_length(list) = 2", vec![1]),
            ("cardinality(m) = 2", vec![2]),
        ] {
            let sql = format!("SELECT id FROM t WHERE {predicate} ORDER BY id");
            let found: Vec<i64> = integers(&ctx, &sql).await.concat();
            assert_eq!(found, expected, "{sql}: {}", shown(&config));
        }
    }
}

/// Rows of each file of the table of [`positions`].
const ROWS: i64 = 5000;

/// Three files of many row groups and pages: `v` is the position plus 10,000 times the number of the file.
fn positions() -> Written {
    let schema = json!({"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "v", "required": false, "type": "long"},
        {"id": 2, "name": "name", "required": false, "type": "string"}
    ]});
    let mut table = Written::new(3, vec![schema]);
    let schema = Arc::new(as_stored(&schema_to_arrow(&table.schema(0))));
    for file in 0..3 {
        let v: Vec<i64> = (0..ROWS).map(|pos| file * 10_000 + pos).collect();
        let names: Vec<String> = v.iter().map(|v| format!("name {}", v % 13)).collect();
        let columns = vec![longs(v), texts(names.iter().map(String::as_str))];
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
        table.add(&batch, 400);
    }
    table
}

async fn positions_session(
    storage: &drumlin_table::storage::Storage,
    config: &SessionConfig,
) -> SessionContext {
    let ctx = extended(storage, config.clone());
    register(&ctx, storage, "t", METADATA, true).await;
    ctx
}

/// How many rows a query over the table gives; each must have the position and the row id that its value says.
async fn checked(ctx: &SessionContext, rest: &str) -> usize {
    let sql = format!("SELECT v, _pos, _row_id, _last_updated_sequence_number, _file FROM t {rest}");
    let found = rows(ctx, &sql).await;
    for row in &found {
        let number = |cell: usize| -> i64 { row[cell].parse().unwrap() };
        let v = number(0);
        let (file, pos) = (v / 10_000, v % 10_000);
        assert_eq!(number(1), pos, "{sql}: {row:?}");
        assert_eq!(number(2), FIRST_ROW_ID + file * ROWS + pos, "{sql}: {row:?}");
        assert_eq!(number(3), 1, "{sql}: {row:?}");
        assert_eq!(row[4], format!("s3://written/t/data/{file}.parquet"), "{sql}");
    }
    found.len()
}

#[tokio::test]
async fn positions_and_row_ids_survive_filters_splits_and_limits() {
    let storage = positions().write().await;
    for config in configs() {
        let ctx = positions_session(&storage, &config).await;
        for (rest, expected) in [
            ("", 15_000),
            ("WHERE v = 12345", 1),
            ("WHERE v >= 4990 AND v < 10010", 20),
            ("WHERE v % 1000 = 7", 15),
            ("WHERE name = 'name 5'", 1154),
            ("WHERE name = 'name 5' AND v > 22000", 231),
            ("WHERE name LIKE '%12' OR v = 3", 1154),
            ("WHERE _pos = 4321", 3),
            ("WHERE _pos BETWEEN 398 AND 401 AND v > 10000", 8),
            ("WHERE _row_id = 6000", 1),
            ("WHERE _row_id >= 15990", 10),
            ("WHERE _row_id % 5000 = 0 AND name IS NOT NULL", 3),
            ("WHERE _last_updated_sequence_number > 1", 0),
            ("WHERE _pos = 4321 OR v = 7", 4),
            ("WHERE _file LIKE '%/1.parquet' AND v % 100 = 1", 50),
            ("LIMIT 10", 10),
            ("LIMIT 7000", 7000),
            ("LIMIT 10 OFFSET 4995", 10),
            ("WHERE v >= 10123 LIMIT 10", 10),
            ("WHERE name = 'name 3' LIMIT 700", 700),
            ("WHERE _pos >= 4990 LIMIT 25", 25),
            ("WHERE _pos >= 4990 LIMIT 40", 30),
            ("ORDER BY v DESC LIMIT 5", 5),
            ("ORDER BY _pos DESC, v LIMIT 5", 5),
            ("ORDER BY _row_id LIMIT 5", 5),
            ("WHERE v < 20000 ORDER BY v DESC LIMIT 3", 3),
            ("WHERE v IN (SELECT v FROM t WHERE v % 4000 = 1)", 5),
        ] {
            assert_eq!(checked(&ctx, rest).await, expected, "{rest}: {}", shown(&config));
        }
        assert_eq!(
            integers(
                &ctx,
                "SELECT max(_pos), count(DISTINCT _row_id), min(_row_id) FROM t"
            )
            .await,
            [[ROWS - 1, 3 * ROWS, FIRST_ROW_ID]]
        );
        assert_eq!(
            integers(&ctx, "SELECT _pos FROM t WHERE v < 20000 ORDER BY v DESC LIMIT 3").await,
            [[4999], [4998], [4997]]
        );
        // Alone, and several times in one projection.
        assert_eq!(integers(&ctx, "SELECT _pos FROM t").await.len(), 15_000);
        assert_eq!(
            integers(
                &ctx,
                "SELECT _pos, _pos + 1, _row_id - _pos, v FROM t WHERE v = 20001"
            )
            .await,
            [[1, 2, 11_000, 20_001]]
        );
        assert_eq!(
            integers(
                &ctx,
                "SELECT count(*) FROM t a JOIN t b ON a._row_id = b._row_id AND a._pos = b._pos"
            )
            .await,
            [[15_000]]
        );
    }
}

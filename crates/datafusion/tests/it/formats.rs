//! A table whose files are in Parquet, Avro and ORC, written with an older schema.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema as ArrowSchema};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::prelude::SessionConfig;
use drumlin_datafusion::IcebergContextExt;
use drumlin_format::avro::{Codec, ContainerWriter, Encoder};
use drumlin_format::manifest::FileFormat;
use drumlin_table::arrow::FIELD_ID_KEY;
use orc_rust::ArrowWriterBuilder;
use serde_json::json;

use crate::conformance;
use crate::projection::{configs, shown};
use crate::session::{extended, integers, refusal, register, rows, says};
use crate::written::{FIRST_ROW_ID, METADATA, Written};

/// Rows of each file.
const ROWS: i32 = 3000;

/// The values of a file's row: `v`, and the name, which each seventh row has not.
fn values(file: i32, pos: i32) -> (i32, Option<String>) {
    let v = file * 10_000 + pos;
    (v, (v % 7 != 0).then(|| format!("name {}", v % 13)))
}

/// The rows of a file in Arrow, with or without field ids.
fn batch(file: i32, ids: bool) -> RecordBatch {
    let field = |name: &str, id: &str, data_type| {
        let id = ids.then(|| (FIELD_ID_KEY.to_string(), id.to_string()));
        Field::new(name, data_type, true).with_metadata(id.into_iter().collect())
    };
    let schema = ArrowSchema::new(vec![
        field("v", "1", DataType::Int32),
        field("name", "2", DataType::Utf8),
    ]);
    let v: ArrayRef = Arc::new(Int32Array::from_iter_values((0..ROWS).map(|p| values(file, p).0)));
    let names: ArrayRef = Arc::new(StringArray::from_iter((0..ROWS).map(|p| values(file, p).1)));
    RecordBatch::try_new(Arc::new(schema), vec![v, names]).unwrap()
}

fn avro(file: i32) -> Vec<u8> {
    let schema = json!({"type": "record", "name": "table", "fields": [
        {"name": "v", "type": ["null", "int"], "field-id": 1},
        {"name": "name", "type": ["null", "string"], "field-id": 2}
    ]});
    let mut writer = ContainerWriter::new(&schema.to_string(), Codec::Snappy, &[]);
    let mut encoder = Encoder::default();
    for pos in 0..ROWS {
        let (v, name) = values(file, pos);
        encoder.clear();
        encoder.optional(Some(v), |e, v| e.long(v.into()));
        encoder.optional(name, |e, name| e.bytes(name.as_bytes()));
        writer.record(encoder.as_slice()).unwrap();
    }
    writer.finish().unwrap()
}

fn orc(file: i32) -> Vec<u8> {
    let batch = batch(file, false);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriterBuilder::new(&mut bytes, batch.schema())
        .with_batch_size(500)
        .try_build()
        .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// A table of version 3: `name` was renamed, `v` promoted, `d` came with a default. The ORC file has no ids.
fn mixed() -> Written {
    let old = json!({"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "v", "required": false, "type": "int"},
        {"id": 2, "name": "name", "required": false, "type": "string"}
    ]});
    let new = json!({"type": "struct", "schema-id": 1, "fields": [
        {"id": 2, "name": "label", "required": false, "type": "string"},
        {"id": 1, "name": "v", "required": false, "type": "long"},
        {"id": 3, "name": "d", "required": true, "type": "int", "initial-default": 7, "write-default": 7},
        {"id": 4, "name": "none", "required": false, "type": "date"}
    ]});
    let mut table = Written::new(3, vec![old, new]);
    table.add(&batch(0, true), 400);
    table.add_bytes(FileFormat::Avro, usize::try_from(ROWS).unwrap(), avro(1));
    table.add_bytes(FileFormat::Orc, usize::try_from(ROWS).unwrap(), orc(2));
    table.change_metadata = |metadata| {
        let mapping = json!([{"field-id": 1, "names": ["v"]}, {"field-id": 2, "names": ["label", "name"]}]);
        metadata["properties"] = json!({"schema.name-mapping.default": mapping.to_string()});
    };
    table
}

/// The rows of a query, each of which must be right.
async fn checked(ctx: &datafusion::prelude::SessionContext, rest: &str) -> usize {
    let sql = format!(
        "SELECT label, v, d, none, _pos, _row_id, _last_updated_sequence_number, _file FROM t {rest}"
    );
    let found = rows(ctx, &sql).await;
    for row in &found {
        let number = |cell: usize| -> i64 { row[cell].parse().unwrap() };
        let v = number(1);
        let (file, pos) = (v / 10_000, v % 10_000);
        let ending = ["parquet", "avro", "orc"][usize::try_from(file).unwrap()];
        let name = values(0, i32::try_from(v).unwrap()).1;
        assert_eq!(row[0], name.unwrap_or_else(|| "-".to_string()), "{sql}: {row:?}");
        assert_eq!((number(2), row[3].as_str()), (7, "-"), "{sql}: {row:?}");
        assert_eq!(number(4), pos, "{sql}: {row:?}");
        assert_eq!(
            number(5),
            FIRST_ROW_ID + file * i64::from(ROWS) + pos,
            "{sql}: {row:?}"
        );
        assert_eq!(number(6), 1, "{sql}: {row:?}");
        assert_eq!(row[7], format!("s3://written/t/data/{file}.{ending}"), "{sql}");
    }
    found.len()
}

#[tokio::test]
async fn every_format_gives_the_same_rows_under_filters_splits_and_limits() {
    let storage = mixed().write().await;
    for config in configs() {
        let ctx = extended(&storage, config.clone());
        register(&ctx, &storage, "t", METADATA, true).await;
        for (rest, expected) in [
            ("", 9000),
            ("WHERE v = 12345", 1),
            ("WHERE v = 12344 OR v = 1344 OR v = 21344", 3),
            ("WHERE v >= 2990 AND v < 10010", 20),
            ("WHERE v % 1000 = 7", 9),
            ("WHERE label = 'name 5'", 594),
            ("WHERE label IS NULL AND v > 20000", 428),
            ("WHERE label LIKE '%12' AND v < 10000", 197),
            ("WHERE d = 7 AND none IS NULL", 9000),
            ("WHERE d <> 7 OR none IS NOT NULL", 0),
            ("WHERE d = 7 AND v = 20001", 1),
            ("WHERE _pos = 2321", 3),
            ("WHERE _pos BETWEEN 998 AND 1001 AND v > 10000", 8),
            ("WHERE _row_id = 6000", 1),
            ("WHERE _row_id >= 9990", 10),
            ("WHERE _last_updated_sequence_number > 1", 0),
            ("WHERE _file LIKE '%/1.avro' AND v % 100 = 1", 30),
            ("LIMIT 10", 10),
            ("LIMIT 7000", 7000),
            ("LIMIT 10 OFFSET 2995", 10),
            ("WHERE v >= 10123 LIMIT 10", 10),
            ("WHERE label = 'name 3' LIMIT 400", 400),
            ("WHERE _pos >= 2990 LIMIT 25", 25),
            ("WHERE _pos >= 2990 LIMIT 40", 30),
            ("ORDER BY v DESC LIMIT 5", 5),
            ("ORDER BY _pos DESC, v LIMIT 5", 5),
            ("WHERE v < 20000 ORDER BY v DESC LIMIT 3", 3),
            ("WHERE v IN (SELECT v FROM t WHERE v % 2000 = 1)", 6),
        ] {
            assert_eq!(checked(&ctx, rest).await, expected, "{rest}: {}", shown(&config));
        }
        let sql = "SELECT count(*), count(label), sum(v), min(v), max(v), max(_pos), sum(d) FROM t";
        let all = (0..3).flat_map(|file| (0..ROWS).map(move |pos| values(file, pos)));
        let (mut names, mut sum) = (0, 0);
        for (v, name) in all {
            names += i64::from(name.is_some());
            sum += i64::from(v);
        }
        assert_eq!(
            integers(&ctx, sql).await,
            [[9000, names, sum, 0, 22_999, 2999, 63_000]],
            "{}",
            shown(&config)
        );
        assert_eq!(
            integers(&ctx, "SELECT v FROM t WHERE v < 20000 ORDER BY v DESC LIMIT 3").await,
            [[12_999], [12_998], [12_997]]
        );
        assert_eq!(integers(&ctx, "SELECT _pos FROM t").await.len(), 9000);
    }
}

#[tokio::test]
async fn a_plan_can_run_twice() {
    let storage = mixed().write().await;
    let mut config = SessionConfig::new().with_target_partitions(4);
    config.options_mut().execution.parquet.pushdown_filters = true;
    let ctx = extended(&storage, config);
    register(&ctx, &storage, "t", METADATA, false).await;
    let frame = ctx.iceberg_sql("SELECT v FROM t WHERE v > 2990").await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    for _ in 0..2 {
        let plan = reset_plan_states(Arc::clone(&plan)).unwrap();
        let batches = datafusion::physical_plan::collect(plan, ctx.task_ctx())
            .await
            .unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 6009);
    }
}

#[tokio::test]
async fn files_without_ids_need_a_name_mapping() {
    let mut table = mixed();
    table.change_metadata = |_| {};
    let storage = table.write().await;
    let ctx = extended(&storage, SessionConfig::new());
    register(&ctx, &storage, "t", METADATA, true).await;
    for sql in ["SELECT v FROM t", "SELECT _pos, v FROM t"] {
        let error = refusal(&ctx, sql).await;
        says(&error, &["t/data/2.orc", "schema.name-mapping.default"]);
    }
}

/// The same for Parquet: the position that the reader makes has an id of its own, which says nothing of the file.
#[tokio::test]
async fn a_position_is_no_id_of_the_file() {
    let mut table = mixed();
    table.files.clear();
    table.add(&batch(0, false), 400);
    let storage = table.write().await;
    let ctx = extended(&storage, SessionConfig::new());
    register(&ctx, &storage, "t", METADATA, true).await;
    assert_eq!(
        integers(&ctx, "SELECT _pos, v FROM t WHERE v = 17").await,
        [[17, 17]]
    );
}

#[tokio::test]
async fn errors_name_the_file() {
    for place in [1, 2] {
        let mut table = mixed();
        let path = table.files[place].0.file_path.to_string();
        let bytes = &mut table.files[place].1;
        let middle = bytes.len() / 2;
        bytes.truncate(middle);
        let storage = table.write().await;
        let ctx = extended(&storage, SessionConfig::new());
        register(&ctx, &storage, "t", METADATA, false).await;
        let error = refusal(&ctx, "SELECT * FROM t").await;
        says(&error, &[&path, "shorter than the table says"]);
    }
    let mut table = mixed();
    table.files[1].0.file_path = "s3://written/t/data/gone.avro".into();
    table.files[1].1.clear();
    let storage = table.write().await;
    let (store, path) = storage.resolve("s3://written/t/data/gone.avro").unwrap();
    object_store::ObjectStoreExt::delete(&store, &path).await.unwrap();
    let ctx = extended(&storage, SessionConfig::new());
    register(&ctx, &storage, "t", METADATA, false).await;
    let error = refusal(&ctx, "SELECT * FROM t").await;
    says(&error, &["gone.avro", "snapshot 77"]);
}

/// Tables that Spark wrote: renamed and promoted fields, nested types, each in three formats.
#[tokio::test]
async fn tables_of_spark_in_three_formats() {
    let storage = conformance::storage();
    let location = {
        let folder = conformance::folder().join("format_mixed/metadata");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".metadata.json") && !name.starts_with('.'))
            .collect();
        files.sort();
        format!(
            "{}/format_mixed/metadata/{}",
            conformance::BUCKET,
            files.last().unwrap()
        )
    };
    for config in configs() {
        let ctx = extended(&storage, config.clone());
        register(&ctx, &storage, "t", &location, true).await;
        let found = rows(
            &ctx,
            "SELECT id, p['ex'], p['y'], f, d, dt, ts, tz, l[1], m['k'], map_values(im)[1], extra FROM t \
             WHERE f IS NOT NULL ORDER BY id",
        )
        .await;
        let mut expected = Vec::new();
        for id in [0, 10, 20] {
            let row = [
                id.to_string(),
                id.to_string(),
                "é".into(),
                "1.5".into(),
                "NaN".into(),
                "1960-01-01".into(),
                "1960-01-01T00:00:00.000001".into(),
                "2024-01-01T00:00:00.123456Z".into(),
                id.to_string(),
                format!("{id}.5"),
                "v".into(),
                "-".into(),
            ];
            expected.push(row.to_vec());
        }
        assert_eq!(found, expected, "{}", shown(&config));
        let sql = "SELECT id FROM t WHERE p['ex'] >= 10 AND tz > '2023-01-01T00:00:00Z' ORDER BY id";
        assert_eq!(integers(&ctx, sql).await, [[10], [20]], "{}", shown(&config));
        let sql = "SELECT id FROM t WHERE p IS NULL AND extra IS NULL ORDER BY id";
        assert_eq!(integers(&ctx, sql).await, [[1], [11], [21]], "{}", shown(&config));
    }
}

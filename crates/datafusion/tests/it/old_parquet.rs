//! Parquet files as old and foreign writers leave them: physical types that Iceberg does not write, and no field ids.

use std::sync::Arc;

use datafusion::parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type, Int96,
    Int96Type,
};
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use datafusion::parquet::schema::parser::parse_message_type;
use datafusion::prelude::SessionContext;
use drumlin_format::manifest::FileFormat;
use serde_json::{Value as Json, json};

use crate::projection::configs;
use crate::session::{extended, register, rows};
use crate::written::{METADATA, Written};

/// A Parquet file of this schema, whose columns `write` fills.
fn file(message: &str, write: impl FnOnce(&mut SerializedRowGroupWriter<'_, &mut Vec<u8>>)) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    write(&mut group);
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

/// Writes the next column.
macro_rules! column {
    ($group:expr, $type:ty, $values:expr, $definitions:expr, $repetitions:expr) => {{
        let mut column = $group.next_column().unwrap().unwrap();
        column
            .typed::<$type>()
            .write_batch($values, $definitions, $repetitions)
            .unwrap();
        column.close().unwrap();
    }};
}

/// A session for each way to read, with the table of this one file, whose columns are found by name.
async fn sessions(fields: Json, bytes: Vec<u8>, count: usize) -> Vec<SessionContext> {
    let mapping: Vec<Json> = fields
        .as_array()
        .unwrap()
        .iter()
        .map(|field| {
            let mut mapped = json!({"field-id": field["id"], "names": [field["name"]]});
            if let Some(id) = field["type"].get("element-id") {
                mapped["fields"] = json!([{"field-id": id, "names": ["element"]}]);
            }
            mapped
        })
        .collect();
    let schema = json!({"type": "struct", "schema-id": 0, "fields": fields,
        "doc": json!(mapping).to_string()});
    let mut table = Written::new(2, vec![schema]);
    table.add_bytes(FileFormat::Parquet, count, bytes);
    table.change_metadata = |metadata| {
        let mapping = metadata["schema"]["doc"].clone();
        metadata["properties"] = json!({"schema.name-mapping.default": mapping});
    };
    let storage = table.write().await;
    let mut sessions = Vec::new();
    for config in configs() {
        let ctx = extended(&storage, config);
        register(&ctx, &storage, "t", METADATA, false).await;
        sessions.push(ctx);
    }
    sessions
}

/// An old 96-bit timestamp: nanoseconds of the day and the Julian day.
fn int96(nanoseconds: u64, day: u32) -> Int96 {
    let mut value = Int96::new();
    let low = u32::try_from(nanoseconds & 0xffff_ffff).unwrap();
    value.set_data(low, u32::try_from(nanoseconds >> 32).unwrap(), day);
    value
}

#[tokio::test]
async fn timestamps_of_old_writers() {
    // 1970-01-02 00:00:00.000001, and 1500-01-01 23:00:00, which nanoseconds in 64 bits do not reach.
    let old = [int96(1000, 2_440_589), int96(23 * 3_600_000_000_000, 2_268_924)];
    let message = "message m { optional int96 a; optional int96 b; optional int64 c (TIMESTAMP_MILLIS); \
                   optional int64 d (TIMESTAMP_MILLIS); }";
    let bytes = file(message, |group| {
        column!(group, Int96Type, &old, Some(&[1, 1]), None);
        column!(group, Int96Type, &old, Some(&[1, 1]), None);
        column!(group, Int64Type, &[86_400_001, -1], Some(&[1, 1]), None);
        column!(group, Int64Type, &[86_400_001, -1], Some(&[1, 1]), None);
    });
    let fields = json!([
        {"id": 1, "name": "a", "required": false, "type": "timestamptz"},
        {"id": 2, "name": "b", "required": false, "type": "timestamp"},
        {"id": 3, "name": "c", "required": false, "type": "timestamp"},
        {"id": 4, "name": "d", "required": false, "type": "timestamptz"}
    ]);
    for ctx in sessions(fields, bytes, 2).await {
        assert_eq!(
            rows(&ctx, "SELECT a, b, c, d FROM t ORDER BY a DESC").await,
            [
                [
                    "1970-01-02T00:00:00.000001Z",
                    "1970-01-02T00:00:00.000001",
                    "1970-01-02T00:00:00.001",
                    "1970-01-02T00:00:00.001Z"
                ],
                [
                    "1500-01-01T23:00:00Z",
                    "1500-01-01T23:00:00",
                    "1969-12-31T23:59:59.999",
                    "1969-12-31T23:59:59.999Z"
                ]
            ]
        );
        // Bounds are of the file's unit.
        for (filter, expected) in [
            ("c > '1970-01-02T00:00:00.000999'", 1),
            ("c >= '1970-01-02T00:00:00.001001'", 0),
            ("c < '1969-12-31T23:59:59.999001'", 1),
            ("d = '1970-01-02T00:00:00.001Z'", 1),
            ("a < '1700-01-01T00:00:00Z'", 1),
            ("b > '1970-01-02T00:00:00'", 1),
        ] {
            let found = rows(&ctx, &format!("SELECT a FROM t WHERE {filter}")).await;
            assert_eq!(found.len(), expected, "{filter}");
        }
    }
}

#[tokio::test]
async fn decimals_of_any_physical_type() {
    let message = "message m { optional int32 a (DECIMAL(9,2)); optional int64 b (DECIMAL(9,2)); \
                   optional fixed_len_byte_array(16) c (DECIMAL(9,2)); optional binary d (DECIMAL(9,2)); \
                   optional int32 e (DECIMAL(5,2)); optional int64 f (DECIMAL(18,2)); }";
    let fixed = |value: i128| FixedLenByteArray::from(value.to_be_bytes().to_vec());
    let bytes = file(message, |group| {
        column!(group, Int32Type, &[12_345, -1], Some(&[1, 0, 1]), None);
        column!(group, Int64Type, &[12_345, -1], Some(&[1, 0, 1]), None);
        column!(
            group,
            FixedLenByteArrayType,
            &[fixed(12_345), fixed(-1)],
            Some(&[1, 0, 1]),
            None
        );
        let short = [ByteArray::from(vec![0x30, 0x39]), ByteArray::from(vec![0xff])];
        column!(group, ByteArrayType, &short, Some(&[1, 0, 1]), None);
        column!(group, Int32Type, &[12_345, -1], Some(&[1, 0, 1]), None);
        column!(group, Int64Type, &[12_345, -1], Some(&[1, 0, 1]), None);
    });
    let field = |id: i32, name: &str, precision: i32| json!({"id": id, "name": name, "required": false, "type": format!("decimal({precision}, 2)")});
    let fields = json!([
        field(1, "a", 9),
        field(2, "b", 9),
        field(3, "c", 9),
        field(4, "d", 9),
        field(5, "e", 30),
        field(6, "f", 38)
    ]);
    for ctx in sessions(fields, bytes, 3).await {
        assert_eq!(
            rows(
                &ctx,
                "SELECT a, b, c, d, e, f FROM t WHERE a IS NOT NULL ORDER BY a"
            )
            .await,
            [["-0.01"; 6], ["123.45"; 6]]
        );
        for column in ["a", "b", "c", "d", "e", "f"] {
            let sql = format!("SELECT a FROM t WHERE {column} > 100.5");
            assert_eq!(rows(&ctx, &sql).await, [["123.45"]], "{sql}");
            let sql = format!("SELECT a FROM t WHERE {column} = -0.01");
            assert_eq!(rows(&ctx, &sql).await, [["-0.01"]], "{sql}");
        }
    }
}

#[tokio::test]
async fn lists_of_two_levels() {
    let message = "message m { required int32 id; optional group l (LIST) { repeated int32 array; } \
                   repeated int32 r; }";
    let bytes = file(message, |group| {
        column!(group, Int32Type, &[1, 2, 3], None, None);
        // [1, 2], null, []
        column!(
            group,
            Int32Type,
            &[1, 2],
            Some(&[2, 2, 0, 1]),
            Some(&[0, 1, 0, 0])
        );
        // [7], [], [8, 9]
        column!(
            group,
            Int32Type,
            &[7, 8, 9],
            Some(&[1, 0, 1, 1]),
            Some(&[0, 0, 0, 1])
        );
    });
    let list = |id: i32, name: &str, element: i32, of: &str| {
        json!({"id": id, "name": name, "required": false, "type":
            {"type": "list", "element-id": element, "element-required": false, "element": of}})
    };
    let fields = json!([
        {"id": 1, "name": "id", "required": false, "type": "int"},
        list(2, "l", 3, "long"),
        list(4, "r", 5, "int")
    ]);
    for ctx in sessions(fields, bytes, 3).await {
        assert_eq!(
            rows(&ctx, "SELECT id, l, r, l[2] FROM t ORDER BY id").await,
            [
                ["1", "[1, 2]", "[7]", "2"],
                ["2", "-", "[]", "-"],
                ["3", "[]", "[8, 9]", "-"]
            ]
        );
        assert_eq!(rows(&ctx, "SELECT id FROM t WHERE r[1] = 8").await, [["3"]]);
    }
}

//! Attributes of types, and footers that lie.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Int64Array, RecordBatch, TimestampMicrosecondArray,
    TimestampNanosecondArray,
};
use arrow::datatypes::{Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType};
use arrow_schema::{DataType, TimeUnit};
use drumlin_format::manifest::FileFormat;
use orc_rust::ArrowWriterBuilder;

use super::footer::{Message, Value, put_varint};
use crate::data_file::tests::{ids, rows};

fn written(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriterBuilder::new(&mut bytes, batch.schema())
        .try_build()
        .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn put_bytes(to: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(to, field << 3 | 2);
    put_varint(to, u64::try_from(bytes.len()).unwrap());
    to.extend(bytes);
}

/// Footer and postscript of a file, and where the footer starts.
fn parts(file: &[u8]) -> (usize, Vec<u8>, Vec<u8>) {
    let postscript = file.len() - 1 - usize::from(*file.last().unwrap());
    let numbers = Message(&file[postscript..file.len() - 1]).filter_map(|f| match f.unwrap() {
        (1, Value::Number(n)) => Some(usize::try_from(n).unwrap()),
        _ => None,
    });
    let start = postscript - numbers.last().unwrap();
    (
        start,
        file[start..postscript].to_vec(),
        file[postscript..file.len() - 1].to_vec(),
    )
}

/// The file, which is not compressed, with what `change` makes of each type of its footer.
fn with_types(file: &[u8], change: impl Fn(usize, &mut Vec<u8>)) -> Vec<u8> {
    let (start, footer, postscript) = parts(file);
    let mut changed = Vec::new();
    let mut place = 0;
    for field in Message(&footer) {
        match field.unwrap() {
            (4, Value::Bytes(of_type)) => {
                let mut of_type = of_type.to_vec();
                change(place, &mut of_type);
                place += 1;
                put_bytes(&mut changed, 4, &of_type);
            }
            (number, Value::Bytes(bytes)) => put_bytes(&mut changed, number, bytes),
            (number, Value::Number(n)) => {
                put_varint(&mut changed, number << 3);
                put_varint(&mut changed, n);
            }
            (_, Value::Other) => panic!("a number of fixed size"),
        }
    }
    let mut all = file[..start].to_vec();
    all.extend(&changed);
    // The last of two values counts. The magic stays behind it: three bytes of tag, its length, three letters.
    let mut postscript = postscript;
    let magic = postscript.len() - 7;
    let mut length = vec![1 << 3];
    put_varint(&mut length, u64::try_from(changed.len()).unwrap());
    postscript.splice(magic..magic, length);
    let postscript_length = u8::try_from(postscript.len()).unwrap();
    all.extend(postscript);
    all.push(postscript_length);
    all
}

fn attribute(of_type: &mut Vec<u8>, key: &str, value: &str) {
    let mut pair = Vec::new();
    put_bytes(&mut pair, 1, key.as_bytes());
    put_bytes(&mut pair, 2, value.as_bytes());
    put_bytes(of_type, 7, &pair);
}

fn example() -> Vec<u8> {
    let ids: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&[7u8; 16][..]), None]));
    let fixed: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&b"abc"[..]), None]));
    let times: ArrayRef = Arc::new(Int64Array::from(vec![Some(86_399_999_999), None]));
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(-1_000_000_001), None]));
    let fine: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![
        Some(1_000_000_001_999),
        None,
    ]));
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![
        Some(-20_000_000_000_000_000),
        None,
    ]));
    written(vec![
        ("u", ids),
        ("f", fixed),
        ("t", times),
        ("n", nanos),
        ("fine", fine),
        ("old", micros),
    ])
}

#[tokio::test]
async fn attributes_say_what_a_type_is() {
    let file = with_types(&example(), |place, of_type| {
        if place > 0 {
            attribute(of_type, "iceberg.id", &(place * 10).to_string());
        }
        match place {
            1 => attribute(of_type, "iceberg.binary-type", "UUID"),
            2 => {
                attribute(of_type, "iceberg.binary-type", "FIXED");
                attribute(of_type, "iceberg.length", "3");
            }
            3 => attribute(of_type, "iceberg.long-type", "TIME"),
            4 => attribute(of_type, "iceberg.timestamp-unit", "NANOS"),
            _ => {}
        }
    });
    let batches = rows(file, FileFormat::Orc, 100).await.unwrap();
    let batch = &batches[0];
    let mut found = Vec::new();
    batch.schema().fields().iter().for_each(|f| ids(f, &mut found));
    assert_eq!(found, ["u:10", "f:20", "t:30", "n:40", "fine:50", "old:60"]);
    assert_eq!(batch.column(0).as_fixed_size_binary().value(0), [7; 16]);
    assert!(batch.column(0).is_null(1));
    assert_eq!(batch.column(1).as_fixed_size_binary().value(0), b"abc");
    let times = batch.column(2).as_primitive::<Time64MicrosecondType>();
    assert_eq!(times.value(0), 86_399_999_999);
    let nanos = batch.column(3).as_primitive::<TimestampNanosecondType>();
    assert_eq!(nanos.value(0), -1_000_000_001);
    // Without a unit: microseconds, cut where the file is finer, and far beyond what nanoseconds reach.
    for (place, expected) in [(4, 1_000_000_001), (5, -20_000_000_000_000_000)] {
        let column = batch.column(place);
        assert_eq!(
            column.data_type(),
            &DataType::Timestamp(TimeUnit::Microsecond, None)
        );
        let column = column.as_primitive::<TimestampMicrosecondType>();
        assert_eq!((column.value(0), column.is_null(1)), (expected, true));
    }
}

#[tokio::test]
async fn footers_that_lie_are_errors() {
    let error = async |file: Vec<u8>| {
        let read = rows(file, FileFormat::Orc, 100).await;
        let message = read.expect_err("an error").to_string();
        assert!(message.contains("s3://b/f"), "{message}");
        message
    };
    // A list that contains itself, which readers would follow for ever.
    let cyclic = with_types(&example(), |place, of_type| {
        if place == 4 {
            *of_type = vec![0x08, 10, 0x10, 4];
        }
    });
    assert!(error(cyclic).await.contains("cannot contain the type 4"));
    let fixed = with_types(&example(), |place, of_type| {
        if place == 1 {
            attribute(of_type, "iceberg.binary-type", "FIXED");
        }
    });
    assert!(error(fixed).await.contains("column `u`"));
    let wrong = with_types(&example(), |place, of_type| {
        if place == 1 {
            attribute(of_type, "iceberg.binary-type", "FIXED");
            attribute(of_type, "iceberg.length", "17");
        }
    });
    error(wrong).await;
    assert!(error(b"ORC".to_vec()).await.contains("no ORC file"));
    assert!(error(Vec::new()).await.contains("no ORC file"));
    let mut long = example();
    let length = long.len() - 1 - usize::from(*long.last().unwrap());
    // The length of the footer is the first number of the postscript.
    assert_eq!(long[length], 1 << 3);
    long[length + 1] = 0xff;
    error(long).await;
}

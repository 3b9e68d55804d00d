#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;

use super::*;

fn container(schema: &str, codec: Codec, records: &[&[u8]]) -> Vec<u8> {
    let mut writer = ContainerWriter::new(schema, codec, &[("a", "b".into())]);
    for record in records {
        writer.record(record).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn numbers_are_zigzag_varints() {
    for value in [0, -1, 1, 63, -64, 64, 1 << 40, i64::MAX, i64::MIN] {
        let mut encoder = Encoder::default();
        encoder.long(value);
        let mut decoder = Decoder::new(encoder.as_slice());
        assert_eq!(decoder.long().unwrap(), value);
        assert_eq!(decoder.remaining(), 0);
    }
    assert!(Decoder::new(&[0xff; 10]).long().is_err());
    assert!(Decoder::new(&[0x80; 5]).long().is_err());
    assert!(
        Decoder::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2])
            .long()
            .is_err()
    );
    assert!(Decoder::new(&[1, 1]).bytes().is_err());
}

#[test]
fn blocks_read_back_in_every_codec() {
    let record = [vec![0xa0, 0x9c, 0x01], vec![7; 10_000]].concat();
    let records = vec![record.as_slice(); 20];
    for codec in [Codec::Null, Codec::Deflate, Codec::Snappy, Codec::Zstandard] {
        let bytes = container("\"bytes\"", codec, &records);
        let container = Container::open(&bytes).unwrap();
        assert_eq!(container.codec(), codec);
        assert_eq!(container.text("a").unwrap(), Some("b"));
        let blocks = container.blocks().unwrap();
        assert_eq!(blocks.iter().map(|b| b.count).collect::<Vec<_>>(), [7, 7, 6]);
        let mut buffer = Vec::new();
        for block in blocks {
            let data = codec.inflate(block.data, &mut buffer).unwrap();
            let mut decoder = Decoder::new(data);
            for _ in 0..block.count {
                assert_eq!(decoder.bytes().unwrap(), [7; 10_000]);
            }
            assert_eq!(decoder.remaining(), 0);
        }
        // The other library reads the codecs that it is built with.
        if matches!(codec, Codec::Null | Codec::Deflate) {
            let rows: Vec<_> = apache_avro::Reader::new(bytes.as_slice()).unwrap().collect();
            assert!(rows.len() == 20 && rows.iter().all(Result::is_ok));
        }
    }
}

#[test]
fn bombs_and_broken_blocks_are_refused() {
    let zeros = vec![0; 80 << 20];
    let snappy = snap::raw::Encoder::new().compress_vec(&zeros).unwrap();
    let zstd = zstd::bulk::compress(&zeros, 3).unwrap();
    assert!(zstd.len() < 30_000);
    let mut buffer = Vec::new();
    let error = Codec::Zstandard.inflate(&zstd, &mut buffer).unwrap_err();
    assert!(error.to_string().contains("inflates to more"), "{error}");
    assert!(buffer.capacity() < 70 << 20);
    assert!(Codec::Snappy.inflate(&snappy, &mut buffer).is_err());
    // A length of 4 GiB, and nothing behind it.
    assert!(
        Codec::Snappy
            .inflate(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0], &mut buffer)
            .is_err()
    );
    let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    deflate.write_all(&[5; 1000]).unwrap();
    let deflate = deflate.finish().unwrap();
    assert_eq!(Codec::Deflate.inflate(&deflate, &mut buffer).unwrap(), [5; 1000]);
    for at in 0..deflate.len() - 1 {
        assert!(Codec::Deflate.inflate(&deflate[..at], &mut buffer).is_err());
    }
    let error = Codec::from_name("bzip2").unwrap_err().to_string();
    assert!(error.contains("bzip2"), "{error}");
}

#[test]
fn hostile_schemas_are_refused_quickly() {
    let nested = |depth: usize| format!("{}\"int\"{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Schema::parse(&nested(500)).is_err());
    let arrays = |depth: usize| {
        format!(
            "{}\"int\"{}",
            "{\"type\":\"array\",\"items\":".repeat(depth),
            "}".repeat(depth)
        )
    };
    assert!(Schema::parse(&arrays(20)).is_ok());
    assert!(Schema::parse(&arrays(100)).is_err());
    // Each record has the one before twice: 2^40 fields, none of which takes a byte.
    let mut doubling = String::from("{\"type\":\"record\",\"name\":\"r0\",\"fields\":[]}");
    for i in 1..40 {
        doubling = format!(
            "{{\"type\":\"record\",\"name\":\"r{i}\",\"fields\":[{{\"name\":\"a\",\"type\":{doubling}}},{{\"name\":\"b\",\"type\":\"r{}\"}}]}}",
            i - 1
        );
    }
    assert!(Schema::parse(&doubling).is_err());
    let own = r#"{"type":"record","name":"r","fields":[{"name":"a","type":"r"}]}"#;
    assert!(Schema::parse(own).is_err());
    for text in [
        "",
        "5",
        "\"nothing\"",
        "{}",
        "{\"type\":\"array\"}",
        "[[\"int\"]]",
        "{\"type\":\"fixed\",\"name\":\"f\",\"size\":-1}",
    ] {
        assert!(Schema::parse(text).is_err(), "{text}");
    }
}

#[test]
fn recursive_values_are_stepped_over_to_a_limit() {
    let schema = Schema::parse(
        r#"{"type":"record","name":"r","fields":[{"name":"next","type":["null","r"]},{"name":"x","type":"int"}]}"#,
    )
    .unwrap();
    let value = |depth: usize| [vec![2; depth], vec![0], vec![8; depth + 1]].concat();
    let skip = |bytes: &[u8]| {
        let mut decoder = Decoder::new(bytes);
        schema
            .skip(&mut decoder, schema.root())
            .map(|()| decoder.remaining())
    };
    assert_eq!(skip(&value(10)).unwrap(), 0);
    assert!(skip(&value(10)[1..20]).is_err());
    assert!(skip(&value(10_000)).is_err());
}

#[test]
fn items_that_take_no_bytes_are_not_counted_through() {
    let schema = Schema::parse(r#"{"type":"array","items":"null"}"#).unwrap();
    let mut encoder = Encoder::default();
    encoder.long(i64::MAX);
    encoder.long(0);
    let mut decoder = Decoder::new(encoder.as_slice());
    schema.skip(&mut decoder, schema.root()).unwrap();
    assert_eq!(decoder.remaining(), 0);
    assert!(Decoder::new(encoder.as_slice()).block_count(0).is_err());
}

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::deletion_vector::{DELETION_VECTOR_BLOB_TYPE, DeletionVector};

const EMPTY: &[u8] = b"PFA1PFA1{\"blobs\":[]}\x0c\0\0\0\0\0\0\0PFA1";

fn blob(compression: BlobCompression) -> BlobMetadata {
    BlobMetadata {
        blob_type: "test".into(),
        fields: vec![1, 2],
        snapshot_id: 7,
        sequence_number: 8,
        offset: 0,
        length: 0,
        compression,
        properties: [("a".to_string(), "b".to_string())].into(),
    }
}

fn file() -> (Vec<u8>, PuffinMetadata) {
    let mut writer = PuffinWriter::new();
    writer.set_property("created-by", "test");
    for compression in [BlobCompression::None, BlobCompression::Lz4, BlobCompression::Zstd] {
        writer.add(blob(compression), &[5; 3000]).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn the_empty_file_is_as_the_specification_has_it() {
    assert_eq!(PuffinWriter::new().finish().unwrap().0, EMPTY);
    assert_eq!(read_footer(EMPTY).unwrap(), PuffinMetadata::default());
    assert_eq!(footer_size(&EMPTY[20..], 32).unwrap(), 28);
    assert!(footer_size(&EMPTY[20..], 31).is_err());
}

#[test]
fn blobs_read_back() {
    let (bytes, metadata) = file();
    let size = bytes.len();
    let footer = footer_size(&bytes[size - 12..], size as u64).unwrap() as usize;
    let read = read_footer(&bytes[size - footer..]).unwrap();
    assert_eq!(read, metadata);
    assert_eq!(read_footer(&bytes).unwrap(), metadata);
    for blob in &read.blobs {
        let stored = &bytes[blob.offset as usize..(blob.offset + blob.length) as usize];
        assert_eq!(blob.decompress(stored).unwrap(), [5; 3000]);
        assert!(blob.decompress(&stored[1..]).is_err());
    }
    assert!(read.blobs[2].length < 100);
}

#[test]
fn compressed_footers_are_read_and_unknown_flags_refused() {
    let json = br#"{"blobs":[],"properties":{"created-by":"x"}}"#;
    let info = lz4_flex::frame::FrameInfo::new().content_size(Some(json.len() as u64));
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    std::io::Write::write_all(&mut encoder, json).unwrap();
    let payload = encoder.finish().unwrap();
    let with_flags = |flags: u32| {
        [
            b"PFA1PFA1".as_slice(),
            &payload,
            &(payload.len() as i32).to_le_bytes(),
            &flags.to_le_bytes(),
            b"PFA1",
        ]
        .concat()
    };
    assert_eq!(read_footer(&with_flags(1)).unwrap().properties["created-by"], "x");
    assert!(read_footer(&with_flags(0)).is_err());
    let error = read_footer(&with_flags(3)).unwrap_err().to_string();
    assert!(error.contains("flags 0x3"), "{error}");
}

#[test]
fn unknown_compression_is_refused_by_name() {
    let mut unknown = blob(BlobCompression::Other("brotli".into()));
    unknown.length = 3;
    let error = unknown.decompress(b"abc").unwrap_err().to_string();
    assert!(error.contains("brotli"), "{error}");
    assert!(PuffinWriter::new().add(unknown, b"abc").is_err());
}

#[test]
fn deletion_vectors_of_the_reference_implementation_are_read() {
    let tables = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../sql-tests/conformance/tables"
    ));
    let (mut vectors, mut others) = (0, 0);
    for table in std::fs::read_dir(tables).expect("the conformance tables") {
        for folder in ["data", "metadata"] {
            let Ok(files) = std::fs::read_dir(table.as_ref().unwrap().path().join(folder)) else {
                continue;
            };
            for path in files.map(|f| f.unwrap().path()) {
                if !path.extension().is_some_and(|e| e == "puffin" || e == "stats") {
                    continue;
                }
                let bytes = std::fs::read(&path).unwrap();
                for blob in read_footer(&bytes).unwrap().blobs {
                    let stored = &bytes[blob.offset as usize..(blob.offset + blob.length) as usize];
                    if blob.blob_type != DELETION_VECTOR_BLOB_TYPE {
                        assert!(!blob.decompress(stored).unwrap().is_empty());
                        others += 1;
                        continue;
                    }
                    let vector = DeletionVector::from_blob(stored).unwrap();
                    assert_eq!(vector.len().to_string(), blob.properties["cardinality"]);
                    assert_eq!(
                        DeletionVector::from_blob(&vector.to_blob().unwrap()).unwrap(),
                        vector
                    );
                    vectors += 1;
                }
            }
        }
    }
    assert!(vectors > 10 && others > 0, "{vectors} {others}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_files_never_panic(at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>(), keep: bool) {
        let (mut bytes, _) = file();
        // Most of the file is one blob of zeros: damage the rest.
        let at = bytes.len() - 1 - at.index(bytes.len() - 3004);
        bytes[at] = byte;
        if !keep {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(read) = read_footer(&bytes) {
            for blob in read.blobs {
                let end = blob.offset.saturating_add(blob.length) as usize;
                if let Some(stored) = bytes.get(blob.offset as usize..end) {
                    let _ = blob.decompress(stored);
                }
            }
        }
    }
}

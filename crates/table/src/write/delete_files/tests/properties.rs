//! Table properties, and what is refused.

use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaDataReader;

use super::{delete_files_there, rows_of, write};
use crate::error::Error;
use crate::transaction::tests::tables::{by_p, data_in};
use crate::write::{DeleteGranularity, DeleteWriteOptions};

#[tokio::test]
async fn invalid_values_name_property_value_and_expectation() {
    for (key, value, expected) in [
        ("write.delete.granularity", "table", "file, partition"),
        ("write.delete.target-file-size-bytes", "0", "above 0"),
        ("write.delete.target-file-size-bytes", "64MB", "a number of bytes"),
        ("write.delete.format.default", "csv", "parquet, avro, orc"),
        ("write.format.default", "csv", "parquet, avro, orc"),
        (
            "write.delete.parquet.compression-codec",
            "lzo",
            "zstd, gzip, snappy",
        ),
        ("write.delete.parquet.compression-level", "99", "1 to 22"),
        ("write.parquet.compression-level", "99", "1 to 22"),
        (
            "write.delete.parquet.row-group-size-bytes",
            "-1",
            "a number of bytes",
        ),
        ("write.delete.parquet.page-size-bytes", "", "a number of bytes"),
        ("write.delete.parquet.page-row-limit", "x", "a number of rows"),
        ("write.delete.parquet.dict-size-bytes", "0", "above 0"),
        ("write.parquet.dict-size-bytes", "0", "above 0"),
        ("write.object-storage.enabled", "on", "true or false"),
    ] {
        for version in 2..=3 {
            let (_, t) = by_p(version, &[(key, value)]).await;
            let error = DeleteWriteOptions::of(t.metadata()).unwrap_err();
            assert!(matches!(error, Error::Property { .. }), "{error}");
            let text = error.to_string();
            for part in [key, expected, &format!("`{value}`")] {
                assert!(text.contains(part), "{text} does not say {part}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_not_written_is_refused_by_name() {
    type Case<'a> = (u8, &'a [(&'a str, &'a str)], Option<&'a str>);
    let cases: [Case<'_>; 8] = [
        (
            2,
            &[("write.delete.format.default", "orc")],
            Some("write.delete.format.default"),
        ),
        (
            2,
            &[("write.format.default", "avro")],
            Some("write.format.default"),
        ),
        (
            2,
            &[
                ("write.format.default", "avro"),
                ("write.delete.format.default", "parquet"),
            ],
            None,
        ),
        (
            2,
            &[
                ("write.format.default", "parquet"),
                ("write.delete.format.default", "AVRO"),
            ],
            Some("write.delete.format.default"),
        ),
        // Vectors are in Puffin files whatever the format of others is.
        (3, &[("write.format.default", "avro")], None),
        (3, &[("write.delete.format.default", "orc")], None),
        (2, &[("encryption.key-id", "k")], Some("encryption.key-id")),
        (3, &[("encryption.key-id", "k")], Some("encryption.key-id")),
    ];
    for (version, properties, refused) in cases {
        let (_, t) = by_p(version, properties).await;
        match (DeleteWriteOptions::of(t.metadata()), refused) {
            (Ok(_), None) => {}
            (Err(Error::Unsupported(reason)), Some(key)) => assert!(reason.contains(key), "{reason}"),
            (other, _) => panic!("v{version} {properties:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn version_1_has_no_deletes() {
    let (_, t) = by_p(1, &[]).await;
    let error = write(&t, vec![rows_of(&data_in("a", 0, 1), [0])])
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Unsupported(_)), "{text}");
    for part in ["`t`", "'format-version'", "'copy-on-write'"] {
        assert!(text.contains(part), "{text} does not say {part}");
    }
}

#[tokio::test]
async fn deletes_that_are_none_or_two_are_refused() {
    for version in 2..=3 {
        let (_, t) = by_p(version, &[]).await;
        let (a, b) = (data_in("a", 0, 1), data_in("b", 0, 1));
        let mut other_spec = rows_of(&a, [1]);
        other_spec.spec_id = 9;
        for (rows, says) in [
            (
                vec![rows_of(&a, [1]), rows_of(&b, [1]), rows_of(&a, [2])],
                "twice",
            ),
            (vec![rows_of(&b, [1]), rows_of(&a, [])], "no row"),
            (vec![other_spec], "spec id 9"),
        ] {
            let error = write(&t, rows).await.unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains(says) && text.contains("`a`") && text.contains("`t`"),
                "{text}"
            );
            assert_eq!(delete_files_there(&t).await, [""; 0]);
        }
    }
}

/// The codec of a delete file by these properties.
async fn codec(properties: &[(&str, &str)]) -> Compression {
    let (_, t) = by_p(2, properties).await;
    let written = write(&t, vec![rows_of(&data_in("a", 0, 1), 0..1000)])
        .await
        .unwrap();
    let bytes = t.storage().read(&written[0].file_path).await.unwrap();
    let footer = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
    footer.row_group(0).column(1).compression()
}

#[tokio::test]
async fn properties_of_data_files_hold_where_those_of_delete_files_are_not_set() {
    assert!(matches!(codec(&[]).await, Compression::ZSTD(_)));
    let snappy = ("write.parquet.compression-codec", "snappy");
    assert_eq!(codec(&[snappy]).await, Compression::SNAPPY);
    let gzip = ("write.delete.parquet.compression-codec", "gzip");
    // A level of zstd is none of gzip.
    let level = ("write.parquet.compression-level", "20");
    assert!(matches!(
        codec(&[snappy, gzip, level]).await,
        Compression::GZIP(_)
    ));
    let (_, t) = by_p(2, &[("write.delete.granularity", "Partition")]).await;
    let options = DeleteWriteOptions::of(t.metadata()).unwrap();
    assert_eq!(options.granularity(), DeleteGranularity::Partition);
    assert_eq!(options.target_file_size_bytes(), 64 << 20);
    assert!(options.notes().is_empty());
}

//! Table properties.

use drumlin_format::types::{ListType, NestedField, PrimitiveType as P, StructType};
use drumlin_format::value::Value;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::ParquetMetaData;

use super::rows::{Random, batch};
use super::{Arrangement, TestTable, footer, options, table, write};
use crate::error::Error;
use crate::write::WriteOptions;
use crate::write::options::DistributionMode;

fn columns() -> TestTable {
    let inner = StructType::new(vec![NestedField::optional(4, "x.y", P::String)]);
    table(vec![
        NestedField::optional(1, "id", P::Long),
        NestedField::optional(2, "l", ListType::new(3, P::Int, false)),
        NestedField::optional(5, "s", inner),
    ])
}

async fn written(table: TestTable) -> ParquetMetaData {
    let table = table.build();
    let schema = table.metadata().current_schema();
    let rows = Random(1).rows(schema, 5_000, 0);
    let files = write(&table, Arrangement::Clustered, &[batch(schema, &rows)])
        .await
        .unwrap();
    footer(&table, &files[0]).await
}

#[test]
fn invalid_values_name_property_value_and_expectation() {
    for (key, value, expected) in [
        ("write.target-file-size-bytes", "0", "above 0"),
        ("write.target-file-size-bytes", "512MB", "a number of bytes"),
        ("write.parquet.row-group-size-bytes", "-1", "a number of bytes"),
        ("write.parquet.page-size-bytes", "", "a number of bytes"),
        ("write.parquet.page-row-limit", "x", "a number of rows"),
        ("write.parquet.dict-size-bytes", "0", "above 0"),
        ("write.parquet.compression-codec", "lzo", "zstd, gzip, snappy"),
        ("write.parquet.compression-level", "fast", "a whole number"),
        ("write.parquet.compression-level", "99", "1 to 22"),
        ("write.parquet.page-version", "v3", "v1, v2"),
        (
            "write.parquet.bloom-filter-enabled.column.id",
            "yes",
            "true or false",
        ),
        ("write.parquet.bloom-filter-fpp.column.id", "1", "between 0 and 1"),
        (
            "write.parquet.bloom-filter-fpp.column.nowhere",
            "NaN",
            "between 0 and 1",
        ),
        ("write.parquet.bloom-filter-ndv.column.id", "0", "above 0"),
        ("write.parquet.bloom-filter-max-bytes", "0", "above 0"),
        ("write.parquet.stats-enabled.column.id", "1", "true or false"),
        (
            "write.parquet.dict-encoding-enabled.column.id",
            "",
            "true or false",
        ),
        ("write.object-storage.enabled", "on", "true or false"),
        ("write.metadata.metrics.default", "all", "truncate"),
        ("write.metadata.metrics.column.id", "truncate(0)", "truncate"),
        (
            "write.metadata.metrics.max-inferred-column-defaults",
            "-3",
            "a number of columns",
        ),
        ("write.distribution-mode", "sorted", "none, hash, range"),
        ("write.format.default", "csv", "parquet, avro, orc"),
    ] {
        let table = columns().with(key, value).build();
        let error = WriteOptions::of(table.metadata()).unwrap_err();
        assert!(matches!(error, Error::Property { .. }), "{error}");
        let text = error.to_string();
        for part in [key, expected, &format!("`{value}`")] {
            assert!(text.contains(part), "{text} does not say {part}");
        }
    }
}

#[test]
fn what_is_not_written_is_refused_by_name() {
    for (key, value) in [("write.format.default", "orc"), ("encryption.key-id", "k")] {
        let table = columns().with(key, value).build();
        let error = WriteOptions::of(table.metadata()).unwrap_err();
        assert!(
            matches!(&error, Error::Unsupported(reason) if reason.contains(key)),
            "{error}"
        );
    }
}

#[test]
fn what_has_no_effect_is_told() {
    let keys = [
        ("write.location-provider.impl", "com.example.Provider"),
        ("write.parquet.bloom-filter-enabled.column.gone", "true"),
        ("write.parquet.stats-enabled.column.s", "false"),
        ("write.metadata.metrics.column.gone", "full"),
        ("write.parquet.shred-variants", "true"),
        ("write.parquet.compression-level", "3"),
    ];
    let mut table = columns().with("write.parquet.compression-codec", "snappy");
    for (key, value) in keys {
        table = table.with(key, value);
    }
    let options = options(&table.build());
    assert_eq!(options.notes().len(), keys.len(), "{:?}", options.notes());
    for (key, _) in keys {
        assert!(options.notes().iter().any(|note| note.contains(key)), "{key}");
    }
    assert!(super::options(&columns().build()).notes().is_empty());
}

#[test]
fn engines_find_how_rows_are_to_come() {
    let table = columns()
        .with("write.distribution-mode", "Hash")
        .with("write.spark.fanout.enabled", "true")
        .build();
    let options = options(&table);
    assert_eq!(options.distribution_mode(), Some(DistributionMode::Hash));
    assert!(options.fanout());
    assert_eq!(options.target_file_size_bytes(), 512 << 20);
}

#[tokio::test]
async fn codecs() {
    for (codec, level, expected) in [
        (None, None, "ZSTD(ZstdLevel(1))"),
        (Some("zstd"), Some("9"), "ZSTD"),
        (Some("GZIP"), Some("null"), "GZIP"),
        (Some("gzip"), Some("9"), "GZIP"),
        (Some("snappy"), None, "SNAPPY"),
        (Some("lz4"), None, "LZ4_RAW"),
        (Some("brotli"), Some("5"), "BROTLI"),
        (Some("uncompressed"), None, "UNCOMPRESSED"),
    ] {
        let mut table = columns();
        if let Some(codec) = codec {
            table = table.with("write.parquet.compression-codec", codec);
        }
        if let Some(level) = level {
            table = table.with("write.parquet.compression-level", level);
        }
        let footer = written(table).await;
        let found = format!("{:?}", footer.row_group(0).column(0).compression());
        assert!(
            found.starts_with(expected.split('(').next().unwrap()),
            "{codec:?}: {found}"
        );
        if codec == Some("uncompressed") {
            assert_eq!(
                footer.row_group(0).column(0).compression(),
                Compression::UNCOMPRESSED
            );
        }
    }
}

#[tokio::test]
async fn distinct_values_have_no_dictionary_unless_one_is_asked_for() {
    for (asked, expected) in [(None, false), (Some("true"), true), (Some("false"), false)] {
        let mut table = columns();
        if let Some(asked) = asked {
            table = table.with("write.parquet.dict-encoding-enabled.column.id", asked);
        }
        let footer = written(table).await;
        let mut encodings = footer.row_group(0).column(0).encodings();
        let found = encodings.any(|e| e == Encoding::RLE_DICTIONARY);
        assert_eq!(found, expected, "{asked:?}");
    }
}

#[tokio::test]
async fn settings_of_columns_reach_nested_ones() {
    let table = columns()
        .with("write.parquet.bloom-filter-enabled.column.id", "true")
        .with("write.parquet.bloom-filter-enabled.column.l.element", "true")
        .with("write.parquet.bloom-filter-max-bytes", "4096")
        .with("write.parquet.dict-encoding-enabled.column.id", "true")
        .with("write.parquet.dict-encoding-enabled.column.s.x.y", "false")
        .with("write.parquet.stats-enabled.column.s.x.y", "false")
        .with("write.parquet.page-row-limit", "1000");
    let footer = written(table).await;
    let columns = footer.row_group(0).columns();
    let blooms: Vec<Option<i32>> = columns.iter().map(|c| c.bloom_filter_length()).collect();
    assert!(blooms[0].is_some_and(|length| length <= 4096 + 64), "{blooms:?}");
    assert!(blooms[1].is_some_and(|length| length <= 4096 + 64), "{blooms:?}");
    assert_eq!(blooms[2], None);
    let dictionary = |place: usize| columns[place].encodings().any(|e| e == Encoding::RLE_DICTIONARY);
    assert!(dictionary(0) && !dictionary(2));
    assert!(columns[0].statistics().is_some());
    assert!(
        columns[2]
            .statistics()
            .is_none_or(|s| s.min_bytes_opt().is_none())
    );
    assert!(
        columns[0]
            .page_encoding_stats()
            .is_none_or(|pages| pages.iter().map(|p| p.count).sum::<i32>() >= 5)
    );
}

#[tokio::test]
async fn long_strings_do_not_fill_the_footer() {
    let table = table(vec![NestedField::optional(1, "s", P::String)]).build();
    let schema = table.metadata().current_schema();
    let rows = vec![vec![Some(Value::String("x".repeat(100_000)))]];
    let files = write(&table, Arrangement::Clustered, &[batch(schema, &rows)])
        .await
        .unwrap();
    let footer = footer(&table, &files[0]).await;
    let statistics = footer.row_group(0).column(0).statistics().unwrap();
    assert!(statistics.max_bytes_opt().unwrap().len() <= 68);
    let upper = files[0].column_metrics.upper_bound(1).unwrap();
    assert_eq!(upper, format!("{}y", "x".repeat(15)).as_bytes());
}

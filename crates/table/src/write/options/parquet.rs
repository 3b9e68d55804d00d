//! How Parquet files are written.

use std::collections::BTreeMap;

use drumlin_format::metrics::MetricsMode;
use drumlin_format::schema::Schema;
use drumlin_format::types::{PrimitiveType, Type};
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use crate::error::Result;
use crate::properties::{Properties, boolean};
use crate::write::shape::FileShape;

const CODEC: &str = "compression-codec";
const LEVEL: &str = "compression-level";

/// What the names of properties of data files start with.
const DATA: &str = "write.parquet.";

/// What the names of those of delete files start with, which have those of data files in their place where they are not set.
const DELETES: &str = "write.delete.parquet.";

/// The level of zstd where no property says one.
const DEFAULT_ZSTD_LEVEL: i32 = 3;

/// The most rows of a row group, whatever its bytes: what other writers of Arrow take, and what leaves a scan something
/// to divide.
const MAX_ROW_GROUP_ROWS: usize = 1 << 20;

/// Finds the property that says a setting, by the end of its name.
type Key<'a> = &'a dyn Fn(&Properties<'_>, &str) -> String;

/// Settings of Parquet files, in bytes where they are sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct ParquetSettings {
    /// A row group is closed when it has so many bytes.
    pub row_group_bytes: usize,
    page_bytes: usize,
    page_rows: usize,
    dictionary_bytes: usize,
    compression: Compression,
    version: WriterVersion,
    bloom_max_bytes: u64,
    by_id: BTreeMap<i32, ColumnSettings>,
}

/// What properties say about one column.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ColumnSettings {
    bloom: bool,
    fpp: Option<f64>,
    ndv: Option<u64>,
    no_statistics: bool,
    /// Whether there is a dictionary; `None` leaves it to the values.
    dictionary: Option<bool>,
}

impl ParquetSettings {
    /// By the table's properties for data files.
    pub fn of(properties: &mut Properties<'_>, schema: &Schema) -> Result<Self> {
        let mut settings = Self::of_all_columns(properties, &|_, name| format!("{DATA}{name}"))?;
        settings.read_columns(properties, schema)?;
        if properties.boolean("write.parquet.shred-variants", false)? {
            let note = "`write.parquet.shred-variants` has no effect: variants are written unshredded";
            properties.notes.push(note.to_string());
        }
        Ok(settings)
    }

    /// By the table's properties for position delete files, whose columns are none of the table's.
    pub fn of_deletes(properties: &mut Properties<'_>) -> Result<Self> {
        Self::of_all_columns(properties, &|properties, name| {
            let is_set = |name: &str| properties.text(&format!("{DELETES}{name}")).is_some();
            // A level of the codec of data files says nothing to another codec.
            match is_set(name) || (name == LEVEL && is_set(CODEC)) {
                true => format!("{DELETES}{name}"),
                false => format!("{DATA}{name}"),
            }
        })
    }

    /// By properties whose names `key` knows.
    fn of_all_columns(properties: &mut Properties<'_>, key: Key<'_>) -> Result<Self> {
        let bytes = |properties: &Properties<'_>, name: &str, default| {
            properties.positive(&key(properties, name), default, "bytes")
        };
        let version = [
            ("v1", WriterVersion::PARQUET_1_0),
            ("v2", WriterVersion::PARQUET_2_0),
        ];
        let version = properties.one_of(&key(properties, "page-version"), &version)?;
        let page_rows = key(properties, "page-row-limit");
        Ok(Self {
            row_group_bytes: bytes(properties, "row-group-size-bytes", 128 << 20)?,
            page_bytes: bytes(properties, "page-size-bytes", 1 << 20)?,
            page_rows: properties.positive(&page_rows, 20_000, "rows")?,
            dictionary_bytes: bytes(properties, "dict-size-bytes", 2 << 20)?,
            compression: compression(properties, key)?,
            version: version.unwrap_or(WriterVersion::PARQUET_1_0),
            bloom_max_bytes: properties.positive("write.parquet.bloom-filter-max-bytes", 1 << 20, "bytes")?,
            by_id: BTreeMap::new(),
        })
    }

    fn read_columns(&mut self, properties: &mut Properties<'_>, schema: &Schema) -> Result<()> {
        type Set = fn(&mut ColumnSettings, &str, &str) -> Result<()>;
        let settings: [(&str, Set); 5] = [
            (
                "write.parquet.bloom-filter-enabled.column.",
                |column, key, value| {
                    column.bloom = boolean(key, value)?;
                    Ok(())
                },
            ),
            ("write.parquet.bloom-filter-fpp.column.", |column, key, value| {
                let fpp = value.trim().parse().ok().filter(|fpp| *fpp > 0.0 && *fpp < 1.0);
                let wrong = || Properties::wrong(key, value, "a probability between 0 and 1, both excluded");
                column.fpp = Some(fpp.ok_or_else(wrong)?);
                Ok(())
            }),
            ("write.parquet.bloom-filter-ndv.column.", |column, key, value| {
                let ndv = value.trim().parse().ok().filter(|ndv| *ndv > 0);
                let wrong = || Properties::wrong(key, value, "a number of distinct values above 0");
                column.ndv = Some(ndv.ok_or_else(wrong)?);
                Ok(())
            }),
            ("write.parquet.stats-enabled.column.", |column, key, value| {
                column.no_statistics = !boolean(key, value)?;
                Ok(())
            }),
            (
                "write.parquet.dict-encoding-enabled.column.",
                |column, key, value| {
                    column.dictionary = Some(boolean(key, value)?);
                    Ok(())
                },
            ),
        ];
        for (prefix, set) in settings {
            for (key, name, value) in properties.by_column(prefix).collect::<Vec<_>>() {
                let field = schema.field_by_name(name);
                let field = field.filter(|f| matches!(f.field_type, Type::Primitive(_)));
                // A wrong value is an error even where it has no effect.
                let mut nowhere = ColumnSettings::default();
                let column = match field {
                    Some(field) => self.by_id.entry(field.id).or_default(),
                    None => {
                        let note =
                            format!("`{key}` names no column that has values of its own and has no effect");
                        properties.notes.push(note);
                        &mut nowhere
                    }
                };
                set(column, key, value)?;
            }
        }
        Ok(())
    }

    /// Whether a property says that a column has a dictionary, or that it has none.
    pub fn says_of_dictionary(&self, field_id: i32) -> bool {
        let column = self.by_id.get(&field_id);
        column.is_some_and(|column| column.dictionary.is_some())
    }

    /// The settings for files of this shape; `modes` are the metrics modes of its leaves.
    pub fn writer_properties(&self, shape: &FileShape, modes: &[MetricsMode]) -> WriterProperties {
        let mut builder = WriterProperties::builder()
            .set_writer_version(self.version)
            .set_compression(self.compression)
            .set_max_row_group_bytes(Some(self.row_group_bytes))
            .set_max_row_group_row_count(Some(MAX_ROW_GROUP_ROWS))
            .set_data_page_size_limit(self.page_bytes)
            .set_data_page_row_count_limit(self.page_rows)
            .set_dictionary_page_size_limit(self.dictionary_bytes)
            .set_statistics_truncate_length(statistics_length(shape, modes));
        for leaf in &shape.leaves {
            let Some(column) = self.by_id.get(&leaf.field_id) else {
                continue;
            };
            let path = || leaf.path.clone();
            if column.no_statistics {
                builder = builder.set_column_statistics_enabled(path(), EnabledStatistics::None);
            }
            if column.dictionary == Some(false) {
                builder = builder.set_column_dictionary_enabled(path(), false);
            }
            if column.bloom {
                let fpp = column.fpp.unwrap_or(0.01);
                builder = builder
                    .set_column_bloom_filter_enabled(path(), true)
                    .set_column_bloom_filter_fpp(path(), fpp)
                    .set_column_bloom_filter_max_ndv(path(), self.bloom_ndv(column.ndv, fpp));
            }
        }
        builder.build()
    }

    /// The number of distinct values that a bloom filter is made for, so that it has at most the bytes that it may have:
    /// `bits = -8 · ndv / ln(1 - fpp^(1/8))`, rounded up to a power of two.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    fn bloom_ndv(&self, ndv: Option<u64>, fpp: f64) -> u64 {
        let bytes = match self.bloom_max_bytes.checked_next_power_of_two() {
            Some(power) if power > self.bloom_max_bytes => power / 2,
            Some(power) => power,
            None => 1 << 63,
        };
        let most = (bytes as f64 * -(1.0 - fpp.powf(1.0 / 8.0)).ln()) as u64;
        ndv.unwrap_or(MAX_ROW_GROUP_ROWS as u64).min(most).max(1)
    }
}

/// How many bytes of bounds the footer has to hold so that bounds of the wanted lengths can be made of them: one character
/// more than wanted, so that what was cut is known to be cut. `None` is all of them.
fn statistics_length(shape: &FileShape, modes: &[MetricsMode]) -> Option<usize> {
    let mut length = 64;
    for (leaf, mode) in shape.leaves.iter().zip(modes) {
        let cut = matches!(
            leaf.primitive,
            PrimitiveType::String | PrimitiveType::Binary | PrimitiveType::Fixed(_)
        );
        match mode {
            MetricsMode::Full if cut && !leaf.repeated => return None,
            MetricsMode::Truncate(wanted) if cut && !leaf.repeated => {
                length = length.max(wanted.checked_add(1)?.checked_mul(4)?);
            }
            _ => {}
        }
    }
    Some(length)
}

fn compression(properties: &mut Properties<'_>, key: Key<'_>) -> Result<Compression> {
    let level_key = key(properties, LEVEL);
    let codecs = [
        ("zstd", Compression::ZSTD(ZstdLevel::default())),
        ("gzip", Compression::GZIP(GzipLevel::default())),
        ("snappy", Compression::SNAPPY),
        ("lz4", Compression::LZ4_RAW),
        ("lz4_raw", Compression::LZ4_RAW),
        ("brotli", Compression::BROTLI(BrotliLevel::default())),
        ("uncompressed", Compression::UNCOMPRESSED),
        ("none", Compression::UNCOMPRESSED),
    ];
    let codec = properties.one_of(&key(properties, CODEC), &codecs)?;
    let codec = codec.unwrap_or(Compression::ZSTD(ZstdLevel::default()));
    let level = properties.parsed::<i32>(&level_key, "a whole number")?;
    let text = properties.text(&level_key).unwrap_or_default();
    let wrong = |expected: &str| Properties::wrong(&level_key, text, expected);
    let unsigned = |level: i32| u32::try_from(level).unwrap_or(u32::MAX);
    Ok(match (codec, level) {
        (Compression::ZSTD(_), level) => {
            let level = ZstdLevel::try_new(level.unwrap_or(DEFAULT_ZSTD_LEVEL));
            Compression::ZSTD(level.map_err(|_| wrong("a level of zstd, 1 to 22"))?)
        }
        (Compression::GZIP(_), Some(level)) => {
            let level = GzipLevel::try_new(unsigned(level));
            Compression::GZIP(level.map_err(|_| wrong("a level of gzip, 0 to 9"))?)
        }
        (Compression::BROTLI(_), Some(level)) => {
            let level = BrotliLevel::try_new(unsigned(level));
            Compression::BROTLI(level.map_err(|_| wrong("a level of brotli, 0 to 11"))?)
        }
        (Compression::GZIP(_) | Compression::BROTLI(_), None) => codec,
        (codec, Some(_)) => {
            let note = format!("`{level_key}` has no effect: {codec} has no levels");
            properties.notes.push(note);
            codec
        }
        (codec, None) => codec,
    })
}

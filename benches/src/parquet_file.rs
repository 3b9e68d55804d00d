//! Writing Parquet files, and what manifests say about one, from its footer.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::Schema as ArrowSchema;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use datafusion::parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};
use datafusion::parquet::file::statistics::Statistics;
use drumlin_format::manifest::{ColumnMetrics, ColumnMetricsBuilder, DataContent, DataFile, FileFormat};
use drumlin_format::metrics::{MetricsMode, truncate_lower, truncate_upper};
use drumlin_format::partition::PartitionTuple;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType, Type};
use drumlin_format::value::Value;
use drumlin_format::value::bytes::to_bytes;

use crate::Result;
use crate::iceberg_table::text;

/// Rows of a row group.
const ROW_GROUP_ROWS: usize = 262_144;

/// Starts a file of Zstandard pages.
pub fn create(path: &Path, schema: &Arc<ArrowSchema>) -> Result<ArrowWriter<File>> {
    create_with(path, schema, properties())
}

/// Starts a file with these properties.
pub fn create_with(
    path: &Path,
    schema: &Arc<ArrowSchema>,
    properties: WriterPropertiesBuilder,
) -> Result<ArrowWriter<File>> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = File::create(path)?;
    let properties = Some(properties.build());
    Ok(ArrowWriter::try_new(file, Arc::clone(schema), properties)?)
}

/// What all files have in common.
pub fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
}

/// The Parquet files in a folder, by name.
pub fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(|f| f.extension().is_some_and(|e| e == "parquet"));
    files.sort();
    Ok(files)
}

/// A data file of the partition `partition` of spec 0. Its columns must carry field ids.
pub fn data_file(path: &Path, schema: &Schema, partition: PartitionTuple) -> Result<DataFile> {
    data_file_with(path, schema, partition, MetricsMode::DEFAULT)
}

/// The same with bounds as long as `mode` has them.
pub fn data_file_with(
    path: &Path,
    schema: &Schema,
    partition: PartitionTuple,
    mode: MetricsMode,
) -> Result<DataFile> {
    let file = File::open(path)?;
    let size = i64::try_from(file.metadata()?.len())?;
    let reader = SerializedFileReader::new(file)?;
    let footer = reader.metadata();
    let groups = footer.row_groups();
    let mut metrics = Metrics::default();
    for (place, column) in footer.file_metadata().schema_descr().columns().iter().enumerate() {
        let info = column.self_type().get_basic_info();
        if !info.has_id() {
            let name = column.path().string();
            return Err(format!("{}: the column `{name}` has no field id", path.display()).into());
        }
        let Some(field) = schema.field_by_id(info.id()) else {
            return Err(format!("{}: the table has no field {}", path.display(), info.id()).into());
        };
        let chunks: Vec<_> = groups.iter().filter_map(|g| g.columns().get(place)).collect();
        metrics.add(field, &chunks, mode);
    }
    Ok(DataFile {
        content: DataContent::Data,
        file_path: Arc::from(text(path)?),
        file_format: FileFormat::Parquet,
        spec_id: 0,
        partition,
        record_count: footer.file_metadata().num_rows(),
        file_size_in_bytes: size,
        column_metrics: metrics.build(),
        key_metadata: None,
        split_offsets: Some(groups.iter().filter_map(start_of).collect()),
        equality_ids: None,
        sort_order_id: Some(0),
        first_row_id: None,
        referenced_data_file: None,
        content_offset: None,
        content_size_in_bytes: None,
    })
}

/// Where a row group starts.
fn start_of(group: &RowGroupMetaData) -> Option<i64> {
    let first = group.columns().first()?;
    Some(
        first
            .dictionary_page_offset()
            .unwrap_or_else(|| first.data_page_offset()),
    )
}

/// Metrics of the columns of a file, by field id.
#[derive(Default)]
struct Metrics {
    column_sizes: BTreeMap<i32, i64>,
    value_counts: BTreeMap<i32, i64>,
    null_value_counts: BTreeMap<i32, i64>,
    lower_bounds: BTreeMap<i32, Vec<u8>>,
    upper_bounds: BTreeMap<i32, Vec<u8>>,
}

impl Metrics {
    fn add(&mut self, field: &NestedField, chunks: &[&ColumnChunkMetaData], mode: MetricsMode) {
        let id = field.id;
        self.column_sizes
            .insert(id, chunks.iter().map(|c| c.compressed_size()).sum());
        self.value_counts
            .insert(id, chunks.iter().map(|c| c.num_values()).sum());
        let nulls = chunks.iter().map(|c| c.statistics()?.null_count_opt());
        if let Some(nulls) = nulls.sum::<Option<u64>>().and_then(|n| i64::try_from(n).ok()) {
            self.null_value_counts.insert(id, nulls);
        }
        let Type::Primitive(primitive) = &field.field_type else {
            return;
        };
        // A row group without bounds leaves the file without them.
        let bounds: Option<Vec<_>> = chunks
            .iter()
            .map(|c| bounds_of(c.statistics()?, primitive))
            .collect();
        let Some(bounds) = bounds else { return };
        let length = mode.bound_length().unwrap_or(usize::MAX);
        let (lower, upper): (Vec<_>, Vec<_>) = bounds.into_iter().unzip();
        let lower = lower.into_iter().reduce(|a, b| {
            if b.compare(&a).is_some_and(|o| o.is_lt()) {
                b
            } else {
                a
            }
        });
        let upper = upper.into_iter().reduce(|a, b| {
            if b.compare(&a).is_some_and(|o| o.is_gt()) {
                b
            } else {
                a
            }
        });
        if let Some(bytes) = lower.and_then(|v| to_bytes(&truncate_lower(v, length))) {
            self.lower_bounds.insert(id, bytes);
        }
        if let Some(bytes) = upper.and_then(|v| to_bytes(&truncate_upper(v, length)?)) {
            self.upper_bounds.insert(id, bytes);
        }
    }

    fn build(self) -> ColumnMetrics {
        ColumnMetricsBuilder {
            column_sizes: Some(self.column_sizes),
            value_counts: Some(self.value_counts),
            null_value_counts: Some(self.null_value_counts),
            nan_value_counts: None,
            lower_bounds: Some(self.lower_bounds),
            upper_bounds: Some(self.upper_bounds),
        }
        .build()
    }
}

/// The lowest and the highest value of a row group; none for types that no benchmark has.
fn bounds_of(statistics: &Statistics, primitive: &PrimitiveType) -> Option<(Value, Value)> {
    use PrimitiveType as P;
    Some(match (primitive, statistics) {
        (P::Int | P::Date, Statistics::Int32(s)) => (Value::Int(*s.min_opt()?), Value::Int(*s.max_opt()?)),
        (P::Long, Statistics::Int64(s)) => (Value::Long(*s.min_opt()?), Value::Long(*s.max_opt()?)),
        (P::Decimal { .. }, Statistics::Int32(s)) => {
            let decimal = |v: &i32| Value::Decimal(i128::from(*v));
            (decimal(s.min_opt()?), decimal(s.max_opt()?))
        }
        (P::Decimal { .. }, Statistics::Int64(s)) => {
            let decimal = |v: &i64| Value::Decimal(i128::from(*v));
            (decimal(s.min_opt()?), decimal(s.max_opt()?))
        }
        (P::String, Statistics::ByteArray(s)) => {
            let string = |bytes: &[u8]| Some(Value::String(std::str::from_utf8(bytes).ok()?.to_string()));
            (string(s.min_opt()?.data())?, string(s.max_opt()?.data())?)
        }
        _ => return None,
    })
}

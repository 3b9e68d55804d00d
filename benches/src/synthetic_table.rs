//! Tables that have metadata only: planning never looks at their data files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use drumlin_format::manifest::{ColumnMetricsBuilder, DataContent, DataFile, FileFormat};
use drumlin_format::schema::Schema;
use drumlin_format::transform::Transform;
use drumlin_format::types::{NestedField, PrimitiveType};
use drumlin_format::value::Value;
use drumlin_format::value::bytes::{MICROS_PER_DAY, to_bytes};

use crate::Result;
use crate::chance::scattered;
use crate::iceberg_table::TableWriter;

/// The field ids of the columns: a long, a timestamp with zone, a string.
pub const ID: i32 = 1;
/// See [`ID`].
pub const TS: i32 = 2;
/// See [`ID`].
pub const NAME: i32 = 3;

/// The first day in the tables: 2020-01-01, in days since 1970-01-01.
pub const FIRST_DAY: i32 = 18_262;

/// Rows of a file.
pub const ROWS: i64 = 1_000_000;

/// The columns `id`, `ts` and `name`.
pub fn schema() -> Result<Schema> {
    let fields = vec![
        NestedField::required(ID, "id", PrimitiveType::Long),
        NestedField::required(TS, "ts", PrimitiveType::Timestamptz),
        NestedField::optional(NAME, "name", PrimitiveType::String),
    ];
    Ok(Schema::new(0, fields, Vec::new())?)
}

/// Writes a table of one snapshot, partitioned by the day of `ts`: each manifest has the files of a day, each file a
/// range of `id` of its own.
pub fn write_many_files(folder: &Path, manifests: i32, files_per_manifest: i32) -> Result<()> {
    let mut table = TableWriter::create(2, folder, schema()?, Some((TS, Transform::Day, "ts_day")))?;
    for manifest in 0..manifests {
        let file = |n| {
            data_file(
                i64::from(manifest) * i64::from(files_per_manifest) + i64::from(n),
                manifest,
            )
        };
        let files: Option<Vec<_>> = (0..files_per_manifest).map(file).collect();
        table.add_manifest(&files.ok_or("a bound has no bytes")?)?;
    }
    table.commit()?;
    table.finish()
}

/// Writes a table of so many snapshots, each of which adds a file.
pub fn write_many_snapshots(folder: &Path, snapshots: i32) -> Result<()> {
    let mut table = TableWriter::create(2, folder, schema()?, Some((TS, Transform::Day, "ts_day")))?;
    for snapshot in 0..snapshots {
        let file = data_file(i64::from(snapshot), snapshot).ok_or("a bound has no bytes")?;
        table.add_manifest(&[file])?;
        table.commit()?;
    }
    table.finish()
}

/// The lowest `id` in the file of this number.
pub fn first_id(file: i64) -> i64 {
    file * ROWS
}

fn data_file(number: i64, day: i32) -> Option<DataFile> {
    let start = i64::from(FIRST_DAY + day) * MICROS_PER_DAY;
    let [noise, first, second, third] = [0, 1, 2, 3].map(|n| scattered(number * 4 + n));
    let micros = noise.rem_euclid(3_600_000_000);
    // Names come in no order, cut to 16 characters as writers do.
    let name = |initial: char, noise: i64| format!("{initial}{:015x}", noise.cast_unsigned() >> 4);
    let bounds = |id: i64, ts: i64, name: String| {
        let values = [
            (ID, Value::Long(id)),
            (TS, Value::Long(ts)),
            (NAME, Value::String(name)),
        ];
        values
            .into_iter()
            .map(|(id, value)| Some((id, to_bytes(&value)?)))
            .collect::<Option<BTreeMap<_, _>>>()
    };
    let each = |value: i64| Some(BTreeMap::from([(ID, value), (TS, value + 1), (NAME, value + 2)]));
    let metrics = ColumnMetricsBuilder {
        column_sizes: each(4_000_000 + noise.rem_euclid(1_000_000)),
        value_counts: Some(BTreeMap::from([(ID, ROWS), (TS, ROWS), (NAME, ROWS)])),
        null_value_counts: Some(BTreeMap::from([(ID, 0), (TS, 0), (NAME, noise.rem_euclid(100))])),
        nan_value_counts: None,
        lower_bounds: Some(bounds(first_id(number), start + micros, name('a', first))?),
        upper_bounds: Some(bounds(
            first_id(number + 1) - 1,
            start + MICROS_PER_DAY - 1 - micros,
            name('z', second),
        )?),
    };
    let path = format!(
        "s3://warehouse/db/events/data/ts_day={}/{:05}-{number}-{second:016x}{third:016x}-0.parquet",
        FIRST_DAY + day,
        number.rem_euclid(200),
    );
    Some(DataFile {
        content: DataContent::Data,
        file_path: Arc::from(path),
        file_format: FileFormat::Parquet,
        spec_id: 0,
        partition: vec![Some(Value::Int(FIRST_DAY + day))],
        record_count: ROWS,
        file_size_in_bytes: 12_000_000 + noise.rem_euclid(1_000_000),
        column_metrics: metrics.build(),
        key_metadata: None,
        split_offsets: Some(vec![4]),
        equality_ids: None,
        sort_order_id: Some(0),
        first_row_id: None,
        referenced_data_file: None,
        content_offset: None,
        content_size_in_bytes: None,
    })
}

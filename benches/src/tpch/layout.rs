//! The Parquet files of the tables, and Iceberg tables over them.
//!
//! Below the cache folder stand, for each scale factor:
//!
//! | folder | holds |
//! |---|---|
//! | `plain/<table>` | files in the order of the primary key |
//! | `by-month/lineitem` | one file for each month of `l_shipdate` |
//! | `iceberg/<table>` | Iceberg metadata over the files in `plain` |
//! | `iceberg-by-month/lineitem` | Iceberg metadata over the files in `by-month`, partitioned by month |

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take_record_batch;
use datafusion::arrow::datatypes::{Date32Type, Schema as ArrowSchema};
use drumlin_format::partition::PartitionTuple;
use drumlin_format::schema::Schema;
use drumlin_format::transform::Transform;
use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value;
use drumlin_table::arrow::schema_to_arrow;

use super::tables::{LINEITEM, TABLES, TpchTable};
use crate::Result;
use crate::iceberg_table::TableWriter;
use crate::parquet_file::{create, data_file, files_in};
use crate::threads::on_threads;

/// The files of one scale factor.
#[derive(Debug, Clone)]
pub struct Layout {
    folder: PathBuf,
    scale_factor: f64,
}

impl Layout {
    /// The files below the cache folder, not looked at yet.
    pub fn new(cache: &Path, scale_factor: f64) -> Self {
        Self {
            folder: cache.join(format!("tpch-sf{scale_factor}")),
            scale_factor,
        }
    }

    /// Where all of this scale factor is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The Parquet files of a table.
    pub fn plain(&self, table: &str) -> PathBuf {
        self.folder.join("plain").join(table)
    }

    /// The Parquet files of lineitem, one a month.
    pub fn by_month(&self) -> PathBuf {
        self.folder.join("by-month/lineitem")
    }

    /// The Iceberg table over the files of [`plain`](Self::plain).
    pub fn iceberg(&self, table: &str) -> PathBuf {
        self.folder.join("iceberg").join(table)
    }

    /// The Iceberg table over the files of [`by_month`](Self::by_month).
    pub fn iceberg_by_month(&self) -> PathBuf {
        self.folder.join("iceberg-by-month/lineitem")
    }

    /// Writes the Parquet files that are missing, on so many threads, and all Iceberg metadata.
    pub fn prepare(&self, threads: usize) -> Result<()> {
        self.prepare_plain(&TABLES, threads)?;
        if !self.by_month().exists() {
            self.write_by_month()?;
            fs::rename(partial(&self.by_month()), self.by_month())?;
        }
        for table in TABLES {
            let files = files_in(&self.plain(table.name))?;
            let files = files.into_iter().map(|f| (f, Vec::new())).collect();
            write_iceberg(&self.iceberg(table.name), table.schema()?, None, files)?;
        }
        let by = Some((
            shipdate_id(&LINEITEM.schema()?)?,
            Transform::Month,
            "l_shipdate_month",
        ));
        let mut files = Vec::new();
        for file in files_in(&self.by_month())? {
            let stem = file.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
            let month = stem.strip_prefix("month-").and_then(|m| m.parse::<i32>().ok());
            let month = month.ok_or_else(|| format!("{} is not named by its month", file.display()))?;
            files.push((file, vec![Some(Value::Int(month))]));
        }
        write_iceberg(&self.iceberg_by_month(), LINEITEM.schema()?, by, files)
    }

    /// Writes the Parquet files of these tables that are missing, on so many threads.
    pub fn prepare_plain(&self, tables: &[TpchTable], threads: usize) -> Result<()> {
        let missing: Vec<_> = tables
            .iter()
            .copied()
            .filter(|t| !self.plain(t.name).exists())
            .collect();
        let jobs: Vec<_> = missing
            .iter()
            .flat_map(|t| (1..=t.files).map(|file| (*t, file)))
            .collect();
        on_threads(threads, jobs, |(table, file)| self.write_plain(table, file))?;
        for table in &missing {
            fs::rename(partial(&self.plain(table.name)), self.plain(table.name))?;
        }
        Ok(())
    }

    fn write_plain(&self, table: TpchTable, file: i32) -> Result<()> {
        let folder = partial(&self.plain(table.name));
        let schema = Arc::new(schema_to_arrow(&table.schema()?));
        let mut writer = create(&folder.join(format!("part-{file:02}.parquet")), &schema)?;
        for batch in table.rows(self.scale_factor, file)? {
            writer.write(&with_schema(&schema, batch?)?)?;
        }
        writer.close()?;
        Ok(())
    }

    fn write_by_month(&self) -> Result<()> {
        let folder = partial(&self.by_month());
        let table = LINEITEM.schema()?;
        let schema = Arc::new(schema_to_arrow(&table));
        let mut months = BTreeMap::new();
        for file in 1..=LINEITEM.files {
            for batch in LINEITEM.rows(self.scale_factor, file)? {
                let batch = with_schema(&schema, batch?)?;
                for (month, rows) in rows_by_month(&batch)? {
                    let writer = match months.entry(month) {
                        std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                        std::collections::btree_map::Entry::Vacant(entry) => entry.insert(create(
                            &folder.join(format!("month-{month:03}.parquet")),
                            &schema,
                        )?),
                    };
                    writer.write(&take_record_batch(&batch, &rows)?)?;
                }
            }
        }
        for writer in months.into_values() {
            writer.close()?;
        }
        Ok(())
    }
}

/// The rows of a batch of lineitem by the month of their `l_shipdate`, in months since 1970-01.
fn rows_by_month(batch: &RecordBatch) -> Result<BTreeMap<i32, UInt32Array>> {
    let column: &ArrayRef = batch
        .column_by_name("l_shipdate")
        .ok_or("lineitem has no l_shipdate")?;
    let days = column
        .as_primitive_opt::<Date32Type>()
        .ok_or("l_shipdate is no date")?;
    let mut months: BTreeMap<i32, Vec<u32>> = BTreeMap::new();
    for (day, row) in days.values().iter().zip(0..) {
        match Transform::Month.apply(Some(&Value::Int(*day)), &PrimitiveType::Date)? {
            Some(Value::Int(month)) => months.entry(month).or_default().push(row),
            other => return Err(format!("{other:?} is no month").into()),
        }
    }
    Ok(months
        .into_iter()
        .map(|(month, rows)| (month, UInt32Array::from(rows)))
        .collect())
}

fn shipdate_id(schema: &Schema) -> Result<i32> {
    let field = schema
        .field_by_name("l_shipdate")
        .ok_or("lineitem has no l_shipdate")?;
    Ok(field.id)
}

/// Where a folder is written before it is renamed to its name: what has its name is complete.
fn partial(folder: &Path) -> PathBuf {
    folder.with_extension("partial")
}

/// The same columns under a schema with field ids.
fn with_schema(schema: &Arc<ArrowSchema>, batch: RecordBatch) -> Result<RecordBatch> {
    Ok(RecordBatch::try_new(
        Arc::clone(schema),
        batch.columns().to_vec(),
    )?)
}

fn write_iceberg(
    folder: &Path,
    schema: Schema,
    partition_by: Option<(i32, Transform, &str)>,
    files: Vec<(PathBuf, PartitionTuple)>,
) -> Result<()> {
    let mut table = TableWriter::create(2, folder, schema, partition_by)?;
    let schema = Arc::clone(table.metadata().current_schema());
    let files = files
        .into_iter()
        .map(|(file, partition)| data_file(&file, &schema, partition));
    table.add_manifest(&files.collect::<Result<Vec<_>>>()?)?;
    table.commit()?;
    table.finish()
}

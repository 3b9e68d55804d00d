//! Random tables: files of several snapshots, between which schema and spec change. Some are read at an earlier one.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};
use drumlin_format::manifest::{ColumnMetrics, ColumnMetricsBuilder};
use drumlin_format::metadata::{LAST_ADDED, NewTable, TableUpdate, UnboundPartitionSpec};
use drumlin_format::partition::PartitionTuple;
use drumlin_format::schema::Schema;
use drumlin_format::sort::SortOrder;
use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value;
use drumlin_format::value::bytes::to_bytes;
use drumlin_table::storage::Storage;
use drumlin_table::{Table, TableVersion};
use drumlin_testing::array::batch;
use drumlin_testing::rows::{partition_of, read_as};
use drumlin_testing::{Row, TableWriter, metrics};

use super::schema::Evolution;
use super::value::{Habit, value};
use crate::random::Random;

/// Files that one batch of rows becomes at most, one a partition.
const MAX_FILES: usize = 3;

/// A table and what a query must find in it.
pub struct Generated {
    pub table: Table,
    pub schema: Schema,
    pub rows: RecordBatch,
}

pub async fn generate(random: &mut Random) -> Generated {
    let version = *random.pick(&[1, 2, 2, 3, 3]);
    let mut choices = random.clone();
    let mut evolution = Evolution {
        random: &mut choices,
        version,
        next_id: 0,
        next_name: 0,
        dropped_names: Vec::new(),
        sources: Vec::new(),
    };
    let schema = evolution.first_schema();
    let storage = Storage::default();
    let mut writer = TableWriter::create(
        &storage,
        NewTable {
            location: "memory:/table".to_string(),
            schema,
            partition_spec: UnboundPartitionSpec::default(),
            sort_order: SortOrder::unsorted(),
            properties: BTreeMap::from([("format-version".to_string(), version.to_string())]),
        },
    )
    .await;
    evolution.next_id = writer.metadata().last_column_id() + 1;
    let mut written: Vec<(Arc<Schema>, Vec<Row>)> = Vec::new();
    // How many files each snapshot has, and its schema.
    let mut snapshots: Vec<(usize, Arc<Schema>)> = Vec::new();
    let mut rows = 0;
    for snapshot in 0..2 + random.below(3) {
        if snapshot > 0 && random.percent(65) {
            let spec = writer.metadata().default_spec();
            let sources: Vec<i32> = spec.fields().iter().flat_map(|f| f.source_ids.clone()).collect();
            let schema = evolution.change(writer.metadata().current_schema(), &sources);
            let changes = [
                TableUpdate::AddSchema(Arc::new(schema)),
                TableUpdate::SetCurrentSchema(LAST_ADDED),
            ];
            writer.update(changes).await;
        }
        if snapshot == 0 || random.percent(50) {
            let before = UnboundPartitionSpec::from(writer.metadata().default_spec().as_ref());
            let spec = evolution.spec(writer.metadata().current_schema(), &before.fields);
            writer
                .update([
                    TableUpdate::AddSpec(spec),
                    TableUpdate::SetDefaultSpec(LAST_ADDED),
                ])
                .await;
        }
        let schema = Arc::clone(writer.metadata().current_schema());
        let mut manifests = Vec::new();
        for _ in 0..1 + random.below(3) {
            let mut files = Vec::new();
            for _ in 0..1 + random.below(2) {
                for (partition, mut part) in partitioned(rows_of(&schema, random), &writer) {
                    for row in &mut part {
                        rows += 1;
                        row.insert(1, Some(Value::Long(rows)));
                    }
                    let metrics = thinned(&part, &schema, random);
                    files.push(
                        writer
                            .write_file(&part, partition, metrics, properties(random))
                            .await,
                    );
                    written.push((Arc::clone(&schema), part));
                }
            }
            if !files.is_empty() {
                manifests.push(files);
            }
        }
        writer.append(&manifests).await;
        snapshots.push((written.len(), schema));
    }
    let mut table = writer.open().await;
    let (mut files, mut schema) = (written.len(), Arc::clone(writer.metadata().current_schema()));
    if random.percent(20) {
        let number = random.below(snapshots.len());
        let id = writer.metadata().snapshots()[number].snapshot_id;
        table = table.at_version(&TableVersion::Snapshot(id)).unwrap();
        (files, schema) = snapshots[number].clone();
    }
    let rows: Vec<Row> = written[..files]
        .iter()
        .flat_map(|(from, rows)| rows.iter().map(|row| read_as(row, from, &schema)))
        .collect();
    Generated {
        table,
        rows: batch(&rows, &schema),
        schema: schema.as_ref().clone(),
    }
}

fn rows_of(schema: &Schema, random: &mut Random) -> Vec<Row> {
    let fields = &schema.fields()[1..];
    let habits: Vec<Habit> = fields.iter().map(|_| Habit::random(random)).collect();
    let row = |random: &mut Random| {
        fields
            .iter()
            .zip(&habits)
            .map(|(f, habit)| (f.id, value(&f.field_type, f.required, *habit, random)))
            .collect()
    };
    let mut rows: Vec<Row> = (0..1 + random.below(40)).map(|_| row(random)).collect();
    // Sorted files have row groups and pages that differ.
    if random.percent(60) {
        let by = random.pick(fields).id;
        let order = |a: &Option<Value>, b: &Option<Value>| match (a, b) {
            (Some(a), Some(b)) => a.compare(b).unwrap_or(std::cmp::Ordering::Equal),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        rows.sort_by_cached_key(|row| row[&by].as_ref().and_then(to_bytes));
        // Bytes are not the order of values, but close rows come together; this makes runs of the true order.
        for run in rows.chunks_mut(16) {
            let mut sorted = run.to_vec();
            for i in 1..sorted.len() {
                let mut j = i;
                while j > 0 && order(&sorted[j][&by], &sorted[j - 1][&by]).is_lt() {
                    sorted.swap(j, j - 1);
                    j -= 1;
                }
            }
            run.clone_from_slice(&sorted);
        }
    }
    rows
}

/// Rows of one partition: the bytes of its values, the values and the rows.
type Part = (Vec<Option<Vec<u8>>>, PartitionTuple, Vec<Row>);

/// The rows by their partition. Rows beyond some partitions, and those whose partition value is out of range, are
/// left out.
fn partitioned(rows: Vec<Row>, writer: &TableWriter) -> Vec<(PartitionTuple, Vec<Row>)> {
    let (schema, spec) = (
        writer.metadata().current_schema(),
        writer.metadata().default_spec(),
    );
    let mut parts: Vec<Part> = Vec::new();
    for row in rows {
        let Some(tuple) = partition_of(&row, schema, spec) else {
            continue;
        };
        let key: Vec<_> = tuple.iter().map(|v| v.as_ref().and_then(to_bytes)).collect();
        match parts.iter().position(|(k, _, _)| *k == key) {
            Some(place) => parts[place].2.push(row),
            None if parts.len() < MAX_FILES => parts.push((key, tuple, vec![row])),
            None => {}
        }
    }
    parts.into_iter().map(|(_, tuple, rows)| (tuple, rows)).collect()
}

/// Metrics as the writers of the world leave them.
fn thinned(rows: &[Row], schema: &Schema, random: &mut Random) -> ColumnMetrics {
    let length = *random.pick(&[1, 2, 3, 16]);
    let mut all = metrics::of_rows(rows, schema, length);
    let drop = |random: &mut Random, chance, map: &mut Option<BTreeMap<i32, i64>>| {
        if random.percent(chance) {
            *map = None;
        } else if let Some(map) = map {
            map.retain(|_, _| !random.percent(10));
        }
    };
    drop(random, 10, &mut all.value_counts);
    drop(random, 10, &mut all.null_value_counts);
    // Writers that take metrics from Parquet footers know nothing of NaN.
    drop(random, 40, &mut all.nan_value_counts);
    zeros(&mut all, schema, random);
    for map in [&mut all.lower_bounds, &mut all.upper_bounds] {
        if random.percent(8) {
            *map = None;
        } else if let Some(map) = map {
            map.retain(|_, _| !random.percent(10));
        }
    }
    all.build()
}

/// Some writers take no care of the sign of zero, some put NaN among the bounds.
fn zeros(metrics: &mut ColumnMetricsBuilder, schema: &Schema, random: &mut Random) {
    for map in [&mut metrics.lower_bounds, &mut metrics.upper_bounds] {
        for (id, bytes) in map.iter_mut().flatten() {
            let of = schema.field_by_id(*id).and_then(|f| f.field_type.as_primitive());
            if !of.is_some_and(PrimitiveType::is_floating) {
                continue;
            }
            if let Some((sign, rest)) = bytes.split_last_mut()
                && rest.iter().all(|b| *b == 0)
                && *sign & 0x7f == 0
                && random.percent(40)
            {
                *sign ^= 0x80;
            }
            if random.percent(3) {
                *bytes = match of {
                    Some(PrimitiveType::Float) => f32::NAN.to_le_bytes().to_vec(),
                    _ => f64::NAN.to_le_bytes().to_vec(),
                };
            }
        }
    }
}

/// Small row groups and pages, with more or less statistics.
fn properties(random: &mut Random) -> WriterProperties {
    let statistics = [
        EnabledStatistics::Page,
        EnabledStatistics::Page,
        EnabledStatistics::Chunk,
        EnabledStatistics::None,
    ];
    let page = *random.pick(&[2, 5, 1000]);
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(*random.pick(&[3, 10, 1000])))
        .set_data_page_row_count_limit(page)
        .set_write_batch_size(page)
        .set_statistics_enabled(*random.pick(&statistics))
        .set_statistics_truncate_length(*random.pick(&[None, Some(1), Some(64)]))
        .set_column_index_truncate_length(*random.pick(&[None, Some(1), Some(64)]))
        .set_bloom_filter_enabled(random.percent(30))
        .set_dictionary_enabled(random.percent(70))
        .build()
}

//! Random histories: what is committed to a table, and the model's state after each commit.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};
use drumlin_format::manifest::DataFile;
use drumlin_format::metadata::{LAST_ADDED, NewTable, TableUpdate, UnboundPartitionSpec};
use drumlin_format::partition::PartitionTuple;
use drumlin_format::schema::Schema;
use drumlin_format::sort::SortOrder;
use drumlin_format::types::{NestedField, PrimitiveType};
use drumlin_format::value::Value;
use drumlin_table::storage::Storage;
use drumlin_testing::rows::partition_of;
use drumlin_testing::{Commit, Partition, Row, TableWriter, metrics};

use super::evolution::{self, AMOUNT, ID, Names};
use super::model::{Data, Delete, Lineage, LiveRow, State, same_values};
use super::seen::Seen;
use crate::random::Random;

/// Files that one batch of rows becomes at most, one a partition.
const MAX_FILES: usize = 3;

/// The reserved ids of the columns in which files store row lineage (§ Reserved Field IDs).
const ROW_ID: i32 = 2_147_483_540;
const LAST_UPDATED_SEQUENCE_NUMBER: i32 = 2_147_483_539;

/// A table, being written.
pub struct History {
    pub writer: TableWriter,
    /// After each commit.
    pub states: Vec<State>,
    /// What happened, for people.
    pub log: String,
    pub seen: Seen,
    pub(super) random: Random,
    pub(super) next: Pending,
    names: Names,
    rows: i64,
}

/// What the next commit adds and removes.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) data: Vec<Vec<Data>>,
    pub(super) deletes: Vec<Delete>,
    pub(super) removed: Vec<DataFile>,
    data_sequence_number: Option<i64>,
}

impl History {
    /// The history that follows from the state of `random`.
    pub async fn random(random: &mut Random) -> Self {
        let version = *random.pick(&[2, 2, 3]);
        let table = NewTable {
            location: "memory:/table".to_string(),
            schema: evolution::first_schema(),
            partition_spec: UnboundPartitionSpec::default(),
            sort_order: SortOrder::unsorted(),
            properties: BTreeMap::from([("format-version".to_string(), version.to_string())]),
        };
        let mut history = Self {
            writer: TableWriter::create(&Storage::default(), table).await,
            states: Vec::new(),
            log: format!("version {version}"),
            seen: Seen::default(),
            random: Random::new(random.next()),
            next: Pending::default(),
            names: Names::default(),
            rows: 0,
        };
        if history.random.percent(65) {
            history.change_spec().await;
        }
        history.append().await;
        if history.random.percent(50) {
            history.append().await;
        }
        history.commit().await;
        for _ in 0..2 + history.random.below(4) {
            history.step().await;
        }
        history
    }

    /// The state after the last commit.
    pub fn state(&self) -> &State {
        self.states.last().unwrap()
    }

    pub(super) fn version(&self) -> u8 {
        self.writer.metadata().format_version()
    }

    pub(super) fn schema(&self) -> Arc<Schema> {
        Arc::clone(self.writer.metadata().current_schema())
    }

    /// Perhaps changes of the table, then a commit.
    async fn step(&mut self) {
        if self.random.percent(35) {
            self.change_schema().await;
        }
        if self.random.percent(15) {
            self.change_spec().await;
        }
        if self.version() == 2 && self.random.percent(35) {
            self.writer.update([TableUpdate::UpgradeFormatVersion(3)]).await;
            self.log.push_str("\n  upgrade to version 3");
            self.seen.upgrades += 1;
        }
        match self.random.below(20) {
            0 | 1 => self.append().await,
            2 => self.rewrite().await,
            3 => self.remove_data(),
            kind => {
                if self.random.percent(35) {
                    self.append().await;
                }
                if kind % 3 != 0 {
                    self.delete_positions().await;
                }
                if kind % 3 != 1 {
                    for _ in 0..1 + self.random.below(2) {
                        self.delete_keys().await;
                    }
                }
            }
        }
        self.commit().await;
    }

    async fn change_schema(&mut self) {
        let metadata = self.writer.metadata();
        let spec = metadata.default_spec();
        let sources: Vec<i32> = spec.fields().iter().flat_map(|f| f.source_ids.clone()).collect();
        let (schema, told) = evolution::change(
            &self.schema(),
            self.version(),
            metadata.last_column_id() + 1,
            &sources,
            &mut self.names,
            &mut self.random,
        );
        write!(self.log, "\n  {told}").unwrap();
        let changes = [
            TableUpdate::AddSchema(Arc::new(schema)),
            TableUpdate::SetCurrentSchema(LAST_ADDED),
        ];
        self.writer.update(changes).await;
    }

    async fn change_spec(&mut self) {
        let number = self.writer.metadata().partition_specs().len();
        let spec = evolution::spec(&self.schema(), number, &mut self.random);
        let changes = [
            TableUpdate::AddSpec(spec),
            TableUpdate::SetDefaultSpec(LAST_ADDED),
        ];
        self.writer.update(changes).await;
        let fields = self.writer.metadata().default_spec().fields().iter();
        let fields: Vec<_> = fields
            .map(|f| format!("{} of {:?}", f.transform, f.source_ids))
            .collect();
        write!(self.log, "\n  partitioned by {}", fields.join(", ")).unwrap();
    }

    /// Data files of new rows.
    pub(super) async fn append(&mut self) {
        let schema = self.schema();
        let mut rows = Vec::new();
        for _ in 0..*self.random.pick(&[1, 5, 12, 25]) {
            self.rows += 1;
            rows.push(evolution::row(&schema, self.rows, &mut self.random));
        }
        // Sorted files have row groups and pages that differ.
        if self.random.percent(50) {
            rows.sort_by_key(|row| match &row[&AMOUNT] {
                Some(Value::Long(amount)) => *amount,
                _ => -1,
            });
        }
        let mut files = Vec::new();
        for (partition, rows) in self.partitioned(rows, |row| row).into_iter().take(MAX_FILES) {
            let mut of_rows = metrics::of_rows(&rows, &schema, 16);
            if self.random.percent(20) {
                (of_rows.lower_bounds, of_rows.upper_bounds) = (None, None);
            }
            if self.random.percent(20) {
                of_rows.null_value_counts = None;
            }
            let properties = properties(&mut self.random);
            let writer = &mut self.writer;
            let file = writer
                .write_file(&rows, partition, of_rows.build(), properties)
                .await;
            files.push(self.data(file, rows, None));
        }
        self.next.data.push(files);
    }

    fn data(&mut self, file: DataFile, rows: Vec<Row>, lineage: Option<Vec<Lineage>>) -> Data {
        let name = name(&file);
        write!(
            self.log,
            "\n  file {name} of spec {} {:?}:",
            file.spec_id, file.partition
        )
        .unwrap();
        for row in &rows {
            write!(self.log, "\n    {row:?}").unwrap();
        }
        Data {
            file,
            sequence_number: 0,
            schema: self.schema(),
            rows: Arc::new(rows),
            lineage: lineage.map(Arc::new),
        }
    }

    /// By the partitions of the default spec.
    fn partitioned<T>(&self, rows: Vec<T>, row: impl Fn(&T) -> &Row) -> Vec<(PartitionTuple, Vec<T>)> {
        let mut parts: Vec<(PartitionTuple, Vec<T>)> = Vec::new();
        for item in rows {
            let spec = self.writer.metadata().default_spec();
            let tuple = partition_of(row(&item), &self.schema(), spec).unwrap();
            match parts.iter_mut().find(|(other, _)| *other == tuple) {
                Some((_, rows)) => rows.push(item),
                None => parts.push((tuple, vec![item])),
            }
        }
        parts
    }

    /// Files whose rows are written anew, as compaction does, with the ids that they have.
    async fn rewrite(&mut self) {
        let state = self.state().clone();
        let count = 1 + self.random.below(2);
        let first = self.random.below(state.data.len().max(1));
        let old: Vec<&Data> = state.data.iter().skip(first).take(count).collect();
        let mut live: Vec<LiveRow> = old.iter().flat_map(|data| state.live_rows_of(data)).collect();
        // A row that was read by an older schema is written by the current one.
        let now = State {
            schema: self.schema(),
            ..state.clone()
        };
        for (row, again) in live
            .iter_mut()
            .zip(old.iter().flat_map(|data| now.live_rows_of(data)))
        {
            row.row = again.row;
        }
        let mut files = Vec::new();
        for (values, rows) in self.partitioned(live, |live| &live.row) {
            let (file, lineage) = self.write_with_lineage(&rows, values).await;
            files.push(self.data(file, rows.into_iter().map(|live| live.row).collect(), lineage));
        }
        write!(
            self.log,
            "\n  in place of {:?}",
            old.iter().map(|data| name(&data.file)).collect::<Vec<_>>()
        )
        .unwrap();
        for data in old {
            self.remove(&state, data);
        }
        self.next.data.push(files);
        if self.random.percent(70) {
            self.next.data_sequence_number = Some(self.writer.metadata().last_sequence_number());
        }
        self.seen.rewrites += 1;
    }

    async fn write_with_lineage(
        &mut self,
        rows: &[LiveRow],
        values: PartitionTuple,
    ) -> (DataFile, Option<Vec<Lineage>>) {
        let schema = self.schema();
        let properties = properties(&mut self.random);
        if self.version() < 3 {
            let rows: Vec<Row> = rows.iter().map(|live| live.row.clone()).collect();
            let metrics = metrics::of_rows(&rows, &schema, 16).build();
            return (
                self.writer.write_file(&rows, values, metrics, properties).await,
                None,
            );
        }
        let mut fields = schema.fields().to_vec();
        fields.push(NestedField::optional(ROW_ID, "_row_id", PrimitiveType::Long));
        let updated = "_last_updated_sequence_number";
        fields.push(NestedField::optional(
            LAST_UPDATED_SEQUENCE_NUMBER,
            updated,
            PrimitiveType::Long,
        ));
        let with_lineage = |live: &LiveRow| {
            let mut row = live.row.clone();
            row.insert(ROW_ID, live.lineage.0.map(Value::Long));
            row.insert(LAST_UPDATED_SEQUENCE_NUMBER, live.lineage.1.map(Value::Long));
            row
        };
        let stored: Vec<Row> = rows.iter().map(with_lineage).collect();
        let stored_schema = Schema::new(0, fields, vec![]).unwrap();
        let batch = drumlin_testing::array::batch(&stored, &stored_schema);
        let partition = Partition {
            spec_id: self.writer.metadata().default_spec().spec_id(),
            values,
        };
        let content = drumlin_format::manifest::DataContent::Data;
        let mut file = self
            .writer
            .write_parquet(&batch, content, partition, properties)
            .await;
        file.column_metrics = metrics::of_rows(&stored, &schema, 16).build();
        (file, Some(rows.iter().map(|live| live.lineage).collect()))
    }

    /// A file is taken away as a whole.
    fn remove_data(&mut self) {
        let state = self.state().clone();
        if state.data.is_empty() {
            return;
        }
        let data = self.random.pick(&state.data);
        write!(self.log, "\n  remove {}", name(&data.file)).unwrap();
        self.remove(&state, data);
    }

    /// A file goes, and its deletion vector with it, or so it should.
    fn remove(&mut self, state: &State, data: &Data) {
        self.next.removed.push(data.file.clone());
        if let Some(vector) = state.vector_of(data) {
            if self.random.percent(80) {
                self.next.removed.push(vector.file.clone());
            } else {
                self.seen.dangling_vectors += 1;
            }
        }
    }

    async fn commit(&mut self) {
        let next = std::mem::take(&mut self.next);
        let mut state = self.states.last().cloned().unwrap_or_default();
        let is_removed = |file: &DataFile| next.removed.iter().any(|other| is_same(other, file));
        state.data.retain(|data| !is_removed(&data.file));
        state.deletes.retain(|delete| !is_removed(&delete.file));
        let mut groups: BTreeMap<i32, Vec<DataFile>> = BTreeMap::new();
        for delete in &next.deletes {
            groups
                .entry(delete.file.spec_id)
                .or_default()
                .push(delete.file.clone());
        }
        let mut added_deletes: Vec<_> = groups.into_values().collect();
        // One manifest for all or one for each.
        if self.random.percent(30) {
            added_deletes = added_deletes
                .concat()
                .into_iter()
                .map(|file| vec![file])
                .collect();
        }
        let files = |group: &Vec<Data>| group.iter().map(|data| data.file.clone()).collect();
        self.writer
            .commit(Commit {
                added_data: next.data.iter().map(files).collect(),
                added_deletes,
                removed: next.removed,
                data_sequence_number: next.data_sequence_number,
            })
            .await;
        let metadata = self.writer.metadata();
        let number = metadata.last_sequence_number();
        for data in next.data.into_iter().flatten() {
            state.data.push(Data {
                sequence_number: next.data_sequence_number.unwrap_or(number),
                ..data
            });
        }
        for delete in next.deletes {
            state.deletes.push(Delete {
                sequence_number: number,
                ..delete
            });
        }
        for file in self.writer.data_files() {
            let of_file = state
                .data
                .iter_mut()
                .find(|data| data.file.file_path == file.file_path);
            of_file.unwrap().file.first_row_id = file.first_row_id;
        }
        state.snapshot_id = metadata.current_snapshot_id().unwrap();
        state.schema = Arc::clone(metadata.current_schema());
        state.schemas = metadata.schemas().to_vec();
        write!(self.log, "\n commit {number}, snapshot {}", state.snapshot_id).unwrap();
        self.states.push(state);
    }

    /// The data files that deletes can be for: those of the table that stay, and those of this commit.
    pub(super) fn targets(&self) -> Vec<Data> {
        let mut targets = self
            .states
            .last()
            .map(|state| state.data.clone())
            .unwrap_or_default();
        targets.extend(self.next.data.iter().flatten().cloned());
        targets
    }
}

/// The last part of a file's location.
pub(super) fn name(file: &DataFile) -> &str {
    file.file_path.rsplit('/').next().unwrap()
}

/// Whether both are one file, or one vector of a Puffin file.
fn is_same(a: &DataFile, b: &DataFile) -> bool {
    a.file_path == b.file_path && a.content_offset == b.content_offset
}

/// Whether both files are in one partition.
pub(super) fn same_partition(a: &DataFile, b: &DataFile) -> bool {
    a.spec_id == b.spec_id && same_values(&a.partition, &b.partition)
}

/// The number of a row.
pub(super) fn number_of(row: &Row) -> i64 {
    match row[&ID] {
        Some(Value::Long(number)) => number,
        _ => panic!("rows are numbered"),
    }
}

/// Small row groups and pages.
pub(super) fn properties(random: &mut Random) -> WriterProperties {
    let page = *random.pick(&[1, 2, 5, 1000]);
    let statistics = [
        EnabledStatistics::Page,
        EnabledStatistics::Page,
        EnabledStatistics::Chunk,
    ];
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(*random.pick(&[2, 5, 10, 1000])))
        .set_data_page_row_count_limit(page)
        .set_write_batch_size(page)
        .set_statistics_enabled(*random.pick(&statistics))
        .set_bloom_filter_enabled(random.percent(10))
        .set_dictionary_enabled(random.percent(70))
        .build()
}

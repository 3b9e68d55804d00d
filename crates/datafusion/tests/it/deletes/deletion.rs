//! Deletes of random histories.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::{ColumnMetrics, DataFile};
use drumlin_format::partition::PartitionSpec;
use drumlin_format::value::Value;
use drumlin_testing::rows::{read_as, value_at};
use drumlin_testing::table_writer::part_of_schema;
use drumlin_testing::{Partition, Row};

use super::evolution::{self, key_fields};
use super::history::{History, name, number_of, properties, same_partition};
use super::model::{Data, Delete, Deleted, comparable};

impl History {
    /// Deletes of positions, as the format version has them.
    pub(super) async fn delete_positions(&mut self) {
        if self.version() >= 3 {
            self.delete_by_vectors().await;
        } else {
            self.delete_by_position_files().await;
        }
    }

    /// Some positions of a file; all of them now and then.
    fn positions(&mut self, data: &Data) -> BTreeSet<i64> {
        let rows = data.rows.len();
        let share = *self.random.pick(&[0, 15, 15, 50, 90, 100]);
        let all = 0..i64::try_from(rows).unwrap();
        let mut positions: BTreeSet<i64> = all.filter(|_| self.random.percent(share)).collect();
        if positions.is_empty() {
            positions.insert(i64::try_from(self.random.below(rows)).unwrap());
        }
        positions
    }

    async fn delete_by_position_files(&mut self) {
        let targets = self.targets();
        if targets.is_empty() {
            return;
        }
        for _ in 0..1 + self.random.below(2) {
            let one = self.random.pick(&targets).clone();
            let others = targets
                .iter()
                .filter(|data| same_partition(&data.file, &one.file));
            let mut files: Vec<Data> = others.cloned().collect();
            if self.random.percent(50) {
                files = vec![one.clone()];
            }
            let mut deletes: Vec<(Arc<str>, i64)> = Vec::new();
            for data in &files {
                let path = &data.file.file_path;
                let positions = self.positions(data);
                deletes.extend(positions.into_iter().map(|at| (Arc::clone(path), at)));
                if self.random.percent(5) {
                    let beyond = i64::try_from(data.rows.len()).unwrap() + self.random.between(0, 3);
                    deletes.push((Arc::clone(path), beyond));
                }
            }
            if files.len() > 1 {
                self.seen.files_of_several_paths += 1;
                if self.random.percent(20) {
                    deletes.push((Arc::from("memory:/table/data/none.parquet"), 1));
                }
            }
            if self.random.percent(30) {
                for place in (1..deletes.len()).rev() {
                    deletes.swap(place, self.random.below(place + 1));
                }
                let again = deletes[0].clone();
                deletes.push(again);
            }
            let properties = properties(&mut self.random);
            let partition = Partition::of(&one.file);
            let mut file = self
                .writer
                .write_position_deletes(&deletes, partition, properties)
                .await;
            if files.len() == 1 && self.random.percent(50) {
                file.referenced_data_file = Some(Arc::clone(&one.file.file_path));
            }
            if self.random.percent(20) {
                file.column_metrics = ColumnMetrics::unknown();
            }
            self.add_delete(file, Deleted::Positions(deletes));
        }
    }

    async fn delete_by_vectors(&mut self) {
        let targets = self.targets();
        let mut made: Vec<(Data, DeletionVector)> = Vec::new();
        for data in &targets {
            if self.random.percent(50) {
                continue;
            }
            let mut positions = self.positions(data);
            self.fold(data, &mut positions);
            let mut vector = DeletionVector::new();
            for position in positions {
                vector.insert(u64::try_from(position).unwrap()).unwrap();
            }
            made.push((data.clone(), vector));
        }
        let per_file = *self.random.pick(&[1, 2, 10]);
        for part in made.chunks(per_file) {
            let of: Vec<_> = part.iter().map(|(data, vector)| (&data.file, vector)).collect();
            let files = self.writer.write_deletion_vectors(&of).await;
            if files.len() > 1 {
                self.seen.files_of_several_vectors += 1;
            }
            for (file, (_, vector)) in files.into_iter().zip(part) {
                let positions = vector.iter().map(|at| i64::try_from(at).unwrap()).collect();
                self.add_delete(file, Deleted::Vector(positions));
            }
        }
    }

    /// A new vector holds what older deletes of the file's positions say, and takes the place of those that are for
    /// this file alone. Some writers forget that: then it is the vector that counts.
    fn fold(&mut self, data: &Data, positions: &mut BTreeSet<i64>) {
        let Some(state) = self.states.last().cloned() else {
            return;
        };
        let path = &data.file.file_path;
        let rows = i64::try_from(data.rows.len()).unwrap();
        let forgets = self.random.percent(30);
        for delete in state.deletes.iter().filter(|delete| state.applies(delete, data)) {
            match &delete.of {
                Deleted::Vector(old) => {
                    positions.extend(old);
                    self.next.removed.push(delete.file.clone());
                    self.seen.vectors_replaced += 1;
                }
                Deleted::Positions(_) if forgets => self.seen.positions_that_a_vector_hides += 1,
                Deleted::Positions(old) => {
                    // A vector says how many rows it deletes, so it holds none that the file has not.
                    let of_file = |(of, at): &&(Arc<str>, i64)| of == path && *at < rows;
                    positions.extend(old.iter().filter(of_file).map(|(_, at)| at));
                    self.seen.positions_folded += 1;
                    let is_for_this_file = old.iter().all(|(of, _)| of == path);
                    if is_for_this_file && self.random.percent(70) {
                        self.next.removed.push(delete.file.clone());
                    }
                }
                Deleted::Keys { .. } => {}
            }
        }
    }

    /// An equality delete file.
    pub(super) async fn delete_keys(&mut self) {
        let schema = self.schema();
        let fields = key_fields(&schema);
        let mut ids = vec![*self.random.pick(&fields)];
        if self.random.percent(35) {
            let other = *self.random.pick(&fields);
            if !ids.contains(&other) {
                ids.push(other);
            }
        }
        let targets = self.targets();
        if targets.is_empty() {
            return;
        }
        let of = self.random.pick(&targets).clone();
        let (partition, global) = self.partition_of_keys(&of.file);
        // Rows like those of the table, or with any values.
        let mut rows: Vec<Row> = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let like = self.random.pick(&of.rows);
            let like = read_as(like, &of.schema, &schema);
            rows.push(if self.random.percent(75) {
                like
            } else {
                evolution::row(&schema, number_of(&like), &mut self.random)
            });
        }
        let mut written = ids.clone();
        if self.random.percent(25) {
            written.push(*self.random.pick(&fields));
        }
        let part = part_of_schema(&schema, &written);
        let key = |row: &Row| -> Vec<Option<Value>> {
            let value = |id: &i32| comparable(value_at(row, &schema.path_to(*id)));
            ids.iter().map(value).collect()
        };
        let keys: Vec<_> = rows.iter().map(key).collect();
        let properties = properties(&mut self.random);
        let writer = &mut self.writer;
        let mut file = writer
            .write_equality_deletes(&rows, &part, &ids, partition, properties)
            .await;
        if self.random.percent(20) {
            file.column_metrics = ColumnMetrics::unknown();
        }
        self.seen.global_keys += usize::from(global && self.writer.metadata().default_spec().spec_id() != 0);
        self.seen.several_key_columns += usize::from(ids.len() > 1);
        self.seen.nested_keys += usize::from(ids.iter().any(|id| schema.path_to(*id).len() > 1));
        self.seen.id_sets.insert(ids);
        self.add_delete(file, Deleted::Keys { global, keys });
    }

    /// The partition of a data file, or that of all.
    fn partition_of_keys(&mut self, file: &DataFile) -> (Partition, bool) {
        let metadata = self.writer.metadata();
        let specs = metadata.partition_specs();
        let is_unpartitioned = |id: i32| {
            let spec = specs.iter().find(|spec| spec.spec_id() == id);
            spec.is_some_and(|spec| PartitionSpec::is_unpartitioned(spec))
        };
        let global = Partition {
            spec_id: 0,
            values: vec![],
        };
        if is_unpartitioned(file.spec_id) || self.random.percent(40) {
            return (global, true);
        }
        (Partition::of(file), false)
    }

    fn add_delete(&mut self, file: DataFile, of: Deleted) {
        write!(
            self.log,
            "\n  delete {} of spec {} {:?}, data file {:?}, equality ids {:?}: {of:?}",
            name(&file),
            file.spec_id,
            file.partition,
            file.referenced_data_file,
            file.equality_ids
        )
        .unwrap();
        self.next.deletes.push(Delete {
            file,
            sequence_number: 0,
            of,
        });
    }
}

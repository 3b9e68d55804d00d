//! What a snapshot says of itself (§ Optional Snapshot Summary Fields).

use std::collections::{BTreeMap, HashMap};

use drumlin_format::manifest::{DataContent, DataFile, FileFormat};
use drumlin_format::snapshot::{Operation, Summary};

use super::manifests::Listed;
use crate::deletes::scope_of;
use crate::table::Table;

/// Files and rows that come, or that go.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    data_files: i64,
    delete_files: i64,
    equality_delete_files: i64,
    position_delete_files: i64,
    vectors: i64,
    records: i64,
    bytes: i64,
    position_deletes: i64,
    equality_deletes: i64,
}

impl Tally {
    fn of<'a>(files: impl IntoIterator<Item = &'a DataFile>) -> Self {
        let mut tally = Self::default();
        for file in files {
            tally.add(file);
        }
        tally
    }

    fn add(&mut self, file: &DataFile) {
        // A deletion vector shares its file with others.
        let bytes = file.content_size_in_bytes.unwrap_or(file.file_size_in_bytes);
        self.bytes = self.bytes.saturating_add(bytes);
        let records = file.record_count;
        match file.content {
            DataContent::Data => {
                self.data_files += 1;
                self.records = self.records.saturating_add(records);
            }
            DataContent::PositionDeletes => {
                self.delete_files += 1;
                match file.file_format {
                    FileFormat::Puffin => self.vectors += 1,
                    _ => self.position_delete_files += 1,
                }
                self.position_deletes = self.position_deletes.saturating_add(records);
            }
            DataContent::EqualityDeletes => {
                self.delete_files += 1;
                self.equality_delete_files += 1;
                self.equality_deletes = self.equality_deletes.saturating_add(records);
            }
        }
    }
}

/// What the summary is made of.
pub(super) struct Summarized<'a> {
    pub operation: Operation,
    /// The summary of the snapshot before; `None` if there is none.
    pub parent: Option<&'a Summary>,
    pub added: &'a [DataFile],
    pub listed: &'a Listed,
    /// How many manifests of the snapshot before are not listed any more.
    pub replaced_manifests: usize,
    pub snapshot_id: i64,
    pub notes: &'a [(String, String)],
    pub partition_limit: usize,
}

impl Summarized<'_> {
    /// The summary. Figures that are zero are left out; totals are there if the snapshot before has them.
    pub fn summary(&self, table: &Table) -> Summary {
        let (added, removed) = (Tally::of(self.added), Tally::of(&self.listed.removed));
        let mut notes: Vec<(String, String)> = self.notes.to_vec();
        let mut note = |key: &str, value: i64| {
            if value != 0 {
                notes.push((key.to_string(), value.to_string()));
            }
        };
        for (key, value) in [
            ("added-data-files", added.data_files),
            ("deleted-data-files", removed.data_files),
            ("added-delete-files", added.delete_files),
            ("removed-delete-files", removed.delete_files),
            ("added-equality-delete-files", added.equality_delete_files),
            ("removed-equality-delete-files", removed.equality_delete_files),
            ("added-position-delete-files", added.position_delete_files),
            ("removed-position-delete-files", removed.position_delete_files),
            ("added-dvs", added.vectors),
            ("removed-dvs", removed.vectors),
            ("added-records", added.records),
            ("deleted-records", removed.records),
            ("added-position-deletes", added.position_deletes),
            ("removed-position-deletes", removed.position_deletes),
            ("added-equality-deletes", added.equality_deletes),
            ("removed-equality-deletes", removed.equality_deletes),
            ("added-files-size", added.bytes),
            ("removed-files-size", removed.bytes),
        ] {
            note(key, value);
        }
        for (key, added, removed) in [
            ("total-records", added.records, removed.records),
            ("total-files-size", added.bytes, removed.bytes),
            ("total-data-files", added.data_files, removed.data_files),
            ("total-delete-files", added.delete_files, removed.delete_files),
            (
                "total-position-deletes",
                added.position_deletes,
                removed.position_deletes,
            ),
            (
                "total-equality-deletes",
                added.equality_deletes,
                removed.equality_deletes,
            ),
        ] {
            let before = match self.parent {
                None => Some(0),
                Some(parent) => parent.get(key).and_then(|text| text.parse::<i64>().ok()),
            };
            let total = before.and_then(|b| b.checked_add(added)?.checked_sub(removed));
            if let Some(total) = total.filter(|t| *t >= 0) {
                notes.push((key.to_string(), total.to_string()));
            }
        }
        let own = |m: &&_| is_own(m, self.snapshot_id);
        let created = self.listed.manifests.iter().filter(own).count();
        for (key, count) in [
            ("manifests-created", created),
            ("manifests-kept", self.listed.manifests.len() - created),
            ("manifests-replaced", self.replaced_manifests),
        ] {
            notes.push((key.to_string(), count.to_string()));
        }
        notes.extend(self.partitions(table));
        Summary::with_notes(self.operation.clone(), notes)
    }

    /// How many partitions were changed, and what was changed in each if there are few.
    fn partitions(&self, table: &Table) -> Vec<(String, String)> {
        let mut by_partition: HashMap<Vec<u8>, (&DataFile, Tally, Tally)> = HashMap::new();
        for file in self.added {
            let of = by_partition.entry(scope_of(file));
            of.or_insert((file, Tally::default(), Tally::default()))
                .1
                .add(file);
        }
        for file in &self.listed.removed {
            let of = by_partition.entry(scope_of(file));
            of.or_insert((file, Tally::default(), Tally::default()))
                .2
                .add(file);
        }
        let count = by_partition.len();
        let mut notes = vec![("changed-partition-count".to_string(), count.to_string())];
        if count == 0 || count > self.partition_limit {
            return notes;
        }
        notes.push(("partition-summaries-included".to_string(), "true".to_string()));
        let mut texts = BTreeMap::new();
        for (file, added, removed) in by_partition.values() {
            let Some(spec) = table.metadata().spec_by_id(file.spec_id) else {
                continue;
            };
            let figures = [
                ("added-data-files", added.data_files),
                ("deleted-data-files", removed.data_files),
                ("added-delete-files", added.delete_files),
                ("removed-delete-files", removed.delete_files),
                ("added-records", added.records),
                ("deleted-records", removed.records),
                ("added-files-size", added.bytes),
                ("removed-files-size", removed.bytes),
            ];
            let figures = figures.iter().filter(|(_, n)| *n != 0);
            let text: Vec<String> = figures.map(|(key, n)| format!("{key}={n}")).collect();
            let path = table.partition_path(spec, &file.partition);
            texts.insert(format!("partitions.{path}"), text.join(","));
        }
        notes.extend(texts);
        notes
    }
}

fn is_own(manifest: &drumlin_format::manifest_list::ManifestFile, snapshot_id: i64) -> bool {
    manifest.added_snapshot_id == snapshot_id
}

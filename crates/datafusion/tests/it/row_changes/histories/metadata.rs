//! What the metadata of a snapshot must be, whatever happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::{
    DataContent, FileFormat, ManifestContent, ManifestEntry, ManifestProjection, ManifestStatus,
    read_manifest,
};
use drumlin_format::manifest_list::{ManifestFile, read_manifest_list};
use drumlin_format::snapshot::{ManifestListLocation, Snapshot};
use drumlin_table::Table;

use super::seen::Seen;

/// The entries of a snapshot's manifests.
struct Files {
    version: u8,
    entries: Vec<ManifestEntry>,
}

/// Holds the current snapshot against the rules. `changed` says that the last statement made it.
pub async fn check(table: &Table, changed: bool, rows: usize, seen: &mut Seen) -> Result<(), String> {
    let Some(snapshot) = table.snapshot() else {
        return Ok(());
    };
    let version = table.metadata().format_version();
    let mut files = Files {
        version,
        entries: Vec::new(),
    };
    for manifest in manifests(table, snapshot).await {
        let entries = entries(table, &manifest).await;
        counted(&manifest, &entries)?;
        if version >= 3
            && changed
            && (manifest.content == ManifestContent::Data) != manifest.first_row_id.is_some()
        {
            return Err(format!(
                "{} has first row id {:?}",
                manifest.manifest_path, manifest.first_row_id
            ));
        }
        files.entries.extend(entries);
    }
    files.check_data(rows)?;
    files.check_vectors(table).await?;
    files.check_totals(snapshot)?;
    if changed {
        files.check_changes(snapshot, seen)?;
        if version >= 3 {
            let end = snapshot
                .first_row_id
                .zip(snapshot.added_rows)
                .map(|(first, added)| first + added);
            if end != Some(table.metadata().next_row_id()) {
                let next = table.metadata().next_row_id();
                return Err(format!(
                    "the next row id is {next}, but the snapshot's ids end at {end:?}"
                ));
            }
        }
    }
    Ok(())
}

async fn manifests(table: &Table, snapshot: &Snapshot) -> Vec<ManifestFile> {
    let ManifestListLocation::File(list) = &snapshot.manifest_list else {
        panic!("no manifest list")
    };
    read_manifest_list(&table.storage().read(list).await.unwrap()).unwrap()
}

async fn entries(table: &Table, manifest: &ManifestFile) -> Vec<ManifestEntry> {
    let bytes = table.storage().read(&manifest.manifest_path).await.unwrap();
    let spec = table.metadata().spec_by_id(manifest.partition_spec_id).unwrap();
    let partition_type = table.partition_type(spec);
    let manifest = read_manifest(&bytes, manifest, &partition_type, ManifestProjection::ALL);
    manifest.unwrap().entries
}

/// The counts of a manifest are those of its entries.
fn counted(manifest: &ManifestFile, entries: &[ManifestEntry]) -> Result<(), String> {
    let of = |status| entries.iter().filter(move |entry| entry.status == status);
    let all = [
        (
            ManifestStatus::Added,
            manifest.added_files_count,
            manifest.added_rows_count,
        ),
        (
            ManifestStatus::Existing,
            manifest.existing_files_count,
            manifest.existing_rows_count,
        ),
        (
            ManifestStatus::Deleted,
            manifest.deleted_files_count,
            manifest.deleted_rows_count,
        ),
    ];
    for (status, files, rows) in all {
        let counted = i32::try_from(of(status).count()).unwrap();
        let summed: i64 = of(status).map(|entry| entry.data_file.record_count).sum();
        if files != Some(counted) || rows != Some(summed) {
            return Err(format!(
                "{} says {files:?} files and {rows:?} rows {status:?}, and has {counted} and {summed}",
                manifest.manifest_path
            ));
        }
    }
    let oldest = entries.iter().filter(|entry| entry.is_live());
    let oldest = oldest.map(|entry| entry.sequence_number).min();
    match oldest {
        Some(oldest) if manifest.min_sequence_number > oldest => Err(format!(
            "{} has entries of sequence number {oldest}, below {}",
            manifest.manifest_path, manifest.min_sequence_number
        )),
        _ => Ok(()),
    }
}

impl Files {
    fn live(&self) -> impl Iterator<Item = &ManifestEntry> {
        self.entries.iter().filter(|entry| entry.is_live())
    }

    fn data(&self) -> impl Iterator<Item = &ManifestEntry> {
        self.live()
            .filter(|entry| entry.data_file.content == DataContent::Data)
    }

    fn vectors(&self) -> impl Iterator<Item = &ManifestEntry> {
        self.live()
            .filter(|entry| entry.data_file.file_format == FileFormat::Puffin)
    }

    /// Data files are listed once, and hold the rows at least.
    fn check_data(&self, rows: usize) -> Result<(), String> {
        let mut paths = BTreeSet::new();
        for entry in self.data() {
            if !paths.insert(&entry.data_file.file_path) {
                return Err(format!("{} is listed twice", entry.data_file.file_path));
            }
        }
        let held: i64 = self.data().map(|entry| entry.data_file.record_count).sum();
        match held >= i64::try_from(rows).unwrap() {
            true => Ok(()),
            false => Err(format!("data files hold {held} rows, the table {rows}")),
        }
    }

    /// A file has one vector at most, of its partition, within its rows, and of as many rows as it says.
    async fn check_vectors(&self, table: &Table) -> Result<(), String> {
        let data: BTreeMap<&Arc<str>, &ManifestEntry> = self
            .data()
            .map(|entry| (&entry.data_file.file_path, entry))
            .collect();
        let mut referenced = BTreeSet::new();
        for entry in self.vectors() {
            let vector = &entry.data_file;
            let path = vector.referenced_data_file.as_ref();
            let path = path.ok_or_else(|| format!("the vector {} names no file", vector.file_path))?;
            if self.version < 3 {
                return Err(format!("version {} has a deletion vector", self.version));
            }
            if !referenced.insert(path) {
                return Err(format!("{path} has two deletion vectors"));
            }
            let of = data
                .get(path)
                .ok_or_else(|| format!("the deletion vector of {path} is left, but not the file"))?;
            if of.data_file.spec_id != vector.spec_id || of.data_file.partition != vector.partition {
                return Err(format!("the deletion vector of {path} is of another partition"));
            }
            if of.sequence_number > entry.sequence_number {
                return Err(format!("the deletion vector of {path} is older than the file"));
            }
            let bytes = table.storage().read(&vector.file_path).await.unwrap();
            let place = |field: Option<i64>| usize::try_from(field.unwrap()).unwrap();
            let (start, size) = (place(vector.content_offset), place(vector.content_size_in_bytes));
            let positions = DeletionVector::from_blob(&bytes[start..start + size]).unwrap();
            if i64::try_from(positions.len()).unwrap() != vector.record_count || positions.is_empty() {
                return Err(format!(
                    "the deletion vector of {path} has {} rows, and says {}",
                    positions.len(),
                    vector.record_count
                ));
            }
            let end = u64::try_from(of.data_file.record_count).unwrap();
            if positions.max().is_some_and(|last| last >= end) {
                return Err(format!(
                    "the deletion vector of {path} goes beyond its {end} rows"
                ));
            }
        }
        Ok(())
    }

    /// The totals are those of what is there (§ Optional Snapshot Summary Fields).
    fn check_totals(&self, snapshot: &Snapshot) -> Result<(), String> {
        let deletes = || {
            self.live()
                .filter(|entry| entry.data_file.content == DataContent::PositionDeletes)
        };
        let records = |entry: &ManifestEntry| entry.data_file.record_count;
        says(snapshot, "total-data-files", number(self.data().count()))?;
        says(snapshot, "total-records", self.data().map(records).sum())?;
        says(snapshot, "total-delete-files", number(deletes().count()))?;
        says(snapshot, "total-position-deletes", deletes().map(records).sum())?;
        says(snapshot, "total-equality-deletes", 0)?;
        says(snapshot, "total-files-size", self.live().map(size).sum())
    }

    /// What came and went is what the summary says.
    fn check_changes(&self, snapshot: &Snapshot, seen: &mut Seen) -> Result<(), String> {
        let of = |status| {
            let own = move |entry: &&ManifestEntry| {
                entry.status == status && entry.snapshot_id == snapshot.snapshot_id
            };
            self.entries.iter().filter(own)
        };
        let is_data = |entry: &&ManifestEntry| entry.data_file.content == DataContent::Data;
        let is_vector = |entry: &&ManifestEntry| entry.data_file.file_format == FileFormat::Puffin;
        let is_file = |entry: &&ManifestEntry| !is_data(entry) && !is_vector(entry);
        let records = |entry: &ManifestEntry| entry.data_file.record_count;
        for (status, added, removed) in [
            (ManifestStatus::Added, "added", "added"),
            (ManifestStatus::Deleted, "deleted", "removed"),
        ] {
            let all = || of(status);
            let data = || all().filter(is_data);
            let deletes = || all().filter(|entry| !is_data(entry));
            for (key, value) in [
                (format!("{added}-data-files"), number(data().count())),
                (format!("{added}-records"), data().map(records).sum()),
                (format!("{removed}-delete-files"), number(deletes().count())),
                (
                    format!("{removed}-position-deletes"),
                    deletes().map(records).sum(),
                ),
                (format!("{removed}-dvs"), number(all().filter(is_vector).count())),
                (
                    format!("{removed}-position-delete-files"),
                    number(all().filter(is_file).count()),
                ),
                (format!("{removed}-files-size"), all().map(size).sum()),
            ] {
                says(snapshot, &key, value)?;
            }
        }
        let (new, gone) = (|| of(ManifestStatus::Added), || of(ManifestStatus::Deleted));
        let new_files = new().filter(is_file).count();
        if self.version >= 3 && new_files > 0 {
            return Err(format!(
                "{new_files} position delete files were added in version 3"
            ));
        }
        seen.add_many("position delete file added", new_files);
        seen.add_many("deletion vector added", new().filter(is_vector).count());
        let both = |is: &dyn Fn(&&ManifestEntry) -> bool| {
            new()
                .filter(is_vector)
                .count()
                .min(gone().filter(|entry| is(entry)).count())
        };
        seen.add_many("deletion vector replaced", both(&is_vector));
        seen.add_many("position deletes folded into vectors", both(&is_file));
        let (came, went) = (new().filter(is_data).count(), gone().filter(is_data).count());
        match came {
            0 => seen.add_many("data file removed", went),
            _ => seen.add_many("data file rewritten", went),
        }
        Ok(())
    }
}

/// Bytes of a file, or of a deletion vector alone.
fn size(entry: &ManifestEntry) -> i64 {
    let file = &entry.data_file;
    file.content_size_in_bytes.unwrap_or(file.file_size_in_bytes)
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap()
}

/// A figure of the summary; none is zero.
fn says(snapshot: &Snapshot, key: &str, expected: i64) -> Result<(), String> {
    let found = snapshot.summary.get(key).map(|text| text.parse::<i64>().unwrap());
    let missing_total = key.starts_with("total-") && found.is_none();
    match found.unwrap_or(0) == expected && !missing_total {
        true => Ok(()),
        false => Err(format!("the summary says {key} = {found:?}, it is {expected}")),
    }
}

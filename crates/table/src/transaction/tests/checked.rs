//! What has to be so of a table after every commit, read from its lists and manifests.

use std::collections::{BTreeMap, HashSet};

use drumlin_format::manifest::{
    DataContent, DataFile, FileFormat, ManifestContent, ManifestEntry, ManifestStatus,
};
use drumlin_format::manifest_list::ManifestFile;
use drumlin_format::snapshot::{ManifestListLocation, Snapshot};
use drumlin_format::value::bytes::from_bytes;
use object_store::ObjectStoreExt;

use super::catalog::TestCatalog;
use crate::scan::{entries_of, manifests_of};
use crate::storage::Location;
use crate::table::Table;

/// A live file by path and, for vectors that share a file, its offset.
pub type Live = BTreeMap<(String, Option<i64>), ManifestEntry>;

/// The manifests of a snapshot with their entries.
pub async fn manifests(table: &Table, snapshot: &Snapshot) -> Vec<(ManifestFile, Vec<ManifestEntry>)> {
    let mut all = Vec::new();
    for manifest in manifests_of(table, snapshot).await.unwrap().0 {
        let entries = entries_of(table, &manifest).await.unwrap();
        all.push((manifest, entries));
    }
    all
}

/// The live files of a snapshot, each listed once.
pub async fn live(table: &Table, snapshot: &Snapshot) -> Live {
    let mut live = Live::new();
    for (_, entries) in manifests(table, snapshot).await {
        for entry in entries.into_iter().filter(ManifestEntry::is_live) {
            let file = &entry.data_file;
            let key = (
                file.file_path.to_string(),
                file.content_offset.filter(|_| is_vector(file)),
            );
            assert!(
                live.insert(key.clone(), entry).is_none(),
                "{key:?} is listed twice"
            );
        }
    }
    live
}

/// The live files of the current snapshot.
pub async fn current(table: &Table) -> Live {
    match table.snapshot() {
        Some(snapshot) => live(table, snapshot).await,
        None => Live::new(),
    }
}

/// The paths of the live files of one kind of content.
pub fn paths(live: &Live, data: bool) -> Vec<String> {
    let of_kind = live
        .values()
        .filter(|e| (e.data_file.content == DataContent::Data) == data);
    of_kind.map(|e| e.data_file.file_path.to_string()).collect()
}

fn is_vector(file: &DataFile) -> bool {
    file.file_format == FileFormat::Puffin
}

/// Checks every snapshot of a table, and that nothing that any of them names was ever deleted or overwritten.
pub async fn check(catalog: &TestCatalog, table: &Table) {
    let metadata = table.metadata();
    let version = metadata.format_version();
    let mut needed = HashSet::new();
    // What a file once got it keeps: data sequence number, file sequence number, first row id.
    let mut numbers: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let mut row_ids: BTreeMap<String, i64> = BTreeMap::new();
    let mut last = 0;
    for snapshot in metadata.snapshots() {
        let id = snapshot.snapshot_id;
        assert!(snapshot.sequence_number > last || version == 1 || snapshot.sequence_number == 0);
        last = last.max(snapshot.sequence_number);
        assert!(snapshot.sequence_number <= metadata.last_sequence_number());
        if let ManifestListLocation::File(path) = &snapshot.manifest_list {
            needed.insert(path.clone());
        }
        let manifests = manifests(table, snapshot).await;
        let mut deletes_began = false;
        for (manifest, entries) in &manifests {
            let path = &manifest.manifest_path;
            needed.insert(path.clone());
            let object = Location::parse(path).unwrap().path;
            let stored = catalog.shelf.objects.head(&object).await.unwrap().size;
            assert_eq!(stored as i64, manifest.manifest_length, "length of {path}");
            // C18: data before deletes.
            deletes_began |= manifest.content == ManifestContent::Deletes;
            assert!(!deletes_began || manifest.content == ManifestContent::Deletes);
            check_manifest(table, snapshot, manifest, entries);
            for entry in entries {
                let file = &entry.data_file;
                let is = (entry.sequence_number, entry.file_sequence_number);
                let name = format!("{}@{:?}", file.file_path, file.content_offset);
                let was = *numbers.entry(name).or_insert(is);
                assert_eq!(was, is, "sequence numbers of {} in snapshot {id}", file.file_path);
                if let Some(first) = file.first_row_id {
                    let was = *row_ids.entry(file.file_path.to_string()).or_insert(first);
                    assert_eq!(was, first, "first row id of {} in snapshot {id}", file.file_path);
                }
            }
        }
        let live = live(table, snapshot).await;
        check_rows(table, snapshot, &live);
        check_summary(table, snapshot, &live).await;
    }
    let deleted = catalog.shelf.deleted.lock().unwrap().clone();
    let overwritten = catalog.shelf.overwritten.lock().unwrap().clone();
    for path in needed {
        let object = Location::parse(&path).unwrap().path.to_string();
        assert!(!deleted.contains(&object), "{path} was deleted");
        assert!(!overwritten.contains(&object), "{path} was overwritten");
    }
}

fn check_manifest(table: &Table, snapshot: &Snapshot, manifest: &ManifestFile, entries: &[ManifestEntry]) {
    let path = &manifest.manifest_path;
    let version = table.metadata().format_version();
    let of = |status| entries.iter().filter(move |e| e.status == status);
    let count = |status| Some(of(status).count() as i32);
    let rows = |status| Some(of(status).map(|e| e.data_file.record_count).sum::<i64>());
    use ManifestStatus::{Added, Deleted, Existing};
    let counts = [
        manifest.added_files_count,
        manifest.existing_files_count,
        manifest.deleted_files_count,
    ];
    assert_eq!(counts, [Added, Existing, Deleted].map(count), "counts of {path}");
    let row_counts = [
        manifest.added_rows_count,
        manifest.existing_rows_count,
        manifest.deleted_rows_count,
    ];
    assert_eq!(row_counts, [Added, Existing, Deleted].map(rows), "rows of {path}");
    let live = || entries.iter().filter(|e| e.is_live());
    // C17
    let own = manifest.added_snapshot_id == snapshot.snapshot_id;
    assert!(own || live().next().is_some(), "{path} has no live file");
    if own && version > 1 {
        assert_eq!(manifest.sequence_number, snapshot.sequence_number);
    }
    if let Some(min) = live().map(|e| e.sequence_number).min() {
        assert_eq!(manifest.min_sequence_number, min, "min_sequence_number of {path}");
    }
    let spec = table.metadata().spec_by_id(manifest.partition_spec_id).unwrap();
    let types = table.partition_type(spec);
    for entry in entries {
        let file = &entry.data_file;
        assert_eq!(
            file.content != DataContent::Data,
            manifest.content == ManifestContent::Deletes
        );
        assert_eq!(file.spec_id, manifest.partition_spec_id);
        if entry.status != Existing {
            assert_eq!(
                entry.snapshot_id, manifest.added_snapshot_id,
                "{} in {path}",
                file.file_path
            );
        }
        if entry.status == Added && version > 1 && manifest.sequence_number > 0 {
            assert_eq!(entry.file_sequence_number, manifest.sequence_number);
        }
        let summaries = manifest.partitions.clone().unwrap_or_default();
        assert!(summaries.len() == types.fields().len() || summaries.is_empty());
        for ((value, summary), field) in file.partition.iter().zip(&summaries).zip(types.fields()) {
            let Some(value) = value else {
                assert!(summary.contains_null);
                continue;
            };
            let of = field.field_type.as_primitive().unwrap();
            let bound = |b: &Option<Vec<u8>>| from_bytes(b.as_ref().unwrap(), of).unwrap();
            assert!(bound(&summary.lower_bound).compare(value).unwrap().is_le());
            assert!(bound(&summary.upper_bound).compare(value).unwrap().is_ge());
        }
    }
}

/// § Row Lineage: every live data file has ids of its own, below the next one.
fn check_rows(table: &Table, snapshot: &Snapshot, live: &Live) {
    let Some(first) = snapshot.first_row_id else {
        return;
    };
    let end = first + snapshot.added_rows.unwrap();
    assert!(end <= table.metadata().next_row_id());
    let data = live
        .values()
        .map(|e| &e.data_file)
        .filter(|f| f.content == DataContent::Data);
    let mut ranges: Vec<(i64, i64, &str)> = data
        .map(|f| {
            let first = f
                .first_row_id
                .unwrap_or_else(|| panic!("{} has no row ids", f.file_path));
            (first, first + f.record_count, f.file_path.as_ref())
        })
        .collect();
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        assert!(
            pair[0].1 <= pair[1].0,
            "row ids of {pair:?} in snapshot {}",
            snapshot.snapshot_id
        );
    }
    assert!(ranges.last().is_none_or(|(_, last, _)| *last <= end));
}

fn size(file: &DataFile) -> i64 {
    file.content_size_in_bytes.unwrap_or(file.file_size_in_bytes)
}

/// The figures of the summary, from the live files here and in the snapshot before.
async fn check_summary(table: &Table, snapshot: &Snapshot, now: &Live) {
    let parent = snapshot
        .parent_snapshot_id
        .and_then(|id| table.metadata().snapshot_by_id(id));
    if snapshot.parent_snapshot_id.is_some() && parent.is_none() {
        return;
    }
    let before = match parent {
        Some(parent) => live(table, parent).await,
        None => Live::new(),
    };
    fn without<'a>(a: &'a Live, b: &'a Live) -> impl Fn() -> Box<dyn Iterator<Item = &'a DataFile> + 'a> {
        move || {
            Box::new(
                a.iter()
                    .filter(|(k, _)| !b.contains_key(*k))
                    .map(|(_, e)| &e.data_file),
            )
        }
    }
    let (added, removed) = (without(now, &before), without(&before, now));
    type Figure = fn(&DataFile) -> i64;
    let is_data = |f: &DataFile| i64::from(f.content == DataContent::Data);
    let is_delete = |f: &DataFile| i64::from(f.content != DataContent::Data);
    let is_equality = |f: &DataFile| i64::from(f.content == DataContent::EqualityDeletes);
    let is_position = |f: &DataFile| i64::from(f.content == DataContent::PositionDeletes && !is_vector(f));
    let vector = |f: &DataFile| i64::from(is_vector(f));
    let records = |f: &DataFile| {
        if f.content == DataContent::Data {
            f.record_count
        } else {
            0
        }
    };
    let positions = |f: &DataFile| {
        if f.content == DataContent::PositionDeletes {
            f.record_count
        } else {
            0
        }
    };
    let equalities = |f: &DataFile| {
        if f.content == DataContent::EqualityDeletes {
            f.record_count
        } else {
            0
        }
    };
    let figures: [(&str, &str, Figure); 9] = [
        ("added-data-files", "deleted-data-files", is_data),
        ("added-delete-files", "removed-delete-files", is_delete),
        (
            "added-equality-delete-files",
            "removed-equality-delete-files",
            is_equality,
        ),
        (
            "added-position-delete-files",
            "removed-position-delete-files",
            is_position,
        ),
        ("added-dvs", "removed-dvs", vector),
        ("added-records", "deleted-records", records),
        ("added-position-deletes", "removed-position-deletes", positions),
        ("added-equality-deletes", "removed-equality-deletes", equalities),
        ("added-files-size", "removed-files-size", size),
    ];
    let summary = &snapshot.summary;
    let said = |key: &str| summary.get(key).map(|v| v.parse::<i64>().unwrap());
    for (plus, minus, figure) in figures {
        let (come, gone) = (
            added().map(figure).sum::<i64>(),
            removed().map(figure).sum::<i64>(),
        );
        assert_eq!(
            said(plus).unwrap_or(0),
            come,
            "{plus} of {}",
            snapshot.snapshot_id
        );
        assert_eq!(
            said(minus).unwrap_or(0),
            gone,
            "{minus} of {}",
            snapshot.snapshot_id
        );
        // C44
        assert!(said(plus) != Some(0) && said(minus) != Some(0));
    }
    let totals: [(&str, Figure); 6] = [
        ("total-data-files", is_data),
        ("total-delete-files", is_delete),
        ("total-records", records),
        ("total-files-size", size),
        ("total-position-deletes", positions),
        ("total-equality-deletes", equalities),
    ];
    for (key, figure) in totals {
        let total = now.values().map(|e| figure(&e.data_file)).sum::<i64>();
        assert_eq!(said(key), Some(total), "{key} of {}", snapshot.snapshot_id);
    }
    let partitions: HashSet<_> = added().chain(removed()).map(crate::deletes::scope_of).collect();
    assert_eq!(said("changed-partition-count").unwrap(), partitions.len() as i64);
}

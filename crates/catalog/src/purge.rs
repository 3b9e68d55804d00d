//! Deleting all files of a table that no catalog knows any more.

use std::collections::BTreeSet;

use drumlin_format::snapshot::ManifestListLocation;
use drumlin_table::scan::{entries_of, manifests_of};
use drumlin_table::storage::Storage;
use drumlin_table::table::metadata_file::is_metadata_file;
use drumlin_table::{Error, Result, Table};
use futures::{StreamExt, TryStreamExt};

/// How many files are read or deleted at once.
const CONCURRENT: usize = 16;

/// Deletes what the table's metadata reaches: data and delete files, manifests, manifest lists, statistics, the metadata
/// files of its log and, last, its metadata file. Whoever calls this has made sure that no catalog has the table.
///
/// Files that are gone already are no errors; the first error of another kind is returned after all else was tried. So
/// that no file is left that only a deleted manifest named, nothing is deleted where manifests cannot be read.
pub(crate) async fn purge(table: &Table) -> Result<()> {
    let metadata = table.metadata();
    let (mut manifests, mut lists) = (Vec::new(), BTreeSet::new());
    for snapshot in metadata.snapshots() {
        if let ManifestListLocation::File(list) = &snapshot.manifest_list {
            lists.insert(list.clone());
        }
        match manifests_of(table, snapshot).await {
            Ok((found, _)) => manifests.extend(found),
            Err(Error::NotFound { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    manifests.sort_by(|one, other| one.manifest_path.cmp(&other.manifest_path));
    manifests.dedup_by(|one, other| one.manifest_path == other.manifest_path);

    let files: BTreeSet<String> = futures::stream::iter(manifests.clone())
        .map(|manifest| async move {
            match entries_of(table, &manifest).await {
                Ok(entries) => Ok(entries),
                Err(Error::NotFound { .. }) => Ok(Vec::new()),
                Err(other) => Err(other),
            }
        })
        .buffer_unordered(CONCURRENT)
        .try_fold(BTreeSet::new(), |mut files, entries| async move {
            // What a snapshot deleted may be a file that was only taken out of this table: another one may have it.
            let live = entries.into_iter().filter(|entry| entry.is_live());
            files.extend(live.map(|entry| entry.data_file.file_path.to_string()));
            Ok(files)
        })
        .await?;

    let statistics = metadata.statistics().iter().map(|s| &s.statistics_path);
    let of_partitions = metadata.partition_statistics().iter();
    let statistics = statistics.chain(of_partitions.map(|s| &s.statistics_path));
    let log = metadata.metadata_log().iter().map(|entry| &entry.metadata_file);
    let storage = table.storage();
    let steps = [
        delete(storage, files).await,
        delete(storage, manifests.into_iter().map(|m| m.manifest_path)).await,
        delete(storage, lists).await,
        delete(storage, statistics.cloned()).await,
        delete(storage, log.filter(|file| is_metadata_file(file)).cloned()).await,
        delete(storage, [table.metadata_location().to_string()]).await,
    ];
    steps.into_iter().collect()
}

async fn delete(storage: &Storage, files: impl IntoIterator<Item = String>) -> Result<()> {
    let files: Vec<String> = files.into_iter().collect();
    let answers = futures::stream::iter(files)
        .map(|file| async move { storage.delete(&file).await })
        .buffer_unordered(CONCURRENT);
    let errors = answers.filter_map(|answer| async move { answer.err() });
    match errors.collect::<Vec<Error>>().await.into_iter().next() {
        None => Ok(()),
        Some(first) => Err(first),
    }
}

//! The manifests of a snapshot.

use drumlin_format::avro::Container;
use drumlin_format::manifest::{ManifestContent, ManifestEntry, ManifestProjection, read_manifest};
use drumlin_format::manifest_list::{ManifestFile, read_manifest_list};
use drumlin_format::snapshot::{ManifestListLocation, Snapshot};

use crate::error::{Error, Result};
use crate::table::Table;

/// Reads the manifest list of a snapshot. Returns the manifests and how many bytes were read.
pub async fn manifests_of(table: &Table, snapshot: &Snapshot) -> Result<(Vec<ManifestFile>, u64)> {
    match &snapshot.manifest_list {
        ManifestListLocation::File(path) => {
            if let Some(key) = &snapshot.key_id {
                return Err(Error::Unsupported(format!(
                    "snapshot {} of table `{}` is encrypted (with the key `{key}`); encrypted tables cannot be read",
                    snapshot.snapshot_id,
                    table.name()
                )));
            }
            let bytes = table
                .storage()
                .read(path)
                .await
                .map_err(|e| e.needed_for(table.files_needed_for()))?;
            let manifests = read_manifest_list(&bytes).map_err(|e| e.in_file(path))?;
            Ok((manifests, u64::try_from(bytes.len()).unwrap_or(u64::MAX)))
        }
        ManifestListLocation::Manifests(paths) => {
            // Version 1 could name manifests in the metadata. Nothing but their paths is known: the spec that judges
            // them stands in their headers.
            let mut manifests = Vec::with_capacity(paths.len());
            let mut read = 0;
            for path in paths {
                let bytes = table
                    .storage()
                    .read(path)
                    .await
                    .map_err(|e| e.needed_for(table.files_needed_for()))?;
                let spec_id = spec_of_header(&bytes).map_err(|e| e.in_file(path))?;
                read += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                manifests.push(ManifestFile::unlisted(
                    path,
                    spec_id.unwrap_or(table.metadata().default_spec().spec_id()),
                    ManifestContent::Data,
                    snapshot.snapshot_id,
                ));
            }
            Ok((manifests, read))
        }
    }
}

/// The id of the partition spec that a manifest's header names.
fn spec_of_header(manifest: &[u8]) -> drumlin_format::Result<Option<i32>> {
    let container = Container::open(manifest)?;
    Ok(container
        .text("partition-spec-id")?
        .and_then(|id| id.parse().ok()))
}

/// Reads the entries of a manifest, deleted ones among them, with all that it says.
pub async fn entries_of(table: &Table, manifest: &ManifestFile) -> Result<Vec<ManifestEntry>> {
    let path = &manifest.manifest_path;
    let spec = table.spec_of(manifest)?;
    let bytes = table
        .storage()
        .read(path)
        .await
        .map_err(|e| e.needed_for(table.files_needed_for()))?;
    let read = read_manifest(
        &bytes,
        manifest,
        &table.partition_type(spec),
        ManifestProjection::ALL,
    );
    Ok(read.map_err(|e| e.in_file(path))?.entries)
}

impl Table {
    /// What the files of the pinned snapshot are needed for, for errors about files that are gone.
    pub fn files_needed_for(&self) -> String {
        let snapshot = match self.snapshot() {
            Some(snapshot) => snapshot.snapshot_id.to_string(),
            None => "none".to_string(),
        };
        format!(
            "it is read at snapshot {snapshot} of table `{}`, which may have been expired after the table was opened at {}",
            self.name(),
            self.metadata_location()
        )
    }
}

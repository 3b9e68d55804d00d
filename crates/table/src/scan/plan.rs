//! The planning itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use drumlin_format::manifest::{
    DataContent, DataFile, ManifestContent, ManifestEntry, ManifestProjection, read_manifest,
};
use drumlin_format::manifest_list::ManifestFile;
use drumlin_format::partition::{PartitionField, PartitionSpec, PartitionTuple};
use drumlin_format::types::{NestedField, PrimitiveType, StructType, Type};
use futures::{StreamExt, TryStreamExt};

use super::cache::{CachedManifest, ManifestKey};
use super::list::manifests_of;
use super::metrics::{KeyMetrics, summaries};
use super::{FileTask, PlanSummary, ScanPlan};
use crate::deletes::DeleteIndex;
use crate::error::{Error, Result};
use crate::predicate::projection::project_inclusive;
use crate::predicate::{PartitionPredicate, Predicate};
use crate::table::Table;
use crate::tasks::AbortOnDrop;

/// Manifests that are fetched and decoded at once.
const CONCURRENT_MANIFESTS: usize = 16;

/// A spec with what the predicate says about its tuples.
#[derive(Debug)]
struct JudgedSpec {
    spec: Arc<PartitionSpec>,
    partition_type: StructType,
    predicate: PartitionPredicate,
}

/// What one manifest came to.
#[derive(Debug, Default)]
struct Judged {
    kept: Vec<(Arc<ManifestEntry>, Arc<PartitionSpec>)>,
    pruned_by_partition: u64,
    pruned_by_bounds: u64,
    live: u64,
    bytes_read: u64,
    cached: bool,
}

impl Table {
    /// Plans a scan of the rows that `predicate` keeps. No file that may hold such a row is left out.
    ///
    /// Must be called in a Tokio runtime: manifests are decoded on its threads.
    pub async fn plan_scan(&self, predicate: &Predicate) -> Result<ScanPlan> {
        let start = Instant::now();
        let mut summary = PlanSummary {
            files_total: Some(0),
            ..PlanSummary::default()
        };
        let Some(snapshot) = self.snapshot() else {
            return Ok(ScanPlan {
                tasks: Vec::new(),
                summary,
            });
        };
        let (manifests, bytes) = manifests_of(self, snapshot).await?;
        summary.bytes_read = bytes;
        let specs = self.judge_specs(predicate, &manifests)?;
        let mut opened = Vec::new();
        let mut deletes = Vec::new();
        for manifest in manifests.into_iter().filter(ManifestFile::may_have_live_files) {
            let judged = spec_of(&specs, &manifest)?;
            let may_match = judged
                .predicate
                .might_match_summaries(&judged.spec, &summaries(&manifest));
            let data = manifest.content == ManifestContent::Data;
            summary.manifests_total += usize::from(data);
            match (may_match, data) {
                (true, true) => opened.push((manifest, Arc::clone(judged))),
                (true, false) => deletes.push((manifest, Arc::clone(judged))),
                (false, true) => {
                    summary.manifests_pruned += 1;
                    let live = live_files(&manifest);
                    summary.files_pruned_by_partition += live.unwrap_or(0);
                    summary.files_total = summary.files_total.zip(live).map(|(a, b)| a + b);
                }
                // No data file of a partition is scanned: nothing of it is deleted.
                (false, false) => summary.delete_manifests_pruned += 1,
            }
        }
        let predicate = Arc::new(predicate.clone());
        let judged = self.judge_manifests(opened, &predicate).await?;
        let mut kept = Vec::with_capacity(judged.iter().map(|j| j.kept.len()).sum());
        for manifest in judged {
            summary.files_total = summary.files_total.map(|t| t + manifest.live);
            summary.files_pruned_by_partition += manifest.pruned_by_partition;
            summary.files_pruned_by_bounds += manifest.pruned_by_bounds;
            summary.bytes_read += manifest.bytes_read;
            summary.manifests_cached += usize::from(manifest.cached);
            kept.extend(manifest.kept);
        }
        // Deletes apply to data of their own sequence number and of lower ones.
        let oldest = kept.iter().map(|(entry, _)| entry.sequence_number).min();
        let all = deletes.len();
        deletes.retain(|(manifest, _)| oldest.is_some_and(|oldest| oldest <= manifest.sequence_number));
        summary.delete_manifests_pruned += all - deletes.len();
        summary.delete_manifests_total = deletes.len() + summary.delete_manifests_pruned;
        let tasks = self.with_deletes(kept, deletes, &predicate, &mut summary).await?;
        summary.elapsed = start.elapsed();
        Ok(ScanPlan { tasks, summary })
    }

    /// The tasks of the data files that are left, each with its deletes.
    async fn with_deletes(
        &self,
        kept: Vec<(Arc<ManifestEntry>, Arc<PartitionSpec>)>,
        deletes: Vec<(ManifestFile, Arc<JudgedSpec>)>,
        predicate: &Arc<Predicate>,
        summary: &mut PlanSummary,
    ) -> Result<Vec<FileTask>> {
        let task = |(entry, spec)| FileTask {
            entry,
            spec,
            deletes: None,
        };
        if deletes.is_empty() {
            return Ok(kept.into_iter().map(task).collect());
        }
        let mut index = DeleteIndex::default();
        for manifest in self.judge_manifests(deletes, predicate).await? {
            summary.bytes_read += manifest.bytes_read;
            for (entry, spec) in &manifest.kept {
                index.add(entry, spec.is_unpartitioned())?;
            }
        }
        let entries: Vec<_> = kept.iter().map(|(entry, _)| Arc::clone(entry)).collect();
        let (assigned, counts) = index.assign(&entries, self)?;
        summary.deletes = counts;
        let with_deletes = kept.into_iter().zip(assigned).map(|(kept, deletes)| FileTask {
            deletes,
            ..task(kept)
        });
        Ok(with_deletes.collect())
    }

    async fn judge_manifests(
        &self,
        manifests: Vec<(ManifestFile, Arc<JudgedSpec>)>,
        predicate: &Arc<Predicate>,
    ) -> Result<Vec<Judged>> {
        futures::stream::iter(manifests)
            .map(|(manifest, spec)| {
                let (table, predicate) = (self.clone(), Arc::clone(predicate));
                let work = async move { table.judge_manifest(&manifest, &spec, &predicate).await };
                // A task of its own, so that manifests decode on several threads; dropped with the plan.
                let task = AbortOnDrop(tokio::spawn(work));
                async move { task.joined().await }
            })
            .buffered(CONCURRENT_MANIFESTS)
            .try_collect()
            .await
    }

    fn judge_specs(
        &self,
        predicate: &Predicate,
        manifests: &[ManifestFile],
    ) -> Result<HashMap<i32, Arc<JudgedSpec>>> {
        let mut specs = HashMap::new();
        for manifest in manifests {
            let id = manifest.partition_spec_id;
            if specs.contains_key(&id) {
                continue;
            }
            let spec = self.spec_of(manifest)?;
            let judged = JudgedSpec {
                spec: Arc::clone(spec),
                partition_type: self.partition_type(spec),
                predicate: project_inclusive(predicate, spec),
            };
            specs.insert(id, Arc::new(judged));
        }
        Ok(specs)
    }

    /// The type of a spec's tuples. A source column that the schema of the scan has no more is looked for in the
    /// other schemas, newest first: the tuples of its files are there all the same.
    pub fn partition_type(&self, spec: &PartitionSpec) -> StructType {
        let mut schemas = self.schemas_newest_first();
        schemas.insert(1, self.metadata().current_schema());
        let result_type = |f: &PartitionField| {
            let found = schemas.iter().find_map(|schema| f.result_type(schema));
            NestedField::optional(
                f.field_id,
                f.name.clone(),
                Type::Primitive(found.unwrap_or(PrimitiveType::Unknown)),
            )
        };
        StructType::new(spec.fields().iter().map(result_type).collect())
    }

    /// The folder of a partition of a spec; empty for a spec without fields.
    pub(crate) fn partition_path(&self, spec: &PartitionSpec, tuple: &PartitionTuple) -> String {
        let types = self.partition_type(spec);
        let types = types.fields().iter().map(|f| match &f.field_type {
            Type::Primitive(of) => of.clone(),
            _ => PrimitiveType::Unknown,
        });
        spec.partition_path(tuple, &types.collect::<Vec<_>>())
    }

    async fn judge_manifest(
        &self,
        manifest: &ManifestFile,
        spec: &JudgedSpec,
        predicate: &Predicate,
    ) -> Result<Judged> {
        let key = ManifestKey {
            generation: self.storage().generation(),
            path: manifest.manifest_path.clone(),
            length: manifest.manifest_length,
            sequence_number: manifest.sequence_number,
            added_snapshot_id: manifest.added_snapshot_id,
            first_row_id: manifest.first_row_id,
            partition_type: Type::Struct(spec.partition_type.clone()).to_string(),
        };
        let load = self.load_manifest(manifest, spec);
        let (found, cached) = self.storage().manifest_cache().get_or_load(&key, load).await?;
        let mut judged = Judged {
            bytes_read: if cached { 0 } else { found.bytes_read },
            cached,
            ..Judged::default()
        };
        for entry in found.entries.iter() {
            let file = &entry.data_file;
            if (file.content == DataContent::Data) != (manifest.content == ManifestContent::Data) {
                return Err(Error::from(drumlin_format::Error::invalid(
                    format!(
                        "{} manifest `{}`",
                        manifest.content.name(),
                        manifest.manifest_path
                    ),
                    format!(
                        "it holds `{}`, whose content is {:?}",
                        file.file_path, file.content
                    ),
                )));
            }
            judged.live += 1;
            if !spec.predicate.might_match_tuple(&file.partition) {
                judged.pruned_by_partition += 1;
            } else if !may_matter(file, predicate) {
                judged.pruned_by_bounds += 1;
            } else {
                judged.kept.push((Arc::clone(entry), Arc::clone(&spec.spec)));
            }
        }
        Ok(judged)
    }

    async fn load_manifest(&self, manifest: &ManifestFile, spec: &JudgedSpec) -> Result<CachedManifest> {
        let path = &manifest.manifest_path;
        let bytes = self
            .storage()
            .read(path)
            .await
            .map_err(|e| e.needed_for(self.files_needed_for()))?;
        let read = read_manifest(&bytes, manifest, &spec.partition_type, ManifestProjection::SCAN)
            .map_err(|e| e.in_file(path))?;
        Ok(CachedManifest::new(
            read.entries,
            u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        ))
    }
}

/// Whether a file may hold a row that the predicate keeps, or delete one.
fn may_matter(file: &DataFile, predicate: &Predicate) -> bool {
    match file.content {
        DataContent::Data => predicate.might_match(file),
        DataContent::PositionDeletes => true,
        DataContent::EqualityDeletes => predicate.might_match(&KeyMetrics(file)),
    }
}

fn spec_of<'a>(
    specs: &'a HashMap<i32, Arc<JudgedSpec>>,
    manifest: &ManifestFile,
) -> Result<&'a Arc<JudgedSpec>> {
    specs
        .get(&manifest.partition_spec_id)
        .ok_or_else(|| Error::Stopped(format!("the spec {} was not judged", manifest.partition_spec_id)))
}

/// Live files of a manifest, if the list says.
fn live_files(manifest: &ManifestFile) -> Option<u64> {
    let (added, existing) = manifest.added_files_count.zip(manifest.existing_files_count)?;
    u64::try_from(added)
        .ok()?
        .checked_add(u64::try_from(existing).ok()?)
}

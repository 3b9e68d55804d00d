//! The manifests of a new snapshot: those of its own files, those that lose files, and those that are merged.
//!
//! Whatever was written is remembered, so that another try of the commit takes it again, and so that what is not needed
//! in the end can be deleted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use bytes::Bytes;
use drumlin_format::avro::Codec;
use drumlin_format::manifest::{
    DataContent, DataFile, ManifestContent, ManifestEntry, ManifestStatus, ManifestWriter,
    ManifestWriterOptions,
};
use drumlin_format::manifest_list::{ManifestFile, UNASSIGNED_SEQUENCE_NUMBER};
use drumlin_format::partition::PartitionSpec;
use futures::{StreamExt, TryStreamExt};
use uuid::Uuid;

use super::change::{Kind, SnapshotChange};
use super::properties::CommitProperties;
use super::removal::Removal;
use crate::error::{Error, Result};
use crate::scan::entries_of;
use crate::table::Table;

/// Manifests that are read at once.
const CONCURRENT_MANIFESTS: usize = 16;

/// The codec of manifests, as the reference implementation writes them.
pub(super) const MANIFEST_CODEC: Codec = Codec::Deflate;

/// The manifests that a commit has written, over all of its tries.
#[derive(Debug)]
pub(super) struct Manifests {
    snapshot_id: i64,
    commit: Uuid,
    /// All that were written.
    written: Vec<String>,
    /// Those of the files that are added, with the format version they were written in.
    new: Option<(u8, Vec<NewManifest>)>,
    /// What became of manifests that were opened to remove files.
    filtered: HashMap<ManifestState, Filtered>,
    /// What became of manifests that were merged.
    merged: HashMap<Vec<ManifestState>, ManifestFile>,
}

/// A manifest as a list has it: its path, what its entries inherit, and the format version that it is rewritten in. The
/// numbers of a manifest that an earlier change of the same transaction added are others on each try.
type ManifestState = (String, i64, Option<i64>, u8);

fn state_of(manifest: &ManifestFile, table: &Table) -> ManifestState {
    (
        manifest.manifest_path.clone(),
        manifest.sequence_number,
        manifest.first_row_id,
        table.metadata().format_version(),
    )
}

/// A manifest of added files.
#[derive(Debug, Clone)]
struct NewManifest {
    file: ManifestFile,
    /// Which of the files of its content and spec.
    files: Range<usize>,
}

/// A manifest that was opened to remove files.
#[derive(Debug, Clone)]
struct Filtered {
    /// What is to be listed in its place: itself if nothing was removed.
    manifest: ManifestFile,
    removed: Vec<DataFile>,
}

/// The manifests of a snapshot.
#[derive(Debug)]
pub(super) struct Listed {
    /// In the order of the manifest list.
    pub manifests: Vec<ManifestFile>,
    /// The files that were removed.
    pub removed: Vec<DataFile>,
}

/// A manifest on its way into the list.
#[derive(Debug, Clone)]
enum Source {
    New(NewManifest),
    Stored(ManifestFile),
}

impl Source {
    fn file(&self) -> &ManifestFile {
        match self {
            Self::New(new) => &new.file,
            Self::Stored(file) => file,
        }
    }
}

type Group = (ManifestContent, i32);

impl Manifests {
    pub fn new(snapshot_id: i64) -> Self {
        Self {
            snapshot_id,
            commit: Uuid::new_v4(),
            written: Vec::new(),
            new: None,
            filtered: HashMap::new(),
            merged: HashMap::new(),
        }
    }

    /// The id of the commit, in the names of its files.
    pub fn commit(&self) -> Uuid {
        self.commit
    }

    /// All manifests that were written so far.
    pub fn written(&self) -> &[String] {
        &self.written
    }

    /// The manifests after the change of a snapshot that has `old` ones.
    pub async fn after(
        &mut self,
        change: &SnapshotChange,
        old: Vec<ManifestFile>,
        table: &Table,
        properties: &CommitProperties,
    ) -> Result<Listed> {
        let added = by_group(change);
        self.write_new(change, &added, table, properties).await?;
        let new = self.new.as_ref().map_or_else(Vec::new, |(_, new)| new.clone());
        let mut removal = Removal::of(change, table);
        let (data, deletes): (Vec<_>, Vec<_>) =
            old.into_iter().partition(|m| m.content == ManifestContent::Data);
        let mut removed = Vec::new();
        let data = self.filter(data, &mut removal, table, &mut removed).await?;
        let live = |m: &ManifestFile| m.may_have_live_files();
        // New data is younger than all deletes, unless it stands for older data.
        let next = table.metadata().last_sequence_number().saturating_add(1);
        let number = |m: &ManifestFile| match m.min_sequence_number {
            UNASSIGNED_SEQUENCE_NUMBER => next,
            number => number,
        };
        let new_data = new.iter().map(|n| &n.file);
        let new_data = new_data.filter(|m| m.content == ManifestContent::Data);
        let old_data = data.iter().filter(|m| live(m));
        let oldest = old_data.chain(new_data).map(number).fold(next, i64::min);
        if table.metadata().format_version() > 1 && change.kind != Kind::RewriteManifests {
            removal.keep_deletes_since(oldest);
        }
        let deletes = self.filter(deletes, &mut removal, table, &mut removed).await?;
        removal.all_found(table)?;
        let mut manifests = Vec::new();
        for (content, kept) in [(ManifestContent::Data, data), (ManifestContent::Deletes, deletes)] {
            let own = |m: &ManifestFile| m.added_snapshot_id == self.snapshot_id;
            let kept = kept.into_iter().filter(|m| live(m) || own(m)).map(Source::Stored);
            let new = new.iter().filter(|n| n.file.content == content);
            let all = new.cloned().map(Source::New).chain(kept).collect();
            manifests.extend(self.merge(change, all, &added, table, properties).await?);
        }
        Ok(Listed { manifests, removed })
    }

    /// Writes the manifests of the files that the change adds, once.
    async fn write_new(
        &mut self,
        change: &SnapshotChange,
        added: &BTreeMap<(i32, i32), Vec<&DataFile>>,
        table: &Table,
        properties: &CommitProperties,
    ) -> Result<()> {
        let version = table.metadata().format_version();
        if self.new.as_ref().is_some_and(|(of, _)| *of == version) {
            return Ok(());
        }
        let mut manifests = Vec::new();
        for ((content, spec_id), files) in added {
            let content = ManifestContent::from_code(*content)?;
            let mut start = 0;
            while start < files.len() {
                let spec = table.spec(*spec_id, || "files that are added".to_string())?;
                let mut writer = writer(table, content, spec, self.snapshot_id)?;
                let mut end = start;
                for file in files.iter().skip(start) {
                    add(&mut writer, file, change)?;
                    end += 1;
                    let size = u64::try_from(writer.size_estimate()).unwrap_or(u64::MAX);
                    if size >= properties.manifest_target_bytes {
                        break;
                    }
                }
                manifests.push(NewManifest {
                    file: self.finish(writer, table).await?,
                    files: start..end,
                });
                start = end;
            }
        }
        self.new = Some((version, manifests));
        Ok(())
    }

    /// The manifests without the files that are removed; those are added to `removed`.
    async fn filter(
        &mut self,
        manifests: Vec<ManifestFile>,
        removal: &mut Removal,
        table: &Table,
        removed: &mut Vec<DataFile>,
    ) -> Result<Vec<ManifestFile>> {
        let version = table.metadata().format_version();
        let mut kept = Vec::with_capacity(manifests.len());
        let mut open = Vec::new();
        for (at, manifest) in manifests.iter().enumerate() {
            let spec = table.spec_of(manifest)?;
            let complete = is_complete(manifest, version);
            if !complete || removal.may_touch(manifest, &table.partition_type(spec)) {
                open.push((at, manifest.clone()));
            }
            kept.push(manifest.clone());
        }
        let mut entries = futures::stream::iter(open)
            .map(|(at, manifest)| async move {
                let entries = entries_of(table, &manifest).await?;
                Ok::<_, Error>((at, manifest, entries))
            })
            .buffered(CONCURRENT_MANIFESTS);
        while let Some((at, manifest, entries)) = entries.try_next().await? {
            let mut taken = HashSet::new();
            for (i, entry) in entries.iter().enumerate().filter(|(_, e)| e.is_live()) {
                if removal.takes(&entry.data_file, entry.sequence_number, table)? {
                    taken.insert(i);
                }
            }
            if taken.is_empty() && is_complete(&manifest, version) {
                continue;
            }
            let filtered = self.without(&manifest, &entries, &taken, table).await?;
            removed.extend(filtered.removed);
            if let Some(place) = kept.get_mut(at) {
                *place = filtered.manifest;
            }
        }
        Ok(kept)
    }

    /// The manifest without some of its entries.
    async fn without(
        &mut self,
        manifest: &ManifestFile,
        entries: &[ManifestEntry],
        taken: &HashSet<usize>,
        table: &Table,
    ) -> Result<Filtered> {
        let removed = || {
            let taken = entries.iter().enumerate().filter(|(i, _)| taken.contains(i));
            taken.map(|(_, e)| e.data_file.clone()).collect::<Vec<_>>()
        };
        let state = state_of(manifest, table);
        if let Some(known) = self.filtered.get(&state)
            && known.removed == removed()
        {
            return Ok(known.clone());
        }
        let spec = table.spec_of(manifest)?;
        let mut writer = writer(table, manifest.content, spec, self.snapshot_id)?;
        for (i, entry) in entries.iter().enumerate() {
            match (entry.is_live(), taken.contains(&i)) {
                (true, true) => writer.delete(entry)?,
                (true, false) => writer.existing(entry)?,
                (false, _) => {}
            }
        }
        let filtered = Filtered {
            manifest: self.finish(writer, table).await?,
            removed: removed(),
        };
        self.filtered.insert(state, filtered.clone());
        Ok(filtered)
    }

    /// Puts small manifests of one content together; `all` is newest first.
    async fn merge(
        &mut self,
        change: &SnapshotChange,
        all: Vec<Source>,
        added: &BTreeMap<(i32, i32), Vec<&DataFile>>,
        table: &Table,
        properties: &CommitProperties,
    ) -> Result<Vec<ManifestFile>> {
        let rewrites = change.kind == Kind::RewriteManifests;
        if !rewrites && (!change.merge || !properties.merge_manifests) {
            return Ok(all.into_iter().map(|s| s.file().clone()).collect());
        }
        let mut groups: Vec<(Group, Vec<Source>)> = Vec::new();
        for source in all {
            let group = (source.file().content, source.file().partition_spec_id);
            match groups.iter_mut().find(|(g, _)| *g == group) {
                Some((_, members)) => members.push(source),
                None => groups.push((group, vec![source])),
            }
        }
        let mut merged = Vec::new();
        for ((content, spec_id), members) in groups {
            let files = added
                .get(&(content.code(), spec_id))
                .map_or(&[][..], Vec::as_slice);
            let newest = members.first().map(|s| s.file().manifest_path.clone());
            for bin in bins(members, properties.manifest_target_bytes) {
                let young = bin.first().map(|s| &s.file().manifest_path) == newest.as_ref();
                let few = bin.len() < properties.min_manifests_to_merge && !rewrites;
                if bin.len() == 1 || (young && few) {
                    merged.extend(bin.into_iter().map(|s| s.file().clone()));
                } else {
                    merged.push(self.merged(change, &bin, files, table).await?);
                }
            }
        }
        Ok(merged)
    }

    /// One manifest of all entries of several.
    async fn merged(
        &mut self,
        change: &SnapshotChange,
        bin: &[Source],
        files: &[&DataFile],
        table: &Table,
    ) -> Result<ManifestFile> {
        let states: Vec<ManifestState> = bin.iter().map(|s| state_of(s.file(), table)).collect();
        if let Some(known) = self.merged.get(&states) {
            return Ok(known.clone());
        }
        let Some(first) = bin.first().map(Source::file) else {
            return Err(Error::Stopped("there are no manifests to be merged".into()));
        };
        let spec = table.spec_of(first)?;
        let mut writer = writer(table, first.content, spec, self.snapshot_id)?;
        // Owned items: with borrowed ones the future of a commit could not be sent between threads.
        let mut stored = futures::stream::iter(bin.to_vec())
            .map(|source| async move {
                let entries = match &source {
                    Source::New(_) => Vec::new(),
                    Source::Stored(file) => entries_of(table, file).await?,
                };
                Ok::<_, Error>((source, entries))
            })
            .buffered(CONCURRENT_MANIFESTS);
        while let Some((source, entries)) = stored.try_next().await? {
            if let Source::New(new) = source {
                for file in files.get(new.files.clone()).unwrap_or_default() {
                    add(&mut writer, file, change)?;
                }
            }
            for entry in &entries {
                match entry.status {
                    ManifestStatus::Deleted if entry.snapshot_id == self.snapshot_id => {
                        writer.delete(entry)?
                    }
                    ManifestStatus::Deleted => {}
                    ManifestStatus::Added | ManifestStatus::Existing => writer.existing(entry)?,
                }
            }
        }
        let merged = self.finish(writer, table).await?;
        self.merged.insert(states, merged.clone());
        Ok(merged)
    }

    /// Writes a manifest to the store.
    async fn finish(&mut self, writer: ManifestWriter<'_>, table: &Table) -> Result<ManifestFile> {
        let name = format!("{}-m{}.avro", self.commit, self.written.len());
        let path = format!("{}/{name}", table.metadata_folder());
        let (bytes, manifest) = writer.finish(path.as_str())?;
        // Remembered first: a write that fails may leave something behind.
        self.written.push(path.clone());
        table.storage().write(&path, Bytes::from(bytes)).await?;
        Ok(manifest)
    }
}

/// The files that a change adds, by the code of their manifests' content and by spec.
fn by_group(change: &SnapshotChange) -> BTreeMap<(i32, i32), Vec<&DataFile>> {
    let mut groups: BTreeMap<(i32, i32), Vec<&DataFile>> = BTreeMap::new();
    for file in &change.added {
        let content = match file.content {
            DataContent::Data => ManifestContent::Data,
            _ => ManifestContent::Deletes,
        };
        groups
            .entry((content.code(), file.spec_id))
            .or_default()
            .push(file);
    }
    groups
}

fn add(writer: &mut ManifestWriter<'_>, file: &DataFile, change: &SnapshotChange) -> Result<()> {
    match change.data_sequence_number {
        Some(number) if file.content == DataContent::Data => writer.add_with_sequence_number(file, number)?,
        _ => writer.add(file)?,
    }
    Ok(())
}

fn writer<'a>(
    table: &'a Table,
    content: ManifestContent,
    spec: &'a PartitionSpec,
    snapshot_id: i64,
) -> Result<ManifestWriter<'a>> {
    let metadata = table.metadata();
    let options = ManifestWriterOptions {
        format_version: metadata.format_version(),
        content,
        schema: metadata.current_schema(),
        spec,
        snapshot_id,
        codec: MANIFEST_CODEC,
    };
    Ok(ManifestWriter::with_partition_type(
        options,
        table.partition_type(spec),
    )?)
}

/// Whether the list says all of a manifest that a list of the version has to say.
fn is_complete(manifest: &ManifestFile, version: u8) -> bool {
    let files = [
        manifest.added_files_count,
        manifest.existing_files_count,
        manifest.deleted_files_count,
    ];
    let rows = [
        manifest.added_rows_count,
        manifest.existing_rows_count,
        manifest.deleted_rows_count,
    ];
    let counted = files.iter().all(Option::is_some) && rows.iter().all(Option::is_some);
    // Of manifests that the metadata names itself the length is not known.
    manifest.manifest_length > 0 && (version == 1 || counted)
}

/// Bins of manifests, newest first as they are, each up to the target size, filled from the oldest on.
fn bins(members: Vec<Source>, target_bytes: u64) -> Vec<Vec<Source>> {
    let mut bins: Vec<Vec<Source>> = Vec::new();
    let mut bin: Vec<Source> = Vec::new();
    let mut bytes = 0_u64;
    for source in members.into_iter().rev() {
        let size = u64::try_from(source.file().manifest_length).unwrap_or(0);
        if !bin.is_empty() && bytes.saturating_add(size) > target_bytes {
            bins.push(std::mem::take(&mut bin));
            bytes = 0;
        }
        bytes = bytes.saturating_add(size);
        bin.push(source);
    }
    bins.push(bin);
    bins.reverse();
    for bin in &mut bins {
        bin.reverse();
    }
    bins.retain(|bin| !bin.is_empty());
    bins
}

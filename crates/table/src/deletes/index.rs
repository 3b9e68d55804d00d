//! The delete files of a snapshot, and those of them that apply to a data file.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use drumlin_format::manifest::{DataContent, DataFile, FileFormat, ManifestEntry};
use drumlin_format::partition::PartitionTuple;
use drumlin_format::types::{PrimitiveType, Type};
use drumlin_format::value::Value;
use drumlin_format::value::bytes::{from_bytes, to_bytes};

use super::delete_file::{DeleteFile, invalid};
use super::equality::EqualityDeletes;
use super::key_columns::KeyColumn;
use super::positions::FILE_PATH_ID;
use super::{DeleteCounts, FileDeletes};
use crate::error::Result;
use crate::table::Table;

/// Up to so many delete files of a group each is compared with each data file. Beyond it a data file takes the whole
/// group: the work must not grow with data files times delete files.
const COMPARED_FILES: usize = 64;

/// A spec and the values of a partition, in a form that can be looked up.
type PartitionKey = (i32, Vec<u8>);

/// The equality deletes of a partition, by their field ids.
type ByFieldIds = BTreeMap<Vec<i32>, Group>;

/// The delete files of a snapshot that may apply to the data files of a scan.
#[derive(Debug, Default)]
pub(crate) struct DeleteIndex {
    vectors: HashMap<Arc<str>, Vec<Arc<DeleteFile>>>,
    /// Position deletes of one data file, by its path.
    by_path: HashMap<Arc<str>, Vec<Arc<DeleteFile>>>,
    /// Position deletes of several data files.
    by_partition: HashMap<PartitionKey, Vec<Arc<DeleteFile>>>,
    equality: HashMap<PartitionKey, ByFieldIds>,
    global: ByFieldIds,
}

/// Equality deletes of one scope that compare the same columns.
#[derive(Debug, Default)]
struct Group {
    files: Vec<GroupFile>,
    /// The highest sequence number of its files.
    newest: i64,
    /// Where its files are too many to be compared: the lowest sequence number of a data file that they apply to.
    oldest_data: Cell<Option<i64>>,
}

#[derive(Debug)]
struct GroupFile {
    file: Arc<DeleteFile>,
    /// Whether it applies to a data file of the scan.
    applies: Cell<bool>,
}

/// What applies to a data file, while the groups are not complete yet.
struct Found<'a> {
    vector: Option<Arc<DeleteFile>>,
    positions: Vec<Arc<DeleteFile>>,
    /// With their field ids.
    groups: Vec<(&'a [i32], &'a Group)>,
}

impl DeleteIndex {
    /// Takes in a live entry of a delete manifest. `unpartitioned` tells of its spec.
    ///
    /// # Errors
    /// It is a data file, or equality deletes of no columns.
    pub fn add(&mut self, entry: &Arc<ManifestEntry>, unpartitioned: bool) -> Result<()> {
        let deletes = &entry.data_file;
        let file = Arc::new(DeleteFile::new(Arc::clone(entry)));
        match (deletes.content, &deletes.file_format) {
            (DataContent::PositionDeletes, FileFormat::Puffin) => {
                let Some(path) = &deletes.referenced_data_file else {
                    return Err(invalid(deletes, "a deletion vector that names no data file"));
                };
                self.vectors.entry(Arc::clone(path)).or_default().push(file);
            }
            (DataContent::PositionDeletes, _) => match data_file_of(deletes) {
                Some(path) => self.by_path.entry(path).or_default().push(file),
                None => self.by_partition.entry(key(deletes)).or_default().push(file),
            },
            (DataContent::EqualityDeletes, _) => {
                let mut ids = deletes.equality_ids.clone().unwrap_or_default();
                ids.sort_unstable();
                ids.dedup();
                if ids.is_empty() {
                    return Err(invalid(deletes, "equality deletes that name no column"));
                }
                let by_ids = match unpartitioned {
                    true => &mut self.global,
                    false => self.equality.entry(key(deletes)).or_default(),
                };
                let group = by_ids.entry(ids).or_default();
                group.newest = group.newest.max(file.sequence_number());
                group.files.push(GroupFile {
                    file,
                    applies: Cell::new(false),
                });
            }
            (DataContent::Data, _) => {
                return Err(invalid(
                    deletes,
                    "a delete manifest holds it, but it is a data file",
                ));
            }
        }
        Ok(())
    }

    /// The deletes of each of these data files, in their order, and how many delete files apply to any of them.
    ///
    /// # Errors
    /// A data file has two deletion vectors, or equality deletes compare a column that no schema has.
    pub fn assign(
        &self,
        files: &[Arc<ManifestEntry>],
        table: &Table,
    ) -> Result<(Vec<Option<Arc<FileDeletes>>>, DeleteCounts)> {
        let found = files.iter().map(|f| self.find(f, table));
        let found = found.collect::<Result<Vec<_>>>()?;
        let mut counts = DeleteCounts::default();
        let mut counted: HashSet<*const DeleteFile> = HashSet::new();
        let mut groups: HashMap<*const Group, Arc<EqualityDeletes>> = HashMap::new();
        let mut assigned = Vec::with_capacity(found.len());
        for found in found {
            let mut deletes = FileDeletes {
                vector: found.vector,
                positions: found.positions,
                equality: Vec::with_capacity(found.groups.len()),
                uncommitted: None,
            };
            counts.deletion_vectors += usize::from(deletes.vector.is_some());
            for file in &deletes.positions {
                counts.position_delete_files += usize::from(counted.insert(Arc::as_ptr(file)));
            }
            for (ids, group) in found.groups {
                let complete = match groups.get(&std::ptr::from_ref(group)) {
                    Some(complete) => Arc::clone(complete),
                    None => {
                        let global = self.global.values().any(|g| std::ptr::eq(g, group));
                        let complete = Arc::new(group.complete(ids, global, table)?);
                        counts.equality_delete_files += complete.files().len();
                        groups.insert(std::ptr::from_ref(group), Arc::clone(&complete));
                        complete
                    }
                };
                deletes.equality.push(complete);
            }
            assigned.push((!deletes.is_empty()).then(|| Arc::new(deletes)));
        }
        Ok((assigned, counts))
    }

    fn find(&self, data: &ManifestEntry, table: &Table) -> Result<Found<'_>> {
        let file = &data.data_file;
        let partition = key(file);
        let vector = self.vector_of(data, &partition)?;
        let mut positions = Vec::new();
        if vector.is_none() {
            let named = self.by_path.get(&file.file_path).into_iter().flatten();
            let named = named.filter(|d| key(d.data_file()) == partition);
            let others = self.by_partition.get(&partition).into_iter().flatten();
            let applies = |d: &&Arc<DeleteFile>| {
                data.sequence_number <= d.sequence_number() && may_name(d.data_file(), &file.file_path)
            };
            positions.extend(named.chain(others).filter(applies).cloned());
        }
        let own = self.equality.get(&partition).into_iter().flatten();
        let groups = own.chain(&self.global);
        let groups = groups.filter(|(ids, group)| group.applies_to(data, ids, table));
        Ok(Found {
            vector,
            positions,
            groups: groups.map(|(ids, group)| (ids.as_slice(), group)).collect(),
        })
    }

    fn vector_of(&self, data: &ManifestEntry, partition: &PartitionKey) -> Result<Option<Arc<DeleteFile>>> {
        let file = &data.data_file;
        let Some(vectors) = self.vectors.get(&file.file_path) else {
            return Ok(None);
        };
        if let [one, other, ..] = vectors.as_slice() {
            return Err(invalid(
                one.data_file(),
                format!(
                    "the data file `{}` has two deletion vectors, the other one is in `{}`; which of them counts cannot \
                     be known",
                    file.file_path,
                    other.data_file().file_path
                ),
            ));
        }
        let applies = |v: &&Arc<DeleteFile>| {
            data.sequence_number <= v.sequence_number() && key(v.data_file()) == *partition
        };
        Ok(vectors.first().filter(applies).cloned())
    }
}

impl Group {
    /// Whether one of its files may delete rows of a data file; marks those that may.
    fn applies_to(&self, data: &ManifestEntry, ids: &[i32], table: &Table) -> bool {
        let number = data.sequence_number;
        if self.is_large() {
            let applies = number < self.newest;
            if applies {
                let oldest = self.oldest_data.get();
                self.oldest_data
                    .set(Some(oldest.map_or(number, |o| o.min(number))));
            }
            return applies;
        }
        let mut any = false;
        for deletes in &self.files {
            let applies = number < deletes.file.sequence_number()
                && !disjoint(&data.data_file, deletes.file.data_file(), ids, table);
            if applies {
                any = true;
                deletes.applies.set(true);
            }
        }
        any
    }

    /// Whether its files are not compared one by one.
    fn is_large(&self) -> bool {
        self.files.len() > COMPARED_FILES
    }

    /// The deletes with the files that apply to a data file.
    fn complete(&self, ids: &[i32], global: bool, table: &Table) -> Result<EqualityDeletes> {
        let oldest = self.oldest_data.get();
        let applies = |f: &&GroupFile| match self.is_large() {
            true => oldest.is_some_and(|oldest| oldest < f.file.sequence_number()),
            false => f.applies.get(),
        };
        let applying = self.files.iter().filter(applies);
        let files: Vec<Arc<DeleteFile>> = applying.map(|f| Arc::clone(&f.file)).collect();
        let mut columns = Vec::new();
        if let Some(first) = files.first().map(|f| f.data_file()) {
            for id in ids {
                let column = KeyColumn::of(*id, table);
                columns.push(column.ok_or_else(|| {
                    invalid(
                        first,
                        format!(
                            "it deletes by the field id {id}, which is no single value of any schema that table `{}` had",
                            table.name()
                        ),
                    )
                })?);
            }
        }
        Ok(EqualityDeletes::new(columns.into(), global, files))
    }
}

/// The spec and partition of a file as bytes, equal for files of one partition: what the equality deletes of partitions
/// are limited to.
pub fn scope_of(file: &DataFile) -> Vec<u8> {
    scope(file.spec_id, &file.partition)
}

/// A spec and values of a partition as bytes, as [`scope_of`] has them.
pub(crate) fn scope(spec_id: i32, partition: &PartitionTuple) -> Vec<u8> {
    let mut scope = spec_id.to_le_bytes().to_vec();
    scope.extend(tuple_bytes(partition));
    scope
}

/// The spec and partition of a file. Values of partitions are equal if their bytes are; all NaN are one.
fn key(file: &DataFile) -> PartitionKey {
    (file.spec_id, tuple_bytes(&file.partition))
}

fn tuple_bytes(tuple: &PartitionTuple) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(tuple.len() * 9);
    for value in tuple {
        let value = match value {
            Some(Value::Float(v)) if v.is_nan() => Some(Value::Float(f32::NAN)),
            Some(Value::Double(v)) if v.is_nan() => Some(Value::Double(f64::NAN)),
            other => other.clone(),
        };
        match value.as_ref().and_then(to_bytes) {
            Some(value) => {
                bytes.push(1);
                bytes.extend_from_slice(&value.len().to_le_bytes());
                bytes.extend_from_slice(&value);
            }
            None => bytes.push(0),
        }
    }
    bytes
}

/// The one data file that position deletes are for, if there is only one.
pub fn data_file_of(deletes: &DataFile) -> Option<Arc<str>> {
    if let Some(path) = &deletes.referenced_data_file {
        return Some(Arc::clone(path));
    }
    let metrics = &deletes.column_metrics;
    let lower = metrics.lower_bound(FILE_PATH_ID)?;
    // Bounds that were cut differ.
    let path = (metrics.upper_bound(FILE_PATH_ID)? == lower).then(|| std::str::from_utf8(lower).ok())?;
    path.map(Arc::from)
}

/// Whether position deletes may name a data file, by their bounds.
fn may_name(deletes: &DataFile, path: &str) -> bool {
    let metrics = &deletes.column_metrics;
    let above = metrics
        .lower_bound(FILE_PATH_ID)
        .is_none_or(|lower| lower <= path.as_bytes());
    let below = metrics
        .upper_bound(FILE_PATH_ID)
        .is_none_or(|upper| path.as_bytes() <= upper);
    above && below
}

/// Whether the values of one of the columns prove that equality deletes delete no row of a data file.
fn disjoint(data: &DataFile, deletes: &DataFile, ids: &[i32], table: &Table) -> bool {
    let disjoint = |id: &i32| {
        let schema = table.schema();
        // Counts of fields of structs do not say how many structs are null.
        if schema.parent_of(*id).is_some() {
            return false;
        }
        match schema.field_by_id(*id).map(|f| &f.field_type) {
            // Bounds leave NaN out.
            Some(Type::Primitive(of)) if !of.is_floating() => {
                let (data, deletes) = (Range::of(data, *id, of), Range::of(deletes, *id, of));
                let both_null = data.may_hold_null && deletes.may_hold_null;
                !(both_null || data.may_overlap(&deletes))
            }
            _ => false,
        }
    };
    ids.iter().any(disjoint)
}

/// What the metrics of a file say of a column.
struct Range {
    may_hold_null: bool,
    may_hold_values: bool,
    lower: Option<Value>,
    upper: Option<Value>,
}

impl Range {
    fn of(file: &DataFile, id: i32, of: &PrimitiveType) -> Self {
        let metrics = &file.column_metrics;
        let bound = |bytes: Option<&[u8]>| from_bytes(bytes?, of).ok();
        let nulls = metrics.null_value_count(id);
        Self {
            may_hold_null: nulls != Some(0),
            may_hold_values: nulls.is_none() || nulls != metrics.value_count(id),
            lower: bound(metrics.lower_bound(id)),
            upper: bound(metrics.upper_bound(id)),
        }
    }

    /// Whether both may hold the same value that is not null.
    fn may_overlap(&self, other: &Self) -> bool {
        let below = |upper: &Option<Value>, lower: &Option<Value>| match (upper, lower) {
            (Some(upper), Some(lower)) => upper.compare(lower) == Some(Ordering::Less),
            _ => false,
        };
        self.may_hold_values
            && other.may_hold_values
            && !below(&self.upper, &other.lower)
            && !below(&other.upper, &self.lower)
    }
}

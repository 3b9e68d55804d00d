//! Every manifest and manifest list of the conformance tables, compared with a generic Avro reader.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use apache_avro::types::Value as Avro;

use crate::avro::Container;
use crate::manifest::*;
use crate::manifest_list::{FieldSummary, ManifestFile, read_manifest_list};
use crate::partition::{PartitionSpec, json::fields_from_json};
use crate::schema::Schema;
use crate::types::StructType;
use crate::value::Value;

const TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql-tests/conformance/tables");

pub(super) struct Files {
    pub lists: Vec<(PathBuf, Vec<u8>)>,
    pub manifests: Vec<(PathBuf, Vec<u8>)>,
}

pub(super) fn files() -> Files {
    let mut found = Files {
        lists: Vec::new(),
        manifests: Vec::new(),
    };
    let mut paths = Vec::new();
    for table in std::fs::read_dir(TABLES).expect("the conformance tables") {
        let Ok(metadata) = std::fs::read_dir(table.unwrap().path().join("metadata")) else {
            continue;
        };
        paths.extend(metadata.map(|f| f.unwrap().path()));
    }
    paths.sort();
    for path in paths {
        if path.extension().is_none_or(|e| e != "avro") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("snap-") {
            found.lists.push((path, bytes));
        } else {
            found.manifests.push((path, bytes));
        }
    }
    assert!(found.lists.len() > 100 && found.manifests.len() > 100);
    found
}

/// The type of the tuples, from what the header says about spec and schema.
pub(super) fn partition_type(bytes: &[u8]) -> StructType {
    let container = Container::open(bytes).unwrap();
    let json = |key: &str| serde_json::from_str(container.text(key).unwrap().unwrap()).unwrap();
    let schema = Schema::from_json(&json("schema"), 0, "schema").unwrap();
    let fields = fields_from_json(&json("partition-spec"), "spec").unwrap();
    PartitionSpec::new(0, fields).partition_type(&schema)
}

fn rows(bytes: &[u8]) -> Vec<HashMap<String, Avro>> {
    let reader = apache_avro::Reader::new(bytes).unwrap();
    reader.map(|row| record(row.unwrap())).collect()
}

fn plain(value: Avro) -> Option<Avro> {
    match value {
        Avro::Null => None,
        Avro::Union(_, inner) => plain(*inner),
        other => Some(other),
    }
}

fn record(value: Avro) -> HashMap<String, Avro> {
    match plain(value) {
        Some(Avro::Record(fields)) => fields.into_iter().collect(),
        other => panic!("{other:?} is no record"),
    }
}

fn long(row: &HashMap<String, Avro>, key: &str) -> Option<i64> {
    match plain(row.get(key)?.clone())? {
        Avro::Int(v) => Some(v.into()),
        Avro::Long(v) => Some(v),
        other => panic!("{key}: {other:?}"),
    }
}

fn string(row: &HashMap<String, Avro>, key: &str) -> Option<String> {
    match plain(row.get(key)?.clone())? {
        Avro::String(v) => Some(v),
        other => panic!("{key}: {other:?}"),
    }
}

fn bytes(value: Avro) -> Option<Vec<u8>> {
    match plain(value)? {
        Avro::Bytes(v) => Some(v),
        other => panic!("{other:?}"),
    }
}

fn array(row: &HashMap<String, Avro>, key: &str) -> Option<Vec<Avro>> {
    match plain(row.get(key)?.clone())? {
        Avro::Array(items) => Some(items),
        other => panic!("{key}: {other:?}"),
    }
}

fn counts(row: &HashMap<String, Avro>, key: &str) -> Option<Vec<(i32, i64)>> {
    let pair = |item| {
        let item = record(item);
        (
            long(&item, "key").unwrap().try_into().unwrap(),
            long(&item, "value").unwrap(),
        )
    };
    Some(array(row, key)?.into_iter().map(pair).collect())
}

fn bounds(row: &HashMap<String, Avro>, key: &str) -> Option<Vec<(i32, Vec<u8>)>> {
    let pair = |item| {
        let mut item = record(item);
        let key = long(&item, "key").unwrap().try_into().unwrap();
        (key, bytes(item.remove("value").unwrap()).unwrap())
    };
    Some(array(row, key)?.into_iter().map(pair).collect())
}

fn compare_list(expected: &HashMap<String, Avro>, file: &ManifestFile) {
    let e = |key| long(expected, key);
    assert_eq!(
        string(expected, "manifest_path").as_ref(),
        Some(&file.manifest_path)
    );
    assert_eq!(e("manifest_length"), Some(file.manifest_length));
    assert_eq!(e("partition_spec_id"), Some(file.partition_spec_id.into()));
    assert_eq!(e("content").unwrap_or(0), i64::from(file.content.code()));
    assert_eq!(e("sequence_number").unwrap_or(0), file.sequence_number);
    assert_eq!(e("min_sequence_number").unwrap_or(0), file.min_sequence_number);
    assert_eq!(e("added_snapshot_id"), Some(file.added_snapshot_id));
    assert_eq!(e("added_files_count"), file.added_files_count.map(Into::into));
    assert_eq!(
        e("existing_files_count"),
        file.existing_files_count.map(Into::into)
    );
    assert_eq!(e("deleted_files_count"), file.deleted_files_count.map(Into::into));
    assert_eq!(e("added_rows_count"), file.added_rows_count);
    assert_eq!(e("existing_rows_count"), file.existing_rows_count);
    assert_eq!(e("deleted_rows_count"), file.deleted_rows_count);
    assert_eq!(e("first_row_id"), file.first_row_id);
    let boolean = |value: Option<Avro>| match plain(value?)? {
        Avro::Boolean(v) => Some(v),
        other => panic!("{other:?}"),
    };
    let summary = |item| {
        let mut item = record(item);
        FieldSummary {
            contains_null: boolean(item.remove("contains_null")).unwrap(),
            contains_nan: boolean(item.remove("contains_nan")),
            lower_bound: item.remove("lower_bound").and_then(bytes),
            upper_bound: item.remove("upper_bound").and_then(bytes),
        }
    };
    let partitions = array(expected, "partitions").map(|p| p.into_iter().map(summary).collect());
    assert_eq!(partitions, file.partitions);
}

/// The value as it stands in the file. Types decide only what they must.
fn partition_value(value: Avro) -> Option<Value> {
    Some(match plain(value)? {
        Avro::Boolean(v) => Value::Boolean(v),
        Avro::Int(v) | Avro::Date(v) => Value::Int(v),
        Avro::Long(v)
        | Avro::TimestampMicros(v)
        | Avro::LocalTimestampMicros(v)
        | Avro::TimestampNanos(v)
        | Avro::TimeMicros(v) => Value::Long(v),
        Avro::Float(v) => Value::Float(v),
        Avro::Double(v) => Value::Double(v),
        Avro::String(v) => Value::String(v),
        Avro::Bytes(v) | Avro::Fixed(_, v) => Value::Bytes(v),
        Avro::Uuid(v) => Value::Bytes(v.as_bytes().to_vec()),
        Avro::Decimal(v) => {
            let bytes = Vec::<u8>::try_from(v).unwrap();
            Value::Decimal(crate::value::bytes::decimal_from_bytes(&bytes).unwrap())
        }
        other => panic!("{other:?}"),
    })
}

fn compare_entry(expected: &HashMap<String, Avro>, entry: &ManifestEntry, manifest: &ManifestFile) {
    let e = |key| long(expected, key);
    assert_eq!(e("status"), Some(entry.status.code().into()));
    assert_eq!(
        e("snapshot_id").unwrap_or(manifest.added_snapshot_id),
        entry.snapshot_id
    );
    assert_eq!(
        e("sequence_number").unwrap_or(manifest.sequence_number),
        entry.sequence_number
    );
    assert_eq!(
        e("file_sequence_number").unwrap_or(manifest.sequence_number),
        entry.file_sequence_number
    );
    let file = &entry.data_file;
    let expected = record(expected["data_file"].clone());
    let e = |key| long(&expected, key);
    assert_eq!(e("content").unwrap_or(0), i64::from(file.content.code()));
    assert_eq!(string(&expected, "file_path").as_deref(), Some(&*file.file_path));
    assert_eq!(
        string(&expected, "file_format").as_deref(),
        Some(file.file_format.name())
    );
    assert_eq!(e("record_count"), Some(file.record_count));
    assert_eq!(e("file_size_in_bytes"), Some(file.file_size_in_bytes));
    let Some(Avro::Record(partition)) = plain(expected["partition"].clone()) else {
        panic!()
    };
    let partition: Vec<_> = partition.into_iter().map(|(_, v)| partition_value(v)).collect();
    assert_eq!(partition, file.partition);
    let m = &file.column_metrics;
    assert_eq!(
        counts(&expected, "column_sizes"),
        m.column_sizes().map(Iterator::collect)
    );
    assert_eq!(
        counts(&expected, "value_counts"),
        m.value_counts().map(Iterator::collect)
    );
    assert_eq!(
        counts(&expected, "null_value_counts"),
        m.null_value_counts().map(Iterator::collect)
    );
    assert_eq!(
        counts(&expected, "nan_value_counts"),
        m.nan_value_counts().map(Iterator::collect)
    );
    let owned = |(id, v): (i32, &[u8])| (id, v.to_vec());
    assert_eq!(
        bounds(&expected, "lower_bounds"),
        m.lower_bounds().map(|b| b.map(owned).collect())
    );
    assert_eq!(
        bounds(&expected, "upper_bounds"),
        m.upper_bounds().map(|b| b.map(owned).collect())
    );
    for (id, bound) in m.upper_bounds().into_iter().flatten() {
        assert_eq!(m.upper_bound(id), Some(bound));
        assert!(m.lower_bound(id).is_some());
        assert!(m.value_count(id) >= m.null_value_count(id));
    }
    let longs = |key: &str| {
        let items = array(&expected, key)?.into_iter().map(|v| match plain(v) {
            Some(Avro::Int(v)) => v.into(),
            Some(Avro::Long(v)) => v,
            other => panic!("{other:?}"),
        });
        Some(items.collect::<Vec<i64>>())
    };
    assert_eq!(longs("split_offsets"), file.split_offsets);
    let ids = file.equality_ids.as_ref();
    assert_eq!(
        longs("equality_ids"),
        ids.map(|ids| ids.iter().map(|id| i64::from(*id)).collect())
    );
    assert_eq!(e("sort_order_id"), file.sort_order_id.map(Into::into));
    assert_eq!(
        string(&expected, "referenced_data_file").as_deref(),
        file.referenced_data_file.as_deref()
    );
    assert_eq!(e("content_offset"), file.content_offset);
    assert_eq!(e("content_size_in_bytes"), file.content_size_in_bytes);
    match e("first_row_id") {
        None => assert_eq!(
            file.first_row_id.is_some(),
            manifest.first_row_id.is_some() && manifest.content == ManifestContent::Data && entry.is_live()
        ),
        id => assert_eq!(id, file.first_row_id),
    }
}

#[test]
fn every_file_reads_as_with_a_generic_reader() {
    let files = files();
    let mut by_name = HashMap::new();
    for (path, bytes) in &files.lists {
        let list = read_manifest_list(bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let expected = rows(bytes);
        assert_eq!(expected.len(), list.len());
        for (row, file) in expected.iter().zip(list) {
            compare_list(row, &file);
            let name = Path::new(&file.manifest_path).file_name().unwrap().to_owned();
            by_name.insert(name, file);
        }
    }
    let mut entries = 0;
    for (path, bytes) in &files.manifests {
        let manifest = &by_name[path.file_name().unwrap()];
        assert_eq!(manifest.manifest_length, bytes.len() as i64);
        let of = partition_type(bytes);
        let read = |projection| {
            read_manifest(bytes, manifest, &of, projection)
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        };
        let all = read(ManifestProjection::ALL);
        let expected = rows(bytes);
        assert_eq!(expected.len(), all.entries.len());
        for (row, entry) in expected.iter().zip(&all.entries) {
            compare_entry(row, entry, manifest);
        }
        entries += expected.len();
        assert_eq!(
            all.header.content.unwrap_or(ManifestContent::Data),
            manifest.content
        );
        assert_eq!(all.header.partition_spec_id, Some(manifest.partition_spec_id));
        let live: Vec<_> = all.entries.into_iter().filter(ManifestEntry::is_live).collect();
        let scan = read(ManifestProjection::FILES).entries;
        assert_eq!(live.len(), scan.len());
        for (a, b) in live.iter().zip(&scan) {
            assert_eq!(a.data_file.file_path, b.data_file.file_path);
            assert_eq!(a.data_file.first_row_id, b.data_file.first_row_id);
            assert_eq!(b.data_file.column_metrics, ColumnMetrics::unknown());
        }
    }
    assert!(entries > 1000);
}

//! What is written reads back.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::arbitrary::{How, Written, plain_file, schema, spec, written};
use crate::avro::{Codec, Container};
use crate::manifest::*;
use crate::manifest_list::*;
use crate::partition::PartitionSpec;
use crate::value::Value;

pub(super) fn entry(snapshot_id: i64, sequence: i64, file_sequence: i64, file: &DataFile) -> ManifestEntry {
    ManifestEntry {
        status: ManifestStatus::Added,
        snapshot_id,
        sequence_number: sequence,
        file_sequence_number: file_sequence,
        data_file: file.clone(),
    }
}

/// The manifest, its entry in the list once committed as snapshot 77 with sequence number 500 (0 in version 1), and what
/// reading must give.
pub(super) fn write(w: &Written) -> (Vec<u8>, ManifestFile, Vec<ManifestEntry>) {
    let (schema, spec) = (schema(), spec());
    let mut writer = ManifestWriter::new(ManifestWriterOptions {
        format_version: w.version,
        content: w.content,
        schema: &schema,
        spec: &spec,
        snapshot_id: 77,
        codec: w.codec,
    })
    .unwrap();
    let commit = if w.version == 1 { 0 } else { 500 };
    let mut expected = Vec::new();
    for (how, file) in &w.files {
        let mut read = entry(77, commit, commit, file);
        match how {
            How::Add => writer.add(file).unwrap(),
            How::AddOld(number) => {
                writer.add_with_sequence_number(file, *number).unwrap();
                read.sequence_number = *number;
            }
            How::Existing(snapshot, number, file_number) => {
                read = entry(*snapshot, *number, *file_number, file);
                writer.existing(&read).unwrap();
                read.status = ManifestStatus::Existing;
            }
            How::Delete(number, file_number) => {
                read = entry(5, *number, *file_number, file);
                writer.delete(&read).unwrap();
                read.status = ManifestStatus::Deleted;
                read.snapshot_id = 77;
            }
        }
        expected.push(read);
    }
    let (bytes, manifest) = writer.finish("s3://b/m.avro").unwrap();
    let list = write_manifest_list(vec![manifest], &list_options(w.version, commit)).unwrap();
    let manifest = list.manifests[0].clone();
    let mut next = manifest.first_row_id;
    for entry in &mut expected {
        let file = &mut entry.data_file;
        if let (Some(id), true, None) = (
            &mut next,
            entry.status != ManifestStatus::Deleted,
            file.first_row_id,
        ) {
            file.first_row_id = Some(*id);
            *id += file.record_count;
        }
    }
    (bytes, manifest, expected)
}

pub(super) fn list_options(version: u8, sequence_number: i64) -> ManifestListOptions {
    ManifestListOptions {
        format_version: version,
        snapshot_id: 77,
        parent_snapshot_id: None,
        sequence_number,
        first_row_id: (version == 3).then_some(1000),
        codec: Codec::Deflate,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn manifests_read_back(w in written()) {
        let (bytes, manifest, expected) = write(&w);
        prop_assert_eq!(manifest.manifest_length, bytes.len() as i64);
        let of = spec().partition_type(&schema());
        let read = read_manifest(&bytes, &manifest, &of, ManifestProjection::ALL).unwrap();
        prop_assert_eq!(&format!("{:?}", read.entries), &format!("{expected:?}"));
        prop_assert_eq!(read.header.format_version, w.version);
        let scan = read_manifest(&bytes, &manifest, &of, ManifestProjection::SCAN).unwrap();
        let live: Vec<_> = expected.iter().filter(|e| e.is_live()).collect();
        prop_assert_eq!(scan.entries.len(), live.len());
        for (a, b) in scan.entries.iter().zip(live) {
            prop_assert_eq!(a.data_file.first_row_id, b.data_file.first_row_id);
            prop_assert!(a.data_file.column_metrics.lower_bounds().map(Iterator::collect::<Vec<_>>)
                == b.data_file.column_metrics.lower_bounds().map(Iterator::collect::<Vec<_>>));
            prop_assert!(a.data_file.column_metrics.column_sizes().is_none());
        }
        // Another Avro library reads the same number of records with the same paths.
        // It is built with two codecs only, and takes a uuid of 16 bytes for text.
        let has_uuid = expected.iter().any(|e| e.data_file.partition[14].is_some());
        if matches!(w.codec, Codec::Null | Codec::Deflate) && !has_uuid {
            let rows: Vec<_> = apache_avro::Reader::new(bytes.as_slice()).unwrap().collect();
            prop_assert_eq!(rows.len(), expected.len());
            for (row, entry) in rows.iter().zip(&expected) {
                let path = format!("String({:?})", entry.data_file.file_path);
                let found = format!("{:?}", row.as_ref().unwrap()).contains(&path);
                prop_assert!(found);
            }
        }
    }

    #[test]
    fn manifest_lists_read_back(w in written()) {
        let (_, manifest, _) = write(&w);
        let options = list_options(w.version, if w.version == 1 { 0 } else { 501 });
        let mut second = manifest.clone();
        second.manifest_path = "other".into();
        second.partitions = None;
        let list = write_manifest_list(vec![manifest, second], &options).unwrap();
        let read = read_manifest_list(&list.bytes).unwrap();
        prop_assert_eq!(read.len(), 2);
        prop_assert_eq!(&read, &list.manifests);
        let rows: Vec<_> = apache_avro::Reader::new(list.bytes.as_slice()).unwrap().collect();
        prop_assert!(rows.len() == 2 && rows.iter().all(Result::is_ok));
    }
}

/// Lines `id name type`, indented by depth, of the schema in a file's header.
fn outline(json: &Json, depth: usize, lines: &mut Vec<String>) {
    match json {
        Json::Array(branches) => branches.iter().for_each(|b| outline(b, depth, lines)),
        Json::Object(of) => {
            for key in ["element-id", "logicalType"] {
                if let Some(value) = of.get(key) {
                    lines.push(format!("{:depth$}{key} {value}", ""));
                }
            }
            if of.get("type") == Some(&"record".into()) {
                lines.push(format!("{:depth$}record {}", "", of["name"]));
            }
            for field in of.get("fields").and_then(Json::as_array).into_iter().flatten() {
                let optional = field["type"].get(0) == Some(&"null".into());
                let of = field["type"].get(1).unwrap_or(&field["type"]);
                let mark = if optional { "?" } else { "" };
                let of = of.as_str().unwrap_or("");
                lines.push(
                    format!("{:depth$}{} {}{mark} {of}", "", field["field-id"], field["name"])
                        .trim_end()
                        .into(),
                );
                assert_eq!(optional, field.get("default") == Some(&Json::Null));
                outline(&field["type"], depth + 2, lines);
            }
            if let Some(items) = of.get("items").filter(|i| i.is_object()) {
                outline(items, depth + 2, lines);
            }
        }
        _ => {}
    }
}

fn schema_outline(bytes: &[u8]) -> Vec<String> {
    let container = Container::open(bytes).unwrap();
    let json = serde_json::from_str(container.text("avro.schema").unwrap().unwrap()).unwrap();
    let mut lines = Vec::new();
    outline(&json, 0, &mut lines);
    lines
}

fn simple(version: u8) -> (Vec<u8>, ManifestFile) {
    let schema = schema();
    let spec = PartitionSpec::unpartitioned(0);
    let mut writer = ManifestWriter::new(ManifestWriterOptions {
        format_version: version,
        content: ManifestContent::Data,
        schema: &schema,
        spec: &spec,
        snapshot_id: 77,
        codec: Codec::Deflate,
    })
    .unwrap();
    writer.add(&plain_file("a", 5)).unwrap();
    writer.finish("m").unwrap()
}

/// The schemas written are those of the reference implementation: ids, names, order, which may be null, logical types.
#[test]
fn schemas_are_those_of_the_reference_implementation() {
    let files = super::conformance::files();
    for (version, table) in [(1, "v1_basic"), (2, "cow_history"), (3, "row_lineage")] {
        let (bytes, manifest) = simple(version);
        let list = write_manifest_list(vec![manifest], &list_options(version, 1)).unwrap();
        let of_table = |files: &[(std::path::PathBuf, Vec<u8>)]| {
            let table = format!("/{table}/");
            let found = files.iter().find(|(p, _)| p.to_str().unwrap().contains(&table));
            found.unwrap_or_else(|| panic!("no files of {table}")).1.clone()
        };
        assert_eq!(
            schema_outline(&list.bytes),
            schema_outline(&of_table(&files.lists))
        );
        let mut theirs = schema_outline(&of_table(&files.manifests));
        // A partition field of that table.
        theirs.retain(|line| !line.starts_with("    1000 "));
        if version == 1 {
            // The specification requires it in version 1.
            assert_eq!(theirs[2], "1 \"snapshot_id\"? long");
            theirs[2] = "1 \"snapshot_id\" long".into();
        }
        assert_eq!(schema_outline(&bytes), theirs);
    }
}

#[test]
fn headers_have_the_keys_of_the_specification() {
    for version in 1..=3 {
        let (bytes, manifest) = simple(version);
        let container = Container::open(&bytes).unwrap();
        let text = |key: &str| container.text(key).unwrap();
        assert_eq!(text("format-version"), Some(version.to_string().as_str()));
        assert_eq!(text("content"), (version > 1).then_some("data"));
        assert_eq!(text("partition-spec"), Some("[]"));
        assert_eq!(text("partition-spec-id"), Some("0"));
        assert_eq!(text("schema-id"), Some("0"));
        let of: Json = serde_json::from_str(text("schema").unwrap()).unwrap();
        assert_eq!(of["fields"][1]["name"], "c1");
        let list = write_manifest_list(vec![manifest], &list_options(version, 9)).unwrap();
        let container = Container::open(&list.bytes).unwrap();
        let text = |key: &str| container.text(key).unwrap();
        assert_eq!(text("snapshot-id"), Some("77"));
        assert_eq!(text("parent-snapshot-id"), Some("null"));
        assert_eq!(text("sequence-number"), (version > 1).then_some("9"));
        assert_eq!(text("first-row-id"), (version > 2).then_some("1000"));
    }
}

#[test]
fn partition_columns_keep_types_names_and_ids() {
    let w = Written {
        version: 3,
        content: ManifestContent::Data,
        codec: Codec::Null,
        files: vec![],
    };
    let (bytes, ..) = write(&w);
    let container = Container::open(&bytes).unwrap();
    let json: Json = serde_json::from_str(container.text("avro.schema").unwrap().unwrap()).unwrap();
    let fields = json["fields"][4]["type"]["fields"][3]["type"]["fields"]
        .as_array()
        .unwrap()
        .clone();
    let of = |i: usize| fields[i]["type"][1].clone();
    assert_eq!(fields[1]["name"], "_1_x20_xE9_x2D1");
    assert_eq!(fields[1]["iceberg-field-name"], "1 é-1");
    assert_eq!(fields[1]["field-id"], 1001);
    assert_eq!(
        of(5),
        json!({"type": "fixed", "name": "decimal_9_2", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2})
    );
    assert_eq!(of(6)["size"], 16);
    assert_eq!(of(7), json!({"type": "int", "logicalType": "date"}));
    assert_eq!(
        of(9),
        json!({"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": false})
    );
    assert_eq!(
        of(12),
        json!({"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": true})
    );
    assert_eq!(
        of(14),
        json!({"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"})
    );
    assert_eq!(of(15), json!({"type": "fixed", "name": "fixed_5", "size": 5}));
    assert_eq!(of(17)["name"], "decimal_9_2_1017");
}

#[test]
fn summaries_cover_null_nan_and_both_zeros() {
    let (schema, spec) = (schema(), spec());
    let options = ManifestWriterOptions {
        format_version: 2,
        content: ManifestContent::Data,
        schema: &schema,
        spec: &spec,
        snapshot_id: 1,
        codec: Codec::Null,
    };
    let mut writer = ManifestWriter::new(options).unwrap();
    for (double, text) in [(0.0, "b"), (f64::NAN, "a"), (-0.0, "c")] {
        let mut file = plain_file("f", 1);
        file.spec_id = 3;
        file.partition = vec![None; 18];
        file.partition[4] = Some(Value::Double(double));
        file.partition[13] = Some(Value::String(text.into()));
        writer.add(&file).unwrap();
    }
    let (_, manifest) = writer.finish("m").unwrap();
    assert_eq!(manifest.sequence_number, UNASSIGNED_SEQUENCE_NUMBER);
    assert_eq!(manifest.added_rows_count, Some(3));
    let summaries = manifest.partitions.unwrap();
    assert_eq!(
        summaries[4],
        FieldSummary {
            contains_null: false,
            contains_nan: Some(true),
            lower_bound: Some((-0.0f64).to_le_bytes().to_vec()),
            upper_bound: Some(0.0f64.to_le_bytes().to_vec()),
        }
    );
    assert_eq!(summaries[13].lower_bound.as_deref(), Some(b"a".as_slice()));
    assert_eq!(summaries[13].upper_bound.as_deref(), Some(b"c".as_slice()));
    assert!(summaries[0].contains_null && summaries[0].lower_bound.is_none());
}

#[test]
fn what_the_format_does_not_allow_is_not_written() {
    let (schema, spec) = (schema(), PartitionSpec::unpartitioned(0));
    let options = |format_version, content| ManifestWriterOptions {
        format_version,
        content,
        schema: &schema,
        spec: &spec,
        snapshot_id: 1,
        codec: Codec::Null,
    };
    assert!(ManifestWriter::new(options(1, ManifestContent::Deletes)).is_err());
    assert!(ManifestWriter::new(options(4, ManifestContent::Data)).is_err());
    let refused = |version, content, change: &dyn Fn(&mut DataFile), reason: &str| {
        let mut file = plain_file("f", 1);
        change(&mut file);
        let error = ManifestWriter::new(options(version, content))
            .unwrap()
            .add(&file)
            .unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    };
    use ManifestContent::{Data, Deletes};
    let deletes = |f: &mut DataFile| f.content = DataContent::PositionDeletes;
    refused(2, Data, &deletes, "manifest of data");
    refused(3, Deletes, &deletes, "deletion vectors");
    refused(
        2,
        Deletes,
        &|f| {
            deletes(f);
            f.file_format = FileFormat::Puffin
        },
        "no deletion vectors",
    );
    refused(
        2,
        Deletes,
        &|f| f.content = DataContent::EqualityDeletes,
        "equality ids",
    );
    refused(2, Data, &|f| f.partition = vec![None], "its spec 0 fields");
    refused(2, Data, &|f| f.spec_id = 4, "spec id");
    refused(2, Data, &|f| f.first_row_id = Some(1), "first row id");
    refused(2, Data, &|f| f.record_count = -1, "negative");
    refused(2, Data, &|f| f.key_metadata = Some(vec![1]), "encrypted");
    assert!(write_manifest_list(vec![], &list_options(4, 1)).is_err());
    let mut unknown = simple(1).1;
    unknown.added_files_count = None;
    assert!(write_manifest_list(vec![unknown.clone()], &list_options(1, 0)).is_ok());
    assert!(write_manifest_list(vec![unknown], &list_options(2, 1)).is_err());
}

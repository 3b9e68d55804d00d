//! Sequence numbers, snapshot ids and row ids that entries leave out.

use super::arbitrary::{plain_file, schema};
use super::round_trip::{entry, list_options};
use crate::avro::Codec;
use crate::manifest::*;
use crate::manifest_list::*;
use crate::partition::PartitionSpec;
use crate::types::StructType;

fn manifest(version: u8, write: impl FnOnce(&mut ManifestWriter<'_>)) -> (Vec<u8>, ManifestFile) {
    let (schema, spec) = (schema(), PartitionSpec::unpartitioned(0));
    let mut writer = ManifestWriter::new(ManifestWriterOptions {
        format_version: version,
        content: ManifestContent::Data,
        schema: &schema,
        spec: &spec,
        snapshot_id: 77,
        codec: Codec::Null,
    })
    .unwrap();
    write(&mut writer);
    writer.finish("m").unwrap()
}

fn read(
    bytes: &[u8],
    manifest: &ManifestFile,
    projection: ManifestProjection,
) -> crate::Result<Vec<ManifestEntry>> {
    read_manifest(bytes, manifest, &StructType::default(), projection).map(|m| m.entries)
}

#[test]
fn row_ids_run_over_live_entries_without_one() {
    let (bytes, file) = manifest(3, |w| {
        w.add(&plain_file("a", 10)).unwrap();
        w.delete(&entry(1, 1, 1, &plain_file("b", 100))).unwrap();
        let mut numbered = plain_file("c", 1000);
        numbered.first_row_id = Some(5);
        w.existing(&entry(1, 1, 1, &numbered)).unwrap();
        w.add(&plain_file("d", 20)).unwrap();
        w.add(&plain_file("e", 30)).unwrap();
    });
    let list = write_manifest_list(vec![file.clone()], &list_options(3, 9)).unwrap();
    // Added and existing rows of the manifest, whether numbered or not.
    assert_eq!(list.next_row_id, Some(1000 + 1060));
    let ids = |manifest: &ManifestFile, projection| {
        let entries = read(&bytes, manifest, projection).unwrap();
        entries
            .iter()
            .map(|e| e.data_file.first_row_id)
            .collect::<Vec<_>>()
    };
    let manifest = &list.manifests[0];
    assert_eq!(
        ids(manifest, ManifestProjection::ALL),
        [Some(1000), None, Some(5), Some(1010), Some(1030)]
    );
    assert_eq!(
        ids(manifest, ManifestProjection::SCAN),
        [Some(1000), Some(5), Some(1010), Some(1030)]
    );
    // Written before the table had row lineage.
    let old = ManifestFile {
        first_row_id: None,
        ..manifest.clone()
    };
    assert_eq!(ids(&old, ManifestProjection::SCAN), [None, Some(5), None, None]);
}

#[test]
fn row_ids_go_to_manifests_in_list_order() {
    let file = |rows, first_row_id| ManifestFile {
        first_row_id,
        ..manifest(3, |w| w.add(&plain_file("a", rows)).unwrap()).1
    };
    let deletes = ManifestFile {
        content: ManifestContent::Deletes,
        ..file(7, None)
    };
    let manifests = vec![file(10, None), deletes, file(20, Some(3)), file(30, None)];
    let list = write_manifest_list(manifests, &list_options(3, 9)).unwrap();
    let ids: Vec<_> = list.manifests.iter().map(|m| m.first_row_id).collect();
    assert_eq!(ids, [Some(1000), None, Some(3), Some(1010)]);
    assert_eq!(list.next_row_id, Some(1040));
    assert_eq!(read_manifest_list(&list.bytes).unwrap(), list.manifests);
    let unknown = ManifestFile {
        added_rows_count: None,
        ..file(1, None)
    };
    assert!(write_manifest_list(vec![unknown], &list_options(3, 9)).is_err());
}

#[test]
fn sequence_numbers_come_from_the_list() {
    let (bytes, file) = manifest(2, |w| {
        w.add(&plain_file("a", 1)).unwrap();
        w.add_with_sequence_number(&plain_file("b", 1), 4).unwrap();
        w.existing(&entry(6, 3, 5, &plain_file("c", 1))).unwrap();
        w.delete(&entry(6, 1, 2, &plain_file("d", 1))).unwrap();
    });
    // The deleted file does not count.
    assert_eq!(file.min_sequence_number, 3);
    let list = write_manifest_list(vec![file], &list_options(2, 9)).unwrap();
    let entries = read(&bytes, &list.manifests[0], ManifestProjection::ALL).unwrap();
    let numbers: Vec<_> = entries
        .iter()
        .map(|e| (e.snapshot_id, e.sequence_number, e.file_sequence_number))
        .collect();
    assert_eq!(numbers, [(77, 9, 9), (77, 4, 9), (6, 3, 5), (77, 1, 2)]);
}

#[test]
fn a_null_sequence_number_of_an_existing_file_is_an_error() {
    let (mut bytes, file) = manifest(2, |w| w.add(&plain_file("a", 1)).unwrap());
    let file = ManifestFile {
        sequence_number: 9,
        ..file
    };
    // The first record starts with its status; the codec is null. 77 as snapshot id follows.
    let at = bytes.windows(4).rposition(|w| w == [2, 2, 0x9a, 1]).unwrap();
    bytes[at] = 0;
    let error = read(&bytes, &file, ManifestProjection::SCAN)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("sequence_number") && error.contains("null"),
        "{error}"
    );
    // Under sequence number 0, as in tables upgraded from version 1, it is 0.
    let file = ManifestFile {
        sequence_number: 0,
        ..file
    };
    let entries = read(&bytes, &file, ManifestProjection::SCAN).unwrap();
    assert_eq!(
        (entries[0].sequence_number, entries[0].status),
        (0, ManifestStatus::Existing)
    );
}

#[test]
fn version_1_manifests_in_later_tables_have_sequence_number_0() {
    let (bytes, file) = manifest(1, |w| w.existing(&entry(6, 0, 0, &plain_file("c", 1))).unwrap());
    let list = write_manifest_list(vec![file], &list_options(1, 0)).unwrap();
    let manifest = &read_manifest_list(&list.bytes).unwrap()[0];
    assert_eq!((manifest.sequence_number, manifest.min_sequence_number), (0, 0));
    let entries = read(&bytes, manifest, ManifestProjection::ALL).unwrap();
    assert_eq!((entries[0].sequence_number, entries[0].snapshot_id), (0, 6));
}

#[test]
fn the_list_decides_on_spec_and_content() {
    let (bytes, file) = manifest(2, |w| w.add(&plain_file("a", 1)).unwrap());
    let manifest = ManifestFile {
        sequence_number: 1,
        partition_spec_id: 8,
        ..file
    };
    let entries = read(&bytes, &manifest, ManifestProjection::ALL).unwrap();
    assert_eq!(entries[0].data_file.spec_id, 8);
    let deletes = ManifestFile {
        content: ManifestContent::Deletes,
        ..manifest
    };
    let error = read(&bytes, &deletes, ManifestProjection::ALL)
        .unwrap_err()
        .to_string();
    assert!(error.contains("manifest list"), "{error}");
}

//! Damaged files give an error or other values, never a panic.

use proptest::prelude::*;
use proptest::sample::Index;

use super::arbitrary::{plain_file, schema, spec};
use super::round_trip::list_options;
use crate::avro::Codec;
use crate::manifest::*;
use crate::manifest_list::*;

/// A manifest and its list.
fn files(codec: Codec) -> (Vec<u8>, Vec<u8>, ManifestFile) {
    let (schema, spec) = (schema(), spec());
    let mut writer = ManifestWriter::new(ManifestWriterOptions {
        format_version: 3,
        content: ManifestContent::Data,
        schema: &schema,
        spec: &spec,
        snapshot_id: 77,
        codec,
    })
    .unwrap();
    for i in 0..3 {
        let mut file = plain_file("abc", i);
        file.spec_id = 3;
        file.partition = vec![None; 18];
        writer.add(&file).unwrap();
    }
    let (bytes, manifest) = writer.finish("m").unwrap();
    let options = ManifestListOptions {
        codec,
        ..list_options(3, 9)
    };
    let list = write_manifest_list(vec![manifest], &options).unwrap();
    (bytes, list.bytes, list.manifests[0].clone())
}

/// Changes, cuts or inserts bytes; half of the time behind the header, which is most of the file.
fn damage(bytes: &mut Vec<u8>, (kind, at, late, extra): &(u8, Index, bool, Vec<u8>)) {
    let behind = if *late { 400.min(bytes.len()) } else { bytes.len() };
    let at = bytes.len() - 1 - at.index(behind);
    match kind {
        0 => extra.iter().enumerate().for_each(|(i, b)| {
            if let Some(byte) = bytes.get_mut(at + i) {
                *byte = *b;
            }
        }),
        1 => bytes.truncate(at),
        2 => bytes[at] ^= 1 << (extra.first().unwrap_or(&0) % 8),
        _ => {
            bytes.splice(at..at, extra.iter().copied());
        }
    }
}

fn damages() -> impl Strategy<Value = (u8, Index, bool, Vec<u8>)> {
    (
        0u8..4,
        any::<Index>(),
        any::<bool>(),
        prop::collection::vec(any::<u8>(), 1..12),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn damaged_files_never_panic(damages in prop::collection::vec(damages(), 1..3), codec in 0..4) {
        let codec = [Codec::Null, Codec::Deflate, Codec::Snappy, Codec::Zstandard][codec as usize];
        let (mut bytes, mut list, manifest) = files(codec);
        for d in &damages {
            if !bytes.is_empty() && !list.is_empty() {
                damage(&mut bytes, d);
                damage(&mut list, d);
            }
        }
        let of = spec().partition_type(&schema());
        for projection in [ManifestProjection::ALL, ManifestProjection::FILES] {
            if let Ok(read) = read_manifest(&bytes, &manifest, &of, projection) {
                for entry in read.entries {
                    let _ = format!("{entry:?}");
                    entry.data_file.column_metrics.lower_bound(1);
                }
            }
        }
        let _ = read_manifest_list(&list);
    }
}

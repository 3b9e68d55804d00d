#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[test]
fn names_count_on() {
    let name = numbered_name(None, Codec::None);
    assert!(
        name.starts_with("00000-") && name.ends_with(".metadata.json"),
        "{name}"
    );
    for (base, number) in [
        ("s3://b/t/metadata/00041-7c.metadata.json", "00042-"),
        ("s3://b/t/metadata/99999-7c.gz.metadata.json", "100000-"),
        ("/t/metadata/v3.metadata.json", "00004-"),
        ("/t/metadata/other.metadata.json", "00000-"),
    ] {
        let name = numbered_name(Some(base), Codec::Gzip);
        assert!(
            name.starts_with(number) && name.ends_with(".gz.metadata.json"),
            "{base}: {name}"
        );
    }
}

#[test]
fn versions_are_read_from_all_endings() {
    for codec in [Codec::None, Codec::Gzip] {
        assert_eq!(version_of(&version_name(7, codec)), Some(7));
    }
    assert_eq!(version_of("/t/metadata/v12.metadata.json.gz"), Some(12));
    for other in [
        "00001-a.metadata.json",
        "vx.metadata.json",
        "v1metadata.json",
        "v1.metadata.json.tmp",
        "v-1.metadata.json",
    ] {
        assert_eq!(version_of(other), None, "{other}");
    }
}

#[test]
fn only_names_of_metadata_files_are_taken_for_them() {
    for file in ["/t/v1.metadata.json", "a.gz.metadata.json", "a.metadata.json.gz"] {
        assert!(is_metadata_file(file), "{file}");
    }
    for file in ["/t/data/a.parquet", "/t/metadata.json", "a.json"] {
        assert!(!is_metadata_file(file), "{file}");
    }
}

//! Places of files.

use drumlin_format::types::{NestedField, PrimitiveType as P};

use super::{options, table};

fn location(properties: &[(&'static str, &str)], partition: &str, name: &str) -> String {
    let mut table = table(vec![NestedField::optional(1, "a", P::Int)]);
    for (key, value) in properties {
        table = table.with(key, value);
    }
    let table = table.build();
    options(&table).location_provider().location(partition, name)
}

#[test]
fn files_are_below_the_data_folder() {
    for (properties, expected) in [
        (&[][..], "memory:/db/t/data/p=1/f.parquet"),
        (&[("write.data.path", "s3://b/x/")], "s3://b/x/p=1/f.parquet"),
        (
            &[("write.folder-storage.path", "s3://b/old")],
            "s3://b/old/p=1/f.parquet",
        ),
        // An older name that counts for the layout of object stores only.
        (
            &[("write.object-storage.path", "s3://b/old")],
            "memory:/db/t/data/p=1/f.parquet",
        ),
        (
            &[
                ("write.data.path", "s3://b/x"),
                ("write.folder-storage.path", "s3://b/old"),
            ],
            "s3://b/x/p=1/f.parquet",
        ),
    ] {
        assert_eq!(location(properties, "p=1", "f.parquet"), expected);
    }
    assert_eq!(location(&[], "", "f.parquet"), "memory:/db/t/data/f.parquet");
}

const HASHED: (&str, &str) = ("write.object-storage.enabled", "true");

#[test]
fn object_storage_spreads_files_by_hash() {
    // The values of the reference implementation's own tests.
    for (name, folders) in [
        ("a", "0101/0110/1001/10110010"),
        ("b", "1110/0111/1110/00000011"),
        ("c", "0010/1101/0110/01011111"),
        ("d", "1001/0001/0100/01110011"),
    ] {
        assert_eq!(
            location(&[HASHED], "", name),
            format!("memory:/db/t/data/{folders}/{name}")
        );
    }
    let flat = ("write.object-storage.partitioned-paths", "false");
    assert_eq!(
        location(&[HASHED, flat], "", "test.parquet"),
        "memory:/db/t/data/0110/1010/0011/11101000-test.parquet"
    );
    assert_eq!(
        location(&[HASHED, flat], "p=1", "a"),
        "memory:/db/t/data/0101/0110/1001/10110010-a"
    );
    // The partition is part of what is hashed.
    let partitioned = location(&[HASHED], "p=1", "a");
    assert!(
        partitioned.ends_with("/p=1/a") && !partitioned.contains("/0101/0110/1001/10110010/"),
        "{partitioned}"
    );
}

#[test]
fn a_shared_folder_names_the_table_behind_the_hash() {
    let shared = ("write.data.path", "s3://shared/files");
    assert_eq!(
        location(&[HASHED, shared], "", "a"),
        "s3://shared/files/0101/0110/1001/10110010/db/t/a"
    );
    let old = ("write.object-storage.path", "s3://shared/old");
    assert_eq!(
        location(&[HASHED, old], "", "a"),
        "s3://shared/old/0101/0110/1001/10110010/db/t/a"
    );
}

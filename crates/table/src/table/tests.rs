#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use super::*;
use crate::error::Error;

/// The least that a version 2 table can say; `marker` tells versions apart.
fn metadata(marker: i64) -> String {
    format!(
        r#"{{"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"/t",
        "last-sequence-number":0,"last-updated-ms":{marker},"last-column-id":1,"current-schema-id":0,
        "schemas":[{{"type":"struct","schema-id":0,"fields":[{{"id":1,"name":"a","required":false,"type":"int"}}]}}],
        "default-spec-id":0,"partition-specs":[{{"spec-id":0,"fields":[]}}],"last-partition-id":999,
        "default-sort-order-id":0,"sort-orders":[{{"order-id":0,"fields":[]}}],"current-snapshot-id":-1}}"#
    )
}

fn write(folder: &Path, file: &str, text: &str) {
    let folder = folder.join("metadata");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(file), text).unwrap();
}

async fn opened(folder: &Path, options: &OpenOptions) -> Result<i64, Error> {
    let table = Table::open_with(&Storage::default(), folder.to_str().unwrap(), options).await?;
    Ok(table.metadata().last_updated_ms())
}

#[tokio::test]
async fn the_hint_is_followed_forward() {
    let dir = tempfile::tempdir().unwrap();
    for version in 1..=4 {
        write(
            dir.path(),
            &format!("v{version}.metadata.json"),
            &metadata(version),
        );
    }
    write(dir.path(), "version-hint.text", "2\n");
    assert_eq!(opened(dir.path(), &OpenOptions::default()).await.unwrap(), 4);
}

#[tokio::test]
async fn a_lost_or_wrong_hint_is_made_up_for_by_listing() {
    for hint in [None, Some("9"), Some("nonsense")] {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "v9.gz.metadata.json.tmp", "");
        write(dir.path(), "v2.metadata.json", &metadata(2));
        write(dir.path(), "v10.metadata.json", &metadata(10));
        if let Some(hint) = hint {
            write(dir.path(), "version-hint.text", hint);
        }
        assert_eq!(
            opened(dir.path(), &OpenOptions::default()).await.unwrap(),
            10,
            "{hint:?}"
        );
    }
}

#[tokio::test]
async fn files_of_a_catalog_are_not_guessed_unless_asked() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "00001-a.metadata.json", &metadata(1));
    write(dir.path(), "00002-b.metadata.json", &metadata(2));
    let error = opened(dir.path(), &OpenOptions::default())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("00002-b") && error.contains("guess_newest_metadata"),
        "{error}"
    );
    let guess = OpenOptions {
        guess_newest_metadata: true,
    };
    assert_eq!(opened(dir.path(), &guess).await.unwrap(), 2);
}

#[tokio::test]
async fn nothing_there_is_an_error_that_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let error = opened(dir.path(), &OpenOptions::default()).await.unwrap_err();
    assert!(matches!(error, Error::NoTable { .. }), "{error}");
    let missing = dir.path().join("x.metadata.json");
    let error = opened(&missing, &OpenOptions::default()).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn only_files_whose_names_are_used_once_are_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let storage = Storage::default();
    let for_good = "00001-54a88d0c-a85b-45bb-ad1e-5df83168e9f8.metadata.json";
    for (file, remembered) in [(for_good, true), ("v1.metadata.json", false)] {
        write(dir.path(), file, &metadata(1));
        let location = dir.path().join("metadata").join(file).display().to_string();
        let marker = async || {
            let table = Table::open(&storage, &location).await?;
            Ok::<_, Error>(table.metadata().last_updated_ms())
        };
        assert_eq!(marker().await.unwrap(), 1);
        write(dir.path(), file, &metadata(2));
        assert_eq!(marker().await.unwrap(), if remembered { 1 } else { 2 }, "{file}");
        std::fs::remove_file(&location).unwrap();
        assert_eq!(marker().await.is_ok(), remembered, "{file}");
        // Another storage may have another file there.
        let elsewhere = Table::open(&Storage::default(), &location).await;
        assert!(matches!(elsewhere, Err(Error::NotFound { .. })), "{file}");
    }
}

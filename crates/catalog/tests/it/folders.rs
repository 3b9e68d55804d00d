//! What is particular to warehouse folders: hints, the disk, other writers, dropping.

use std::path::Path;
use std::sync::Arc;

use drumlin_catalog::ObjectStoreCatalog;
use drumlin_table::catalog::{Catalog, CommitError};
use drumlin_table::storage::Storage;
use drumlin_table::{Error, OpenOptions};

use crate::backend::{Fixture, disk};
use crate::suite::{ident, make, set, set_property};

fn metadata(f: &Fixture) -> std::path::PathBuf {
    Path::new(&f.warehouse).join("ns/t/metadata")
}

#[tokio::test]
async fn a_hint_may_be_lost_stale_or_nonsense() {
    for hint in [None, Some("1"), Some("99"), Some("\u{fffd}rubbish"), Some("")] {
        let f = disk().await.unwrap();
        let t = ident(&["ns"], "t");
        make(&*f.catalog, &t).await;
        for round in 0..80 {
            set_property(&*f.catalog, &t, "round", &round.to_string()).await;
        }
        let file = metadata(&f).join("version-hint.text");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "81");
        match hint {
            Some(hint) => std::fs::write(&file, hint).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        assert!(f.other.table_exists(&t).await.unwrap());
        assert_eq!(
            f.other.load_table(&t).await.unwrap().metadata().property("round"),
            Some("79")
        );
        let next = set_property(&*f.other, &t, "round", "80").await;
        assert!(
            next.metadata_location().ends_with("/v82.metadata.json"),
            "{hint:?}"
        );
        assert_eq!(
            f.catalog.load_table(&t).await.unwrap().metadata(),
            next.metadata()
        );
    }
}

#[tokio::test]
async fn a_version_in_another_codec_is_taken() {
    let f = disk().await.unwrap();
    let t = ident(&["ns"], "t");
    make(&*f.catalog, &t).await;
    let v1 = metadata(&f).join("v1.metadata.json");
    std::fs::copy(v1, metadata(&f).join("v2.gz.metadata.json")).unwrap();
    let next = set_property(&*f.catalog, &t, "k", "v").await;
    assert!(next.metadata_location().ends_with("/v3.metadata.json"));
}

#[tokio::test]
async fn nothing_is_left_on_the_disk() {
    let f = disk().await.unwrap();
    let t = ident(&["ns"], "t");
    make(&*f.catalog, &t).await;
    set_property(&*f.catalog, &t, "k", "v").await;
    let mut names: Vec<String> = std::fs::read_dir(metadata(&f))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["v1.metadata.json", "v2.metadata.json", "version-hint.text"]
    );
    let data = Path::new(&f.warehouse).join("ns/t/data/day=1");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("a.parquet"), "x").unwrap();
    f.catalog.drop_table(&t, false).await.unwrap();
    assert!(!Path::new(&f.warehouse).join("ns/t").exists());
    assert!(Path::new(&f.warehouse).join("ns").is_dir());
}

#[tokio::test]
async fn a_drop_stays_in_the_folder() {
    let f = disk().await.unwrap();
    let t = ident(&["ns"], "t");
    make(&*f.catalog, &t).await;
    // A neighbour whose name begins with the same letters.
    make(&*f.catalog, &ident(&["ns"], "t2")).await;
    // A table that says that it is elsewhere.
    let text = std::fs::read_to_string(metadata(&f).join("v1.metadata.json")).unwrap();
    let copy = Path::new(&f.warehouse).join("ns/copy/metadata");
    std::fs::create_dir_all(&copy).unwrap();
    std::fs::write(copy.join("v1.metadata.json"), text).unwrap();
    let answer = f.catalog.drop_table(&ident(&["ns"], "copy"), true).await;
    assert!(matches!(answer, Err(Error::Unsupported(_))), "{answer:?}");
    assert!(copy.join("v1.metadata.json").exists());
    let answer = f
        .catalog
        .commit(&ident(&["ns"], "copy"), &[], &[set("k", "v")])
        .await;
    assert!(
        matches!(answer, Err(CommitError::Failed(Error::Unsupported(_)))),
        "{answer:?}"
    );
    // A table inside of a table.
    let inner = Path::new(&f.warehouse).join("ns/t/inner/metadata");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(inner.join("v1.metadata.json"), "{}").unwrap();
    let answer = f.catalog.drop_table(&t, true).await;
    assert!(matches!(answer, Err(Error::Unsupported(_))), "{answer:?}");
    std::fs::remove_dir_all(inner.parent().unwrap()).unwrap();
    f.catalog.drop_table(&t, true).await.unwrap();
    assert!(f.catalog.table_exists(&ident(&["ns"], "t2")).await.unwrap());
}

#[tokio::test]
async fn the_table_of_another_catalog_is_not_written_to() {
    let f = disk().await.unwrap();
    let t = ident(&["ns"], "t");
    make(&*f.catalog, &t).await;
    let folder = metadata(&f);
    std::fs::rename(
        folder.join("v1.metadata.json"),
        folder.join("00000-1.metadata.json"),
    )
    .unwrap();
    std::fs::remove_file(folder.join("version-hint.text")).unwrap();
    let answer = f.catalog.commit(&t, &[], &[set("k", "v")]).await;
    assert!(
        matches!(answer, Err(CommitError::Failed(Error::Catalogued { .. }))),
        "{answer:?}"
    );
    let guess = OpenOptions {
        guess_newest_metadata: true,
    };
    let guessing = ObjectStoreCatalog::new(Storage::default(), &f.warehouse).with_open_options(guess);
    let guessing: Arc<dyn Catalog> = Arc::new(guessing);
    guessing.load_table(&t).await.unwrap();
    let answer = guessing.commit(&t, &[], &[set("k", "v")]).await;
    assert!(
        matches!(answer, Err(CommitError::Failed(Error::Unsupported(_)))),
        "{answer:?}"
    );
    let answer = guessing.drop_table(&t, true).await;
    assert!(matches!(answer, Err(Error::Unsupported(_))), "{answer:?}");
    assert!(folder.join("00000-1.metadata.json").exists());
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_an_error() {
    // Permissions do not bind every user that tests run as; a file in the place of a folder does.
    let f = disk().await.unwrap();
    std::fs::write(&f.warehouse, "a file").unwrap();
    let answer = f
        .catalog
        .create_namespace(&ident(&["ns"], "t").namespace, &Default::default())
        .await;
    assert!(matches!(answer, Err(Error::Store { .. })), "{answer:?}");
    std::fs::remove_file(&f.warehouse).unwrap();
    let t = ident(&["ns"], "t");
    make(&*f.catalog, &t).await;
    let hidden = metadata(&f).with_file_name("hidden");
    std::fs::rename(metadata(&f), &hidden).unwrap();
    std::fs::write(metadata(&f), "a file").unwrap();
    let answer = f.catalog.commit(&t, &[], &[set("k", "v")]).await;
    assert!(matches!(answer, Err(CommitError::Failed(_))), "{answer:?}");
    std::fs::remove_file(metadata(&f)).unwrap();
    std::fs::rename(&hidden, metadata(&f)).unwrap();
    assert_eq!(
        f.catalog.load_table(&t).await.unwrap().metadata().property("k"),
        None
    );
}

#[tokio::test]
async fn the_folder_of_a_schema_in_use_is_not_made_a_table() {
    let f = disk().await.unwrap();
    make(&*f.catalog, &ident(&["ns", "x"], "t")).await;
    let answer = f
        .catalog
        .create_table(&ident(&["ns"], "x"), crate::suite::creation())
        .await;
    assert!(matches!(answer, Err(Error::Unsupported(_))), "{answer:?}");
    let answer = f
        .catalog
        .create_namespace(
            &ident(&["ns", "x", "t", "data"], "t").namespace,
            &Default::default(),
        )
        .await;
    assert!(matches!(answer, Err(Error::Unsupported(_))), "{answer:?}");
    // What a table that was given up left behind is no schema in use.
    std::fs::create_dir_all(Path::new(&f.warehouse).join("ns/given_up/data")).unwrap();
    make(&*f.catalog, &ident(&["ns"], "given_up")).await;
}

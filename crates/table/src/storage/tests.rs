#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn parsed(location: &str) -> (&'static str, String, String) {
    let l = Location::parse(location).unwrap();
    (l.scheme.as_str(), l.authority, l.path.to_string())
}

#[test]
fn spellings_of_one_place_agree() {
    let file = ("file", String::new(), "tmp/t/x%2Fy z".to_string());
    for location in [
        "/tmp/t/x%2Fy z",
        "file:/tmp/t/x%2Fy z",
        "file:///tmp/t/x%2Fy z",
        "/tmp//a/../t/./x%2Fy z",
    ] {
        assert_eq!(parsed(location), file, "{location}");
    }
    for location in ["s3://b/k/a=1%2F2/f", "s3a://b/k/a=1%2F2/f", "s3n://b/k/a=1%2F2/f"] {
        assert_eq!(
            parsed(location),
            ("s3", "b".into(), "k/a=1%2F2/f".into()),
            "{location}"
        );
    }
    assert_eq!(
        parsed("abfss://c@acc.dfs.core.windows.net/k"),
        ("az", "c@acc.dfs.core.windows.net".into(), "k".into())
    );
    assert_eq!(parsed("memory://x/y"), parsed("memory:/x/y"));
}

#[test]
fn unknown_places_are_refused() {
    for location in ["ftp://x/y", "s3:/x", "s3:///x", "gs:x"] {
        assert!(
            matches!(Location::parse(location), Err(Error::Location { .. })),
            "{location}"
        );
    }
}

#[tokio::test]
async fn names_are_taken_verbatim() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("a%2Fb=é ü+%25");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("f"), b"x").unwrap();
    let storage = Storage::default();
    let location = format!("{}/f", folder.to_str().unwrap());
    assert_eq!(storage.read(&location).await.unwrap().as_ref(), b"x");
    let routed = RoutingStore::new(storage.clone());
    let path = routed_path(&location).unwrap();
    assert_eq!(
        routed.get(&path).await.unwrap().bytes().await.unwrap().as_ref(),
        b"x"
    );
    assert!(matches!(
        storage.read("/nowhere/at/all").await,
        Err(Error::NotFound { .. })
    ));
    assert_eq!(
        storage.list(dir.path().to_str().unwrap()).await.unwrap().folders,
        ["a%2Fb=é ü+%25"]
    );
    assert_eq!(storage.list("/nowhere/at/all").await.unwrap(), Listing::default());
}

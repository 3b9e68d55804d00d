#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[tokio::test]
async fn passwords_are_not_shown() {
    let options = SqlCatalogOptions::new("postgres://user:s3cret@127.0.0.1:1/db?sslmode=disable", "/w");
    assert!(!format!("{options:?}").contains("s3cret"));
    for uri in [
        "postgres://user:s3cret@127.0.0.1:notaport/db",
        "postgres://user:s3cret@[bad/db",
        "mysql://user:s3cret@h/db",
        "postgres:s3cret",
    ] {
        let error = SqlCatalog::open(Storage::default(), SqlCatalogOptions::new(uri, "/w")).await;
        let error = error.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
    }
}

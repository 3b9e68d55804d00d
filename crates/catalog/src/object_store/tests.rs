#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use drumlin_table::catalog::{Catalog, TableIdent, all_namespaces, all_tables};

use super::*;

const METADATA: &str = r#"{"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"/t",
    "last-sequence-number":0,"last-updated-ms":1,"last-column-id":1,"current-schema-id":0,
    "schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"a","required":false,"type":"int"}]}],
    "default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[]}],"last-partition-id":999,
    "default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}],"current-snapshot-id":-1}"#;

fn table(warehouse: &Path, path: &str) {
    let folder = warehouse.join(path).join("metadata");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("v1.metadata.json"), METADATA).unwrap();
}

fn namespace(levels: &[&str]) -> Namespace {
    Namespace::new(levels.iter().copied()).unwrap()
}

async fn load(catalog: &ObjectStoreCatalog, levels: &[&str], name: &str) -> Result<Table> {
    let table = TableIdent {
        namespace: namespace(levels),
        name: name.to_string(),
    };
    catalog.load_table(&table).await
}

#[tokio::test]
async fn folders_are_namespaces_and_tables() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path(), "sales/orders");
    table(dir.path(), "sales/eu/orders");
    std::fs::create_dir_all(dir.path().join("empty")).unwrap();
    std::fs::create_dir_all(dir.path().join("sales/metadata")).unwrap();
    let catalog = ObjectStoreCatalog::new(Storage::default(), format!("{}/", dir.path().display()));
    let all = all_namespaces(&catalog, &Namespace::root()).await.unwrap();
    let expected: [&[&str]; 4] = [&["empty"], &["sales"], &["sales", "eu"], &["sales", "metadata"]];
    assert_eq!(all, expected.map(namespace));
    let sales = all_tables(&catalog, &namespace(&["sales"])).await.unwrap();
    assert_eq!(
        sales.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(),
        ["orders"]
    );
    let loaded = load(&catalog, &["sales", "eu"], "orders").await.unwrap();
    assert_eq!(loaded.name(), "sales.eu.orders");
}

#[tokio::test]
async fn what_is_not_there_is_none() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path(), "outside/t");
    let inside = dir.path().join("warehouse");
    table(&inside, "ns/t");
    let catalog = ObjectStoreCatalog::new(Storage::default(), inside.display().to_string());
    for (namespace, name) in [
        ("ns", "u"),
        ("nowhere", "t"),
        ("..", "t"),
        ("ns", "../../outside/t"),
        ("ns", ""),
    ] {
        let error = load(&catalog, &[namespace], name).await.unwrap_err();
        assert!(
            matches!(error, Error::NoSuchTable { .. }),
            "{namespace} {name}: {error}"
        );
    }
    assert!(load(&catalog, &["ns"], "t").await.is_ok());
    let error = all_tables(&catalog, &namespace(&["nowhere"])).await.unwrap_err();
    assert!(matches!(error, Error::NoSuchNamespace { .. }), "{error}");
}

#[test]
fn secrets_are_not_shown() {
    let options = [("s3.secret-access-key".to_string(), "s3cret".to_string())];
    let catalog = ObjectStoreCatalog::new(Storage::new(options.into()), "s3://b/w");
    let shown = format!("{catalog:?}");
    assert!(shown.contains("s3://b/w") && !shown.contains("s3cret"), "{shown}");
}

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

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

#[tokio::test]
async fn folders_are_namespaces_and_tables() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path(), "sales/orders");
    table(dir.path(), "sales/eu/orders");
    std::fs::create_dir_all(dir.path().join("empty")).unwrap();
    std::fs::create_dir_all(dir.path().join("sales/metadata")).unwrap();
    let catalog = ObjectStoreCatalog::new(Storage::default(), format!("{}/", dir.path().display()));
    assert_eq!(catalog.list(&[]).await.unwrap().namespaces, ["empty", "sales"]);
    let sales = catalog.list(&["sales"]).await.unwrap();
    assert_eq!(
        (sales.tables, sales.namespaces),
        (vec!["orders".into()], vec!["eu".into(), "metadata".into()])
    );
    assert_eq!(
        catalog.list_all_namespaces().await.unwrap(),
        [
            vec!["empty"],
            vec!["sales"],
            vec!["sales", "eu"],
            vec!["sales", "metadata"]
        ]
    );
    let loaded = catalog
        .load_table(&["sales", "eu"], "orders")
        .await
        .unwrap()
        .unwrap();
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
        assert!(
            catalog.load_table(&[namespace], name).await.unwrap().is_none(),
            "{namespace} {name}"
        );
    }
    assert!(catalog.load_table(&["ns"], "t").await.unwrap().is_some());
    assert_eq!(
        catalog.list(&["nowhere"]).await.unwrap(),
        NamespaceContent::default()
    );
}

#[test]
fn secrets_are_not_shown() {
    let options = [("s3.secret-access-key".to_string(), "s3cret".to_string())];
    let catalog = ObjectStoreCatalog::new(Storage::new(options.into()), "s3://b/w");
    let shown = format!("{catalog:?}");
    assert!(shown.contains("s3://b/w") && !shown.contains("s3cret"), "{shown}");
}

//! What is particular to databases: other writers of the same tables, views, purging, lost answers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use drumlin_catalog::sql::SchemaVersion;
use drumlin_catalog::{SqlCatalog, SqlCatalogOptions};
use drumlin_table::Error;
use drumlin_table::catalog::{Catalog, CommitError, Namespace, PageRequest, all_namespaces, all_tables};
use drumlin_table::storage::Storage;
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::backend::variable;
use crate::suite::{creation, ident, make, namespace, properties, set};

/// A database file, and a warehouse beside it.
struct File(TempDir);

impl File {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn options(&self) -> SqlCatalogOptions {
        let folder = self.0.path().display();
        SqlCatalogOptions::new(
            format!("sqlite:{folder}/catalog.db"),
            format!("{folder}/warehouse"),
        )
    }

    async fn open(&self) -> Arc<dyn Catalog> {
        Arc::new(
            SqlCatalog::open(Storage::default(), self.options())
                .await
                .unwrap(),
        )
    }

    async fn sql(&self, sql: &'static str) {
        let uri = format!("sqlite:{}/catalog.db?mode=rwc", self.0.path().display());
        let mut connection = SqliteConnection::connect(&uri).await.unwrap();
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    fn files(&self) -> BTreeSet<String> {
        let (mut files, mut open) = (BTreeSet::new(), vec![self.0.path().join("warehouse")]);
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    files.insert(path.file_name().unwrap().to_str().unwrap().to_string());
                }
            }
        }
        files
    }
}

/// The tables as PyIceberg made them before views.
const V0: &str = "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, \
    table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), \
    PRIMARY KEY (catalog_name, table_namespace, table_name)); \
    CREATE TABLE iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, \
    property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key)); \
    INSERT INTO iceberg_namespace_properties VALUES ('drumlin', 'old', 'exists', 'true')";

#[tokio::test]
async fn a_database_without_types_is_used_as_it_is_or_gets_them() {
    let file = File::new();
    file.sql(V0).await;
    let t = ident(&["old"], "t");
    let catalog = file.open().await;
    make(&*catalog, &t).await;
    catalog.commit(&t, &[], &[set("k", "v")]).await.unwrap();
    file.sql("INSERT INTO iceberg_tables VALUES ('drumlin', 'old', 'five', 'x', 'y')")
        .await;
    let mut options = file.options();
    options.schema = SchemaVersion::V1;
    let typed = SqlCatalog::open(Storage::default(), options).await.unwrap();
    let typed: &dyn Catalog = &typed;
    assert_eq!(
        typed.load_table(&t).await.unwrap().metadata().property("k"),
        Some("v")
    );
    make(typed, &ident(&["old"], "u")).await;
    file.sql(
        "UPDATE iceberg_tables SET iceberg_type = CASE table_name WHEN 'u' THEN 'TABLE' ELSE iceberg_type END; \
         INSERT INTO iceberg_tables VALUES ('drumlin', 'old', 'seen', 'x', 'y', 'VIEW')",
    )
    .await;
    let names: Vec<String> = all_tables(typed, &namespace(&["old"]))
        .await
        .unwrap()
        .into_iter()
        .map(|table| table.name)
        .collect();
    assert_eq!(names, ["five", "t", "u"]);
}

#[tokio::test]
async fn views_keep_their_names() {
    let file = File::new();
    let catalog = file.open().await;
    make(&*catalog, &ident(&["ns"], "t")).await;
    file.sql(
        "INSERT INTO iceberg_tables VALUES ('drumlin', 'ns', 'v', '/nowhere/v.metadata.json', NULL, 'VIEW')",
    )
    .await;
    let view = ident(&["ns"], "v");
    assert!(!catalog.table_exists(&view).await.unwrap());
    assert!(matches!(
        catalog.load_table(&view).await,
        Err(Error::NoSuchTable { .. })
    ));
    assert!(matches!(
        catalog.drop_table(&view, false).await,
        Err(Error::NoSuchTable { .. })
    ));
    assert!(matches!(
        catalog.create_table(&view, creation()).await,
        Err(Error::TableExists { .. })
    ));
    assert!(matches!(
        catalog.rename_table(&ident(&["ns"], "t"), &view).await,
        Err(Error::TableExists { .. })
    ));
    // The metadata file of the table that could not be made is gone.
    assert_eq!(file.files().len(), 1);
    catalog.drop_table(&ident(&["ns"], "t"), true).await.unwrap();
    assert!(matches!(
        catalog.drop_namespace(&namespace(&["ns"])).await,
        Err(Error::NamespaceNotEmpty { .. })
    ));
}

#[tokio::test]
async fn catalogs_in_one_database_do_not_see_each_other() {
    let file = File::new();
    let mut options = file.options();
    options.name = "other".to_string();
    let other = SqlCatalog::open(Storage::default(), options).await.unwrap();
    make(&other, &ident(&["ns"], "t")).await;
    let catalog = file.open().await;
    assert!(
        all_namespaces(&*catalog, &Namespace::root())
            .await
            .unwrap()
            .is_empty()
    );
    assert!(!catalog.table_exists(&ident(&["ns"], "t")).await.unwrap());
}

#[tokio::test]
async fn names_differ_by_case_and_wildcards_are_letters() {
    let file = File::new();
    let catalog = file.open().await;
    for levels in [
        &["a_b", "in"][..],
        &["aXb", "out"],
        &["A_B", "out"],
        &["a_bc"],
        &["a%", "x"],
    ] {
        catalog
            .create_namespace(&namespace(levels), &Default::default())
            .await
            .unwrap();
    }
    let page = PageRequest::default();
    let children = catalog
        .list_namespaces(&namespace(&["a_b"]), &page)
        .await
        .unwrap();
    assert_eq!(children.items, [namespace(&["a_b", "in"])]);
    assert!(!catalog.namespace_exists(&namespace(&["a"])).await.unwrap());
    assert!(catalog.namespace_exists(&namespace(&["a_b"])).await.unwrap());
    let root = catalog.list_namespaces(&Namespace::root(), &page).await.unwrap();
    assert_eq!(root.items.len(), 5);
}

#[tokio::test]
async fn a_purge_deletes_the_files_and_a_drop_does_not() {
    let file = File::new();
    let catalog = file.open().await;
    let t = ident(&["ns"], "t");
    let first = make(&*catalog, &t).await;
    catalog.commit(&t, &[], &[set("k", "v")]).await.unwrap();
    let last = catalog.commit(&t, &[], &[set("k", "w")]).await.unwrap();
    catalog.drop_table(&t, false).await.unwrap();
    assert_eq!(file.files().len(), 3);
    catalog
        .register_table(&t, last.metadata_location())
        .await
        .unwrap();
    std::fs::write(
        std::path::Path::new(first.metadata_location()).with_file_name("foreign.txt"),
        "x",
    )
    .unwrap();
    catalog.drop_table(&t, true).await.unwrap();
    assert_eq!(file.files(), BTreeSet::from(["foreign.txt".to_string()]));
}

#[tokio::test]
async fn a_strict_catalog_wants_its_namespaces() {
    let file = File::new();
    let catalog = file.open().await;
    let t = ident(&["ns"], "t");
    catalog
        .create_namespace(&t.namespace, &Default::default())
        .await
        .unwrap();
    let staged = catalog.stage_table(&t, creation()).await.unwrap();
    catalog.drop_namespace(&t.namespace).await.unwrap();
    let mut options = file.options();
    options.strict = true;
    let strict = SqlCatalog::open(Storage::default(), options).await.unwrap();
    let answer = Catalog::commit(&strict, &t, &staged.requirements(), staged.updates()).await;
    assert!(
        matches!(answer, Err(CommitError::Failed(Error::NoSuchNamespace { .. }))),
        "{answer:?}"
    );
    catalog
        .commit(&t, &staged.requirements(), staged.updates())
        .await
        .unwrap();
}

#[tokio::test]
async fn what_the_columns_cannot_hold_is_refused() {
    let file = File::new();
    let catalog = file.open().await;
    let long = "x".repeat(256);
    make(&*catalog, &ident(&["ns"], "t")).await;
    assert!(matches!(
        catalog.create_table(&ident(&["ns"], &long), creation()).await,
        Err(Error::Name { .. })
    ));
    assert!(matches!(
        catalog
            .create_namespace(&namespace(&[&long]), &Default::default())
            .await,
        Err(Error::Name { .. })
    ));
    let value = "x".repeat(1001);
    assert!(matches!(
        catalog
            .create_namespace(&namespace(&["n"]), &properties(&[("k", &value)]))
            .await,
        Err(Error::Property { .. })
    ));
    let escaping = catalog.create_table(&ident(&["ns"], ".."), creation()).await;
    assert!(matches!(escaping, Err(Error::Name { .. })), "{escaping:?}");
}

#[tokio::test]
async fn databases_that_cannot_be_used_are_errors_that_name_them() {
    let file = File::new();
    let mut options = file.options();
    options.init_tables = false;
    let error = SqlCatalog::open(Storage::default(), options).await.unwrap_err();
    assert!(
        error.to_string().contains("catalog.db") && error.to_string().contains("iceberg_tables"),
        "{error}"
    );
    std::fs::write(
        file.0.path().join("rubbish.db"),
        "no database at all, but long enough for a header",
    )
    .unwrap();
    for uri in [
        format!("sqlite:{}/rubbish.db", file.0.path().display()),
        format!("sqlite:{}/rubbish.db/under/a/file.db", file.0.path().display()),
        "sqlite:".to_string(),
        "mysql://localhost/db".to_string(),
    ] {
        let error = SqlCatalog::open(Storage::default(), SqlCatalogOptions::new(&uri, "/w")).await;
        assert!(matches!(error, Err(Error::Catalog { .. })), "{uri}: {error:?}");
    }
}

/// A read-only database: nothing is committed, and the metadata file that was written for it is gone.
#[tokio::test]
async fn a_refused_statement_leaves_nothing() {
    let file = File::new();
    let catalog = file.open().await;
    let t = ident(&["ns"], "t");
    make(&*catalog, &t).await;
    file.sql("CREATE TRIGGER no BEFORE UPDATE ON iceberg_tables BEGIN SELECT RAISE(ABORT, 'read only'); END")
        .await;
    let answer = catalog.commit(&t, &[], &[set("k", "v")]).await;
    assert!(
        matches!(&answer, Err(CommitError::Failed(Error::Catalog { reason, .. })) if reason.contains("read only")),
        "{answer:?}"
    );
    assert_eq!(file.files().len(), 1);
    file.sql("DROP TRIGGER no").await;
    catalog.commit(&t, &[], &[set("k", "v")]).await.unwrap();
}

const PASS: u8 = 0;
const CUT_BEFORE: u8 = 1;
const CUT_AFTER: u8 = 2;

/// Forwards to the server, until a request names a metadata file: then the connection is cut, before the request reaches
/// the server, or after the server has answered.
async fn proxy(server: String, mode: Arc<AtomicU8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (server, mode) = (server.clone(), Arc::clone(&mode));
            tokio::spawn(async move {
                let mut server = TcpStream::connect(server).await.unwrap();
                let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
                let mut cut = false;
                loop {
                    tokio::select! {
                        read = client.read(&mut up) => {
                            let Ok(n @ 1..) = read else { return };
                            let commits = up[..n].windows(13).any(|w| w == b"metadata.json");
                            match (commits, mode.load(Ordering::SeqCst)) {
                                (true, CUT_BEFORE) => {
                                    mode.store(PASS, Ordering::SeqCst);
                                    return;
                                }
                                (true, CUT_AFTER) => {
                                    mode.store(PASS, Ordering::SeqCst);
                                    cut = true;
                                }
                                _ => {}
                            }
                            server.write_all(&up[..n]).await.unwrap();
                        }
                        read = server.read(&mut down) => {
                            let Ok(n @ 1..) = read else { return };
                            if cut {
                                return;
                            }
                            if client.write_all(&down[..n]).await.is_err() {
                                return;
                            }
                        }
                    }
                }
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_of_postgres_is_looked_up() {
    let Some(uri) = variable("DRUMLIN_TEST_POSTGRES", "a PostgreSQL") else {
        return;
    };
    let (before, rest) = uri.rsplit_once('@').unwrap();
    let (server, database) = rest.split_once('/').unwrap();
    let mode = Arc::new(AtomicU8::new(PASS));
    let port = proxy(server.to_string(), Arc::clone(&mode)).await;
    let folder = tempfile::tempdir().unwrap();
    let warehouse = folder.path().join("w").display().to_string();
    let mut options = SqlCatalogOptions::new(format!("{before}@127.0.0.1:{port}/{database}"), &warehouse);
    options.name = uuid::Uuid::new_v4().to_string();
    let catalog = SqlCatalog::open(Storage::default(), options).await.unwrap();
    let catalog: &dyn Catalog = &catalog;
    let t = ident(&["ns"], "t");
    catalog
        .create_namespace(&t.namespace, &Default::default())
        .await
        .unwrap();
    for first in [CUT_BEFORE, CUT_AFTER] {
        let t = ident(&["ns"], &format!("made{first}"));
        mode.store(first, Ordering::SeqCst);
        let made = catalog.create_table(&t, creation()).await;
        let there = catalog.table_exists(&t).await.unwrap();
        match first {
            CUT_BEFORE => assert!(
                matches!(made, Err(Error::CommitUnknown { .. })) && !there,
                "{made:?}"
            ),
            _ => assert!(made.is_ok() && there, "{made:?}"),
        }
    }
    make(catalog, &t).await;
    mode.store(CUT_AFTER, Ordering::SeqCst);
    let done = catalog.commit(&t, &[], &[set("k", "1")]).await.unwrap();
    assert_eq!(mode.load(Ordering::SeqCst), PASS);
    let now = catalog.load_table(&t).await.unwrap();
    assert_eq!(now.metadata_location(), done.metadata_location());
    mode.store(CUT_BEFORE, Ordering::SeqCst);
    let answer = catalog.commit(&t, &[], &[set("k", "2")]).await;
    let Err(CommitError::Unknown {
        metadata_location: Some(file),
        ..
    }) = answer
    else {
        panic!("{answer:?}")
    };
    assert!(catalog.storage().exists(&file).await.unwrap());
    assert_eq!(
        catalog.load_table(&t).await.unwrap().metadata().property("k"),
        Some("1")
    );
}

//! What every catalog does.

use std::collections::BTreeMap;
use std::sync::Arc;

use drumlin_format::metadata::{LAST_ADDED, TableRequirement, TableUpdate};
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};
use drumlin_table::catalog::{
    Catalog, CommitError, Namespace, PageRequest, TableCreation, TableIdent, all_namespaces, all_tables,
};
use drumlin_table::{Error, Result, Table};

use crate::backend::Fixture;

/// Runs each case on a catalog, if there is one.
macro_rules! cases {
    ($backend:ident: $($case:ident),* $(,)?) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(fixture) = crate::backend::$backend().await {
                        super::$case(&fixture).await;
                    }
                }
            )*
        }
    };
}

macro_rules! suite {
    ($($backend:ident)*) => {
        $(cases!($backend:
            namespaces_are_made_listed_and_dropped,
            namespaces_have_properties_or_say_that_they_have_none,
            tables_are_made_loaded_listed_and_dropped,
            lists_come_in_pages,
            tables_are_renamed,
            tables_are_registered,
            a_commit_is_seen_by_all,
            requirements_are_checked_on_the_newest_state,
            updates_that_do_not_fit_change_nothing,
            metadata_is_compressed_as_the_table_asks,
            old_metadata_files_go_as_the_table_asks,
            odd_names_are_names,
            names_that_lead_elsewhere_are_refused,
            what_is_not_there_is_said_so,
        );)*
    };
}

suite!(memory disk s3 sqlite postgres);

pub fn namespace(levels: &[&str]) -> Namespace {
    Namespace::new(levels.iter().copied()).unwrap()
}

pub fn ident(levels: &[&str], name: &str) -> TableIdent {
    TableIdent::new(namespace(levels), name).unwrap()
}

pub fn creation() -> TableCreation {
    let id = NestedField::required(1, "id", PrimitiveType::Long);
    TableCreation::new(Schema::new(0, vec![id], vec![]).unwrap())
}

pub fn properties(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect()
}

pub fn set(key: &str, value: &str) -> TableUpdate {
    TableUpdate::SetProperties(properties(&[(key, value)]))
}

/// A commit of one property, worked out anew as often as others are first.
pub async fn set_property(catalog: &dyn Catalog, table: &TableIdent, key: &str, value: &str) -> Table {
    loop {
        match catalog.commit(table, &[], &[set(key, value)]).await {
            Ok(table) => return table,
            Err(CommitError::Conflict(_)) => tokio::task::yield_now().await,
            Err(other) => panic!("{other}"),
        }
    }
}

/// The updates and requirements of one more column, which only one of several can add.
pub fn add_column(table: &Table, name: &str) -> (Vec<TableRequirement>, Vec<TableUpdate>) {
    let metadata = table.metadata();
    let id = metadata.last_column_id() + 1;
    let mut fields = metadata.current_schema().fields().to_vec();
    fields.push(NestedField::optional(id, name, PrimitiveType::Int));
    let schema = Schema::new(0, fields, vec![]).unwrap();
    let updates = vec![
        TableUpdate::AddSchema(Arc::new(schema)),
        TableUpdate::SetCurrentSchema(LAST_ADDED),
    ];
    (
        TableRequirement::for_updates(Some(metadata.as_ref()), &updates),
        updates,
    )
}

pub async fn make(catalog: &dyn Catalog, table: &TableIdent) -> Table {
    if !catalog.namespace_exists(&table.namespace).await.unwrap() {
        catalog
            .create_namespace(&table.namespace, &BTreeMap::new())
            .await
            .unwrap();
    }
    catalog.create_table(table, creation()).await.unwrap()
}

fn is<T: std::fmt::Debug>(answer: Result<T>, expected: impl Fn(&Error) -> bool) {
    match answer {
        Err(error) if expected(&error) => {}
        other => panic!("{other:?}"),
    }
}

async fn namespaces_are_made_listed_and_dropped(f: &Fixture) {
    let none = BTreeMap::new();
    assert!(
        all_namespaces(&*f.catalog, &Namespace::root())
            .await
            .unwrap()
            .is_empty()
    );
    assert!(f.catalog.namespace_exists(&Namespace::root()).await.unwrap());
    for levels in [&["b"][..], &["a"], &["a", "x", "y"], &["aa"]] {
        f.catalog
            .create_namespace(&namespace(levels), &none)
            .await
            .unwrap();
        assert!(f.other.namespace_exists(&namespace(levels)).await.unwrap());
    }
    is(f.catalog.create_namespace(&namespace(&["a"]), &none).await, |e| {
        matches!(e, Error::NamespaceExists { .. })
    });
    let all: Vec<String> = all_namespaces(&*f.other, &Namespace::root())
        .await
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(all, ["a", "a.x", "a.x.y", "aa", "b"]);
    let page = PageRequest::default();
    let children = f.other.list_namespaces(&namespace(&["a"]), &page).await.unwrap();
    assert_eq!(children.items, [namespace(&["a", "x"])]);
    is(f.catalog.drop_namespace(&namespace(&["a"])).await, |e| {
        matches!(e, Error::NamespaceNotEmpty { .. })
    });
    make(&*f.catalog, &ident(&["b"], "t")).await;
    is(f.other.drop_namespace(&namespace(&["b"])).await, |e| {
        matches!(e, Error::NamespaceNotEmpty { .. })
    });
    f.other.drop_table(&ident(&["b"], "t"), false).await.unwrap();
    for levels in [&["b"][..], &["a", "x", "y"], &["aa"]] {
        f.other.drop_namespace(&namespace(levels)).await.unwrap();
        assert!(!f.catalog.namespace_exists(&namespace(levels)).await.unwrap());
        is(f.other.drop_namespace(&namespace(levels)).await, |e| {
            matches!(e, Error::NoSuchNamespace { .. })
        });
    }
    assert!(f.catalog.namespace_exists(&namespace(&["a"])).await.unwrap());
    is(f.catalog.drop_namespace(&Namespace::root()).await, |_| true);
}

async fn namespaces_have_properties_or_say_that_they_have_none(f: &Fixture) {
    let ns = namespace(&["ns"]);
    let made = f
        .catalog
        .create_namespace(&ns, &properties(&[("owner", "o'wner")]))
        .await;
    if f.by_folder {
        is(made, |e| matches!(e, Error::Unsupported(_)));
        assert!(!f.catalog.namespace_exists(&ns).await.unwrap());
        f.catalog.create_namespace(&ns, &BTreeMap::new()).await.unwrap();
        assert!(f.catalog.namespace_properties(&ns).await.unwrap().is_empty());
        let update = properties(&[("a", "1")]);
        is(
            f.catalog.update_namespace_properties(&ns, &[], &update).await,
            |e| matches!(e, Error::Unsupported(_)),
        );
        return;
    }
    made.unwrap();
    assert_eq!(
        f.other.namespace_properties(&ns).await.unwrap(),
        properties(&[("owner", "o'wner")])
    );
    let update = properties(&[("owner", "other"), ("k", "v")]);
    f.other
        .update_namespace_properties(&ns, &[], &update)
        .await
        .unwrap();
    let removed = ["owner".to_string(), "nothing".to_string()];
    f.other
        .update_namespace_properties(&ns, &removed, &properties(&[("l", "w")]))
        .await
        .unwrap();
    assert_eq!(
        f.catalog.namespace_properties(&ns).await.unwrap(),
        properties(&[("k", "v"), ("l", "w")])
    );
    // Without properties it is there all the same.
    let removed = ["k".to_string(), "l".to_string()];
    f.other
        .update_namespace_properties(&ns, &removed, &BTreeMap::new())
        .await
        .unwrap();
    assert!(f.catalog.namespace_exists(&ns).await.unwrap());
    // Its tables go where it says.
    let elsewhere = format!("{}/elsewhere/", f.warehouse);
    let update = properties(&[("location", &elsewhere)]);
    f.other
        .update_namespace_properties(&ns, &[], &update)
        .await
        .unwrap();
    let table = make(&*f.catalog, &ident(&["ns"], "t")).await;
    assert_eq!(table.metadata().location(), format!("{elsewhere}t"));
}

async fn tables_are_made_loaded_listed_and_dropped(f: &Fixture) {
    let t = ident(&["ns"], "t");
    is(f.catalog.create_table(&t, creation()).await, |e| {
        matches!(e, Error::NoSuchNamespace { .. })
    });
    let made = make(&*f.catalog, &t).await;
    assert_eq!(made.name(), "ns.t");
    assert_eq!(
        made.metadata().location(),
        f.catalog.default_location(&t).await.unwrap()
    );
    assert!(f.other.table_exists(&t).await.unwrap());
    let loaded = f.other.load_table(&t).await.unwrap();
    assert_eq!(loaded.metadata(), made.metadata());
    assert_eq!(loaded.metadata_location(), made.metadata_location());
    is(f.other.create_table(&t, creation()).await, |e| {
        matches!(e, Error::TableExists { .. })
    });
    // Two that were worked out before either was there: one is made.
    let u = ident(&["ns"], "u");
    let (one, two) = (
        f.catalog.stage_table(&u, creation()).await.unwrap(),
        f.other.stage_table(&u, creation()).await.unwrap(),
    );
    f.other
        .commit(&u, &two.requirements(), two.updates())
        .await
        .unwrap();
    let late = f.catalog.commit(&u, &one.requirements(), one.updates()).await;
    assert!(matches!(late, Err(CommitError::Conflict(_))), "{late:?}");
    let loaded = f.catalog.load_table(&u).await.unwrap();
    assert_eq!(loaded.metadata().table_uuid(), two.metadata().table_uuid());
    assert_eq!(
        all_tables(&*f.catalog, &namespace(&["ns"])).await.unwrap(),
        [t.clone(), u.clone()]
    );
    f.other.drop_table(&t, true).await.unwrap();
    assert!(!f.catalog.table_exists(&t).await.unwrap());
    is(f.catalog.drop_table(&t, false).await, |e| {
        matches!(e, Error::NoSuchTable { .. })
    });
    is(f.catalog.load_table(&t).await, |e| {
        matches!(e, Error::NoSuchTable { .. })
    });
    assert_eq!(all_tables(&*f.catalog, &namespace(&["ns"])).await.unwrap(), [u]);
    // The name is free again, and the table that gets it is another.
    let again = make(&*f.catalog, &t).await;
    assert_ne!(again.metadata().table_uuid(), made.metadata().table_uuid());
    set_property(&*f.catalog, &t, "gc.enabled", "false").await;
    is(f.catalog.drop_table(&t, true).await, |e| {
        matches!(e, Error::Unsupported(_))
    });
    assert!(f.other.table_exists(&t).await.unwrap());
}

async fn lists_come_in_pages(f: &Fixture) {
    for name in ["d", "a", "c", "b", "e"] {
        make(&*f.catalog, &ident(&["ns"], name)).await;
        f.catalog
            .create_namespace(&namespace(&["ns", &format!("n{name}")]), &BTreeMap::new())
            .await
            .unwrap();
    }
    let (mut tables, mut namespaces) = (Vec::new(), Vec::new());
    let mut page = PageRequest {
        after: None,
        size: Some(2),
    };
    loop {
        let found = f.other.list_tables(&namespace(&["ns"]), &page).await.unwrap();
        assert!(found.items.len() <= 2);
        tables.extend(found.items.into_iter().map(|t| t.name));
        page.after = found.next;
        if page.after.is_none() {
            break;
        }
    }
    loop {
        let found = f.other.list_namespaces(&namespace(&["ns"]), &page).await.unwrap();
        assert!(found.items.len() <= 2);
        namespaces.extend(found.items.into_iter().map(|n| n.to_string()));
        page.after = found.next;
        if page.after.is_none() {
            break;
        }
    }
    assert_eq!(tables, ["a", "b", "c", "d", "e"]);
    assert_eq!(namespaces, ["ns.na", "ns.nb", "ns.nc", "ns.nd", "ns.ne"]);
}

async fn tables_are_renamed(f: &Fixture) {
    let (from, to) = (ident(&["a"], "t"), ident(&["b"], "u"));
    let made = make(&*f.catalog, &from).await;
    if f.by_folder {
        is(f.catalog.rename_table(&from, &to).await, |e| {
            matches!(e, Error::Unsupported(_))
        });
        return;
    }
    is(f.catalog.rename_table(&from, &to).await, |e| {
        matches!(e, Error::NoSuchNamespace { .. })
    });
    let taken = ident(&["b"], "taken");
    make(&*f.catalog, &taken).await;
    is(f.catalog.rename_table(&from, &taken).await, |e| {
        matches!(e, Error::TableExists { .. })
    });
    f.catalog.rename_table(&from, &to).await.unwrap();
    is(f.other.rename_table(&from, &to).await, |e| {
        matches!(e, Error::NoSuchTable { .. })
    });
    let moved = f.other.load_table(&to).await.unwrap();
    assert_eq!(moved.metadata_location(), made.metadata_location());
    set_property(&*f.other, &to, "k", "v").await;
    assert!(!f.other.table_exists(&from).await.unwrap());
}

async fn tables_are_registered(f: &Fixture) {
    let (from, to) = (ident(&["ns"], "t"), ident(&["ns"], "again"));
    let made = make(&*f.catalog, &from).await;
    let file = made.metadata_location();
    if f.by_folder {
        is(f.catalog.register_table(&to, file).await, |e| {
            matches!(e, Error::Unsupported(_))
        });
        return;
    }
    is(f.catalog.register_table(&from, file).await, |e| {
        matches!(e, Error::TableExists { .. })
    });
    is(
        f.catalog
            .register_table(&to, &format!("{}/x.metadata.json", f.warehouse))
            .await,
        |e| matches!(e, Error::NotFound { .. }),
    );
    is(
        f.catalog.register_table(&ident(&["nowhere"], "t"), file).await,
        |e| matches!(e, Error::NoSuchNamespace { .. }),
    );
    f.catalog.drop_table(&from, false).await.unwrap();
    let registered = f.catalog.register_table(&to, file).await.unwrap();
    assert_eq!(registered.metadata(), made.metadata());
    set_property(&*f.other, &to, "k", "v").await;
}

async fn a_commit_is_seen_by_all(f: &Fixture) {
    let t = ident(&["ns"], "t");
    let made = make(&*f.catalog, &t).await;
    let committed = f.catalog.commit(&t, &[], &[set("k", "v")]).await.unwrap();
    assert_eq!(committed.metadata().property("k"), Some("v"));
    assert_ne!(committed.metadata_location(), made.metadata_location());
    let loaded = f.other.load_table(&t).await.unwrap();
    assert_eq!(loaded.metadata(), committed.metadata());
    assert_eq!(loaded.metadata_location(), committed.metadata_location());
    let log = loaded.metadata().metadata_log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].metadata_file, made.metadata_location());
    let again = f.other.commit(&t, &[], &[set("l", "w")]).await.unwrap();
    assert_eq!(again.metadata().metadata_log().len(), 2);
    assert_eq!(again.metadata().property("k"), Some("v"));
}

async fn requirements_are_checked_on_the_newest_state(f: &Fixture) {
    let t = ident(&["ns"], "t");
    let made = make(&*f.catalog, &t).await;
    let (requirements, updates) = add_column(&made, "a");
    f.other.commit(&t, &requirements, &updates).await.unwrap();
    let (late_requirements, late_updates) = add_column(&made, "b");
    let late = f.catalog.commit(&t, &late_requirements, &late_updates).await;
    assert!(matches!(late, Err(CommitError::Conflict(_))), "{late:?}");
    let (requirements, updates) = add_column(&f.catalog.load_table(&t).await.unwrap(), "b");
    let done = f.catalog.commit(&t, &requirements, &updates).await.unwrap();
    assert_eq!(done.schema().fields().len(), 3);
    for requirement in [
        TableRequirement::NotExist,
        TableRequirement::RefSnapshotId {
            name: "main".to_string(),
            snapshot_id: Some(1),
        },
        TableRequirement::Uuid(Default::default()),
    ] {
        let answer = f.catalog.commit(&t, &[requirement], &[set("k", "v")]).await;
        assert!(matches!(answer, Err(CommitError::Conflict(_))), "{answer:?}");
    }
    let loaded = f.other.load_table(&t).await.unwrap();
    assert_eq!(loaded.metadata_location(), done.metadata_location());
}

async fn updates_that_do_not_fit_change_nothing(f: &Fixture) {
    let t = ident(&["ns"], "t");
    let made = make(&*f.catalog, &t).await;
    for update in [
        TableUpdate::SetCurrentSchema(77),
        TableUpdate::UpgradeFormatVersion(1),
        TableUpdate::SetLocation(String::new()),
        set("write.metadata.compression-codec", "lzma"),
        set("write.metadata.previous-versions-max", "many"),
    ] {
        let answer = f.catalog.commit(&t, &[], std::slice::from_ref(&update)).await;
        assert!(
            matches!(answer, Err(CommitError::Failed(_))),
            "{update:?}: {answer:?}"
        );
    }
    if f.by_folder {
        for update in [
            TableUpdate::SetLocation(format!("{}/elsewhere", f.warehouse)),
            set("write.metadata.path", &format!("{}/elsewhere", f.warehouse)),
        ] {
            let answer = f.catalog.commit(&t, &[], &[update]).await;
            let error = Error::Unsupported(String::new());
            assert!(
                matches!(&answer, Err(CommitError::Failed(e)) if std::mem::discriminant(e) == std::mem::discriminant(&error)),
                "{answer:?}"
            );
        }
        let mut elsewhere = creation();
        elsewhere.location = Some(format!("{}/elsewhere", f.warehouse));
        is(
            f.catalog.create_table(&ident(&["ns"], "u"), elsewhere).await,
            |e| matches!(e, Error::Unsupported(_)),
        );
    }
    let loaded = f.other.load_table(&t).await.unwrap();
    assert_eq!(loaded.metadata_location(), made.metadata_location());
}

async fn metadata_is_compressed_as_the_table_asks(f: &Fixture) {
    let t = ident(&["ns"], "t");
    make(&*f.catalog, &t).await;
    for (round, codec) in ["gzip", "none", "gzip", "gzip"].into_iter().enumerate() {
        set_property(&*f.catalog, &t, "write.metadata.compression-codec", codec).await;
        let table = set_property(&*f.other, &t, "round", &round.to_string()).await;
        let bytes = f.catalog.storage().read(table.metadata_location()).await.unwrap();
        let gzip = codec == "gzip";
        assert_eq!(bytes.starts_with(&[0x1f, 0x8b]), gzip);
        assert_eq!(table.metadata_location().ends_with(".gz.metadata.json"), gzip);
        let loaded = f.catalog.load_table(&t).await.unwrap();
        assert_eq!(loaded.metadata(), table.metadata());
        assert_eq!(loaded.metadata_location(), table.metadata_location());
    }
    let mut compressed = creation();
    compressed.properties = properties(&[("write.metadata.compression-codec", "gzip")]);
    let u = f
        .catalog
        .create_table(&ident(&["ns"], "u"), compressed)
        .await
        .unwrap();
    assert!(u.metadata_location().ends_with(".gz.metadata.json"));
}

async fn old_metadata_files_go_as_the_table_asks(f: &Fixture) {
    let t = ident(&["ns"], "t");
    let mut files = vec![make(&*f.catalog, &t).await.metadata_location().to_string()];
    let commit = async |key: &str, value: &str| {
        let table = set_property(&*f.catalog, &t, key, value).await;
        table.metadata_location().to_string()
    };
    files.push(commit("write.metadata.previous-versions-max", "2").await);
    files.push(commit("k", "1").await);
    files.push(commit("k", "2").await);
    // Fallen off the log, but nobody asked for it to be deleted, and once it is off it never is.
    assert!(f.catalog.storage().exists(&files[0]).await.unwrap());
    files.push(commit("write.metadata.delete-after-commit.enabled", "true").await);
    files.push(commit("k", "3").await);
    files.push(commit("k", "4").await);
    let mut there = Vec::new();
    for file in &files {
        there.push(f.other.storage().exists(file).await.unwrap());
    }
    assert_eq!(there, [true, false, false, false, true, true, true]);
    let loaded = f.other.load_table(&t).await.unwrap();
    assert_eq!(loaded.metadata_location(), files[6]);
    assert_eq!(loaded.metadata().property("k"), Some("4"));
    let log = loaded.metadata().metadata_log();
    let log: Vec<&str> = log.iter().map(|e| e.metadata_file.as_str()).collect();
    assert_eq!(log, [&files[4], &files[5]]);
}

async fn odd_names_are_names(f: &Fixture) {
    let odd = [
        "with space",
        "ünïcödé 表",
        "it's",
        "\"quoted\"",
        "100%",
        "a%2Fb",
        "a_b",
        "a!b",
        "semi;colon",
        "x=1",
        "a+b",
        "UPPER",
        "upper",
        "back\\slash",
        "?",
        "*",
        "%",
        "_",
        "'; DROP TABLE iceberg_tables; --",
        "' OR '1'='1",
    ];
    // Object stores take some of these for other names, or refuse them.
    let odd: Vec<&str> = odd
        .into_iter()
        .filter(|name| !f.by_folder || !name.contains(['\\', '?', '*']))
        .collect();
    f.catalog
        .create_namespace(&namespace(&["aXb"]), &BTreeMap::new())
        .await
        .unwrap();
    for name in &odd {
        let t = ident(&[name], name);
        assert!(!f.catalog.namespace_exists(&t.namespace).await.unwrap(), "{name}");
        make(&*f.catalog, &t).await;
        let table = set_property(&*f.other, &t, "k", name).await;
        assert_eq!(
            f.catalog.load_table(&t).await.unwrap().metadata(),
            table.metadata()
        );
        assert_eq!(
            all_tables(&*f.other, &t.namespace).await.unwrap(),
            [t.clone()],
            "{name}"
        );
        assert!(
            f.other
                .list_namespaces(&t.namespace, &PageRequest::default())
                .await
                .unwrap()
                .items
                .is_empty()
        );
    }
    let found = all_namespaces(&*f.catalog, &Namespace::root()).await.unwrap();
    assert_eq!(found.len(), odd.len() + 1, "{found:?}");
    for name in &odd {
        f.other.drop_table(&ident(&[name], name), false).await.unwrap();
        f.other.drop_namespace(&namespace(&[name])).await.unwrap();
    }
    assert_eq!(
        all_namespaces(&*f.catalog, &Namespace::root()).await.unwrap(),
        [namespace(&["aXb"])]
    );
}

async fn names_that_lead_elsewhere_are_refused(f: &Fixture) {
    make(&*f.catalog, &ident(&["ns"], "t")).await;
    let names: &[&str] = match f.by_folder {
        true => &["..", ".", "a/b", "../t", "/"],
        false => &["a.b"],
    };
    for name in names {
        let inside = namespace(&[name]);
        is(f.catalog.create_namespace(&inside, &BTreeMap::new()).await, |e| {
            matches!(e, Error::Name { .. })
        });
        assert!(!f.catalog.namespace_exists(&inside).await.unwrap(), "{name}");
        is(f.catalog.load_table(&ident(&[name], "t")).await, |e| {
            matches!(e, Error::NoSuchTable { .. })
        });
        if f.by_folder {
            is(
                f.catalog.create_table(&ident(&["ns"], name), creation()).await,
                |e| matches!(e, Error::Name { .. }),
            );
            is(f.catalog.drop_table(&ident(&["ns"], name), true).await, |e| {
                matches!(e, Error::NoSuchTable { .. })
            });
        }
    }
    assert!(f.catalog.table_exists(&ident(&["ns"], "t")).await.unwrap());
}

async fn what_is_not_there_is_said_so(f: &Fixture) {
    let (nowhere, t) = (namespace(&["nowhere"]), ident(&["nowhere"], "t"));
    let page = PageRequest::default();
    is(f.catalog.list_tables(&nowhere, &page).await, |e| {
        matches!(e, Error::NoSuchNamespace { .. })
    });
    is(f.catalog.list_namespaces(&nowhere, &page).await, |e| {
        matches!(e, Error::NoSuchNamespace { .. })
    });
    is(f.catalog.namespace_properties(&nowhere).await, |e| {
        matches!(e, Error::NoSuchNamespace { .. })
    });
    is(
        f.catalog
            .update_namespace_properties(&nowhere, &[], &BTreeMap::new())
            .await,
        |e| matches!(e, Error::NoSuchNamespace { .. }),
    );
    is(f.catalog.load_table(&t).await, |e| {
        matches!(e, Error::NoSuchTable { .. })
    });
    assert!(!f.catalog.table_exists(&t).await.unwrap());
    let answer = f.catalog.commit(&t, &[], &[set("k", "v")]).await;
    assert!(
        matches!(answer, Err(CommitError::Failed(Error::NoSuchTable { .. }))),
        "{answer:?}"
    );
}

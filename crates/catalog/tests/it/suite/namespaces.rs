//! Namespaces and names.

use super::*;

pub async fn namespaces_are_made_listed_and_dropped(f: &Fixture) {
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

pub async fn namespaces_have_properties_or_say_that_they_have_none(f: &Fixture) {
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

pub async fn odd_names_are_names(f: &Fixture) {
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
            std::slice::from_ref(&t),
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

pub async fn names_that_lead_elsewhere_are_refused(f: &Fixture) {
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

pub async fn what_is_not_there_is_said_so(f: &Fixture) {
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

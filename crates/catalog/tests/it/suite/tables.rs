//! Tables: made, found, renamed, dropped.

use super::*;

pub async fn tables_are_made_loaded_listed_and_dropped(f: &Fixture) {
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

pub async fn lists_come_in_pages(f: &Fixture) {
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

pub async fn tables_are_renamed(f: &Fixture) {
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

pub async fn tables_are_registered(f: &Fixture) {
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

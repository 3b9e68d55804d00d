//! Commits: what they need, what they write, what they leave.

use super::*;

pub async fn a_commit_is_seen_by_all(f: &Fixture) {
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

pub async fn requirements_are_checked_on_the_newest_state(f: &Fixture) {
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

pub async fn updates_that_do_not_fit_change_nothing(f: &Fixture) {
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

pub async fn metadata_is_compressed_as_the_table_asks(f: &Fixture) {
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

pub async fn old_metadata_files_go_as_the_table_asks(f: &Fixture) {
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

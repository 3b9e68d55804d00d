//! Several that commit at once.

use std::sync::Arc;

use drumlin_table::catalog::{Catalog, CommitError};
use futures::future::join_all;

use crate::backend::Fixture;
use crate::suite::{add_column, ident, make, set, set_property};

const WRITERS: usize = 8;
const ROUNDS: usize = 12;

macro_rules! races {
    ($($backend:ident)*) => {
        $(mod $backend {
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn one_of_many_wins() {
                if let Some(fixture) = crate::backend::$backend().await {
                    super::one_of_many_wins(&fixture).await;
                }
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn nothing_is_lost() {
                if let Some(fixture) = crate::backend::$backend().await {
                    super::nothing_is_lost(&fixture).await;
                }
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn one_of_many_makes_the_table() {
                if let Some(fixture) = crate::backend::$backend().await {
                    super::one_of_many_makes_the_table(&fixture).await;
                }
            }
        })*
    };
}

races!(memory disk s3 sqlite postgres);

fn handle(f: &Fixture, writer: usize) -> Arc<dyn Catalog> {
    Arc::clone(if writer.is_multiple_of(2) {
        &f.catalog
    } else {
        &f.other
    })
}

/// All add the same column to the same state, in the same words: one does, the others are told that they did not.
async fn one_of_many_wins(f: &Fixture) {
    let t = ident(&["ns"], "t");
    make(&*f.catalog, &t).await;
    for round in 0..ROUNDS {
        let base = f.catalog.load_table(&t).await.unwrap();
        let tasks = (0..WRITERS).map(|writer| {
            let (catalog, t) = (handle(f, writer), t.clone());
            let (requirements, updates) = add_column(&base, &format!("c{round}"));
            tokio::spawn(async move { catalog.commit(&t, &requirements, &updates).await })
        });
        let answers: Vec<_> = join_all(tasks).await.into_iter().map(Result::unwrap).collect();
        let won = answers.iter().filter(|answer| answer.is_ok()).count();
        for answer in &answers {
            assert!(
                matches!(answer, Ok(_) | Err(CommitError::Conflict(_))),
                "round {round}: {answer:?}"
            );
        }
        assert_eq!(won, 1, "round {round}");
        let now = f.other.load_table(&t).await.unwrap();
        assert_eq!(now.schema().fields().len(), round + 2);
        assert_eq!(now.metadata().metadata_log().len(), round + 1);
    }
}

/// All commit, often and with old metadata files deleted soon: each commit that succeeded is there at the end.
async fn nothing_is_lost(f: &Fixture) {
    let t = ident(&["ns"], "t");
    make(&*f.catalog, &t).await;
    set_property(&*f.catalog, &t, "write.metadata.previous-versions-max", "3").await;
    set_property(
        &*f.catalog,
        &t,
        "write.metadata.delete-after-commit.enabled",
        "true",
    )
    .await;
    let tasks = (0..WRITERS).map(|writer| {
        let (catalog, t) = (handle(f, writer), t.clone());
        tokio::spawn(async move {
            let (mut done, mut unknown) = (Vec::new(), 0);
            for round in 0..ROUNDS {
                let key = format!("w{writer}-{round}");
                for _ in 0..10_000 {
                    match catalog.commit(&t, &[], &[set(&key, "there")]).await {
                        Ok(_) => {
                            done.push(key);
                            break;
                        }
                        Err(CommitError::Conflict(_)) => {}
                        // Its metadata file fell off the log before it could be seen there.
                        Err(CommitError::Unknown { .. }) => {
                            unknown += 1;
                            break;
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            }
            (done, unknown)
        })
    });
    let answers: Vec<_> = join_all(tasks).await.into_iter().map(Result::unwrap).collect();
    let table = f.other.load_table(&t).await.unwrap();
    let mut told = 0;
    for (done, unknown) in &answers {
        told += done.len() + unknown;
        for key in done {
            assert_eq!(table.metadata().property(key), Some("there"), "{key}");
        }
    }
    assert_eq!(told, WRITERS * ROUNDS);
}

async fn one_of_many_makes_the_table(f: &Fixture) {
    let t = ident(&["ns"], "t");
    make(&*f.catalog, &ident(&["ns"], "other")).await;
    let tasks = (0..WRITERS).map(|writer| {
        let (catalog, t) = (handle(f, writer), t.clone());
        tokio::spawn(async move { catalog.create_table(&t, crate::suite::creation()).await })
    });
    let answers: Vec<_> = join_all(tasks).await.into_iter().map(Result::unwrap).collect();
    let made: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
    assert_eq!(made.len(), 1, "{answers:?}");
    for answer in &answers {
        assert!(
            matches!(answer, Ok(_) | Err(drumlin_table::Error::TableExists { .. })),
            "{answer:?}"
        );
    }
    let loaded = f.catalog.load_table(&t).await.unwrap();
    assert_eq!(loaded.metadata(), made[0].metadata());
}

/// What commits to folders stand on: of many that create the same object, with bytes of their own, one does.
async fn one_of_many_creates(f: &Fixture) {
    for round in 0..8 {
        let location = format!("{}/race/{round}", f.warehouse);
        let tasks = (0..WRITERS).map(|writer| {
            let (storage, location) = (handle(f, writer).storage().clone(), location.clone());
            tokio::spawn(async move {
                storage
                    .create(&location, vec![writer as u8; 5000].into())
                    .await
                    .is_ok()
            })
        });
        let won: Vec<bool> = join_all(tasks).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(
            won.iter().filter(|won| **won).count(),
            1,
            "round {round}: {won:?}"
        );
        let bytes = f.other.storage().read(&location).await.unwrap();
        assert!(won[usize::from(bytes[0])], "round {round}");
    }
}

mod create {
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn on_a_disk() {
        super::one_of_many_creates(&crate::backend::disk().await.unwrap()).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn on_s3() {
        if let Some(fixture) = crate::backend::s3().await {
            super::one_of_many_creates(&fixture).await;
        }
    }
}

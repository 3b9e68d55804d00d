//! Stores that fail, writers that are given up: no file is left.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use super::{DeletedRows, delete_files_there, rows_of, write};
use crate::error::Error;
use crate::storage::Storage;
use crate::table::Table;
use crate::transaction::tests::store::Fault;
use crate::transaction::tests::tables::{by_p, data_in};
use crate::write::tests::faults::Faulty;

/// Ways to write several files.
const WAYS: [(u8, &str); 3] = [(2, "file"), (2, "partition"), (3, "file")];

async fn start(way: (u8, &str)) -> (Arc<crate::transaction::tests::catalog::TestCatalog>, Table) {
    let properties = [
        ("write.delete.granularity", way.1),
        ("write.delete.target-file-size-bytes", "600"),
    ];
    by_p(way.0, &properties).await
}

fn rows() -> Vec<DeletedRows> {
    let file = |i: i32| data_in(&format!("{i:02}"), i % 3, 10_000);
    (0..12)
        .map(|i| rows_of(&file(i), (0..100).map(|n| n * 17)))
        .collect()
}

async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_store_that_fails_leaves_nothing() {
    for way in WAYS {
        for fault in [Fault::Fail, Fault::ApplyThenFail] {
            for n in 1.. {
                let (catalog, t) = start(way).await;
                catalog.steps.fail_at(catalog.steps.count() + n, fault);
                match write(&t, rows()).await {
                    Err(e) => {
                        assert!(matches!(e, Error::Store { .. }), "{e:?}");
                        assert!(e.to_string().contains("-deletes."), "{e}");
                        let left = delete_files_there(&t).await;
                        assert_eq!(left, [""; 0], "{way:?}, {fault:?} at {n}");
                    }
                    Ok(files) => {
                        assert!(n > 3, "{way:?}: {n}");
                        assert!(files.len() >= 3);
                        break;
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_writer_that_nobody_waits_for_leaves_nothing() {
    for way in WAYS {
        let mut given_up = 0;
        for polls in 1.. {
            let (_catalog, t) = start(way).await;
            let done = {
                let mut writing = pin!(write(&t, rows()));
                let mut done = false;
                for _ in 0..polls {
                    done = poll_fn(|cx| Poll::Ready(writing.as_mut().poll(cx).is_ready())).await;
                    if done {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                done
            };
            settle().await;
            if done {
                break;
            }
            given_up += 1;
            assert_eq!(
                delete_files_there(&t).await,
                [""; 0],
                "{way:?} after {polls} polls"
            );
        }
        assert!(given_up >= 2, "{way:?}");
    }
}

/// A vector that takes an upload of several parts.
#[tokio::test]
async fn each_step_of_an_upload_may_fail() {
    let (_, plain) = by_p(3, &[]).await;
    let large = rows_of(&data_in("a", 0, 1), (0..4_400_000).map(|n| n * 17));
    let mut failed = 0;
    for step in 0.. {
        let (store, steps) = Faulty::new(step);
        let storage = Storage::default();
        storage.register("memory:", Arc::new(store)).unwrap();
        let table = Table::new("t", storage, "", Arc::clone(plain.metadata()));
        let written = write(&table, vec![large.clone()]).await;
        assert_eq!(
            steps.open.load(Ordering::Relaxed),
            0,
            "an upload is left at step {step}"
        );
        match written {
            Err(e) => {
                failed += 1;
                assert!(matches!(e, Error::Store { .. }), "step {step}: {e:?}");
                assert_eq!(delete_files_there(&table).await, [""; 0], "step {step}");
            }
            Ok(files) => {
                assert!(files[0].file_size_in_bytes > 8 << 20);
                break;
            }
        }
    }
    // Its start, two parts, its end.
    assert_eq!(failed, 4);
}

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation
)]

//! - `round_trip`: what is written and committed is what a scan reads
//! - `files`: which files there are, and what manifests say of them
//! - `faults`: stores that fail, writers that are given up
//! - `properties`: table properties, and what is refused

mod faults;
mod files;
mod properties;
mod round_trip;

use std::collections::BTreeMap;
use std::sync::Arc;

use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::DataFile;
use futures::TryStreamExt;

use super::{DeletedRows, write_deletes};
use crate::error::Result;
use crate::memory::UnlimitedMemory;
use crate::predicate::Predicate;
use crate::table::Table;
use crate::write::{DeleteWriteOptions, WriteProgress};

fn vector(positions: impl IntoIterator<Item = u64>) -> DeletionVector {
    let positions: Vec<u64> = positions.into_iter().collect();
    let mut vector = DeletionVector::new();
    vector.insert_all(&positions).unwrap();
    vector
}

fn rows_of(file: &DataFile, positions: impl IntoIterator<Item = u64>) -> DeletedRows {
    DeletedRows {
        data_file: Arc::clone(&file.file_path),
        spec_id: file.spec_id,
        partition: file.partition.clone(),
        positions: vector(positions),
    }
}

async fn write(table: &Table, rows: Vec<DeletedRows>) -> Result<Vec<DataFile>> {
    let options = DeleteWriteOptions::of(table.metadata()).unwrap();
    write_deletes(table, &options, rows, &WriteProgress::default()).await
}

/// The positions that a scan deletes, by data file.
async fn deleted(table: &Table) -> BTreeMap<String, DeletionVector> {
    let plan = table.plan_scan(&Predicate::AlwaysTrue).await.unwrap();
    let mut deleted = BTreeMap::new();
    for task in &plan.tasks {
        let path = &task.data_file().file_path;
        if let Some(deletes) = task.deletes() {
            let positions = deletes.deleted_positions(path, table, &UnlimitedMemory).await;
            // A file of a partition may have none for a data file between others.
            if let Some(found) = positions.unwrap() {
                deleted.insert(path.to_string(), found.positions.as_ref().clone());
            }
        }
    }
    deleted
}

/// The delete files that there are below the table.
async fn delete_files_there(table: &Table) -> Vec<String> {
    let (store, path) = table.storage().resolve(table.metadata().location()).unwrap();
    let found: Vec<_> = store.list(Some(&path)).try_collect().await.unwrap();
    let paths = found.into_iter().map(|object| object.location.to_string());
    paths.filter(|path| path.contains("-deletes.")).collect()
}

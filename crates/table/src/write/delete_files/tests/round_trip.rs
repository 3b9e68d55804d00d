//! What is written and committed is what a scan reads.

use std::collections::BTreeMap;

use drumlin_format::deletion_vector::MAX_POSITION;
use drumlin_format::manifest::DataFile;
use proptest::prelude::*;

use super::{deleted, rows_of, vector, write};
use crate::catalog::Catalog;
use crate::transaction::SnapshotChange;
use crate::transaction::tests::tables::{by_p, commit, data_in, ident};

/// Each of these data files is in the partition that is said, and loses these rows. A second commit adds the deletes `later`.
async fn run(
    version: u8,
    properties: &[(&str, &str)],
    of_files: &[(String, i32, Vec<u64>)],
    later: &[(usize, Vec<u64>)],
) {
    let (catalog, table) = by_p(version, properties).await;
    let files: Vec<DataFile> = of_files
        .iter()
        .map(|(path, p, _)| data_in(path, *p, 1_000_000))
        .collect();
    let table = commit(&catalog, &table, SnapshotChange::append(files.clone()))
        .await
        .unwrap();
    let mut expected = BTreeMap::new();
    let mut rows = Vec::new();
    for (file, (path, _, positions)) in files.iter().zip(of_files) {
        if !positions.is_empty() {
            rows.push(rows_of(file, positions.iter().copied()));
            expected.insert(path.clone(), vector(positions.iter().copied()));
        }
    }
    rows.reverse();
    let written = write(&table, rows).await.unwrap();
    let table = commit(&catalog, &table, SnapshotChange::row_delta(written.clone()))
        .await
        .unwrap();
    assert_eq!(deleted(&table).await, expected);
    let mut rows = Vec::new();
    let mut replaced: Vec<DataFile> = Vec::new();
    for (place, positions) in later {
        let (Some(file), false) = (files.get(*place), positions.is_empty()) else {
            continue;
        };
        let all = expected.entry(file.file_path.to_string()).or_default();
        all.merge(&vector(positions.iter().copied()));
        let new = match version {
            2 => positions.clone(),
            _ => all.iter().collect(),
        };
        rows.push(rows_of(file, new));
        let is_old = |d: &&DataFile| d.referenced_data_file.as_ref() == Some(&file.file_path);
        if version == 3 {
            replaced.extend(written.iter().find(is_old).cloned());
        }
    }
    let change = SnapshotChange::row_delta(write(&table, rows).await.unwrap()).remove(replaced);
    commit(&catalog, &table, change).await.unwrap();
    let table = catalog.load_table(&ident()).await.unwrap();
    assert_eq!(deleted(&table).await, expected);
    crate::transaction::tests::checked::check(&catalog, &table).await;
}

#[tokio::test]
async fn every_kind_of_set() {
    // Above 2^32, runs, every second row, one row; more than a batch.
    let sets: [Vec<u64>; 5] = [
        vec![0, 1 << 32, (1 << 32) + 1, 5 << 40, MAX_POSITION],
        (100..20_000).collect(),
        (0..50_000).step_by(2).collect(),
        vec![77],
        (8192..2 * 8192).collect(),
    ];
    let long = "x/".repeat(150);
    let files: Vec<_> = sets
        .into_iter()
        .enumerate()
        .map(|(i, set)| (format!("data/{long}{i}-and-a-name.parquet"), i as i32 % 2, set))
        .collect();
    for version in 2..=3 {
        for granularity in ["file", "partition"] {
            let properties = [
                ("write.delete.granularity", granularity),
                ("write.delete.target-file-size-bytes", "20000"),
            ];
            run(version, &properties, &files, &[(2, vec![1, 3]), (4, vec![9])]).await;
        }
    }
}

fn positions() -> impl Strategy<Value = Vec<u64>> {
    let sparse = prop::collection::btree_set(0..=MAX_POSITION, 0..20).prop_map(|s| s.into_iter().collect());
    let few = prop::collection::btree_set(0u64..300, 0..50).prop_map(|s| s.into_iter().collect());
    let dense = (0u64..70_000, 0u64..10_000, 1usize..4)
        .prop_map(|(start, length, step)| (start..start + length).step_by(step).collect());
    let high = (u64::from(u32::MAX) - 5..u64::from(u32::MAX) + 5, 1u64..30)
        .prop_map(|(start, length)| (start..start + length).collect());
    prop_oneof![sparse, few, dense, high]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_sets(
        version in 2u8..=3,
        by_partition: bool,
        target in prop_oneof![Just("300"), Just("5000"), Just("67108864")],
        sets in prop::collection::vec((0i32..3, "[a-zä]{1,20}", positions()), 1..8),
        later in prop::collection::btree_map(0usize..8, positions(), 0..4),
    ) {
        let granularity = if by_partition { "partition" } else { "file" };
        let properties = [("write.delete.granularity", granularity), ("write.delete.target-file-size-bytes", target)];
        let files: Vec<_> = sets
            .into_iter()
            .enumerate()
            .map(|(i, (p, name, set))| (format!("{name}{i}"), p, set))
            .collect();
        let later: Vec<_> = later.into_iter().collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(version, &properties, &files, &later));
    }
}

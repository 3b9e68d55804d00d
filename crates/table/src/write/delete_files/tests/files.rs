//! Which files there are, and what manifests say of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use drumlin_format::manifest::{ColumnMetrics, DataContent, DataFile, FileFormat};
use drumlin_format::puffin::{BlobCompression, read_footer};
use drumlin_format::value::Value;
use drumlin_format::value::bytes::to_bytes;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use super::{delete_files_there, rows_of, vector, write};
use crate::deletes::{FILE_PATH_ID, POS_ID};
use crate::table::Table;
use crate::transaction::SnapshotChange;
use crate::transaction::tests::tables::{P, TS, With, by_p, commit, data, data_in, table};
use crate::write::{DeleteWriteOptions, WriteProgress, write_deletes};

fn name(file: &DataFile) -> &str {
    file.file_path.rsplit('/').next().unwrap()
}

async fn bytes(table: &Table, file: &DataFile) -> bytes::Bytes {
    let bytes = table.storage().read(&file.file_path).await.unwrap();
    assert_eq!(bytes.len() as i64, file.file_size_in_bytes);
    bytes
}

async fn footer(table: &Table, file: &DataFile) -> ParquetMetaData {
    ParquetMetaDataReader::new()
        .parse_and_finish(&bytes(table, file).await)
        .unwrap()
}

#[tokio::test]
async fn vectors_share_a_file() {
    let (_, t) = by_p(3, &[]).await;
    let files = [data_in("b", 1, 100), data_in("a", 0, 100), data_in("c", 1, 100)];
    let sets = [vec![3u64, 4, 5], vec![0], vec![1 << 33]];
    let rows = files.iter().zip(&sets).map(|(f, set)| rows_of(f, set.clone()));
    let options = DeleteWriteOptions::of(t.metadata()).unwrap().with_partition_id(7);
    let progress = WriteProgress::default();
    let mut written = write_deletes(&t, &options, rows.collect(), &progress)
        .await
        .unwrap();
    written.sort_by_key(|f| f.referenced_data_file.clone());
    assert_eq!(
        (progress.rows(), progress.files(), progress.bytes()),
        (5, 1, written[0].file_size_in_bytes as u64)
    );
    let path = Arc::clone(&written[0].file_path);
    assert!(
        path.starts_with("memory:/wh/t/data/00007-00000-"),
        "not in a partition: {path}"
    );
    assert!(path.ends_with("-00001-deletes.puffin"), "{path}");
    let file = bytes(&t, &written[0]).await;
    let puffin = read_footer(&file).unwrap();
    let created_by = format!("drumlin {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        puffin.properties,
        BTreeMap::from([("created-by".into(), created_by)])
    );
    assert_eq!(puffin.blobs.len(), 3);
    for (n, blob) in puffin.blobs.iter().enumerate() {
        let (of, set) = [
            (&files[1], &sets[1]),
            (&files[0], &sets[0]),
            (&files[2], &sets[2]),
        ][n];
        assert_eq!(blob.blob_type, "deletion-vector-v1");
        assert_eq!(blob.fields, [2_147_483_645]);
        assert_eq!((blob.snapshot_id, blob.sequence_number), (-1, -1));
        assert_eq!(blob.compression, BlobCompression::None);
        let properties = [
            ("cardinality".to_string(), set.len().to_string()),
            ("referenced-data-file".to_string(), of.file_path.to_string()),
        ];
        assert_eq!(blob.properties, BTreeMap::from(properties));
        let start = blob.offset as usize;
        let content = &file[start..start + blob.length as usize];
        assert_eq!(content, vector(set.clone()).to_blob().unwrap());
        let expected = DataFile {
            content: DataContent::PositionDeletes,
            file_path: Arc::clone(&path),
            file_format: FileFormat::Puffin,
            record_count: set.len() as i64,
            file_size_in_bytes: file.len() as i64,
            column_metrics: ColumnMetrics::unknown(),
            split_offsets: None,
            sort_order_id: None,
            referenced_data_file: Some(Arc::clone(&of.file_path)),
            content_offset: Some(blob.offset as i64),
            content_size_in_bytes: Some(blob.length as i64),
            ..of.clone()
        };
        assert_eq!(written[n], expected);
    }
}

#[tokio::test]
async fn puffin_files_have_a_target_size() {
    let (_, t) = by_p(3, &[("write.delete.target-file-size-bytes", "1000")]).await;
    let rows = (0..20).map(|i| rows_of(&data_in(&format!("{i:02}"), 0, 1), (0..40).map(|n| n * 3)));
    let progress = WriteProgress::default();
    let options = DeleteWriteOptions::of(t.metadata()).unwrap();
    let written = write_deletes(&t, &options, rows.collect(), &progress)
        .await
        .unwrap();
    assert_eq!(written.len(), 20);
    let mut sizes = BTreeMap::new();
    for file in &written {
        let (start, length) = (file.content_offset.unwrap(), file.content_size_in_bytes.unwrap());
        assert!(start >= 4 && start + length < file.file_size_in_bytes);
        *sizes.entry(&file.file_path).or_insert(0) += 1;
        bytes(&t, file).await;
    }
    assert_eq!(sizes.into_values().collect::<Vec<_>>(), [4; 5]);
    assert_eq!((progress.files(), progress.rows()), (5, 800));
    // One that is larger than the target is a file.
    let written = write(
        &t,
        vec![rows_of(&data_in("x", 0, 1), (0..2000).map(|n| n * n * 7))],
    )
    .await
    .unwrap();
    assert!(written[0].file_size_in_bytes > 2000);
    assert_eq!(delete_files_there(&t).await.len(), 6);
}

fn bounds(file: &DataFile) -> [Option<Vec<u8>>; 4] {
    let metrics = &file.column_metrics;
    [
        metrics.lower_bound(FILE_PATH_ID),
        metrics.upper_bound(FILE_PATH_ID),
        metrics.lower_bound(POS_ID),
        metrics.upper_bound(POS_ID),
    ]
    .map(|bound| bound.map(<[u8]>::to_vec))
}

fn expected_bounds(paths: [&str; 2], positions: [i64; 2]) -> [Option<Vec<u8>>; 4] {
    let path = |path: &str| Some(path.as_bytes().to_vec());
    let position = |n| to_bytes(&Value::Long(n)).map(|bytes| bytes.to_vec());
    [
        path(paths[0]),
        path(paths[1]),
        position(positions[0]),
        position(positions[1]),
    ]
}

#[tokio::test]
async fn position_deletes_of_one_data_file() {
    let (_, t) = by_p(2, &[("write.metadata.metrics.default", "none")]).await;
    let long = format!("memory:/wh/{}ä\u{10ffff}.parquet", "part/".repeat(60));
    for path in ["a", "exactly-16-bytes", "seventeen-bytes-x", long.as_str()] {
        let file = data_in(path, 4, 10);
        let written = write(&t, vec![rows_of(&file, [9, 3, 7])]).await.unwrap();
        let [deletes] = written.as_slice() else { panic!() };
        assert_eq!(bounds(deletes), expected_bounds([path; 2], [3, 9]));
        let metrics = &deletes.column_metrics;
        for id in [FILE_PATH_ID, POS_ID] {
            assert_eq!(
                (metrics.value_count(id), metrics.null_value_count(id)),
                (Some(3), Some(0))
            );
            assert!(metrics.column_size(id).unwrap() > 0);
        }
        let expected = DataFile {
            content: DataContent::PositionDeletes,
            file_path: Arc::clone(&deletes.file_path),
            record_count: 3,
            file_size_in_bytes: deletes.file_size_in_bytes,
            column_metrics: metrics.clone(),
            split_offsets: Some(vec![4]),
            sort_order_id: None,
            referenced_data_file: Some(path.into()),
            ..file
        };
        assert_eq!(*deletes, expected);
        assert!(deletes.file_path.starts_with("memory:/wh/t/data/f2_identity=4/"));
        assert!(
            name(deletes).starts_with("00000-00000-") && name(deletes).ends_with("-00001-deletes.parquet")
        );
        let footer = footer(&t, deletes).await;
        let schema = footer.file_metadata().schema();
        let columns: Vec<_> = schema
            .get_fields()
            .iter()
            .map(|f| {
                let info = f.get_basic_info();
                (f.name(), info.id(), info.repetition().to_string())
            })
            .collect();
        let required = || "REQUIRED".to_string();
        assert_eq!(
            columns,
            [
                ("file_path", FILE_PATH_ID, required()),
                ("pos", POS_ID, required())
            ]
        );
    }
}

#[tokio::test]
async fn one_file_a_data_file_or_a_partition() {
    for (granularity, expected) in [(None, 40), (Some("file"), 40), (Some("partition"), 2)] {
        let properties: Vec<_> = granularity
            .map(|g| ("write.delete.granularity", g))
            .into_iter()
            .collect();
        let (_, t) = by_p(2, &properties).await;
        let files: Vec<_> = (0..40)
            .map(|i| data_in(&format!("{:02}", 39 - i), i % 2, 10))
            .collect();
        let rows = files.iter().map(|f| rows_of(f, [1, 2, 5]));
        let written = write(&t, rows.collect()).await.unwrap();
        assert_eq!(written.len(), expected);
        let names: std::collections::HashSet<_> = written.iter().map(|f| &f.file_path).collect();
        assert_eq!(names.len(), expected);
        for file in &written {
            let Some(Value::Int(p)) = file.partition[0] else {
                panic!()
            };
            assert!(file.file_path.contains(&format!("/f2_identity={p}/")));
            match expected {
                40 => assert_eq!(file.record_count, 3),
                _ => {
                    assert_eq!((file.record_count, &file.referenced_data_file), (60, &None));
                    let paths = [["01", "39"], ["00", "38"]][p as usize];
                    assert_eq!(bounds(file), expected_bounds(paths, [1, 5]));
                }
            }
        }
    }
}

/// One data file in its partition is named, whatever the granularity.
#[tokio::test]
async fn the_only_data_file_of_a_partition_is_named() {
    let (_, t) = by_p(2, &[("write.delete.granularity", "partition")]).await;
    let rows = [data_in("a", 0, 10), data_in("b", 1, 10), data_in("c", 1, 10)].map(|f| rows_of(&f, [1]));
    let written = write(&t, rows.to_vec()).await.unwrap();
    let named: Vec<_> = written
        .iter()
        .map(|f| f.referenced_data_file.as_deref())
        .collect();
    assert_eq!(named, [Some("a"), None]);
}

#[tokio::test]
async fn position_delete_files_have_a_target_size() {
    let properties = [
        ("write.delete.granularity", "partition"),
        ("write.delete.target-file-size-bytes", "20000"),
        ("write.delete.parquet.compression-codec", "uncompressed"),
    ];
    let (_, t) = by_p(2, &properties).await;
    let rows = (0..10).map(|i| rows_of(&data_in(&format!("{i}"), 0, 1), (0..3000).map(|n| n * 13)));
    let written = write(&t, rows.collect()).await.unwrap();
    assert!((10..20).contains(&written.len()), "{}", written.len());
    assert_eq!(written.iter().map(|f| f.record_count).sum::<i64>(), 30_000);
    let mut last = (Vec::new(), -1);
    for file in &written {
        assert!(file.file_size_in_bytes < 30_000);
        let [lower, upper, ..] = bounds(file);
        let (lower, upper) = (lower.unwrap(), upper.unwrap());
        assert!(lower >= last.0 && upper >= lower, "sorted over all files");
        last = (upper, 0);
        assert_eq!(
            file.referenced_data_file.is_some(),
            bounds(file)[0] == bounds(file)[1]
        );
    }
}

/// Files of an old spec get deletes of that spec, where its files are.
#[tokio::test]
async fn deletes_are_of_the_spec_of_their_data_file() {
    for version in 2..=3 {
        let (catalog, t) = table(version, &[(P, "identity"), (TS, "day")], &[]).await;
        let old = data("old", 10).of(0, vec![Some(Value::Int(1)), Some(Value::Int(19_000))]);
        let t = commit(&catalog, &t, SnapshotChange::append(vec![old.clone()]))
            .await
            .unwrap();
        let unpartitioned = drumlin_format::metadata::UnboundPartitionSpec {
            spec_id: None,
            fields: Vec::new(),
        };
        let t = crate::transaction::Transaction::new(&t, crate::transaction::tests::tables::ident())
            .add_updates(vec![
                drumlin_format::metadata::TableUpdate::AddSpec(unpartitioned),
                drumlin_format::metadata::TableUpdate::SetDefaultSpec(-1),
            ])
            .commit(catalog.as_ref())
            .await
            .unwrap();
        let new = data("new", 10).of(t.metadata().default_spec().spec_id(), vec![]);
        let t = commit(&catalog, &t, SnapshotChange::append(vec![new.clone()]))
            .await
            .unwrap();
        let rows = vec![rows_of(&old, [1]), rows_of(&new, [2])];
        let written = write(&t, rows).await.unwrap();
        let scopes: Vec<_> = written.iter().map(|f| (f.spec_id, f.partition.clone())).collect();
        assert_eq!(
            scopes,
            [
                (new.spec_id, new.partition.clone()),
                (old.spec_id, old.partition.clone())
            ]
        );
        let folders: Vec<_> = written
            .iter()
            .map(|f| f.file_path.rsplit_once('/').unwrap().0)
            .collect();
        match version {
            2 => assert_eq!(
                folders,
                [
                    "memory:/wh/t/data",
                    "memory:/wh/t/data/f2_identity=1/f3_day=2022-01-08"
                ]
            ),
            _ => assert_eq!(folders, ["memory:/wh/t/data"; 2]),
        }
        let t = commit(&catalog, &t, SnapshotChange::row_delta(written))
            .await
            .unwrap();
        let expected = [("new".to_string(), vector([2])), ("old".to_string(), vector([1]))];
        assert_eq!(super::deleted(&t).await, BTreeMap::from(expected));
    }
}

#[tokio::test]
async fn nothing_to_delete_is_no_file() {
    for version in 2..=3 {
        let (_, t) = by_p(version, &[]).await;
        assert_eq!(write(&t, Vec::new()).await.unwrap(), []);
        assert_eq!(delete_files_there(&t).await, [""; 0]);
    }
}

/// Statements run it in tasks of their own.
#[tokio::test]
async fn writing_can_move_between_threads() {
    fn can_move<T: Send>(it: T) -> T {
        it
    }
    for version in 2..=3 {
        let (_, t) = by_p(version, &[]).await;
        let rows = vec![rows_of(&data_in("a", 0, 10), [1])];
        assert_eq!(can_move(write(&t, rows)).await.unwrap().len(), 1);
    }
}

//! Data files and equality delete files in turns, as streaming upserts leave them.
//!
//! Each commit writes new keys and new versions of some old ones, and deletes those old ones by key: the delete file has
//! the sequence number of the commit, so that it applies to the data files of all earlier commits and not to its own.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringViewArray};
use drumlin_format::manifest::DataFile;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};
use drumlin_table::arrow::schema_to_arrow;

use super::scenario::{Expected, Query, Scenario, Side};
use crate::Result;
use crate::cached::once;
use crate::chance::scattered;
use crate::delete_files::equality_deletes;
use crate::iceberg_table::TableWriter;
use crate::parquet_file::{create, data_file};
use crate::threads::on_threads;

/// Files of a manifest: writers merge manifests at this number (`commit.manifest.min-count-to-merge`).
const FILES_PER_MANIFEST: usize = 100;

/// The field id of the key.
const ID: i32 = 1;

const QUERIES: [Query; 3] = [
    Query::scan("full scan", "SELECT * FROM chain"),
    Query::few(
        "aggregate",
        "SELECT written_by % 10, count(*), sum(amount), max(name) FROM chain GROUP BY 1",
    ),
    Query::count("SELECT count(*) FROM chain"),
];

/// How long the chain is, and what each commit does.
#[derive(Debug, Clone, Copy)]
pub struct Chain {
    /// Commits, each with a data file and an equality delete file.
    pub commits: i32,
    /// Rows of a data file.
    pub rows: i64,
    /// How many of them are new versions of old keys: the rows of the delete file.
    pub keys: i64,
}

/// A chain against the rows that it has in the end.
pub fn scenario(cache: &Path, chain: Chain, threads: usize) -> Result<Scenario> {
    let Chain { commits, rows, keys } = chain;
    if commits < 1 || keys < 1 || keys >= rows {
        return Err("a chain has at least one commit and fewer deletes than rows".into());
    }
    let folder = cache.join(format!("chain-{commits}x{rows}-{keys}"));
    let about = once(&folder, || chain.write(&folder, threads))?;
    let expected = Expected {
        files: vec![("live", folder.join("clean/data"))],
        rows: "SELECT * FROM live",
    };
    let side = |name, place| Side {
        name,
        folder: folder.join(place),
        expected: expected.clone(),
    };
    Ok(Scenario {
        title: format!("chain of {commits} data files and {commits} equality delete files: {about}"),
        table: "chain",
        sides: vec![side("clean", "clean"), side("chain", "chain")],
        queries: QUERIES.to_vec(),
        aim: Some(2.0),
    })
}

impl Chain {
    /// How many keys there are before a commit.
    fn keys_before(&self, commit: i32) -> i64 {
        match commit {
            ..=1 => 0,
            _ => self.rows + i64::from(commit - 2) * (self.rows - self.keys),
        }
    }

    /// The keys that a commit deletes, from 1. Those of the first are its own, and delete nothing.
    fn deleted_by(&self, commit: i32) -> Vec<i64> {
        let before = self.keys_before(commit);
        if before == 0 {
            return (0..self.keys).collect();
        }
        let mut keys = BTreeSet::new();
        let mut number = i64::from(commit) << 32;
        while i64::try_from(keys.len()).is_ok_and(|n| n < self.keys) {
            keys.insert(scattered(number).rem_euclid(before));
            number += 1;
        }
        keys.into_iter().collect()
    }

    /// The keys that a commit writes: those it deletes, and new ones.
    fn written_by(&self, commit: i32) -> Vec<i64> {
        let mut keys = self.deleted_by(commit);
        let first = self.keys_before(commit) + if commit == 1 { self.keys } else { 0 };
        keys.extend(first..first + self.rows - self.keys);
        keys
    }

    fn write(&self, folder: &Path, threads: usize) -> Result<String> {
        let schema = Schema::new(
            0,
            vec![
                NestedField::required(ID, "id", PrimitiveType::Long),
                NestedField::required(2, "written_by", PrimitiveType::Int),
                NestedField::required(3, "amount", PrimitiveType::Long),
                NestedField::optional(4, "name", PrimitiveType::String),
            ],
            Vec::new(),
        )?;
        let mut last_written_by = vec![0; usize::try_from(self.keys_before(self.commits + 1))?];
        for commit in 1..=self.commits {
            for key in self.written_by(commit) {
                if let Some(last) = last_written_by.get_mut(usize::try_from(key)?) {
                    *last = commit;
                }
            }
        }
        let (chain, clean) = (folder.join("chain"), folder.join("clean"));
        let commits: Vec<i32> = (1..=self.commits).collect();
        let files = on_threads(threads, commits, |commit| {
            let mut keys = self.written_by(commit);
            let name = format!("{commit:05}.parquet");
            let data = write_rows(&chain.join("data").join(&name), &schema, commit, &keys)?;
            let deleted: ArrayRef = Arc::new(Int64Array::from(self.deleted_by(commit)));
            let path = chain.join("data").join(format!("deletes-{name}"));
            let deletes = equality_deletes(&path, &schema, &[ID], vec![deleted])?;
            keys.retain(|key| {
                let place = usize::try_from(*key).unwrap_or(usize::MAX);
                last_written_by.get(place) == Some(&commit)
            });
            let live = write_rows(&clean.join("data").join(&name), &schema, commit, &keys)?;
            Ok((i64::from(commit), data, deletes, live))
        })?;

        let (mut data, mut deletes, mut live) = (Vec::new(), Vec::new(), Vec::new());
        for (commit, a, b, c) in files {
            data.push((commit, a));
            deletes.push((commit, b));
            live.push((commit, c));
        }
        let rows = |files: &[(i64, DataFile)]| files.iter().map(|(_, f)| f.record_count).sum::<i64>();
        let about = format!(
            "{} rows written, {} deletes, {} rows live",
            rows(&data),
            rows(&deletes),
            rows(&live)
        );
        self.write_metadata(&chain, &schema, &[&data, &deletes])?;
        self.write_metadata(&clean, &schema, &[&live])?;
        Ok(about)
    }

    /// The table as it is after the last commit.
    fn write_metadata(&self, folder: &Path, schema: &Schema, files: &[&[(i64, DataFile)]]) -> Result<()> {
        let mut table = TableWriter::create(2, folder, schema.clone(), None)?;
        table.skip_to(i64::from(self.commits));
        for manifest in files.iter().flat_map(|f| f.chunks(FILES_PER_MANIFEST)) {
            table.add_merged_manifest(manifest)?;
        }
        table.commit()?;
        table.finish()
    }
}

fn write_rows(path: &Path, schema: &Schema, commit: i32, keys: &[i64]) -> Result<DataFile> {
    let amount = |key: &i64| scattered(key.wrapping_mul(1_000_003) + i64::from(commit)).rem_euclid(1_000_000);
    let name = |key: &i64| format!("{:012x}", scattered(*key).cast_unsigned() >> 16);
    let arrow = Arc::new(schema_to_arrow(schema));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(keys.to_vec())),
        Arc::new(Int32Array::from(vec![commit; keys.len()])),
        Arc::new(Int64Array::from_iter_values(keys.iter().map(amount))),
        Arc::new(StringViewArray::from_iter_values(keys.iter().map(name))),
    ];
    let mut writer = create(path, &arrow)?;
    writer.write(&RecordBatch::try_new(arrow, columns)?)?;
    writer.close()?;
    data_file(path, schema, Vec::new())
}

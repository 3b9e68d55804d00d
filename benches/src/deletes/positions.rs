//! Many deleted positions in many files: what loading them costs, and applying them.
//!
//! Each row has its place in a random order of the rows of its file; those of the lowest places are deleted.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};
use drumlin_table::arrow::schema_to_arrow;

use super::scenario::{Expected, Query, Scenario, Side, write_table};
use crate::Result;
use crate::cached::once;
use crate::chance::shuffled;
use crate::delete_files::{Deleted, deletion_vectors, position_deletes};
use crate::iceberg_table::text;
use crate::parquet_file::{create_with, data_file, properties};
use crate::threads::on_threads;

/// Rows of a file.
const ROWS: i32 = 200_000;

/// How many of them are deleted. The condition in [`LIVE`] says the same.
const DELETED: i32 = 50_000;

const LIVE: &str = "SELECT * FROM all_rows WHERE place >= 50000";
const ALL: &str = "SELECT * FROM all_rows";

const QUERIES: [Query; 3] = [
    Query::scan("full scan", "SELECT * FROM positions"),
    Query::few(
        "aggregate",
        "SELECT count(id), sum(id), sum(place), min(place) FROM positions",
    ),
    Query::count("SELECT count(*) FROM positions"),
];

/// So many files, a quarter of whose rows are deleted.
pub fn scenario(cache: &Path, files: i32, threads: usize) -> Result<Scenario> {
    if files < 1 {
        return Err("positions need at least one file".into());
    }
    let folder = cache.join(format!("positions-{files}x{ROWS}-{DELETED}"));
    let about = once(&folder, || write(&folder, files, threads))?;
    let side = |name, rows| Side {
        name,
        folder: folder.join(name),
        expected: Expected {
            files: vec![("all_rows", folder.join("data"))],
            rows,
        },
    };
    Ok(Scenario {
        title: format!("many deleted positions: {about}"),
        table: "positions",
        sides: vec![
            side("clean", ALL),
            side("dv", LIVE),
            side("pos-file", LIVE),
            side("pos-table", LIVE),
        ],
        queries: QUERIES.to_vec(),
        aim: None,
    })
}

fn write(folder: &Path, files: i32, threads: usize) -> Result<String> {
    let schema = Schema::new(
        0,
        vec![
            NestedField::required(1, "id", PrimitiveType::Long),
            NestedField::required(2, "place", PrimitiveType::Int),
        ],
        Vec::new(),
    )?;
    let arrow = Arc::new(schema_to_arrow(&schema));
    let by_file = folder.join("pos-file");
    let written = on_threads(threads, (0..files).collect(), |file| {
        let places = shuffled(ROWS, i64::from(file))?;
        let mut positions = DeletionVector::new();
        for (position, place) in (0..).zip(&places) {
            if *place < DELETED {
                positions.insert(position)?;
            }
        }
        let first = i64::from(file) * i64::from(ROWS);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(first..first + i64::from(ROWS))),
            Arc::new(Int32Array::from(places)),
        ];
        let path = folder.join(format!("data/{file:05}.parquet"));
        // All values of a file differ.
        let mut writer = create_with(&path, &arrow, properties().set_dictionary_enabled(false))?;
        writer.write(&RecordBatch::try_new(Arc::clone(&arrow), columns)?)?;
        writer.close()?;
        let deleted = Deleted {
            data_file: Arc::from(text(&path)?),
            positions,
        };
        let deletes = by_file.join(format!("data/deletes-{file:05}.parquet"));
        let deletes = position_deletes(&deletes, std::slice::from_ref(&deleted))?;
        Ok((data_file(&path, &schema, Vec::new())?, deleted, deletes))
    })?;
    let (mut data, mut deleted, mut deletes) = (Vec::new(), Vec::new(), Vec::new());
    for (a, b, c) in written {
        data.push(a);
        deleted.push(b);
        deletes.push(c);
    }
    write_table(2, &folder.join("clean"), &schema, &data, &[])?;
    write_table(2, &by_file, &schema, &data, &deletes)?;
    let dv = folder.join("dv");
    let vectors = deletion_vectors(&dv.join("data/deletes.puffin"), &deleted)?;
    write_table(3, &dv, &schema, &data, &vectors)?;
    let by_table = folder.join("pos-table");
    let path = by_table.join("data/deletes.parquet");
    let whole = [position_deletes(&path, &deleted)?];
    write_table(2, &by_table, &schema, &data, &whole)?;
    Ok(format!(
        "{files} files, {} rows, {} deleted",
        i64::from(files) * i64::from(ROWS),
        i64::from(files) * i64::from(DELETED)
    ))
}

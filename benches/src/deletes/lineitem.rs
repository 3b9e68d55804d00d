//! lineitem of TPC-H: rows deleted by position, and by equality.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{Int32Type, Int64Type};
use datafusion::parquet::arrow::ProjectionMask;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use drumlin_format::deletion_vector::DeletionVector;
use drumlin_format::manifest::DataFile;
use drumlin_format::schema::Schema;

use super::scenario::{Expected, Query, Scenario, Side, write_table};
use crate::Result;
use crate::cached::once;
use crate::chance::{Sample, scattered};
use crate::delete_files::{Deleted, deletion_vectors, equality_deletes, position_deletes};
use crate::iceberg_table::text;
use crate::parquet_file::{create, data_file, files_in};
use crate::tpch::Layout;
use crate::tpch::queries::QUERIES;
use crate::tpch::tables::LINEITEM;

/// One row of so many is deleted by position.
const ONE_OF: i64 = 100;

const QUERIES_OF_LINEITEM: [Query; 7] = [
    Query::scan("full scan", "SELECT * FROM lineitem"),
    Query::scan(
        "filtered scan",
        "SELECT * FROM lineitem WHERE l_shipdate >= DATE '1995-06-01' AND l_shipdate < DATE '1995-09-01'",
    ),
    // None of them is a key.
    Query::scan(
        "3 columns",
        "SELECT l_partkey, l_extendedprice, l_shipdate FROM lineitem",
    ),
    Query::few("Q1", QUERIES[0]),
    Query::few("Q6", QUERIES[5]),
    // The key makes the result the same for rows of the same price.
    Query::few(
        "TopK",
        "SELECT * FROM lineitem ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 10",
    ),
    Query::count("SELECT count(*) FROM lineitem"),
];

const ALL: &str = "all_rows";
const DELETED: &str = "deleted";
const ALL_ROWS: &str = "SELECT * FROM all_rows";
const WITHOUT_LINES: &str = "SELECT a.* FROM all_rows a LEFT ANTI JOIN deleted d \
     ON a.l_orderkey = d.l_orderkey AND a.l_linenumber = d.l_linenumber";
const WITHOUT_ORDERS: &str =
    "SELECT a.* FROM all_rows a LEFT ANTI JOIN deleted d ON a.l_orderkey = d.l_orderkey";

/// One percent of the rows deleted through deletion vectors and through position delete files.
pub fn positions(layout: &Layout, threads: usize) -> Result<Scenario> {
    layout.prepare_plain(&[LINEITEM], threads)?;
    let folder = layout.folder().join("position-deletes");
    let about = once(&folder, || write_positions(layout, &folder))?;
    let side = |name| Side {
        name,
        folder: folder.join(name),
        expected: without(layout, &folder.join("rows"), WITHOUT_LINES),
    };
    Ok(Scenario {
        title: format!("lineitem, 1 % of the rows deleted by position: {about}"),
        table: LINEITEM.name,
        sides: vec![
            clean(layout, &folder),
            side("dv"),
            side("pos-file"),
            side("pos-table"),
        ],
        queries: QUERIES_OF_LINEITEM.to_vec(),
        aim: Some(1.10),
    })
}

/// So many keys deleted through one equality delete file.
pub fn equality(layout: &Layout, threads: usize, keys: usize) -> Result<Scenario> {
    layout.prepare_plain(&[LINEITEM], threads)?;
    let folder = layout.folder().join(format!("equality-deletes-{keys}"));
    let about = once(&folder, || write_equality(layout, &folder, keys))?;
    Ok(Scenario {
        title: format!("lineitem, {keys} equality deletes in one file: {about}"),
        table: LINEITEM.name,
        sides: vec![
            clean(layout, &folder),
            Side {
                name: "1 column",
                folder: folder.join("by-order"),
                expected: without(layout, &folder.join("orders"), WITHOUT_ORDERS),
            },
            Side {
                name: "2 columns",
                folder: folder.join("by-line"),
                expected: without(layout, &folder.join("lines"), WITHOUT_LINES),
            },
        ],
        queries: QUERIES_OF_LINEITEM.to_vec(),
        aim: Some(1.25),
    })
}

fn clean(layout: &Layout, folder: &Path) -> Side {
    Side {
        name: "clean",
        folder: folder.join("clean"),
        expected: Expected {
            files: vec![(ALL, layout.plain(LINEITEM.name))],
            rows: ALL_ROWS,
        },
    }
}

fn without(layout: &Layout, deleted: &Path, rows: &'static str) -> Expected {
    Expected {
        files: vec![
            (ALL, layout.plain(LINEITEM.name)),
            (DELETED, deleted.to_path_buf()),
        ],
        rows,
    }
}

fn write_positions(layout: &Layout, folder: &Path) -> Result<String> {
    let files = files_in(&layout.plain(LINEITEM.name))?;
    let mut deleted = Vec::new();
    for file in &files {
        deleted.push(Deleted {
            data_file: Arc::from(text(file)?),
            positions: DeletionVector::new(),
        });
    }
    let (mut orders, mut lines) = (Vec::new(), Vec::new());
    let rows = each_row(&files, |row| {
        if scattered(row.number).rem_euclid(ONE_OF) == 0 {
            if let Some(one) = deleted.get_mut(row.file) {
                one.positions.insert(row.position)?;
            }
            orders.push(row.order);
            lines.push(row.line);
        }
        Ok(())
    })?;
    let about = format!("{} files, {rows} rows, {} deleted", files.len(), orders.len());
    write_keys(&folder.join("rows"), orders, lines)?;

    let schema = LINEITEM.schema()?;
    let data = data_files(&files, &schema)?;
    write_table(2, &folder.join("clean"), &schema, &data, &[])?;
    let dv = folder.join("dv");
    let vectors = deletion_vectors(&dv.join("data/deletes.puffin"), &deleted)?;
    write_table(3, &dv, &schema, &data, &vectors)?;
    let by_file = folder.join("pos-file");
    let mut deletes = Vec::new();
    for (one, number) in deleted.chunks(1).zip(1..) {
        let path = by_file.join(format!("data/deletes-{number:05}.parquet"));
        deletes.push(position_deletes(&path, one)?);
    }
    write_table(2, &by_file, &schema, &data, &deletes)?;
    let by_table = folder.join("pos-table");
    let deletes = [position_deletes(
        &by_table.join("data/deletes.parquet"),
        &deleted,
    )?];
    write_table(2, &by_table, &schema, &data, &deletes)?;
    Ok(about)
}

fn write_equality(layout: &Layout, folder: &Path, keys: usize) -> Result<String> {
    let files = files_in(&layout.plain(LINEITEM.name))?;
    let (mut orders, mut lines) = (Sample::new(keys), Sample::new(keys));
    let mut last = None;
    let rows = each_row(&files, |row| {
        // The lines of an order follow one another.
        if last != Some(row.order) {
            orders.offer(row.order, row.order);
            last = Some(row.order);
        }
        lines.offer(row.number, (row.order, row.line));
        Ok(())
    })?;
    let orders = orders.items();
    let (line_orders, line_numbers): (Vec<_>, Vec<_>) = lines.items().into_iter().unzip();
    let none = vec![0; orders.len()];
    write_keys(&folder.join("orders"), orders.clone(), none)?;
    write_keys(&folder.join("lines"), line_orders.clone(), line_numbers.clone())?;

    let schema = LINEITEM.schema()?;
    let id = |name: &str| {
        let field = schema.field_by_name(name);
        field
            .map(|f| f.id)
            .ok_or_else(|| format!("lineitem has no {name}"))
    };
    let (order, line) = (id("l_orderkey")?, id("l_linenumber")?);
    let data = data_files(&files, &schema)?;
    write_table(2, &folder.join("clean"), &schema, &data, &[])?;
    let by_order = folder.join("by-order");
    let path = by_order.join("data/deletes.parquet");
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(orders))];
    let deletes = [equality_deletes(&path, &schema, &[order], columns)?];
    write_table(2, &by_order, &schema, &data, &deletes)?;
    let by_line = folder.join("by-line");
    let path = by_line.join("data/deletes.parquet");
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(line_orders)),
        Arc::new(Int32Array::from(line_numbers)),
    ];
    let deletes = [equality_deletes(&path, &schema, &[order, line], columns)?];
    write_table(2, &by_line, &schema, &data, &deletes)?;
    Ok(format!("{} files, {rows} rows", files.len()))
}

fn data_files(files: &[PathBuf], schema: &Schema) -> Result<Vec<DataFile>> {
    files.iter().map(|f| data_file(f, schema, Vec::new())).collect()
}

/// Writes a Parquet file of primary keys.
fn write_keys(folder: &Path, orders: Vec<i64>, lines: Vec<i32>) -> Result<()> {
    let columns: [(&str, ArrayRef); 2] = [
        ("l_orderkey", Arc::new(Int64Array::from(orders))),
        ("l_linenumber", Arc::new(Int32Array::from(lines))),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    let mut writer = create(&folder.join("keys.parquet"), &batch.schema())?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

/// A row of lineitem.
struct Row {
    /// Its file, from 0, and its position there.
    file: usize,
    position: u64,
    /// Its place among all rows.
    number: i64,
    /// Its primary key.
    order: i64,
    line: i32,
}

/// Looks at the keys of all rows, in order; returns how many there are.
fn each_row(files: &[PathBuf], mut look: impl FnMut(Row) -> Result<()>) -> Result<i64> {
    let mut number = 0;
    for (file, path) in files.iter().enumerate() {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
        let mask = ProjectionMask::columns(builder.parquet_schema(), ["l_orderkey", "l_linenumber"]);
        let mut position = 0;
        for batch in builder.with_projection(mask).build()? {
            let batch = batch?;
            let orders = batch.column_by_name("l_orderkey");
            let orders = orders.and_then(|c| c.as_primitive_opt::<Int64Type>());
            let lines = batch.column_by_name("l_linenumber");
            let lines = lines.and_then(|c| c.as_primitive_opt::<Int32Type>());
            let (Some(orders), Some(lines)) = (orders, lines) else {
                return Err(format!("{} has no primary key of lineitem", path.display()).into());
            };
            for (order, line) in orders.values().iter().zip(lines.values()) {
                look(Row {
                    file,
                    position,
                    number,
                    order: *order,
                    line: *line,
                })?;
                position += 1;
                number += 1;
            }
        }
    }
    Ok(number)
}

//! The sqllogictest suite: every file under `cases/`, each in a session of its own.

use std::path::{Path, PathBuf};
use std::time::Instant;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Runner};

use crate::conformance::engine::{Engine, EngineError};
use crate::conformance::manifest::{Manifest, Scan, SuiteError};

/// How null is written in a file.
const NULL: &str = "NULL";
/// How the empty string is written in a file.
const EMPTY: &str = "(empty)";

/// A session as sqllogictest drives it.
struct Session {
    context: SessionContext,
}

#[async_trait]
impl AsyncDB for Session {
    type Error = EngineError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, EngineError> {
        let batches = Engine::sql(&self.context, sql).await?;
        let Some(first) = batches.first() else {
            return Ok(DBOutput::StatementComplete(0));
        };
        let schema = first.schema();
        let types = schema
            .fields()
            .iter()
            .map(|field| column_type(field.data_type()))
            .collect();
        let mut rows = Vec::new();
        for batch in &batches {
            rows.extend(texts(batch)?);
        }
        match schema.fields().is_empty() {
            true => Ok(DBOutput::StatementComplete(0)),
            false => Ok(DBOutput::Rows { types, rows }),
        }
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "drumlin"
    }

    async fn sleep(duration: std::time::Duration) {
        tokio::time::sleep(duration).await;
    }
}

fn column_type(of: &DataType) -> DefaultColumnType {
    match of {
        _ if of.is_integer() => DefaultColumnType::Integer,
        _ if of.is_floating() || of.is_decimal() => DefaultColumnType::FloatingPoint,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DefaultColumnType::Text,
        DataType::Dictionary(_, values) => column_type(values),
        _ => DefaultColumnType::Any,
    }
}

/// The rows of a batch as text. A value that spans lines becomes one line for each, as plans do.
fn texts(batch: &RecordBatch) -> Result<Vec<Vec<String>>, EngineError> {
    let options = FormatOptions::new().with_null(NULL);
    let columns: Result<Vec<_>, ArrowError> = batch
        .columns()
        .iter()
        .map(|column: &ArrayRef| ArrayFormatter::try_new(column, &options))
        .collect();
    let columns = columns.map_err(datafusion::error::DataFusionError::from)?;
    let cell = |column: &ArrayFormatter<'_>, row: usize| match column.value(row).to_string() {
        text if text.is_empty() => EMPTY.to_owned(),
        text => text,
    };
    let row = |row| columns.iter().map(|column| cell(column, row)).collect::<Vec<_>>();
    let rows = (0..batch.num_rows()).map(row);
    Ok(rows.flat_map(lines).collect())
}

/// The last value of a row split into lines, each a row of its own; only the first has the other values.
fn lines(mut row: Vec<String>) -> Vec<Vec<String>> {
    let last = match row.pop() {
        Some(last) if last.contains('\n') => last,
        last => {
            row.extend(last);
            return vec![row];
        }
    };
    let mut split = last.lines().map(str::to_owned);
    row.extend(split.next());
    std::iter::once(row).chain(split.map(|line| vec![line])).collect()
}

/// Names under which the files find the tables of the conformance suite: `table_<name>` is the URI of the newest
/// metadata file, `location_<name>` that of the table, `<table>_<case>` what an earlier state is scanned by.
fn variables(manifest: &Manifest) -> Vec<(String, String)> {
    let mut variables = vec![("warehouse".to_owned(), manifest.root.display().to_string())];
    for table in &manifest.tables {
        let name = &table.name;
        variables.push((
            format!("table_{name}"),
            format!("s3://conformance/{}", table.metadata),
        ));
        variables.push((format!("location_{name}"), format!("s3://conformance/{name}")));
    }
    for case in &manifest.cases {
        let value = match &case.scan {
            Scan::Snapshot(id) => id.to_string(),
            Scan::Timestamp(milliseconds) => milliseconds.to_string(),
            Scan::Tag(name) | Scan::Branch(name) => name.clone(),
            _ => continue,
        };
        variables.push((format!("{}_{}", case.table, case.case), value));
    }
    variables
}

/// Runs the files whose path contains one of `names` (all if there is none); prints a line each and the total, which
/// is the last line. Returns how many passed and how many failed.
pub async fn run(names: &[String]) -> Result<(usize, usize), SuiteError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let manifest = Manifest::shipped()?;
    let engine = Engine::new(&manifest).map_err(|error| SuiteError::Malformed {
        path: manifest.bucket(),
        reason: error.to_string(),
    })?;
    let variables = variables(&manifest);
    let mut files = Vec::new();
    find(&root, &mut files)?;
    files.sort();
    let (mut passed, mut failed) = (0, 0);
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        if !names.is_empty() && !names.iter().any(|part| name.contains(part)) {
            continue;
        }
        let start = Instant::now();
        match run_file(&engine, &file, &variables).await {
            Ok(()) => {
                passed += 1;
                println!("ok {name} ({:.1} s)", start.elapsed().as_secs_f64());
            }
            Err(why) => {
                failed += 1;
                println!("FAILED {name}: {why}");
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok((passed, failed))
}

async fn run_file(engine: &Engine, file: &Path, variables: &[(String, String)]) -> Result<(), String> {
    // The catalog `lake` is empty at the start of each file, and is written to.
    let lake = tempfile::tempdir().map_err(|error| error.to_string())?;
    let lake = lake.path();
    let mut runner = Runner::new(|| async {
        Ok(Session {
            context: engine.session_with(lake)?,
        })
    });
    runner.with_column_validator(sqllogictest::strict_column_validator);
    for (name, value) in variables {
        runner.set_var(name.clone(), value.clone());
    }
    let outcome = runner.run_file_async(file).await;
    runner.shutdown_async().await;
    outcome.map_err(|error| error.display(false).to_string())
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), SuiteError> {
    let unreadable = |source| SuiteError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            files.push(path);
        }
    }
    Ok(())
}

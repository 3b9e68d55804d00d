//! The sqllogictest suite: every file under `cases/`, each in a session of its own.
//!
//! A file may ask in its first line to run once for each variant of a table (`variants`), and may ask the runner for
//! what SQL cannot say (`lake`).

mod lake;
mod session;
mod variants;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use sqllogictest::Runner;
use tokio::runtime::Handle;

use self::lake::Lake;
use self::session::Session;
use self::variants::Variant;
use crate::conformance::engine::Engine;
use crate::conformance::manifest::{Manifest, Scan, SuiteError};

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

/// Runs the files of whose names one contains one of `names` (all if there is none); prints a line each and the total,
/// which is the last line. Returns how many passed and how many failed.
///
/// The name of a file is its path below `cases/`; if it runs for variants, each run has a name of its own, such as
/// `row_changes/delete.slt [v2 copy-on-write, evolved]`.
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
    let mut jobs = Vec::new();
    for file in files {
        let path = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        for variant in runs(&file)? {
            let (name, variables) = match &variant {
                None => (path.clone(), variables.clone()),
                Some(variant) => (
                    format!("{path} [{}]", variant.name()),
                    variables.iter().cloned().chain(variant.variables()).collect(),
                ),
            };
            if names.is_empty() || names.iter().any(|part| name.contains(part)) {
                jobs.push(Job {
                    name,
                    file: file.clone(),
                    variables,
                    evolves: variant.is_some_and(|variant| variant.evolves()),
                });
            }
        }
    }
    // Each in turn takes the next one. The threads are those of the machine, beside the runtime's.
    let (next, passed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let runtime = Handle::current();
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            match runtime.block_on(run_file(&engine, &job.file, &job.variables, job.evolves)) {
                Ok(()) => {
                    passed.fetch_add(1, Ordering::Relaxed);
                    println!("ok {} ({:.1} s)", job.name, start.elapsed().as_secs_f64());
                }
                Err(why) => println!("FAILED {}: {why}", job.name),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let passed = passed.into_inner();
    let failed = jobs.len() - passed;
    println!("{passed} passed, {failed} failed");
    Ok((passed, failed))
}

/// A run of a file.
struct Job {
    name: String,
    file: PathBuf,
    variables: Vec<(String, String)>,
    evolves: bool,
}

/// The runs of a file: one without a variant, or its variants.
fn runs(file: &Path) -> Result<Vec<Option<Variant>>, SuiteError> {
    let text = std::fs::read_to_string(file).map_err(|source| SuiteError::Unreadable {
        path: file.to_owned(),
        source,
    })?;
    let variants = Variant::of(&text).map_err(|reason| SuiteError::Malformed {
        path: file.to_owned(),
        reason,
    })?;
    Ok(match variants.is_empty() {
        true => vec![None],
        false => variants.into_iter().map(Some).collect(),
    })
}

async fn run_file(
    engine: &Engine,
    file: &Path,
    variables: &[(String, String)],
    evolves: bool,
) -> Result<(), String> {
    // The catalog `lake` is empty at the start of each run, and is written to.
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let folder = folder.path();
    let mut runner = Runner::new(|| async {
        let lake = Lake::new(engine.storage().clone(), folder, evolves);
        Ok(Session {
            context: engine.session_with(lake.catalog())?,
            lake,
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

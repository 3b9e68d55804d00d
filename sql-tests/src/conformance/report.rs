//! All cases and checks run, one line each, and a total.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;

use super::engine::Engine;
use super::manifest::{Case, Manifest, Plan, SuiteError};
use super::pending::{self, Pending};
use super::{case, plan};

/// How many cases run at once; some wait for files while others compute.
const CONCURRENT: usize = 4;
/// A case that takes this long hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// What to run and how.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only what contains one of these; everything if there is none.
    pub names: Vec<String>,
    /// Write the pending list from what fails instead of judging against it.
    pub write_pending: bool,
}

impl Selection {
    /// From the arguments of the test target. Options that `cargo test` users pass to the standard harness mean
    /// nothing here and are ignored.
    pub fn from_arguments(arguments: impl IntoIterator<Item = String>) -> Self {
        let mut selection = Self::default();
        for argument in arguments {
            match argument.as_str() {
                "--write-pending" => selection.write_pending = true,
                option if option.starts_with('-') => {}
                _ => selection.names.push(argument),
            }
        }
        selection
    }

    fn takes(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|part| name.contains(part))
    }
}

/// A case or a pruning check.
#[derive(Debug, Clone)]
enum Item {
    Case(Case),
    Plan(Plan),
}

impl Item {
    fn name(&self) -> String {
        match self {
            Self::Case(case) => case.name(),
            Self::Plan(plan) => plan.name(),
        }
    }

    async fn check(&self, engine: &Engine, root: &Path) -> Result<(), String> {
        match self {
            Self::Case(case) => case::check(engine, case, root).await,
            Self::Plan(plan) => plan::check(engine, plan).await,
        }
    }

    /// Why it should be listed as pending, if it fails with `why`.
    fn reason(&self, manifest: &Manifest, why: &str) -> String {
        match self {
            Self::Case(case) => pending::case_reason(case, why),
            Self::Plan(plan) => {
                let case = manifest.case(&plan.table, &format!("where_{}", plan.plan));
                pending::plan_reason(plan, case.map_or(&[], |case| &case.features), why)
            }
        }
    }
}

/// How many cases and checks ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Right answers.
    pub passed: usize,
    /// Wrong answers, and right ones that are still listed as pending.
    pub failed: usize,
    /// Wrong answers that are listed as pending.
    pub skipped: usize,
}

/// Runs what is selected and prints a line each and the total, which is the last line.
pub async fn run(manifest: Manifest, selection: &Selection) -> Result<Totals, SuiteError> {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(pending::FILE);
    let pending = Pending::read(&list)?;
    let start = Instant::now();
    let engine = Engine::new(&manifest).map_err(|error| SuiteError::Malformed {
        path: manifest.bucket(),
        reason: error.to_string(),
    })?;
    let engine = Arc::new(engine);
    let root = Arc::new(manifest.root.clone());
    let cases = manifest.cases.iter().cloned().map(Item::Case);
    let plans = manifest.plans.iter().cloned().map(Item::Plan);
    let all: Vec<_> = cases.chain(plans).collect();
    let known: BTreeSet<_> = all.iter().map(Item::name).collect();
    let selected = all.into_iter().filter(|item| selection.takes(&item.name()));
    let mut outcomes = futures::stream::iter(selected)
        .map(|item| judged(item, engine.clone(), root.clone()))
        .buffered(CONCURRENT);

    let mut totals = Totals::default();
    let mut failures = Vec::new();
    while let Some((item, outcome)) = outcomes.next().await {
        let name = item.name();
        match (outcome, pending.reason(&name)) {
            (Ok(()), None) => {
                totals.passed += 1;
                println!("ok {name}");
            }
            (Ok(()), Some(_)) if selection.write_pending => {
                totals.passed += 1;
                println!("ok {name}: no longer pending");
            }
            (Ok(()), Some(_)) => {
                totals.failed += 1;
                println!("FAILED {name}: now passes: remove it from {}", pending::FILE);
            }
            (Err(_), Some(reason)) => {
                totals.skipped += 1;
                println!("pending {name}: {reason}");
                failures.push((name, reason.to_owned()));
            }
            (Err(why), None) => {
                totals.failed += 1;
                println!("FAILED {name}: {why}");
                let reason = item.reason(&manifest, &why);
                failures.push((name, reason));
            }
        }
    }
    for name in pending.names().filter(|name| !known.contains(*name)) {
        totals.failed += 1;
        println!(
            "FAILED {name}: listed in {} but there is no such case",
            pending::FILE
        );
    }
    if selection.write_pending {
        write_pending(&list, &pending, selection, failures)?;
    }
    println!("in {:.1} s", start.elapsed().as_secs_f64());
    println!(
        "{} passed, {} failed, {} skipped",
        totals.passed, totals.failed, totals.skipped
    );
    Ok(totals)
}

/// Checks an item in a task of its own, so that a panic or an endless case is a failure of that case only.
async fn judged(item: Item, engine: Arc<Engine>, root: Arc<PathBuf>) -> (Item, Result<(), String>) {
    let task = {
        let item = item.clone();
        tokio::spawn(async move { tokio::time::timeout(LIMIT, item.check(&engine, &root)).await })
    };
    let outcome = match task.await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(format!("no answer within {} s", LIMIT.as_secs())),
        Err(error) => Err(format!("panicked: {error}")),
    };
    (item, outcome)
}

/// Writes the list: what failed now, and of what did not run the entries it had.
fn write_pending(
    path: &Path,
    before: &Pending,
    selection: &Selection,
    failures: Vec<(String, String)>,
) -> Result<(), SuiteError> {
    let untouched = before.names().filter(|name| !selection.takes(name));
    let untouched = untouched.filter_map(|name| Some((name.to_owned(), before.reason(name)?.to_owned())));
    let list = Pending::from_entries(untouched.chain(failures));
    std::fs::write(path, list.to_text()).map_err(|source| SuiteError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

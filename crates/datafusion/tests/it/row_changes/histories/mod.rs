//! Statements that change rows are right: the same random statements, on tables of every version and mode, leave the rows
//! that a model of them leaves.
//!
//! A history (`history`) is a list of random statements (`statements`, of the conditions of `conditions`), which are SQL and
//! at the same time (`statement`, `expression`, `value`) functions of the rows of a model, by SQL's logic of three values.
//! In between, columns, partitions, modes and versions change (`evolution`). After each statement the count that it answers,
//! the rows of all tables (`subject`), row ids and sequence numbers of version 3, now and then the rows of an older snapshot,
//! and what the manifests say (`metadata`) are held against the model. `seen` counts what happened, so that nothing is left
//! untested. All follows from the seed of a history, which a failure tells. From the environment:
//!
//! - `DRUMLIN_ROW_CHANGES`: how many histories, 12 by default
//! - `DRUMLIN_ROW_CHANGE_STEPS`: how many statements and changes each has, 14 by default
//! - `DRUMLIN_ROW_CHANGES_SEED`: the seed of the first history, 0 by default
//! - `DRUMLIN_HISTORIES_OUT`: a folder, to which `histories_are_written_for_other_engines` writes (`written`)
//!
//! One history is repeated by `DRUMLIN_ROW_CHANGES_SEED=<seed> DRUMLIN_ROW_CHANGES=1`.

mod conditions;
mod evolution;
mod expression;
mod history;
mod metadata;
mod seen;
mod statement;
mod statements;
mod subject;
mod tests;
mod value;
mod written;

use std::path::PathBuf;

use futures::StreamExt;
use history::History;
use seen::Seen;
use written::Kept;

use crate::random::Random;

/// Failures that are told in full.
const SHOWN: usize = 5;

fn from_environment(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}

fn steps() -> usize {
    usize::try_from(from_environment("DRUMLIN_ROW_CHANGE_STEPS", 14)).unwrap()
}

/// What a history has seen, and how it went wrong.
async fn check_history(seed: u64, steps: usize) -> (Seen, Option<String>) {
    let mut history = History::new(Random::new(seed), None).await;
    let failure = history.run(steps, None).await.err();
    let failure = failure.map(|failure| format!("history {seed}: {failure}{}", history.log));
    (history.seen, failure)
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_do_what_the_model_does() {
    let first = from_environment("DRUMLIN_ROW_CHANGES_SEED", 0);
    let histories = from_environment("DRUMLIN_ROW_CHANGES", 12);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut outcomes = futures::stream::iter(first..first + histories)
        .map(|seed| async move {
            let outcome = tokio::spawn(check_history(seed, steps())).await;
            outcome.unwrap_or_else(|e| (Seen::default(), Some(format!("history {seed}: {e}"))))
        })
        .buffer_unordered(threads);
    let mut seen = Seen::default();
    let mut failures = Vec::new();
    while let Some((of_one, failure)) = outcomes.next().await {
        seen.merge(of_one);
        failures.extend(failure);
    }
    println!("{histories} histories; {seen:?}");
    let count = failures.len();
    // The shortest histories are the plainest.
    failures.sort_by_key(String::len);
    failures.truncate(SHOWN);
    assert!(
        failures.is_empty(),
        "{count} differences:\n\n{}",
        failures.join("\n\n")
    );
    if histories >= 100 {
        seen.assert_complete();
    }
}

/// Writes the tables of a few histories to a folder, with what other engines must read of them: `scripts/interop`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "it is for other engines"]
async fn histories_are_written_for_other_engines() {
    let folder = std::env::var("DRUMLIN_HISTORIES_OUT").expect("DRUMLIN_HISTORIES_OUT names a folder");
    let folder = PathBuf::from(folder);
    let first = from_environment("DRUMLIN_ROW_CHANGES_SEED", 0);
    for seed in first..first + from_environment("DRUMLIN_ROW_CHANGES", 3) {
        let warehouse = folder.join(format!("history_{seed}"));
        std::fs::create_dir_all(&warehouse).unwrap();
        let mut history = History::new(Random::new(seed), warehouse.to_str()).await;
        let mut kept = Kept::default();
        if let Err(failure) = history.run(steps(), Some(&mut kept)).await {
            panic!("history {seed}: {failure}{}", history.log);
        }
        assert!(kept.len() > 0);
        kept.write(&warehouse);
    }
}

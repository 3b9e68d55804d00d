//! Deletes are right: whatever was deleted in whatever way, a query answers as on the rows that are left.
//!
//! Random histories (`history`, whose deletes `deletion` makes, and whose columns and partitions change as `evolution`
//! says) go into an Iceberg table and into a model (`model`) that holds each row against each delete. The table, at
//! its last snapshot and at an older one, is asked random queries (`query`) with random settings (`reader`). `seen`
//! counts what happened, so that nothing is left untested. All follows from the seed of a history, which a failure
//! tells. From the environment:
//!
//! - `DRUMLIN_HISTORIES`: how many histories, 2,000 by default
//! - `DRUMLIN_HISTORY_QUERIES`: how many queries on the last snapshot of each, 1 by default; an older one
//!   is asked in half of them
//! - `DRUMLIN_HISTORY_SEED`: the seed of the first history, 0 by default
//!
//! One history is repeated, with all that happened in it, by `DRUMLIN_HISTORY_SEED=<seed> DRUMLIN_HISTORIES=1`.

mod claimed_pool;
mod deletion;
mod evolution;
mod history;
mod model;
mod query;
mod reader;
mod seen;

use std::sync::Arc;
use std::time::Duration;

use drumlin_table::TableVersion;
use futures::StreamExt;
use history::History;
use model::State;
use query::Columns;
use reader::{Expected, Reader};
use seen::Seen;

use crate::random::Random;

/// Failures that are told in full.
const SHOWN: usize = 5;

/// How long a query may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What came of histories.
#[derive(Debug, Default)]
struct Outcome {
    compared: usize,
    /// Queries whose answer had rows.
    with_rows: usize,
    seen: Seen,
    failures: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn deletes_take_away_what_they_should() {
    let from_environment = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    };
    let first = from_environment("DRUMLIN_HISTORY_SEED", 0);
    let histories = from_environment("DRUMLIN_HISTORIES", 2000);
    let queries = from_environment("DRUMLIN_HISTORY_QUERIES", 1);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut outcomes = futures::stream::iter(first..first + histories)
        .map(|seed| async move {
            let outcome = tokio::spawn(check_history(seed, queries)).await;
            outcome.unwrap_or_else(|e| Outcome {
                failures: vec![format!("history {seed}: {e}")],
                ..Outcome::default()
            })
        })
        .buffer_unordered(threads);
    let mut all = Outcome::default();
    while let Some(outcome) = outcomes.next().await {
        all.compared += outcome.compared;
        all.with_rows += outcome.with_rows;
        all.seen.merge(outcome.seen);
        all.failures.extend(outcome.failures);
    }
    println!(
        "{} queries on {histories} histories compared; {:?}",
        all.compared, all.seen
    );
    let count = all.failures.len();
    // The shortest histories are the plainest.
    all.failures.sort_by_key(String::len);
    all.failures.truncate(SHOWN);
    assert!(
        all.failures.is_empty(),
        "{count} differences:\n\n{}",
        all.failures.join("\n\n")
    );
    assert!(all.with_rows * 2 > all.compared, "too many answers are empty");
    if histories >= 500 {
        all.seen.assert_complete();
    }
}

async fn check_history(seed: u64, queries: u64) -> Outcome {
    let mut random = Random::new(seed);
    let history = History::random(&mut random).await;
    let mut outcome = Outcome {
        seen: history.seen.clone(),
        ..Outcome::default()
    };
    let newest = history.writer.open().await;
    // Changes of the schema after the last commit are seen too.
    let state = State {
        schema: Arc::clone(newest.schema()),
        ..history.state().clone()
    };
    let older = random.pick(&history.states);
    let version = TableVersion::Snapshot(older.snapshot_id);
    let pinned = newest.at_version(&version).unwrap();
    let of_older = if random.percent(50) {
        queries.div_ceil(3)
    } else {
        0
    };
    for (table, state, queries) in [(&newest, &state, queries), (&pinned, older, of_older)] {
        outcome.seen.add_state(state);
        let lineage = table.metadata().format_version() >= 3;
        let columns = Columns::of(&state.schema, lineage);
        let expected = Expected::new(state);
        for number in 0..queries {
            let query = columns.query(&mut random);
            let wanted = expected.answer(&query).await;
            outcome.compared += 1;
            outcome.with_rows += usize::from(!wanted.is_empty());
            let mut reader = Reader::random(table, query.names_metadata, &mut random);
            let answer = tokio::time::timeout(LIMIT, reader.check(&query, &wanted)).await;
            let answer = answer.unwrap_or_else(|_| Err("no answer".to_string()));
            if let Err(difference) = answer {
                outcome.failures.push(format!(
                    "history {seed}, snapshot {}, query {number}: {}\n  {difference}\n  with {}\n{}\n{}",
                    state.snapshot_id,
                    query.sql,
                    reader.settings,
                    reader.plan(&query).await,
                    history.log
                ));
            }
        }
    }
    outcome
}

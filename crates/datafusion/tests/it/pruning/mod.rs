//! Pruning is sound: whatever a query asks, the Iceberg table answers as the same rows in memory do.
//!
//! Random tables (`table`, whose columns and partitions change as `schema` says, with the values of `value`) are asked
//! random queries (`query`) with random conditions (`predicate`). All follows from the seed of a table, which a failure
//! tells together with the smallest part of the condition that still fails. From the environment:
//!
//! - `DRUMLIN_PRUNING_TABLES`: how many tables, 60 by default
//! - `DRUMLIN_PRUNING_QUERIES`: how many queries a table, 40 by default
//! - `DRUMLIN_PRUNING_SEED`: the seed of the first table, 0 by default

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod predicate;
mod query;
mod schema;
mod table;
mod value;

use crate::random::Random;
use futures::StreamExt;
use predicate::{Condition, columns};
use query::{Expected, Pruned, Reader, Shape, difference};
use table::{Generated, generate};

/// What came of one table.
#[derive(Debug, Default)]
struct Outcome {
    compared: usize,
    /// Queries that fail on the rows in memory too: a literal or a cast that makes no sense.
    refused: usize,
    pruned: Pruned,
    failures: Vec<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn pruning_never_changes_an_answer() {
    let from_environment = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    };
    let first = from_environment("DRUMLIN_PRUNING_SEED", 0);
    let tables = from_environment("DRUMLIN_PRUNING_TABLES", 60);
    let queries = from_environment("DRUMLIN_PRUNING_QUERIES", 40);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut outcomes = futures::stream::iter(first..first + tables)
        .map(|seed| async move {
            let outcome = tokio::spawn(check_table(seed, queries)).await;
            outcome.unwrap_or_else(|e| Outcome {
                failures: vec![format!("table {seed}: {e}")],
                ..Outcome::default()
            })
        })
        .buffer_unordered(threads);
    let mut all = Outcome::default();
    while let Some(outcome) = outcomes.next().await {
        all.compared += outcome.compared;
        all.refused += outcome.refused;
        all.pruned.merge(outcome.pruned);
        all.failures.extend(outcome.failures);
    }
    println!(
        "{} queries on {tables} tables compared, {} refused; {:?}",
        all.compared, all.refused, all.pruned
    );
    let failures = all.failures.len();
    assert!(
        all.failures.is_empty(),
        "{failures} differences:\n\n{}",
        all.failures.join("\n\n")
    );
    assert!(all.refused * 4 < all.compared, "too many queries make no sense");
    if tables >= 20 {
        let pruned = all.pruned;
        assert!(pruned.by_partition * 50 > pruned.files, "{pruned:?}");
        assert!(pruned.by_bounds * 10 > pruned.files, "{pruned:?}");
        assert!(
            pruned.row_groups_by_statistics * 30 > pruned.row_groups,
            "{pruned:?}"
        );
    }
}

async fn check_table(seed: u64, queries: u64) -> Outcome {
    let mut random = Random::new(seed);
    let table = generate(&mut random).await;
    let mut columns = columns(&table.schema);
    // Those that partitions are made from are asked for more often.
    for spec in table.table.metadata().partition_specs() {
        for id in spec.fields().iter().flat_map(|f| &f.source_ids) {
            let source = columns.iter().find(|c| c.id == *id).cloned();
            columns.extend(source);
        }
    }
    let expected = Expected::new(&table);
    let readers: Vec<_> = (0..3).map(|_| Reader::random(&table, &mut random)).collect();
    let mut outcome = Outcome::default();
    let everything = Condition::Leaf("true".to_string());
    for number in 0..queries {
        let reader = random.pick(&readers);
        let (shape, condition) = if number == 0 {
            (Shape::everything(), everything.clone())
        } else if number < 4 {
            // What statistics alone may answer.
            (Shape::random(&columns, &mut random), everything.clone())
        } else {
            let depth = random.below(4);
            let shape = Shape::random(&columns, &mut random);
            (shape, Condition::random(&columns, depth, &mut random))
        };
        let sql = shape.sql(&condition);
        let Ok(wanted) = expected.answer(&sql).await else {
            outcome.refused += 1;
            continue;
        };
        outcome.compared += 1;
        let found = reader.answer(&sql, &mut outcome.pruned).await;
        // Conditions change their order when they are pushed down, so that a cast meets rows that another one takes
        // away; it fails on plain Parquet files alike.
        if found.as_ref().is_err_and(|e| e.contains("CastError"))
            && !differs(&expected, &Reader::of_files_only(&table), &sql).await
        {
            outcome.refused += 1;
        } else if found.as_ref() != Ok(&wanted) {
            let (shape, condition) = smallest(&expected, reader, shape, condition).await;
            let report = report(&table, &expected, reader, &shape.sql(&condition)).await;
            outcome
                .failures
                .push(format!("table {seed}, query {number}: {report}"));
        }
    }
    outcome
}

/// Whether the answers differ.
async fn differs(expected: &Expected, reader: &Reader, sql: &str) -> bool {
    match expected.answer(sql).await {
        Ok(wanted) => reader.answer(sql, &mut Pruned::default()).await != Ok(wanted),
        Err(_) => false,
    }
}

/// The smallest part of the condition that fails, alone if it can.
async fn smallest(
    expected: &Expected,
    reader: &Reader,
    mut shape: Shape,
    mut condition: Condition,
) -> (Shape, Condition) {
    if differs(expected, reader, &Shape::plain().sql(&condition)).await {
        shape = Shape::plain();
    }
    'smaller: loop {
        for part in condition.parts() {
            if differs(expected, reader, &shape.sql(part)).await {
                condition = part.clone();
                continue 'smaller;
            }
        }
        return (shape, condition);
    }
}

async fn report(table: &Generated, expected: &Expected, reader: &Reader, sql: &str) -> String {
    let wanted = expected.answer(sql).await.unwrap();
    let found = match reader.answer(sql, &mut Pruned::default()).await {
        Ok(found) => difference(&wanted, &found),
        Err(e) => format!("error: {e}"),
    };
    let files_only = Reader::of_files_only(table);
    let layer = if differs(expected, &files_only, sql).await {
        "the same without pruning inside of files"
    } else {
        "right without pruning inside of files"
    };
    format!(
        "{sql}\n  {found}\n  {layer}\n  with {}\n  columns {}\n  {}",
        reader.settings,
        table
            .schema
            .fields()
            .iter()
            .map(|f| format!("{} {}: {}", f.id, f.name, f.field_type))
            .collect::<Vec<_>>()
            .join(", "),
        reader.scans(sql).await
    )
}

//! A case asked, and its answer judged.

use std::path::Path;

use datafusion::arrow::array::RecordBatch;

use super::canonical;
use super::engine::{Engine, EngineError};
use super::manifest::{Case, Expect, SuiteError};

/// How many rows of a difference are shown on each side.
const SHOWN_ROWS: usize = 3;
/// How many characters of a row are shown.
const SHOWN_CHARACTERS: usize = 300;

/// Asks a case; the error says why the answer is wrong.
pub async fn check(engine: &Engine, case: &Case, root: &Path) -> Result<(), String> {
    let read = || Ok::<_, SuiteError>((case.query(root)?, case.answer_lines(root)?));
    let (sql, expected) = read().map_err(|error| error.to_string())?;
    judge(case, engine.run(case, &sql).await, expected.clone())?;
    let plain = engine.run_plain(case, &sql).await;
    judge(case, plain, expected).map_err(|reason| format!("without the session extension: {reason}"))
}

fn judge(
    case: &Case,
    answer: Result<Vec<RecordBatch>, EngineError>,
    expected: Vec<String>,
) -> Result<(), String> {
    match (case.expect, answer) {
        (_, Err(error @ EngineError::Missing(_))) => Err(error.to_string()),
        (Expect::Error, Err(_)) => Ok(()),
        (Expect::Error, Ok(batches)) => {
            let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
            Err(format!("answers {rows} rows where it must fail"))
        }
        (Expect::Rows, Err(error)) => Err(error.to_string()),
        (Expect::Rows, Ok(batches)) => {
            let rows = canonical::rows(&batches, &case.columns).map_err(|error| error.to_string())?;
            match difference(expected, rows) {
                None => Ok(()),
                Some(difference) => Err(difference),
            }
        }
    }
}

/// How two multisets of rows differ, if they do.
pub fn difference(mut expected: Vec<String>, mut found: Vec<String>) -> Option<String> {
    let counts = format!("{} rows, expected {}", found.len(), expected.len());
    expected.sort_unstable();
    found.sort_unstable();
    let (mut missing, mut surplus) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (expected.into_iter().peekable(), found.into_iter().peekable());
    loop {
        match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(l), Some(r)) if l == r => {
                left.next();
                right.next();
            }
            (Some(l), Some(r)) if l < r => missing.extend(left.next()),
            (Some(_), None) => missing.extend(left.next()),
            (_, Some(_)) => surplus.extend(right.next()),
        }
    }
    if missing.is_empty() && surplus.is_empty() {
        return None;
    }
    let mut text = format!(
        "{counts}; {} missing, {} unexpected",
        missing.len(),
        surplus.len()
    );
    for (sign, rows) in [('-', missing), ('+', surplus)] {
        for row in rows.iter().take(SHOWN_ROWS) {
            let shown: String = row.chars().take(SHOWN_CHARACTERS).collect();
            let more = if shown.len() < row.len() { "…" } else { "" };
            text.push_str(&format!("\n    {sign} {shown}{more}"));
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[&str]) -> Vec<String> {
        of.iter().map(|row| (*row).to_owned()).collect()
    }

    #[test]
    fn order_does_not_matter_but_multiplicity_does() {
        assert_eq!(difference(rows(&["[1]", "[2]"]), rows(&["[2]", "[1]"])), None);
        assert_eq!(
            difference(rows(&["[1]", "[1]", "[2]"]), rows(&["[1]", "[3]"])).as_deref(),
            Some("2 rows, expected 3; 2 missing, 1 unexpected\n    - [1]\n    - [2]\n    + [3]")
        );
    }
}

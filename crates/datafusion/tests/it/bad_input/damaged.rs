//! Random damage to each kind of file.

use std::sync::Arc;

use drumlin_format::metadata::TableMetadata;

use super::damage::{Answer, Case, Damage, Outcome, damages, read_all};
use super::subject::{File, Question, Subject};
use crate::session::message;

/// How many changes and cuts of a file are tried.
struct Effort {
    changes: usize,
    cuts: usize,
}

async fn cases(file_of: fn(&Subject) -> &File, effort: Effort) -> Vec<Case> {
    let mut cases = Vec::new();
    for subject in Subject::all().await {
        let file = file_of(&subject).clone();
        let all = damages(&file, &subject, effort.changes, effort.cuts);
        cases.extend(all.into_iter().enumerate().map(|(n, damage)| Case {
            subject: Arc::clone(&subject),
            file: file.clone(),
            question: if n % 4 == 3 {
                Question::Filtered
            } else {
                Question::All
            },
            damage,
        }));
    }
    cases
}

fn prepared(file_of: fn(&Subject) -> &File, effort: Effort) -> Vec<Case> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(cases(file_of, effort))
}

/// The Parquet reader panics on some damaged pages, indexes and footers. The scan makes errors of that, as it must:
/// the panics are seen here all the same.
fn may_panic(case: &Case, panic: &str) -> bool {
    let of = |package: &str| panic.contains(&format!("/{package}-"));
    case.file.location == case.subject.data.location && (of("parquet") || of("arrow-buffer") || of("bytes"))
}

/// What must hold whatever was damaged. `must_fail`: a reader has to notice.
fn check(results: &[(Case, Outcome)], must_fail: impl Fn(&Case) -> bool) {
    let mut faults = Vec::new();
    let (mut right, mut other, mut errors, mut panics) = (0, 0, 0, 0);
    for (case, outcome) in results {
        let mut fault = |what: String| {
            let shown = match &case.damage {
                Damage::Foreign(name, _) => format!("replaced by {name}"),
                damage => format!("{damage:?}"),
            };
            faults.push(format!(
                "{} {shown}, {:?}: {what}",
                case.file.location, case.question
            ));
        };
        for panic in outcome.panics.iter().filter(|panic| !may_panic(case, panic)) {
            fault(format!("panicked: {panic}"));
        }
        match &outcome.answer {
            Answer::Panic => fault("the panic went through".into()),
            Answer::Rows(rows) => {
                if must_fail(case) {
                    fault(format!("gave {} rows", rows.len()));
                }
                let is_right = case.question == Question::All && *rows == case.subject.rows;
                right += usize::from(is_right);
                other += usize::from(!is_right);
            }
            Answer::Error(error) => {
                errors += 1;
                panics += usize::from(!outcome.panics.is_empty());
                let text = message(error);
                // A changed path leads to another file; what is plainly damaged is named itself.
                let named = if must_fail(case) {
                    case.file.name()
                } else {
                    case.subject.name
                };
                if !text.contains(named) {
                    fault(format!("the error names no file: {text}"));
                }
            }
        }
    }
    println!(
        "{} damaged files: {errors} errors ({panics} of panics), {right} times the right rows, {other} times others or a part",
        results.len()
    );
    let count = faults.len();
    faults.sort_by_key(|fault| (!fault.contains("panicked"), fault.len()));
    faults.truncate(20);
    assert!(faults.is_empty(), "{count} faults:\n{}", faults.join("\n"));
}

#[test]
fn metadata_files() {
    let effort = Effort {
        changes: 500,
        cuts: 60,
    };
    let results = read_all("metadata", prepared(|s| &s.metadata, effort));
    check(&results, |case| {
        let bytes = case.damage.apply(&case.file.bytes);
        case.damage.is_plain() || serde_json::from_slice::<serde_json::Value>(&bytes).is_err()
    });
    for (case, outcome) in &results {
        let read = |bytes: &[u8]| TableMetadata::from_bytes(bytes).ok();
        let changed = read(&case.damage.apply(&case.file.bytes));
        let same = changed.is_some() && changed == read(&case.file.bytes);
        if let (true, Question::All, Answer::Rows(rows)) = (same, case.question, &outcome.answer) {
            assert_eq!(rows, &case.subject.rows, "{:?}", case.damage);
        }
    }
}

/// Whether a change of an Avro file hits what cannot be mistaken: the magic or a sync marker.
fn hits_avro_marks(case: &Case) -> bool {
    let length = case.file.bytes.len();
    match &case.damage {
        Damage::Flip { at, .. } => *at < 4 || *at >= length - 16,
        damage => damage.is_plain(),
    }
}

#[test]
fn manifest_lists() {
    let effort = Effort {
        changes: 400,
        cuts: 60,
    };
    let results = read_all("list", prepared(|s| &s.list, effort));
    check(&results, hits_avro_marks);
}

#[test]
fn manifests() {
    let effort = Effort {
        changes: 500,
        cuts: 60,
    };
    let results = read_all("manifest", prepared(|s| &s.manifest, effort));
    check(&results, hits_avro_marks);
}

#[test]
fn data_files() {
    let effort = Effort {
        changes: 200,
        cuts: 20,
    };
    let results = read_all("data", prepared(|s| &s.data, effort));
    check(&results, |case| {
        let length = case.file.bytes.len();
        match &case.damage {
            // The length of the footer and the magic behind it.
            Damage::Flip { at, .. } => *at >= length - 8,
            damage => damage.is_plain(),
        }
    });
}

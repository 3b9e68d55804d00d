//! Random histories of several writers against a model.
//!
//! Each writer prepares its changes on the table as it saw it last, which others may have changed since. The model knows
//! the live files and what each commit did, and says from that alone who is in whose way.

use std::collections::BTreeMap;
use std::sync::Arc;

use drumlin_format::metadata::TableUpdate;
use futures::FutureExt;
use proptest::prelude::*;

use super::catalog::{Answer, TestCatalog};
use super::checked::{check, current, paths};
use super::store::Fault;
use super::tables::*;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::table::Table;
use crate::transaction::{SnapshotChange, Transaction};

const WRITERS: usize = 3;
const PARTITIONS: i32 = 2;

#[derive(Debug, Clone, Copy)]
enum Op {
    Append,
    /// Deletes a file by its path.
    Delete,
    /// Overwrites the rows of a partition by a filter.
    Rows,
    Cow,
    Mor,
    Partitions,
    Rewrite,
    Upgrade,
}

#[derive(Debug, Clone, Copy)]
enum Isolation {
    Unsaid,
    Snapshot,
    Serializable,
}

/// What goes wrong with a commit.
#[derive(Debug, Clone, Copy)]
enum Mishap {
    None,
    Overtaken,
    Fault(Fault),
}

#[derive(Debug, Clone)]
struct Step {
    writer: usize,
    op: Op,
    isolation: Isolation,
    /// Whether the writer looks at the table first.
    fresh: bool,
    /// Which file, which partition.
    choice: usize,
    mishap: Mishap,
}

#[derive(Debug, Clone, PartialEq)]
struct Deletes {
    path: String,
    target: String,
    p: i32,
    number: i64,
}

#[derive(Debug, Clone, Default)]
struct State {
    /// Live data files: partition and data sequence number.
    data: BTreeMap<String, (i32, i64)>,
    deletes: Vec<Deletes>,
}

/// What a commit did.
#[derive(Debug, Clone, Default)]
struct Effects {
    added: Vec<(String, i32)>,
    removed: Vec<(String, i32)>,
    added_deletes: Vec<(String, i32)>,
    plain_delete: bool,
    rewrite: bool,
}

/// What a commit is going to do.
#[derive(Debug, Clone, Default)]
struct Plan {
    effects: Effects,
    removed_deletes: Vec<String>,
    /// All that there is in a partition goes.
    sweep: Option<i32>,
    number: Option<i64>,
}

#[derive(Debug, Default)]
struct Model {
    version: u8,
    now: State,
    history: Vec<Effects>,
    last_number: i64,
}

impl Model {
    /// Whether the change is in the way of what happened since the writer looked.
    fn conflicts(&self, op: Op, isolation: Isolation, plan: &Plan, seen: usize, p: i32) -> bool {
        let named = plan.effects.removed.iter().filter(|_| plan.sweep.is_none());
        let gone = named.clone().any(|(f, _)| !self.now.data.contains_key(f));
        let live = |path: &String| self.now.deletes.iter().any(|d| d.path == *path);
        if gone || !plan.removed_deletes.iter().all(live) {
            return true;
        }
        let since = &self.history[seen..];
        let in_p = |files: &[(String, i32)]| files.iter().any(|(_, of)| *of == p);
        let new_data = since.iter().any(|e| !e.rewrite && in_p(&e.added));
        let new_deletes = since.iter().any(|e| in_p(&e.added_deletes));
        let removed = |by_rewrites: bool| {
            let mut counted = since.iter().filter(|e| by_rewrites || !e.rewrite);
            counted.any(|e| in_p(&e.removed))
        };
        let for_removed = since.iter().any(|e| {
            let mut of = e.added_deletes.iter();
            of.any(|(target, _)| named.clone().any(|(f, _)| f == target))
        });
        let by_isolation = match (op, isolation) {
            (Op::Append | Op::Delete | Op::Rewrite | Op::Upgrade, _) | (_, Isolation::Unsaid) => false,
            (Op::Cow, Isolation::Snapshot) => false,
            (Op::Mor, Isolation::Snapshot) => new_deletes,
            (Op::Cow | Op::Mor, Isolation::Serializable) => new_data || new_deletes || removed(false),
            (_, Isolation::Snapshot) => new_deletes || removed(true),
            (_, Isolation::Serializable) => new_data || new_deletes || removed(true),
        };
        let by_files = match op {
            Op::Cow | Op::Rewrite => for_removed,
            Op::Mor => {
                let (target, _) = &plan.effects.added_deletes[0];
                let mut removed = since
                    .iter()
                    .filter(|e| e.removed.iter().any(|(f, _)| f == target));
                let vector = since
                    .iter()
                    .any(|e| e.added_deletes.iter().any(|(t, _)| t == target));
                removed.any(|e| !e.plain_delete) || (vector && self.version == 3)
            }
            _ => false,
        };
        by_isolation || by_files
    }

    fn apply(&mut self, mut plan: Plan) {
        if let Some(p) = plan.sweep {
            let of_p = self.now.data.iter().filter(|(_, (of, _))| *of == p);
            plan.effects.removed = of_p.map(|(f, _)| (f.clone(), p)).collect();
            self.now.deletes.retain(|d| d.p != p);
        }
        let next = if self.version == 1 {
            0
        } else {
            self.last_number + 1
        };
        for (file, _) in &plan.effects.removed {
            self.now.data.remove(file);
        }
        let (removed, gone) = (&plan.effects.removed, &plan.removed_deletes);
        self.now
            .deletes
            .retain(|d| !gone.contains(&d.path) && !removed.iter().any(|(f, _)| *f == d.target));
        for (file, p) in &plan.effects.added {
            self.now
                .data
                .insert(file.clone(), (*p, plan.number.unwrap_or(next)));
        }
        // C19
        let oldest = self
            .now
            .data
            .values()
            .map(|(_, number)| *number)
            .fold(next, i64::min);
        self.now.deletes.retain(|d| d.number >= oldest);
        for (target, p) in &plan.effects.added_deletes {
            self.now.deletes.push(Deletes {
                path: format!("{target}-d{next}"),
                target: target.clone(),
                p: *p,
                number: next,
            });
        }
        self.last_number = next;
        self.history.push(plan.effects);
    }
}

/// A writer: the table and the model as it saw them.
#[derive(Clone)]
struct Writer {
    table: Table,
    seen: State,
    at: usize,
}

fn data_of(name: &str, p: i32) -> drumlin_format::manifest::DataFile {
    data_in(name, p, 3)
}

/// The change of a step, and what the model says it does; `None` if there is no file for it.
fn planned(
    step: &Step,
    n: usize,
    writer: &Writer,
    version: u8,
    next: i64,
) -> Option<(SnapshotChange, Plan, i32)> {
    let new_p = (step.choice / 7) as i32 % PARTITIONS;
    let new = format!("f{n}");
    let chosen = || {
        let seen = &writer.seen.data;
        let at = step.choice.checked_rem(seen.len())?;
        seen.iter()
            .nth(at)
            .map(|(f, (p, number))| (f.clone(), *p, *number))
    };
    let mut plan = Plan::default();
    let (change, p) = match step.op {
        Op::Append => {
            plan.effects.added.push((new.clone(), new_p));
            (SnapshotChange::append(vec![data_of(&new, new_p)]), new_p)
        }
        Op::Delete => {
            let (f, p, _) = chosen()?;
            plan.effects.removed.push((f.clone(), p));
            plan.effects.plain_delete = true;
            (
                SnapshotChange::delete_files().remove_paths([f.as_str().into()]),
                p,
            )
        }
        Op::Rows => {
            plan.effects.added.push((new.clone(), new_p));
            plan.sweep = Some(new_p);
            let change = SnapshotChange::overwrite(vec![data_of(&new, new_p)]).remove_rows(p_is(new_p));
            (change, new_p)
        }
        Op::Partitions => {
            plan.effects.added.push((new.clone(), new_p));
            plan.sweep = Some(new_p);
            (
                SnapshotChange::replace_partitions(vec![data_of(&new, new_p)]),
                new_p,
            )
        }
        Op::Cow => {
            let (f, p, _) = chosen()?;
            plan.effects.removed.push((f.clone(), p));
            plan.effects.added.push((new.clone(), p));
            let change = SnapshotChange::overwrite(vec![data_of(&new, p)]).remove([data_of(&f, p)]);
            (change.rows_read(p_is(p)), p)
        }
        Op::Rewrite => {
            let (f, p, number) = chosen()?;
            plan.effects.removed.push((f.clone(), p));
            plan.effects.added.push((new.clone(), p));
            plan.effects.rewrite = true;
            let change = SnapshotChange::rewrite_files(vec![data_of(&f, p)], vec![data_of(&new, p)]);
            if version > 1 {
                plan.number = Some(number);
                (change.with_data_sequence_number(number), p)
            } else {
                (change, p)
            }
        }
        Op::Mor => {
            let (f, p, _) = chosen().filter(|_| version > 1)?;
            plan.effects.added_deletes.push((f.clone(), p));
            let deletes = |number| deletes_of(version, &format!("{f}-d{number}"), &data_of(&f, p), 1);
            let mut change = SnapshotChange::row_delta(vec![deletes(next)]);
            // A vector takes in all older deletes of its file.
            for old in writer
                .seen
                .deletes
                .iter()
                .filter(|d| d.target == f && version == 3)
            {
                plan.removed_deletes.push(old.path.clone());
                change = change.remove([deletes(old.number)]);
            }
            let change = change.require_files([f.as_str().into()], true);
            (change.rows_read(p_is(p)), p)
        }
        Op::Upgrade => return None,
    };
    let read_at = writer.table.snapshot().map(|s| s.snapshot_id);
    let change = match (step.op, step.isolation) {
        (Op::Append | Op::Delete, _) => change,
        (Op::Rewrite, _) | (_, Isolation::Unsaid) => change.read_at(read_at),
        (_, Isolation::Snapshot) => change.read_at(read_at).refuse_new_deletes(),
        (_, Isolation::Serializable) => change.read_at(read_at).refuse_new_deletes().refuse_new_data(),
    };
    Some((change, plan, p))
}

async fn run(version: u8, min_merge: &str, target: &str, steps: Vec<Step>) {
    let properties = [
        ("commit.manifest.min-count-to-merge", min_merge),
        ("commit.manifest.target-size-bytes", target),
    ];
    let (catalog, t) = by_p(version, &properties).await;
    let mut model = Model {
        version,
        ..Model::default()
    };
    let seen = |table: &Table, model: &Model| Writer {
        table: table.clone(),
        seen: model.now.clone(),
        at: model.history.len(),
    };
    let first = SnapshotChange::append(vec![data_of("i0", 0), data_of("i1", 1)]);
    let t = commit(&catalog, &t, first).await.unwrap();
    let added = vec![("i0".to_string(), 0), ("i1".to_string(), 1)];
    model.apply(Plan {
        effects: Effects {
            added,
            ..Effects::default()
        },
        ..Plan::default()
    });
    let mut writers = vec![seen(&t, &model); WRITERS];
    for (n, step) in steps.iter().enumerate() {
        if let Op::Upgrade = step.op {
            // Deletes of version 2 may be named by later steps as they were written, so that only version 1 goes up.
            if model.version == 1 {
                let t = catalog.load_table(&ident()).await.unwrap();
                let tx =
                    Transaction::new(&t, ident()).add_updates(vec![TableUpdate::UpgradeFormatVersion(2)]);
                tx.commit(catalog.as_ref()).await.unwrap();
                model.version = 2;
            }
            continue;
        }
        if step.fresh {
            writers[step.writer] = seen(&catalog.load_table(&ident()).await.unwrap(), &model);
        }
        let writer = &writers[step.writer];
        // The name of deletes tells of the number of their commit, for the model only.
        let overtaken = matches!(step.mishap, Mishap::Overtaken);
        let next = model.last_number + 1 + i64::from(overtaken);
        let version = writer.table.metadata().format_version();
        let Some((change, plan, p)) = planned(step, n, writer, version, next) else {
            continue;
        };
        let mut view = catalog.view();
        view.tells_location = n % 2 == 0;
        match step.mishap {
            Mishap::None => {}
            Mishap::Fault(fault) => view.script([Answer::Faulty(fault)]),
            Mishap::Overtaken => {
                let other = catalog.view();
                let file = data_of(&format!("o{n}"), (step.choice % 3) as i32);
                view.script([Answer::After(
                    async move {
                        let t = other.load_table(&ident()).await.unwrap();
                        commit(&other, &t, SnapshotChange::append(vec![file]))
                            .await
                            .unwrap();
                    }
                    .boxed(),
                )]);
            }
        }
        let (seen_at, op, isolation) = (writer.at, step.op, step.isolation);
        // Validation runs before the other commit, too.
        let mut expected = !model.conflicts(op, isolation, &plan, seen_at, p);
        let asked = view.commits();
        let result = commit(&view, &writer.table, change).await;
        let first_try_lost = writer_is_late(writer, &model);
        let other_came = overtaken && view.commits() > asked;
        if other_came {
            let other = Plan {
                effects: Effects {
                    added: vec![(format!("o{n}"), (step.choice % 3) as i32)],
                    ..Effects::default()
                },
                ..Plan::default()
            };
            model.apply(other);
            expected = !model.conflicts(op, isolation, &plan, seen_at, p);
        }
        let what = format!("step {n} {step:?}, late: {first_try_lost}, {plan:?}");
        match (result, expected) {
            (Ok(_), true) => model.apply(plan),
            (Err(Error::Conflict { .. }), false) => {}
            // It is known to have failed, or nobody knows; then it did not happen.
            (Err(Error::CommitUnknown { .. }), _) if matches!(step.mishap, Mishap::Fault(Fault::Unknown)) => {
            }
            (Err(Error::Catalog { .. }), _) if matches!(step.mishap, Mishap::Fault(Fault::Fail)) => {}
            (Ok(_), false) => panic!("{what}: it was committed"),
            (Err(error), _) => panic!("{what}: {error}"),
        }
        let t = catalog.load_table(&ident()).await.unwrap();
        compare(&t, &model, &what).await;
        writers[step.writer] = seen(&t, &model);
    }
    let t = catalog.load_table(&ident()).await.unwrap();
    check(&catalog, &t).await;
    drop::<Arc<TestCatalog>>(catalog);
}

fn writer_is_late(writer: &Writer, model: &Model) -> bool {
    writer.at < model.history.len()
}

async fn compare(t: &Table, model: &Model, what: &str) {
    let live = current(t).await;
    let data: Vec<String> = model.now.data.keys().cloned().collect();
    assert_eq!(paths(&live, true), data, "{what}");
    assert_eq!(scanned(t).await, data, "{what}");
    let mut deletes: Vec<String> = model.now.deletes.iter().map(|d| d.path.clone()).collect();
    deletes.sort();
    assert_eq!(paths(&live, false), deletes, "{what}");
    for entry in live.values() {
        let path = entry.data_file.file_path.to_string();
        if let Some((p, number)) = model.now.data.get(&path) {
            let tuple = vec![Some(drumlin_format::value::Value::Int(*p))];
            assert_eq!(
                (entry.sequence_number, &entry.data_file.partition),
                (*number, &tuple),
                "{what}: {path}"
            );
        }
    }
    if model.version > 1 {
        assert_eq!(t.metadata().last_sequence_number(), model.last_number, "{what}");
    }
}

fn step() -> impl Strategy<Value = Step> {
    let op = prop_oneof![
        2 => Just(Op::Append),
        1 => Just(Op::Delete),
        1 => Just(Op::Rows),
        2 => Just(Op::Cow),
        4 => Just(Op::Mor),
        1 => Just(Op::Partitions),
        2 => Just(Op::Rewrite),
        1 => Just(Op::Upgrade),
    ];
    let isolation = prop_oneof![
        Just(Isolation::Unsaid),
        Just(Isolation::Snapshot),
        Just(Isolation::Serializable)
    ];
    let mishap = prop_oneof![
        9 => Just(Mishap::None),
        2 => Just(Mishap::Overtaken),
        1 => Just(Mishap::Fault(Fault::Fail)),
        1 => Just(Mishap::Fault(Fault::Unknown)),
        1 => Just(Mishap::Fault(Fault::ApplyThenFail)),
        1 => Just(Mishap::Fault(Fault::ApplyThenConflict)),
    ];
    (
        0..WRITERS,
        op,
        isolation,
        prop::bool::weighted(0.2),
        0..1_000_usize,
        mishap,
    )
        .prop_map(|(writer, op, isolation, fresh, choice, mishap)| Step {
            writer,
            op,
            isolation,
            fresh,
            choice,
            mishap,
        })
}

/// `DRUMLIN_TEST_CASES` asks for more.
fn cases() -> u32 {
    let asked = std::env::var("DRUMLIN_TEST_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn histories(
        version in 1..=3_u8,
        min_merge in prop_oneof![Just("2"), Just("3"), Just("100")],
        target in prop_oneof![Just("1"), Just("5000"), Just("8388608")],
        steps in prop::collection::vec(step(), 3..18),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(run(version, min_merge, target, steps));
    }
}

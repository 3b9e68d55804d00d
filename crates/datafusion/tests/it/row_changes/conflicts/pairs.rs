//! Every pair of statements.

use super::lake::Lake;
use super::operation::Mode::{CopyOnWrite, MergeOnRead};
use super::operation::Op::{
    Append, Delete, Merge, OverwriteAll, OverwritePartition, Rewrite, Truncate, Update,
};
use super::operation::Place::Row;
use super::operation::{FIRST, Mode, OPS, Op, Place, SECOND, base, plain};

/// Under which isolation levels the second statement succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Always,
    /// Not if it is to be serializable. Under snapshot isolation it does not see what the first one has written.
    Snapshot,
    Never,
}

use Outcome::{Always as A, Never as N, Snapshot as S};

/// What becomes of the second statement, by the places of the first one.
fn outcomes(version: u8, second: Op, first: Op) -> &'static [Outcome] {
    const COW: Mode = CopyOnWrite;
    const MOR: Mode = MergeOnRead;
    match (second, first) {
        // C24, C42: without reading the table, they come after whatever there is.
        (Append | OverwritePartition | OverwriteAll | Truncate, _) => &[A, A, A, A, A],

        // C26, C39: no new data under the filter of the scan (serializable). The file that is replaced must be there, and
        // no new deletes may be for it.
        (Delete(COW) | Update(COW) | Merge(COW), Append) => &[S, S, A, A],
        (Delete(COW) | Update(COW) | Merge(COW), OverwritePartition) => &[N, A],
        (Delete(COW) | Update(COW) | Merge(COW), OverwriteAll | Truncate) => &[N],
        (Delete(COW) | Update(COW) | Merge(COW), Delete(COW) | Update(COW) | Merge(COW)) => &[N, N, S, A, A],
        // Of delete files only the partition is known. Those for other files are in the way of serializable statements: in the
        // reference they are not, but it replaces all files in which the filter finds rows, and Drumlin those alone that change.
        (Delete(COW) | Update(COW) | Merge(COW), Delete(MOR) | Update(MOR) | Merge(MOR)) => &[N, N, S, S, A],
        // C29, C43: compaction adds nothing new. It is in the way if the file itself is gone.
        (Delete(COW) | Update(COW) | Merge(COW), Rewrite) => &[N, A, A, A],

        // C27, C40: DELETE by merge-on-read assumes that its file is there, or that it was deleted as a whole, ...
        (Delete(MOR), Append) => &[S, S, A, A],
        (Delete(MOR), OverwritePartition) => &[N, A],
        (Delete(MOR), OverwriteAll) => &[N],
        (Delete(MOR), Delete(COW) | Update(COW) | Merge(COW)) => &[N, N, S, A, A],
        (Delete(MOR), Truncate) => &[A],
        (Delete(MOR), Rewrite) => &[N, A, A, A],
        // ... and nothing of other deletes: to delete a row twice is as good as once. But a file has one deletion vector only.
        (Delete(MOR), Delete(MOR)) if version == 2 => &[A, A, A, A, A],
        (Delete(MOR), Delete(MOR)) => &[N, N, A, A, A],
        // Rows that were changed are new rows.
        (Delete(MOR), Update(MOR) | Merge(MOR)) if version == 2 => &[S, S, S, A, A],
        (Delete(MOR), Update(MOR) | Merge(MOR)) => &[N, N, S, A, A],

        // C27, C40: UPDATE and MERGE assume that no deletes are new under the filter, whichever file they are for.
        (Update(MOR) | Merge(MOR), Append) => &[S, S, A, A],
        (Update(MOR) | Merge(MOR), OverwritePartition) => &[N, A],
        (Update(MOR) | Merge(MOR), OverwriteAll | Truncate) => &[N],
        (Update(MOR) | Merge(MOR), Delete(COW) | Update(COW) | Merge(COW)) => &[N, N, S, A, A],
        (Update(MOR) | Merge(MOR), Delete(MOR) | Update(MOR) | Merge(MOR)) => &[N, N, N, N, A],
        (Update(MOR) | Merge(MOR), Rewrite) => &[N, A, A, A],

        // C29: that its file is there, and that no new deletes are for it.
        (Rewrite, Append) => &[A, A, A, A],
        (Rewrite, OverwritePartition) => &[N, A],
        (Rewrite, OverwriteAll | Truncate) => &[N],
        (Rewrite, Delete(_) | Update(_) | Merge(_)) => &[N, N, A, A, A],
        (Rewrite, Rewrite) => &[N, A, A, A],
    }
}

impl Lake {
    /// One pair. `n` makes the name of the table.
    async fn check(&self, second: Op, first: Op, place: Place, serializable: bool, n: usize) {
        let version = self.version;
        let level = if serializable { "serializable" } else { "snapshot" };
        let what = format!("v{version}, {level}: {second:?} after {first:?} on {place:?}");
        let outcome = outcome(version, second, first, place);
        let name = format!("t{n}");
        let mut properties: Vec<_> = second.mode_property().into_iter().collect();
        let of_first = first
            .mode_property()
            .filter(|(key, _)| properties.iter().all(|(k, _)| k != key));
        properties.extend(of_first);
        let command = second.command().unwrap_or("delete");
        properties.push((format!("write.{command}.isolation-level"), level));
        let text: String = properties
            .iter()
            .map(|(k, v)| format!(", '{k}' = '{v}'"))
            .collect();
        self.table_before(&name, &text).await;
        let planned = self.plan_op(second, &name, Row, SECOND).await;
        if let Some((key, mode)) = first.mode_property().filter(|of| !properties.contains(of)) {
            self.set(&name, key, mode).await;
        }
        let before = self.plan_op(first, &name, place, FIRST).await;
        self.run(before)
            .await
            .unwrap_or_else(|error| panic!("{what}: the first: {error}"));
        let mut expected = base();
        first.apply(place, FIRST, &mut expected, false);
        let succeeds = match outcome {
            Outcome::Always => true,
            Outcome::Snapshot => !serializable,
            Outcome::Never => false,
        };
        if succeeds {
            let done = self.run(planned).await;
            done.unwrap_or_else(|error| panic!("{what}: {error}"));
            second.apply(Row, SECOND, &mut expected, outcome == Outcome::Snapshot);
        } else {
            self.conflicts(&what, &name, planned).await;
        }
        assert_eq!(self.rows(&name).await, plain(&expected), "{what}");
    }
}

/// The outcome at one place.
fn outcome(version: u8, second: Op, first: Op, place: Place) -> Outcome {
    let at = first.places().iter().position(|p| *p == place).unwrap();
    outcomes(version, second, first)[at]
}

async fn every_pair(seconds: &[Op]) {
    for version in [2, 3] {
        let lake = Lake::new(version).await;
        let mut n = 0;
        for second in seconds {
            for first in OPS {
                let on_read = second.merges_on_read() || first.merges_on_read();
                let reads = second.command().is_some() || *second == Rewrite;
                let places = match version {
                    // Versions differ in how rows are deleted.
                    3 if !on_read => continue,
                    3 if !first.merges_on_read() => &first.places()[..1],
                    _ if !reads => &first.places()[..1],
                    _ => first.places(),
                };
                for place in places {
                    // Snapshot isolation refuses nothing that serializable isolation allows.
                    let levels: &[bool] = match outcome(version, *second, first, *place) {
                        Outcome::Always => &[true],
                        Outcome::Snapshot => &[true, false],
                        Outcome::Never => &[false],
                    };
                    for serializable in levels {
                        lake.check(*second, first, *place, *serializable, n).await;
                        n += 1;
                    }
                }
            }
        }
        assert!(n > 0);
    }
}

#[tokio::test]
async fn statements_that_read_nothing_after_every_other() {
    every_pair(&[Append, OverwritePartition, OverwriteAll, Truncate]).await;
}

#[tokio::test]
async fn deletes_after_every_other() {
    every_pair(&[Delete(CopyOnWrite), Delete(MergeOnRead)]).await;
}

#[tokio::test]
async fn updates_after_every_other() {
    every_pair(&[Update(CopyOnWrite), Update(MergeOnRead)]).await;
}

#[tokio::test]
async fn merges_after_every_other() {
    every_pair(&[Merge(CopyOnWrite), Merge(MergeOnRead)]).await;
}

#[tokio::test]
async fn compaction_after_every_other() {
    every_pair(&[Rewrite]).await;
}

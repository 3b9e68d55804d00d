//! What happened in histories, so that none of it can be missed.

use std::collections::BTreeMap;

use super::statement::{Action, After, Failure, Statement};

/// Counts by what was seen.
#[derive(Debug, Default, Clone)]
pub struct Seen(BTreeMap<&'static str, usize>);

/// All that must happen.
const ALL: [&str; 47] = [
    "INSERT",
    "INSERT SELECT",
    "DELETE",
    "DELETE of everything",
    "DELETE USING",
    "UPDATE",
    "UPDATE FROM",
    "MERGE",
    "TRUNCATE",
    "statement without effect",
    "IN (SELECT)",
    "NOT IN (SELECT)",
    "IN (SELECT) refused",
    "EXISTS",
    "NOT EXISTS",
    "subquery of the target",
    "scalar subquery",
    "MATCHED THEN UPDATE",
    "MATCHED THEN UPDATE *",
    "MATCHED THEN DELETE",
    "NOT MATCHED THEN INSERT",
    "NOT MATCHED BY TARGET THEN INSERT",
    "NOT MATCHED THEN INSERT *",
    "NOT MATCHED BY SOURCE THEN UPDATE",
    "NOT MATCHED BY SOURCE THEN DELETE",
    "MERGE that updates, deletes and inserts",
    "cardinality error",
    "value that does not fit",
    "row inserted",
    "row updated",
    "row deleted",
    "column added",
    "column added with a default",
    "column renamed",
    "column widened",
    "column dropped",
    "spec changed",
    "version upgraded",
    "mode changed",
    "data file removed",
    "data file rewritten",
    "position delete file added",
    "deletion vector added",
    "deletion vector replaced",
    "position deletes folded into vectors",
    "older snapshot read",
    "row id kept by a changed row",
];

impl Seen {
    pub fn add(&mut self, what: &'static str) {
        self.add_many(what, 1);
    }

    pub fn add_many(&mut self, what: &'static str, count: usize) {
        debug_assert!(ALL.contains(&what), "{what} is not asked for");
        *self.0.entry(what).or_default() += count;
    }

    /// The sums of both.
    pub fn merge(&mut self, other: Self) {
        for (what, count) in other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// Counts what a statement is, and what it must do.
    pub fn add_statement(&mut self, statement: &Statement, sql: &str, outcome: &Result<After, Failure>) {
        match statement {
            Statement::Insert { .. } => self.add("INSERT"),
            Statement::InsertSelect { .. } => self.add("INSERT SELECT"),
            Statement::Delete { using: Some(_), .. } => self.add("DELETE USING"),
            Statement::Delete { filter: None, .. } => self.add("DELETE of everything"),
            Statement::Delete { .. } => self.add("DELETE"),
            Statement::Update { from: Some(_), .. } => self.add("UPDATE FROM"),
            Statement::Update { .. } => self.add("UPDATE"),
            Statement::Merge { clauses, .. } => {
                self.add("MERGE");
                for clause in clauses {
                    self.add(match &clause.action {
                        Action::Update(_) => "MATCHED THEN UPDATE",
                        Action::UpdateAll => "MATCHED THEN UPDATE *",
                        Action::Delete => "MATCHED THEN DELETE",
                        Action::Insert { by_target: true, .. } => "NOT MATCHED BY TARGET THEN INSERT",
                        Action::Insert { .. } => "NOT MATCHED THEN INSERT",
                        Action::InsertAll => "NOT MATCHED THEN INSERT *",
                        Action::UpdateLeft(_) => "NOT MATCHED BY SOURCE THEN UPDATE",
                        Action::DeleteLeft => "NOT MATCHED BY SOURCE THEN DELETE",
                    });
                }
            }
            Statement::Truncate => self.add("TRUNCATE"),
        }
        for (text, what) in [
            (" IN (SELECT", "IN (SELECT)"),
            (" NOT IN (SELECT", "NOT IN (SELECT)"),
            ("EXISTS (", "EXISTS"),
            ("NOT EXISTS (", "NOT EXISTS"),
            (" FROM t AS q", "subquery of the target"),
            ("(SELECT min(", "scalar subquery"),
            ("(SELECT max(", "scalar subquery"),
            ("(SELECT count(", "scalar subquery"),
        ] {
            if sql.contains(text) {
                self.add(what);
            }
        }
        match outcome {
            Err(Failure::Cardinality) => self.add("cardinality error"),
            Err(Failure::Store) => self.add("value that does not fit"),
            Ok(after) => {
                if after.count() == 0 {
                    self.add("statement without effect");
                }
                self.add_many("row inserted", after.inserted.len());
                self.add_many("row updated", after.updated.len());
                self.add_many("row deleted", after.deleted.len());
                let all = [&after.inserted, &after.updated, &after.deleted];
                let is_merge = matches!(statement, Statement::Merge { .. });
                if is_merge && all.iter().all(|tags| !tags.is_empty()) {
                    self.add("MERGE that updates, deletes and inserts");
                }
            }
        }
    }

    /// Fails if something that must be tested did not happen.
    ///
    /// # Panics
    /// So.
    pub fn assert_complete(&self) {
        let of = |what: &str| self.0.get(what).copied().unwrap_or_default();
        let missing: Vec<_> = ALL.iter().filter(|what| of(what) == 0).collect();
        assert!(missing.is_empty(), "never seen: {missing:?}, in {self:#?}");
    }
}

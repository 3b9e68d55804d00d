//! One random history: the same statements on several tables and on the model.

use std::fmt::Write;
use std::sync::Arc;

use drumlin_catalog::{EmbeddedCatalog, ObjectStoreCatalog};
use drumlin_format::metadata::TableUpdate;
use drumlin_table::catalog::Catalog;
use drumlin_table::storage::Storage;
use object_store::memory::InMemory;

use super::evolution::{self, Change};
use super::expression::SOURCE_TABLE;
use super::seen::Seen;
use super::statement::{Failure, Sql, State};
use super::statements::{Statements, first_columns, row};
use super::subject::{Subject, definitions, session};
use super::value::{Of, literal};
use super::written::Kept;
use crate::random::Random;
use crate::session::rows;

/// How the tables of a history write, and by which version.
const TABLES: [(&str, u8, bool); 4] = [
    ("v2_cow", 2, false),
    ("v2_mor", 2, true),
    ("v3_cow", 3, false),
    ("v3_mor", 3, true),
];

/// How long a statement and all checks of it may take.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(120);

/// Tables, and what they must hold.
pub struct History {
    pub seen: Seen,
    /// What happened, for people.
    pub log: String,
    random: Random,
    subjects: Vec<Subject>,
    state: State,
    source_table: State,
    next_tag: i64,
    /// Columns may have defaults: all tables are of version 3.
    defaults: bool,
    /// Names with this number were not used.
    next_name: usize,
}

impl History {
    /// Makes the tables: on disk below a folder, else in memory.
    pub async fn new(mut random: Random, folder: Option<&str>) -> Self {
        let storage = Storage::default();
        let catalog: Arc<dyn Catalog> = match folder {
            Some(folder) => Arc::new(EmbeddedCatalog::new(storage.clone(), folder).unwrap()),
            None => {
                storage.register("s3://lake", Arc::new(InMemory::new())).unwrap();
                Arc::new(ObjectStoreCatalog::new(storage.clone(), "s3://lake/warehouse"))
            }
        };
        let state = State {
            columns: first_columns(),
            rows: Vec::new(),
        };
        let source_table = source_table(&storage, &catalog, &mut random).await;
        let defaults = random.percent(25);
        let mut subjects = Vec::new();
        let mut log = String::new();
        for (name, version, merge_on_read) in TABLES {
            if defaults && version < 3 {
                continue;
            }
            let place = (&storage, &catalog);
            let mut subject = Subject::create(name, version, merge_on_read, &state, place, &mut random).await;
            subject.update(evolution::spec(0, &mut random)).await;
            write!(log, "\n  {}", subject.made).unwrap();
            write!(log, "; {}", partitions(&subject)).unwrap();
            subjects.push(subject);
        }
        Self {
            seen: Seen::default(),
            log,
            random,
            subjects,
            state,
            source_table,
            next_tag: 100,
            defaults,
            next_name: 1,
        }
    }

    /// Makes so many statements and changes. How the first wrong one is wrong.
    pub async fn run(&mut self, steps: usize, mut kept: Option<&mut Kept>) -> Result<(), String> {
        for step in 0..steps {
            if step > 1 && self.random.percent(18) {
                self.evolve().await;
            } else {
                let made = tokio::time::timeout(LIMIT, self.make_statement(step)).await;
                made.unwrap_or_else(|_| Err("no answer".to_string()))?;
            }
            if let Some(kept) = &mut kept
                && (step % 10 == 9 || step + 1 == steps)
            {
                for subject in &self.subjects {
                    kept.add(subject, &self.state);
                }
            }
        }
        Ok(())
    }

    async fn make_statement(&mut self, step: usize) -> Result<(), String> {
        let mut statements = Statements {
            state: &self.state,
            source_table: &self.source_table,
            next_tag: self.next_tag,
            random: &mut self.random,
        };
        let statement = match step {
            0 | 1 => statements.insert(20),
            _ => statements.statement(),
        };
        let sql = Sql(&statement, &self.state.columns).to_string();
        write!(self.log, "\n  {sql}").unwrap();
        // A query that DataFusion would answer wrongly.
        if sql.contains(" IN (SELECT") && self.subjects.first().unwrap().refuses(&sql, LOST_NULLS).await {
            for subject in &mut self.subjects {
                let checked = subject.check_refusal(&sql, LOST_NULLS, &self.state).await;
                checked.map_err(|e| format!("{}: {e}", subject.name))?;
            }
            self.seen.add("IN (SELECT) refused");
            return Ok(());
        }
        let outcome = self.state.after(&statement, &self.source_table.rows);
        self.seen.add_statement(&statement, &sql, &outcome);
        let after = match outcome {
            Ok(after) => after,
            Err(failure) => {
                let says = says(failure);
                for subject in &mut self.subjects {
                    let checked = subject.check_refusal(&sql, says, &self.state).await;
                    checked.map_err(|e| format!("{}: {e}", subject.name))?;
                }
                return Ok(());
            }
        };
        self.state.rows.clone_from(&after.rows);
        self.next_tag = after
            .inserted
            .last()
            .map_or(self.next_tag, |last| (last + 1).max(self.next_tag));
        for subject in &mut self.subjects {
            let checked = subject.check(&sql, &after, &self.state, &mut self.seen).await;
            checked.map_err(|e| format!("{}: {e}", subject.name))?;
            if self.random.percent(15) {
                let checked = subject.check_older(&mut self.random, &mut self.seen).await;
                checked.map_err(|e| format!("{}: {e}", subject.name))?;
            }
        }
        Ok(())
    }

    async fn evolve(&mut self) {
        match self.random.below(10) {
            0..=3 => {
                let change = Change::random(&self.state, self.next_name, self.defaults, &mut self.random);
                self.next_name += 1;
                write!(self.log, "\n  {change:?}").unwrap();
                self.seen.add(match &change {
                    Change::Add { initial: Some(_), .. } => "column added with a default",
                    Change::Add { .. } => "column added",
                    Change::Rename { .. } => "column renamed",
                    Change::Widen { .. } => "column widened",
                    Change::Drop { .. } => "column dropped",
                });
                change.apply(&mut self.state);
                for subject in &mut self.subjects {
                    subject.update(change.updates(&subject.table)).await;
                }
            }
            4 | 5 => {
                for subject in &mut self.subjects {
                    if self.random.percent(60) {
                        let number = subject.table.metadata().partition_specs().len();
                        subject.update(evolution::spec(number, &mut self.random)).await;
                        write!(self.log, "\n  {}: {}", subject.name, partitions(subject)).unwrap();
                        self.seen.add("spec changed");
                    }
                }
            }
            6 | 7 => {
                for subject in &mut self.subjects {
                    if subject.version() < 3 && self.random.percent(70) {
                        subject.update(vec![TableUpdate::UpgradeFormatVersion(3)]).await;
                        write!(self.log, "\n  {}: version 3", subject.name).unwrap();
                        self.seen.add("version upgraded");
                    }
                }
            }
            _ => {
                for subject in &mut self.subjects {
                    if self.random.percent(40) {
                        let modes = evolution::modes(|random| random.percent(50), &mut self.random);
                        write!(self.log, "\n  {}: {modes:?}", subject.name).unwrap();
                        subject.update(vec![TableUpdate::SetProperties(modes)]).await;
                        self.seen.add("mode changed");
                    }
                }
            }
        }
    }
}

/// What the error of `IN (SELECT …)` says where it being NULL would be lost.
const LOST_NULLS: &str = "elsewhere DataFusion takes NULL for FALSE";

/// What the error of a statement must say.
fn says(failure: Failure) -> &'static str {
    match failure {
        Failure::Cardinality => "is matched by several rows",
        Failure::Store => "would not arrive unchanged",
    }
}

fn partitions(subject: &Subject) -> String {
    let fields = subject.table.metadata().default_spec().fields().iter();
    let fields: Vec<_> = fields
        .map(|field| format!("{} of {:?}", field.transform, field.source_ids))
        .collect();
    format!("partitioned by ({})", fields.join(", "))
}

/// Makes the table that subqueries read and that is merged from.
async fn source_table(storage: &Storage, catalog: &Arc<dyn Catalog>, random: &mut Random) -> State {
    let columns = first_columns();
    let count = *random.pick(&[0, 3, 8, 14]);
    let rows_of = (0..count).map(|tag| row(&columns, tag, random)).collect();
    let state = State {
        columns,
        rows: rows_of,
    };
    let (namespace, _) = SOURCE_TABLE.split_once('.').unwrap();
    let (ctx, _) = session(storage, catalog, namespace, random);
    rows(&ctx, &format!("CREATE SCHEMA {namespace}")).await;
    rows(
        &ctx,
        &format!("CREATE TABLE {SOURCE_TABLE} ({})", definitions(&state)),
    )
    .await;
    if !state.rows.is_empty() {
        let types: Vec<Of> = state.columns.iter().map(|column| column.of).collect();
        let cells = |row: &super::value::Row| {
            let cells: Vec<_> = row
                .iter()
                .zip(&types)
                .map(|(cell, of)| literal(cell, *of))
                .collect();
            format!("({})", cells.join(", "))
        };
        let values: Vec<_> = state.rows.iter().map(cells).collect();
        rows(
            &ctx,
            &format!("INSERT INTO {SOURCE_TABLE} VALUES {}", values.join(", ")),
        )
        .await;
    }
    state
}

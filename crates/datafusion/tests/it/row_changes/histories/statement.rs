//! Statements: as SQL, and what they do to the rows of the model.

use std::collections::BTreeSet;
use std::fmt;

use super::expression::{At, Cond, Expr, Rows, TARGET, plain};
use super::value::{Column, Of, Row, Value};

/// The rows of a table and its columns; the first one is `tag`, which tells rows apart and never changes.
#[derive(Debug, Clone)]
pub struct State {
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
}

/// A table or a query that a statement joins.
#[derive(Debug, Clone)]
pub struct Source {
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// With its alias, which is `s`.
    pub sql: String,
}

/// What a column is set to.
#[derive(Debug, Clone)]
pub enum Assigned {
    To(Expr),
    Default,
}

/// Assignments to columns by their places.
pub type Assignments = Vec<(usize, Assigned)>;

/// A clause of MERGE and the condition behind its AND.
#[derive(Debug, Clone)]
pub struct Clause {
    pub condition: Option<Cond>,
    pub action: Action,
}

#[derive(Debug, Clone)]
pub enum Action {
    /// `WHEN MATCHED`.
    Update(Assignments),
    UpdateAll,
    Delete,
    /// `WHEN NOT MATCHED`, with `BY TARGET` now and then.
    Insert {
        values: Assignments,
        by_target: bool,
    },
    InsertAll,
    /// `WHEN NOT MATCHED BY SOURCE`.
    UpdateLeft(Assignments),
    DeleteLeft,
}

#[derive(Debug, Clone)]
pub enum Statement {
    Insert {
        /// All of them in their order, if none are named.
        columns: Option<Vec<usize>>,
        /// Values for these.
        rows: Vec<Vec<Assigned>>,
    },
    /// `INSERT INTO t SELECT … FROM source AS s`.
    InsertSelect {
        source: Source,
        values: Vec<Expr>,
        filter: Option<Cond>,
    },
    Delete {
        alias: Option<&'static str>,
        using: Option<Source>,
        filter: Option<Cond>,
    },
    Update {
        alias: Option<&'static str>,
        assignments: Assignments,
        from: Option<Source>,
        filter: Option<Cond>,
    },
    Merge {
        source: Source,
        on: Cond,
        clauses: Vec<Clause>,
    },
    Truncate,
}

/// The aliases of target and source.
pub const TARGET_ALIAS: &str = "a";
pub const SOURCE_ALIAS: &str = "s";

/// The table after a statement.
#[derive(Debug, Clone, Default)]
pub struct After {
    pub rows: Vec<Row>,
    /// The tags of the rows.
    pub updated: BTreeSet<i64>,
    pub inserted: BTreeSet<i64>,
    pub deleted: BTreeSet<i64>,
}

impl After {
    /// What the statement answers.
    pub fn count(&self) -> usize {
        self.updated.len() + self.inserted.len() + self.deleted.len()
    }
}

/// Why a statement must fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// Several rows of the source change one row of the target.
    Cardinality,
    /// A value does not fit its column.
    Store,
}

impl State {
    /// What the statement does.
    pub fn after(&self, statement: &Statement, source_table: &[Row]) -> Result<After, Failure> {
        let relations = Rows {
            source: source_table,
            target: &self.rows,
        };
        let at = At {
            target: &[],
            source: &[],
            inner: &[],
            relations,
        };
        match statement {
            Statement::Insert { columns, rows } => {
                let all: Vec<usize> = (0..self.columns.len()).collect();
                let named = columns.as_ref().unwrap_or(&all);
                let mut after = self.unchanged();
                for values in rows {
                    let values = named.iter().copied().zip(values);
                    let assigned: Vec<_> = values.map(|(place, value)| (place, value.clone())).collect();
                    after.insert(self.new_row(&assigned, at)?);
                }
                Ok(after)
            }
            Statement::InsertSelect {
                source,
                values,
                filter,
            } => {
                let mut after = self.unchanged();
                for row in &source.rows {
                    let at = At { source: row, ..at };
                    if filter.as_ref().is_none_or(|filter| filter.holds(at)) {
                        let values = values.iter().cloned().map(Assigned::To).enumerate();
                        after.insert(self.new_row(&values.collect::<Vec<_>>(), at)?);
                    }
                }
                Ok(after)
            }
            Statement::Delete { using, filter, .. } => {
                let mut after = After::default();
                for row in &self.rows {
                    match joined(row, using.as_ref(), filter.as_ref(), at).is_empty() {
                        true => after.rows.push(row.clone()),
                        false => drop(after.deleted.insert(tag(row))),
                    }
                }
                Ok(after)
            }
            Statement::Update {
                assignments,
                from,
                filter,
                ..
            } => {
                let mut after = After::default();
                for row in &self.rows {
                    match joined(row, from.as_ref(), filter.as_ref(), at).as_slice() {
                        [] => after.rows.push(row.clone()),
                        [at] => after.update(row, self.changed(row, assignments, *at)?),
                        _ => return Err(Failure::Cardinality),
                    }
                }
                Ok(after)
            }
            Statement::Merge { source, on, clauses } => self.merged(source, on, clauses, at),
            Statement::Truncate => Ok(After {
                deleted: self.rows.iter().map(tag).collect(),
                ..After::default()
            }),
        }
    }

    fn unchanged(&self) -> After {
        After {
            rows: self.rows.clone(),
            ..After::default()
        }
    }

    fn merged(&self, source: &Source, on: &Cond, clauses: &[Clause], at: At<'_>) -> Result<After, Failure> {
        let mut after = After::default();
        let mut matched = BTreeSet::new();
        for row in &self.rows {
            let at = At { target: row, ..at };
            let mut hits = Vec::new();
            let mut is_matched = false;
            for (place, of_source) in source.rows.iter().enumerate() {
                let at = At {
                    source: of_source,
                    ..at
                };
                if on.holds(at) {
                    is_matched = true;
                    matched.insert(place);
                    hits.extend(first(clauses, Action::is_of_matched, at).map(|action| (action, at)));
                }
            }
            if !is_matched {
                hits.extend(first(clauses, Action::is_of_left, at).map(|action| (action, at)));
            }
            match hits.as_slice() {
                [] => after.rows.push(row.clone()),
                [_, _, ..] if !deletes_whatever_matches(clauses) => return Err(Failure::Cardinality),
                [(Action::Delete | Action::DeleteLeft, _), ..] => drop(after.deleted.insert(tag(row))),
                [(Action::Update(values) | Action::UpdateLeft(values), at), ..] => {
                    after.update(row, self.changed(row, values, *at)?);
                }
                [(_, at), ..] => after.update(row, self.stored(source.by_name(&self.columns, at.source))?),
            }
        }
        for (place, of_source) in source.rows.iter().enumerate() {
            let at = At {
                source: of_source,
                ..at
            };
            if matched.contains(&place) {
                continue;
            }
            match first(clauses, Action::is_of_new, at) {
                None => {}
                Some(Action::Insert { values, .. }) => after.insert(self.new_row(values, at)?),
                Some(_) => after.insert(self.stored(source.by_name(&self.columns, of_source))?),
            }
        }
        Ok(after)
    }

    /// The row with other values.
    fn changed(&self, row: &Row, assignments: &Assignments, at: At<'_>) -> Result<Row, Failure> {
        let mut row = row.clone();
        for (place, assigned) in assignments {
            row[*place] = match assigned {
                Assigned::To(value) => value.value(at),
                Assigned::Default => self.columns[*place].default.clone(),
            };
        }
        self.stored(row)
    }

    fn new_row(&self, values: &Assignments, at: At<'_>) -> Result<Row, Failure> {
        let defaults = self.columns.iter().map(|column| column.default.clone()).collect();
        self.changed(&defaults, values, at)
    }

    /// A row whose values fit.
    fn stored(&self, row: Row) -> Result<Row, Failure> {
        let fits = |(column, cell): (&Column, &Option<Value>)| match (column.of, cell) {
            (Of::Int, Some(value)) => i32::try_from(value.integer()).is_ok(),
            _ => true,
        };
        let all_fit = self.columns.iter().zip(&row).all(fits) && row[0].is_some();
        all_fit.then_some(row).ok_or(Failure::Store)
    }
}

impl After {
    fn insert(&mut self, row: Row) {
        assert!(self.inserted.insert(tag(&row)), "tags are unique");
        self.rows.push(row);
    }

    fn update(&mut self, before: &Row, row: Row) {
        assert_eq!(tag(before), tag(&row), "tags stay");
        self.updated.insert(tag(&row));
        self.rows.push(row);
    }
}

impl Source {
    /// A row of it in the columns of a table.
    fn by_name(&self, columns: &[Column], row: &[Option<Value>]) -> Row {
        let cell = |column: &Column| {
            let place = self.columns.iter().position(|own| own.name == column.name);
            row[place.unwrap()].clone()
        };
        columns.iter().map(cell).collect()
    }
}

impl Action {
    fn is_of_matched(&self) -> bool {
        matches!(self, Self::Update(_) | Self::UpdateAll | Self::Delete)
    }

    fn is_of_new(&self) -> bool {
        matches!(self, Self::Insert { .. } | Self::InsertAll)
    }

    fn is_of_left(&self) -> bool {
        matches!(self, Self::UpdateLeft(_) | Self::DeleteLeft)
    }
}

/// The number by which a row is known.
pub fn tag(row: &Row) -> i64 {
    row[0].as_ref().unwrap().integer()
}

/// The action of the first clause that holds.
fn first<'a>(clauses: &'a [Clause], kind: fn(&Action) -> bool, at: At<'_>) -> Option<&'a Action> {
    let holds = |clause: &&Clause| {
        clause
            .condition
            .as_ref()
            .is_none_or(|condition| condition.holds(at))
    };
    let mut clauses = clauses.iter().filter(|clause| kind(&clause.action));
    clauses.find(holds).map(|clause| &clause.action)
}

/// Whether the only clause for rows that match is `DELETE`: it does not mind by how many they are matched.
fn deletes_whatever_matches(clauses: &[Clause]) -> bool {
    let matched: Vec<&Clause> = clauses
        .iter()
        .filter(|clause| clause.action.is_of_matched())
        .collect();
    matches!(
        matched.as_slice(),
        [Clause {
            condition: None,
            action: Action::Delete
        }]
    )
}

/// The pairs of a row of the target and the rows of the source, if there is one, that the filter keeps.
fn joined<'a>(row: &'a Row, source: Option<&'a Source>, filter: Option<&Cond>, at: At<'a>) -> Vec<At<'a>> {
    let at = At { target: row, ..at };
    let pairs = match source {
        None => vec![at],
        Some(source) => source.rows.iter().map(|source| At { source, ..at }).collect(),
    };
    let keeps = |at: &At<'_>| filter.is_none_or(|filter| filter.holds(*at));
    pairs.into_iter().filter(keeps).collect()
}

/// A statement as the SQL of a table with these columns.
pub struct Sql<'a>(pub &'a Statement, pub &'a [Column]);

impl Sql<'_> {
    fn name(&self, place: usize) -> &str {
        &self.1[place].name
    }

    fn assignments(&self, assignments: &Assignments) -> String {
        let one = |(place, value): &(usize, Assigned)| format!("{} = {value}", self.name(*place));
        assignments.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn insert(&self, values: &Assignments) -> String {
        let names: Vec<_> = values.iter().map(|(place, _)| self.name(*place)).collect();
        let values: Vec<_> = values.iter().map(|(_, value)| value.to_string()).collect();
        format!("INSERT ({}) VALUES ({})", names.join(", "), values.join(", "))
    }

    fn clause(&self, clause: &Clause) -> String {
        let and = clause
            .condition
            .as_ref()
            .map_or_else(String::new, |c| format!(" AND {c}"));
        let (when, then) = match &clause.action {
            Action::Update(values) => ("MATCHED", format!("UPDATE SET {}", self.assignments(values))),
            Action::UpdateAll => ("MATCHED", "UPDATE SET *".to_string()),
            Action::Delete => ("MATCHED", "DELETE".to_string()),
            Action::Insert { values, by_target } => {
                let when = if *by_target {
                    "NOT MATCHED BY TARGET"
                } else {
                    "NOT MATCHED"
                };
                (when, self.insert(values))
            }
            Action::InsertAll => ("NOT MATCHED", "INSERT *".to_string()),
            Action::UpdateLeft(values) => {
                let then = format!("UPDATE SET {}", self.assignments(values));
                ("NOT MATCHED BY SOURCE", then)
            }
            Action::DeleteLeft => ("NOT MATCHED BY SOURCE", "DELETE".to_string()),
        };
        format!(" WHEN {when}{and} THEN {then}")
    }
}

impl fmt::Display for Assigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::To(value) => f.write_str(&plain(value)),
            Self::Default => f.write_str("DEFAULT"),
        }
    }
}

impl fmt::Display for Sql<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alias = |alias: &Option<&str>| alias.map_or_else(String::new, |alias| format!(" AS {alias}"));
        let behind = |keyword: &str, sql: Option<String>| {
            sql.map_or_else(String::new, |sql| format!(" {keyword} {sql}"))
        };
        let condition = |filter: &Option<Cond>| behind("WHERE", filter.as_ref().map(Cond::to_string));
        let table =
            |keyword: &str, source: &Option<Source>| behind(keyword, source.as_ref().map(|s| s.sql.clone()));
        match self.0 {
            Statement::Insert { columns, rows } => {
                let names = |places: &Vec<usize>| {
                    places
                        .iter()
                        .map(|p| self.name(*p))
                        .collect::<Vec<_>>()
                        .join(", ")
                };
                let names = columns
                    .as_ref()
                    .map_or_else(String::new, |places| format!(" ({})", names(places)));
                let row = |row: &Vec<Assigned>| {
                    let values: Vec<_> = row.iter().map(Assigned::to_string).collect();
                    format!("({})", values.join(", "))
                };
                let rows: Vec<_> = rows.iter().map(row).collect();
                write!(f, "INSERT INTO {TARGET}{names} VALUES {}", rows.join(", "))
            }
            Statement::InsertSelect {
                source,
                values,
                filter,
            } => {
                // DataFusion asks for names that differ.
                let named = |(number, value): (usize, &Expr)| format!("{value} AS v{number}");
                let values: Vec<_> = values.iter().enumerate().map(named).collect();
                let (values, source, filter) = (values.join(", "), &source.sql, condition(filter));
                write!(f, "INSERT INTO {TARGET} SELECT {values} FROM {source}{filter}")
            }
            Statement::Delete {
                alias: name,
                using,
                filter,
            } => {
                let (name, using, filter) = (alias(name), table("USING", using), condition(filter));
                write!(f, "DELETE FROM {TARGET}{name}{using}{filter}")
            }
            Statement::Update {
                alias: name,
                assignments,
                from,
                filter,
            } => {
                let (name, from, filter) = (alias(name), table("FROM", from), condition(filter));
                let assignments = self.assignments(assignments);
                write!(f, "UPDATE {TARGET}{name} SET {assignments}{from}{filter}")
            }
            Statement::Merge { source, on, clauses } => {
                let clauses: String = clauses.iter().map(|clause| self.clause(clause)).collect();
                let source = &source.sql;
                write!(
                    f,
                    "MERGE INTO {TARGET} AS {TARGET_ALIAS} USING {source} ON {on}{clauses}"
                )
            }
            Statement::Truncate => write!(f, "TRUNCATE TABLE {TARGET}"),
        }
    }
}

//! Random statements.

use super::conditions::{Scopes, Visible};
use super::expression::{Cond, Expr, INNER, SOURCE_TABLE, Scope, TARGET};
use super::statement::{
    Action, Assigned, Assignments, Clause, SOURCE_ALIAS, Source, State, Statement, TARGET_ALIAS, tag,
};
use super::value::{Column, Of, Row, Value, literal, typed_literal};
use crate::random::Random;

/// More than an INT holds.
const TOO_LARGE: i64 = 3_000_000_000;

/// Fewer rows than this are filled up.
const FEW: usize = 12;

/// More rows than this are not inserted.
const MANY: usize = 90;

/// Makes statements for a state.
pub struct Statements<'a> {
    pub state: &'a State,
    /// The source table.
    pub source_table: &'a State,
    /// Tags from here on were never used.
    pub next_tag: i64,
    pub random: &'a mut Random,
}

/// The columns that tables start with, and those of the source table.
pub fn first_columns() -> Vec<Column> {
    let columns = [
        ("tag", Of::Long),
        ("id", Of::Long),
        ("k", Of::Int),
        ("s", Of::Text),
        ("x", Of::Double),
        ("d", Of::Date),
        ("ts", Of::Stamp),
        ("p", Of::Int),
    ];
    columns.map(|(name, of)| Column::new(name, of)).to_vec()
}

/// A row with this tag.
pub fn row(columns: &[Column], tag: i64, random: &mut Random) -> Row {
    let mut row: Row = columns
        .iter()
        .map(|column| column.of.random(15, random))
        .collect();
    row[0] = Some(Value::Int(tag));
    row
}

impl Statements<'_> {
    pub fn statement(&mut self) -> Statement {
        let rows = self.state.rows.len();
        if rows < FEW && self.random.percent(80) {
            let count = 12 + self.random.below(16);
            return self.insert(count);
        }
        match self.random.below(100) {
            0..=7 if rows < MANY => {
                let count = 1 + self.random.below(9);
                self.insert(count)
            }
            8..=15 if rows < MANY => self.insert_select(),
            16..=40 => self.delete(),
            41..=66 => self.update(),
            67..=97 => self.merge(),
            98 | 99 => Statement::Truncate,
            _ => self.delete(),
        }
    }

    /// Several rows of constants.
    pub fn insert(&mut self, count: usize) -> Statement {
        let columns = &self.state.columns;
        let mut places: Vec<usize> = (1..columns.len()).filter(|_| self.random.percent(85)).collect();
        places.insert(self.random.below(places.len() + 1), 0);
        let names_all = self.random.percent(60);
        if names_all {
            places = (0..columns.len()).collect();
        }
        let mut rows = Vec::new();
        for tag in (self.next_tag..).take(count) {
            let row = row(columns, tag, self.random);
            let value = |place: &usize| match *place {
                0 => Assigned::To(Expr::Literal(row[0].clone(), Of::Long)),
                _ if self.random.percent(2) => Assigned::Default,
                place => Assigned::To(Expr::Literal(row[place].clone(), columns[place].of)),
            };
            rows.push(places.iter().map(value).collect());
        }
        Statement::Insert {
            columns: (!names_all).then_some(places),
            rows,
        }
    }

    fn insert_select(&mut self) -> Statement {
        let source = match self.random.percent(50) {
            true => self.of_target(),
            false => self.of_source_table(),
        };
        let visible = Visible::new(Scope::Source, Some(SOURCE_ALIAS), &source.columns);
        let fresh = self.fresh_tag(&visible);
        let scopes = Scopes::of(vec![visible]);
        let mut values = vec![fresh];
        for column in &self.state.columns[1..] {
            values.push(scopes.expression(column.of, 1, self.random));
        }
        let filter = Some(scopes.condition(2, self.random));
        Statement::InsertSelect {
            source,
            values,
            filter,
        }
    }

    fn delete(&mut self) -> Statement {
        if self.random.percent(4) {
            return Statement::Delete {
                alias: None,
                using: None,
                filter: None,
            };
        }
        if self.random.percent(18) {
            let using = self.source(false, true);
            let scopes = self.both(&using);
            let on = self.on(&scopes, true);
            return Statement::Delete {
                alias: Some(TARGET_ALIAS),
                using: Some(using),
                filter: Some(on),
            };
        }
        let (alias, scopes) = self.target();
        Statement::Delete {
            alias,
            using: None,
            filter: Some(self.where_clause(&scopes)),
        }
    }

    fn update(&mut self) -> Statement {
        if self.random.percent(18) {
            let unique = self.random.percent(70);
            let from = self.source(unique, true);
            let scopes = self.both(&from);
            let equal = Cond::Compare("=", scopes.visible[0].column(1), scopes.visible[1].named("id"));
            let more = scopes.condition(1, self.random);
            return Statement::Update {
                alias: Some(TARGET_ALIAS),
                assignments: self.assignments(&scopes),
                from: Some(from),
                filter: Some(Cond::And(Box::new(equal), Box::new(more))),
            };
        }
        let (alias, scopes) = self.target();
        let mut assignments = self.assignments(&scopes);
        let columns = &self.state.columns;
        let int = (1..columns.len()).find(|place| columns[*place].of == Of::Int);
        if let (Some(place), true) = (int, self.random.percent(9)) {
            let column = Box::new(scopes.visible[0].column(place));
            assignments = vec![(place, Assigned::To(Expr::Integer(column, '+', TOO_LARGE)))];
        }
        let filter = self.random.percent(93).then(|| self.where_clause(&scopes));
        Statement::Update {
            alias,
            assignments,
            from: None,
            filter,
        }
    }

    /// The condition of a DELETE or UPDATE, true for a part of the rows more often than not.
    fn where_clause(&mut self, scopes: &Scopes) -> Cond {
        if self.random.percent(35) {
            return scopes.condition(2, self.random);
        }
        let relations = super::expression::Rows {
            source: &self.source_table.rows,
            target: &self.state.rows,
        };
        let mut condition = scopes.condition(2, self.random);
        for _ in 0..6 {
            let at = |target| super::expression::At {
                target,
                source: &[],
                inner: &[],
                relations,
            };
            let kept = self
                .state
                .rows
                .iter()
                .filter(|row| condition.holds(at(row)))
                .count();
            if kept > 0 && kept * 2 < self.state.rows.len() {
                break;
            }
            condition = scopes.condition(2, self.random);
        }
        condition
    }

    /// One to three columns and their values.
    fn assignments(&mut self, scopes: &Scopes) -> Assignments {
        let mut places: Vec<usize> = (1..self.state.columns.len()).collect();
        let mut assignments = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let place = places.swap_remove(self.random.below(places.len()));
            assignments.push((place, self.assigned(place, scopes)));
        }
        assignments
    }

    fn assigned(&mut self, place: usize, scopes: &Scopes) -> Assigned {
        if self.random.percent(4) {
            return Assigned::Default;
        }
        let of = self.state.columns[place].of;
        Assigned::To(scopes.of_values().expression(of, 2, self.random))
    }

    fn merge(&mut self) -> Statement {
        let by_name = self.random.percent(20);
        let kinds = self.kinds(by_name);
        let inserts = kinds
            .iter()
            .any(|action| matches!(action, Action::Insert { .. } | Action::InsertAll));
        let source = match by_name {
            true => self.same_columns(inserts),
            false => {
                let unique = self.random.percent(55);
                self.source(unique, !inserts)
            }
        };
        let scopes = self.both(&source);
        let on = match by_name {
            true => Cond::Compare("=", scopes.visible[0].column(0), scopes.visible[1].named("tag")),
            false => self.on(&scopes, false),
        };
        let clauses = self.clauses(kinds, &scopes);
        Statement::Merge { source, on, clauses }
    }

    /// Which clauses there are, without their conditions and values.
    fn kinds(&mut self, by_name: bool) -> Vec<Action> {
        let random = &mut *self.random;
        let none = Vec::new;
        loop {
            let (mut matched, mut new, mut left) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..random.below(3) {
                matched.push(match random.below(5) {
                    0 | 1 => Action::Delete,
                    _ if by_name && random.percent(80) => Action::UpdateAll,
                    _ => Action::Update(none()),
                });
            }
            for _ in 0..*random.pick(&[0, 1, 1, 1, 2]) {
                // Values by name are those of the source as they are, tags included.
                let by_target = random.percent(30);
                new.push(match by_name {
                    true => Action::InsertAll,
                    false => Action::Insert {
                        values: Vec::new(),
                        by_target,
                    },
                });
            }
            for _ in 0..*random.pick(&[0, 0, 0, 1, 2]) {
                left.push(match random.percent(50) {
                    true => Action::DeleteLeft,
                    false => Action::UpdateLeft(Vec::new()),
                });
            }
            // In any order, but each kind in its own.
            let mut lists = [matched, new, left];
            let mut all = Vec::new();
            while lists.iter().any(|list| !list.is_empty()) {
                let list = &mut lists[random.below(3)];
                if !list.is_empty() {
                    all.push(list.remove(0));
                }
            }
            if !all.is_empty() {
                return all;
            }
        }
    }

    fn clauses(&mut self, kinds: Vec<Action>, scopes: &Scopes) -> Vec<Clause> {
        let of_target = Scopes::of(vec![scopes.visible[0].clone()]);
        let of_source = Scopes::of(vec![scopes.visible[1].clone()]);
        let group = |action: &Action| match action {
            Action::Update(_) | Action::UpdateAll | Action::Delete => 0,
            Action::Insert { .. } | Action::InsertAll => 1,
            Action::UpdateLeft(_) | Action::DeleteLeft => 2,
        };
        let groups: Vec<usize> = kinds.iter().map(group).collect();
        let mut clauses = Vec::new();
        for (number, kind) in kinds.into_iter().enumerate() {
            let seen = [scopes, &of_source, &of_target][groups[number]];
            // What follows an unconditional clause of its kind would never hold.
            let is_last = !groups[number + 1..].contains(&groups[number]);
            let rarely = groups[number] == 2 && self.random.percent(70);
            let condition =
                (!is_last || rarely || self.random.percent(45)).then(|| seen.condition(1, self.random));
            let action = match kind {
                Action::Update(_) => Action::Update(self.assignments(seen)),
                Action::UpdateLeft(_) => Action::UpdateLeft(self.assignments(seen)),
                Action::Insert { by_target, .. } => {
                    let mut values = vec![(0, Assigned::To(self.fresh_tag(&seen.visible[0])))];
                    for place in 1..self.state.columns.len() {
                        if self.random.percent(75) {
                            values.push((place, self.assigned(place, seen)));
                        }
                    }
                    Action::Insert { values, by_target }
                }
                as_it_is => as_it_is,
            };
            clauses.push(Clause { condition, action });
        }
        clauses
    }

    /// The condition of a join.
    fn on(&mut self, scopes: &Scopes, filtered: bool) -> Cond {
        let [target, source] = [&scopes.visible[0], &scopes.visible[1]];
        let pair = |operator: &'static str, place: usize, name: &str| {
            Cond::Compare(operator, target.column(place), source.named(name))
        };
        let on = match self.random.below(20) {
            0..=9 => pair("=", 1, "id"),
            10..=13 => pair("=", 0, "tag"),
            14 | 15 => Cond::And(Box::new(pair("=", 1, "id")), Box::new(pair("=", 7, "p"))),
            16 => pair("IS NOT DISTINCT FROM", 1, "id"),
            17 => Cond::And(Box::new(pair("=", 2, "k")), Box::new(pair("<", 1, "id"))),
            18 => pair("=", 3, "s"),
            _ => Cond::Known(Some(false)),
        };
        if filtered || self.random.percent(20) {
            return Cond::And(Box::new(on), Box::new(scopes.condition(1, self.random)));
        }
        on
    }

    /// A table to join with; ids are unique where that is asked for, tags unless they may be `doubled`.
    fn source(&mut self, unique_ids: bool, doubled: bool) -> Source {
        match self.random.below(10) {
            0 | 1 if !unique_ids => self.of_source_table(),
            2 if !unique_ids => self.of_target(),
            _ => {
                let columns = first_columns();
                let rows = self.source_rows(&columns, unique_ids, doubled);
                values(columns, rows)
            }
        }
    }

    fn source_rows(&mut self, columns: &[Column], unique_ids: bool, doubled: bool) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for number in 0..i64::try_from(1 + self.random.below(9)).unwrap() {
            let mut known = self.next_tag + number;
            if !self.state.rows.is_empty() && self.random.percent(60) {
                known = tag(self.random.pick(&self.state.rows));
            }
            if !doubled && rows.iter().any(|row| tag(row) == known) {
                continue;
            }
            let row = row(columns, known, self.random);
            if unique_ids && (row[1].is_none() || rows.iter().any(|other| other[1] == row[1])) {
                continue;
            }
            rows.push(row);
        }
        if rows.is_empty() {
            rows.push(row(columns, self.next_tag, self.random));
        }
        rows
    }

    /// Rows with all columns of the target, in another order, whose tags are those of its rows, or new.
    fn same_columns(&mut self, inserts: bool) -> Source {
        let rows = self.source_rows(&self.state.columns.clone(), false, !inserts);
        let mut places: Vec<usize> = (0..self.state.columns.len()).collect();
        for place in (1..places.len()).rev() {
            places.swap(place, self.random.below(place + 1));
        }
        let columns = places.iter().map(|place| self.state.columns[*place].clone());
        let reordered = |row: Row| places.iter().map(|place| row[*place].clone()).collect();
        values(columns.collect(), rows.into_iter().map(reordered).collect())
    }

    /// The source table, or some of its rows.
    fn of_source_table(&mut self) -> Source {
        self.some_of(SOURCE_TABLE, self.source_table.clone())
    }

    /// The target, or some of its rows, with the names that tables start with.
    fn of_target(&mut self) -> Source {
        let mut target = self.state.clone();
        let own = target.columns.len();
        let first = first_columns();
        let renamed = (0..own).any(|place| {
            first
                .get(place)
                .is_some_and(|f| f.name != target.columns[place].name)
        });
        let mut source = self.some_of(TARGET, target.clone());
        if renamed {
            let names: Vec<String> = (0..own)
                .map(|place| {
                    let was = &mut target.columns[place];
                    if let Some(first) = first.get(place) {
                        was.name.clone_from(&first.name);
                    }
                    was.name.clone()
                })
                .collect();
            source.sql = format!("(SELECT * FROM {TARGET}) AS {SOURCE_ALIAS}({})", names.join(", "));
            source.rows.clone_from(&target.rows);
            source.columns = target.columns;
        }
        source
    }

    fn some_of(&mut self, table: &str, of: State) -> Source {
        let State { columns, mut rows } = of;
        if self.random.percent(40) {
            let sql = format!("{table} AS {SOURCE_ALIAS}");
            return Source { columns, rows, sql };
        }
        let scopes = Scopes::of(vec![Visible::new(Scope::Inner, Some(INNER), &columns)]);
        let filter = scopes.condition(1, self.random);
        rows.retain(|inner| {
            filter.holds(super::expression::At {
                target: &[],
                source: &[],
                inner,
                relations: super::expression::Rows {
                    source: &[],
                    target: &[],
                },
            })
        });
        let sql = format!("(SELECT * FROM {table} AS {INNER} WHERE {filter}) AS {SOURCE_ALIAS}");
        Source { columns, rows, sql }
    }

    /// A tag for a row of the source that no row has had.
    fn fresh_tag(&self, source: &Visible) -> Expr {
        Expr::Integer(Box::new(source.named("tag")), '+', self.next_tag)
    }

    /// The target, with its alias now and then.
    fn target(&mut self) -> (Option<&'static str>, Scopes) {
        let alias = self.random.percent(65).then_some(TARGET_ALIAS);
        let scopes = Scopes {
            visible: vec![Visible::new(Scope::Target, alias, &self.state.columns)],
            subqueries: Some((self.source_table.columns.clone(), self.state.columns.clone())),
            of_where: true,
        };
        (alias, scopes)
    }

    /// Target and source.
    fn both(&self, source: &Source) -> Scopes {
        Scopes::of(vec![
            Visible::new(Scope::Target, Some(TARGET_ALIAS), &self.state.columns),
            Visible::new(Scope::Source, Some(SOURCE_ALIAS), &source.columns),
        ])
    }
}

/// Rows as `VALUES`.
fn values(columns: Vec<Column>, rows: Vec<Row>) -> Source {
    let only_nulls: Vec<bool> = (0..columns.len())
        .map(|place| rows.iter().all(|row| row[place].is_none()))
        .collect();
    let cell = |(place, cell): (usize, &Option<Value>)| match only_nulls[place] {
        true => typed_literal(cell, columns[place].of),
        false => literal(cell, columns[place].of),
    };
    let row = |row: &Row| {
        format!(
            "({})",
            row.iter().enumerate().map(cell).collect::<Vec<_>>().join(", ")
        )
    };
    let texts: Vec<_> = rows.iter().map(row).collect();
    let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
    let sql = format!(
        "(VALUES {}) AS {SOURCE_ALIAS}({})",
        texts.join(", "),
        names.join(", ")
    );
    Source { columns, rows, sql }
}

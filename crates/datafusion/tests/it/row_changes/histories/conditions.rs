//! Random expressions and conditions on the columns that a clause sees.

use super::expression::{Aggregate, Cond, Expr, INNER, Scope, Subquery};
use super::value::{Column, Of};
use crate::random::Random;

/// The columns of one table that a clause sees.
#[derive(Debug, Clone)]
pub struct Visible {
    pub scope: Scope,
    pub alias: Option<String>,
    pub columns: Vec<Column>,
}

impl Visible {
    pub fn new(scope: Scope, alias: Option<&str>, columns: &[Column]) -> Self {
        Self {
            scope,
            alias: alias.map(str::to_string),
            columns: columns.to_vec(),
        }
    }

    pub fn column(&self, place: usize) -> Expr {
        let name = &self.columns[place].name;
        Expr::Column {
            scope: self.scope,
            place,
            sql: self
                .alias
                .as_ref()
                .map_or_else(|| name.clone(), |alias| format!("{alias}.{name}")),
        }
    }

    /// The column of this name.
    ///
    /// # Panics
    /// There is none.
    pub fn named(&self, name: &str) -> Expr {
        let place = self.columns.iter().position(|column| column.name == name);
        self.column(place.unwrap_or_else(|| panic!("no column {name}")))
    }

    /// A column of this kind of type.
    fn like(&self, of: Of, random: &mut Random) -> Option<Expr> {
        let fits = |place: &usize| self.columns[*place].of.is_like(of);
        let places: Vec<usize> = (0..self.columns.len()).filter(fits).collect();
        (!places.is_empty()).then(|| self.column(*random.pick(&places)))
    }
}

/// What a clause may name.
#[derive(Debug, Clone)]
pub struct Scopes {
    pub visible: Vec<Visible>,
    /// The columns of the source table and of the target, for subqueries.
    pub subqueries: Option<(Vec<Column>, Vec<Column>)>,
    /// Whether conditions may be IN and EXISTS of subqueries: DataFusion knows them in WHERE, and not in values.
    pub of_where: bool,
}

/// All types of columns.
const TYPES: [Of; 6] = [Of::Int, Of::Long, Of::Text, Of::Double, Of::Date, Of::Stamp];

const PATTERNS: [&str; 8] = ["a%", "%b%", "_", "", "%", "a_", "%é", "it's"];

const TESTS: [&str; 6] = [
    "IS TRUE",
    "IS NOT TRUE",
    "IS FALSE",
    "IS NOT FALSE",
    "IS UNKNOWN",
    "IS NOT UNKNOWN",
];

impl Scopes {
    pub fn of(visible: Vec<Visible>) -> Self {
        Self {
            visible,
            subqueries: None,
            of_where: false,
        }
    }

    /// The same for values.
    pub fn of_values(&self) -> Self {
        Self {
            of_where: false,
            ..self.clone()
        }
    }

    /// A column of one of these types.
    fn column(&self, of: Of, random: &mut Random) -> Option<Expr> {
        let first = random.below(self.visible.len());
        let (before, after) = self.visible.split_at(first);
        after
            .iter()
            .chain(before)
            .find_map(|table| table.like(of, random))
    }

    fn column_or_literal(&self, of: Of, random: &mut Random) -> Expr {
        self.column(of, random)
            .unwrap_or_else(|| Expr::Literal(of.random(0, random), of))
    }

    /// An expression of a type; of another type of integer now and then.
    pub fn expression(&self, of: Of, depth: usize, random: &mut Random) -> Expr {
        let literal = |random: &mut Random| Expr::Literal(of.random(10, random), of);
        if random.percent(35) {
            return literal(random);
        }
        let column = self.column_or_literal(of, random);
        if depth == 0 || random.percent(30) {
            return column;
        }
        let inner = Box::new(column);
        match random.below(8) {
            0..=2 => match of {
                Of::Int | Of::Long => {
                    let operator = *random.pick(&['+', '-', '*', '%']);
                    Expr::Integer(inner, operator, random.between(1, 3))
                }
                Of::Text if random.percent(30) => Expr::Upper(inner),
                Of::Text => Expr::Concat(inner, Box::new(self.expression(of, 0, random))),
                Of::Double if random.percent(40) => {
                    Expr::ToDouble(Box::new(self.column_or_literal(Of::Int, random)))
                }
                Of::Double => Expr::PlusHalf(inner),
                Of::Date | Of::Stamp => Expr::Later(inner, i32::try_from(random.between(1, 40)).unwrap()),
            },
            3 => Expr::Coalesce(inner, Box::new(self.expression(of, depth - 1, random))),
            4 | 5 => Expr::Case(
                Box::new(self.condition(depth - 1, random)),
                Box::new(self.expression(of, depth - 1, random)),
                inner,
            ),
            6 if of.is_integer() && self.subqueries.is_some() => {
                let aggregate = *random.pick(&[Aggregate::Min, Aggregate::Max, Aggregate::Count]);
                // DataFusion knows correlated subqueries with keys that are equal.
                let query = self.subquery(of, aggregate != Aggregate::Count, random);
                match query {
                    Some(query) => Expr::Scalar(aggregate, Box::new(query)),
                    None => *inner,
                }
            }
            _ => *inner,
        }
    }

    /// A condition, of that many levels of AND, OR and NOT at most.
    pub fn condition(&self, depth: usize, random: &mut Random) -> Cond {
        let inner = |random: &mut Random| Box::new(self.condition(depth - 1, random));
        if depth == 0 || random.percent(30) {
            return self.leaf(random);
        }
        match random.below(10) {
            0..=3 => Cond::And(inner(random), inner(random)),
            4..=6 => Cond::Or(inner(random), inner(random)),
            7 | 8 => Cond::Not(inner(random)),
            _ => Cond::Is(inner(random), random.pick::<&str>(&TESTS)),
        }
    }

    fn leaf(&self, random: &mut Random) -> Cond {
        let of = *random.pick(&TYPES);
        let negated = random.percent(30);
        let column = self.column_or_literal(of, random);
        let value = |random: &mut Random| Expr::Literal(of.random(5, random), of);
        match random.below(24) {
            0 => Cond::Null(column, negated),
            1..=3 => {
                let values = (0..1 + random.below(4)).map(|_| value(random)).collect();
                Cond::In(column, values, negated)
            }
            4 | 5 => Cond::Between(column, value(random), value(random), negated),
            6 | 7 => {
                let text = self.column_or_literal(Of::Text, random);
                Cond::Like(text, random.pick::<&str>(&PATTERNS), negated)
            }
            8..=10 => {
                let (a, b) = (self.expression(of, 1, random), self.expression(of, 1, random));
                Cond::Compare(random.pick::<&str>(&["=", "<>", "<", ">="]), a, b)
            }
            11 => Cond::Compare(
                random.pick::<&str>(&["IS DISTINCT FROM", "IS NOT DISTINCT FROM"]),
                column,
                value(random),
            ),
            12 if random.percent(50) => Cond::Known(*random.pick(&[Some(true), Some(false), None])),
            13..=16 if self.of_where && self.subqueries.is_some() => self.of_subquery(negated, random),
            _ => Cond::Compare(
                random.pick::<&str>(&["=", "=", "<>", "<", "<=", ">", ">="]),
                column,
                value(random),
            ),
        }
    }

    fn of_subquery(&self, negated: bool, random: &mut Random) -> Cond {
        let of = *random.pick(&[Of::Long, Of::Int, Of::Text, Of::Date]);
        let exists = random.percent(40);
        // DataFusion has no correlated NOT IN.
        let Some(query) = self.subquery(of, exists && random.percent(60), random) else {
            return Cond::Known(Some(true));
        };
        let query = Box::new(query);
        match exists {
            true => Cond::Exists(query, negated),
            false => Cond::InQuery(self.column_or_literal(of, random), query, negated),
        }
    }

    /// Of a column of this kind of type, in which the target is named now and then.
    fn subquery(&self, of: Of, correlated: bool, random: &mut Random) -> Option<Subquery> {
        let (source, target) = self.subqueries.as_ref()?;
        let of_target = random.percent(35);
        let inner = Visible::new(Scope::Inner, Some(INNER), if of_target { target } else { source });
        let column = inner.like(of, random)?;
        let own = Self::of(vec![inner.clone()]);
        let mut filter = random.percent(70).then(|| own.condition(1, random));
        let outer = self.visible.iter().find(|v| v.alias.is_some());
        if let (true, Some(outer)) = (correlated, outer) {
            let key = *random.pick(&[Of::Long, Of::Int, Of::Text]);
            let (a, b) = (inner.like(key, random)?, outer.like(key, random)?);
            let equal = Cond::Compare("=", a, b);
            filter = Some(match filter {
                Some(filter) => Cond::And(Box::new(equal), Box::new(filter)),
                None => equal,
            });
        }
        Some(Subquery {
            of_target,
            column,
            filter,
        })
    }
}

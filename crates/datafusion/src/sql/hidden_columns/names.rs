//! Which SELECTs of a statement name a metadata column, and which tables they may mean.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem,
    SetExpr, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Location;

use super::Settled;
use crate::metadata_columns::NAMES;
use crate::sql::cte_scopes::CteScopes;
use crate::sql::references::walk;
use crate::sql::table_location;

/// A SELECT that names metadata columns, or around one that does.
#[derive(Debug)]
pub(super) struct NamingSelect {
    names: BTreeSet<Named>,
    /// The tables of its own FROM clause.
    pub(super) factors: Vec<Factor>,
    /// There is a NATURAL JOIN in its FROM clause.
    pub(super) natural: bool,
    /// Set once its FROM clause has been planned.
    pub(super) settled: Option<Settled>,
}

/// A table of a FROM clause.
#[derive(Debug)]
pub(super) struct Factor {
    /// Where its name is written.
    pub(super) location: Location,
    /// Its alias, or the last part of its name.
    label: String,
}

/// A metadata column as it is named.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    Unqualified(String),
    /// By the last part of the qualifier.
    Qualified(String, String),
    /// In a USING, for the table at this place.
    Joined(Location, String),
}

impl NamingSelect {
    /// What each of its tables has to show, as far as is known.
    pub(super) fn wanted(&self) -> Vec<(Location, BTreeSet<String>)> {
        if let Some(settled) = &self.settled {
            let shown = settled.shown.iter();
            return shown.map(|(at, shown)| (*at, shown.columns.clone())).collect();
        }
        let columns = |factor: &Factor| {
            let asked = NAMES.iter().filter(|name| self.asks_for(factor, name, |_| true));
            (factor.location, asked.map(|name| name.to_string()).collect())
        };
        self.factors.iter().map(columns).collect()
    }

    /// Whether the column `name` of `factor` may be meant; `unqualified` says so for names without qualifier.
    pub(super) fn asks_for(
        &self,
        factor: &Factor,
        name: &str,
        unqualified: impl Fn(&String) -> bool,
    ) -> bool {
        self.names.iter().any(|named| match named {
            Named::Unqualified(column) => column == name && unqualified(column),
            Named::Qualified(label, column) => column == name && *label == factor.label,
            Named::Joined(location, column) => column == name && *location == factor.location,
        })
    }
}

/// The SELECTs whose tables may have to show metadata columns, by their number in the statement.
pub(super) fn naming_selects(
    statement: &mut Statement,
    normalize: bool,
) -> Result<BTreeMap<usize, NamingSelect>> {
    let mut collect = Collect {
        scopes: CteScopes::new(normalize),
        selects: vec![],
        frames: vec![],
        derived: false,
    };
    walk(statement, &mut collect)?;
    Ok(collect
        .selects
        .into_iter()
        .enumerate()
        .filter(|(_, select)| !select.names.is_empty() && !select.factors.is_empty())
        .collect())
}

struct Collect {
    scopes: CteScopes,
    selects: Vec<NamingSelect>,
    /// What the visitor is in.
    frames: Vec<Frame>,
    /// The next query is a table of a FROM clause and not LATERAL.
    derived: bool,
}

enum Frame {
    Query {
        /// Its body is a SELECT, to which its ORDER BY belongs.
        is_select: bool,
        /// It does not see the columns of the SELECT right around it.
        derived: bool,
    },
    /// The number of the SELECT, and names in it that mean its output columns.
    Select(usize, BTreeSet<String>),
}

impl Collect {
    /// A name belongs to the SELECT it stands in, and to those around that it can see.
    fn named(&mut self, named: Named) {
        let mut skip = false;
        for frame in self.frames.iter().rev() {
            match frame {
                Frame::Query { derived, .. } => skip = *derived,
                Frame::Select(..) if skip => skip = false,
                Frame::Select(_, output) if matches!(&named, Named::Unqualified(n) if output.contains(n)) => {
                }
                Frame::Select(index, _) => {
                    if let Some(select) = self.selects.get_mut(*index) {
                        select.names.insert(named.clone());
                    }
                }
            }
        }
    }

    fn from(&self, select: &Select) -> NamingSelect {
        let mut found = NamingSelect {
            names: BTreeSet::new(),
            factors: vec![],
            natural: false,
            settled: None,
        };
        for table in &select.from {
            self.joined(table, &mut found);
        }
        found
    }

    fn joined(&self, table: &TableWithJoins, found: &mut NamingSelect) {
        let first = found.factors.len();
        self.factor(&table.relation, found);
        for join in &table.joins {
            self.factor(&join.relation, found);
            match constraint(join) {
                Some(JoinConstraint::Natural) => found.natural = true,
                Some(JoinConstraint::Using(columns)) => {
                    for column in columns.iter().filter_map(|name| self.metadata_column(name)) {
                        for factor in found.factors.iter().skip(first) {
                            found.names.insert(Named::Joined(factor.location, column.clone()));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn factor(&self, factor: &TableFactor, found: &mut NamingSelect) {
        match factor {
            TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. } => {
                let is_cte = match name.0.as_slice() {
                    [part] => part.as_ident().is_some_and(|ident| self.scopes.is_cte(ident)),
                    _ => false,
                };
                let last = name.0.last().and_then(|part| part.as_ident());
                let label = alias.as_ref().map(|alias| &alias.name).or(last);
                if let (false, Some(location), Some(label)) = (is_cte, table_location(name), label) {
                    found.factors.push(Factor {
                        location,
                        label: self.scopes.normal(label),
                    });
                }
            }
            // Under an alias of its own, columns of the same name would collide.
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.joined(table_with_joins, found),
            _ => {}
        }
    }

    fn metadata_column(&self, name: &ObjectName) -> Option<String> {
        match name.0.as_slice() {
            [part] => self.is_metadata_column(part.as_ident()?),
            _ => None,
        }
    }

    fn is_metadata_column(&self, ident: &Ident) -> Option<String> {
        let name = self.scopes.normal(ident);
        NAMES.contains(&name.as_str()).then_some(name)
    }

    /// Names that a SELECT gives to output columns and names nowhere but where that is what they mean.
    fn output_names(&self, select: &Select) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = select
            .projection
            .iter()
            .filter_map(|item| match item {
                SelectItem::ExprWithAlias { alias, .. } => self.is_metadata_column(alias),
                _ => None,
            })
            .collect();
        if !names.is_empty() {
            let mut input = select.clone();
            input.group_by = GroupByExpr::Expressions(vec![], vec![]);
            input.having = None;
            input.qualify = None;
            let mut remove = Remove {
                from: &mut names,
                scopes: &self.scopes,
            };
            let _: ControlFlow<()> = input.visit(&mut remove);
        }
        names
    }
}

/// The constraint of a join, if it has one.
fn constraint(join: &Join) -> Option<&JoinConstraint> {
    use JoinOperator::*;
    match &join.join_operator {
        Join(c) | Inner(c) | Left(c) | LeftOuter(c) | Right(c) | RightOuter(c) | FullOuter(c)
        | CrossJoin(c) | Semi(c) | LeftSemi(c) | RightSemi(c) | Anti(c) | LeftAnti(c) | RightAnti(c)
        | StraightJoin(c) => Some(c),
        _ => None,
    }
}

impl VisitorMut for Collect {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.scopes.enter(query);
        self.frames.push(Frame::Query {
            is_select: matches!(query.body.as_ref(), SetExpr::Select(_)),
            derived: std::mem::take(&mut self.derived),
        });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.scopes.leave();
        while let Some(frame) = self.frames.pop() {
            if matches!(frame, Frame::Query { .. }) {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let output = self.output_names(select);
        self.frames.push(Frame::Select(self.selects.len(), output));
        self.selects.push(self.from(select));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _select: &mut Select) -> ControlFlow<Self::Break> {
        // What follows in the query of a SELECT (ORDER BY) belongs to the SELECT.
        if let [.., query, _] = self.frames.as_slice()
            && !matches!(query, Frame::Query { is_select: true, .. })
        {
            self.frames.pop();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        self.derived = matches!(factor, TableFactor::Derived { lateral: false, .. });
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Identifier(ident) => {
                if let Some(column) = self.is_metadata_column(ident) {
                    self.named(Named::Unqualified(column));
                }
            }
            Expr::CompoundIdentifier(parts) => {
                let found = parts
                    .iter()
                    .enumerate()
                    .find_map(|(at, part)| Some((at, self.is_metadata_column(part)?)));
                if let Some((at, column)) = found {
                    let qualifier = at.checked_sub(1).and_then(|before| parts.get(before));
                    self.named(match qualifier {
                        Some(qualifier) => Named::Qualified(self.scopes.normal(qualifier), column),
                        None => Named::Unqualified(column),
                    });
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Takes the unqualified names it meets out of a set.
struct Remove<'a> {
    from: &'a mut BTreeSet<String>,
    scopes: &'a CteScopes,
}

impl VisitorMut for Remove<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let first = match expr {
            Expr::Identifier(ident) => Some(&*ident),
            Expr::CompoundIdentifier(parts) => parts.first(),
            _ => None,
        };
        if let Some(ident) = first {
            self.from.remove(&self.scopes.normal(ident));
        }
        ControlFlow::Continue(())
    }
}

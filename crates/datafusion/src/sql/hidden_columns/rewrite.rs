//! SELECTs as the planner has to see them for metadata columns to be hidden.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use datafusion::common::{Column, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Select, SelectFlavor,
    SelectItem, SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins, VisitorMut,
    WildcardAdditionalOptions,
};

use super::Settled;
use super::names::NamingSelect;
use crate::sql::references::{or_break, walk};
use crate::sql::statement_planner::from_mark;

/// Takes what the tables show out of the wildcards of the SELECTs that are settled, and marks the FROM clauses of the
/// others.
pub(super) fn rewrite(
    statement: &mut Statement,
    selects: &BTreeMap<usize, NamingSelect>,
    normalize: bool,
) -> Result<()> {
    walk(
        statement,
        &mut Rewrite {
            selects,
            normalize,
            next: 0,
        },
    )
}

struct Rewrite<'a> {
    selects: &'a BTreeMap<usize, NamingSelect>,
    normalize: bool,
    next: usize,
}

impl VisitorMut for Rewrite<'_> {
    type Break = DataFusionError;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let index = self.next;
        self.next += 1;
        match self.selects.get(&index).map(|naming| &naming.settled) {
            None => ControlFlow::Continue(()),
            Some(None) => {
                mark_from(select, index);
                ControlFlow::Continue(())
            }
            Some(Some(settled)) => or_break(hide(select, settled, self.normalize)),
        }
    }
}

/// `FROM a, b JOIN c` as one relation that the planner of the statement recognizes: `FROM (a CROSS JOIN (b JOIN c)) mark`.
fn mark_from(select: &mut Select, index: usize) {
    let mut tables = std::mem::take(&mut select.from).into_iter();
    let Some(mut all) = tables.next() else {
        return;
    };
    for table in tables {
        let relation = if table.joins.is_empty() {
            table.relation
        } else {
            TableFactor::NestedJoin {
                table_with_joins: Box::new(table),
                alias: None,
            }
        };
        all.joins.push(Join {
            relation,
            global: false,
            join_operator: JoinOperator::CrossJoin(JoinConstraint::None),
        });
    }
    select.from = vec![TableWithJoins {
        relation: TableFactor::NestedJoin {
            table_with_joins: Box::new(all),
            alias: Some(from_mark(index)),
        },
        joins: vec![],
    }];
}

fn hide(select: &mut Select, settled: &Settled, normalize: bool) -> Result<()> {
    let shown: BTreeSet<String> = settled
        .shown
        .values()
        .flat_map(|shown| shown.columns.iter().cloned())
        .collect();
    if shown.is_empty() {
        return Ok(());
    }
    if select.projection.is_empty() && select.flavor == SelectFlavor::FromFirstNoSelect {
        select.flavor = SelectFlavor::Standard;
        select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
    }
    let mut projection = vec![];
    for mut item in std::mem::take(&mut select.projection) {
        match &mut item {
            SelectItem::Wildcard(options) => {
                if shown.iter().all(|name| settled.unique.contains(name)) {
                    exclude(options, &shown);
                } else {
                    if has_options(options) {
                        return plan_err!(
                            "`{item}`: several tables show the metadata column {}; name the columns instead of *",
                            shown.iter().cloned().collect::<Vec<_>>().join(", ")
                        );
                    }
                    projection.extend(settled.wildcard.iter().map(column));
                    continue;
                }
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                let qualifier = object_name_to_table_reference(name.clone(), normalize)?;
                let of_it = settled.shown.values().filter(|s| s.qualifier == qualifier);
                exclude(options, &of_it.flat_map(|s| s.columns.iter().cloned()).collect());
            }
            _ => {}
        }
        projection.push(item);
    }
    select.projection = projection;
    Ok(())
}

/// Whether a wildcard says what to do with single columns.
fn has_options(options: &WildcardAdditionalOptions) -> bool {
    let plain = WildcardAdditionalOptions {
        wildcard_token: options.wildcard_token.clone(),
        ..WildcardAdditionalOptions::default()
    };
    *options != plain
}

/// Adds `columns` to the EXCLUDE of a wildcard.
fn exclude(options: &mut WildcardAdditionalOptions, columns: &BTreeSet<String>) {
    if columns.is_empty() {
        return;
    }
    let mut names = match options.opt_exclude.take() {
        None => vec![],
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names,
    };
    for column in columns {
        let already = |name: &ObjectName| match name.0.as_slice() {
            [part] => part.as_ident().is_some_and(|ident| ident.value == *column),
            _ => false,
        };
        if !names.iter().any(already) {
            names.push(ObjectName::from(vec![quoted(column)]));
        }
    }
    options.opt_exclude = Some(ExcludeSelectItem::Multiple(names));
}

fn column(column: &Column) -> SelectItem {
    let name = quoted(&column.name);
    SelectItem::UnnamedExpr(match &column.relation {
        None => Expr::Identifier(name),
        Some(table) => {
            let mut parts: Vec<Ident> = [table.catalog(), table.schema(), Some(table.table())]
                .into_iter()
                .flatten()
                .map(quoted)
                .collect();
            parts.push(name);
            Expr::CompoundIdentifier(parts)
        }
    })
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

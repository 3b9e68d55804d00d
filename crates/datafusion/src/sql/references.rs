//! The table references of a statement: where the cut-out clauses go, what selectors in names mean, and which references
//! cannot have a version.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use datafusion::common::{plan_datafusion_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    self, FromTable, Ident, ObjectName, Query, TableFactor, TableWithJoins, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::Location;

use super::clause::{Clause, Requested, instant, requested, selector, selector_clause};
use super::cte_scopes::CteScopes;

/// Puts the `clauses` back at the tables they follow, rewrites selectors (`t.branch_x`) to versions where no table has
/// the full name, and computes instants with `milliseconds`. Afterwards the versions are all that is left to plan.
///
/// # Errors
/// A clause that follows no table, or a table function, a common table expression or the target of a write; a selector
/// together with a clause or another selector; names with too many parts.
pub(crate) async fn resolve(
    statement: &mut Statement,
    clauses: Vec<Clause>,
    state: &SessionState,
    milliseconds: &(dyn Fn(ast::Expr) -> Result<i64> + Sync),
) -> Result<()> {
    let normalize = state.config().options().sql_parser.enable_ident_normalization;
    let mut attach = Attach {
        clauses: clauses.into_iter().map(|clause| (clause.table, clause)).collect(),
        scopes: CteScopes::new(normalize),
        selectors: BTreeMap::new(),
    };
    walk(statement, &mut attach)?;
    if let Some(clause) = attach.clauses.into_values().min_by_key(|clause| clause.location) {
        return Err(syntax(
            format!(
                "{} must follow the name of a table that is read, or its alias",
                clause.form
            ),
            clause.location,
        ));
    }

    let mut selectors = HashMap::new();
    for (location, selected) in attach.selectors {
        if table_exists(&selected.name, normalize, state).await? {
            continue;
        }
        if let Some(base) = selected.selector_below()
            && !table_exists(&base, normalize, state).await?
        {
            return plan_err!(
                "`{}` has two selectors; a table is read at one version",
                selected.name
            );
        }
        selected.check()?;
        selectors.insert(location, selected.clause);
    }
    walk(
        statement,
        &mut Rewrite {
            selectors,
            milliseconds,
        },
    )
}

async fn table_exists(name: &ObjectName, normalize: bool, state: &SessionState) -> Result<bool> {
    if name.0.len() > 3 {
        return Ok(false);
    }
    let reference = object_name_to_table_reference(name.clone(), normalize)?;
    let table = reference.table().to_string();
    match state.schema_for_ref(reference) {
        Ok(schema) => Ok(schema.table(&table).await?.is_some()),
        Err(_) => Ok(false),
    }
}

/// A table name whose last part reads as a selector.
struct Selected {
    name: ObjectName,
    clause: ast::TableVersion,
    /// There is a time-travel clause as well.
    has_version: bool,
    /// What the selector applies to is a common table expression.
    of_cte: bool,
}

impl Selected {
    /// The name without its selector, if its last part reads as another one.
    fn selector_below(&self) -> Option<ObjectName> {
        let mut parts = self.name.0.clone();
        parts.pop();
        let last = parts.last().filter(|_| parts.len() > 1)?.as_ident()?;
        selector(&last.value).is_some().then_some(ObjectName(parts))
    }

    fn check(&self) -> Result<()> {
        let name = &self.name;
        if self.has_version {
            return plan_err!(
                "`{name}` selects a version by name and by a time-travel clause; use one of them"
            );
        }
        if self.of_cte {
            return plan_err!("`{name}`: {}", no_cte(name));
        }
        Ok(())
    }
}

fn no_cte(name: &ObjectName) -> String {
    format!("time travel is only possible on Iceberg tables; `{name}` is a common table expression here")
}

/// First pass: clauses to their tables.
struct Attach {
    clauses: HashMap<Location, Clause>,
    scopes: CteScopes,
    /// By the place of the name.
    selectors: BTreeMap<Location, Selected>,
}

impl Attach {
    fn table(
        &mut self,
        name: &ObjectName,
        version: &mut Option<ast::TableVersion>,
        is_function: bool,
    ) -> Result<()> {
        let idents: Vec<&Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
        let (Some(first), Some(last)) = (idents.first(), idents.last()) else {
            return Ok(());
        };
        let location = first.span.start;
        if let Some(clause) = self.clauses.remove(&location) {
            if is_function {
                return Err(syntax(
                    format!(
                        "{}: time travel needs a table name; {name}(…) is a table function",
                        clause.form
                    ),
                    clause.location,
                ));
            }
            if version.is_some() {
                return Err(syntax(
                    format!("{} is a second time-travel clause of `{name}`", clause.form),
                    clause.location,
                ));
            }
            *version = Some(clause.version);
        }
        if is_function {
            return Ok(());
        }
        if version.is_some() && idents.len() == 1 && self.scopes.is_cte(first) {
            return plan_err!("{}", no_cte(name));
        }
        if let Some(selected) = selector(&last.value).filter(|_| (2..=4).contains(&idents.len())) {
            self.selectors.insert(
                location,
                Selected {
                    name: name.clone(),
                    clause: selector_clause(&selected),
                    has_version: version.is_some(),
                    of_cte: idents.len() == 2 && self.scopes.is_cte(first),
                },
            );
        } else if idents.len() > 3 {
            return plan_err!(
                "`{name}` has too many parts: a table is named catalog.schema.table, and a fourth part can only select a \
                 version: branch_<name>, tag_<name>, snapshot_id_<id>, at_timestamp_<milliseconds>"
            );
        }
        Ok(())
    }
}

impl VisitorMut for Attach {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.scopes.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<Self::Break> {
        self.scopes.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        let result = match factor {
            TableFactor::Table {
                name, version, args, ..
            } => {
                let is_function = args.is_some();
                self.table(name, version, is_function)
            }
            TableFactor::Function { name, .. } => self.table(name, &mut None, true),
            _ => Ok(()),
        };
        or_break(result)
    }
}

/// Second pass: selectors to versions, instants to constants.
struct Rewrite<'a> {
    selectors: HashMap<Location, ast::TableVersion>,
    milliseconds: &'a (dyn Fn(ast::Expr) -> Result<i64> + Sync),
}

impl VisitorMut for Rewrite<'_> {
    type Break = DataFusionError;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        let TableFactor::Table { name, version, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let location = name
            .0
            .first()
            .and_then(|part| part.as_ident())
            .map(|ident| ident.span.start);
        if let Some(selected) = location.and_then(|location| self.selectors.remove(&location)) {
            name.0.pop();
            *version = Some(selected);
        }
        or_break(self.fix_instant(version))
    }

    fn post_visit_statement(&mut self, statement: &mut ast::Statement) -> ControlFlow<Self::Break> {
        or_break(refuse_versioned_target(statement))
    }
}

impl Rewrite<'_> {
    fn fix_instant(&self, version: &mut Option<ast::TableVersion>) -> Result<()> {
        if let Some(written) = version
            && let (Requested::Timestamp(expr), _) = requested(written)?
        {
            *written = instant((self.milliseconds)(*expr)?);
        }
        Ok(())
    }
}

/// Writes go to the current state of a table; DataFusion's planner would ignore the version of a target.
fn refuse_versioned_target(statement: &ast::Statement) -> Result<()> {
    fn relations(tables: &[TableWithJoins]) -> Vec<&TableFactor> {
        tables.iter().map(|table| &table.relation).collect()
    }
    let (verb, targets) = match statement {
        ast::Statement::Delete(delete) => match &delete.from {
            FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables) => {
                ("DELETE", relations(tables))
            }
        },
        ast::Statement::Update(update) => ("UPDATE", vec![&update.table.relation]),
        ast::Statement::Merge(merge) => ("MERGE", vec![&merge.table]),
        _ => return Ok(()),
    };
    for target in targets {
        if let TableFactor::Table {
            name,
            version: Some(_),
            ..
        } = target
        {
            return Err(plan_datafusion_err!(
                "{verb} cannot write to a version of `{name}`: a write goes to the current state of a table"
            ));
        }
    }
    Ok(())
}

/// Visits the parts of a DataFusion statement that hold table references.
pub(super) fn walk<V: VisitorMut<Break = DataFusionError>>(
    statement: &mut Statement,
    visitor: &mut V,
) -> Result<()> {
    let flow = match statement {
        Statement::Statement(statement) => statement.as_mut().visit(visitor),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.visit(visitor),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => return walk(&mut explain.statement, visitor),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

pub(super) fn or_break(result: Result<()>) -> ControlFlow<DataFusionError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

fn syntax(message: String, location: Location) -> DataFusionError {
    ParserError::ParserError(format!("{message}{location}")).into()
}

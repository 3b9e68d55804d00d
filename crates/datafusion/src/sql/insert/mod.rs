//! `INSERT INTO` and `INSERT OVERWRITE` on Iceberg tables.
//!
//! DataFusion's planner casts what is inserted without a word, and knows neither `BY NAME`, `PARTITION (…)`, branches nor
//! defaults. So the query of the statement is planned alone, as any query is, and what goes where is decided here; values
//! are stored by [`crate::write::assignment`]. `by_name` takes the words out of the tokens, `values` reads VALUES by the types of the columns that they go to.

mod by_name;
pub(super) mod values;

use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Explain, LogicalPlan, PlanType, ToStringifiedPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, BinaryOperator, Expr, Ident, Insert, TableObject};
use datafusion::sql::sqlparser::tokenizer::Location;
use drumlin_format::transform::Transform;
use drumlin_format::types::NestedField;
use drumlin_table::predicate::{FieldRef, Predicate};

use super::constant::{constant, number};
use super::ddl::syntax;
use super::loaded::load_once;
use super::target::Target;
use crate::scalar::from_scalar;
use crate::write::assignment::{decimal, literal};
use crate::write::{Given, PartitionOverwriteMode, WriteMode, given_columns, insert_plan};

pub(super) use by_name::take_by_name;

/// An INSERT whose query is planned elsewhere.
#[derive(Debug)]
pub(super) struct Insertion {
    target: Target,
    columns: Vec<Ident>,
    by_name: bool,
    overwrite: bool,
    partition: Vec<Expr>,
    /// The rows of VALUES, if the query is nothing else.
    rows: Option<Vec<Vec<Expr>>>,
}

/// Takes the INSERT out of a statement, if it is one on an Iceberg table: the query stays. The state is one in which the table
/// is loaded once, for the INSERT and its query.
///
/// # Errors
/// A table that is only read, a branch that is not there, `BY NAME` (at this place) on other tables.
pub(super) async fn take(
    statement: &mut Statement,
    by_name: Option<Location>,
    state: SessionState,
) -> Result<(SessionState, Option<Insertion>)> {
    let inner = innermost(statement);
    let found = match inner {
        Statement::Statement(statement) => match statement.as_mut() {
            ast::Statement::Insert(insert) if is_plain(insert) => Some(insert),
            _ => None,
        },
        _ => None,
    };
    let refused = |by_name: Option<Location>| match by_name {
        Some(at) => Err(syntax(
            "BY NAME is only possible where rows are inserted into an Iceberg table".into(),
            at,
        )),
        None => Ok(()),
    };
    let Some(insert) = found else {
        refused(by_name)?;
        return Ok((state, None));
    };
    let once = load_once(state.clone());
    let TableObject::TableName(name) = &insert.table else {
        return Ok((state, None));
    };
    let Some(target) = Target::find("INSERT INTO", name, &once).await? else {
        refused(by_name)?;
        return Ok((state, None));
    };
    let columns = insert
        .columns
        .iter()
        .map(|column| match column.0.as_slice() {
            [part] => match part.as_ident() {
                Some(ident) => Ok(ident.clone()),
                None => plan_err!("`{column}` is not the name of a column"),
            },
            _ => plan_err!("`{column}`: a column of the table has one name"),
        })
        .collect::<Result<Vec<_>>>()?;
    if let Some(at) = by_name
        && !columns.is_empty()
    {
        return Err(syntax(
            "BY NAME and a list of columns exclude each other".into(),
            at,
        ));
    }
    let Some(mut source) = insert.source.take() else {
        return Ok((state, None));
    };
    let insertion = Insertion {
        columns,
        by_name: by_name.is_some(),
        overwrite: insert.overwrite,
        partition: insert.partitioned.take().unwrap_or_default(),
        rows: match by_name {
            None => values::take(&mut source),
            Some(_) => None,
        },
        target,
    };
    *inner = Statement::Statement(Box::new(ast::Statement::Query(source)));
    Ok((once, Some(insertion)))
}

pub(super) fn innermost(statement: &mut Statement) -> &mut Statement {
    match statement {
        Statement::Explain(explain) => innermost(&mut explain.statement),
        other => other,
    }
}

/// Whether the statement has no clause beyond those that are understood here; DataFusion refuses the others by name.
pub(super) fn is_plain(insert: &Insert) -> bool {
    insert.optimizer_hints.is_empty()
        && insert.or.is_none()
        && !insert.ignore
        && insert.table_alias.is_none()
        && insert.assignments.is_empty()
        && insert.after_columns.is_empty()
        && insert.on.is_none()
        && insert.returning.is_none()
        && insert.output.is_none()
        && !insert.replace_into
        && insert.priority.is_none()
        && insert.insert_alias.is_none()
        && insert.settings.is_none()
        && insert.format_clause.is_none()
        && insert.multi_table_insert_type.is_none()
        && insert.multi_table_into_clauses.is_empty()
        && insert.source.is_some()
}

impl Insertion {
    /// The plan of the statement, whose query has this one.
    pub(super) fn plan(self, query: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
        match query {
            LogicalPlan::Explain(explain) => {
                let plan = self.insert(explain.plan.as_ref().clone(), state)?;
                Ok(LogicalPlan::Explain(Explain {
                    stringified_plans: vec![plan.to_stringified(PlanType::InitialLogicalPlan)],
                    plan: plan.into(),
                    ..explain
                }))
            }
            LogicalPlan::Analyze(mut analyze) => {
                analyze.input = self.insert(analyze.input.as_ref().clone(), state)?.into();
                Ok(LogicalPlan::Analyze(analyze))
            }
            query => self.insert(query, state),
        }
    }

    fn insert(self, query: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
        let config = state.config_options();
        let table = self.target.provider.table().clone();
        let name = table.name();
        let columns = table.schema().fields();
        let constants = self.constants(columns, state)?;
        let listed = self.listed(columns, &constants, state)?;
        let query = match &self.rows {
            Some(rows) => {
                let targets: Vec<&NestedField> = match &listed {
                    Some(listed) => listed.iter().filter_map(|i| columns.get(*i)).collect(),
                    None => columns
                        .iter()
                        .zip(&constants)
                        .filter(|(_, constant)| constant.is_none())
                        .map(|(column, _)| column)
                        .collect(),
                };
                values::plan(rows, &targets, name, state)?
            }
            None => query,
        };
        let found = query.schema().fields().len();
        let given = match listed {
            _ if self.by_name => by_query_names(&query, columns, &constants, name)?,
            Some(listed) => {
                if listed.len() != found {
                    return plan_err!(
                        "table `{name}`: {} columns are named, the query has {found}",
                        listed.len()
                    );
                }
                let of = |(i, constant): (usize, &Option<ScalarValue>)| match constant {
                    Some(value) => Given::Constant(value.clone()),
                    None => match listed.iter().position(|listed| *listed == i) {
                        Some(position) => Given::Column(position),
                        None => Given::Default,
                    },
                };
                constants.iter().enumerate().map(of).collect()
            }
            None => given_columns(&constants, columns, found, name)?,
        };
        let mode = self.mode(columns, &constants, state)?;
        let op = match self.overwrite {
            true => InsertOp::Overwrite,
            false => InsertOp::Append,
        };
        let provider = self.target.provider.with_mode(mode);
        insert_plan(query, &given, provider, self.target.reference, op, config)
    }

    /// By column: the value that the PARTITION clause gives to it.
    fn constants(&self, columns: &[NestedField], state: &SessionState) -> Result<Vec<Option<ScalarValue>>> {
        let mut constants = vec![None; columns.len()];
        let mut named = Vec::new();
        for term in &self.partition {
            let (ident, value) = match term {
                Expr::Identifier(ident) => (ident, None),
                Expr::BinaryOp {
                    left,
                    op: BinaryOperator::Eq,
                    right,
                } => match left.as_ref() {
                    Expr::Identifier(ident) => (ident, Some(right.as_ref())),
                    _ => return plan_err!("PARTITION ({term}): expected column = constant"),
                },
                _ => return plan_err!("PARTITION ({term}): expected column = constant"),
            };
            let index = self.column(ident, columns, state)?;
            let Some(column) = columns.get(index) else {
                continue;
            };
            self.must_be_partition(column)?;
            if named.contains(&index) {
                return plan_err!("PARTITION names the column `{}` twice", column.name);
            }
            named.push(index);
            if let Some(value) = value {
                let scalar = stored_constant(value, column, state)?;
                if let Some(constant) = constants.get_mut(index) {
                    *constant = Some(scalar);
                }
            }
        }
        Ok(constants)
    }

    fn must_be_partition(&self, column: &NestedField) -> Result<()> {
        let spec = self.target.provider.table().metadata().default_spec();
        let is_field = spec
            .fields()
            .iter()
            .any(|field| field.transform == Transform::Identity && field.source_id() == Some(column.id));
        match is_field {
            true => Ok(()),
            false => plan_err!(
                "PARTITION: table `{}` is not partitioned by `{}` itself",
                self.target.provider.table().name(),
                column.name
            ),
        }
    }

    /// The columns that the statement lists, by their place in the table.
    fn listed(
        &self,
        columns: &[NestedField],
        constants: &[Option<ScalarValue>],
        state: &SessionState,
    ) -> Result<Option<Vec<usize>>> {
        if self.columns.is_empty() {
            return Ok(None);
        }
        let mut listed = Vec::with_capacity(self.columns.len());
        for ident in &self.columns {
            let index = self.column(ident, columns, state)?;
            if listed.contains(&index) {
                return Err(syntax(
                    format!("the column `{}` is listed twice", ident.value),
                    ident.span.start,
                ));
            }
            if constants.get(index).is_some_and(Option::is_some) {
                return plan_err!("the column `{}` has a value by PARTITION already", ident.value);
            }
            listed.push(index);
        }
        Ok(Some(listed))
    }

    fn column(&self, ident: &Ident, columns: &[NestedField], state: &SessionState) -> Result<usize> {
        let normalize = state.config_options().sql_parser.enable_ident_normalization;
        let name = match ident.quote_style {
            None if normalize => ident.value.to_lowercase(),
            _ => ident.value.clone(),
        };
        columns
            .iter()
            .position(|column| column.name == name)
            .ok_or_else(|| {
                let known: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                syntax(
                    format!(
                        "table `{}` has no column `{name}`; it has {}",
                        self.target.provider.table().name(),
                        known.join(", ")
                    ),
                    ident.span.start,
                )
            })
    }

    /// What happens to the rows of the table.
    fn mode(
        &self,
        columns: &[NestedField],
        constants: &[Option<ScalarValue>],
        state: &SessionState,
    ) -> Result<Option<WriteMode>> {
        if !self.overwrite {
            return Ok(Some(WriteMode::Append));
        }
        let schema = self.target.provider.table().schema();
        let mut rows = Predicate::AlwaysTrue;
        for (column, constant) in columns.iter().zip(constants) {
            let Some(constant) = constant else {
                continue;
            };
            let field = match FieldRef::new(schema, column.id) {
                Ok(field) => field,
                Err(why) => return plan_err!("PARTITION: column `{}`: {why:?}", column.name),
            };
            let condition = match from_scalar(constant, field.primitive()) {
                _ if constant.is_null() => Predicate::is_null(field),
                Some(value) if value.is_nan() => Predicate::is_nan(field),
                Some(value) => Predicate::eq(field, value),
                None => return plan_err!("PARTITION: {constant} is no value of column `{}`", column.name),
            };
            rows = rows.and(condition);
        }
        Ok(Some(match PartitionOverwriteMode::of(state.config_options())? {
            PartitionOverwriteMode::Static => WriteMode::OverwriteRows(rows),
            PartitionOverwriteMode::Dynamic => WriteMode::OverwritePartitions,
        }))
    }
}

/// A constant in the type of a column.
fn stored_constant(value: &Expr, column: &NestedField, state: &SessionState) -> Result<ScalarValue> {
    if let Some(exact) = number(value).and_then(|number| decimal(&number, &column.field_type)) {
        return Ok(exact);
    }
    let scalar = constant(value.clone(), state)?;
    if scalar.is_null() && column.required {
        return plan_err!("PARTITION: column `{}` is NOT NULL", column.name);
    }
    let zone = state.config_options().execution.time_zone.as_deref();
    match literal(&scalar, column, zone.unwrap_or("+00:00")) {
        Some(stored) => Ok(stored),
        None => plan_err!(
            "PARTITION: {value} is no value of column `{}`, which is of type {}",
            column.name,
            column.field_type
        ),
    }
}

/// Columns of the query by their names.
fn by_query_names(
    query: &LogicalPlan,
    columns: &[NestedField],
    constants: &[Option<ScalarValue>],
    table: &str,
) -> Result<Vec<Given>> {
    let mut given: Vec<Given> = constants
        .iter()
        .map(|constant| match constant {
            Some(value) => Given::Constant(value.clone()),
            None => Given::Default,
        })
        .collect();
    for (index, field) in query.schema().fields().iter().enumerate() {
        let position = columns.iter().position(|column| column.name == *field.name());
        let Some(slot) = position.and_then(|position| given.get_mut(position)) else {
            let known: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            return plan_err!(
                "BY NAME: table `{table}` has no column `{}`; it has {}",
                field.name(),
                known.join(", ")
            );
        };
        match slot {
            Given::Default => *slot = Given::Column(index),
            Given::Column(_) => return plan_err!("BY NAME: the query has two columns `{}`", field.name()),
            Given::Constant(_) => {
                return plan_err!(
                    "BY NAME: the column `{}` has a value by PARTITION already",
                    field.name()
                );
            }
        }
    }
    Ok(given)
}

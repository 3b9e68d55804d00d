//! Which column gets which value.

use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr as PlanExpr, lit};
use datafusion::sql::sqlparser::ast::{Assignment, AssignmentTarget, Expr, Ident, ObjectName, SelectItem};
use drumlin_format::types::NestedField;

use super::parse::item;
use crate::sql::constant::number;
use crate::sql::insert::values::is_default;
use crate::sql::target::Target;
use crate::write::assignment::decimal;
use crate::write::default_value;

/// Where the value of a column comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Assigned {
    /// The next expression of the SELECT.
    Selected,
    /// The same for all rows, in the type of the column.
    Constant(ScalarValue),
}

/// By column of the table: what an UPDATE gives it. Expressions go to the items of a SELECT.
///
/// # Errors
/// A column that is not there or is named twice, a field of a struct.
pub(super) fn assigned(
    verb: &str,
    assignments: Vec<Assignment>,
    target: &Target,
    alias: Option<&Ident>,
    state: &SessionState,
    items: &mut Vec<SelectItem>,
) -> Result<Vec<Option<Assigned>>> {
    let columns = target.provider.table().schema().fields();
    let mut given: Vec<Option<Expr>> = vec![None; columns.len()];
    for assignment in assignments {
        let name = match &assignment.target {
            AssignmentTarget::ColumnName(name) => name,
            AssignmentTarget::Tuple(_) => {
                return plan_err!(
                    "{verb} {}: columns are assigned one by one, not as tuples",
                    target.name
                );
            }
        };
        let index = column(verb, name, target, alias, state)?;
        if let Some(given) = given.get_mut(index)
            && given.replace(assignment.value).is_some()
        {
            return plan_err!("{verb} {}: the column `{name}` is assigned twice", target.name);
        }
    }
    // In the order of the table, in which they are taken out of the plan again.
    let table = target.provider.table().name();
    given
        .into_iter()
        .zip(columns)
        .map(|(value, column)| {
            value
                .map(|value| value_of(value, column, table, items))
                .transpose()
        })
        .collect()
}

/// A value that is written for a column.
pub(super) fn value_of(
    value: Expr,
    column: &NestedField,
    table: &str,
    items: &mut Vec<SelectItem>,
) -> Result<Assigned> {
    if is_default(&value) {
        return Ok(Assigned::Constant(default_value(column, table)?));
    }
    // As written: a literal with a point is a floating-point number to the planner.
    if let Some(exact) = number(&value).and_then(|number| decimal(&number, &column.field_type)) {
        return Ok(Assigned::Constant(exact));
    }
    items.push(item(value, items.len()));
    Ok(Assigned::Selected)
}

/// The place of a column that is named in a list of columns or on the left of an assignment.
pub(super) fn column(
    verb: &str,
    name: &ObjectName,
    target: &Target,
    alias: Option<&Ident>,
    state: &SessionState,
) -> Result<usize> {
    let normalize = state.config_options().sql_parser.enable_ident_normalization;
    let normal = |ident: &Ident| match ident.quote_style {
        None if normalize => ident.value.to_lowercase(),
        _ => ident.value.clone(),
    };
    let idents: Vec<String> = name
        .0
        .iter()
        .filter_map(|part| part.as_ident())
        .map(normal)
        .collect();
    let columns = target.provider.table().schema().fields();
    let known = |name: &String| columns.iter().position(|column| column.name == *name);
    let qualifier: Vec<String> = match alias {
        Some(alias) => vec![normal(alias)],
        None => target
            .name
            .0
            .iter()
            .filter_map(|part| part.as_ident())
            .map(normal)
            .collect(),
    };
    let found = match idents.as_slice() {
        [column] => known(column),
        [qualified @ .., column] if qualifier.ends_with(qualified) => known(column),
        [first, ..] if known(first).is_some() => {
            return plan_err!(
                "{verb} {}: `{name}`: fields of a struct are not assigned alone; assign the whole column `{first}`",
                target.name
            );
        }
        _ => None,
    };
    match found {
        Some(found) => Ok(found),
        None => {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            plan_err!(
                "{verb} {}: the table has no column `{name}`; it has {}",
                target.name,
                names.join(", ")
            )
        }
    }
}

/// The values of the columns, those of the SELECT taken from its plan in order.
pub(super) fn values(
    assigned: Vec<Option<Assigned>>,
    selected: &mut impl Iterator<Item = PlanExpr>,
) -> Result<Vec<Option<PlanExpr>>> {
    assigned
        .into_iter()
        .map(|assigned| match assigned {
            None => Ok(None),
            Some(Assigned::Constant(value)) => Ok(Some(lit(value))),
            Some(Assigned::Selected) => match selected.next() {
                Some(value) => Ok(Some(value)),
                None => plan_err!("the SELECT of the values has too few columns"),
            },
        })
        .collect()
}

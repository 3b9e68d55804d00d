//! Store assignment as an expression.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use drumlin_format::types::NestedField;
use drumlin_table::Error;
use drumlin_table::arrow::column_to_arrow;

use super::convert::{Refusal, converted};
use super::rules::may_be_stored;
use crate::error::external;

/// `store(value)`: the value in the type of a column, unchanged, or an error.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Store {
    table: String,
    column: FieldRef,
    /// The type as the table calls it.
    of: String,
    signature: Signature,
}

/// The expression that stores values of type `from` in a column; a value that already has the type of the column is
/// left as it is.
///
/// # Errors
/// No value of this type may be stored in the column.
pub(crate) fn stored(expr: Expr, from: &DataType, column: &NestedField, table: &str) -> Result<Expr> {
    let target = column_to_arrow(column);
    if from == target.data_type() {
        return Ok(expr);
    }
    if !may_be_stored(from, &target) {
        return plan_err!(
            "table `{table}`: column `{}` is of type {} and takes no values of type {from}; cast them to one that it takes",
            column.name,
            column.field_type
        );
    }
    let function = Store {
        table: table.to_string(),
        of: column.field_type.to_string(),
        column: target,
        signature: Signature::any(1, Volatility::Immutable),
    };
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(
        Arc::new(ScalarUDF::new_from_impl(function)),
        vec![expr],
    )))
}

/// An array in the very type of a column: constants lose what is said of the elements of their lists.
pub(crate) fn in_type(array: &ArrayRef, column: &Field, table: &str) -> Result<ArrayRef> {
    if array.data_type() == column.data_type() {
        return Ok(Arc::clone(array));
    }
    converted(array, column, "+00:00").map_err(|refusal| {
        external(Error::Row {
            table: table.to_string(),
            reason: format!("column `{}`: {refusal:?}", column.name()),
        })
    })
}

/// Whether an expression, below its alias, is already one of [`stored`].
pub(crate) fn is_assigned(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_assigned(&alias.expr),
        Expr::ScalarFunction(call) => call.func.inner().is::<Store>(),
        _ => false,
    }
}

impl ScalarUDFImpl for Store {
    fn name(&self) -> &str {
        "store"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.column.data_type().clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(
            self.name(),
            self.column.data_type().clone(),
            nullable,
        )))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zone = args
            .config_options
            .execution
            .time_zone
            .as_deref()
            .unwrap_or("+00:00");
        let Some(value) = args.args.first() else {
            return plan_err!("store takes one value");
        };
        let array = match value {
            ColumnarValue::Array(array) => Arc::clone(array),
            ColumnarValue::Scalar(scalar) => scalar.to_array()?,
        };
        let stored = converted(&array, &self.column, zone).map_err(|refusal| self.error(refusal))?;
        Ok(match value {
            ColumnarValue::Array(_) => ColumnarValue::Array(stored),
            // A scalar of a list does not keep what is said of its elements.
            ColumnarValue::Scalar(_) if stored.data_type().is_nested() => {
                let first = UInt64Array::from(vec![0; args.number_rows]);
                ColumnarValue::Array(take(&stored, &first, None)?)
            }
            ColumnarValue::Scalar(_) => {
                ColumnarValue::Scalar(datafusion::common::ScalarValue::try_from_array(&stored, 0)?)
            }
        })
    }
}

impl Store {
    fn error(&self, refusal: Refusal) -> DataFusionError {
        let column = self.column.name();
        let reason = match refusal {
            Refusal::Value(value) => format!(
                "column `{column}` is of type {}, in which the value {value} would not arrive unchanged",
                self.of
            ),
            Refusal::Arrow(error) => format!("column `{column}` is of type {}: {error}", self.of),
        };
        external(Error::Row {
            table: self.table.clone(),
            reason,
        })
    }
}

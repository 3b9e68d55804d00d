//! Functions of SQL on variants, named and behaving as those of Spark.
//!
//! - `get`: `variant_get(v, path [, type])`, `try_variant_get(v, path [, type])`
//! - `json`: `to_json(v)`, also named `variant_to_json`; `parse_json(text)`
//! - `target`: the types that `variant_get` knows

mod get;
mod json;
mod target;

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, StructArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result, ScalarValue, plan_datafusion_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::shredding::is_stored_variant;

/// All functions on variants.
pub fn all() -> Vec<Arc<ScalarUDF>> {
    [
        ScalarUDF::from(get::VariantGet::new()),
        ScalarUDF::from(get::VariantGet::new_try()),
        ScalarUDF::from(json::ToJson::new()),
        ScalarUDF::from(json::ParseJson::new()),
    ]
    .map(Arc::new)
    .into()
}

/// That the argument of the function is a variant.
fn expect_variant(function: &str, argument: &DataType) -> Result<()> {
    match argument {
        DataType::Null => Ok(()),
        other if is_stored_variant(other) => Ok(()),
        other => plan_err!("{function} takes a variant, not {other}"),
    }
}

/// The argument as variants; `None` if it is null in all rows, without a type.
fn as_variants(array: &ArrayRef) -> Result<Option<&StructArray>> {
    match array.data_type() {
        DataType::Null => Ok(None),
        _ => match array.as_struct_opt() {
            Some(array) => Ok(Some(array)),
            None => plan_err!("{} is not a variant", array.data_type()),
        },
    }
}

/// The function of the first argument, a constant where that is one.
fn of_first(
    function: &str,
    args: &ScalarFunctionArgs,
    of: impl FnOnce(&ArrayRef) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    match args.args.first() {
        Some(ColumnarValue::Array(array)) => Ok(ColumnarValue::Array(of(array)?)),
        Some(ColumnarValue::Scalar(scalar)) => {
            let array = of(&scalar.to_array()?)?;
            Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
        }
        None => Err(missing_argument(function)),
    }
}

fn expect_arguments<'a, T>(function: &str, arguments: &'a [T], least: usize, most: usize) -> Result<&'a [T]> {
    match (least..=most).contains(&arguments.len()) {
        true => Ok(arguments),
        false if least == most => plan_err!("{function} takes {least} arguments, not {}", arguments.len()),
        false => plan_err!(
            "{function} takes {least} to {most} arguments, not {}",
            arguments.len()
        ),
    }
}

fn missing_argument(function: &str) -> DataFusionError {
    plan_datafusion_err!("{function} lacks an argument")
}

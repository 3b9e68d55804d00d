//! `to_json(v)` and `parse_json(text)`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, StringBuilder, StructArray, new_null_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use parquet_variant_compute::json_to_variant;

use super::super::shredding::unshredded;
use super::super::{Variants, variant_field};
use super::{as_variants, expect_arguments, expect_variant, of_first};

/// `to_json(v)`: a variant as text.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ToJson {
    signature: Signature,
    aliases: Vec<String>,
}

impl ToJson {
    /// The function.
    pub fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            aliases: vec!["variant_to_json".to_string()],
        }
    }
}

impl ScalarUDFImpl for ToJson {
    fn name(&self) -> &str {
        "to_json"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        for argument in expect_arguments(self.name(), arguments, 1, 1)? {
            expect_variant(self.name(), argument)?;
        }
        Ok(arguments.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        of_first(self.name(), &args, texts)
    }
}

/// Variants as JSON.
fn texts(array: &ArrayRef) -> Result<ArrayRef> {
    let mut texts = StringBuilder::new();
    match as_variants(array)? {
        Some(array) => {
            let variants = Variants::try_new(array)?;
            let mut total = 0usize;
            for row in 0..variants.len() {
                let json = variants.json(row)?;
                total = total.saturating_add(json.as_ref().map_or(0, String::len));
                if i32::try_from(total).is_err() {
                    return exec_err!("the JSON of a batch takes 2 GiB or more: set a smaller batch size");
                }
                texts.append_option(json);
            }
        }
        None => texts.append_nulls(array.len()),
    }
    Ok(Arc::new(texts.finish()))
}

/// `parse_json(text)`: JSON as a variant.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ParseJson {
    signature: Signature,
}

impl ParseJson {
    /// The function.
    pub fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for ParseJson {
    fn name(&self) -> &str {
        "parse_json"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match expect_arguments(self.name(), arguments, 1, 1)? {
            [DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View] => Ok(arguments.to_vec()),
            [DataType::Null] => Ok(vec![DataType::Utf8]),
            _ => plan_err!("{} takes text", self.name()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(variant_field(self.name()).data_type().clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(variant_field(self.name()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        of_first(self.name(), &args, parsed)
    }
}

/// JSON as variants.
fn parsed(texts: &ArrayRef) -> Result<ArrayRef> {
    let wanted = variant_field("value");
    let DataType::Struct(fields) = wanted.data_type() else {
        return exec_err!("a variant is not {}", wanted.data_type());
    };
    if texts.null_count() == texts.len() {
        return Ok(new_null_array(wanted.data_type(), texts.len()));
    }
    let parsed: StructArray = json_to_variant(&cast(texts, &DataType::Utf8)?)?.into();
    Ok(Arc::new(unshredded(&parsed, fields, None)?))
}

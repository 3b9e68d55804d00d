//! `variant_get(v, path [, type])` and `try_variant_get(v, path [, type])`.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BinaryBuilder, StringArray, StringBuilder, StructArray, new_null_array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::compute::{CastOptions, cast_with_options, is_not_null};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use parquet_variant_compute::{GetOptions, variant_get};

use super::super::encoding::{EMPTY_METADATA, NULL, Value, primitive};
use super::super::path::{Step, follow, parse};
use super::super::values::Variant;
use super::super::{Variants, variant_field};
use super::target::Target;
use super::{as_variants, expect_arguments, expect_variant, missing_argument, of_first};

/// What is at a path in a variant, as a type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct VariantGet {
    signature: Signature,
    /// Whether what is not of the type is null; otherwise it is an error.
    lenient: bool,
}

impl VariantGet {
    /// `variant_get`: what is not of the type is an error.
    pub fn new() -> Self {
        Self {
            signature: Signature::user_defined(Volatility::Immutable),
            lenient: false,
        }
    }

    /// `try_variant_get`: what is not of the type is null.
    pub fn new_try() -> Self {
        Self {
            lenient: true,
            ..Self::new()
        }
    }
}

impl ScalarUDFImpl for VariantGet {
    fn name(&self) -> &str {
        match self.lenient {
            true => "try_variant_get",
            false => "variant_get",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        let Some((variant, texts)) = expect_arguments(self.name(), arguments, 2, 3)?.split_first() else {
            return Err(missing_argument(self.name()));
        };
        expect_variant(self.name(), variant)?;
        let mut coerced = vec![variant.clone()];
        coerced.extend(texts.iter().map(|_| DataType::Utf8));
        Ok(coerced)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!("the type of {} is that of its third argument", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        if let Some(Some(path)) = args.scalar_arguments.get(1) {
            parse(self.text(path, "path")?)?;
        }
        match args.scalar_arguments.get(2) {
            None => Ok(Target::Variant.field(self.name())),
            Some(Some(name)) => Ok(Target::named(self.text(name, "type")?)?.field(self.name())),
            Some(None) => plan_err!("the type that {} returns has to be a constant", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = |place: usize, what: &str| match args.args.get(place) {
            Some(ColumnarValue::Scalar(scalar)) => self.text(scalar, what).map(Some),
            Some(ColumnarValue::Array(_)) => {
                plan_err!("the {what} that {} takes has to be a constant", self.name())
            }
            None => Ok(None),
        };
        let path = constant(1, "path")?.ok_or_else(|| missing_argument(self.name()))?;
        let target = match constant(2, "type")? {
            Some(name) => Target::named(name)?,
            None => Target::Variant,
        };
        of_first(self.name(), &args, |array| match as_variants(array)? {
            Some(array) => self.get(array, path, &target),
            None => Ok(new_null_array(target.field(self.name()).data_type(), array.len())),
        })
    }
}

impl VariantGet {
    fn text<'a>(&self, scalar: &'a ScalarValue, what: &str) -> Result<&'a str> {
        match scalar.try_as_str().flatten() {
            Some(text) => Ok(text),
            None => plan_err!("the {what} that {} takes is a text, not {scalar}", self.name()),
        }
    }

    fn get(&self, array: &StructArray, path: &str, target: &Target) -> Result<ArrayRef> {
        let (variants, steps) = (Variants::try_new(array)?, parse(path)?);
        let found = Found {
            variants,
            steps: &steps,
        };
        match target {
            Target::Variant => found.variants(),
            Target::Text => found.texts(),
            Target::Typed(of) => {
                let options = CastOptions {
                    safe: self.lenient,
                    ..CastOptions::default()
                };
                found.typed(of, path, &options)
            }
        }
    }
}

/// What is at the end of a path in each row.
struct Found<'a> {
    variants: Variants<'a>,
    steps: &'a [Step],
}

impl<'a> Found<'a> {
    fn each(&self, mut take: impl FnMut(Option<Variant<'a>>) -> Result<()>) -> Result<()> {
        for row in 0..self.variants.len() {
            let variant = self.variants.get(row)?;
            take(variant.map(|v| follow(v, self.steps)).transpose()?.flatten())?;
        }
        Ok(())
    }

    fn variants(&self) -> Result<ArrayRef> {
        let (mut metadata, mut value) = (BinaryBuilder::new(), BinaryBuilder::new());
        let mut there = Vec::with_capacity(self.variants.len());
        self.each(|found| {
            there.push(found.is_some());
            let (names, bytes) = match found {
                Some(found) => (found.metadata.bytes(), found.value.bytes()),
                None => (EMPTY_METADATA, NULL),
            };
            metadata.append_value(names);
            value.append_value(bytes);
            Ok(())
        })?;
        variant_array(metadata, value, there)
    }

    fn texts(&self) -> Result<ArrayRef> {
        let mut texts = StringBuilder::new();
        self.each(|found| {
            match found.map(|f| text(&f)).transpose()?.flatten() {
                Some(text) => texts.append_value(text),
                None => texts.append_null(),
            }
            Ok(())
        })?;
        Ok(Arc::new(texts.finish()))
    }

    /// Strings are cast as SQL casts strings, other primitives by the rules of variants.
    fn typed(&self, of: &DataType, path: &str, options: &CastOptions<'_>) -> Result<ArrayRef> {
        let mut strings: Vec<Option<String>> = Vec::with_capacity(self.variants.len());
        let (mut metadata, mut value) = (BinaryBuilder::new(), BinaryBuilder::new());
        let mut others = Vec::with_capacity(self.variants.len());
        self.each(|found| {
            let (mut string, mut other) = (None, None);
            match found.map(|f| f.value) {
                Some(Value::Primitive(bytes)) => match primitive(bytes)? {
                    parquet_variant::Variant::String(text) => string = Some(text.to_string()),
                    parquet_variant::Variant::ShortString(text) => string = Some(text.as_str().to_string()),
                    parquet_variant::Variant::Null => {}
                    _ => other = Some(bytes),
                },
                Some(Value::Object(_) | Value::Array(_)) if !options.safe => {
                    return exec_err!("`{path}` of a variant is an object or array, which is not {of}");
                }
                _ => {}
            }
            strings.push(string);
            others.push(other.is_some());
            metadata.append_value(EMPTY_METADATA);
            value.append_value(other.unwrap_or(NULL));
            Ok(())
        })?;
        let any_string = strings.iter().any(Option::is_some);
        let others = variant_array(metadata, value, others)?;
        let wanted = Arc::new(Field::new("value", of.clone(), true));
        let get = GetOptions::new()
            .with_as_type(Some(wanted))
            .with_cast_options(options.clone());
        let in_path =
            |e| datafusion::common::DataFusionError::from(e).context(format!("`{path}` of a variant"));
        let others = variant_get(&others, get).map_err(in_path)?;
        if !any_string {
            return Ok(others);
        }
        let strings = StringArray::from(strings);
        let cast = cast_with_options(&strings, of, options).map_err(in_path)?;
        Ok(zip(&is_not_null(&strings)?, &cast, &others)?)
    }
}

/// A string as it is, null as none, other values as JSON.
fn text(variant: &Variant<'_>) -> Result<Option<String>> {
    if let Value::Primitive(bytes) = variant.value {
        match primitive(bytes)? {
            parquet_variant::Variant::Null => return Ok(None),
            parquet_variant::Variant::String(text) => return Ok(Some(text.to_string())),
            parquet_variant::Variant::ShortString(text) => return Ok(Some(text.as_str().to_string())),
            _ => {}
        }
    }
    let json = variant.json()?;
    // Dates, UUIDs and the like are quoted in JSON, but are no strings.
    let quoted = json.strip_prefix('"').and_then(|j| j.strip_suffix('"'));
    Ok(Some(quoted.map_or(json.clone(), str::to_string)))
}

fn variant_array(
    mut metadata: BinaryBuilder,
    mut value: BinaryBuilder,
    there: Vec<bool>,
) -> Result<ArrayRef> {
    let field = variant_field("value");
    let DataType::Struct(fields) = field.data_type() else {
        return exec_err!("a variant is not {}", field.data_type());
    };
    let (rows, nulls) = (there.len(), NullBuffer::from(there));
    let columns: Vec<ArrayRef> = vec![Arc::new(metadata.finish()), Arc::new(value.finish())];
    Ok(Arc::new(StructArray::try_new_with_length(
        fields.clone(),
        columns,
        Some(nulls),
        rows,
    )?))
}

//! Values that Arrow writes as bytes and that people read otherwise: variants as JSON, UUIDs in their hyphenated form, as
//! columns and inside of other values. Which values they are is told by the extension type of their field.

use std::fmt::Write;

use datafusion::arrow::array::{Array, AsArray, FixedSizeBinaryArray, StructArray};
use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder};
use datafusion::arrow::util::display::{
    ArrayFormatter, ArrayFormatterFactory, DisplayIndex, FormatOptions, FormatResult,
};
use drumlin_datafusion::variant::{Variants, is_variant};

/// The extension type of UUIDs.
const UUID: &str = "arrow.uuid";

/// Writes such values in all formats that are text.
#[derive(Debug, Clone, Copy)]
pub struct Readable;

impl ArrayFormatterFactory for Readable {
    fn create_array_formatter<'f>(
        &self,
        array: &'f dyn Array,
        options: &FormatOptions<'f>,
        field: Option<&'f Field>,
    ) -> Result<Option<ArrayFormatter<'f>>, ArrowError> {
        let Some(texts) = field.map(|f| texts(f, array)).transpose()?.flatten() else {
            return Ok(None);
        };
        let display = Display {
            texts,
            null: options.null(),
        };
        Ok(Some(ArrayFormatter::new(Box::new(display), options.safe())))
    }
}

impl EncoderFactory for Readable {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let Some(texts) = texts(field, array)? else {
            return Ok(None);
        };
        let encoder = Json {
            texts,
            quoted: !is_variant(field),
        };
        Ok(Some(NullableEncoder::new(
            Box::new(encoder),
            array.nulls().cloned(),
        )))
    }
}

/// The text of each value, if the array holds such; `None` for nulls.
fn texts(field: &Field, array: &dyn Array) -> Result<Option<Vec<Option<String>>>, ArrowError> {
    let fixed: Option<&FixedSizeBinaryArray> = array.as_fixed_size_binary_opt();
    if let (Some(UUID), Some(uuids)) = (field.extension_type_name(), fixed) {
        return Ok(Some(uuids.iter().map(|bytes| bytes.map(hyphenated)).collect()));
    }
    let structs: Option<&StructArray> = array.as_struct_opt();
    match structs {
        Some(variants) if is_variant(field) => {
            let variants = Variants::try_new(variants)?;
            let texts = (0..variants.len()).map(|row| variants.json(row));
            Ok(Some(texts.collect::<Result<_, _>>()?))
        }
        _ => Ok(None),
    }
}

fn hyphenated(uuid: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in uuid.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

struct Display<'a> {
    texts: Vec<Option<String>>,
    null: &'a str,
}

impl DisplayIndex for Display<'_> {
    fn write(&self, row: usize, out: &mut dyn Write) -> FormatResult {
        let text = self.texts.get(row).and_then(Option::as_deref);
        out.write_str(text.unwrap_or(self.null))?;
        Ok(())
    }
}

struct Json {
    texts: Vec<Option<String>>,
    quoted: bool,
}

impl Encoder for Json {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let text = self.texts.get(row).and_then(Option::as_deref).unwrap_or("null");
        // Nothing in what is quoted here needs an escape.
        if self.quoted {
            out.push(b'"');
        }
        out.extend_from_slice(text.as_bytes());
        if self.quoted {
            out.push(b'"');
        }
    }
}

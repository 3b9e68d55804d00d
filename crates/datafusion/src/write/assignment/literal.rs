//! Constants, read by the type of the column that they go to.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use drumlin_format::types::{NestedField, PrimitiveType, Type};
use drumlin_table::arrow::column_to_arrow;

use super::convert::{converted, uuid};
use super::rules::may_be_stored;

/// A constant in the type of a column: text is also read as date, time, timestamp or UUID. `None` if it is no value
/// of the column.
pub(crate) fn literal(scalar: &ScalarValue, column: &NestedField, zone: &str) -> Option<ScalarValue> {
    let target = column_to_arrow(column);
    if scalar.is_null() {
        return ScalarValue::try_new_null(target.data_type()).ok();
    }
    let array = match (scalar.try_as_str().flatten(), target.data_type()) {
        (Some(text), DataType::Date32 | DataType::Time64(_) | DataType::Timestamp(..)) => {
            text_to_array(text, target.data_type())?
        }
        (Some(text), DataType::FixedSizeBinary(16)) => {
            let bytes = uuid(text)?.to_vec();
            ScalarValue::FixedSizeBinary(16, Some(bytes)).to_array().ok()?
        }
        _ if may_be_stored(&scalar.data_type(), &target) => scalar.to_array().ok()?,
        _ => return None,
    };
    let stored = converted(&array, &target, zone).ok()?;
    ScalarValue::try_from_array(&stored, 0).ok()
}

/// Text as date, time or timestamp. Timestamps are read in nanoseconds where they are in range, so that digits that the
/// column has no place for are noticed.
fn text_to_array(text: &str, to: &DataType) -> Option<datafusion::arrow::array::ArrayRef> {
    use datafusion::arrow::datatypes::TimeUnit;
    let text = ScalarValue::Utf8(Some(text.trim().to_string()));
    let through = match to {
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let nanos = DataType::Timestamp(TimeUnit::Nanosecond, zone.clone());
            if let Ok(scalar) = text.cast_to(&nanos) {
                return scalar.to_array().ok();
            }
            to.clone()
        }
        DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
        other => other.clone(),
    };
    let scalar = text.cast_to(&through).ok().filter(|scalar| !scalar.is_null())?;
    scalar.to_array().ok()
}

/// A number as it was written, for a column of decimals: no digit is lost on a way through floating point. `None` if the
/// column is none of decimals, or has no place for it.
pub(crate) fn decimal(text: &str, of: &Type) -> Option<ScalarValue> {
    let Type::Primitive(PrimitiveType::Decimal { precision, scale }) = of else {
        return None;
    };
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut digits = digits.trim_start_matches('0').to_string();
    // How many digits are to follow; negative: how many zeros there must be to leave out.
    let fraction = i32::try_from(fraction.len()).ok()?;
    let shift = i32::from(*scale).checked_sub(fraction)?.checked_add(exponent)?;
    if digits.is_empty() {
        digits.push('0');
    } else if let Ok(more) = usize::try_from(shift) {
        if digits.len().checked_add(more)? > 38 {
            return None;
        }
        digits.extend(std::iter::repeat_n('0', more));
    } else {
        let less = usize::try_from(shift.unsigned_abs()).ok()?;
        let kept = digits.len().checked_sub(less)?;
        if digits.get(kept..)?.bytes().any(|b| b != b'0') {
            return None;
        }
        digits.truncate(kept);
    }
    if digits.len() > usize::from(*precision) {
        return None;
    }
    let unscaled = digits.parse::<i128>().ok()?.checked_mul(sign)?;
    Some(ScalarValue::Decimal128(
        Some(unscaled),
        *precision,
        i8::try_from(*scale).ok()?,
    ))
}

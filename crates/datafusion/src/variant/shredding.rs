//! A column of variants as files store it, perhaps shredded, as the table has it.
//!
//! A shredded value is in two columns, at each level: `typed_value` where it is of the type of that column, `value` in the
//! encoding of variants where not; objects may be in both, each field in one. The parts are put together here, by
//! Parquet's `VariantShredding.md`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, ListArray, StructArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Fields, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampNanosecondType,
};
use datafusion::common::{Result, exec_err, plan_err};

use super::builder::{ObjectField, write_array, write_object, write_primitive, write_sized, write_string};
use super::bytes::Bytes;
use super::encoding::{MAX_DEPTH, Metadata, NULL, Value};

/// Whether columns of variants are stored as this type. Says nothing of `typed_value`.
pub fn is_stored_variant(of: &DataType) -> bool {
    let DataType::Struct(fields) = of else {
        return false;
    };
    let holds = |name| fields.iter().any(|f| f.name() == name);
    holds("metadata") && (holds("value") || holds("typed_value"))
}

/// The variants of a group of a file as struct of these fields, `metadata` and `value`; every value is checked.
/// `outer` are the nulls of the struct around the column.
///
/// # Errors
/// Bytes are damaged, parts contradict each other, or `typed_value` is of a type that variants have not.
pub fn unshredded(stored: &StructArray, fields: &Fields, outer: Option<&NullBuffer>) -> Result<StructArray> {
    let nulls = NullBuffer::union(outer, stored.nulls());
    let Some(metadata) = stored.column_by_name("metadata") else {
        return exec_err!("a variant has no metadata");
    };
    let Some(names) = Bytes::of(metadata) else {
        return exec_err!("the metadata of a variant is stored as {}", metadata.data_type());
    };
    let group = Group::of(stored)?;
    let mut values = Values::with_capacity(stored.len());
    // Most rows have the metadata of the row before.
    let mut last: Option<Metadata<'_>> = None;
    for row in 0..stored.len() {
        if nulls.as_ref().is_none_or(|n| n.is_valid(row)) {
            let Some(bytes) = names.get(row) else {
                return exec_err!("a variant has no metadata");
            };
            let metadata = match last {
                Some(last) if last.bytes() == bytes => last,
                _ => Metadata::try_new(bytes)?,
            };
            last = Some(metadata);
            if !group.write(row, &metadata, 0, &mut values.bytes)? {
                // A value has to be there; the specification has readers take null for it.
                values.bytes.extend_from_slice(NULL);
            }
        }
        values.end_row()?;
    }
    let columns = vec![cast(metadata, &DataType::Binary)?, values.finish()?];
    Ok(StructArray::try_new_with_length(
        fields.clone(),
        columns,
        nulls,
        stored.len(),
    )?)
}

/// Values of rows, one after the other.
struct Values {
    bytes: Vec<u8>,
    offsets: Vec<i32>,
}

impl Values {
    fn with_capacity(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self {
            bytes: Vec::new(),
            offsets,
        }
    }

    fn end_row(&mut self) -> Result<()> {
        let Ok(end) = i32::try_from(self.bytes.len()) else {
            return exec_err!("the variants of a batch take 2 GiB or more: set a smaller batch size");
        };
        self.offsets.push(end);
        Ok(())
    }

    fn finish(self) -> Result<ArrayRef> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Ok(Arc::new(BinaryArray::try_new(offsets, self.bytes.into(), None)?))
    }
}

/// A value in its two columns, of which one may be missing.
struct Group<'a> {
    stored: &'a StructArray,
    value: Option<Bytes<'a>>,
    typed: Option<Typed<'a>>,
}

enum Typed<'a> {
    Primitive(&'a ArrayRef),
    Array(&'a ListArray, Box<Group<'a>>),
    Object(&'a StructArray, Vec<(&'a str, Group<'a>)>),
}

impl<'a> Group<'a> {
    fn of(stored: &'a StructArray) -> Result<Self> {
        let value = match stored.column_by_name("value") {
            Some(value) => match Bytes::of(value) {
                Some(bytes) => Some(bytes),
                None => return exec_err!("the value of a variant is stored as {}", value.data_type()),
            },
            None => None,
        };
        let typed = stored.column_by_name("typed_value").map(Typed::of).transpose()?;
        Ok(Self { stored, value, typed })
    }

    fn inside(array: &'a ArrayRef) -> Result<Self> {
        match array.as_struct_opt() {
            Some(stored) => Self::of(stored),
            None => exec_err!(
                "a part of a shredded variant is stored as {} instead of value and typed_value",
                array.data_type()
            ),
        }
    }

    /// Appends the value of the row; false if there is none.
    fn write(&self, row: usize, metadata: &Metadata<'_>, depth: usize, out: &mut Vec<u8>) -> Result<bool> {
        if depth >= MAX_DEPTH {
            return exec_err!("a variant holds more than {MAX_DEPTH} objects and arrays inside each other");
        }
        if depth > 0 && self.stored.is_null(row) {
            return Ok(false);
        }
        let value = self.value.and_then(|v| v.get(row));
        let typed = self.typed.as_ref().filter(|t| t.is_valid(row));
        let checked = |v| {
            match (Value::checked(v, metadata, depth), typed) {
            (Err(error), Some(Typed::Object(_, _))) => Err(error.context(
                "the fields of an object that are not shredded are damaged; Iceberg 1.10 wrote such files, in which they \
                 are lost",
            )),
            (value, _) => value,
        }
        };
        let value = value.map(checked).transpose()?;
        match (typed, value) {
            (None, None) => return Ok(false),
            (None, Some(value)) => out.extend_from_slice(value.bytes()),
            (Some(Typed::Object(_, shredded)), rest) => {
                let fields = fields(shredded, rest, row, metadata, depth)?;
                write_object(fields, out)?;
            }
            (Some(_), Some(_)) => {
                return exec_err!("a variant is stored twice, as value and as typed_value");
            }
            (Some(Typed::Primitive(array)), None) => write_typed(array, row, out)?,
            (Some(Typed::Array(list, element)), None) => {
                let (mut values, mut lengths) = (Vec::new(), Vec::new());
                let offsets = list.value_offsets();
                let (Some(from), Some(to)) = (offsets.get(row), offsets.get(row + 1)) else {
                    return exec_err!("a list of a data file has no row {row}");
                };
                for place in *from..*to {
                    let before = values.len();
                    let place = usize::try_from(place).unwrap_or_default();
                    if !element.write(place, metadata, depth + 1, &mut values)? {
                        values.extend_from_slice(NULL);
                    }
                    lengths.push(values.len() - before);
                }
                write_array(&lengths, &values, out)?;
            }
        }
        Ok(true)
    }
}

/// The fields of an object: those that are shredded, and the rest.
fn fields<'m>(
    shredded: &[(&str, Group<'_>)],
    rest: Option<Value<'_>>,
    row: usize,
    metadata: &Metadata<'m>,
    depth: usize,
) -> Result<Vec<ObjectField<'m>>> {
    let mut fields = Vec::with_capacity(shredded.len());
    for (name, group) in shredded {
        let mut value = Vec::new();
        if !group.write(row, metadata, depth + 1, &mut value)? {
            continue;
        }
        let named = metadata.id_of(name).and_then(|id| Some((id, metadata.name(id)?)));
        let Some((id, name)) = named else {
            return exec_err!("the field `{name}` of a shredded variant is not in its metadata");
        };
        fields.push(ObjectField { name, id, value });
    }
    let Some(rest) = rest else {
        return Ok(fields);
    };
    let Value::Object(rest) = rest else {
        return exec_err!("a variant is stored twice, as an object in typed_value and as another value");
    };
    for place in 0..rest.len() {
        let named = rest.id(place).and_then(|id| Some((id, metadata.name(id)?)));
        let Some((id, name)) = named else {
            return exec_err!("a field of an object in a variant has no name in its metadata");
        };
        if shredded.iter().any(|(shredded, _)| *shredded == name) {
            return exec_err!("the field `{name}` of a variant is stored twice, in value and in typed_value");
        }
        let value = Value::try_new(rest.value(place)?)?.bytes().to_vec();
        fields.push(ObjectField { name, id, value });
    }
    Ok(fields)
}

impl<'a> Typed<'a> {
    fn of(array: &'a ArrayRef) -> Result<Self> {
        if let Some(object) = array.as_struct_opt() {
            let fields = object.fields().iter().zip(object.columns());
            let fields = fields.map(|(field, column)| Ok((field.name().as_str(), Group::inside(column)?)));
            return Ok(Self::Object(object, fields.collect::<Result<_>>()?));
        }
        if let Some(list) = array.as_list_opt::<i32>() {
            return Ok(Self::Array(list, Box::new(Group::inside(list.values())?)));
        }
        match is_variant_type(array.data_type()) {
            true => Ok(Self::Primitive(array)),
            false => plan_err!(
                "a variant of a data file is shredded as {}, which is no type of variants",
                array.data_type()
            ),
        }
    }

    fn is_valid(&self, row: usize) -> bool {
        match self {
            Self::Primitive(array) => array.is_valid(row),
            Self::Array(list, _) => list.is_valid(row),
            Self::Object(object, _) => object.is_valid(row),
        }
    }
}

/// Whether values of this type can be of a variant: what [`write_typed`] writes.
fn is_variant_type(of: &DataType) -> bool {
    use DataType as D;
    match of {
        D::Boolean | D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::Float32 | D::Float64 | D::Date32 => true,
        D::Time64(TimeUnit::Microsecond) => true,
        D::Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, _) => true,
        D::Decimal128(_, scale) => *scale >= 0,
        D::FixedSizeBinary(16) => true,
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView => true,
        _ => false,
    }
}

/// Appends a value that is not null.
fn write_typed(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    use DataType as D;
    use TimeUnit as T;
    macro_rules! number {
        ($of:ty, $kind:expr) => {
            write_primitive($kind, &native::<$of>(array, row)?.to_le_bytes(), out)
        };
    }
    match array.data_type() {
        D::Boolean => {
            let value = array.as_boolean_opt().is_some_and(|a| a.value(row));
            write_primitive(if value { 1 } else { 2 }, &[], out);
        }
        D::Int8 => number!(Int8Type, 3),
        D::Int16 => number!(Int16Type, 4),
        D::Int32 => number!(Int32Type, 5),
        D::Int64 => number!(Int64Type, 6),
        D::Float64 => number!(Float64Type, 7),
        D::Decimal128(precision, scale) => {
            write_decimal(native::<Decimal128Type>(array, row)?, *precision, *scale, out)?;
        }
        D::Date32 => number!(Date32Type, 11),
        D::Timestamp(T::Microsecond, zone) => {
            number!(TimestampMicrosecondType, if zone.is_some() { 12 } else { 13 });
        }
        D::Float32 => number!(Float32Type, 14),
        D::Time64(_) => number!(Time64MicrosecondType, 17),
        D::Timestamp(_, zone) => {
            number!(TimestampNanosecondType, if zone.is_some() { 18 } else { 19 });
        }
        D::FixedSizeBinary(_) => match array.as_fixed_size_binary_opt() {
            Some(array) => write_primitive(20, array.value(row), out),
            None => return unexpected(array),
        },
        D::Utf8 | D::LargeUtf8 | D::Utf8View => {
            let text = array.as_string_opt::<i32>().map(|a| a.value(row));
            let text = text.or_else(|| array.as_string_opt::<i64>().map(|a| a.value(row)));
            let text = text.or_else(|| array.as_string_view_opt().map(|a| a.value(row)));
            write_string(text.unwrap_or_default(), out)?;
        }
        _ => match Bytes::of(array).and_then(|a| a.get(row)) {
            Some(bytes) => write_sized(15, bytes, out)?,
            None => return unexpected(array),
        },
    }
    Ok(())
}

fn native<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> Result<T::Native> {
    match array.as_primitive_opt::<T>() {
        Some(array) => Ok(array.value(row)),
        None => unexpected(array),
    }
}

/// Appends a decimal in the narrowest of the three forms that its type fits in.
fn write_decimal(value: i128, precision: u8, scale: i8, out: &mut Vec<u8>) -> Result<()> {
    let (kind, bytes) = match precision {
        ..=9 => (8, i32::try_from(value).ok().map(|v| v.to_le_bytes().to_vec())),
        10..=18 => (9, i64::try_from(value).ok().map(|v| v.to_le_bytes().to_vec())),
        _ => (10, Some(value.to_le_bytes().to_vec())),
    };
    let (Some(bytes), Ok(scale)) = (bytes, u8::try_from(scale)) else {
        return exec_err!("a decimal of {precision} digits of a shredded variant has more");
    };
    write_primitive(kind, &[scale], out);
    out.extend_from_slice(&bytes);
    Ok(())
}

fn unexpected<T>(array: &ArrayRef) -> Result<T> {
    exec_err!("a shredded variant holds {}", array.data_type())
}

//! Avro values put together to arrays.

use std::mem;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Decimal128Builder, FixedSizeBinaryBuilder, Float32Builder,
    Float64Builder, Int32Builder, Int64Builder, ListArray, MapArray, NullArray, NullBufferBuilder,
    StringBuilder, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::error::ArrowError;
use arrow_schema::{DataType, FieldRef, Fields};
use drumlin_format::avro::{Decoder, Kind, NodeId, Schema};
use drumlin_format::{Error, Result};

use super::types::pair;

/// The values of a field so far.
#[derive(Debug)]
pub struct Column {
    node: NodeId,
    field: FieldRef,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Null(usize),
    Boolean(BooleanBuilder),
    Int(Int32Builder),
    Long(Int64Builder),
    Float(Float32Builder),
    Double(Float64Builder),
    Text(StringBuilder),
    Symbol(StringBuilder),
    Bytes(BinaryBuilder),
    Fixed(usize, FixedSizeBinaryBuilder),
    /// The size where it is that of a fixed.
    Decimal(Option<usize>, Decimal128Builder),
    List(Lengths, Box<Column>),
    Map(Lengths, Keys, Box<Column>),
    Struct(NullBufferBuilder, usize, Vec<Column>),
}

/// Where the items of each list end.
#[derive(Debug)]
struct Lengths {
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

/// The keys of a map.
#[derive(Debug)]
enum Keys {
    /// Of Avro's own maps: always strings.
    Text(StringBuilder, FieldRef),
    /// Of arrays of pairs.
    Any(Box<Column>),
}

impl Column {
    /// No values yet of the type `node`, which is `field` in Arrow's terms.
    pub fn new(schema: &Schema, node: NodeId, field: FieldRef) -> Result<Self> {
        let value = schema.value_type(node);
        let values = match (value, field.data_type()) {
            (_, DataType::Union(_, _)) => {
                return Err(Error::unsupported(format!(
                    "field `{}`: an Avro union of several types besides null, which no Iceberg type is",
                    field.name()
                )));
            }
            (None, _) => Values::Null(0),
            (Some(value), data_type) => Values::new(schema, value, data_type)?,
        };
        Ok(Self { node, field, values })
    }

    /// Decodes one value more.
    pub fn append(&mut self, schema: &Schema, decoder: &mut Decoder<'_>) -> Result<()> {
        match schema.enter(decoder, self.node)? {
            Some(value) => self.values.append(schema, decoder, value),
            None => {
                self.values.append_null();
                Ok(())
            }
        }
    }

    /// The values as an array of the field's type; none are left.
    pub fn finish(&mut self) -> std::result::Result<ArrayRef, ArrowError> {
        let array = self.values.finish(self.field.data_type())?;
        // Dates, times and timestamps are numbers up to here.
        match array.data_type() == self.field.data_type() {
            true => Ok(array),
            false => cast(&array, self.field.data_type()),
        }
    }
}

fn mismatch(data_type: &DataType) -> Error {
    Error::invalid("Avro schema", format!("a type does not fit {data_type}"))
}

impl Values {
    fn new(schema: &Schema, node: NodeId, data_type: &DataType) -> Result<Self> {
        Ok(match (schema.kind(node), data_type) {
            (Kind::Null | Kind::Union(_), _) => Self::Null(0),
            (Kind::Boolean, _) => Self::Boolean(BooleanBuilder::new()),
            (Kind::Int, _) => Self::Int(Int32Builder::new()),
            (Kind::Long, _) => Self::Long(Int64Builder::new()),
            (Kind::Float, _) => Self::Float(Float32Builder::new()),
            (Kind::Double, _) => Self::Double(Float64Builder::new()),
            (Kind::String, _) => Self::Text(StringBuilder::new()),
            (Kind::Enum(_), _) => Self::Symbol(StringBuilder::new()),
            (kind @ (Kind::Bytes | Kind::Fixed(_)), DataType::Decimal128(precision, scale)) => {
                let size = match kind {
                    Kind::Fixed(size) => Some(*size),
                    _ => None,
                };
                let builder = Decimal128Builder::new().with_precision_and_scale(*precision, *scale);
                Self::Decimal(size, builder.map_err(|_| mismatch(data_type))?)
            }
            (Kind::Bytes, _) => Self::Bytes(BinaryBuilder::new()),
            (Kind::Fixed(size), DataType::FixedSizeBinary(width)) => {
                Self::Fixed(*size, FixedSizeBinaryBuilder::new(*width))
            }
            (Kind::Array(item), DataType::List(element)) => {
                let items = Column::new(schema, *item, Arc::clone(element))?;
                Self::List(Lengths::new(), Box::new(items))
            }
            (Kind::Array(_), DataType::Map(entries, _)) => {
                let (key, value) = entries_of(entries).ok_or_else(|| mismatch(data_type))?;
                let [keys, values] = pair(schema, node).ok_or_else(|| mismatch(data_type))?;
                let keys = Keys::Any(Box::new(Column::new(schema, keys.node, key)?));
                Self::Map(
                    Lengths::new(),
                    keys,
                    Box::new(Column::new(schema, values.node, value)?),
                )
            }
            (Kind::Map(values), DataType::Map(entries, _)) => {
                let (key, value) = entries_of(entries).ok_or_else(|| mismatch(data_type))?;
                let keys = Keys::Text(StringBuilder::new(), key);
                Self::Map(
                    Lengths::new(),
                    keys,
                    Box::new(Column::new(schema, *values, value)?),
                )
            }
            (Kind::Record(inner), DataType::Struct(fields)) => {
                let columns = inner
                    .iter()
                    .zip(fields)
                    .map(|(f, field)| Column::new(schema, f.node, Arc::clone(field)))
                    .collect::<Result<_>>()?;
                Self::Struct(NullBufferBuilder::new(0), 0, columns)
            }
            _ => return Err(mismatch(data_type)),
        })
    }

    fn append(&mut self, schema: &Schema, decoder: &mut Decoder<'_>, node: NodeId) -> Result<()> {
        match self {
            Self::Null(count) => *count += 1,
            Self::Boolean(values) => values.append_value(decoder.boolean()?),
            Self::Int(values) => values.append_value(decoder.int()?),
            Self::Long(values) => values.append_value(decoder.long()?),
            Self::Float(values) => values.append_value(decoder.float()?),
            Self::Double(values) => values.append_value(decoder.double()?),
            Self::Text(values) => values.append_value(decoder.string()?),
            Self::Symbol(values) => {
                let index = decoder.long()?;
                let symbols = schema.symbols(node);
                let symbol = usize::try_from(index).ok().and_then(|i| symbols.get(i));
                values.append_value(
                    symbol.ok_or_else(|| Error::invalid("Avro enum", format!("it has no symbol {index}")))?,
                );
            }
            Self::Bytes(values) => values.append_value(decoder.bytes()?),
            Self::Fixed(size, values) => {
                let bytes = decoder.take(*size)?;
                values
                    .append_value(bytes)
                    .map_err(|e| Error::invalid("Avro fixed", e.to_string()))?;
            }
            Self::Decimal(size, values) => {
                let bytes = match size {
                    Some(size) => decoder.take(*size)?,
                    None => decoder.bytes()?,
                };
                values.append_value(unscaled(bytes)?);
            }
            Self::List(lengths, items) => {
                let Kind::Array(item) = schema.kind(node) else {
                    return Err(mismatch(items.field.data_type()));
                };
                let size = schema.min_size(*item);
                let mut count = 0;
                loop {
                    let more = decoder.block_count(size)?;
                    if more == 0 {
                        break;
                    }
                    for _ in 0..more {
                        items.append(schema, decoder)?;
                    }
                    count += more;
                }
                lengths.append(count)?;
            }
            Self::Map(lengths, keys, values) => {
                let mut count = 0;
                loop {
                    let more = decoder.block_count(1)?;
                    if more == 0 {
                        break;
                    }
                    for _ in 0..more {
                        match keys {
                            Keys::Text(keys, _) => keys.append_value(decoder.string()?),
                            Keys::Any(keys) => keys.append(schema, decoder)?,
                        }
                        values.append(schema, decoder)?;
                    }
                    count += more;
                }
                lengths.append(count)?;
            }
            Self::Struct(nulls, length, columns) => {
                for column in columns {
                    column.append(schema, decoder)?;
                }
                nulls.append_non_null();
                *length += 1;
            }
        }
        Ok(())
    }

    fn append_null(&mut self) {
        match self {
            Self::Null(count) => *count += 1,
            Self::Boolean(values) => values.append_null(),
            Self::Int(values) => values.append_null(),
            Self::Long(values) => values.append_null(),
            Self::Float(values) => values.append_null(),
            Self::Double(values) => values.append_null(),
            Self::Text(values) | Self::Symbol(values) => values.append_null(),
            Self::Bytes(values) => values.append_null(),
            Self::Fixed(_, values) => values.append_null(),
            Self::Decimal(_, values) => values.append_null(),
            Self::List(lengths, _) | Self::Map(lengths, _, _) => lengths.append_null(),
            Self::Struct(nulls, length, columns) => {
                for column in columns {
                    column.values.append_null();
                }
                nulls.append_null();
                *length += 1;
            }
        }
    }

    fn finish(&mut self, data_type: &DataType) -> std::result::Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Null(count) => Arc::new(NullArray::new(mem::take(count))),
            Self::Boolean(values) => Arc::new(values.finish()),
            Self::Int(values) => Arc::new(values.finish()),
            Self::Long(values) => Arc::new(values.finish()),
            Self::Float(values) => Arc::new(values.finish()),
            Self::Double(values) => Arc::new(values.finish()),
            Self::Text(values) | Self::Symbol(values) => Arc::new(values.finish()),
            Self::Bytes(values) => Arc::new(values.finish()),
            Self::Fixed(_, values) => Arc::new(values.finish()),
            Self::Decimal(_, values) => Arc::new(values.finish()),
            Self::List(lengths, items) => {
                let (offsets, nulls) = lengths.finish();
                let field = Arc::clone(&items.field);
                Arc::new(ListArray::try_new(field, offsets, items.finish()?, nulls)?)
            }
            Self::Map(lengths, keys, values) => {
                let DataType::Map(entries, _) = data_type else {
                    return Err(ArrowError::SchemaError(format!("{data_type} is no map")));
                };
                let (offsets, nulls) = lengths.finish();
                let (key, keys): (_, ArrayRef) = match keys {
                    Keys::Text(keys, field) => (Arc::clone(field), Arc::new(keys.finish())),
                    Keys::Any(keys) => (Arc::clone(&keys.field), keys.finish()?),
                };
                let fields = Fields::from(vec![key, Arc::clone(&values.field)]);
                let pairs = StructArray::try_new(fields, vec![keys, values.finish()?], None)?;
                Arc::new(MapArray::try_new(
                    Arc::clone(entries),
                    offsets,
                    pairs,
                    nulls,
                    false,
                )?)
            }
            Self::Struct(nulls, length, columns) => {
                let fields = columns.iter().map(|c| Arc::clone(&c.field)).collect();
                let columns = columns
                    .iter_mut()
                    .map(Column::finish)
                    .collect::<std::result::Result<_, _>>()?;
                let length = mem::take(length);
                Arc::new(StructArray::try_new_with_length(
                    fields,
                    columns,
                    nulls.finish(),
                    length,
                )?)
            }
        })
    }
}

impl Lengths {
    fn new() -> Self {
        Self {
            offsets: vec![0],
            nulls: NullBufferBuilder::new(0),
        }
    }

    fn last(&self) -> i32 {
        self.offsets.last().copied().unwrap_or(0)
    }

    fn append(&mut self, count: usize) -> Result<()> {
        let end = i32::try_from(count).ok().and_then(|n| self.last().checked_add(n));
        let end = end.ok_or_else(|| Error::invalid("Avro data", "lists have too many items in one batch"))?;
        self.offsets.push(end);
        self.nulls.append_non_null();
        Ok(())
    }

    fn append_null(&mut self) {
        self.offsets.push(self.last());
        self.nulls.append_null();
    }

    fn finish(&mut self) -> (OffsetBuffer<i32>, Option<arrow::buffer::NullBuffer>) {
        let offsets = mem::replace(&mut self.offsets, vec![0]);
        (OffsetBuffer::new(offsets.into()), self.nulls.finish())
    }
}

/// Key and value of the entries of a map.
fn entries_of(entries: &FieldRef) -> Option<(FieldRef, FieldRef)> {
    match entries.data_type() {
        DataType::Struct(fields) => match fields.iter().as_slice() {
            [key, value] => Some((Arc::clone(key), Arc::clone(value))),
            _ => None,
        },
        _ => None,
    }
}

/// The unscaled value of a decimal: two's complement, most significant byte first, in any number of bytes.
fn unscaled(bytes: &[u8]) -> Result<i128> {
    let sign = match bytes.first() {
        Some(first) if first & 0x80 != 0 => 0xff,
        _ => 0,
    };
    let (padding, low) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut wide = [sign; 16];
    let fits = padding.iter().all(|b| *b == sign);
    let start = wide.len() - low.len();
    match wide.get_mut(start..) {
        Some(place) if fits => place.copy_from_slice(low),
        _ => return Err(Error::invalid("Avro decimal", "it has more than 38 digits")),
    }
    let value = i128::from_be_bytes(wide);
    // The sign must not change where bytes were left out.
    match padding.is_empty() || (value < 0) == (sign == 0xff) {
        true => Ok(value),
        false => Err(Error::invalid("Avro decimal", "it has more than 38 digits")),
    }
}

//! Values as rows, as arrays and back, without the code under test.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array,
    FixedSizeBinaryBuilder, Float32Array, Float64Array, Int32Array, Int64Array, ListArray, MapArray,
    NullArray, RecordBatch, StringArray, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_schema::DataType;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType, Type};
use drumlin_format::value::Value;

use crate::arrow::{UTC, schema_to_arrow, type_to_arrow};

pub type Row = Vec<Option<Value>>;

/// Numbers as good as random, the same for each seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A value of a field; null in so many of a hundred where that may be.
    pub fn field(&mut self, field: &NestedField, nulls: u64) -> Option<Value> {
        let unknown = field.field_type == Type::Primitive(PrimitiveType::Unknown);
        if unknown || (!field.required && self.below(100) < nulls) {
            return None;
        }
        Some(self.value(&field.field_type, nulls))
    }

    fn value(&mut self, of: &Type, nulls: u64) -> Value {
        match of {
            Type::Primitive(of) => self.primitive(of),
            Type::Struct(of) => {
                let fields = of.fields().iter();
                Value::Struct(fields.map(|f| (f.id, self.field(f, nulls))).collect())
            }
            Type::List(of) => {
                let length = self.below(4);
                Value::List((0..length).map(|_| self.field(&of.element, nulls)).collect())
            }
            Type::Map(of) => {
                let length = self.below(3);
                let entries = (0..length).map(|_| {
                    let key = self.field(&of.key, nulls).expect("keys are required");
                    (key, self.field(&of.value, nulls))
                });
                Value::Map(entries.collect())
            }
        }
    }

    pub fn primitive(&mut self, of: &PrimitiveType) -> Value {
        use PrimitiveType as P;
        let wide = self.next().cast_signed();
        // Small numbers make equal values likely, large ones reach the ends.
        let number = match self.below(4) {
            0 => wide,
            1 => *[i64::MIN, i64::MAX, 0, -1]
                .get(usize::try_from(self.below(4)).unwrap())
                .unwrap(),
            _ => wide % 1000,
        };
        #[allow(clippy::cast_possible_truncation)]
        let int = number as i32;
        match of {
            P::Boolean => Value::Boolean(number % 2 == 0),
            P::Int | P::Date => Value::Int(int),
            P::Long | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
                Value::Long(number)
            }
            P::Time => Value::Long(number.rem_euclid(86_400_000_000)),
            P::Float => Value::Float(self.double() as f32),
            P::Double => Value::Double(self.double()),
            P::Decimal { precision, .. } => {
                let limit = 10_i128.pow((*precision).into());
                Value::Decimal((i128::from(wide) * i128::from(number)) % limit)
            }
            P::String => Value::String(self.text()),
            P::Uuid => Value::Bytes(self.bytes(16)),
            P::Fixed(length) => Value::Bytes(self.bytes(u64::from(*length))),
            P::Binary | P::Variant | P::Geometry { .. } | P::Geography { .. } => {
                let length = self.below(40);
                Value::Bytes(self.bytes(length))
            }
            P::Unknown => panic!("no value is of type unknown"),
        }
    }

    fn double(&mut self) -> f64 {
        match self.below(8) {
            0 => f64::NAN,
            1 => 0.0,
            2 => -0.0,
            3 => f64::INFINITY,
            4 => f64::NEG_INFINITY,
            _ => f64::from(u32::try_from(self.below(1 << 32)).unwrap()) / 1e3 - 1e6,
        }
    }

    fn text(&mut self) -> String {
        let letters = ['a', 'b', 'ä', '日', '\u{d7ff}', '\u{10ffff}', '🌊', 'z'];
        let length = [0, 3, 15, 16, 17, 90][usize::try_from(self.below(6)).unwrap()];
        (0..length)
            .map(|_| letters[usize::try_from(self.below(8)).unwrap()])
            .collect()
    }

    fn bytes(&mut self, length: u64) -> Vec<u8> {
        let edge = self.below(3) == 0;
        (0..length)
            .map(|_| if edge { 0xff } else { self.next().to_le_bytes()[0] })
            .collect()
    }

    pub fn rows(&mut self, schema: &Schema, rows: usize, nulls: u64) -> Vec<Row> {
        let row = |random: &mut Self| schema.fields().iter().map(|f| random.field(f, nulls)).collect();
        (0..rows).map(|_| row(self)).collect()
    }
}

/// The rows as a batch of the table's columns.
pub fn batch(schema: &Schema, rows: &[Row]) -> RecordBatch {
    let columns = schema.fields().iter().enumerate().map(|(place, field)| {
        let values: Vec<_> = rows.iter().map(|row| row[place].clone()).collect();
        array(&field.field_type, &values, true)
    });
    RecordBatch::try_new(Arc::new(schema_to_arrow(schema)), columns.collect()).unwrap()
}

macro_rules! values {
    ($values:expr, $variant:ident) => {
        $values.iter().map(|v| match v {
            None => None,
            Some(Value::$variant(v)) => Some(v.clone()),
            Some(other) => panic!("{other:?} is not of the type of its column"),
        })
    };
}

pub fn array(of: &Type, values: &[Option<Value>], column: bool) -> ArrayRef {
    use PrimitiveType as P;
    let target = type_to_arrow(of, column);
    let nulls = NullBuffer::from_iter(values.iter().map(Option::is_some));
    let plain: ArrayRef = match (of, &target) {
        (Type::Struct(of), DataType::Struct(fields)) => {
            let columns = of.fields().iter().map(|field| {
                let inner = values.iter().map(|value| match value {
                    Some(Value::Struct(parts)) => parts.iter().find(|(id, _)| *id == field.id)?.1.clone(),
                    // Something is there in null structs, which nobody may look at.
                    _ => (field.required).then(|| Random(7).value(&field.field_type, 0)),
                });
                array(&field.field_type, &inner.collect::<Vec<_>>(), false)
            });
            return Arc::new(StructArray::new(fields.clone(), columns.collect(), Some(nulls)));
        }
        (Type::List(of), DataType::List(element)) => {
            let lists = values!(values, List);
            let offsets = OffsetBuffer::from_lengths(lists.clone().map(|l| l.map_or(0, |l| l.len())));
            let inner: Vec<_> = lists.flatten().flatten().collect();
            let inner = array(&of.element.field_type, &inner, false);
            return Arc::new(ListArray::new(Arc::clone(element), offsets, inner, Some(nulls)));
        }
        (Type::Map(of), DataType::Map(entries, _)) => {
            let maps = values!(values, Map);
            let offsets = OffsetBuffer::from_lengths(maps.clone().map(|m| m.map_or(0, |m| m.len())));
            let (keys, inner): (Vec<_>, Vec<_>) = maps.flatten().flatten().map(|(k, v)| (Some(k), v)).unzip();
            let columns = vec![
                array(&of.key.field_type, &keys, false),
                array(&of.value.field_type, &inner, false),
            ];
            let DataType::Struct(fields) = entries.data_type() else {
                panic!()
            };
            let inner = StructArray::new(fields.clone(), columns, None);
            return Arc::new(MapArray::new(
                Arc::clone(entries),
                offsets,
                inner,
                Some(nulls),
                false,
            ));
        }
        (Type::Primitive(P::Variant), DataType::Struct(fields)) => {
            // The empty metadata and any bytes: nobody reads them here.
            let metadata: BinaryArray = values.iter().map(|_| Some([1_u8, 0, 0])).collect();
            let bytes: BinaryArray = values!(values, Bytes)
                .map(|v| Some(v.unwrap_or_default()))
                .collect();
            let columns: Vec<ArrayRef> = vec![Arc::new(metadata), Arc::new(bytes)];
            return Arc::new(StructArray::new(fields.clone(), columns, Some(nulls)));
        }
        (Type::Primitive(of), _) => match of {
            P::Boolean => Arc::new(values!(values, Boolean).collect::<BooleanArray>()),
            P::Int => Arc::new(values!(values, Int).collect::<Int32Array>()),
            P::Date => Arc::new(values!(values, Int).collect::<Date32Array>()),
            P::Long => Arc::new(values!(values, Long).collect::<Int64Array>()),
            P::Time => Arc::new(values!(values, Long).collect::<Time64MicrosecondArray>()),
            P::Timestamp => Arc::new(values!(values, Long).collect::<TimestampMicrosecondArray>()),
            P::Timestamptz => Arc::new(
                values!(values, Long)
                    .collect::<TimestampMicrosecondArray>()
                    .with_timezone(UTC),
            ),
            P::TimestampNs => Arc::new(values!(values, Long).collect::<TimestampNanosecondArray>()),
            P::TimestamptzNs => Arc::new(
                values!(values, Long)
                    .collect::<TimestampNanosecondArray>()
                    .with_timezone(UTC),
            ),
            P::Float => Arc::new(values!(values, Float).collect::<Float32Array>()),
            P::Double => Arc::new(values!(values, Double).collect::<Float64Array>()),
            P::Decimal { .. } => {
                let decimals = values!(values, Decimal).collect::<Decimal128Array>();
                Arc::new(decimals.with_data_type(target.clone()))
            }
            P::String => Arc::new(values!(values, String).collect::<StringArray>()),
            P::Uuid => fixed(values, 16),
            P::Fixed(length) => fixed(values, i32::try_from(*length).unwrap()),
            P::Binary | P::Geometry { .. } | P::Geography { .. } => {
                Arc::new(values!(values, Bytes).collect::<BinaryArray>())
            }
            P::Unknown => Arc::new(NullArray::new(values.len())),
            P::Variant => panic!(),
        },
        _ => panic!("{of} as {target}"),
    };
    cast(&plain, &target).unwrap()
}

fn fixed(values: &[Option<Value>], length: i32) -> ArrayRef {
    let mut builder = FixedSizeBinaryBuilder::new(length);
    for value in values!(values, Bytes) {
        match value {
            Some(bytes) => builder.append_value(bytes).unwrap(),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

/// A value of an array that stands for this type, in whichever of its Arrow types.
pub fn value_of(array: &dyn Array, row: usize, of: &Type) -> Option<Value> {
    use PrimitiveType as P;
    if array.data_type().is_null() || array.is_null(row) {
        return None;
    }
    let array: ArrayRef = match array.data_type() {
        DataType::Utf8View => cast(array, &DataType::Utf8).unwrap(),
        DataType::BinaryView => cast(array, &DataType::Binary).unwrap(),
        _ => arrow::array::make_array(array.to_data()),
    };
    Some(match of {
        Type::Struct(of) => {
            let columns = array.as_struct();
            let field = |f: &NestedField| {
                let column = columns.column_by_name(&f.name)?;
                value_of(column, row, &f.field_type)
            };
            Value::Struct(of.fields().iter().map(|f| (f.id, field(f))).collect())
        }
        Type::List(of) => {
            let inner = array.as_list::<i32>().value(row);
            Value::List(
                (0..inner.len())
                    .map(|i| value_of(&inner, i, &of.element.field_type))
                    .collect(),
            )
        }
        Type::Map(of) => {
            let inner = array.as_map().value(row);
            let (keys, values) = (inner.column(0), inner.column(1));
            let entry = |i| {
                let key = value_of(keys, i, &of.key.field_type).unwrap();
                (key, value_of(values, i, &of.value.field_type))
            };
            Value::Map((0..inner.len()).map(entry).collect())
        }
        Type::Primitive(of) => match of {
            P::Boolean => Value::Boolean(array.as_boolean().value(row)),
            P::Int => Value::Int(array.as_primitive::<Int32Type>().value(row)),
            P::Date => Value::Int(array.as_primitive::<Date32Type>().value(row)),
            P::Long => Value::Long(array.as_primitive::<Int64Type>().value(row)),
            P::Time => Value::Long(array.as_primitive::<Time64MicrosecondType>().value(row)),
            P::Timestamp | P::Timestamptz => {
                Value::Long(array.as_primitive::<TimestampMicrosecondType>().value(row))
            }
            P::TimestampNs | P::TimestamptzNs => {
                Value::Long(array.as_primitive::<TimestampNanosecondType>().value(row))
            }
            P::Float => Value::Float(array.as_primitive::<Float32Type>().value(row)),
            P::Double => Value::Double(array.as_primitive::<Float64Type>().value(row)),
            P::Decimal { .. } => Value::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
            P::String => Value::String(array.as_string::<i32>().value(row).to_string()),
            P::Uuid | P::Fixed(_) => Value::Bytes(array.as_fixed_size_binary().value(row).to_vec()),
            P::Binary | P::Geometry { .. } | P::Geography { .. } => {
                Value::Bytes(array.as_binary::<i32>().value(row).to_vec())
            }
            P::Variant => Value::Bytes(array.as_struct().column(1).as_binary::<i32>().value(row).to_vec()),
            P::Unknown => return None,
        },
    })
}

/// The rows of a batch that was read, which lacks columns of type unknown.
pub fn rows_of(schema: &Schema, batch: &RecordBatch) -> Vec<Row> {
    let value = |field: &NestedField, row: usize| {
        let column = batch.column_by_name(&field.name)?;
        value_of(column, row, &field.field_type)
    };
    let row = |row| schema.fields().iter().map(|f| value(f, row)).collect();
    (0..batch.num_rows()).map(row).collect()
}

/// Rows as text, by which they are compared: NaN is NaN there, and zeros differ.
pub fn text(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn arrays_hold_what_they_were_made_of() {
    let schema = super::every_type::schema();
    let rows = Random(3).rows(&schema, 50, 20);
    let batch = batch(&schema, &rows);
    let places = 0..schema.fields().len();
    let column =
        |place: usize, row: usize| value_of(batch.column(place), row, &schema.fields()[place].field_type);
    let back: Vec<Row> = (0..50)
        .map(|row| places.clone().map(|place| column(place, row)).collect())
        .collect();
    assert_eq!(text(&back), text(&rows));
}

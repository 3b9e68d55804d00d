//! Rows as Arrow arrays.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryBuilder, Float32Array,
    Float64Array, Int32Array, Int64Array, StringArray, StructArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampNanosecondArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use drumlin_format::schema::Schema;
use drumlin_format::types::{PrimitiveType, StructType, Type};
use drumlin_format::value::Value;
use drumlin_table::arrow::{UTC, schema_to_arrow, struct_to_arrow, type_to_arrow};

use crate::Row;

/// The rows as one batch of the schema's columns, in Arrow's terms.
///
/// # Panics
/// A value is not of the type of its column.
pub fn batch(rows: &[Row], schema: &Schema) -> RecordBatch {
    let arrow: SchemaRef = Arc::new(schema_to_arrow(schema));
    let column = |field: &drumlin_format::types::NestedField| {
        let values: Vec<_> = rows
            .iter()
            .map(|r| r.get(&field.id).and_then(Option::as_ref))
            .collect();
        array(&values, &field.field_type, true)
    };
    let columns = schema.fields().iter().map(column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(arrow, columns, &options).expect("values fit the schema")
}

/// The values as an array of the Arrow type of `of` as column, or as field of a column.
///
/// # Panics
/// A value is not of the type, or the type is a list, a map or one without values of its own.
pub fn array(values: &[Option<&Value>], of: &Type, column: bool) -> ArrayRef {
    let plain = match of {
        Type::Primitive(of) => primitive(values, of),
        Type::Struct(of) => structs(values, of),
        other => panic!("arrays of {other} are not made here"),
    };
    cast(&plain, &type_to_arrow(of, column)).expect("strings and bytes become views")
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

fn primitive(values: &[Option<&Value>], of: &PrimitiveType) -> ArrayRef {
    use PrimitiveType as P;
    match of {
        P::Boolean => Arc::new(BooleanArray::from_iter(values!(values, Boolean))),
        P::Int => Arc::new(Int32Array::from_iter(values!(values, Int))),
        P::Date => Arc::new(Date32Array::from_iter(values!(values, Int))),
        P::Long => Arc::new(Int64Array::from_iter(values!(values, Long))),
        P::Float => Arc::new(Float32Array::from_iter(values!(values, Float))),
        P::Double => Arc::new(Float64Array::from_iter(values!(values, Double))),
        P::Decimal { precision, scale } => {
            let scale = i8::try_from(*scale).expect("a scale of a decimal");
            let array = Decimal128Array::from_iter(values!(values, Decimal));
            Arc::new(
                array
                    .with_precision_and_scale(*precision, scale)
                    .expect("a decimal"),
            )
        }
        P::Time => Arc::new(Time64MicrosecondArray::from_iter(values!(values, Long))),
        P::Timestamp => Arc::new(TimestampMicrosecondArray::from_iter(values!(values, Long))),
        P::Timestamptz => {
            Arc::new(TimestampMicrosecondArray::from_iter(values!(values, Long)).with_timezone(UTC))
        }
        P::TimestampNs => Arc::new(TimestampNanosecondArray::from_iter(values!(values, Long))),
        P::TimestamptzNs => {
            Arc::new(TimestampNanosecondArray::from_iter(values!(values, Long)).with_timezone(UTC))
        }
        P::String => Arc::new(StringArray::from_iter(values!(values, String))),
        P::Binary => Arc::new(BinaryArray::from_iter(values!(values, Bytes))),
        P::Uuid => fixed(values, 16),
        P::Fixed(length) => fixed(values, i32::try_from(*length).expect("a length")),
        other => panic!("arrays of {other} are not made here"),
    }
}

fn fixed(values: &[Option<&Value>], length: i32) -> ArrayRef {
    let mut builder = FixedSizeBinaryBuilder::new(length);
    for value in values!(values, Bytes) {
        match value {
            Some(bytes) => builder.append_value(bytes).expect("bytes of this length"),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

fn structs(values: &[Option<&Value>], of: &StructType) -> ArrayRef {
    let column = |field: &drumlin_format::types::NestedField| {
        let inner: Vec<_> = values
            .iter()
            .map(|v| v.and_then(|v| of_field(v, field.id)))
            .collect();
        array(&inner, &field.field_type, false)
    };
    let columns = of.fields().iter().map(column).collect();
    let nulls = NullBuffer::from_iter(values.iter().map(Option::is_some));
    Arc::new(StructArray::new(struct_to_arrow(of), columns, Some(nulls)))
}

/// The value of a field of a struct.
///
/// # Panics
/// The value is no struct.
pub fn of_field(value: &Value, id: i32) -> Option<&Value> {
    match value {
        Value::Struct(fields) => fields.iter().find(|(i, _)| *i == id)?.1.as_ref(),
        other => panic!("{other:?} is no struct"),
    }
}

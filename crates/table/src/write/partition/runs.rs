//! Runs: rows of one partition that stand together in a batch.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{partition, take};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow::row::{RowConverter, Rows, SortField};
use arrow_schema::ArrowError;
use drumlin_format::partition::{PartitionSpec, PartitionTuple};
use drumlin_format::schema::Schema;
use drumlin_format::transform::Transform;
use drumlin_format::types::PrimitiveType;
use drumlin_format::value::Value;

use super::partition_columns;
use crate::arrow::type_to_arrow;
use crate::error::{Error, Result};

/// What tells the partitions of one spec apart: the bytes of their values.
pub type PartitionKey = Box<[u8]>;

/// Finds the partitions of rows.
pub struct Partitioner {
    schema: Arc<Schema>,
    spec: Arc<PartitionSpec>,
    /// The types of the values.
    results: Vec<PrimitiveType>,
    /// The places of the fields that are not always null.
    varying: Vec<usize>,
    converter: Option<RowConverter>,
}

/// The runs of a batch.
pub struct Runs {
    columns: Vec<ArrayRef>,
    ranges: Vec<Range<usize>>,
    /// The key of each run; `None` where there is one partition only.
    keys: Option<Rows>,
}

fn internal(error: ArrowError) -> Error {
    drumlin_format::Error::invalid("partition values", error.to_string()).into()
}

impl Partitioner {
    /// For rows of this schema and partitions of this spec.
    pub fn new(schema: Arc<Schema>, spec: Arc<PartitionSpec>) -> Result<Self> {
        let results = spec.fields().iter();
        let results: Vec<PrimitiveType> = results
            .map(|f| f.result_type(&schema).unwrap_or(PrimitiveType::Unknown))
            .collect();
        let fields = spec.fields().iter().zip(&results).enumerate();
        let varying: Vec<usize> = fields
            .filter(|(_, (f, result))| f.transform != Transform::Void && **result != PrimitiveType::Unknown)
            .map(|(place, _)| place)
            .collect();
        let types = varying.iter().filter_map(|place| results.get(*place));
        let types = types.map(|result| SortField::new(type_to_arrow(&result.clone().into(), true)));
        let converter = match varying.is_empty() {
            true => None,
            false => Some(RowConverter::new(types.collect()).map_err(internal)?),
        };
        Ok(Self {
            schema,
            spec,
            results,
            varying,
            converter,
        })
    }

    /// Whether all rows are in one partition.
    pub fn is_single(&self) -> bool {
        self.converter.is_none()
    }

    /// The runs of a batch, in its order. A batch without rows has none.
    pub fn runs(&self, batch: &RecordBatch) -> Result<Runs> {
        let columns = partition_columns(&self.schema, &self.spec, batch)?;
        let mut runs = Runs {
            columns,
            ranges: Vec::new(),
            keys: None,
        };
        let rows = batch.num_rows();
        let Some(converter) = self.converter.as_ref().filter(|_| rows > 0) else {
            runs.ranges.extend((rows > 0).then_some(0..rows));
            return Ok(runs);
        };
        let varying = self.varying.iter().filter_map(|place| runs.columns.get(*place));
        let varying: Vec<ArrayRef> = varying.cloned().collect();
        runs.ranges = partition(&varying).map_err(internal)?.ranges();
        let starts = runs
            .ranges
            .iter()
            .map(|r| u32::try_from(r.start).unwrap_or(u32::MAX));
        let starts = UInt32Array::from_iter_values(starts);
        let firsts = varying.iter().map(|column| take(column, &starts, None));
        let firsts = firsts.collect::<Result<Vec<_>, _>>().map_err(internal)?;
        runs.keys = Some(converter.convert_columns(&firsts).map_err(internal)?);
        Ok(runs)
    }

    /// The partition values of a row of the batch that these runs are of.
    pub fn tuple(&self, runs: &Runs, row: usize) -> PartitionTuple {
        let columns = runs.columns.iter().zip(&self.results);
        columns
            .map(|(column, result)| value_at(column, row, result))
            .collect()
    }

    /// The id of the spec.
    pub fn spec_id(&self) -> i32 {
        self.spec.spec_id()
    }

    /// The folder of a partition; empty for a spec without fields.
    pub fn path(&self, tuple: &PartitionTuple) -> String {
        self.spec.partition_path(tuple, &self.results)
    }
}

impl Runs {
    /// The rows of each run.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// The key of a run, by its place.
    pub fn key(&self, run: usize) -> &[u8] {
        match &self.keys {
            Some(keys) if run < keys.num_rows() => keys.row(run).data(),
            _ => &[],
        }
    }
}

/// A value of a column in the type that it stands for.
fn value_at(column: &ArrayRef, row: usize, of: &PrimitiveType) -> Option<Value> {
    use PrimitiveType as P;
    if row >= column.len() || column.is_null(row) {
        return None;
    }
    Some(match of {
        P::Boolean => Value::Boolean(column.as_boolean().value(row)),
        P::Int => Value::Int(column.as_primitive::<Int32Type>().value(row)),
        P::Date => Value::Int(column.as_primitive::<Date32Type>().value(row)),
        P::Long => Value::Long(column.as_primitive::<Int64Type>().value(row)),
        P::Time => Value::Long(column.as_primitive::<Time64MicrosecondType>().value(row)),
        P::Timestamp | P::Timestamptz => {
            Value::Long(column.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        P::TimestampNs | P::TimestamptzNs => {
            Value::Long(column.as_primitive::<TimestampNanosecondType>().value(row))
        }
        P::Float => Value::Float(column.as_primitive::<Float32Type>().value(row)),
        P::Double => Value::Double(column.as_primitive::<Float64Type>().value(row)),
        P::Decimal { .. } => Value::Decimal(column.as_primitive::<Decimal128Type>().value(row)),
        P::String => Value::String(column.as_string_view().value(row).to_owned()),
        P::Binary => Value::Bytes(column.as_binary_view().value(row).to_vec()),
        P::Uuid | P::Fixed(_) => Value::Bytes(column.as_fixed_size_binary().value(row).to_vec()),
        P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. } => return None,
    })
}

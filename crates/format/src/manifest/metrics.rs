//! Counts and bounds by column.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fields::{FieldReader, Required, wrong_type};
use crate::avro::{Decoder, Encoder, Kind, NodeId, Schema};
use crate::error::{Error, Result};

/// The maps of a file's metrics, in the order they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricsMap {
    ColumnSizes,
    ValueCounts,
    NullValueCounts,
    NanValueCounts,
    LowerBounds,
    UpperBounds,
}

const MAPS: usize = 6;

/// The start of a map that the file does not have.
const ABSENT: u32 = u32::MAX;

/// Column metrics of a data file: sizes, counts and bounds by field id.
///
/// They stay encoded, each map as an Avro array of one block, and are searched when asked for: most queries ask for
/// one column of some files, and decoded maps would take ten times the memory. A missing map or column is unknown,
/// never zero. Bounds are single-value bytes (see [`crate::value::bytes`]).
#[derive(Clone)]
pub struct ColumnMetrics {
    bytes: Option<Arc<[u8]>>,
    starts: [u32; MAPS],
}

impl Default for ColumnMetrics {
    fn default() -> Self {
        Self {
            bytes: None,
            starts: [ABSENT; MAPS],
        }
    }
}

impl ColumnMetrics {
    /// Metrics of which nothing is known.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// The size on disk of a column, in bytes (108).
    pub fn column_size(&self, field_id: i32) -> Option<i64> {
        self.count(MetricsMap::ColumnSizes, field_id)
    }

    /// How many values a column has, nulls and NaNs included (109).
    pub fn value_count(&self, field_id: i32) -> Option<i64> {
        self.count(MetricsMap::ValueCounts, field_id)
    }

    /// How many nulls a column has (110).
    pub fn null_value_count(&self, field_id: i32) -> Option<i64> {
        self.count(MetricsMap::NullValueCounts, field_id)
    }

    /// How many NaNs a column has (137).
    pub fn nan_value_count(&self, field_id: i32) -> Option<i64> {
        self.count(MetricsMap::NanValueCounts, field_id)
    }

    /// The lower bound of a column's values that are neither null nor NaN (125).
    pub fn lower_bound(&self, field_id: i32) -> Option<&[u8]> {
        self.bound(MetricsMap::LowerBounds, field_id)
    }

    /// The upper bound of a column's values that are neither null nor NaN (128).
    pub fn upper_bound(&self, field_id: i32) -> Option<&[u8]> {
        self.bound(MetricsMap::UpperBounds, field_id)
    }

    /// All sizes of columns, `None` if the file has no such map.
    pub fn column_sizes(&self) -> Option<impl Iterator<Item = (i32, i64)> + '_> {
        self.counts(MetricsMap::ColumnSizes)
    }

    /// All counts of values, `None` if the file has no such map.
    pub fn value_counts(&self) -> Option<impl Iterator<Item = (i32, i64)> + '_> {
        self.counts(MetricsMap::ValueCounts)
    }

    /// All counts of nulls, `None` if the file has no such map.
    pub fn null_value_counts(&self) -> Option<impl Iterator<Item = (i32, i64)> + '_> {
        self.counts(MetricsMap::NullValueCounts)
    }

    /// All counts of NaNs, `None` if the file has no such map.
    pub fn nan_value_counts(&self) -> Option<impl Iterator<Item = (i32, i64)> + '_> {
        self.counts(MetricsMap::NanValueCounts)
    }

    /// All lower bounds, `None` if the file has no such map.
    pub fn lower_bounds(&self) -> Option<impl Iterator<Item = (i32, &[u8])> + '_> {
        self.bounds(MetricsMap::LowerBounds)
    }

    /// All upper bounds, `None` if the file has no such map.
    pub fn upper_bounds(&self) -> Option<impl Iterator<Item = (i32, &[u8])> + '_> {
        self.bounds(MetricsMap::UpperBounds)
    }

    /// The heap memory of the metrics, in bytes.
    pub fn heap_size(&self) -> usize {
        self.bytes.as_ref().map_or(0, |b| b.len() + 16)
    }

    fn count(&self, map: MetricsMap, field_id: i32) -> Option<i64> {
        self.counts(map)?.find(|(id, _)| *id == field_id).map(|(_, v)| v)
    }

    fn bound(&self, map: MetricsMap, field_id: i32) -> Option<&[u8]> {
        self.bounds(map)?.find(|(id, _)| *id == field_id).map(|(_, v)| v)
    }

    fn counts(&self, map: MetricsMap) -> Option<impl Iterator<Item = (i32, i64)> + '_> {
        let (count, mut decoder) = self.open(map)?;
        Some((0..count).map_while(move |_| Some((decoder.int().ok()?, decoder.long().ok()?))))
    }

    fn bounds(&self, map: MetricsMap) -> Option<impl Iterator<Item = (i32, &[u8])> + '_> {
        let (count, mut decoder) = self.open(map)?;
        Some((0..count).map_while(move |_| Some((decoder.int().ok()?, decoder.bytes().ok()?))))
    }

    fn open(&self, map: MetricsMap) -> Option<(i64, Decoder<'_>)> {
        let start = *self.starts.get(map as usize)?;
        if start == ABSENT {
            return None;
        }
        let bytes = self.bytes.as_deref()?.get(usize::try_from(start).ok()?..)?;
        let mut decoder = Decoder::new(bytes);
        Some((decoder.long().ok()?, decoder))
    }
}

impl PartialEq for ColumnMetrics {
    fn eq(&self, other: &Self) -> bool {
        let counts = |m: &Self, map| m.counts(map).map(Iterator::collect::<BTreeMap<_, _>>);
        fn bounds(m: &ColumnMetrics, map: MetricsMap) -> Option<BTreeMap<i32, &[u8]>> {
            m.bounds(map).map(Iterator::collect)
        }
        use MetricsMap::*;
        [ColumnSizes, ValueCounts, NullValueCounts, NanValueCounts]
            .into_iter()
            .all(|map| counts(self, map) == counts(other, map))
            && [LowerBounds, UpperBounds]
                .into_iter()
                .all(|map| bounds(self, map) == bounds(other, map))
    }
}

impl std::fmt::Debug for ColumnMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        fn map<V: std::fmt::Debug>(
            entries: Option<impl Iterator<Item = (i32, V)>>,
        ) -> Option<BTreeMap<i32, V>> {
            entries.map(Iterator::collect)
        }
        f.debug_struct("ColumnMetrics")
            .field("column_sizes", &map(self.column_sizes()))
            .field("value_counts", &map(self.value_counts()))
            .field("null_value_counts", &map(self.null_value_counts()))
            .field("nan_value_counts", &map(self.nan_value_counts()))
            .field("lower_bounds", &map(self.lower_bounds()))
            .field("upper_bounds", &map(self.upper_bounds()))
            .finish()
    }
}

/// Makes [`ColumnMetrics`] of maps from field id to value. A map that is `None` is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnMetricsBuilder {
    /// Sizes on disk, in bytes (108).
    pub column_sizes: Option<BTreeMap<i32, i64>>,
    /// Counts of values, nulls and NaNs included (109).
    pub value_counts: Option<BTreeMap<i32, i64>>,
    /// Counts of nulls (110).
    pub null_value_counts: Option<BTreeMap<i32, i64>>,
    /// Counts of NaNs (137).
    pub nan_value_counts: Option<BTreeMap<i32, i64>>,
    /// Lower bounds as single-value bytes (125).
    pub lower_bounds: Option<BTreeMap<i32, Vec<u8>>>,
    /// Upper bounds as single-value bytes (128).
    pub upper_bounds: Option<BTreeMap<i32, Vec<u8>>>,
}

impl ColumnMetricsBuilder {
    /// The metrics.
    pub fn build(&self) -> ColumnMetrics {
        let mut scratch = MetricsScratch::default();
        let counts = [
            (MetricsMap::ColumnSizes, &self.column_sizes),
            (MetricsMap::ValueCounts, &self.value_counts),
            (MetricsMap::NullValueCounts, &self.null_value_counts),
            (MetricsMap::NanValueCounts, &self.nan_value_counts),
        ];
        for (map, values) in counts {
            if let Some(values) = values {
                scratch.start(map);
                scratch.put_map(values.iter().map(|(id, v)| (*id, MetricsValue::Count(*v))));
            }
        }
        let bounds = [
            (MetricsMap::LowerBounds, &self.lower_bounds),
            (MetricsMap::UpperBounds, &self.upper_bounds),
        ];
        for (map, values) in bounds {
            if let Some(values) = values {
                scratch.start(map);
                scratch.put_map(values.iter().map(|(id, v)| (*id, MetricsValue::Bound(v))));
            }
        }
        scratch.finish()
    }
}

enum MetricsValue<'a> {
    Count(i64),
    Bound(&'a [u8]),
}

/// Collects the encoded maps of one file; used again for the next.
#[derive(Default)]
pub(super) struct MetricsScratch {
    encoder: Encoder,
    starts: Option<[u32; MAPS]>,
}

impl MetricsScratch {
    fn start(&mut self, map: MetricsMap) {
        let start = u32::try_from(self.encoder.as_slice().len()).unwrap_or(ABSENT);
        let starts = self.starts.get_or_insert([ABSENT; MAPS]);
        if let Some(s) = starts.get_mut(map as usize) {
            *s = start;
        }
    }

    fn put_map<'v>(&mut self, values: impl ExactSizeIterator<Item = (i32, MetricsValue<'v>)>) {
        self.encoder.size(values.len());
        for (id, value) in values {
            self.encoder.long(id.into());
            match value {
                MetricsValue::Count(count) => self.encoder.long(count),
                MetricsValue::Bound(bytes) => self.encoder.bytes(bytes),
            }
        }
    }

    /// The metrics collected; empties the scratch.
    pub fn finish(&mut self) -> ColumnMetrics {
        let metrics = match self.starts.take() {
            None => ColumnMetrics::default(),
            Some(starts) => ColumnMetrics {
                bytes: Some(Arc::from(self.encoder.as_slice())),
                starts,
            },
        };
        self.encoder.clear();
        metrics
    }

    /// Takes a map over from a manifest.
    pub fn read(
        &mut self,
        map: MetricsMap,
        schema: &Schema,
        decoder: &mut Decoder<'_>,
        node: NodeId,
    ) -> Result<()> {
        let Some(node) = schema.enter(decoder, node)? else {
            return Ok(());
        };
        self.start(map);
        let bounds = matches!(map, MetricsMap::LowerBounds | MetricsMap::UpperBounds);
        if is_plain(schema, node, bounds) {
            let start = decoder.clone();
            if let Some(block) = one_block(decoder, bounds)? {
                self.encoder.raw(block);
                return Ok(());
            }
            *decoder = start;
        }
        let mut values = Vec::new();
        read_any(schema, decoder, node, bounds, &mut values)?;
        self.put_map(values.into_iter());
        Ok(())
    }
}

/// Whether a map is written as the specification asks for: an array of records of key and value, none nullable.
fn is_plain(schema: &Schema, node: NodeId, bounds: bool) -> bool {
    let Kind::Array(item) = schema.kind(node) else {
        return false;
    };
    let Kind::Record(fields) = schema.kind(*item) else {
        return false;
    };
    let [key, value] = fields.as_slice() else {
        return false;
    };
    key.name == "key"
        && matches!(schema.kind(key.node), Kind::Int | Kind::Long)
        && match schema.kind(value.node) {
            Kind::Int | Kind::Long => !bounds,
            Kind::Bytes => bounds,
            _ => false,
        }
}

/// Walks over an array of keys and values. If it is one block, that is the form it can be kept in.
fn one_block<'a>(decoder: &mut Decoder<'a>, bounds: bool) -> Result<Option<&'a [u8]>> {
    let start = decoder.position();
    let count = decoder.long()?;
    if count < 0 {
        return Ok(None);
    }
    for _ in 0..count {
        decoder.int()?;
        if bounds {
            decoder.bytes()?;
        } else {
            decoder.long()?;
        }
    }
    let block = decoder.since(start);
    if count != 0 && decoder.long()? != 0 {
        return Ok(None);
    }
    Ok(Some(block))
}

/// Reads a map in whatever form: several blocks, nullable values, other orders, an Avro map with numbers as keys.
fn read_any<'a>(
    schema: &Schema,
    decoder: &mut Decoder<'a>,
    node: NodeId,
    bounds: bool,
    values: &mut Vec<(i32, MetricsValue<'a>)>,
) -> Result<()> {
    let (item, is_map) = match schema.kind(node) {
        Kind::Array(item) => (*item, false),
        Kind::Map(value) => (*value, true),
        _ => return Err(wrong_type(schema, node, "an array of keys and values")),
    };
    loop {
        let count = decoder.block_count(schema.min_size(item).max(1))?;
        if count == 0 {
            return Ok(());
        }
        for _ in 0..count {
            let (key, value) = if is_map {
                let key = decoder.string()?;
                let key = key
                    .parse::<i32>()
                    .map_err(|_| Error::invalid("key of a map", format!("`{key}` is no field id")))?;
                (key, read_value(schema, decoder, item, bounds)?)
            } else {
                read_pair(schema, decoder, item, bounds)?
            };
            if let Some(value) = value {
                values.push((key, value));
            }
        }
    }
}

fn read_pair<'a>(
    schema: &Schema,
    decoder: &mut Decoder<'a>,
    item: NodeId,
    bounds: bool,
) -> Result<(i32, Option<MetricsValue<'a>>)> {
    let item = schema.enter(decoder, item)?.required()?;
    let Kind::Record(fields) = schema.kind(item) else {
        return Err(wrong_type(schema, item, "a record of key and value"));
    };
    let (mut key, mut value) = (None, None);
    for field in fields {
        let node = field.node;
        match field.name.as_str() {
            "key" => {
                key = FieldReader {
                    schema,
                    decoder,
                    node,
                }
                .int()?
            }
            "value" => value = read_value(schema, decoder, node, bounds)?,
            _ => schema.skip(decoder, node)?,
        }
    }
    Ok((key.required()?, value))
}

fn read_value<'a>(
    schema: &Schema,
    decoder: &mut Decoder<'a>,
    node: NodeId,
    bounds: bool,
) -> Result<Option<MetricsValue<'a>>> {
    let mut field = FieldReader {
        schema,
        decoder,
        node,
    };
    Ok(if bounds {
        field.bytes()?.map(MetricsValue::Bound)
    } else {
        field.long()?.map(MetricsValue::Count)
    })
}

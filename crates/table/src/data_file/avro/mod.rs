//! Avro files (§ Appendix A: Avro).
//!
//! They are decoded by the format crate's own decoder and not by `arrow-avro`: that one reports no field ids, makes no
//! maps of the arrays of pairs in which Iceberg stores keys that are not strings, does not read `adjust-to-utc`, decodes
//! columns that nobody asked for, and trusts the sizes that stand in a file. Here ids, logical types and bounds come
//! from the one compiled schema that manifests are read with too.
//!
//! - [`types`]: an Avro schema in Arrow's terms
//! - [`values`]: values put together to arrays

pub mod types;
pub mod values;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use bytes::{Buf, Bytes, BytesMut};
use drumlin_format::avro::{BlockHead, Codec, Container, Decoder, Field, Schema};
use futures::StreamExt;
use futures::stream::BoxStream;

use super::bytes::FileBytes;
use crate::error::{Error, Result};
use values::Column;

/// The first bytes of a file.
const MAGIC: &[u8] = b"Obj\x01";

/// The first request for a header, in bytes.
const FIRST_HEADER: u64 = 64 << 10;

/// How much is fetched at once, in bytes.
const FETCH: u64 = 8 << 20;

/// A batch ends when so many bytes were decoded for it, so that the offsets of its strings stay small.
const MAX_BATCH_BYTES: usize = 256 << 20;

/// Records without any bytes that one block may announce.
const MAX_EMPTY_RECORDS: usize = 1 << 24;

/// An Avro file whose header was read.
pub struct Opened {
    bytes: FileBytes,
    schema: Schema,
    arrow: SchemaRef,
    codec: Codec,
    sync: Vec<u8>,
    /// Where the first block starts.
    first_block: u64,
}

/// Reads the header.
pub async fn open(bytes: FileBytes) -> Result<(SchemaRef, Opened)> {
    let mut length = FIRST_HEADER.min(bytes.size());
    loop {
        let start = bytes.read(0..length).await?;
        let whole = length == bytes.size();
        if !start.starts_with(MAGIC) {
            return Err(bytes.unreadable("it is no Avro file: it does not start with the bytes `Obj` 01"));
        }
        match Container::open(&start) {
            Ok(header) => {
                let fields = record_fields(header.schema()).map_err(|e| e.in_file(bytes.location()))?;
                let fields = types::fields(header.schema(), fields);
                let fields = fields.map_err(|e| e.in_file(bytes.location()))?;
                let arrow = Arc::new(ArrowSchema::new(fields));
                let opened = Opened {
                    schema: header.schema().clone(),
                    arrow: Arc::clone(&arrow),
                    codec: header.codec(),
                    sync: header.sync().to_vec(),
                    first_block: u64::try_from(header.first_block()).unwrap_or(u64::MAX),
                    bytes,
                };
                return Ok((arrow, opened));
            }
            // It may only be that the header is longer.
            Err(_) if !whole => {
                length = length.saturating_mul(8).min(bytes.size());
            }
            Err(error) => return Err(Error::from(error.in_file(bytes.location()))),
        }
    }
}

fn record_fields(schema: &Schema) -> drumlin_format::Result<&[Field]> {
    schema
        .record_fields(schema.root())
        .ok_or_else(|| drumlin_format::Error::invalid("Avro schema", "the rows are no records"))
}

impl Opened {
    /// The rows, with the columns at these ascending places.
    pub fn read(self, columns: &[usize], batch_size: usize) -> BoxStream<'static, Result<RecordBatch>> {
        match Rows::start(self, columns, batch_size) {
            Ok(rows) => futures::stream::try_unfold(rows, |mut rows| async move {
                let batch = rows.next().await?;
                Ok(batch.map(|batch| (batch, rows)))
            })
            .boxed(),
            Err(error) => futures::stream::once(async move { Err(error) }).boxed(),
        }
    }
}

/// Reading the rows of a file.
struct Rows {
    bytes: FileBytes,
    schema: Schema,
    codec: Codec,
    sync: Vec<u8>,
    /// The fields of a record in their order: a column, or one to step over.
    fields: Vec<(Field, Option<Column>)>,
    /// The schema of the batches.
    arrow: SchemaRef,
    batch_size: usize,
    /// The offset in the file of what is fetched next.
    offset: u64,
    /// What was fetched and not yet decoded.
    fetched: BytesMut,
    block: OpenBlock,
}

/// A block that is being decoded.
#[derive(Default)]
struct OpenBlock {
    inflated: Bytes,
    /// Bytes of it that were decoded.
    position: usize,
    /// Records that are left.
    records: usize,
}

impl Rows {
    fn start(opened: Opened, columns: &[usize], batch_size: usize) -> Result<Self> {
        let location = opened.bytes.location();
        let schema = opened.schema;
        let mut fields = Vec::new();
        let stored = record_fields(&schema).map_err(|e| e.in_file(location))?;
        for (place, (field, arrow)) in stored.iter().zip(opened.arrow.fields()).enumerate() {
            let column = columns
                .contains(&place)
                .then(|| Column::new(&schema, field.node, Arc::clone(arrow)))
                .transpose();
            fields.push((field.clone(), column.map_err(|e| e.in_file(location))?));
        }
        let arrow = opened.arrow.project(columns);
        Ok(Self {
            arrow: Arc::new(arrow.map_err(|e| opened.bytes.unreadable(e))?),
            bytes: opened.bytes,
            schema,
            codec: opened.codec,
            sync: opened.sync,
            fields,
            batch_size,
            offset: opened.first_block,
            fetched: BytesMut::new(),
            block: OpenBlock::default(),
        })
    }

    /// The next batch, `None` at the end of the file.
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let (mut rows, mut decoded) = (0, 0);
        while rows < self.batch_size && decoded < MAX_BATCH_BYTES {
            if self.block.records == 0 && !self.next_block().await? {
                break;
            }
            let result = self.decode(self.batch_size - rows, MAX_BATCH_BYTES - decoded);
            let (more, bytes) = result.map_err(|e| e.in_file(self.bytes.location()))?;
            (rows, decoded) = (rows + more, decoded.saturating_add(bytes));
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns = self.fields.iter_mut().filter_map(|(_, column)| column.as_mut());
        let columns = columns.map(Column::finish).collect::<Result<Vec<_>, _>>();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = columns.and_then(|columns| {
            RecordBatch::try_new_with_options(Arc::clone(&self.arrow), columns, &options)
        });
        batch.map(Some).map_err(|e| self.bytes.unreadable(e))
    }

    /// Decodes records of the open block, at most so many, and no more after so many bytes. Returns how many of both
    /// they were.
    fn decode(&mut self, max_records: usize, max_bytes: usize) -> drumlin_format::Result<(usize, usize)> {
        let rest = self.block.inflated.get(self.block.position..).unwrap_or_default();
        let mut decoder = Decoder::new(rest);
        let records = self.block.records.min(max_records);
        let mut done = 0;
        while done < records && decoder.position() < max_bytes {
            for (field, column) in &mut self.fields {
                match column {
                    Some(column) => column.append(&self.schema, &mut decoder)?,
                    None => self.schema.skip(&mut decoder, field.node)?,
                }
            }
            done += 1;
        }
        let bytes = decoder.position();
        self.block.position += bytes;
        self.block.records -= done;
        if self.block.records == 0 && self.block.position != self.block.inflated.len() {
            let left = self.block.inflated.len() - self.block.position;
            return Err(drumlin_format::Error::invalid(
                "Avro block",
                format!("{left} bytes are left after its records"),
            ));
        }
        Ok((done, bytes))
    }

    /// Opens the next block that has records. `false` at the end of the file.
    async fn next_block(&mut self) -> Result<bool> {
        loop {
            self.fetch(BlockHead::MAX_LENGTH).await?;
            if self.fetched.is_empty() {
                return Ok(false);
            }
            let of_file = |e: drumlin_format::Error| Error::from(e.in_file(self.bytes.location()));
            let head = BlockHead::read(&self.fetched).map_err(of_file)?;
            let length = head.block_length();
            self.fetch(length).await?;
            let of_file = |e: drumlin_format::Error| Error::from(e.in_file(self.bytes.location()));
            let data = head.data(&self.fetched, &self.sync).map_err(of_file)?;
            let inflated = match self.codec {
                Codec::Null => Bytes::copy_from_slice(data),
                codec => {
                    let mut buffer = Vec::new();
                    codec.inflate(data, &mut buffer).map_err(of_file)?;
                    Bytes::from(buffer)
                }
            };
            let smallest = self.schema.min_size(self.schema.root());
            let fit = match smallest {
                0 => MAX_EMPTY_RECORDS,
                size => inflated.len() / size,
            };
            if head.count > fit {
                let reason = format!(
                    "a block announces {} records in {} bytes",
                    head.count,
                    inflated.len()
                );
                return Err(self.bytes.unreadable(reason));
            }
            self.fetched.advance(length);
            if head.count == 0 {
                continue;
            }
            self.block = OpenBlock {
                inflated,
                position: 0,
                records: head.count,
            };
            return Ok(true);
        }
    }

    /// Fetches until so many bytes are there, or all of the file.
    async fn fetch(&mut self, needed: usize) -> Result<()> {
        let there = self.fetched.len();
        let left = self.bytes.size().saturating_sub(self.offset);
        if there >= needed || left == 0 {
            return Ok(());
        }
        let missing = u64::try_from(needed - there).unwrap_or(u64::MAX);
        let end = self.offset + missing.max(FETCH).min(left);
        let more = self.bytes.read(self.offset..end).await?;
        self.fetched.extend_from_slice(&more);
        self.offset = end;
        Ok(())
    }
}

//! The rows of a data or delete file, whatever its format, as Arrow batches.
//!
//! What comes out speaks of the file alone: its own columns under its own names, each field with the id that the file
//! says. What they are in a table is for the layer above. Data files in Parquet are not read here but by the engine's
//! scan.
//!
//! Errors name the file, and bytes that are damaged make errors: a reader that panics on them is stopped
//! ([`guard`]).
//!
//! - [`bytes`]: ranges of the file
//! - [`parquet`], [`avro`], [`orc`]: the formats
//! - [`guard`]: panics of readers as errors

pub mod avro;
pub mod bytes;
pub mod guard;
pub mod orc;
pub mod parquet;

#[cfg(test)]
mod tests;

use arrow::array::RecordBatch;
use arrow_schema::SchemaRef;
use drumlin_format::manifest::FileFormat;
use futures::StreamExt;
use futures::stream::BoxStream;

use crate::error::{Error, Result};
use crate::storage::Storage;
use bytes::FileBytes;

/// An opened file: its columns are known, nothing else was read.
pub struct OpenFile {
    location: String,
    schema: SchemaRef,
    format: Opened,
}

enum Opened {
    Parquet(Box<parquet::Opened>),
    Avro(Box<avro::Opened>),
    Orc(Box<orc::Opened>),
}

impl std::fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenFile")
            .field("location", &self.location)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// Opens a file of a table. `size` are the bytes of the file, as its manifest says.
///
/// # Errors
/// [`Error::NotFound`] if there is no such file, which callers may extend by [`Error::needed_for`];
/// [`Error::Unreadable`] if it is not of the format; [`Error::Unsupported`] for formats that hold no rows.
pub async fn open(storage: &Storage, path: &str, size: u64, format: FileFormat) -> Result<OpenFile> {
    let bytes = FileBytes::new(storage, path, size)?;
    let open = async {
        Ok(match format {
            FileFormat::Parquet => {
                let (schema, opened) = parquet::open(bytes).await?;
                (schema, Opened::Parquet(Box::new(opened)))
            }
            FileFormat::Avro => {
                let (schema, opened) = avro::open(bytes).await?;
                (schema, Opened::Avro(Box::new(opened)))
            }
            FileFormat::Orc => {
                let (schema, opened) = orc::open(bytes).await?;
                (schema, Opened::Orc(Box::new(opened)))
            }
            other => {
                return Err(Error::Unsupported(format!(
                    "`{path}` is of the format {}, which holds no rows",
                    other.name()
                )));
            }
        })
    };
    let (schema, format) = guard::future(path, open).await?;
    Ok(OpenFile {
        location: path.to_string(),
        schema,
        format,
    })
}

impl OpenFile {
    /// The file's own columns. Each field, nested ones too, carries its id under
    /// [`FIELD_ID_KEY`](crate::arrow::FIELD_ID_KEY) if the file says one.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows in the order of the file, with the columns at these places of the schema, in this order, in batches of
    /// at most `batch_size` rows. Without columns the batches have row counts all the same.
    ///
    /// After an error the stream ends.
    pub fn read(self, columns: &[usize], batch_size: usize) -> BoxStream<'static, Result<RecordBatch>> {
        let Self {
            location,
            schema,
            format,
        } = self;
        if let Some(place) = columns.iter().find(|place| **place >= schema.fields().len()) {
            let reason = format!("it has no column {place}, but {}", schema.fields().len());
            let error = Error::Unreadable { location, reason };
            return futures::stream::once(async move { Err(error) }).boxed();
        }
        let batch_size = batch_size.max(1);
        // The readers give each column once, in the order of the file.
        let mut stored = columns.to_vec();
        stored.sort_unstable();
        stored.dedup();
        let order: Vec<usize> = columns
            .iter()
            .filter_map(|wanted| stored.iter().position(|place| place == wanted))
            .collect();
        let start = || match format {
            Opened::Parquet(opened) => opened.read(&stored, batch_size),
            Opened::Avro(opened) => opened.read(&stored, batch_size),
            Opened::Orc(opened) => opened.read(&stored, batch_size),
        };
        let in_order = stored == columns;
        let of = location.clone();
        guard::stream(&location, start)
            .map(move |batch| match in_order {
                true => batch,
                false => batch?.project(&order).map_err(|e| Error::unreadable(&of, e)),
            })
            .boxed()
    }
}

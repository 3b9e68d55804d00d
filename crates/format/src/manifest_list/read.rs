//! Reading manifest lists.

use super::{FieldSummary, ManifestFile};
use crate::avro::{Container, Decoder, Kind, NodeId, Schema};
use crate::error::{Error, Result};
use crate::manifest::ManifestContent;
use crate::manifest::fields::{self, FieldReader, Required};
use crate::manifest::format_version;

/// Reads the entries of a manifest list of version 1, 2 or 3, in order.
///
/// Columns are found by field id only: their names and order changed over time.
pub fn read_manifest_list(bytes: &[u8]) -> Result<Vec<ManifestFile>> {
    let container = Container::open(bytes)?;
    let version = format_version(&container, "manifest list")?;
    let schema = container.schema();
    let columns = schema
        .record_fields(schema.root())
        .ok_or_else(|| Error::invalid("manifest list", "its rows are no records"))?;
    for (id, name) in [
        (500, "manifest_path"),
        (501, "manifest_length"),
        (502, "partition_spec_id"),
        (503, "added_snapshot_id"),
    ] {
        if !columns.iter().any(|c| c.id == Some(id)) {
            return Err(Error::invalid(
                "manifest list",
                format!("it has no column {name} (field id {id})"),
            ));
        }
    }
    let mut files = Vec::new();
    let mut buffer = Vec::new();
    for block in container.blocks()? {
        let data = container.codec().inflate(block.data, &mut buffer)?;
        let mut decoder = Decoder::new(data);
        for _ in 0..block.count {
            let mut row = Row::new(version);
            for column in columns {
                row.read(schema, &mut decoder, column.id, column.node)
                    .map_err(|e| {
                        fields::at(e, || {
                            format!("manifest list, row {}, column {}", files.len(), column.name)
                        })
                    })?;
            }
            files.push(row.file);
        }
        fields::expect_end(&decoder)?;
    }
    Ok(files)
}

struct Row {
    file: ManifestFile,
    version: u8,
}

impl Row {
    fn new(version: u8) -> Self {
        Self {
            version,
            file: ManifestFile {
                manifest_path: String::new(),
                manifest_length: 0,
                partition_spec_id: 0,
                content: ManifestContent::Data,
                sequence_number: 0,
                min_sequence_number: 0,
                added_snapshot_id: 0,
                added_files_count: None,
                existing_files_count: None,
                deleted_files_count: None,
                added_rows_count: None,
                existing_rows_count: None,
                deleted_rows_count: None,
                partitions: None,
                key_metadata: None,
                first_row_id: None,
            },
        }
    }

    fn read(
        &mut self,
        schema: &Schema,
        decoder: &mut Decoder<'_>,
        id: Option<i32>,
        node: NodeId,
    ) -> Result<()> {
        let (file, version) = (&mut self.file, self.version);
        let mut field = FieldReader {
            schema,
            decoder,
            node,
        };
        match id {
            Some(500) => file.manifest_path = field.string()?.required()?.to_owned(),
            Some(501) => file.manifest_length = fields::not_negative(field.long()?.required()?)?,
            Some(502) => file.partition_spec_id = field.int()?.required()?,
            Some(517) => {
                file.content = match field.int()? {
                    None if version == 1 => ManifestContent::Data,
                    content => ManifestContent::from_code(content.required()?)?,
                }
            }
            Some(515) => file.sequence_number = sequence_number(field.long()?, version)?,
            Some(516) => file.min_sequence_number = sequence_number(field.long()?, version)?,
            Some(503) => file.added_snapshot_id = field.long()?.required()?,
            Some(504) => file.added_files_count = field.int()?,
            Some(505) => file.existing_files_count = field.int()?,
            Some(506) => file.deleted_files_count = field.int()?,
            Some(512) => file.added_rows_count = field.long()?,
            Some(513) => file.existing_rows_count = field.long()?,
            Some(514) => file.deleted_rows_count = field.long()?,
            Some(507) => file.partitions = summaries(schema, decoder, node)?,
            Some(519) => fields::refuse_encryption(field.bytes()?, "manifest list")?,
            Some(520) => file.first_row_id = field.long()?,
            _ => schema.skip(decoder, node)?,
        }
        Ok(())
    }
}

/// Version 1 has no sequence numbers; later a null one would make old files look older than deletes for them.
fn sequence_number(value: Option<i64>, version: u8) -> Result<i64> {
    match value {
        None if version == 1 => Ok(0),
        value => fields::not_negative(value.required()?),
    }
}

fn summaries(schema: &Schema, decoder: &mut Decoder<'_>, node: NodeId) -> Result<Option<Vec<FieldSummary>>> {
    let Some(array) = schema.enter(decoder, node)? else {
        return Ok(None);
    };
    let Kind::Array(item) = schema.kind(array) else {
        return Err(fields::wrong_type(schema, array, "an array"));
    };
    let mut summaries = Vec::new();
    loop {
        let count = decoder.block_count(schema.min_size(*item))?;
        if count == 0 {
            return Ok(Some(summaries));
        }
        for _ in 0..count {
            summaries.push(summary(schema, decoder, *item)?);
        }
    }
}

fn summary(schema: &Schema, decoder: &mut Decoder<'_>, node: NodeId) -> Result<FieldSummary> {
    let record = schema.enter(decoder, node)?.required()?;
    let Kind::Record(columns) = schema.kind(record) else {
        return Err(fields::wrong_type(schema, record, "a record"));
    };
    // Without a statement about nulls there may be some.
    let mut summary = FieldSummary {
        contains_null: true,
        ..FieldSummary::default()
    };
    for column in columns {
        let mut field = FieldReader {
            schema,
            decoder,
            node: column.node,
        };
        match column.id {
            Some(509) => summary.contains_null = field.boolean()?.unwrap_or(true),
            Some(518) => summary.contains_nan = field.boolean()?,
            Some(510) => summary.lower_bound = field.bytes()?.map(<[u8]>::to_vec),
            Some(511) => summary.upper_bound = field.bytes()?.map(<[u8]>::to_vec),
            _ => schema.skip(decoder, column.node)?,
        }
    }
    Ok(summary)
}

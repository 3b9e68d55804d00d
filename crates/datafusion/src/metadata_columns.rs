//! Columns that a query may name though no schema lists them (§ Reserved Field IDs).

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::parquet::arrow::RowNumber;
use drumlin_format::types::{NestedField, StructType};
use drumlin_table::Table;
use drumlin_table::arrow::{FIELD_ID_KEY, column_to_arrow};

/// The location of the row's data file.
pub const FILE: &str = "_file";
/// The position of the row in its data file, from 0, deleted rows counted.
pub const POS: &str = "_pos";
/// The id of the partition spec of the row's data file.
pub const SPEC_ID: &str = "_spec_id";
/// The partition values of the row's data file: the fields of all specs, null where its own spec has none.
pub const PARTITION: &str = "_partition";
/// The id of the row (version 3).
pub const ROW_ID: &str = "_row_id";
/// The sequence number of the commit that last changed the row (version 3).
pub const LAST_UPDATED_SEQUENCE_NUMBER: &str = "_last_updated_sequence_number";

/// The reserved field id of [`FILE`].
pub const FILE_ID: i32 = 2_147_483_646;
/// The reserved field id of [`POS`].
pub const POS_ID: i32 = 2_147_483_645;
/// The reserved field id of [`SPEC_ID`].
pub const SPEC_ID_ID: i32 = 2_147_483_643;
/// The reserved field id of [`PARTITION`].
pub const PARTITION_ID: i32 = 2_147_483_642;
/// The reserved field id of [`ROW_ID`].
pub const ROW_ID_ID: i32 = 2_147_483_540;
/// The reserved field id of [`LAST_UPDATED_SEQUENCE_NUMBER`].
pub const LAST_UPDATED_SEQUENCE_NUMBER_ID: i32 = 2_147_483_539;

/// The names of all metadata columns.
pub const NAMES: [&str; 6] = [
    FILE,
    POS,
    SPEC_ID,
    PARTITION,
    ROW_ID,
    LAST_UPDATED_SEQUENCE_NUMBER,
];

/// The metadata columns of a table. A table that was never partitioned has no [`PARTITION`], one below version 3 no
/// row lineage.
pub fn metadata_columns(table: &Table) -> Vec<FieldRef> {
    let metadata = table.metadata();
    let mut columns = vec![
        reserved(FILE, FILE_ID, DataType::Utf8, false),
        Arc::new(position(POS)),
        reserved(SPEC_ID, SPEC_ID_ID, DataType::Int32, false),
    ];
    let partition = unified_partition_type(table);
    if !partition.fields().is_empty() {
        columns.push(column_to_arrow(&NestedField::optional(
            PARTITION_ID,
            PARTITION,
            partition,
        )));
    }
    if metadata.format_version() >= 3 {
        columns.push(reserved(ROW_ID, ROW_ID_ID, DataType::Int64, true));
        let id = LAST_UPDATED_SEQUENCE_NUMBER_ID;
        columns.push(reserved(LAST_UPDATED_SEQUENCE_NUMBER, id, DataType::Int64, true));
    }
    columns
}

/// The fields of all partition specs, each once, by ascending field id.
pub fn unified_partition_type(table: &Table) -> StructType {
    let mut fields = BTreeMap::new();
    for spec in table.metadata().partition_specs() {
        for field in table.partition_type(spec).fields() {
            fields.insert(field.id, field.clone());
        }
    }
    StructType::new(fields.into_values().collect())
}

/// How scans call [`POS`] inside: files may well have a column called `_pos`, but none of this name.
pub const ROW_POSITION: &str = "drumlin$row_position";

/// [`POS`] as the Parquet reader makes it, under the name [`ROW_POSITION`].
pub fn row_position() -> FieldRef {
    Arc::new(position(ROW_POSITION))
}

fn position(name: &str) -> Field {
    let field = Field::new(name, DataType::Int64, false).with_extension_type(RowNumber);
    let mut metadata = field.metadata().clone();
    metadata.insert(FIELD_ID_KEY.to_string(), POS_ID.to_string());
    field.with_metadata(metadata)
}

fn reserved(name: &str, id: i32, data_type: DataType, nullable: bool) -> FieldRef {
    let metadata = [(FIELD_ID_KEY.to_string(), id.to_string())];
    Arc::new(Field::new(name, data_type, nullable).with_metadata(metadata.into()))
}

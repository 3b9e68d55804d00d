//! Generating the tables of TPC-H.

use datafusion::arrow::array::RecordBatchReader;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};
use tpchgen::generators as g;
use tpchgen_arrow as arrow;

use crate::Result;

/// Rows of a batch while generating.
const BATCH_ROWS: usize = 8192;

/// A table and how many files it gets.
#[derive(Debug, Clone, Copy)]
pub struct TpchTable {
    /// Its name.
    pub name: &'static str,
    /// How many files it is written to.
    pub files: i32,
}

/// The largest table.
pub const LINEITEM: TpchTable = table("lineitem", 12);

/// All tables.
pub const TABLES: [TpchTable; 8] = [
    table("region", 1),
    table("nation", 1),
    table("supplier", 1),
    table("part", 2),
    table("customer", 2),
    table("partsupp", 4),
    table("orders", 6),
    LINEITEM,
];

const fn table(name: &'static str, files: i32) -> TpchTable {
    TpchTable { name, files }
}

/// A source of batches that can be used on another thread.
pub type Batches = Box<dyn RecordBatchReader + Send>;

impl TpchTable {
    /// The rows of the file of this number, from 1, in the order of the primary key.
    pub fn rows(&self, scale_factor: f64, file: i32) -> Result<Batches> {
        let (s, f, n) = (scale_factor, file, self.files);
        Ok(match self.name {
            "region" => Box::new(
                arrow::RegionArrow::new(g::RegionGenerator::new(s, f, n)).with_batch_size(BATCH_ROWS),
            ),
            "nation" => Box::new(
                arrow::NationArrow::new(g::NationGenerator::new(s, f, n)).with_batch_size(BATCH_ROWS),
            ),
            "supplier" => Box::new(
                arrow::SupplierArrow::new(g::SupplierGenerator::new(s, f, n)).with_batch_size(BATCH_ROWS),
            ),
            "part" => {
                Box::new(arrow::PartArrow::new(g::PartGenerator::new(s, f, n)).with_batch_size(BATCH_ROWS))
            }
            "customer" => Box::new(
                arrow::CustomerArrow::new(g::CustomerGenerator::new(s, f, n)).with_batch_size(BATCH_ROWS),
            ),
            "partsupp" => Box::new(
                arrow::PartSuppArrow::new(g::PartSuppGenerator::new(s, f, n)).with_batch_size(BATCH_ROWS),
            ),
            "orders" => {
                Box::new(arrow::OrderArrow::new(g::OrderGenerator::new(s, f, n)).with_batch_size(BATCH_ROWS))
            }
            "lineitem" => Box::new(
                arrow::LineItemArrow::new(g::LineItemGenerator::new(s, f, n)).with_batch_size(BATCH_ROWS),
            ),
            other => return Err(format!("TPC-H has no table {other}").into()),
        })
    }

    /// Its columns as an Iceberg table has them, with the ids 1, 2, 3 and so on.
    pub fn schema(&self) -> Result<Schema> {
        let arrow: SchemaRef = self.rows(1.0, 1)?.schema();
        let mut fields = Vec::new();
        for (field, id) in arrow.fields().iter().zip(1..) {
            let primitive = match field.data_type() {
                DataType::Int32 => PrimitiveType::Int,
                DataType::Int64 => PrimitiveType::Long,
                DataType::Date32 => PrimitiveType::Date,
                DataType::Utf8View => PrimitiveType::String,
                DataType::Decimal128(precision, scale) => PrimitiveType::Decimal {
                    precision: *precision,
                    scale: u8::try_from(*scale)?,
                },
                other => return Err(format!("{}.{} is of type {other}", self.name, field.name()).into()),
            };
            fields.push(match field.is_nullable() {
                true => NestedField::optional(id, field.name(), primitive),
                false => NestedField::required(id, field.name(), primitive),
            });
        }
        Ok(Schema::new(0, fields, Vec::new())?)
    }
}

//! Partition specs and tuples (§ Partitioning).

pub mod json;
mod path;

#[cfg(test)]
mod tests;

use crate::schema::Schema;
use crate::transform::Transform;
use crate::types::{NestedField, PrimitiveType, StructType, Type};
use crate::value::Value;

/// The first id that a partition field gets (§ Partition Specs); the field before it is the last assigned one of a
/// table without partition fields.
pub const FIRST_PARTITION_FIELD_ID: i32 = 1000;

/// How the rows of a table are spread over its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSpec {
    spec_id: i32,
    fields: Vec<PartitionField>,
}

/// One value of the partition tuple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionField {
    /// Ids of the source columns; one, but for the multi-argument transforms of version 3.
    pub source_ids: Vec<i32>,
    /// The id of the field, unique over the specs of a table.
    pub field_id: i32,
    /// The name of the field, unique in its spec.
    pub name: String,
    /// How the value is made.
    pub transform: Transform,
}

/// The partition values of a file, in the order of its spec; null is `None`.
pub type PartitionTuple = Vec<Option<Value>>;

impl PartitionField {
    /// The source column of a transform with one argument.
    pub fn source_id(&self) -> Option<i32> {
        match self.source_ids.as_slice() {
            [id] => Some(*id),
            _ => None,
        }
    }

    /// The type of the field's values: the transform's result, or `None` where the source column is gone from the
    /// schema, where the transform is unknown or has several arguments. Such a field prunes nothing.
    pub fn result_type(&self, schema: &Schema) -> Option<PrimitiveType> {
        let source = schema.field_by_id(self.source_id()?)?;
        self.transform.result_type_of(&source.field_type)
    }
}

impl PartitionSpec {
    /// A spec of these fields.
    pub fn new(spec_id: i32, fields: Vec<PartitionField>) -> Self {
        Self { spec_id, fields }
    }

    /// The spec without fields.
    pub fn unpartitioned(spec_id: i32) -> Self {
        Self::new(spec_id, Vec::new())
    }

    /// The id of this spec in its table.
    pub fn spec_id(&self) -> i32 {
        self.spec_id
    }

    /// The fields in order.
    pub fn fields(&self) -> &[PartitionField] {
        &self.fields
    }

    /// Whether every file is in one and the same partition: no fields, or void ones only.
    pub fn is_unpartitioned(&self) -> bool {
        self.fields.iter().all(|f| f.transform == Transform::Void)
    }

    /// The highest partition field id, 999 without fields (§ Table Metadata Fields, `last-partition-id`).
    pub fn highest_field_id(&self) -> i32 {
        self.fields
            .iter()
            .map(|f| f.field_id)
            .max()
            .unwrap_or(FIRST_PARTITION_FIELD_ID - 1)
    }

    /// The struct type of the tuples of this spec. Fields whose type is not known (see
    /// [`PartitionField::result_type`]) are of type unknown.
    pub fn partition_type(&self, schema: &Schema) -> StructType {
        let field = |f: &PartitionField| {
            let of = f.result_type(schema).unwrap_or(PrimitiveType::Unknown);
            NestedField::optional(f.field_id, f.name.clone(), Type::Primitive(of))
        };
        StructType::new(self.fields.iter().map(field).collect())
    }
}

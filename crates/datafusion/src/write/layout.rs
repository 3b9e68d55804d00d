//! Partition values and sort terms as expressions over the rows that are written.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema as ArrowSchema};
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexRequirement, PhysicalExpr, PhysicalSortRequirement};
use drumlin_format::partition::{PartitionField, PartitionSpec};
use drumlin_format::schema::Schema;
use drumlin_format::sort::{NullOrder, SortDirection, SortOrder};
use drumlin_format::transform::Transform;
use drumlin_format::types::{PrimitiveType, Type};
use drumlin_table::Table;
use drumlin_table::arrow::{column_to_arrow, type_to_arrow};
use drumlin_table::write::options::DistributionMode;
use drumlin_table::write::partition_columns;

use crate::error::external;

/// How rows are brought to the writers.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Rows with the same values of these go to one writer.
    pub(super) hashed: Vec<Arc<dyn PhysicalExpr>>,
    /// Each writer gets its rows sorted by this.
    pub(super) sorted: Option<LexRequirement>,
    /// The order that files then have; 0 for none.
    pub(super) sort_order_id: i32,
    pub(super) name: &'static str,
}

impl Layout {
    /// Rows are not written.
    pub(super) fn none() -> Self {
        Self {
            hashed: Vec::new(),
            sorted: None,
            sort_order_id: drumlin_format::sort::UNSORTED_ORDER_ID,
            name: "none",
        }
    }

    /// What the properties and the sort order of a table ask for.
    pub(super) fn of(table: &Table, mode: Option<DistributionMode>) -> Result<Self> {
        let metadata = table.metadata();
        let (schema, spec) = (metadata.current_schema(), metadata.default_spec());
        let order = metadata.default_sort_order();
        let partitions = spec
            .fields()
            .iter()
            .filter(|field| field.transform != Transform::Void)
            .map(|field| term(schema, &field.source_ids, &field.transform))
            .collect::<Result<Vec<_>>>()?;
        let mode = mode.unwrap_or(match (spec.is_unpartitioned(), order.is_unsorted()) {
            (_, false) => DistributionMode::Range,
            (false, true) => DistributionMode::Hash,
            (true, true) => DistributionMode::None,
        });
        let sorted = match order.is_unsorted() {
            true => None,
            false => sorted(schema, &partitions, order)?,
        };
        let sort_order_id = match sorted.is_some() && claimable(schema, order) {
            true => order.order_id,
            false => drumlin_format::sort::UNSORTED_ORDER_ID,
        };
        // Ranges are not made: the rows of a partition are kept together, and each writer sorts its own.
        let (hashed, name) = match (mode, partitions.is_empty()) {
            (DistributionMode::None, _) => (vec![], "none"),
            (DistributionMode::Hash, true) => (vec![], "none"),
            (DistributionMode::Range, true) => (vec![], "local order"),
            (DistributionMode::Hash, false) => (partitions, "hash"),
            (DistributionMode::Range, false) => (partitions, "hash, local order"),
        };
        Ok(Self {
            hashed,
            sorted,
            sort_order_id,
            name,
        })
    }
}

/// By partition first, so that a writer has one file open at a time.
fn sorted(
    schema: &Arc<Schema>,
    partitions: &[Arc<dyn PhysicalExpr>],
    order: &SortOrder,
) -> Result<Option<LexRequirement>> {
    let mut terms: Vec<PhysicalSortRequirement> = Vec::new();
    for partition in partitions {
        let options = SortOptions {
            descending: false,
            nulls_first: true,
        };
        terms.push(PhysicalSortRequirement::new(Arc::clone(partition), Some(options)));
    }
    for field in &order.fields {
        if field.transform == Transform::Void {
            continue;
        }
        let options = SortOptions {
            descending: field.direction == SortDirection::Descending,
            nulls_first: field.null_order == NullOrder::First,
        };
        let value = term(schema, &field.source_ids, &field.transform)?;
        terms.push(PhysicalSortRequirement::new(value, Some(options)));
    }
    Ok(LexRequirement::new(terms))
}

/// Whether files may say that they have the order: floating-point numbers inside of structs are sorted with all their NaNs as
/// one, which the format does not do.
fn claimable(schema: &Schema, order: &SortOrder) -> bool {
    order.fields.iter().flat_map(|field| &field.source_ids).all(|id| {
        let floating = match schema.field_by_id(*id).map(|field| &field.field_type) {
            Some(Type::Primitive(primitive)) => primitive.is_floating(),
            _ => true,
        };
        !floating || schema.parent_of(*id).is_none()
    })
}

/// A column under a transform.
fn term(schema: &Arc<Schema>, source_ids: &[i32], transform: &Transform) -> Result<Arc<dyn PhysicalExpr>> {
    let [source_id] = source_ids else {
        return plan_err!("{transform} of several columns cannot be computed");
    };
    let root = schema.path_to(*source_id).first().copied();
    let column = schema
        .fields()
        .iter()
        .enumerate()
        .find(|(_, f)| Some(f.id) == root);
    let Some((index, column)) = column else {
        return plan_err!("field {source_id}, the source of {transform}, is not in the schema");
    };
    let input: Arc<dyn PhysicalExpr> = Arc::new(Column::new(&column.name, index));
    if *transform == Transform::Identity && root == Some(*source_id) {
        return Ok(input);
    }
    let field = PartitionField {
        source_ids: vec![*source_id],
        field_id: 1000,
        name: column.name.clone(),
        transform: transform.clone(),
    };
    let of_column = Schema::new(0, vec![column.clone()], vec![]).map_err(|e| external(e.into()))?;
    let source = of_column.field_by_id(*source_id).map(|f| &f.field_type);
    let Some(result) = source.and_then(|source| transform.result_type_of(source)) else {
        return plan_err!("{transform} cannot be made of column `{}`", column.name);
    };
    Ok(Arc::new(Transformed {
        input,
        column: column_to_arrow(column),
        result,
        of: Arc::new((of_column, PartitionSpec::new(0, vec![field]))),
    }))
}

/// The value of a column, or of a field inside of it, under a transform.
#[derive(Debug)]
struct Transformed {
    input: Arc<dyn PhysicalExpr>,
    column: FieldRef,
    result: PrimitiveType,
    of: Arc<(Schema, PartitionSpec)>,
}

impl Transformed {
    fn field(&self) -> Option<&PartitionField> {
        self.of.1.fields().first()
    }
}

impl PartialEq for Transformed {
    fn eq(&self, other: &Self) -> bool {
        self.input.eq(&other.input) && self.column == other.column && self.field() == other.field()
    }
}

impl Eq for Transformed {}

impl Hash for Transformed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
        if let Some(field) = self.field() {
            field.source_ids.hash(state);
            field.transform.hash(state);
        }
    }
}

impl fmt::Display for Transformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(field) = self.field() else {
            return write!(f, "{}", self.input);
        };
        let source = field.source_id().and_then(|id| self.of.0.name_of(id));
        write!(f, "{}({})", field.transform, source.unwrap_or(&field.name))
    }
}

impl PhysicalExpr for Transformed {
    fn data_type(&self, _: &ArrowSchema) -> Result<DataType> {
        Ok(type_to_arrow(&self.result.clone().into(), true))
    }

    fn nullable(&self, _: &ArrowSchema) -> Result<bool> {
        Ok(true)
    }

    fn return_field(&self, schema: &ArrowSchema) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(
            self.to_string(),
            self.data_type(schema)?,
            true,
        )))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let input = self.input.evaluate(batch)?.into_array(rows)?;
        let (schema, spec) = self.of.as_ref();
        // Nulls where none may be are found by the writer, which knows their row.
        let column = Arc::new(self.column.as_ref().clone().with_nullable(true));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let of_column = RecordBatch::try_new_with_options(
            Arc::new(ArrowSchema::new(vec![column])),
            vec![input],
            &options,
        )?;
        match partition_columns(schema, spec, &of_column)
            .map_err(external)?
            .pop()
        {
            Some(values) => Ok(ColumnarValue::Array(values)),
            None => internal_err!("{self} has no value"),
        }
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match children.as_slice() {
            [input] => Ok(Arc::new(Self {
                input: Arc::clone(input),
                column: Arc::clone(&self.column),
                result: self.result.clone(),
                of: Arc::clone(&self.of),
            })),
            _ => internal_err!("a transform has one column, not {}", children.len()),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

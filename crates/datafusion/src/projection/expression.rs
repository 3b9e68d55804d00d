//! An adaptation as a physical expression.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use super::adaptation::Adaptation;

/// Makes the value of a table's column from that of a file's column.
#[derive(Debug, Clone)]
pub struct AdaptExpr {
    stored: Arc<dyn PhysicalExpr>,
    steps: Arc<Adaptation>,
    column: FieldRef,
}

impl AdaptExpr {
    /// The column `column` of the table from the expression `stored` over a file.
    pub fn new(stored: Arc<dyn PhysicalExpr>, steps: Arc<Adaptation>, column: FieldRef) -> Self {
        Self {
            stored,
            steps,
            column,
        }
    }
}

impl PartialEq for AdaptExpr {
    fn eq(&self, other: &Self) -> bool {
        self.stored.eq(&other.stored) && self.steps == other.steps && self.column == other.column
    }
}

impl Eq for AdaptExpr {}

impl Hash for AdaptExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.stored.hash(state);
        self.column.hash(state);
    }
}

impl fmt::Display for AdaptExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "adapt({} as {})", self.stored, self.column.name())
    }
}

impl PhysicalExpr for AdaptExpr {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(self.column.data_type().clone())
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(self.column.is_nullable())
    }

    fn return_field(&self, _: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(&self.column))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        match self.stored.evaluate(batch)? {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(self.steps.apply(&array)?)),
            ColumnarValue::Scalar(scalar) => {
                let adapted = self.steps.apply(&scalar.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&adapted, 0)?))
            }
        }
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.stored]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match children.as_slice() {
            [stored] => Ok(Arc::new(Self::new(
                Arc::clone(stored),
                Arc::clone(&self.steps),
                Arc::clone(&self.column),
            ))),
            _ => internal_err!("AdaptExpr has one child, not {}", children.len()),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stored.fmt_sql(f)
    }
}

//! Rewrites the expressions of a scan, which speak of the table's columns, for the columns of one data file.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, CastExpr, Column, IsNullExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_adapter::{PhysicalExprAdapter, PhysicalExprAdapterFactory};
use drumlin_format::manifest::FileFormat;
use drumlin_format::name_mapping::{NAME_MAPPING_PROPERTY, NameMapping};
use drumlin_table::Table;
use drumlin_table::arrow::field_id;
use drumlin_table::deletes::FileDeletes;

use super::adaptation::{Adaptation, MissingFields, missing_value};
use super::expression::AdaptExpr;
use super::field_ids::{FileField, any_ids};
use crate::error::external;
use crate::metadata_columns::{LAST_UPDATED_SEQUENCE_NUMBER_ID, ROW_ID_ID, ROW_POSITION};
use crate::scalar::to_scalar;

/// What a scan knows of one data file before it opens it.
#[derive(Debug, Clone)]
pub struct FileColumns {
    /// The location of the file.
    pub path: String,
    /// Its format.
    pub format: FileFormat,
    /// Columns with one value for the whole file, by field id: identity partition values and metadata columns.
    /// They win over what the file stores.
    pub constants: HashMap<i32, ScalarValue>,
    /// The id of the file's first row (v3, § Row Lineage); `None` if its rows have no ids.
    pub first_row_id: Option<i64>,
    /// The data sequence number of the file.
    pub sequence_number: i64,
    /// How many rows the file has, deleted ones counted; negative is unknown.
    pub record_count: i64,
    /// What is deleted of the file.
    pub deletes: Option<Arc<FileDeletes>>,
}

/// What a scan knows of all its data files.
#[derive(Debug, Clone, Default)]
pub struct TableColumns {
    /// Initial defaults by field id.
    pub initial_defaults: HashMap<i32, ScalarValue>,
    /// Ids for files that hold none.
    pub name_mapping: Option<NameMapping>,
    /// Whether a file without one of the columns is an error, as for the keys of delete files.
    pub must_be_stored: bool,
}

impl TableColumns {
    /// Defaults and name mapping of a table.
    ///
    /// # Errors
    /// The name mapping is not one, or a default is of a type that is not supported.
    pub fn of(table: &Table) -> Result<Self> {
        let mut initial_defaults = HashMap::new();
        // Equality deletes may compare columns that were dropped since.
        for schema in table.schemas_newest_first() {
            for id in schema.field_ids() {
                let Some(field) = schema.field_by_id(id) else {
                    continue;
                };
                if let Some(value) = &field.initial_default
                    && !initial_defaults.contains_key(&id)
                {
                    let column = schema.parent_of(id).is_none();
                    initial_defaults.insert(id, to_scalar(Some(value), &field.field_type, column)?);
                }
            }
        }
        let mapping = table.metadata().property(NAME_MAPPING_PROPERTY);
        let name_mapping = mapping
            .map(NameMapping::from_json_text)
            .transpose()
            .map_err(|e| external(e.in_file(format!("table `{}`", table.name())).into()))?;
        Ok(Self {
            initial_defaults,
            name_mapping,
            must_be_stored: false,
        })
    }
}

/// Makes the adapter of one data file.
#[derive(Debug, Clone)]
pub struct FileAdapterFactory {
    table: Arc<TableColumns>,
    file: Arc<FileColumns>,
}

impl FileAdapterFactory {
    /// A factory for this file of a table.
    pub fn new(table: Arc<TableColumns>, file: Arc<FileColumns>) -> Self {
        Self { table, file }
    }
}

impl PhysicalExprAdapterFactory for FileAdapterFactory {
    fn create(
        &self,
        table_schema: SchemaRef,
        file_schema: SchemaRef,
    ) -> Result<Arc<dyn PhysicalExprAdapter>> {
        let fields = file_schema.fields();
        let file_fields = if any_ids(fields.iter().filter(|f| !is_virtual(f))) {
            fields.iter().map(FileField::with_own_ids).collect()
        } else {
            let mapping = self.table.name_mapping.as_ref();
            if mapping.is_none() && fields.iter().any(|f| !is_virtual(f)) {
                return plan_err!(
                    "the data file `{}` holds no field ids and the table has no name mapping: set the table property \
                     `schema.name-mapping.default` to say which column is which",
                    self.file.path
                );
            }
            let mapping = mapping.map_or(&[][..], NameMapping::fields);
            fields.iter().map(|f| FileField::mapped(f, mapping)).collect()
        };
        Ok(Arc::new(FileAdapter {
            table: Arc::clone(&self.table),
            file: Arc::clone(&self.file),
            table_schema,
            file_schema,
            file_fields,
        }))
    }
}

/// Whether a cast takes times to another unit.
fn changes_unit(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Timestamp(a, _), DataType::Timestamp(b, _)) => a != b,
        (from, to) => from != to && from.is_temporal() && to.is_temporal(),
    }
}

/// Whether the reader makes the column's values, as those of the row number.
fn is_virtual(field: &Field) -> bool {
    field.name() == ROW_POSITION && field.extension_type_name().is_some()
}

#[derive(Debug)]
struct FileAdapter {
    table: Arc<TableColumns>,
    file: Arc<FileColumns>,
    table_schema: SchemaRef,
    file_schema: SchemaRef,
    file_fields: Vec<FileField>,
}

impl MissingFields for FileAdapter {
    fn value_of(&self, field_id: i32) -> Option<&ScalarValue> {
        self.file
            .constants
            .get(&field_id)
            .or_else(|| self.table.initial_defaults.get(&field_id))
    }
}

impl PhysicalExprAdapter for FileAdapter {
    fn rewrite(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        expr.transform_down(|expr| {
            // What is put in place speaks of the file already and must not be looked into again.
            let done = |e| Ok(Transformed::new(e, true, TreeNodeRecursion::Jump));
            if let Some(access) = self.field_access(&expr)? {
                return done(access);
            }
            match expr.downcast_ref::<Column>() {
                Some(column) => done(self.column(column)?),
                None => Ok(Transformed::no(expr)),
            }
        })
        .data()
    }
}

impl FileAdapter {
    /// A column of the table, over the file.
    fn column(&self, column: &Column) -> Result<Arc<dyn PhysicalExpr>> {
        let field = Arc::new(self.table_schema.field_with_name(column.name())?.clone());
        if is_virtual(&field) {
            return Ok(Arc::new(Column::new_with_schema(
                column.name(),
                &self.file_schema,
            )?));
        }
        let id = field_id(&field);
        if let Some(constant) = id.and_then(|id| self.file.constants.get(&id)) {
            return Ok(Arc::new(Literal::new(constant.clone())));
        }
        let stored = id.and_then(|id| {
            self.file_fields
                .iter()
                .enumerate()
                .find(|(_, f)| f.id == Some(id))
        });
        match id {
            Some(ROW_ID_ID) => self.row_id(stored, &field),
            Some(LAST_UPDATED_SEQUENCE_NUMBER_ID) => self.last_updated_sequence_number(stored, &field),
            _ => match stored {
                Some((index, stored)) => self.stored(index, stored, &field),
                None if self.table.must_be_stored => plan_err!(
                    "`{}` does not hold the column with the field id {}, by which it deletes",
                    self.file.path,
                    id.unwrap_or_default()
                ),
                None => Ok(Arc::new(Literal::new(missing_value(&field, self)?))),
            },
        }
    }

    /// A column that the file holds.
    fn stored(&self, index: usize, stored: &FileField, field: &FieldRef) -> Result<Arc<dyn PhysicalExpr>> {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(stored.field.name(), index));
        self.adapted(column, stored, field)
    }

    fn adapted(
        &self,
        expr: Arc<dyn PhysicalExpr>,
        stored: &FileField,
        field: &FieldRef,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match Adaptation::between(stored, field, self)? {
            Adaptation::Same => Ok(expr),
            // A plain cast is one that DataFusion sees through when it prunes row groups and pages: it turns the cast on
            // the literal, which for a cast to a finer unit of time would cut the literal.
            Adaptation::Cast(to) if !changes_unit(stored.field.data_type(), &to) => {
                Ok(Arc::new(CastExpr::new(expr, to, None)))
            }
            steps => Ok(Arc::new(AdaptExpr::new(expr, Arc::new(steps), Arc::clone(field)))),
        }
    }

    /// `_row_id`: what is stored, else the id of the file's first row plus the position (§ Row Lineage).
    fn row_id(&self, stored: Option<(usize, &FileField)>, field: &FieldRef) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(first) = self.file.first_row_id else {
            return Ok(Arc::new(Literal::new(ScalarValue::Int64(None))));
        };
        let position = Arc::new(Column::new_with_schema(ROW_POSITION, &self.file_schema)?);
        let first = Arc::new(Literal::new(ScalarValue::Int64(Some(first))));
        let inherited: Arc<dyn PhysicalExpr> = Arc::new(BinaryExpr::new(first, Operator::Plus, position));
        self.stored_or(stored, field, inherited)
    }

    /// `_last_updated_sequence_number`: what is stored, else the data sequence number of the file.
    fn last_updated_sequence_number(
        &self,
        stored: Option<(usize, &FileField)>,
        field: &FieldRef,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        if self.file.first_row_id.is_none() {
            return Ok(Arc::new(Literal::new(ScalarValue::Int64(None))));
        }
        let inherited = Arc::new(Literal::new(ScalarValue::Int64(Some(self.file.sequence_number))));
        self.stored_or(stored, field, inherited)
    }

    fn stored_or(
        &self,
        stored: Option<(usize, &FileField)>,
        field: &FieldRef,
        inherited: Arc<dyn PhysicalExpr>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let Some((index, stored)) = stored else {
            return Ok(inherited);
        };
        let stored = self.stored(index, stored, field)?;
        let is_null: Arc<dyn PhysicalExpr> = Arc::new(IsNullExpr::new(Arc::clone(&stored)));
        Ok(Arc::new(CaseExpr::try_new(
            None,
            vec![(is_null, inherited)],
            Some(stored),
        )?))
    }

    /// `s['a']['b']` of a struct column: straight to the stored field, so that only it is read. `None` for other
    /// expressions, and where a field on the way is missing in the file: there the whole column is adapted.
    fn field_access(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Option<Arc<dyn PhysicalExpr>>> {
        let Some(access) = ScalarFunctionExpr::try_downcast_func::<GetFieldFunc>(expr.as_ref()) else {
            return Ok(None);
        };
        let Some((source, keys)) = access.args().split_first() else {
            return Ok(None);
        };
        let Some(column) = source.downcast_ref::<Column>() else {
            return Ok(None);
        };
        let Ok(mut wanted) = self.table_schema.field_with_name(column.name()) else {
            return Ok(None);
        };
        let stored = field_id(wanted).and_then(|id| {
            self.file_fields
                .iter()
                .enumerate()
                .find(|(_, f)| f.id == Some(id))
        });
        let Some((index, mut stored)) = stored else {
            return Ok(None);
        };
        let mut arguments: Vec<Arc<dyn PhysicalExpr>> =
            vec![Arc::new(Column::new(stored.field.name(), index))];
        let mut may_be_null = false;
        for key in keys {
            let key = key
                .downcast_ref::<Literal>()
                .and_then(|l| l.value().try_as_str().flatten().map(str::to_string));
            let (Some(key), DataType::Struct(fields)) = (key, wanted.data_type()) else {
                return Ok(None);
            };
            let Some(next) = fields.iter().find(|f| *f.name() == key) else {
                return Ok(None);
            };
            let Some((_, child)) = field_id(next).and_then(|id| stored.child_with_id(id)) else {
                return Ok(None);
            };
            // By itself a field that the file requires would have some value where the struct is null.
            may_be_null |= stored.field.is_nullable();
            if may_be_null && !child.field.is_nullable() {
                return Ok(None);
            }
            arguments.push(Arc::new(Literal::new(ScalarValue::from(
                child.field.name().as_str(),
            ))));
            (wanted, stored) = (next, child);
        }
        let fun = Arc::new(access.fun().clone());
        let options = Arc::new(access.config_options().clone());
        let access = ScalarFunctionExpr::try_new(fun, arguments, &self.file_schema, options)?;
        // A null struct has null fields, whatever its fields require.
        let wanted = Arc::new(wanted.clone().with_nullable(true));
        Ok(Some(self.adapted(Arc::new(access), stored, &wanted)?))
    }
}

//! Doing what a statement says.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::common::{TableReference, plan_err};
use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::sql::sqlparser::tokenizer::{Location, TokenWithSpan};
use drumlin_format::metadata::FORMAT_VERSION_PROPERTY;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType, Type};
use drumlin_table::arrow::schema_from_arrow;
use drumlin_table::catalog::TableCreation;
use drumlin_table::transaction::Transaction;
use drumlin_table::{Error, Table};
use futures::future::BoxFuture;

use super::columns::ColumnDefinition;
use super::parse::{expression, quoted};
use super::target::{SchemaTarget, TableTarget};
use super::tokens::syntax;
use super::{CreateTable, Ddl, refs, terms};
use crate::IcebergTableProvider;
use crate::error::external;
use crate::scalar::from_scalar;
use crate::sql::constant::{constant, number};
use crate::sql::split::dialect;
use crate::sql::{SqlStatement, statement_to_plan};
use crate::write::assignment::{decimal, literal};
use crate::write::{Making, WriteTarget, given_columns, insert_plan};

/// Names that tables show as properties but that are none, and what sets what they show.
const RESERVED: [(&str, &str); 8] = [
    ("provider", "USING"),
    ("location", "LOCATION"),
    ("sort-order", "WRITE ORDERED BY"),
    ("default-sort-order", "WRITE ORDERED BY"),
    ("default-partition-spec", "PARTITIONED BY"),
    ("identifier-fields", "PRIMARY KEY (…) NOT ENFORCED"),
    ("current-snapshot-id", "a write"),
    ("uuid", "the catalog"),
];

/// Runs a statement.
///
/// # Errors
/// What the catalog and the format refuse.
pub(in crate::sql) async fn execute(ddl: Ddl, state: &SessionState) -> Result<()> {
    match ddl {
        Ddl::CreateTable(create) => create_table(*create, state).await,
        Ddl::DropTable {
            table,
            if_exists,
            purge,
        } => drop_table(&table, if_exists, purge).await,
        Ddl::CreateSchema {
            schema,
            if_not_exists,
            properties,
        } => create_schema(&schema, if_not_exists, properties).await,
        Ddl::DropSchema { schema, if_exists } => drop_schema(&schema, if_exists).await,
        Ddl::AlterRef(alter) => refs::execute(alter).await,
    }
}

async fn create_schema(
    schema: &SchemaTarget,
    if_not_exists: bool,
    properties: Vec<(String, String)>,
) -> Result<()> {
    let properties = properties.into_iter().collect();
    match schema
        .catalog
        .create_namespace(&schema.namespace, &properties)
        .await
    {
        Err(Error::NamespaceExists { .. }) if if_not_exists => Ok(()),
        result => result.map_err(external),
    }
}

async fn drop_schema(schema: &SchemaTarget, if_exists: bool) -> Result<()> {
    match schema.catalog.drop_namespace(&schema.namespace).await {
        Err(Error::NoSuchNamespace { .. }) if if_exists => Ok(()),
        result => result.map_err(external),
    }
}

async fn drop_table(table: &TableTarget, if_exists: bool, purge: bool) -> Result<()> {
    match table.catalog.drop_table(&table.ident, purge).await {
        Err(Error::NoSuchTable { .. } | Error::NoSuchNamespace { .. }) if if_exists => Ok(()),
        result => result.map_err(external),
    }
}

async fn create_table(create: CreateTable, state: &SessionState) -> Result<()> {
    let target = create.table.clone();
    if target.schema.is_registered(&target.ident.name) {
        return plan_err!(
            "{}: a view or an external table of the session has this name",
            target.written
        );
    }
    let exists = target
        .catalog
        .table_exists(&target.ident)
        .await
        .map_err(external)?;
    if exists && create.if_not_exists {
        return Ok(());
    }
    if exists && !create.or_replace {
        return Err(external(Error::TableExists {
            table: target.ident.to_string(),
        }));
    }
    if !exists && create.must_exist {
        return Err(external(Error::NoSuchTable {
            table: target.ident.to_string(),
        }));
    }
    // Before the query is planned: what it reads of the table is then not older than what is replaced.
    let base = match exists {
        true => Some(target.catalog.load_table(&target.ident).await.map_err(external)?),
        false => None,
    };
    let query = match &create.query {
        Some(tokens) => Some(query_plan(tokens.clone(), state).await?),
        None => None,
    };
    let fields = match (&create.columns, &query) {
        (Some(columns), _) => columns
            .iter()
            .map(|column| field(column, state))
            .collect::<Result<Vec<_>>>()?,
        (None, Some(query)) => fields_of(query, &create)?,
        (None, None) => return plan_err!("{}: the columns are missing", target.written),
    };
    let creation = with_fields(&create, fields)?;
    if !exists && target.in_default_schema {
        make_default_schema(&target).await?;
    }
    let made = make(&target, creation, base, query, state).await;
    match made {
        // Another session made it in the meantime.
        Err(error) if create.if_not_exists && is_there(&error) => Ok(()),
        result => result,
    }
}

/// The schema that unqualified names belong to is there as soon as something is in it.
async fn make_default_schema(target: &TableTarget) -> Result<()> {
    let namespace = &target.ident.namespace;
    if target
        .catalog
        .namespace_exists(namespace)
        .await
        .map_err(external)?
    {
        return Ok(());
    }
    match target.catalog.create_namespace(namespace, &BTreeMap::new()).await {
        Err(Error::NamespaceExists { .. }) => Ok(()),
        result => result.map_err(external),
    }
}

fn is_there(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::External(inner) => matches!(inner.downcast_ref(), Some(Error::TableExists { .. })),
        _ => false,
    }
}

/// Makes or replaces the table, with the rows of the query, in one commit.
async fn make(
    target: &TableTarget,
    creation: TableCreation,
    base: Option<Table>,
    query: Option<LogicalPlan>,
    state: &SessionState,
) -> Result<()> {
    let (catalog, ident) = (&target.catalog, &target.ident);
    let (making, table) = if let Some(base) = base {
        let transaction = Transaction::replace(&base, ident.clone(), creation.clone()).map_err(external)?;
        let table = transaction.table().clone();
        if query.is_none() {
            let commit: BoxFuture<'_, _> = Box::pin(transaction.commit(catalog.as_ref()));
            commit.await.map_err(external)?;
            return Ok(());
        }
        (Making::Replace(base, Arc::new(creation)), table)
    } else {
        if query.is_none() {
            catalog.create_table(ident, creation).await.map_err(external)?;
            return Ok(());
        }
        let staged = catalog.stage_table(ident, creation).await.map_err(external)?;
        let table = staged.as_table(catalog.storage());
        (Making::Create(Arc::new(staged)), table)
    };
    let Some(query) = query else {
        return Ok(());
    };
    let to = WriteTarget::existing(Arc::clone(catalog), ident.clone()).making(making);
    let provider = IcebergTableProvider::try_new(table)?.with_write_target(to);
    let columns = provider.table().schema().fields();
    let found = query.schema().fields().len();
    let given = given_columns(&vec![None; columns.len()], columns, found, &target.written)?;
    let name = TableReference::partial(ident.namespace.to_string(), ident.name.as_str());
    let plan = insert_plan(
        query,
        &given,
        provider,
        name,
        InsertOp::Append,
        state.config_options(),
    )?;
    DataFrame::new(state.clone(), plan).collect().await?;
    Ok(())
}

async fn query_plan(tokens: Vec<TokenWithSpan>, state: &SessionState) -> Result<LogicalPlan> {
    let start = tokens.first().map_or(Location::empty(), |token| token.span.start);
    let statement = SqlStatement {
        text: "",
        span: 0..0,
        line: start.line,
        column: start.column,
        terminated: false,
        tokens,
    };
    // Boxed: this is called by what plans statements.
    let plan: BoxFuture<'_, Result<LogicalPlan>> = Box::pin(statement_to_plan(state.clone(), &statement));
    match plan.await? {
        LogicalPlan::Dml(_) | LogicalPlan::Ddl(_) | LogicalPlan::Explain(_) | LogicalPlan::Statement(_) => {
            Err(syntax("expected a query behind AS".into(), start))
        }
        query => Ok(query),
    }
}

/// The columns of a query as those of a new table. Nanoseconds, which DataFusion has for most timestamps, are microseconds
/// in tables of a version that has no others; values with more digits are refused.
fn fields_of(query: &LogicalPlan, create: &CreateTable) -> Result<Vec<NestedField>> {
    let schema = schema_from_arrow(query.schema().as_arrow()).map_err(external)?;
    let version = create
        .properties
        .iter()
        .find(|(key, _)| key == FORMAT_VERSION_PROPERTY);
    let nanos = version.is_some_and(|(_, version)| version.trim() == "3");
    let mut fields = schema.fields().to_vec();
    for field in &mut fields {
        // A query tells that it has no nulls, not that there may be none.
        field.required = false;
        if !nanos {
            field.field_type = match field.field_type {
                Type::Primitive(PrimitiveType::TimestampNs) => PrimitiveType::Timestamp.into(),
                Type::Primitive(PrimitiveType::TimestamptzNs) => PrimitiveType::Timestamptz.into(),
                ref other => other.clone(),
            };
        }
    }
    Ok(fields)
}

/// A new table of these columns.
fn with_fields(create: &CreateTable, mut fields: Vec<NestedField>) -> Result<TableCreation> {
    let mut identifiers = Vec::new();
    for ident in &create.primary_key {
        let Some(field) = fields.iter_mut().find(|field| field.name == ident.value) else {
            return Err(syntax(
                format!("PRIMARY KEY: there is no column {}", quoted(ident)),
                ident.span.start,
            ));
        };
        field.required = true;
        identifiers.push(field.id);
    }
    let schema = Schema::new(0, fields, identifiers).map_err(format_error)?;
    let properties = properties(create)?;
    Ok(TableCreation {
        partition_spec: terms::partition_spec(&create.partition, &schema)?,
        sort_order: terms::sort_order(&create.order, &schema)?,
        location: create.location.clone(),
        properties,
        schema,
    })
}

fn properties(create: &CreateTable) -> Result<BTreeMap<String, String>> {
    let mut properties = BTreeMap::new();
    for (key, value) in &create.properties {
        if let Some((_, instead)) = RESERVED.iter().find(|(reserved, _)| reserved == key) {
            return plan_err!("`{key}` cannot be set as a property: {instead} sets it");
        }
        if key == "format_version" {
            return plan_err!("unknown property `{key}`; the version is set by 'format-version'");
        }
        if let Some(other) = properties.insert(key.clone(), value.clone())
            && other != *value
        {
            return plan_err!("the property `{key}` is given twice: `{other}` and `{value}`");
        }
    }
    Ok(properties)
}

/// The field of a column, with its default.
fn field(column: &ColumnDefinition, state: &SessionState) -> Result<NestedField> {
    let mut field = column.field.clone();
    let Some((tokens, at)) = &column.default else {
        return Ok(field);
    };
    let name = &field.name;
    let Type::Primitive(primitive) = &field.field_type else {
        return Err(syntax(
            format!("column `{name}`: only columns of primitive types can have a default"),
            *at,
        ));
    };
    let written = expression(tokens.clone(), dialect(state)?.as_ref())?;
    let text = written.to_string();
    let exact = number(&written).and_then(|number| decimal(&number, &field.field_type));
    let scalar = match exact {
        Some(exact) => exact,
        None => constant(written, state)
            .map_err(|why| syntax(format!("column `{name}`, DEFAULT {text}: {}", why.message()), *at))?,
    };
    if scalar.is_null() {
        if field.required {
            return Err(syntax(
                format!("column `{name}` is NOT NULL, its default is null"),
                *at,
            ));
        }
        return Ok(field);
    }
    let zone = state.config_options().execution.time_zone.as_deref();
    let stored = literal(&scalar, &field, zone.unwrap_or("+00:00"));
    let value = stored.and_then(|stored| from_scalar(&stored, primitive));
    let value = value.ok_or_else(|| {
        syntax(
            format!("column `{name}`: DEFAULT {text} is no value of type {primitive}"),
            *at,
        )
    })?;
    field.initial_default = Some(value.clone());
    field.write_default = Some(value);
    Ok(field)
}

fn format_error(error: drumlin_format::Error) -> DataFusionError {
    external(error.into())
}

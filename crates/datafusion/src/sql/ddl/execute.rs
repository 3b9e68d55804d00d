//! Doing what a statement says.

use std::collections::BTreeMap;

use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, Type};
use drumlin_table::Error;
use drumlin_table::catalog::TableCreation;

use super::columns::ColumnDefinition;
use super::parse::{expression, quoted};
use super::target::{SchemaTarget, TableTarget};
use super::tokens::syntax;
use super::{CreateTable, Ddl, terms};
use crate::error::external;
use crate::scalar::from_scalar;
use crate::sql::constant::{constant, number};
use crate::sql::split::dialect;
use crate::write::assignment::{decimal, literal};

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
    }
}

async fn create_schema(
    schema: &SchemaTarget,
    if_not_exists: bool,
    properties: Vec<(String, String)>,
) -> Result<()> {
    let properties = properties.into_iter().collect();
    match schema.catalog.create_namespace(&schema.namespace, &properties).await {
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
    let exists = target.catalog.table_exists(&target.ident).await.map_err(external)?;
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
    let creation = creation(&create, state)?;
    match target.catalog.create_table(&target.ident, creation).await {
        // Another session made it in the meantime.
        Err(Error::TableExists { .. }) if create.if_not_exists => Ok(()),
        result => result.map(|_| ()).map_err(external),
    }
}

/// The new table that the clauses describe.
fn creation(create: &CreateTable, state: &SessionState) -> Result<TableCreation> {
    let Some(columns) = &create.columns else {
        return plan_err!("{}: the columns are missing", create.table.written);
    };
    let fields = columns
        .iter()
        .map(|column| field(column, state))
        .collect::<Result<Vec<_>>>()?;
    with_fields(create, fields)
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

fn format_error(error: drumlin_format::Error) -> datafusion::error::DataFusionError {
    external(error.into())
}

//! The names that statements are about.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::Ident;
use drumlin_table::catalog::{Catalog, Namespace, TableIdent};

use crate::IcebergCatalogProvider;
use crate::catalog::IcebergSchemaProvider;
use crate::error::external;

/// A table of an Iceberg catalog, which may be there or not.
#[derive(Debug, Clone)]
pub(crate) struct TableTarget {
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) schema: Arc<IcebergSchemaProvider>,
    pub(crate) ident: TableIdent,
    /// As it was written.
    pub(crate) written: String,
    /// Whether it is in the schema that unqualified names belong to.
    pub(crate) in_default_schema: bool,
}

/// A namespace of an Iceberg catalog, which may be there or not.
#[derive(Debug, Clone)]
pub(crate) struct SchemaTarget {
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) namespace: Namespace,
}

impl TableTarget {
    /// The table of this name; `None` if its catalog is no Iceberg catalog.
    ///
    /// # Errors
    /// A name that no table can have.
    pub(super) fn find(name: &[Ident], state: &SessionState) -> Result<Option<Self>> {
        let defaults = &state.config_options().catalog;
        let (catalog, schema, table) = match name {
            [table] => (&defaults.default_catalog, &defaults.default_schema, table),
            [schema, table] => (&defaults.default_catalog, &schema.value, table),
            [catalog, schema, table] => (&catalog.value, &schema.value, table),
            _ => return Ok(None),
        };
        let Some(provider) = IcebergCatalogProvider::named(catalog, state.catalog_list().as_ref()) else {
            return Ok(None);
        };
        let in_default_schema = *catalog == defaults.default_catalog && *schema == defaults.default_schema;
        let schema = provider.iceberg_schema(schema);
        Ok(Some(Self {
            catalog: Arc::clone(provider.catalog()),
            ident: schema.ident(&table.value).map_err(external)?,
            schema,
            written: written(name),
            in_default_schema,
        }))
    }
}

impl SchemaTarget {
    /// The namespace of this name; `None` if its catalog is no Iceberg catalog. Behind the name of a catalog stand one or
    /// more levels.
    ///
    /// # Errors
    /// A name that no namespace can have.
    pub(super) fn find(name: &[Ident], state: &SessionState) -> Result<Option<Self>> {
        let catalogs = state.catalog_list();
        let (catalog, levels) = match name {
            [first, rest @ ..] if !rest.is_empty() && catalogs.catalog(&first.value).is_some() => {
                (&first.value, rest)
            }
            all => (&state.config_options().catalog.default_catalog, all),
        };
        let Some(provider) = IcebergCatalogProvider::named(catalog, catalogs.as_ref()) else {
            return Ok(None);
        };
        let levels = levels.iter().flat_map(|level| level.value.split('.'));
        Ok(Some(Self {
            catalog: Arc::clone(provider.catalog()),
            namespace: Namespace::new(levels).map_err(external)?,
        }))
    }
}

fn written(name: &[Ident]) -> String {
    let parts: Vec<String> = name.iter().map(Ident::to_string).collect();
    parts.join(".")
}

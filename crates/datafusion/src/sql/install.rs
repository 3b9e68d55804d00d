//! The session extension.

use std::sync::Arc;

use datafusion::catalog::TableFunction;
use datafusion::execution::SessionStateBuilder;
use drumlin_table::storage::Storage;

use super::guard::ReadOnlyGuard;
use super::relation_planner::TimeTravelPlanner;
use super::row_changes::RowChangeRule;
use super::store_assignment::StoreAssignment;
use super::table_function::{self, IcebergScanFunction};
use crate::catalog::IcebergTableFactory;
use crate::variant::functions;
use crate::write::IcebergOptions;

/// Installs Drumlin's planners and rules in a session.
///
/// ```
/// use datafusion::execution::SessionStateBuilder;
/// use datafusion::prelude::SessionContext;
/// use drumlin_datafusion::sql::{IcebergContextExt, IcebergStateBuilderExt};
///
/// # async fn example() -> datafusion::error::Result<()> {
/// let state = SessionStateBuilder::new().with_default_features().with_iceberg().build();
/// let ctx = SessionContext::new_with_state(state);
/// ctx.iceberg_sql("SELECT 1").await?.show().await
/// # }
/// ```
pub trait IcebergStateBuilderExt {
    /// With it, `SessionContext::sql` itself plans or refuses every time-travel clause that its dialect parses, and refuses
    /// to change rows of Iceberg tables; what is inserted into them arrives unchanged or not at all ([`StoreAssignment`]). The dialect stays as it is: the full time-travel syntax is understood by
    /// [`sql`](super::sql) and [`iceberg_sql`](super::IcebergContextExt::iceberg_sql), in any dialect.
    ///
    /// `CREATE EXTERNAL TABLE … STORED AS ICEBERG` and `FROM iceberg_scan('location')` work as well, and so do the functions on variants
    /// (`variant_get`, `try_variant_get`, `to_json`, `parse_json`). Files are found by the default options of stores and
    /// the environment.
    fn with_iceberg(self) -> Self;

    /// [`with_iceberg`](Self::with_iceberg) with files found through `storage`.
    fn with_iceberg_storage(self, storage: Storage) -> Self;
}

impl IcebergStateBuilderExt for SessionStateBuilder {
    fn with_iceberg(self) -> Self {
        self.with_iceberg_storage(Storage::default())
    }

    fn with_iceberg_storage(mut self, storage: Storage) -> Self {
        let config = self.config().get_or_insert_default();
        config.set_extension(Arc::new(storage.clone()));
        if config.options().extensions.get::<IcebergOptions>().is_none() {
            config.options_mut().extensions.insert(IcebergOptions::default());
        }
        self.table_factories().get_or_insert_default().insert(
            IcebergTableFactory::FILE_TYPE.to_owned(),
            Arc::new(IcebergTableFactory::new(storage)),
        );
        self.table_functions().get_or_insert_default().insert(
            table_function::NAME.to_owned(),
            Arc::new(TableFunction::new(
                table_function::NAME.to_owned(),
                Arc::new(IcebergScanFunction),
            )),
        );
        self.scalar_functions()
            .get_or_insert_default()
            .extend(functions::all());
        self.relation_planners()
            .get_or_insert_default()
            .insert(0, Arc::new(TimeTravelPlanner));
        self.with_analyzer_rule(Arc::new(ReadOnlyGuard))
            .with_analyzer_rule(Arc::new(StoreAssignment))
            .with_analyzer_rule(Arc::new(RowChangeRule))
    }
}

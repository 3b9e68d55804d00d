//! What the session extension keeps in a session.

use datafusion::prelude::SessionConfig;
use drumlin_table::storage::Storage;

/// The storage that the session was built with, see
/// [`with_iceberg_storage`](crate::sql::IcebergStateBuilderExt::with_iceberg_storage); one of the default options for
/// sessions without the extension.
pub fn storage_of(config: &SessionConfig) -> Storage {
    config
        .get_extension::<Storage>()
        .map(|storage| storage.as_ref().clone())
        .unwrap_or_default()
}

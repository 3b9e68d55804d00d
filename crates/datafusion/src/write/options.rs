//! Options of the session.

use datafusion::common::config::{ConfigExtension, ConfigOptions};
use datafusion::common::{Result, extensions_options, plan_err};

extensions_options! {
    /// Options of Iceberg tables, set by `SET iceberg.<option> = …`.
    pub struct IcebergOptions {
        /// What `INSERT OVERWRITE` removes: `static`, the rows that its PARTITION clause names, and all rows without one;
        /// `dynamic`, the partitions that it writes to.
        pub partition_overwrite_mode: String, default = "static".to_string()
    }
}

impl ConfigExtension for IcebergOptions {
    const PREFIX: &'static str = "iceberg";
}

/// What `INSERT OVERWRITE` removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionOverwriteMode {
    /// What its PARTITION clause names; all rows without one.
    Static,
    /// The partitions that rows are written to.
    Dynamic,
}

impl PartitionOverwriteMode {
    /// What a session says; `static` for sessions without the extension.
    ///
    /// # Errors
    /// Another value than `static` and `dynamic`.
    pub fn of(config: &ConfigOptions) -> Result<Self> {
        let Some(options) = config.extensions.get::<IcebergOptions>() else {
            return Ok(Self::Static);
        };
        match options.partition_overwrite_mode.to_ascii_lowercase().as_str() {
            "static" => Ok(Self::Static),
            "dynamic" => Ok(Self::Dynamic),
            other => {
                plan_err!("iceberg.partition_overwrite_mode: expected static or dynamic, found `{other}`")
            }
        }
    }
}

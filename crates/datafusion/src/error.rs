//! Errors of the layers below as errors of DataFusion.

use datafusion::common::DataFusionError;

/// The error of a table, for DataFusion. The typed error stays inside and can be got by downcasting.
pub fn external(error: drumlin_table::Error) -> DataFusionError {
    match error {
        drumlin_table::Error::NoMemory(_) => DataFusionError::ResourcesExhausted(error.to_string()),
        error => DataFusionError::External(Box::new(error)),
    }
}

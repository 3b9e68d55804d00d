//! Errors of the layers below as errors of DataFusion.

use datafusion::common::DataFusionError;

/// The error of a table, for DataFusion. The typed error stays inside and can be got by downcasting.
pub fn external(error: drumlin_table::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

//! drumlin-datafusion

pub mod sql;

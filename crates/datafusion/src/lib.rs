//! drumlin-datafusion

//! drumlin-format

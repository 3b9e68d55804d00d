//! drumlin-catalog

//! drumlin-table

//! Iceberg schemas as Arrow schemas.

//! Rows that are deleted, updated and merged.

mod plain_sql;

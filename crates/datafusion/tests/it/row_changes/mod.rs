//! Statements that change rows: DELETE, UPDATE, MERGE, TRUNCATE.

mod conflicts;
mod embedders;
mod histories;
mod plain_sql;
mod reading;

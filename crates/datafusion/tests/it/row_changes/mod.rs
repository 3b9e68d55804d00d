//! Rows that are deleted, updated and merged by SQL.

mod histories;

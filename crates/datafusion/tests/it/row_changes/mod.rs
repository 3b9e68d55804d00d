//! Statements that change rows: DELETE, UPDATE, MERGE, TRUNCATE.

mod conflicts;

//! From the columns of a data file to the columns of a table (§ Column Projection).
//!
//! Columns are matched by field id, never by name or place. A file that lacks a column gets the partition's constant,
//! the column's initial default or null; a column that was promoted is cast; nested types are matched field by
//! field.
//!
//! - [`field_ids`]: which id each field of a file has, by itself or by the table's name mapping
//! - [`adaptation`]: how one array of a file becomes one array of the table
//! - [`expression`]: that as an expression
//! - [`adapter`]: rewrites the expressions of a scan for one file

pub mod adaptation;
pub mod adapter;
pub mod expression;
pub mod field_ids;

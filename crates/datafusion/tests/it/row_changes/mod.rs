//! Rows that are deleted, updated and merged.

mod embedders;
mod reading;

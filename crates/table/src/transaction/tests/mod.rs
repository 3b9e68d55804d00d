//! Tests of transactions.
//!
//! | module | holds |
//! |---|---|
//! | `catalog`, `store` | a catalog and a store in memory that can be told to fail at any step |
//! | `tables` | tables and records of files to try things on |
//! | `checked` | what has to be so of a table after every commit, read from its files |
//! | the others | the tests |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unimplemented,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

pub mod catalog;
pub mod checked;
mod conflicts;
mod faults;
mod layout;
mod lineage;
mod operations;
mod random;
mod retries;
mod row_deltas;
pub mod store;
pub mod tables;

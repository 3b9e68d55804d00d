//! One behaviour suite that every catalog runs, and what is particular to each.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backend;
mod databases;
mod faults;
mod folders;
mod processes;
mod races;
mod sleepers;
mod suite;

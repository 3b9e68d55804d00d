//! Runs the built `drumlin` as users do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod contention;
mod drumlin;
mod errors;
mod formats;
mod interrupt;
mod scripts;
mod warehouse;

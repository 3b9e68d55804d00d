#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod builder;
mod lookup;
mod mutation;
mod read;
mod sequences;
mod update;

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arbitrary;
mod conformance;
mod damage;
mod encodings;
mod inheritance;
mod round_trip;

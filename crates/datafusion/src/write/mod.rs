//! Writing to Iceberg tables.

pub(crate) mod assignment;
mod target;

pub use target::WriteTarget;

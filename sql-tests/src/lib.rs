//! The SQL test suites of Drumlin.
//!
//! - [`conformance`] asks questions of tables that the reference implementation wrote (`conformance/`) and compares
//!   the answers; the test target `conformance` runs them all.
//! - [`cases`] runs the sqllogictest files under `cases/`; the test target of the same name is its runner.

pub mod cases;
pub mod conformance;

//! Tables with deletes against the same tables without.
//!
//! | module | holds |
//! |---|---|
//! | [`scenario`] | what is compared: sides, queries, the rows that each side must have |
//! | [`lineitem`] | scenarios `dv` and `equality`: lineitem of TPC-H |
//! | [`chain`] | scenario `chain`: data files and equality delete files in turns |
//! | [`positions`] | scenario `positions`: many deleted positions in many files |
//! | [`mod@run`] | sessions, checks and times of a scenario |
//! | [`report`] | its tables of figures |

pub mod chain;
pub mod lineitem;
pub mod positions;
pub mod report;
pub mod run;
pub mod scenario;

pub use run::{Options, run};
pub use scenario::Scenario;

//! The conformance suite: tables written by the reference implementation, questions, and the right answers.
//!
//! - [`manifest`]: what there is to ask, read from `conformance/manifest.json`.
//! - [`column_type`]: the types of answers.
//! - [`canonical`]: the text form in which answers are compared.
//! - [`engine`]: the only place that knows how Drumlin is asked.
//! - [`case`]: one question asked and its answer judged; [`plan`] the same for a pruning check.
//! - [`pending`]: the checked-in list of cases that are not expected to pass yet.
//! - [`report`]: all of them run, one line each.

pub mod canonical;
pub mod case;
pub mod column_type;
pub mod engine;
pub mod manifest;
pub mod pending;
pub mod plan;
pub mod report;

#[cfg(test)]
mod replay;

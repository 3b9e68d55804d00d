//! Store assignment: a value that is inserted arrives unchanged, or the statement fails.
//!
//! DataFusion casts what is inserted silently: it cuts fractions, rounds decimals and parses text. Here `rules` says
//! which types may be stored in which (as ANSI store assignment does: numbers in columns of numbers, everything that has one
//! value in columns of text, dates and timestamps in one another), `convert` converts arrays and finds values that
//! would not lead back, `function` makes an expression of that, and `literal` reads constants by the type of their
//! column. Fractions are the exception: a column of float or double takes the value next to them.

mod convert;
mod function;
mod literal;
mod rules;

#[cfg(test)]
mod tests;

pub(crate) use function::{in_type, is_assigned, stored};
pub(crate) use literal::{decimal, literal};

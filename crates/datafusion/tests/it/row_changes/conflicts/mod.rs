//! Which statements are in each other's way, with the outcome that the reference implementation has.
//!
//! The second statement is planned, which pins its table; then the first one runs; then the second one does. It must see all
//! that the first did, or fail as a conflict and leave nothing behind.

mod cases;
mod lake;
mod operation;
mod pairs;

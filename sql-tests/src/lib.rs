//! SQL tests

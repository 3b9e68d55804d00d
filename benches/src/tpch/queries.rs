//! The queries of TPC-H with the substitution values of its validation run.
//!
//! The fraction in query 11 is that for scale factor 1; the view in query 15 is a common table expression.

/// The texts of the queries 1 to 22, in order.
pub const QUERIES: [&str; 22] = [
    include_str!("../../queries/q01.sql"),
    include_str!("../../queries/q02.sql"),
    include_str!("../../queries/q03.sql"),
    include_str!("../../queries/q04.sql"),
    include_str!("../../queries/q05.sql"),
    include_str!("../../queries/q06.sql"),
    include_str!("../../queries/q07.sql"),
    include_str!("../../queries/q08.sql"),
    include_str!("../../queries/q09.sql"),
    include_str!("../../queries/q10.sql"),
    include_str!("../../queries/q11.sql"),
    include_str!("../../queries/q12.sql"),
    include_str!("../../queries/q13.sql"),
    include_str!("../../queries/q14.sql"),
    include_str!("../../queries/q15.sql"),
    include_str!("../../queries/q16.sql"),
    include_str!("../../queries/q17.sql"),
    include_str!("../../queries/q18.sql"),
    include_str!("../../queries/q19.sql"),
    include_str!("../../queries/q20.sql"),
    include_str!("../../queries/q21.sql"),
    include_str!("../../queries/q22.sql"),
];

/// The numbers and texts of the queries with these numbers; of all for none.
pub fn chosen(numbers: &[usize]) -> Vec<(usize, &'static str)> {
    (1..)
        .zip(QUERIES)
        .filter(|(number, _)| numbers.is_empty() || numbers.contains(number))
        .collect()
}
